// Whether large messages come faster in pieces, which both sides copy at the same time, or by one copy of the receiver.
// It depends on processors and kernels, on who shares which cache, and changes while a virtual machine runs: on some
// the one is four times as fast, on others the other one half as fast again. So each receiver measures, by size and by
// whether somebody takes the bytes as they come. It needs nobody's consent: the sender does either when it is told.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace isthmus::runtime {

enum class Pieces : std::uint8_t { where_faster, always, never };

class Faster {
 public:
  [[nodiscard]] static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }

  /// How the next message of this size comes: both ways in turns at first, then now and then the slower one.
  [[nodiscard]] bool in_pieces(std::size_t count, bool taken) {
    Class& c = class_of(count, taken);
    const std::uint32_t call = c.calls++;
    if (call < 4 * run) return call / run % 2 == 0;
    const bool pieces = c.ns[0] > 0.95 * c.ns[1];
    return is_trial(call) != pieces;
  }

  /// A message that came so, `since` now() at its start.
  void took(bool in_pieces, std::size_t count, bool taken, std::uint64_t since) {
    // The least counts, as a sender that computes makes a message late; it is forgotten slowly.
    const auto ns = static_cast<double>(now() - since) / static_cast<double>(count);
    double& least = class_of(count, taken).ns[in_pieces ? 1 : 0];
    least = std::min(ns, 1.06 * least);
  }

 private:
  /// Messages in a row that come one way, so that those of both ranks of an exchange mostly do.
  static constexpr std::uint32_t run = 4;
  static constexpr std::uint32_t between = 512;

  /// The first messages say little where other programs use the processors, or memory is touched for the first time:
  /// the slower way is tried again soon, and then ever more seldom. It depends on the number of the message alone, so
  /// that both ranks of an exchange try at the same time.
  [[nodiscard]] static bool is_trial(std::uint32_t call) {
    return call % std::min(between, std::bit_floor(call)) < run;
  }

  struct Class {
    std::uint32_t calls = 0;
    /// Per byte, with one copy and in pieces.
    std::array<double, 2> ns{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  };

  /// By powers of two from 128 KiB to 16 MiB.
  Class& class_of(std::size_t count, bool taken) {
    const int width = std::clamp(static_cast<int>(std::bit_width(count)), 17, 24) - 17;
    return classes_[taken ? 1 : 0][static_cast<std::size_t>(width)];
  }

  std::array<std::array<Class, 8>, 2> classes_;
};

}  // namespace isthmus::runtime

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

  /// How the next message of this size comes: either way as often at first, then now and then the slower one. As the
  /// first messages say little where other programs use the processors, or memory is touched for the first time, the
  /// slower way is tried again soon, and then ever more seldom.
  ///
  /// Which messages are tries follows from their `context`, the number of what runs, so that both ranks of an exchange
  /// try at the same time, whatever else they have received: pieces are slow where the other side copies by itself.
  [[nodiscard]] bool in_pieces(std::size_t count, bool taken, std::uint32_t context) {
    Class& c = class_of(count, taken);
    const std::uint32_t call = c.calls++, drawn = draw(context / run);
    if (call < first) return (drawn & 1) != 0;
    const bool pieces = c.ns[0] > 0.95 * c.ns[1];
    const std::uint32_t between = std::clamp(std::bit_floor(call) / 8, 4U, most_between);
    return ((drawn >> 1) % between == 0) != pieces;
  }

  /// A message that came so, `since` now() at its start.
  void took(bool in_pieces, std::size_t count, bool taken, std::uint64_t since) {
    // The least counts, as a sender that computes makes a message late; it is forgotten slowly.
    const auto ns = static_cast<double>(now() - since) / static_cast<double>(count);
    double& least = class_of(count, taken).ns[in_pieces ? 1 : 0];
    least = std::min(ns, 1.06 * least);
  }

 private:
  static constexpr std::uint32_t first = 16;
  /// Contexts in a row whose messages come one way.
  static constexpr std::uint32_t run = 4;
  /// Of them one in so many is a try.
  static constexpr std::uint32_t most_between = 128;

  /// A number that looks random, so that no rhythm of a program meets that of the tries.
  [[nodiscard]] static std::uint32_t draw(std::uint32_t number) {
    std::uint32_t x = number * 0x9E3779B9U;
    x = (x ^ x >> 16) * 0x85EBCA6BU;
    x = (x ^ x >> 13) * 0xC2B2AE35U;
    return x ^ x >> 16;
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

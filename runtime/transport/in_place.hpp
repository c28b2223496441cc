// Whether messages of exchanges that the ring of bytes could hold are better left where they are at the sender, to be
// taken by one copy. That is for the receiver to find and to ask for: it times its copies of either way, and its own
// into the ring, as ranks that exchange messages copy into the ring and out of it one after the other. On some machines
// one copy of 16 KiB through the kernel takes less than two through the caches, on others twice as long for 64 KiB. Of
// a stream in one direction both sides copy at the same time, and the sender does not wait: it keeps the ring.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace isthmus::runtime {

class InPlace {
 public:
  static constexpr std::size_t least = 4 << 10;  ///< of larger messages
  static constexpr std::uint32_t sizes = 4;

  /// By powers of two up to 8, 16, 32 KiB, and above.
  [[nodiscard]] static std::uint32_t size_of(std::size_t count) {
    return static_cast<std::uint32_t>(std::clamp(static_cast<int>(std::bit_width(count - 1)), 13, 16) - 13);
  }

  /// Messages to and from one peer.
  struct Traffic {
    std::array<std::uint32_t, sizes> sent{};
    std::array<std::array<std::uint32_t, sizes>, 2> received{};  ///< copied, and taken as they come
    std::uint32_t asked = 0;                                     ///< bits by size
  };

  /// Whether copies of this message are to be timed, the n-th one: at first all, then some.
  [[nodiscard]] static bool times(std::uint32_t n) { return n < first || is_try(n) || n % 8 == 0; }

  void copied_in(std::size_t count, std::uint64_t ns) { add(classes_[size_of(count)].in, count, ns); }
  void copied_out(std::size_t count, bool taken, std::uint64_t ns) {
    add(classes_[size_of(count)].out[taken ? 1 : 0], count, ns);
  }
  void fetched(std::size_t count, bool taken, std::uint64_t ns) {
    add(classes_[size_of(count)].fetched[taken ? 1 : 0], count, ns);
  }
  /// Bytes cannot be taken from where they are.
  void refused() { refused_ = true; }

  /// What to ask for after this message: the better way, now and then the other one. Which messages are tries follows
  /// from their number, so that two ranks that exchange messages try at the same time.
  [[nodiscard]] bool asks(const Traffic& traffic, std::size_t count, bool taken) const {
    if (refused_) return false;
    const std::uint32_t size = size_of(count), n = traffic.received[taken ? 1 : 0][size];
    if (n < first) return (n / (first / 4) & 1) != 0;
    return better(count, taken) != is_try(n);
  }

 private:
  static constexpr std::uint32_t first = 128, soon = 1024, tries = 128, period = 8192;

  /// As many in a row as it takes until caches, and what the kernel knows of the memory of the sender, are those of
  /// this way: the first copies of 64 KiB out of the memory of another process took 17 us, later ones 4.5.
  [[nodiscard]] static bool is_try(std::uint32_t n) {
    return (n < period ? n - std::min(n, soon) : n % period) < tries && n > soon;
  }
  /// What the answer takes that the sender waits for.
  static constexpr double answer_ns = 300;

  [[nodiscard]] bool better(std::size_t count, bool taken) const {
    const Class& c = classes_[size_of(count)];
    const std::size_t k = taken ? 1 : 0;
    return c.fetched[k] + answer_ns / static_cast<double>(count) < 0.95 * (c.in + c.out[k]);
  }
  /// The least counts, as what disturbs a copy makes it longer; it is forgotten slowly.
  static void add(double& least_ns, std::size_t count, std::uint64_t ns) {
    least_ns = std::min(static_cast<double>(ns) / static_cast<double>(count), 1.02 * least_ns);
  }

  static constexpr double unknown = std::numeric_limits<double>::max() / 4;
  /// Nanoseconds per byte; of a receiver that copies, or takes bytes where they are.
  struct Class {
    double in = unknown;
    std::array<double, 2> out{unknown, unknown}, fetched{unknown, unknown};
  };

  std::array<Class, sizes> classes_;
  bool refused_ = false;
};

}  // namespace isthmus::runtime

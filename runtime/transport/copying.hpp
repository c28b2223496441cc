// How a sender copies the bytes of a message into the ring: through its caches, or past them. A copy through the caches
// has to take every line from the processor that read the message before: where processors share no cache, 64 KiB
// take 28 us, past the caches 2, and are read as fast afterwards. Where they are threads of one core, it is the other
// way round. So the sender times its copies, and the receiver tells what its own take.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/transport/in_place.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace isthmus::runtime {

#if defined(__x86_64__)
inline constexpr bool can_go_past = true;
#else
inline constexpr bool can_go_past = false;
#endif

/// Copies bytes past the caches; whoever sees what is stored with release afterwards sees them. `to` starts a line.
inline void copy_past(std::byte* to, const std::byte* from, std::size_t count) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  constexpr std::size_t line = 64, part = sizeof(__m128i);
  std::size_t done = 0;
  for (; done + line <= count; done += line) {
    for (std::size_t i = done; i < done + line; i += part) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), bytes);
    }
  }
  if (done < count) std::memcpy(to + done, from + done, count - done);
  _mm_sfence();
#else
  std::memcpy(to, from, count);
#endif
}

/// Of messages to one peer, and from it.
class Copying {
 public:
  static constexpr std::size_t least = InPlace::least;  ///< of larger messages

  /// What the receiver tells of copies through and past the caches: by size, in 1,024ths of a nanosecond a byte.
  struct Told {
    std::uint64_t through = 0, past = 0;
  };

  /// Whether the next message of this size goes past the caches, and whether its copy is to be timed: at first either
  /// way, then the better one, now and then the other.
  struct Way {
    bool past = false, timed = false;
  };
  [[nodiscard]] Way next(std::size_t count, const Told& out) {
    const std::uint32_t size = InPlace::size_of(count), n = sent_[size]++;
    if (n < first) return {(n / (first / 4) & 1) != 0, true};
    // A try is dear where the way it tries was much slower.
    const auto [through, past] = in_[size];
    const std::uint32_t between = std::max(through, past) > 2 * std::min(through, past) ? 1024 : 256;
    const bool is_try = n % between < tries;
    return {is_better(size, out) != is_try, is_try || n % 4 == 0};
  }
  void copied_in(std::size_t count, bool past, std::uint64_t ns) {
    add(in_[InPlace::size_of(count)][past ? 1 : 0], count, ns);
  }

  /// Whether the receiver is to time its copy of the next message of this size.
  [[nodiscard]] bool times(std::size_t count, bool past) {
    std::uint32_t& n = received_[InPlace::size_of(count)][past ? 1 : 0];
    return n++ < first || n % 4 == 0;
  }
  void copied_out(std::size_t count, bool past, std::uint64_t ns) {
    add(out_[InPlace::size_of(count)][past ? 1 : 0], count, ns);
  }
  [[nodiscard]] Told told() const {
    Told all;
    for (std::uint32_t size = 0; size < InPlace::sizes; ++size) {
      const auto of = [&](float ns) { return std::uint64_t(std::lround(std::min(1024 * ns, 65535.0F))) << 16 * size; };
      all.through |= of(out_[size][0]), all.past |= of(out_[size][1]);
    }
    return all;
  }

 private:
  static constexpr std::uint32_t first = 16, tries = 4;

  /// In exchanges a rank copies in and out one after the other; of a stream both sides copy at the same time: what the
  /// ones gain has to be more than what the others lose.
  [[nodiscard]] bool is_better(std::uint32_t size, const Told& told) const {
    const auto of = [&](std::uint64_t word) { return static_cast<float>(word >> 16 * size & 65535) / 1024; };
    const float out[2] = {of(told.through), of(told.past)};
    const std::array<float, 2>& in = in_[size];
    return (in[1] + out[1]) * std::max(in[1], out[1]) < 0.95F * (in[0] + out[0]) * std::max(in[0], out[0]);
  }
  /// The least counts, as what disturbs a copy makes it longer; it is forgotten slowly.
  static void add(float& least_ns, std::size_t count, std::uint64_t ns) {
    least_ns = std::min(static_cast<float>(ns) / static_cast<float>(count), 1.06F * least_ns);
  }

  static constexpr float unknown = std::numeric_limits<float>::max() / 4;
  using Times = std::array<std::array<float, 2>, InPlace::sizes>;  ///< a byte, through and past the caches
  static constexpr Times none{{{unknown, unknown}, {unknown, unknown}, {unknown, unknown}, {unknown, unknown}}};

  std::array<std::uint32_t, InPlace::sizes> sent_{};
  std::array<std::array<std::uint32_t, 2>, InPlace::sizes> received_{};
  Times in_ = none, out_ = none;
};

}  // namespace isthmus::runtime

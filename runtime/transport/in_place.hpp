// Whether messages of exchanges that the ring of bytes could hold are better left where they are at the sender, to be
// taken by one copy. On some machines one copy of 16 KiB through the kernel takes less than two through the caches, on
// others twice as long for 64 KiB; with partners that compute longer, a sender has to wait until its messages have been
// taken. So each receiver finds what takes less time from message to message, and asks for it. It does not time single
// copies: what two of them take together depends on who copies at the same time, and on what caches hold afterwards.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace isthmus::runtime {

/// Of the messages to one peer and from it.
class InPlace {
 public:
  static constexpr std::size_t least = 4 << 10;  ///< of larger messages
  static constexpr std::uint32_t sizes = 4;

  /// By powers of two up to 8, 16, 32 KiB, and above.
  [[nodiscard]] static std::uint32_t size_of(std::size_t count) {
    return static_cast<std::uint32_t>(std::clamp(static_cast<int>(std::bit_width(count - 1)), 13, 16) - 13);
  }
  /// By size, and by whether the caller of the sender waits for nothing else.
  [[nodiscard]] static std::uint32_t kind_of(std::size_t count, bool waits) {
    return size_of(count) + (waits ? 0 : sizes);
  }

  /// Whether messages of this kind stay where they are, of which the peer has asked for some: a bit for each kind. Of
  /// an exchange both ranks have to ask: where the one copies into the ring while the other takes what stays, both wait
  /// for each other.
  [[nodiscard]] bool stays(std::uint32_t kind, std::uint32_t peer_asked) const {
    const bool exchanges = kinds_[kind].received > 0;
    const std::uint32_t asked = exchanges ? peer_asked & asked_ : peer_asked;
    return (asked & 1U << kind) != 0;
  }

  /// A message has come at this time, in nanoseconds, which is asked for only where it counts. Returns the kinds that
  /// are to stay from now on.
  template <class Clock>
  std::uint32_t received(std::uint32_t kind, bool stayed, const Clock& now) {
    Kind& k = kinds_[kind];
    const std::uint32_t n = ++k.received;
    const Phase phase = phase_of(n - 1);
    if (phase.counts) {
      if (phase.at % group == 0) k.since = now();
      if (phase.at % group == group - 1 && stayed == (k.stays != phase.is_try)) {
        std::uint64_t& group_ns = k.group_ns[stayed ? 1 : 0];
        group_ns = std::min(group_ns, now() - k.since);
      }
    }
    const Phase next = phase_of(n);
    if (phase.is_try && !next.is_try) decide(k);
    else if (!phase.counts && next.counts && !next.is_try) k.group_ns = none;
    const bool asks = k.stays != next.is_try && !refused_;
    asked_ = asks ? asked_ | 1U << kind : asked_ & ~(1U << kind);
    return asked_;
  }

  /// Bytes cannot be taken from where they are: that is not asked for any more.
  void refuse() {
    refused_ = true;
    asked_ = 0;
  }
  [[nodiscard]] std::uint32_t asked() const { return asked_; }

 private:
  /// Messages in a row of which the time is taken: an exchange may consist of several.
  static constexpr std::uint32_t group = 8;
  /// A trial of so many messages by the way in use, and as many by the other one, begins with the first message, the
  /// one of number `soon`, and each multiple of `period`: by their number, so that two ranks that exchange messages try
  /// at the same time.
  static constexpr std::uint32_t trial = 128, soon = 1024, period = 8192;
  /// The first ones of them do not count: caches, and what the kernel knows of the memory of the sender, are still
  /// those of the other way, or of other buffers. The first copies of 64 KiB out of the memory of another process took
  /// 17 us, later ones 4.5.
  static constexpr std::uint32_t settles = trial / 2;

  struct Phase {
    bool is_try, counts;
    std::uint32_t at;  ///< in the trial
  };
  [[nodiscard]] static Phase phase_of(std::uint32_t n) {
    const std::uint32_t at = n < soon ? n : n < 2 * soon ? n - soon : n % period;
    const bool is_trial = at < 2 * trial;
    return {is_trial && at >= trial, is_trial && at % trial >= settles, at};
  }

  struct Kind {
    std::uint32_t received = 0;
    bool stays = false;  ///< outside of tries
    std::uint64_t since = 0;
    std::array<std::uint64_t, 2> group_ns = none;  ///< the least: through the ring, and where they stayed
  };
  static void decide(Kind& k) {
    // The way in use is kept where the other one does not save what can be seen.
    const std::uint64_t ring = k.group_ns[0], place = k.group_ns[1];
    if (k.stays ? ring < place - place / 32 : place < ring - ring / 32) k.stays = !k.stays;
  }

  static constexpr std::array<std::uint64_t, 2> none{std::numeric_limits<std::uint64_t>::max(),
                                                     std::numeric_limits<std::uint64_t>::max()};

  std::array<Kind, 2 * sizes> kinds_;
  std::uint32_t asked_ = 0;
  bool refused_ = false;
};

}  // namespace isthmus::runtime

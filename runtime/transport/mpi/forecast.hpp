// When a message that is under way will have ended, from how long those of its size took.
//
// Over a network the kernel goes on while the program computes, and a look before something has come takes time from
// the program for nothing: 30 to 50 us with its wake-up. So a look comes shortly before the time that such messages
// usually take, and then again after a sixteenth of it, or ever later where the other rank is late. Each may be too
// early or too late; what it finds corrects the next ones. What nobody waits for is left to the kernel, as far as that
// can hold it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

namespace isthmus::runtime {

class Forecast {
 public:
  using Time = std::chrono::nanoseconds;
  /// Of all pauses: what comes of a look that nobody needs is then hardly a cost.
  static constexpr Time longest = std::chrono::milliseconds(20);

  /// A message of so many bytes has ended so long after its beginning.
  void ended(std::uint64_t bytes, Time after) {
    Time& usual = usual_[class_of(bytes)];
    if (usual == Time{}) usual = after;
    else usual += (after - usual) / (after < usual ? 2 : 4);
    usual = std::max(usual, Time{1});
  }

  /// How long to leave one alone that began so long ago, with so many bytes under way in all; zero: none of its size
  /// has ended yet.
  [[nodiscard]] Time pause(std::uint64_t bytes, Time age, std::uint64_t under_way, bool awaited) const {
    if (!awaited && under_way <= held) return longest;
    const Time usual = usual_[class_of(bytes)], step = usual / 16, due = usual - step;
    if (usual == Time{}) return {};
    Time pause = age < due ? due - age : std::clamp((age - usual) / 4, step, std::max(step, longest_late));
    if (under_way > held) {
      const Time filled = usual / static_cast<Time::rep>(under_way / held);
      pause = awaited ? std::min(pause, filled) : filled;
    }
    return std::clamp(pause, Time{1}, longest);
  }

 private:
  /// What the kernel is taken to hold of what has come, or has to leave. Linux begins with less, and with more where
  /// the program lets it lie.
  static constexpr std::uint64_t held = 1 << 18;
  static constexpr Time longest_late = std::chrono::milliseconds(1);

  [[nodiscard]] static std::size_t class_of(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::bit_width(bytes));
  }

  std::array<Time, 65> usual_{};  // by the number of bits of their bytes
};

}  // namespace isthmus::runtime

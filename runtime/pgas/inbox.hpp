// Messages from many senders to one receiver, in memory that all of them see: a ring of lines of cache. A sender takes
// as many lines as it needs, fills them, and marks the first; the receiver takes them in the order of the ring.
//
// A message of up to four arguments is one line: its sender changes the place of the end, which stays in its cache as
// long as nobody else sends, and writes the line; the receiver reads the line, and gives it back by the place up to
// which it has read, which senders look at only where the ring seems to be full.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/transport/delay.hpp"

namespace isthmus::runtime {

/// The first line of a message; arguments and payload follow.
struct alignas(64) ActiveMessage {
  static constexpr std::uint16_t filler = 0xFFFF;  ///< as handler: nothing, up to the end of the ring

  std::atomic<std::uint32_t> lines{0};  ///< 0: it is not there yet
  std::uint16_t handler = 0;
  std::uint16_t count = 0;  ///< arguments for which there is room
  std::uint32_t from = 0;
  std::uint16_t spared = 0;    ///< of them, the last ones that are not given
  std::uint16_t in_space = 0;  ///< the payload is in the space, at `offset`
  std::uint64_t bytes = 0;     ///< of the payload
  std::uint64_t offset = 0;
  std::uint64_t arguments[4] = {};

  static constexpr std::size_t head = 32;

  /// Where the payload begins.
  static std::size_t payload_at(std::size_t count) { return (head + 8 * count + 15) / 16 * 16; }
  static std::size_t lines_for(std::size_t count, std::size_t bytes) {
    return (std::max(payload_at(count) + bytes, head + 8 * count) + 63) / 64;
  }
  [[nodiscard]] std::byte* payload() { return reinterpret_cast<std::byte*>(this) + payload_at(count); }
};
static_assert(sizeof(ActiveMessage) == 64);

/// In shared memory, zero at first.
struct InboxPlaces {
  alignas(64) std::atomic<std::uint64_t> end;    ///< up to where senders have taken lines, counted from the beginning
  alignas(64) std::atomic<std::uint64_t> taken;  ///< up to where the receiver has read
};

class Inbox {
 public:
  /// `lines`: a power of two of them, zero at first, from `memory` on.
  void open(InboxPlaces& places, std::byte* memory, std::uint64_t lines) {
    places_ = &places;
    ring_ = reinterpret_cast<ActiveMessage*>(memory);
    lines_ = lines;
  }
  /// What one message may take and always finds room for in the end.
  [[nodiscard]] static std::uint64_t most(std::uint64_t lines) { return lines / 4; }

  /// Takes lines; null if there is no room now. A sender's.
  ActiveMessage* room(std::uint64_t wanted) {
    maybe_delay();
    std::uint64_t end = places_->end.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t rest = lines_ - (end & (lines_ - 1));
      const std::uint64_t skipped = rest < wanted ? rest : 0;
      if (end + skipped + wanted - seen_ > lines_) {
        seen_ = places_->taken.load(std::memory_order_acquire);
        if (end + skipped + wanted - seen_ > lines_) return nullptr;
      }
      if (!places_->end.compare_exchange_weak(end, end + skipped + wanted, std::memory_order_relaxed)) continue;
      if (skipped == 0) return &ring_[end & (lines_ - 1)];
      ActiveMessage& filler = ring_[end & (lines_ - 1)];
      filler.handler = ActiveMessage::filler;
      pass(filler, skipped);
      return &ring_[0];
    }
  }
  static void pass(ActiveMessage& message, std::uint64_t lines) {
    maybe_delay();
    message.lines.store(static_cast<std::uint32_t>(lines), std::memory_order_release);
  }

  /// What is next; null if nothing is there. The receiver's.
  ActiveMessage* look() {
    for (;;) {
      maybe_delay();
      ActiveMessage& next = ring_[read_ & (lines_ - 1)];
      if (next.lines.load(std::memory_order_acquire) == 0) return nullptr;
      if (next.handler != ActiveMessage::filler) return &next;
      give_back(next);
    }
  }
  void give_back(ActiveMessage& message) {
    const std::uint32_t lines = message.lines.load(std::memory_order_relaxed);
    // What was a payload may become a first line.
    for (std::uint32_t i = 0; i < lines; ++i) (&message + i)->lines.store(0, std::memory_order_relaxed);
    read_ += lines;
    maybe_delay();
    places_->taken.store(read_, std::memory_order_release);
  }

 private:
  InboxPlaces* places_ = nullptr;
  ActiveMessage* ring_ = nullptr;
  std::uint64_t lines_ = 0;
  std::uint64_t seen_ = 0;  // of places_->taken, by a sender
  std::uint64_t read_ = 0;  // by the receiver
};

}  // namespace isthmus::runtime

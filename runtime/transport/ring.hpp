// A ring of slots from one sender to one receiver, in memory that both see. No locks: each side keeps its own place and
// looks at a flag in the slot, which lies on the line of cache that it is going to read anyway.
//
// A small message costs its sender one line written (two above 24 bytes), its receiver the same line read and one store
// that gives the slot back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

enum class Parcel : std::uint32_t {
  none = 0,     ///< the slot is free
  eager = 1,    ///< the bytes are in the slot
  waiting = 2,  ///< the bytes are at `address` until a `taken` comes back
  taken = 3,    ///< the message `number` of the other direction has been copied
};

struct alignas(64) Slot {
  static constexpr std::size_t room = 256 - 48;

  std::atomic<Parcel> parcel{Parcel::none};
  Key key;
  std::uint64_t count = 0;
  std::uint64_t address = 0;
  std::uint64_t number = 0;
  std::byte bytes[room];
};
static_assert(sizeof(Slot) == 256);

/// In shared memory; the places of both sides are in their own memory.
struct Ring {
  static constexpr std::uint32_t slots = 16;

  Slot slot[slots];
};

/// The sender's end.
class RingOut {
 public:
  void open(Ring& ring) { ring_ = &ring; }
  [[nodiscard]] bool is_open() const { return ring_ != nullptr; }

  /// A free slot, to be filled and then passed on; null if there is none now.
  [[nodiscard]] Slot* free() const {
    Slot& slot = ring_->slot[next_ % Ring::slots];
    return slot.parcel.load(std::memory_order_acquire) == Parcel::none ? &slot : nullptr;
  }
  void pass(Slot& slot, Parcel parcel) {
    slot.parcel.store(parcel, std::memory_order_release);
    ++next_;
  }

 private:
  Ring* ring_ = nullptr;
  std::uint32_t next_ = 0;
};

/// The receiver's end.
class RingIn {
 public:
  void open(Ring& ring) { ring_ = &ring; }
  [[nodiscard]] bool is_open() const { return ring_ != nullptr; }

  /// What comes next; null if nothing is there.
  [[nodiscard]] Slot* look() const {
    Slot& slot = ring_->slot[next_ % Ring::slots];
    return slot.parcel.load(std::memory_order_acquire) == Parcel::none ? nullptr : &slot;
  }
  void give_back(Slot& slot) {
    slot.parcel.store(Parcel::none, std::memory_order_release);
    ++next_;
  }

 private:
  Ring* ring_ = nullptr;
  std::uint32_t next_ = 0;
};

}  // namespace isthmus::runtime

// A ring of slots from one sender to one receiver, in memory that both see. No locks: each side keeps its own place and
// looks at a flag in the slot, which lies on the line of cache that it is going to read anyway.
//
// A small message costs its sender one line written (two above 24 bytes), its receiver the same line read and one store
// that gives the slot back. The bytes of a larger one lie in a second ring, of bytes, whose place goes with the slot:
// one more line that the receiver writes, and that the sender reads only where the ring seems to be full.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/transport/delay.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

enum class Parcel : std::uint32_t {
  none = 0,     ///< the slot is free
  eager = 1,    ///< the bytes are in the slot
  waiting = 2,  ///< the bytes are at `address` until a `taken` or a `wanted` comes back
  taken = 3,    ///< the message `number` of the other direction has been copied
  wanted = 4,   ///< the message `number` of the other direction cannot be copied: its bytes are to be sent
  bulk = 5,     ///< the bytes are in the ring of bytes
  piece = 6,    ///< so are these, the next ones of the first message that was wanted and is not complete
};

struct alignas(64) Slot {
  static constexpr std::size_t room = 256 - 40;

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
    maybe_delay();
    Slot& slot = ring_->slot[next_ % Ring::slots];
    return slot.parcel.load(std::memory_order_acquire) == Parcel::none ? &slot : nullptr;
  }
  void pass(Slot& slot, Parcel parcel) {
    maybe_delay();
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
    maybe_delay();
    Slot& slot = ring_->slot[next_ % Ring::slots];
    return slot.parcel.load(std::memory_order_acquire) == Parcel::none ? nullptr : &slot;
  }
  void give_back(Slot& slot) {
    maybe_delay();
    slot.parcel.store(Parcel::none, std::memory_order_release);
    ++next_;
  }

 private:
  Ring* ring_ = nullptr;
  std::uint32_t next_ = 0;
};

/// The ring of bytes: a line with the place up to which the receiver has read, then the bytes. What is written lies in
/// one piece; both sides find its place by the same rule.
class BulkRing {
 public:
  static constexpr std::size_t head = 64;
  static_assert(sizeof(std::atomic<std::uint64_t>) <= head);

  /// `memory`: of head + `size` bytes, zero at first; `size`: a power of two.
  void open(std::byte* memory, std::size_t size) {
    taken_ = reinterpret_cast<std::atomic<std::uint64_t>*>(memory);
    bytes_ = memory + head;
    size_ = size;
  }
  [[nodiscard]] bool is_open() const { return bytes_ != nullptr; }
  /// What always finds room in the end; several of them at once.
  [[nodiscard]] static std::size_t most(std::size_t size) { return size / 4; }

  /// Room for so many bytes, at most most(); null if there is none now. The sender's.
  std::byte* room(std::size_t count) {
    const std::uint64_t begin = place(count);
    if (begin + count - seen_ > size_) {
      maybe_delay();
      seen_ = taken_->load(std::memory_order_acquire);
      if (begin + count - seen_ > size_) return nullptr;
    }
    at_ = begin + count;
    return bytes_ + (begin & (size_ - 1));
  }
  /// Where the next bytes are. The receiver's.
  [[nodiscard]] const std::byte* next(std::size_t count) const { return bytes_ + (place(count) & (size_ - 1)); }
  /// They have been read.
  void give_back(std::size_t count) {
    at_ = place(count) + count;
    maybe_delay();
    taken_->store(at_, std::memory_order_release);
  }

 private:
  /// From a line of cache on, and at the beginning again where it would reach beyond the end.
  [[nodiscard]] std::uint64_t place(std::size_t count) const {
    const std::uint64_t line = (at_ + 63) & ~std::uint64_t{63};
    const std::uint64_t left = size_ - (line & (size_ - 1));
    return count <= left ? line : line + left;
  }

  std::atomic<std::uint64_t>* taken_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t at_ = 0;    // up to where this side has written or read
  std::uint64_t seen_ = 0;  // of taken_, by the sender
};

}  // namespace isthmus::runtime

// A ring of slots from one sender to one receiver, in memory that both see. No locks: each side keeps its own place and
// looks at a flag in the slot, which lies on the line of cache that it is going to read anyway.
//
// A small message costs its sender one line written (two above 24 bytes), its receiver the same line read: nobody
// writes it in between, as the flag tells the laps of the sender apart. How far the receiver has come is a line of its
// own, which it writes after half a lap and the sender reads where the ring seems to be full. The bytes of a larger
// message lie in a second ring, of bytes, whose place goes with the slot, with such a line as well.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/transport/delay.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

enum class Parcel : std::uint32_t {
  none = 0,     ///< nothing
  eager = 1,    ///< the bytes are in the slot
  waiting = 2,  ///< the bytes are at `address` until a `taken` or a `wanted` comes back
  taken = 3,    ///< the message `number` of the other direction has been copied
  wanted = 4,   ///< the message `number` of the other direction cannot be copied: its bytes are to be sent
  bulk = 5,     ///< the bytes are in the ring of bytes
  piece = 6,    ///< so are these, the next ones of the first message that was wanted and is not complete
};

struct alignas(64) Slot {
  static constexpr std::size_t room = 256 - 40;

  /// The lap of the sender, and what lies there: the last three bits.
  std::atomic<std::uint32_t> mark{0};
  Key key;
  std::uint64_t count = 0;
  std::uint64_t address = 0;  ///< at the sender; of what is in the ring of bytes its place there
  std::uint64_t number = 0;
  std::byte bytes[room];

  [[nodiscard]] Parcel parcel() const { return static_cast<Parcel>(mark.load(std::memory_order_relaxed) & 7); }
};
static_assert(sizeof(Slot) == 256);

/// In shared memory; the places of both sides are in their own memory.
struct Ring {
  static constexpr std::uint32_t slots = 16;

  Slot slot[slots];
  alignas(64) std::atomic<std::uint32_t> taken{0};  ///< messages, as far as the receiver has told

  [[nodiscard]] Slot& at(std::uint32_t number) { return slot[number % slots]; }
  /// What marks of messages of this lap begin with: never that of the lap before, nor that of a slot that is new.
  [[nodiscard]] static std::uint32_t lap(std::uint32_t number) { return (number / slots + 1) << 3; }
};

/// The sender's end.
class RingOut {
 public:
  void open(Ring& ring) { ring_ = &ring; }
  [[nodiscard]] bool is_open() const { return ring_ != nullptr; }

  /// A free slot, to be filled and then passed on; null if there is none now.
  [[nodiscard]] Slot* free() {
    maybe_delay();
    if (next_ - seen_ >= Ring::slots) seen_ = ring_->taken.load(std::memory_order_acquire);
    return next_ - seen_ < Ring::slots ? &ring_->at(next_) : nullptr;
  }
  void pass(Slot& slot, Parcel parcel) {
    maybe_delay();
    slot.mark.store(Ring::lap(next_) | static_cast<std::uint32_t>(parcel), std::memory_order_release);
    ++next_;
  }

 private:
  Ring* ring_ = nullptr;
  std::uint32_t next_ = 0;
  std::uint32_t seen_ = 0;  // of taken
};

/// The receiver's end.
class RingIn {
 public:
  void open(Ring& ring) { ring_ = &ring; }
  [[nodiscard]] bool is_open() const { return ring_ != nullptr; }

  /// What comes next; null if nothing is there.
  [[nodiscard]] const Slot* look() const {
    maybe_delay();
    const Slot& slot = ring_->at(next_);
    return (slot.mark.load(std::memory_order_acquire) & ~std::uint32_t{7}) == Ring::lap(next_) ? &slot : nullptr;
  }
  /// The slot at which look() was has been read.
  void give_back() {
    maybe_delay();
    if (++next_ % (Ring::slots / 2) == 0) ring_->taken.store(next_, std::memory_order_release);
  }

 private:
  Ring* ring_ = nullptr;
  std::uint32_t next_ = 0;
};

/// The ring of bytes: a line with the place up to which the receiver has read, then the bytes. What is written lies in
/// one piece, from the place on that goes with its slot.
///
/// With a message of up to a page the sender goes back to the beginning when all before it have been read, so that
/// those that are read at once go through the same few lines of cache, however large the ring is. Not before, and not
/// with larger ones: the sender would write lines that the receiver has just read, and both would copy in turns instead
/// of at the same time.
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

  /// Room for so many bytes that are at `from`, at most most(), and its place; null if there is none now. The sender's.
  std::byte* room(const std::byte* from, std::size_t count, std::uint64_t& place) {
    const std::uint64_t apart = apart_from(from, count);
    const std::uint64_t lap = at_ & ~std::uint64_t{size_ - 1};
    place = fitting((at_ + 63) & ~std::uint64_t{63}, apart);
    if (place + count > lap + size_) place = fitting(lap + size_, apart);
    const bool returns = count <= page && (place & (size_ - 1)) > count + near;
    if (returns || place + count - seen_ > size_) {
      maybe_delay();
      seen_ = taken_->load(std::memory_order_acquire);
      if (returns && seen_ == at_) place = fitting(lap + size_, apart);
      if (place + count - seen_ > size_) return nullptr;
    }
    at_ = place + count;
    return at(place);
  }
  /// Where the bytes of a place are.
  [[nodiscard]] std::byte* at(std::uint64_t place) const { return bytes_ + (place & (size_ - 1)); }
  /// So many bytes from there on have been read. The receiver's.
  void give_back(std::uint64_t place, std::size_t count) {
    maybe_delay();
    taken_->store(place + count, std::memory_order_release);
  }

 private:
  static constexpr std::size_t page = 4096;
  /// Messages within so many bytes of the beginning do not look how far the receiver has read.
  static constexpr std::size_t near = 2 * page;

  /// A processor takes a load for one of bytes that a store before it wrote if their places within a page are the same:
  /// copies between buffers that lie a little apart within their pages take twice as long. Large messages lie half a
  /// page from where they come from, and so from where they mostly go to.
  [[nodiscard]] std::uint64_t apart_from(const std::byte* from, std::size_t count) const {
    if (count < page || size_ < 16 * page) return none;
    const std::uint64_t base = reinterpret_cast<std::uintptr_t>(bytes_);
    return (reinterpret_cast<std::uintptr_t>(from) / 64 * 64 + page / 2 - base) & (page - 1);
  }
  /// The first place from there on with this rest by pages.
  static std::uint64_t fitting(std::uint64_t place, std::uint64_t rest) {
    return rest == none ? place : place + ((rest - place) & (page - 1));
  }
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  std::atomic<std::uint64_t>* taken_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t at_ = 0;    // up to where the sender has written
  std::uint64_t seen_ = 0;  // of taken_, by the sender
};

}  // namespace isthmus::runtime

// A ring of cells from one sender to one receiver, in memory that both see. No locks: each side keeps its own place and
// looks at a flag in the cell, which lies on the line of cache that it is going to read anyway.
//
// A cell is half a line, so that small messages that follow each other cost a line for two: where processors share no
// cache, a stream of messages takes what its lines take to move. A message of more bytes than fit goes on in the cells
// that follow. Nobody but its sender writes a cell, as the flag tells the laps apart. How far the receiver has come is
// a line of its own, which it writes after half a lap and the sender reads where the ring seems to be full. The bytes
// of a larger message lie in a second ring, of bytes, whose place goes with the cell, with such a line as well.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/transport/copying.hpp"
#include "runtime/transport/delay.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

enum class Parcel : std::uint32_t {
  none = 0,     ///< nothing, or more of the message before
  small = 1,    ///< the bytes are in the cells
  waiting = 2,  ///< the bytes are at `address` until a `taken` or a `wanted` comes back
  taken = 3,    ///< the message `number` of the other direction has been copied
  wanted = 4,   ///< the message `number` of the other direction cannot be copied: its bytes are to be sent
  bulk = 5,     ///< the bytes are in the ring of bytes
  piece = 6,    ///< so are these, the next ones of the first message that was wanted and is not complete
};

/// What a cell says of bytes that are elsewhere.
struct Elsewhere {
  std::uint64_t address : 56;  ///< at the sender; of what is in the ring of bytes its place there
  std::uint64_t number_low : 8;
  std::uint64_t count : 40;
  std::uint64_t number_high : 24;

  static constexpr std::uint64_t most = (std::uint64_t{1} << 40) - 1;

  [[nodiscard]] static Elsewhere of(std::uint64_t address, std::uint64_t count, std::uint32_t number) {
    return {address & ((std::uint64_t{1} << 56) - 1), number & 0xff, count & most, number >> 8};
  }
  [[nodiscard]] std::uint32_t number() const { return static_cast<std::uint32_t>(number_high << 8 | number_low); }
};

/// Copies up to 32 bytes, in moves that overlap: faster than a call of memcpy.
inline void copy_few(std::byte* to, const std::byte* from, std::size_t count) {
  const auto twice = [&](auto part) {
    decltype(part) last;
    std::memcpy(&part, from, sizeof part);
    std::memcpy(&last, from + count - sizeof last, sizeof last);
    std::memcpy(to, &part, sizeof part);
    std::memcpy(to + count - sizeof last, &last, sizeof last);
  };
  struct Sixteen {
    std::uint64_t number[2];
  };
  if (count == 8) {  // one number, as most messages are
    std::memcpy(to, from, 8);
  } else if (count >= 16) {
    twice(Sixteen{});
  } else if (count >= 8) {
    twice(std::uint64_t{});
  } else if (count >= 4) {
    twice(std::uint32_t{});
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

/// The first cell of a message, or one that follows it.
struct alignas(32) Cell {
  static constexpr std::size_t first = 16, more = 28;  ///< bytes of a small message
  static constexpr std::size_t room = first + 7 * more;

  /// The lap of the sender, the bytes of a small message, and what lies there: the last three bits.
  std::atomic<std::uint32_t> mark{0};
  Key key;
  union {
    std::byte bytes[first];
    Elsewhere elsewhere;
  };

  Cell() : bytes{} {}
  /// More bytes of the message before, in place of a key and bytes.
  [[nodiscard]] std::byte* rest() { return reinterpret_cast<std::byte*>(this) + sizeof mark; }
  [[nodiscard]] Parcel parcel() const { return static_cast<Parcel>(mark.load(std::memory_order_relaxed) & 7); }
  [[nodiscard]] std::size_t count() const {
    const std::uint32_t now = mark.load(std::memory_order_relaxed);
    return static_cast<Parcel>(now & 7) == Parcel::small ? now >> 3 & 255 : elsewhere.count;
  }
  /// The cells of a small message of so many bytes.
  [[nodiscard]] static std::uint32_t cells(std::size_t count) {
    return count <= first ? 1 : static_cast<std::uint32_t>(1 + (count - first + more - 1) / more);
  }
};
static_assert(sizeof(Cell) == sizeof(std::uint32_t) + Cell::more && sizeof(Elsewhere) == Cell::first &&
              Cell::room < 256);

/// In shared memory; the places of both sides are in their own memory.
struct Ring {
  static constexpr std::uint32_t cells = 128;

  alignas(64) Cell cell[cells];
  alignas(64) std::atomic<std::uint64_t> taken{0};  ///< cells, as far as the receiver has told
  /// What the receiver asks for: a bit for each size of messages that are to stay at the sender.
  std::atomic<std::uint32_t> asked{0};
  /// What its copies take: `Copying::Told`.
  std::atomic<std::uint64_t> through{0}, past{0};

  [[nodiscard]] Cell& at(std::uint64_t number) { return cell[number % cells]; }
  /// What marks of cells of this lap begin with: never that of the lap before, nor that of a cell that is new.
  [[nodiscard]] static std::uint32_t lap(std::uint64_t number) {
    return static_cast<std::uint32_t>((number / cells + 1) << 11);
  }
  [[nodiscard]] static bool is_of(std::uint32_t mark, std::uint64_t number) {
    return (mark & ~std::uint32_t{2047}) == lap(number);
  }
};

/// The sender's end.
class RingOut {
 public:
  void open(Ring& ring) { ring_ = &ring; }
  [[nodiscard]] bool is_open() const { return ring_ != nullptr; }

  [[nodiscard]] std::uint32_t asked() const { return ring_->asked.load(std::memory_order_relaxed); }
  [[nodiscard]] Copying::Told told() const {
    return {ring_->through.load(std::memory_order_relaxed), ring_->past.load(std::memory_order_relaxed)};
  }
  /// The cell that is passed on next, to be filled; null if so many are not free now.
  [[nodiscard]] Cell* free(std::uint32_t cells = 1) {
    maybe_delay();
    if (next_ + cells - seen_ > Ring::cells) seen_ = ring_->taken.load(std::memory_order_acquire);
    return next_ + cells - seen_ <= Ring::cells ? &ring_->at(next_) : nullptr;
  }
  /// Passes on a message whose bytes are elsewhere; its one cell is filled.
  void pass(Parcel parcel) { pass(static_cast<std::uint32_t>(parcel), 1); }
  /// Passes on a small message; as many cells as it takes are free. The first cell comes last: whoever looks at its
  /// line meanwhile is disturbed by every write to it.
  void pass(const Key& key, const std::byte* bytes, std::size_t count) {
    const std::uint32_t cells = Cell::cells(count);
    for (std::uint32_t i = cells; --i > 0;) {
      const std::size_t done = Cell::first + (i - 1) * Cell::more;
      Cell& cell = ring_->at(next_ + i);
      copy_few(cell.rest(), bytes + done, i + 1 < cells ? Cell::more : count - done);
      // Told by the mark of the first cell.
      cell.mark.store(Ring::lap(next_ + i), std::memory_order_relaxed);
    }
    Cell& cell = ring_->at(next_);
    cell.key = key;
    copy_few(cell.bytes, bytes, cells > 1 ? Cell::first : count);
    pass(static_cast<std::uint32_t>(count) << 3 | static_cast<std::uint32_t>(Parcel::small), cells);
  }

 private:
  void pass(std::uint32_t what, std::uint32_t cells) {
    maybe_delay();
    ring_->at(next_).mark.store(Ring::lap(next_) | what, std::memory_order_release);
    next_ += cells;
  }

  Ring* ring_ = nullptr;
  std::uint64_t next_ = 0;
  std::uint64_t seen_ = 0;  // of taken
};

/// The receiver's end.
class RingIn {
 public:
  void open(Ring& ring) { ring_ = &ring; }
  [[nodiscard]] bool is_open() const { return ring_ != nullptr; }

  /// What comes next; null if nothing is there.
  [[nodiscard]] const Cell* look() const {
    maybe_delay();
    const Cell& cell = ring_->at(next_);
    return Ring::is_of(cell.mark.load(std::memory_order_acquire), next_) ? &cell : nullptr;
  }
  /// The bytes of the small message at which look() was, where one cell holds them; otherwise copied into `room`, of
  /// Cell::room bytes.
  [[nodiscard]] const std::byte* bytes(std::byte* room) const {
    const Cell& cell = ring_->at(next_);
    const std::size_t count = cell.count();
    if (count <= Cell::first) return cell.bytes;
    copy(cell, room, count);
    return room;
  }
  /// Copies them.
  void read(std::byte* to) const {
    const Cell& cell = ring_->at(next_);
    const std::size_t count = cell.count();
    if (count > Cell::first) copy(cell, to, count);
    else copy_few(to, cell.bytes, count);
  }
  void ask(std::uint32_t bits) { ring_->asked.store(bits, std::memory_order_relaxed); }
  void tell(const Copying::Told& told) {
    const auto tell = [](std::atomic<std::uint64_t>& word, std::uint64_t value) {
      if (word.load(std::memory_order_relaxed) != value) word.store(value, std::memory_order_relaxed);
    };
    tell(ring_->through, told.through);
    tell(ring_->past, told.past);
  }
  /// The message at which look() was has been read.
  void give_back() {
    maybe_delay();
    constexpr std::uint32_t half = Ring::cells / 2;
    const Cell& cell = ring_->at(next_);
    const std::uint64_t before = next_ / half;
    next_ += cell.parcel() == Parcel::small ? Cell::cells(cell.count()) : 1;
    if (next_ / half != before) ring_->taken.store(next_, std::memory_order_release);
  }

 private:
  void copy(const Cell& cell, std::byte* to, std::size_t count) const {
    std::memcpy(to, cell.bytes, Cell::first);
    std::size_t done = Cell::first;
    for (std::uint64_t i = next_ + 1; done < count; ++i, done += Cell::more) {
      copy_few(to + done, ring_->at(i).rest(), count - done >= Cell::more ? Cell::more : count - done);
    }
  }

  Ring* ring_ = nullptr;
  std::uint64_t next_ = 0;
};

/// The ring of bytes: a line with the place up to which the receiver has read, then the bytes. What is written lies in
/// one piece, from the place on that goes with its cell.
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

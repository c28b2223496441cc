// Many pieces at places of a rank with which this one shares no memory, packed into letters.
//
// A letter that puts carries the bytes of its pieces one after the other, and then where they belong; one that gets
// carries where they are, and its answer the bytes, which go to the places that this rank has kept. Whoever knows where
// pieces are copies them in one go, so that a piece costs a copy on both sides and 8 bytes, in place of a letter and
// its answer; elements at one stride cost the copies alone.
//
// How much a letter holds, and which pieces are long enough to go by themselves: a piece of b bytes takes a + g b
// alone, where it is not copied, and p b of letters, which it shares with others; so those are packed of less than a /
// (p - g) bytes. a, g and p differ between wires, see Way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/pgas/letter.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

class Far;

/// An operation of any number of parts.
struct Parts {
  std::uint32_t number = 0;
  bool implicit = false;     ///< counted by the region that is open, or by the space
  std::uint32_t local = 0;   ///< the operation that counts what is still read here; 0: `number`
  std::uint64_t notice = 0;  ///< this rank's number of parts that the other one is told of; 0: it is not
};

/// Where pieces are: records of one word for bytes and number, then a word for the place of each, or, of elements at a
/// stride, for the first place and the stride.
class Places {
 public:
  static constexpr std::uint64_t most = std::uint64_t{1} << 31;       ///< pieces of a record
  static constexpr std::size_t words_of_piece = 2, words_of_row = 3;  ///< at most

  void add(std::uint64_t place, std::uint64_t bytes);
  /// Where to write the places.
  std::uint64_t* add_list(std::size_t count, std::uint64_t bytes);
  void add_row(std::uint64_t place, std::int64_t stride, std::uint64_t bytes, std::uint64_t count);
  void clear() {
    words_.clear();
    last_ = none;
  }
  [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }
  [[nodiscard]] std::vector<std::uint64_t> take() { return std::move(words_); }

  /// Copies the pieces to `bytes`, one after the other, or from there; places are counted from `base`.
  static void pack(const std::uint64_t* words, std::size_t count, std::uintptr_t base, std::byte* bytes);
  static void unpack(const std::uint64_t* words, std::size_t count, std::uintptr_t base, const std::byte* bytes);

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::uint64_t one = std::uint64_t{1} << 32, in_row = std::uint64_t{1} << 63;

  [[nodiscard]] bool joins(std::uint64_t bytes) const {
    return last_ != none && (words_[last_] & 0xFFFFFFFF) == bytes && (words_[last_] & ~in_row) >> 32 < most - 1;
  }
  template <bool packs, class Bytes>
  static void copy(const std::uint64_t* words, std::size_t count, std::uintptr_t base, Bytes* bytes);

  std::vector<std::uint64_t> words_;
  std::size_t last_ = none;  // the record that the next piece may join
};

/// What to pack on a wire. From times of 64 KiB in pieces of 8 B to 32 KiB, `bench/pgas.py --pieces` with
/// ISTHMUS_PACKED of 1 and of 100,000.
struct Way {
  std::size_t room;       ///< bytes of a letter beside its head
  std::uint64_t longest;  ///< piece that is packed

  /// MPI: what Open MPI sends through memory without asking is 4 KiB, and letters of 8 KiB take 2.6 times as long for
  /// each byte; MPICH takes 1.2 times as long with those of 4 KiB. Pieces alone: 1.4 us and 0.09 ns a byte, packed 0.12
  /// ns; MPICH 2.0 us, 0.076 and 0.092 ns.
  static constexpr Way unasked() { return {(4 << 10) - 128, 48 << 10}; }
  /// TCP, below MPI or libfabric: 16 KiB alone take 14 us, packed 18; 8 KiB 11.5 and 9. Letters of 4 KiB take 1.6 times
  /// as long for each byte as those of 8.
  static constexpr Way network(std::size_t room) { return {room, 12 << 10}; }
};

/// Pieces of one operation. Nothing else may be sent before end().
class Packing {
 public:
  /// Bytes of a letter below which nothing is packed.
  static constexpr std::size_t least_room = 512;
  Packing(Far& far, Rank rank, bool puts, const Parts& parts);
  /// Of the space, and of this rank.
  void piece(std::uint64_t there, char* own, std::uint64_t bytes);
  /// Whether pieces of so many bytes may be given as a row or as a list.
  [[nodiscard]] bool takes_many(std::uint64_t bytes) const;
  /// Pieces that lie together in the memory of this rank, and in the space at place(0), place(1) and so on.
  template <class Place>
  void list(const Place& place, std::size_t count, char* own, std::uint64_t bytes) {
    for (std::size_t done = 0; done < count;) {
      const std::size_t left = count - done, room = room_for_list(bytes), part = left < room ? left : room;
      if (part == 0) {
        end();
        continue;
      }
      std::uint64_t* const places = list(part, own + done * bytes, bytes);
      for (std::size_t i = 0; i < part; ++i) places[i] = place(done + i);
      done += part;
    }
  }
  void row(std::uint64_t there, std::int64_t there_stride, char* own, std::int64_t own_stride, std::uint64_t bytes,
           std::uint64_t count);
  /// Sends what is left.
  void end();

 private:
  static constexpr std::uint64_t most_of_many = 256;
  [[nodiscard]] std::size_t room(std::size_t words) const;
  [[nodiscard]] std::size_t room_for_list(std::uint64_t bytes) const;
  std::uint64_t* list(std::size_t count, char* own, std::uint64_t bytes);
  void begin();

  Far& far_;
  Rank rank_;
  bool puts_;
  Parts parts_;
  std::size_t most_;
  Letter* letter_ = nullptr;  // that is filled
  std::size_t filled_ = 0;    // bytes of pieces in it, or in its answer
  Places there_, own_;
};

}  // namespace isthmus::runtime

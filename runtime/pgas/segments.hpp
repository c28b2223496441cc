// The memory of a space: every rank makes a file in shared memory, which all ranks of its node map whole. Files are
// as large as they may ever become, so that no address changes; pages are taken when they are allocated. Unless the
// program says how large that is, it is what shared memory of the largest node has in all, so that memory ends before
// addresses do. The names of the files are gone as soon as all ranks have mapped them.
#pragma once

#include <isthmus/isthmus.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/interface/groups.hpp"
#include "runtime/pgas/inbox.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

/// What a rank writes into the memory of another one when it comes to a step of a barrier.
struct BarrierNumbers {
  enum Known : std::uint32_t { nothing, number, different };

  std::int64_t id, other_id;  ///< two that differ, if `different`
  std::uint32_t rank, other;  ///< that gave them
  std::uint32_t known;
};
struct alignas(64) BarrierFlag {
  std::atomic<std::uint64_t> epoch;
  BarrierNumbers numbers;  ///< that ranks have given
};

/// Of one heap, see Heap.
struct alignas(64) HeapPlaces {
  std::atomic<std::uint32_t> holder;   ///< the rank that changes it plus 1
  std::uint64_t top;                   ///< up to where there are blocks
  std::uint64_t last;                  ///< the last block
  std::array<std::uint64_t, 48> free;  ///< the first free block of each class
};

/// What a step of Meeting reads.
struct alignas(64) MeetingFlag {
  std::atomic<std::uint64_t> reached;
};

/// A rank that waits for a lock.
struct alignas(64) LockNode {
  std::atomic<std::uint64_t> next;
  std::atomic<std::uint64_t> waits;
};

/// At the beginning of the memory of a rank, zero at first.
struct Control {
  static constexpr std::size_t most_rounds = 32;
  static constexpr std::size_t most_locks = 64;

  InboxPlaces requests, replies;
  BarrierFlag flags[2][most_rounds];
  HeapPlaces symmetric, local;
  std::atomic<std::uint64_t> taken[2];  ///< bytes that have pages, of symmetric and of local memory
  LockNode nodes[most_locks];
  std::atomic<std::uint64_t> tried;  ///< see Windows
};

/// For the collectives of one team, zero at first, see Board.
struct BoardPlaces {
  static constexpr std::size_t most_rounds = 24;
  static constexpr std::size_t line = 64;
  static constexpr std::size_t lines = 192;  // so that all is less than 4 pages

  MeetingFlag entered[most_rounds], ended[most_rounds];
  alignas(line) std::atomic<std::uint64_t> over;  ///< collectives that this rank is through with
  std::atomic<std::uint64_t> last;                ///< once it has left the space: those that it began, plus 1
  alignas(line) std::byte room[lines * line];
};

/// What a number of the system means where memory is taken.
std::string words_of(int error);
/// So many bytes, or as few more as make whole pages.
std::uint64_t in_pages(std::uint64_t bytes);

struct SegmentSizes {
  std::uint64_t symmetric = 0, local = 0;  ///< whole pages; 0: as much as there may be memory for
  std::uint64_t queue = 0;                 ///< bytes of a queue of messages, a power of two

  bool operator==(const SegmentSizes&) const = default;
};

class Segments {
 public:
  /// Teams whose collectives can be carried out by flags.
  static constexpr std::uint32_t boards = 16;

  /// Collective. Sizes that are 0 are chosen. `near`: by rank, whether it shares memory with this one. Throws
  /// InvalidInput where sizes differ, Unsupported where near ranks share no memory, TransportError.
  Segments(isthmus_team* team, const SegmentSizes& wished, const std::vector<bool>& near);
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  /// Whether its memory is mapped here.
  [[nodiscard]] bool is_near(Rank rank) const { return mapped_[rank].at != nullptr; }

  // Of near ranks:
  [[nodiscard]] Control& control(Rank rank) const { return *reinterpret_cast<Control*>(mapped_[rank].at); }
  [[nodiscard]] BoardPlaces& board(Rank rank, std::uint32_t number) const {
    return reinterpret_cast<BoardPlaces*>(mapped_[rank].at + boards_at_)[number];
  }
  [[nodiscard]] std::byte* requests(Rank rank) const { return mapped_[rank].at + requests_at_; }
  [[nodiscard]] std::byte* replies(Rank rank) const { return requests(rank) + sizes_.queue; }
  /// Offset 0.
  [[nodiscard]] std::byte* memory(Rank rank) const { return mapped_[rank].at + memory_at_; }
  /// Where all of it begins, whose parts lie alike on all ranks.
  [[nodiscard]] std::byte* begin(Rank rank) const { return mapped_[rank].at; }
  [[nodiscard]] const SegmentSizes& sizes() const { return sizes_; }
  /// Sees to it that the first `bytes` of symmetric or local memory of a rank have pages; what errno says, or 0.
  int take_pages(Rank rank, bool local, std::uint64_t bytes);

 private:
  struct Mapped {
    int file = -1;
    std::byte* at = nullptr;
    bool mine = false;
  };

  /// What stands for sizes that nobody has given, the same on all ranks. Throws InvalidInput where sizes differ.
  SegmentSizes agreed(isthmus_team* team, const SegmentSizes& wished, const std::vector<bool>& near) const;
  /// Makes and maps all of it; why there are not so many addresses, in the words of a rank, or nothing.
  std::string map(isthmus_team* team, const std::vector<bool>& near);
  void make();
  void attach(Rank rank, const char* name, std::uint64_t process, std::uint64_t address);
  void close();
  int take(Rank rank, std::uint64_t offset, std::uint64_t bytes);

  SegmentSizes sizes_;
  Rank rank_ = 0;
  std::uint64_t boards_at_, requests_at_, memory_at_, size_ = 0;
  std::string name_;
  std::vector<Mapped> mapped_;
};

}  // namespace isthmus::runtime

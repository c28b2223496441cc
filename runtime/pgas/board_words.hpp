// Words in which the ranks of a team that share memory tell each other of what is there, and scratch, for collectives
// of which several are under way.
//
// Both lie in rings of lines, where a collective has the same places on all ranks. A word holds the number of the
// collective that wrote it, so nothing is ever set back. Places are used again when all ranks are through with the
// collective that had them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/pgas/meeting.hpp"
#include "runtime/pgas/segments.hpp"

namespace isthmus::runtime {

/// Lines of a ring, and the last collective that had each.
class Lines {
 public:
  explicit Lines(std::uint32_t count) : last_(count) {}
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(last_.size()); }
  /// The first of so many in a row, for the collective of this number; `before`: at least that of all that had them.
  std::uint32_t take(std::uint32_t lines, std::uint64_t number, std::uint64_t& before);

 private:
  std::vector<std::uint64_t> last_;
  std::uint32_t next_ = 0;
};

class BoardWords {
 public:
  static constexpr std::uint32_t usual_lines = 64;  ///< of words

  struct Places {
    std::uint64_t number = 0;  ///< 0: it needs none
    std::uint64_t before = 0;
    std::byte* words = nullptr;    // of this rank
    std::byte* scratch = nullptr;  // of this rank
  };

  /// Where the memory of each rank begins, and in it its part of the board, alike on all ranks.
  BoardWords(std::vector<std::byte*> begins, std::vector<BoardPlaces*> places, Rank rank,
             std::uint32_t word_lines = usual_lines, std::uint32_t scratch_lines = BoardPlaces::lines - usual_lines);

  /// The most of a collective.
  [[nodiscard]] std::uint32_t most_words() const { return words_.count() * words_of_line; }
  [[nodiscard]] std::uint64_t most_scratch() const { return std::uint64_t{scratch_.count()} * BoardPlaces::line; }

  /// Of the next collective that needs any; all ranks take them in the same order.
  Places take(std::uint32_t words, std::uint64_t scratch);
  /// Whether nobody uses them any more.
  bool are_free(const Places& places);
  /// This rank is through with the collective that had them.
  void give_back(const Places& places);

  /// A word of another rank: what this rank wrote before is there.
  void tell(Rank rank, const Places& places, std::uint32_t index) const {
    auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(begins_[rank] + (places.words - begins_[rank_]));
    words[index].store(places.number, std::memory_order_release);
  }
  /// Whether another rank has told this one.
  [[nodiscard]] static bool hears(const Places& places, std::uint32_t index) {
    const auto* const words = reinterpret_cast<const std::atomic<std::uint64_t>*>(places.words);
    return words[index].load(std::memory_order_acquire) == places.number;
  }

  [[nodiscard]] std::byte* const* begins() const { return begins_.data(); }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(begins_.size()); }

 private:
  static constexpr std::uint32_t words_of_line = BoardPlaces::line / sizeof(std::uint64_t);

  Rank rank_;
  std::vector<std::byte*> begins_;
  std::vector<BoardPlaces*> places_;
  Lines words_, scratch_;
  std::uint64_t numbers_ = 0;
  std::uint64_t least_over_ = 0;  // of all ranks, as far as was looked at
  InOrder over_;
};

}  // namespace isthmus::runtime

// What the ranks of a team that share memory carry out collectives by: flags, words and scratch in that memory.
//
// Collectives have places in a ring of words, in which ranks tell each other of what is there, and in one of scratch.
// A word holds the number of the collective that wrote it, so nothing is ever set back. A place is used again when all
// ranks are through with the collective that had it: who is so far ahead waits; nobody else does.
#pragma once

#include <isthmus/isthmus_pgas.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/collectives/direct_program.hpp"
#include "runtime/pgas/meeting.hpp"
#include "runtime/pgas/segments.hpp"

namespace isthmus::runtime {

class Direct;

/// How a collective of a team is carried out; `call` is what that depends on.
struct Recipe {
  isthmus_call call;
  std::string algorithm;        ///< as it was given; empty: none was
  std::uint32_t decisions = 0;  ///< of the team: their number

  bool enters = false, leaves = false;  ///< all wait for all
  std::optional<DirectProgram> direct;  ///< by accesses; else by messages,
  std::string by;                       ///< by this algorithm; empty: the team's choice
  std::vector<std::unique_ptr<Direct>> all;
  std::vector<Direct*> idle;
  std::uint32_t users = 0;  ///< beside those

  Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  ~Recipe();
  [[nodiscard]] bool is_used() const { return users > 0 || idle.size() < all.size(); }
};

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

class Board {
 public:
  static constexpr Rank most_ranks = 256;    ///< as everyone makes the schedules of all,
  static constexpr Rank most_in_pairs = 64;  ///< which grow with the square where all have blocks for all

  /// All ranks of the team are near. `number`: see Segments::board().
  Board(const Segments& segments, isthmus_team& team, const std::vector<Rank>& in_space, std::uint32_t number);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  ~Board();

  /// Of a call of bytes that are at the same offset on all ranks of the team. Throws InvalidInput.
  Recipe& find(isthmus_team& team, const isthmus_call& call);
  /// One that is not under way.
  Direct& take(Recipe& recipe);

  /// This rank begins a collective of the team, of whatever kind.
  /// The number of what begins, from 1 on.
  std::uint64_t begin_one() { return ++begun_; }
  /// How many it has begun.
  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  /// A rank that has left the space, and did not begin the collective of this number; who waits for it, waits in vain.
  [[nodiscard]] std::optional<Rank> who_left(std::uint64_t number) const;

  struct Places {
    std::uint64_t number = 0;  ///< 0: it needs none
    std::uint64_t before = 0;
    std::byte* words = nullptr;    // of this rank
    std::byte* scratch = nullptr;  // of this rank
  };
  Places places(const DirectProgram& program);
  /// Whether nobody uses them any more.
  bool are_free(const Places& places);
  /// This rank is through with the collective that had them.
  void give_back(const Places& places);

  /// A word of another rank.
  [[nodiscard]] std::atomic<std::uint64_t>& word(Rank rank, const Places& places, std::uint32_t index) const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(begins_[rank] + (places.words - begins_[rank_]))[index];
  }
  /// Where the memory of each rank begins.
  [[nodiscard]] std::byte* const* begins() const { return begins_.data(); }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(begins_.size()); }

 private:
  static constexpr std::size_t most_recipes = 256;

  void plan(isthmus_team& team, Recipe& recipe);
  /// By an algorithm with its flavours; empty: the usual one. Returns why the accesses that it names cannot be, in
  /// which case it goes by messages; empty: they can, or it names none.
  std::string plan_as(Recipe& recipe, const std::string& text);
  std::string plan_by(Recipe& recipe, const std::string& algorithm, schedule::Access access);

  Rank rank_;
  std::vector<std::byte*> begins_;
  std::vector<BoardPlaces*> places_;
  std::vector<MeetingFlag*> entered_flags_, ended_flags_;
  Lines words_, scratch_;
  std::uint64_t begun_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t least_over_ = 0;  // of all ranks, as far as was looked at
  InOrder over_;
  std::vector<std::unique_ptr<Recipe>> recipes_;  // the last one used first

 public:
  Meeting entered, ended;  ///< of strict collectives
};

}  // namespace isthmus::runtime

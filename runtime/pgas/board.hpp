// What the ranks of a team that share memory carry out collectives by: flags, words and scratch in that memory.
//
// Collectives that need words or scratch have places in rings, see board_words.hpp: who is so far ahead that they are
// still in use waits; nobody else does.
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
#include "runtime/pgas/board_words.hpp"
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

  /// Where the memory of each rank begins.
  [[nodiscard]] std::byte* const* begins() const { return words.begins(); }
  [[nodiscard]] Rank rank() const { return words.rank(); }
  [[nodiscard]] Rank ranks() const { return words.ranks(); }

 private:
  static constexpr std::size_t most_recipes = 256;

  void plan(isthmus_team& team, Recipe& recipe);
  /// By an algorithm with its flavours; empty: the usual one. Returns why the accesses that it names cannot be, in
  /// which case it goes by messages; empty: they can, or it names none.
  std::string plan_as(Recipe& recipe, const std::string& text);
  std::string plan_by(Recipe& recipe, const std::string& algorithm, schedule::Access access);

  std::vector<BoardPlaces*> places_;
  std::vector<MeetingFlag*> entered_flags_, ended_flags_;
  std::uint64_t begun_ = 0;
  std::vector<std::unique_ptr<Recipe>> recipes_;  // the last one used first

 public:
  BoardWords words;        ///< and scratch
  Meeting entered, ended;  ///< of strict collectives
};

}  // namespace isthmus::runtime

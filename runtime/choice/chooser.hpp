// Which algorithm a call takes that names none: that of the user's table, else that of the table that comes with the
// library, else the first of the registry that may be taken.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/choice/online.hpp"

namespace isthmus::runtime {

/// What a decision depends on. All ranks ask the same.
struct Question {
  schedule::CollectiveKind kind = schedule::CollectiveKind::barrier;
  std::uint64_t bytes = 0;        ///< as `isthmus tune` counts them, see DecisionTable::lookup()
  bool in_order = false;          ///< operands are to be combined in the order of ranks
  bool apart = false;             ///< no two ranks share memory
  std::optional<Mode> mode = {};  ///< of synchronisation, where the call names one
};

struct Candidate {
  std::string text;      ///< as tables write it
  bool of_user = false;  ///< their table says so
};

class Chooser {
 public:
  /// `say`: told what a user may want to know, each sentence once.
  Chooser(std::uint64_t ranks, std::function<void(const std::string&)> say) : ranks_(ranks), say_(std::move(say)) {}
  /// By the same table, for another number of ranks.
  Chooser(const Chooser& other, std::uint64_t ranks) : Chooser(other) { ranks_ = ranks; }

  /// Decides by this table from now on; `name`: how sentences call it.
  void use(DecisionTable table, std::string name);
  /// By the one that comes with the library again.
  void use_standard() { table_.reset(); }
  /// Decisions of runs come before all tables.
  void learn(schedule::CollectiveKind kind, const DecisionPoint& decision) { online_.put(kind, ranks_, decision); }
  void learn(const Online& decisions) { online_ = decisions; }
  [[nodiscard]] const Online& learned() const { return online_; }

  /// Algorithms to try, the best first: one that refuses the call makes room for the next. Never empty; throws
  /// Unsupported where no algorithm keeps the order.
  [[nodiscard]] std::vector<Candidate> candidates(const Question& question);
  /// Does the table leave this to the MPI library?
  [[nodiscard]] bool is_left_open(const Question& question) const;
  /// To be called where the user's candidate refused the call, and why.
  void refused(const Question& question, const Candidate& candidate, const std::string& why);

 private:
  const Decision* decided(const Question& question) const;
  /// Rows of the user's table: those of the mode where it has any.
  [[nodiscard]] const std::vector<DecisionRow>& rows(const Question& question) const;
  /// Whether the user's table has rows of the mode, which decisions of runs know nothing of.
  [[nodiscard]] bool is_by_mode(const Question& question) const;
  /// In sentences.
  [[nodiscard]] std::string of_mode(const Question& question) const;
  void say(const std::string& sentence);

  std::uint64_t ranks_;
  Online online_;
  std::function<void(const std::string&)> say_;
  std::shared_ptr<const DecisionTable> table_;
  std::string name_;
  std::shared_ptr<std::set<std::string>> said_ = std::make_shared<std::set<std::string>>();
};

/// The table that comes with the library (standard.txt).
const DecisionTable& standard_table();
/// What it says of a size, or the first algorithm of the registry.
std::string usual_choice(schedule::CollectiveKind kind, std::uint64_t ranks, std::uint64_t bytes);

}  // namespace isthmus::runtime

// Decision tables at run time: the plain text that `isthmus tune export TABLE --for isthmus` writes and `isthmus show`
// reads; docs/howto/tuning_files.md describes it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "runtime/choice/choice.hpp"
#include "schedule/program.hpp"

namespace isthmus::runtime {

/// A table that cannot be read, or is not of the form: the words begin with file and line.
class TableError : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// A size with its times in seconds; what is not known is absent.
struct DecisionPoint {
  std::uint64_t bytes = 0;
  std::string algorithm;
  std::optional<double> seconds;
  std::string runner_up;  ///< may be empty
  std::optional<double> runner_up_seconds;
  std::optional<double> bound;
  std::optional<std::pair<double, double>> interval;  ///< of seconds
};

/// From so many bytes on, this algorithm.
struct Decision {
  std::uint64_t bytes = 0;
  std::string algorithm;
};

struct DecisionRow {
  std::uint64_t ranks = 0;            ///< from so many on
  bool tuned = false;                 ///< tried at this number of ranks; else a rule for all from there on
  std::vector<DecisionPoint> points;  ///< what the rules were made from
  std::vector<Decision> rules;        ///< sizes ascend from 0
};

class DecisionTable {
 public:
  /// Throws TableError for the first defect: its line, what it is and what is allowed. `file`: how messages call it.
  static DecisionTable parse(std::string_view text, const std::string& file);
  /// The text of a file. Throws TableError.
  static std::string text_of(const std::string& path);

  /// The row of the largest number of ranks at or below; below the smallest one that. Null if there is none.
  [[nodiscard]] const DecisionRow* row(schedule::CollectiveKind kind, std::uint64_t ranks) const;
  /// The decision of a row; bytes are those of CollectiveCall::bytes, of different counts those of the mean block.
  [[nodiscard]] static const Decision& lookup(const DecisionRow& row, std::uint64_t bytes);
  [[nodiscard]] const std::vector<DecisionRow>& rows(schedule::CollectiveKind kind) const {
    return rows_[static_cast<std::size_t>(kind)];
  }
  /// Adds a row, or replaces the one of the same number of ranks.
  void put(schedule::CollectiveKind kind, DecisionRow row);

  /// Its decisions are those of an MPI library, whose algorithms have other names and times.
  [[nodiscard]] bool is_of_another_library() const;

  /// What is known of the table: `library`, `machine` and the like.
  std::map<std::string, std::string> about;

  /// The text, which parse() reads back.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t kinds = schedule::collective_kinds;

  std::array<std::vector<DecisionRow>, kinds> rows_;
};

}  // namespace isthmus::runtime

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
  [[nodiscard]] const DecisionRow* row(schedule::CollectiveKind kind, std::uint64_t ranks,
                                       std::optional<Mode> mode = {}) const;
  /// The decision of a row; bytes are those of CollectiveCall::bytes, of different counts those of the mean block.
  [[nodiscard]] static const Decision& lookup(const DecisionRow& row, std::uint64_t bytes);
  /// Those that hold for one mode of synchronisation, or those of calls that name none and of modes without rows.
  [[nodiscard]] const std::vector<DecisionRow>& rows(schedule::CollectiveKind kind,
                                                     std::optional<Mode> mode = {}) const {
    return rows_[place(kind, mode)];
  }
  /// Adds a row, or replaces the one of the same number of ranks.
  void put(schedule::CollectiveKind kind, DecisionRow row, std::optional<Mode> mode = {});

  /// Its decisions are those of an MPI library, whose algorithms have other names and times.
  [[nodiscard]] bool is_of_another_library() const;

  /// What is known of the table: `library`, `machine` and the like.
  std::map<std::string, std::string> about;

  /// The text, which parse() reads back.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t kinds = schedule::collective_kinds;

  static constexpr std::size_t modes = 9;

  static std::size_t place(schedule::CollectiveKind kind, std::optional<Mode> mode) {
    const std::size_t which =
        mode ? 1 + 3 * static_cast<std::size_t>(mode->enter) + static_cast<std::size_t>(mode->leave) : 0;
    return static_cast<std::size_t>(kind) * (1 + modes) + which;
  }

  std::array<std::vector<DecisionRow>, kinds * (1 + modes)> rows_;  // of a kind those without a mode, then by mode
};

}  // namespace isthmus::runtime

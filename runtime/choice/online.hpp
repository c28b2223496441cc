// Decisions that are made while a program runs: what was timed, which candidate wins, and the table that later runs
// start from. What ranks do to agree is in interface/tune.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/choice/decisions.hpp"

namespace isthmus::runtime {

/// The times of a candidate, the longest over ranks of each turn, in seconds.
struct Timed {
  std::string algorithm;
  std::vector<double> seconds;
};

/// Median and its confidence interval of 95 %, by order statistics.
struct Median {
  double seconds = 0;
  double low = 0, high = 0;
};
Median median_of(std::vector<double> seconds);

/// The decision among candidates, as a point of a table; `external` is what another library took, or empty.
///
/// The first candidate is what would be taken anyway: another one takes its place only where its interval lies below.
/// Where all of ours are slower than the other library by more than `loss`, the decision is left to that library.
DecisionPoint winner_of(const std::vector<Timed>& candidates, const std::vector<double>& external, double loss = 0.02);

/// Sizes of one decision: those from a power of two up to the next one; 0 by itself.
std::uint64_t first_of_class(std::uint64_t bytes);

/// Decisions by collective, number of ranks and class of sizes.
class Online {
 public:
  Online() = default;
  /// Those of a table that text() wrote; of others the sizes that were timed.
  explicit Online(const DecisionTable& table);

  [[nodiscard]] const DecisionPoint* find(schedule::CollectiveKind kind, std::uint64_t ranks,
                                          std::uint64_t bytes) const;
  void put(schedule::CollectiveKind kind, std::uint64_t ranks, DecisionPoint decision);
  [[nodiscard]] bool empty() const { return points_.empty(); }

  /// A table: between classes that were timed, the table of the library decides.
  [[nodiscard]] DecisionTable table() const;

 private:
  std::map<std::tuple<schedule::CollectiveKind, std::uint64_t, std::uint64_t>, DecisionPoint> points_;
};

/// Adds a decision to those of a file, which is replaced as a whole or left as it is; others may add theirs meanwhile.
/// Throws TableError.
void add_to_table(const std::string& path, schedule::CollectiveKind kind, std::uint64_t ranks, DecisionPoint decision);

}  // namespace isthmus::runtime

// The common part of both forms of GOAL files. GOAL (Hoefler, Siebert, Lumsdaine, "Group operation assembly language",
// ICPP 2009) is what LogGOPSim and its descendants read: a DAG per rank of send, recv and calc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "schedule/schedule.hpp"
#include "schedule/validate.hpp"

namespace isthmus::schedule {

/// A malformed GOAL file.
class GoalError : public InvalidInput {
 public:
  GoalError(std::uint64_t line, std::string field, const std::string& what)
      : InvalidInput(what), line_(line), field_(std::move(field)) {}
  /// From 1; 0 if the defect is of the file as a whole, or the file is binary (the message names the byte then).
  [[nodiscard]] std::uint64_t line() const { return line_; }
  /// The word, label or record at fault; may be empty.
  [[nodiscard]] const std::string& field() const { return field_; }

 private:
  std::uint64_t line_;
  std::string field_;
};

inline constexpr std::uint64_t nanosecond = 1000;  ///< in picoseconds: the unit in which GOAL files usually count
inline constexpr std::uint64_t goal_magic = 4223;  ///< the first eight bytes of a binary file

/// How a schedule becomes a GOAL file. With picoseconds_per_byte the file is plain GOAL, in which buffers are
/// forgotten.
struct GoalWriting {
  std::uint64_t unit = nanosecond;             ///< picoseconds per unit of the file's times, to which they are rounded
  std::optional<double> picoseconds_per_byte;  ///< copy and reduce are written as calc of so much; else Unsupported
};

/// Takes the file piece by piece.
using GoalSink = std::function<void(std::span<const char> piece)>;

/// The operations of a schedule as GOAL has them. GOAL has no communicators: where a schedule uses others than 0, each
/// pair of a communicator and a tag gets a tag of its own, numbered from 0 in the order of the pairs.
class GoalOperations {
 public:
  /// Throws InvalidInput for arrays that contradict themselves, and Unsupported, naming rank and operation, for what
  /// GOAL cannot say: put, get, buffers, copy and reduce without a rate, receives of any tag beside communicators.
  /// `buffers`: the file can name buffers, and says copy, reduce, put and get.
  GoalOperations(const Schedule& schedule, const GoalWriting& writing, bool buffers = false);

  /// A send, recv or calc, its time in units.
  [[nodiscard]] Operation translate(const Operation& op) const;

 private:
  void check(Rank rank, std::uint32_t index, bool communicators) const;
  void number_tags();

  const Schedule& schedule_;
  GoalWriting writing_;
  bool buffers_;
  std::vector<std::uint64_t> pairs_;  // communicator and tag, sorted; empty: tags are as they are
};

}  // namespace isthmus::schedule

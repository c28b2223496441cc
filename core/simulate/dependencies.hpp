// What operations still wait for, packed so that freeing the next operations of a rank touches one cache line.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus {

/// What a simulation needs to know about a schedule as a whole.
struct Shape {
  std::uint32_t cpus = 1;               ///< CPU streams of a rank
  std::uint32_t nics = 1;               ///< interfaces of a rank
  bool receives_free_on_start = false;  ///< does anything wait for a receive to be posted?
  bool wildcards = false;               ///< is there a receive from any rank or of any tag?
};

/// The dependencies of a schedule that have not been fulfilled yet. Operations are indices into Schedule::ops.
class Dependencies {
 public:
  explicit Dependencies(const Schedule& schedule);

  [[nodiscard]] const Shape& shape() const { return shape_; }

  enum Phase : unsigned { started = 1, done = 2 };

  /// Calls ready(operation) for each dependant that the operation of `rank` frees by the phases it has just reached.
  template <class Callback>
  void release(Rank rank, std::uint64_t op, unsigned phases, Callback&& ready) {
    const Work w = work_[op];
    const unsigned count = w.bits >> count_at & 3U;
    if (count == many) {
      const auto index = static_cast<std::uint32_t>(op - schedule_.op_first[rank]);
      for (const Edge e : schedule_.dependants(rank, index))
        if ((phases & (e.on_start() ? started : done)) != 0 && fulfil(op - index + e.to())) ready(op - index + e.to());
      return;
    }
    if (count == 0) return;
    if ((phases & w.bits >> first_phase_at) != 0) {
      const std::uint64_t to = op + static_cast<std::uint64_t>(std::int64_t{w.first});
      if (fulfil(to)) ready(to);
    }
    if (count == 2 && (phases & w.bits >> second_phase_at) != 0) {
      const std::uint64_t to = op + static_cast<std::uint64_t>(std::int64_t{w.second});
      if (fulfil(to)) ready(to);
    }
  }
  /// Does the operation wait for others?
  [[nodiscard]] bool waits(std::uint64_t op) const { return work_[op].needs != 0; }
  [[nodiscard]] OpKind kind(std::uint64_t op) const { return static_cast<OpKind>(work_[op].bits & 15U); }
  void prefetch(std::uint64_t op) const { __builtin_prefetch(&work_[op]); }

 private:
  static constexpr std::uint16_t too_many = 0xFFFF;  // needs: the number stands in more_needs_
  static constexpr unsigned many = 3;                // count: the dependants stand in the schedule
  static constexpr unsigned count_at = 4, first_phase_at = 6, second_phase_at = 8;

  struct Work {
    std::uint16_t needs;
    std::int16_t first;   // dependant, counted from the operation itself
    std::int16_t second;
    std::uint16_t bits;   // kind, number of dependants, the phase that frees each
  };

  bool fulfil(std::uint64_t op) {
    std::uint16_t& needs = work_[op].needs;
    return needs == too_many ? fulfil_one_of_many(op) : --needs == 0;
  }
  bool fulfil_one_of_many(std::uint64_t op);

  const Schedule& schedule_;
  Shape shape_;
  std::vector<Work> work_;
  std::unordered_map<std::uint64_t, std::uint32_t> more_needs_;
};

}  // namespace isthmus

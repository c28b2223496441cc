// What is left when nothing can happen any more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulate/engine/dependencies.hpp"
#include "simulate/model/result.hpp"

namespace isthmus::simulate {

/// Waiting operations and messages that were never received, in the order of ranks and operations. Operations are
/// indices into Schedule::ops.
class Remaining {
 public:
  Remaining(const Schedule& schedule, Simulated& out) : s_(schedule), out_(out) {}

  /// An operation waits; has_started: a posted receive, or a send that waits for one.
  void stuck(Rank rank, std::uint64_t op, bool has_started) {
    out_.stuck.push_back({rank, static_cast<std::uint32_t>(op - s_.op_first[rank]), has_started});
  }
  /// No receive has taken the message of a send.
  void orphan(Rank rank, Rank source, std::uint64_t send, Picoseconds handled) {
    out_.orphans.push_back({rank, source, static_cast<std::uint32_t>(send - s_.op_first[source]), handled});
  }
  /// When all others have been told.
  void finish(const Dependencies& dependencies) {
    for (Rank r = 0; r < s_.ranks && out_.executed != s_.ops.size(); ++r)
      for (std::uint64_t op = s_.op_first[r]; op < s_.op_first[r + 1]; ++op)
        if (dependencies.waits(op)) stuck(r, op, false);
    std::sort(out_.stuck.begin(), out_.stuck.end(),
              [](const Stuck& a, const Stuck& b) { return a.rank != b.rank ? a.rank < b.rank : a.op < b.op; });
    std::sort(out_.orphans.begin(), out_.orphans.end(), [](const Orphan& a, const Orphan& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.source != b.source ? a.source < b.source : a.op < b.op;
    });
  }

 private:
  const Schedule& s_;
  Simulated& out_;
};

}  // namespace isthmus::simulate

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/sums.hpp"

namespace isthmus::collectives {
namespace {

/// Sums of aligned groups of 2, 4, 8 ... ranks go up to the last rank of each; then sums of all ranks before go down.
struct Levels {
  explicit Levels(const CollectiveCall& call) : after(call.rank + std::uint64_t{1}), ranks(call.ranks) {}
  /// Does the rank end a group of so many?
  [[nodiscard]] bool ends(std::uint64_t group) const { return (after & (group - 1)) == 0; }
  /// Among groups of twice the size, does it end the first half of one whose second half is whole?
  [[nodiscard]] bool hands_up(std::uint64_t group) const {
    return ends(group) && !ends(2 * group) && after + group <= ranks;
  }
  [[nodiscard]] std::uint64_t top() const {
    std::uint64_t group = 1;
    while (2 * group < ranks) group *= 2;
    return group;
  }

  std::uint64_t after;
  std::uint64_t ranks;
};

}  // namespace

void binomial_scan::scan(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Levels levels(call);
  Sum sum(call, true);
  for (std::uint64_t group = 1; group < call.ranks && levels.ends(group); group *= 2) {
    if (levels.ends(2 * group)) {
      sum.take(rounds, static_cast<Rank>(call.rank - group), ReduceOrder::before);
    } else if (levels.hands_up(group)) {
      rounds.send(static_cast<Rank>(call.rank + group), call.bytes, sum.now());
      rounds.next();
    }
  }
  for (std::uint64_t group = levels.top(); group != 0; group /= 2) {
    if (levels.ends(2 * group)) {
      if (levels.after + group <= call.ranks) {
        rounds.send(static_cast<Rank>(call.rank + group), call.bytes, sum.now());
        rounds.next();
      }
    } else if (levels.ends(group) && levels.after > group) {
      sum.take(rounds, static_cast<Rank>(call.rank - group), ReduceOrder::before);
    }
  }
  sum.finish(rounds);
}

void binomial_scan::exscan(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Levels levels(call);
  const Slice own = call.in_place ? at_output() : at_input();
  // Two sums: of what comes from below alone, which is the result, and with the own vector.
  const Slice with_own = at_scratch();
  const Slice room = at_scratch(call.bytes);
  bool copied = false;
  bool started = false;
  const auto hand_on = [&](std::uint64_t steps) {
    rounds.send(static_cast<Rank>(call.rank + steps), call.bytes, copied ? with_own : own);
    rounds.next();
  };
  const auto take = [&](std::uint64_t steps) {
    if (!copied) rounds.copy(call.bytes, own, with_own);
    copied = true;
    rounds.recv(static_cast<Rank>(call.rank - steps), call.bytes, started ? room : at_output());
    rounds.next();
    rounds.reduce_too(call.bytes, started ? room : at_output(), with_own, ReduceOrder::before);
    if (started) {
      rounds.next();
      rounds.reduce_too(call.bytes, room, at_output(), ReduceOrder::before);
    }
    rounds.next();
    started = true;
  };
  for (std::uint64_t group = 1; group < call.ranks && levels.ends(group); group *= 2) {
    if (levels.ends(2 * group)) {
      take(group);
    } else if (levels.hands_up(group)) {
      hand_on(group);
    }
  }
  for (std::uint64_t group = levels.top(); group != 0; group /= 2) {
    if (levels.ends(2 * group)) {
      if (levels.after + group <= call.ranks) hand_on(group);
    } else if (levels.ends(group) && levels.after > group) {
      take(group);
    }
  }
}

}  // namespace isthmus::collectives

#include "proof/synchronisation.hpp"

#include <bit>
#include <cstdint>
#include <ranges>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "proof/events.hpp"
#include "proof/remote_races.hpp"

namespace isthmus::proof {
namespace {

class Presence {
 public:
  Presence(const Schedule& schedule, const Contract& contract, const Pairs& pairs, Defects& defects)
      : schedule_(schedule), contract_(contract), defects_(defects), events_(schedule, pairs), reach_(events_.count()) {
    for (Rank r = 0; r < schedule.ranks; ++r) rank_of_.insert(rank_of_.end(), schedule.ops_in(r), r);
  }

  void check() {
    for (std::uint64_t first = 0; first < schedule_.ranks; first += 64) {
      interruption_point();
      first_ = static_cast<Rank>(first);
      const std::uint64_t left = schedule_.ranks - first;
      every_ = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      if (contract_.enter != Sync::none) {
        look_back();
        each_access([&](std::uint64_t at) { compare(at, contract_.enter, Events::begin(at), "begin", "entered"); });
      }
      if (contract_.leave != Sync::none) {
        look_ahead();
        each_access([&](std::uint64_t at) { compare(at, contract_.leave, events_.over(at), "go on", "left"); });
      }
    }
  }

 private:
  [[nodiscard]] std::uint64_t bit(Rank rank) const {
    return rank >= first_ && rank - first_ < 64 ? std::uint64_t{1} << (rank - first_) : 0;
  }

  void set_own() {
    std::ranges::fill(reach_, 0);
    for (std::uint64_t i = 0; i < schedule_.ops.size(); ++i)
      reach_[Events::begin(i)] = reach_[Events::end(i)] = bit(rank_of_[i]);
  }
  /// Of every event, ranks that have entered before it.
  void look_back() {
    set_own();
    for (const std::uint32_t event : events_.order())
      for (const Edge edge : events_.after(event)) reach_[edge.to()] |= reach_[event];
  }
  /// Of every event, ranks that leave after it.
  void look_ahead() {
    set_own();
    for (const std::uint32_t event : std::views::reverse(events_.order()))
      for (const Edge edge : events_.after(event)) reach_[event] |= reach_[edge.to()];
  }

  /// Operations that use memory; what a receive writes is written after its send has begun.
  template <class F>
  void each_access(const F& f) const {
    for (std::uint64_t i = 0; i < schedule_.ops.size(); ++i) {
      const Operation& op = schedule_.ops[i];
      if (op.amount != 0 && op.kind != OpKind::calc) f(i);
    }
  }

  void compare(std::uint64_t at, Sync sync, std::uint32_t event, const char* does, const char* what) {
    const Operation& op = schedule_.ops[at];
    const bool enters = event == Events::begin(at);
    if (enters && op.kind == OpKind::recv) return;  // its send is looked at
    const bool remote = op.kind == OpKind::put || op.kind == OpKind::get;
    const std::uint64_t wanted = sync == Sync::all ? every_ : remote ? bit(op.peer) : 0;
    const std::uint64_t missing = wanted & ~reach_[event];
    if (missing == 0) return;
    if (!defects_.room()) return defects_.count();
    const Rank rank = rank_of_[at];
    const auto index = static_cast<std::uint32_t>(at - schedule_.op_first[rank]);
    const Rank other = first_ + static_cast<Rank>(std::countr_zero(missing));
    defects_.add({DefectKind::synchronisation, rank, index,
                  message(operation_text(schedule_, rank, index), ": it may ", does, enters ? " before" : " after",
                          " rank ", other, " has ", what, ", which sync '", sync == Sync::all ? "all" : "my", "' on ",
                          enters ? "entry" : "exit", " forbids")});
  }

  const Schedule& schedule_;
  const Contract& contract_;
  Defects& defects_;
  Events events_;
  std::vector<Rank> rank_of_;
  std::vector<std::uint64_t> reach_;  // 64 ranks from first_ on
  Rank first_ = 0;
  std::uint64_t every_ = 0;
};

}  // namespace

bool asks_for_synchronisation(const Schedule& schedule, const Contract& contract) {
  if (contract.enter == Sync::all || contract.leave == Sync::all) return true;
  return (contract.enter == Sync::my || contract.leave == Sync::my) && is_one_sided(schedule);
}

void check_synchronisation(const Schedule& schedule, const Contract& contract, const Pairs& pairs, Defects& defects) {
  Presence(schedule, contract, pairs, defects).check();
}

}  // namespace isthmus::proof

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/tree_streams.hpp"
#include "schedule/names.hpp"

namespace isthmus::collectives::optimal {
namespace {

/// Whoever can reach a new place first sends to it. Places are numbered in the order in which they are reached.
struct LogpTree : Plan {
  LogpTree(std::uint64_t places, const AlgorithmOptions& times) : parent(places), first(places + 1) {
    const std::uint64_t reach = times.latency + 2 * times.overhead;
    const std::uint64_t again = std::max(times.gap, times.overhead);
    using Sender = std::pair<std::uint64_t, Rank>;  // when it can send next, place
    std::priority_queue<Sender, std::vector<Sender>, std::greater<>> senders;
    senders.emplace(0, 0);
    for (std::uint64_t place = 1; place < places; ++place) {
      const auto [time, from] = senders.top();
      senders.pop();
      parent[place] = from;
      ++first[from + std::size_t{1}];
      senders.emplace(time + again, from);
      senders.emplace(time + reach, static_cast<Rank>(place));
    }
    for (std::size_t p = 0; p < places; ++p) first[p + 1] += first[p];
    children.resize(places - 1);
    std::vector<Rank> next(first.begin(), first.end() - 1);
    for (std::uint64_t place = 1; place < places; ++place) children[next[parent[place]]++] = static_cast<Rank>(place);
  }

  std::vector<Rank> parent;
  std::vector<Rank> first;  // child of each place in children, and the end
  std::vector<Rank> children;
};

class Node : public TreePlace {
 public:
  explicit Node(const CollectiveCall& call)
      : TreePlace(call, call.root), tree_(*static_cast<const LogpTree*>(call.plan)) {}
  [[nodiscard]] std::uint64_t parent() const { return tree_.parent[me_]; }
  template <class F>
  void down(F f) const {
    for (Rank i = tree_.first[me_]; i < tree_.first[me_ + 1]; ++i) f(std::uint64_t{tree_.children[i]}, 0);
  }
  template <class F>
  void up(F f) const {
    for (Rank i = tree_.first[me_ + 1]; i-- > tree_.first[me_];) f(std::uint64_t{tree_.children[i]}, 0);
  }

 private:
  const LogpTree& tree_;
};

}  // namespace

std::shared_ptr<const Plan> prepare(const CollectiveCall& call) {
  // A tree of depth log2 of the ranks is always possible, so that sums of times stay in range.
  constexpr std::uint64_t most = 1'000'000'000'000'000;
  for (const std::uint64_t time : {call.options->latency, call.options->overhead, call.options->gap}) {
    require(time <= most, "optimal (", name_of(call.kind), "): a time of ", time, " ps; must be at most ", most, " ps");
  }
  return std::make_shared<LogpTree>(call.ranks, *call.options);
}

void bcast(const CollectiveCall& call, Emitter& out) { bcast_down(call, out, Node(call)); }
void reduce(const CollectiveCall& call, Emitter& out) { reduce_up(call, out, Node(call)); }

}  // namespace isthmus::collectives::optimal

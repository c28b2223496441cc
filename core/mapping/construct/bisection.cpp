#include "mapping/construct/bisection.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/rng.hpp"

namespace isthmus::mapping {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};
constexpr std::uint32_t coarsest = 48;

using Sides = std::vector<std::uint8_t>;

/// One level: a graph whose tasks all have a load, and the bias.
struct Level {
  TaskGraph graph;
  std::vector<double> bias;
  std::vector<std::uint32_t> coarse;  ///< task of the next level
};

/// Fiduccia-Mattheyses on one level.
class Refiner {
 public:
  Refiner(const TaskGraph& graph, std::span<const double> bias, double wanted, double slack)
      : graph_(&graph), bias_(bias), wanted_(wanted), slack_(slack), gain_(graph.tasks()), locked_(graph.tasks()) {
    for (const double w : graph.load) heaviest_ = std::max(heaviest_, w);
  }

  /// Cost of what is beyond the slack, then of the cut.
  struct Value {
    double excess;
    double cut;
    bool operator<(const Value& other) const {
      return excess != other.excess ? excess < other.excess : cut < other.cut;
    }
  };

  Value refine(Sides& sides, int passes) {
    Value value = evaluate(sides);
    for (int i = 0; i < passes; ++i) {
      if (!pass(sides, value)) break;
    }
    return value;
  }

 private:
  using Entry = std::pair<double, std::uint32_t>;

  Value evaluate(const Sides& sides) {
    double cut = 0;
    load_ = 0;
    for (std::uint32_t v = 0; v < graph_->tasks(); ++v) {
      if (sides[v] == 0) load_ += graph_->load[v];
      if (!bias_.empty() && sides[v] == 1) cut += bias_[v];
      for (std::uint64_t i = graph_->links.offsets[v]; i < graph_->links.offsets[v + 1]; ++i) {
        if (sides[graph_->links.targets[i]] != sides[v]) cut += graph_->bytes[i] / 2;
      }
    }
    return {excess(load_), cut};
  }
  [[nodiscard]] double excess(double load) const {
    const double beyond = std::abs(load - wanted_) - slack_;
    return beyond > 1e-9 ? beyond : 0;
  }

  bool pass(Sides& sides, Value& value) {
    std::priority_queue<Entry> queue[2];
    for (std::uint32_t v = 0; v < graph_->tasks(); ++v) {
      double gain = bias_.empty() ? 0 : (sides[v] == 1 ? bias_[v] : -bias_[v]);
      bool inner = true;
      for (std::uint64_t i = graph_->links.offsets[v]; i < graph_->links.offsets[v + 1]; ++i) {
        const bool cut = sides[graph_->links.targets[i]] != sides[v];
        gain += cut ? graph_->bytes[i] : -graph_->bytes[i];
        inner &= !cut;
      }
      gain_[v] = gain;
      locked_[v] = 0;
      // Tasks without a partner across come into the queue when one moves, or when balance asks for any.
      if (!inner || !bias_.empty() || value.excess > 0 || graph_->tasks() <= 4 * coarsest)
        queue[sides[v]].push({gain, v});
    }
    Value current = value;
    Value best = value;
    std::size_t kept = 0;
    double load = load_;
    moves_.clear();
    const std::size_t patience = 60 + graph_->tasks() / 100;
    while (moves_.size() - kept < patience) {
      if ((moves_.size() & 0x3F) == 0) interruption_point();
      const std::uint32_t v = next(sides, queue, load);
      if (v == none) break;
      load += sides[v] == 0 ? -graph_->load[v] : graph_->load[v];
      current = {excess(load), current.cut - gain_[v]};
      move(v, sides, queue);
      moves_.push_back(v);
      if (current.excess < best.excess ||
          (current.excess == best.excess && current.cut < best.cut - 1e-9 * (1 + std::abs(best.cut)))) {
        best = current;
        kept = moves_.size();
        load_ = load;
      }
    }
    for (std::size_t i = moves_.size(); i-- > kept;) sides[moves_[i]] ^= 1;
    value = best;
    return kept > 0;
  }

  /// The movable task of the largest gain, from a side that may lose it.
  std::uint32_t next(const Sides& sides, std::priority_queue<Entry>* queue, double load) {
    for (int side = 0; side < 2; ++side) {
      auto& q = queue[side];
      while (!q.empty()) {
        const auto [gain, v] = q.top();
        if (!locked_[v] && sides[v] == side && gain == gain_[v]) break;
        q.pop();
      }
    }
    // Side 0 loses only while it is not too light, within the slack and the heaviest task.
    const double room = std::max(slack_, heaviest_);
    const bool from[2] = {load - wanted_ > -room / 2 - 1e-9, wanted_ - load > -room / 2 - 1e-9};
    int side = -1;
    for (int s = 0; s < 2; ++s) {
      const bool needed = (s == 0 ? load - wanted_ : wanted_ - load) > slack_ + 1e-9;
      if (needed && !queue[s].empty()) side = s;
    }
    if (side < 0) {
      for (int s = 0; s < 2; ++s) {
        if (!from[s] || queue[s].empty()) continue;
        if (side < 0 || queue[s].top().first > queue[side].top().first) side = s;
      }
    }
    if (side < 0) return none;
    const std::uint32_t v = queue[side].top().second;
    queue[side].pop();
    return v;
  }

  void move(std::uint32_t v, Sides& sides, std::priority_queue<Entry>* queue) {
    locked_[v] = 1;
    sides[v] ^= 1;
    for (std::uint64_t i = graph_->links.offsets[v]; i < graph_->links.offsets[v + 1]; ++i) {
      const std::uint32_t u = graph_->links.targets[i];
      gain_[u] += sides[u] == sides[v] ? -2 * graph_->bytes[i] : 2 * graph_->bytes[i];
      if (!locked_[u]) queue[sides[u]].push({gain_[u], u});
    }
  }

  const TaskGraph* graph_;
  std::span<const double> bias_;
  double wanted_;
  double slack_;
  double heaviest_ = 0;
  double load_ = 0;
  std::vector<double> gain_;
  std::vector<std::uint8_t> locked_;
  std::vector<std::uint32_t> moves_;
};

/// Joins tasks along heavy edges, at most `most` load together; returns whether that made the graph much smaller.
bool coarsen(Level& fine, Level& out, double most, Rng& rng) {
  std::uint32_t pairs = 0;
  fine.coarse = heavy_pairs(fine.graph, most, rng, pairs);
  const std::uint32_t n = fine.graph.tasks();
  if (pairs > n - n / 20) return false;
  out.graph = quotient(fine.graph, fine.coarse, pairs);
  if (!fine.bias.empty()) {
    out.bias.assign(pairs, 0);
    for (std::uint32_t v = 0; v < n; ++v) out.bias[fine.coarse[v]] += fine.bias[v];
  }
  return true;
}

/// Side 0 grows from a random task, always by what is bound to it most, until it has the load that is wanted.
Sides grow(const Level& level, double wanted, Rng& rng) {
  const TaskGraph& g = level.graph;
  const std::uint32_t n = g.tasks();
  Sides sides(n, 1);
  std::vector<double> gain(n, 0);
  for (std::uint32_t v = 0; v < n; ++v) {
    gain[v] = level.bias.empty() ? 0 : level.bias[v];
    for (const double b : g.bytes_of(v)) gain[v] -= b;
  }
  // The largest gain first, of equal ones the task with the least number; entries that moved on are skipped.
  using Entry = std::pair<double, std::uint32_t>;
  const auto less = [](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  };
  std::vector<Entry> entries(n);
  for (std::uint32_t v = 0; v < n; ++v) entries[v] = {gain[v], v};
  std::priority_queue<Entry, std::vector<Entry>, decltype(less)> queue(less, std::move(entries));
  double load = 0;
  std::uint32_t next = rng.below(n);
  while (next != none && load + g.load[next] / 2 <= wanted) {
    interruption_point();
    sides[next] = 0;
    load += g.load[next];
    for (std::uint64_t i = g.links.offsets[next]; i < g.links.offsets[next + 1]; ++i) {
      const std::uint32_t u = g.links.targets[i];
      gain[u] += 2 * g.bytes[i];
      if (sides[u] == 1) queue.push({gain[u], u});
    }
    next = none;
    while (!queue.empty() && next == none) {
      const auto [value, v] = queue.top();
      queue.pop();
      if (sides[v] == 1 && value == gain[v]) next = v;
    }
  }
  return sides;
}

}  // namespace

Sides bisect_tasks(const TaskGraph& graph, std::span<const double> bias, const BisectionOptions& o) {
  Rng rng(o.seed);
  if (graph.tasks() == 0) return {};
  std::vector<Level> levels(1);
  levels[0].graph = graph;
  if (graph.load.empty()) levels[0].graph.load.assign(graph.tasks(), 1);
  levels[0].bias.assign(bias.begin(), bias.end());
  const double most = std::max(levels[0].graph.total_load() / coarsest * 1.5, 0.0);
  while (levels.back().graph.tasks() > coarsest) {
    Level next;
    if (!coarsen(levels.back(), next, most, rng)) break;
    levels.push_back(std::move(next));
  }
  constexpr int passes = 8;
  Sides best;
  Refiner::Value best_value{};
  for (int i = 0; i < o.tries; ++i) {
    const Level& level = levels.back();
    Sides sides = grow(level, o.wanted, rng);
    // On coarse levels half a task may be too much: later levels mend it.
    double heaviest = 0;
    for (const double w : level.graph.load) heaviest = std::max(heaviest, w);
    const double slack = levels.size() == 1 ? o.slack : std::max(o.slack, heaviest / 2);
    const Refiner::Value value = Refiner(level.graph, level.bias, o.wanted, slack).refine(sides, passes);
    if (i == 0 || value < best_value) {
      best = std::move(sides);
      best_value = value;
    }
  }
  for (std::size_t l = levels.size() - 1; l-- > 0;) {
    const Level& level = levels[l];
    Sides sides(level.graph.tasks());
    for (std::uint32_t v = 0; v < level.graph.tasks(); ++v) sides[v] = best[level.coarse[v]];
    double heaviest = 0;
    for (const double w : level.graph.load) heaviest = std::max(heaviest, w);
    const double slack = l == 0 ? o.slack : std::max(o.slack, heaviest / 2);
    Refiner(level.graph, level.bias, o.wanted, slack).refine(sides, passes);
    best = std::move(sides);
  }
  return best;
}

std::vector<std::uint32_t> heavy_pairs(const TaskGraph& graph, double most, Rng& rng, std::uint32_t& pairs) {
  const std::uint32_t n = graph.tasks();
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = n; i-- > 1;) std::swap(order[i], order[rng.below(i + 1)]);
  std::vector<std::uint32_t> pair(n, none);
  pairs = 0;
  for (const std::uint32_t v : order) {
    if (pair[v] != none) continue;
    std::uint32_t best = none;
    double best_bytes = -1;
    for (std::uint64_t i = graph.links.offsets[v]; i < graph.links.offsets[v + 1]; ++i) {
      const std::uint32_t u = graph.links.targets[i];
      if (pair[u] != none) continue;
      // Light partners first among equals keeps loads even.
      const double bytes = graph.bytes[i] / (graph.load_of(u) + 1e-30);
      if (bytes > best_bytes && graph.load_of(v) + graph.load_of(u) <= most) {
        best = u;
        best_bytes = bytes;
      }
    }
    pair[v] = pairs;
    if (best != none) pair[best] = pairs;
    ++pairs;
  }
  return pair;
}

TaskGraph subgraph(const TaskGraph& graph, std::span<const std::uint32_t> members, std::vector<std::uint32_t>& local) {
  TaskGraph out;
  for (std::uint32_t i = 0; i < members.size(); ++i) local[members[i]] = i;
  out.links.offsets.reserve(members.size() + 1);
  out.links.offsets.push_back(0);
  for (const std::uint32_t t : members) {
    for (std::uint64_t i = graph.links.offsets[t]; i < graph.links.offsets[t + 1]; ++i) {
      const std::uint32_t u = local[graph.links.targets[i]];
      // Scratch may hold numbers of other calls: only members answer for themselves.
      if (u >= members.size() || members[u] != graph.links.targets[i]) continue;
      out.links.targets.push_back(u);
      out.bytes.push_back(graph.bytes[i]);
    }
    out.links.offsets.push_back(out.links.targets.size());
    if (!graph.load.empty()) out.load.push_back(graph.load[t]);
  }
  return out;
}

std::vector<std::uint32_t> bisection_order(const TaskGraph& graph, std::uint32_t slots, std::uint32_t unit,
                                           std::uint64_t seed) {
  require(graph.tasks() <= slots, "bisection_order: ", graph.tasks(), " tasks of at most ", slots);
  std::vector<std::uint32_t> order(graph.tasks());
  std::vector<std::uint32_t> local(graph.tasks(), none);
  struct Part {
    std::vector<std::uint32_t> members;
    std::uint32_t first;
    std::uint32_t slots;
  };
  std::vector<Part> stack(1);
  stack[0].members.resize(graph.tasks());
  std::iota(stack[0].members.begin(), stack[0].members.end(), 0U);
  stack[0].first = 0;
  stack[0].slots = slots;
  Rng rng(seed);
  while (!stack.empty()) {
    const Part part = std::move(stack.back());
    stack.pop_back();
    if (part.members.empty()) continue;
    if (part.slots == 1) {
      order[part.members[0]] = part.first;
      continue;
    }
    const std::uint32_t half = part.slots > unit ? part.slots / unit / 2 * unit : part.slots / 2;
    const auto n = static_cast<std::uint32_t>(part.members.size());
    const std::uint32_t free = part.slots - n;
    const std::uint32_t here =
        half - std::min(half, static_cast<std::uint32_t>(std::uint64_t{free} * half / part.slots));
    TaskGraph sub = subgraph(graph, part.members, local);
    sub.load.clear();
    const Sides sides = bisect_tasks(sub, {}, {static_cast<double>(std::min(here, n)), 0, rng.next(), 4});
    Part low{{}, part.first, half};
    Part high{{}, part.first + half, part.slots - half};
    for (std::uint32_t i = 0; i < n; ++i) (sides[i] == 0 ? low : high).members.push_back(part.members[i]);
    // Unit loads are met exactly but for graphs that refinement cannot mend.
    while (low.members.size() > half) {
      high.members.push_back(low.members.back());
      low.members.pop_back();
    }
    while (high.members.size() > part.slots - half) {
      low.members.push_back(high.members.back());
      high.members.pop_back();
    }
    stack.push_back(std::move(high));
    stack.push_back(std::move(low));
  }
  return order;
}

}  // namespace isthmus::mapping

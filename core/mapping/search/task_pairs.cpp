#include "mapping/search/task_pairs.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/rng.hpp"

namespace isthmus::mapping {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

class Matching {
 public:
  Matching(const TaskGraph& graph, std::uint64_t seed) : graph_(&graph), mate_(graph.tasks(), none), rng_(seed) {}

  void heavy_first() {
    struct Candidate {
      double bytes;
      std::uint32_t key;
      std::uint32_t from;
      std::uint32_t to;
    };
    std::vector<Candidate> edges;
    edges.reserve(graph_->links.targets.size() / 2);
    for (std::uint32_t u = 0; u < graph_->tasks(); ++u) {
      for (std::uint64_t i = graph_->links.offsets[u]; i < graph_->links.offsets[u + 1]; ++i) {
        const std::uint32_t v = graph_->links.targets[i];
        if (v > u) edges.push_back({graph_->bytes[i], static_cast<std::uint32_t>(rng_.next() >> 32), u, v});
      }
    }
    std::sort(edges.begin(), edges.end(), [](const Candidate& a, const Candidate& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.key < b.key;
    });
    for (const Candidate& e : edges) {
      if (mate_[e.from] == none && mate_[e.to] == none) join(e.from, e.to);
    }
  }

  /// u - v = w - z with u and z single becomes u = v, w = z: the heaviest such exchange of each u.
  void exchange() {
    for (std::uint32_t u = 0; u < graph_->tasks(); ++u) {
      if (mate_[u] != none) continue;
      double best = 0;
      std::uint32_t best_v = none;
      std::uint32_t best_z = none;
      for_partners(u, [&](std::uint32_t v, double first) {
        const std::uint32_t w = mate_[v];
        if (w == none) return;
        for_partners(w, [&](std::uint32_t z, double second) {
          if (mate_[z] == none && z != u && first + second > best) {
            best = first + second;
            best_v = v;
            best_z = z;
          }
        });
      });
      if (best_v == none) continue;
      const std::uint32_t w = mate_[best_v];
      join(u, best_v);
      join(w, best_z);
    }
  }

  /// Joins those with a common partner, then the others in the order of a breadth-first search.
  void join_the_rest() {
    for (std::uint32_t v = 0; v < graph_->tasks(); ++v) {
      std::uint32_t waiting = none;
      for_partners(v, [&](std::uint32_t u, double) {
        if (mate_[u] != none) return;
        if (waiting == none) {
          waiting = u;
        } else {
          join(waiting, u);
          waiting = none;
        }
      });
    }
    std::vector<std::uint32_t> queue;
    std::vector<bool> seen(graph_->tasks(), false);
    std::uint32_t waiting = none;
    for (std::uint32_t start = 0; start < graph_->tasks(); ++start) {
      if (seen[start]) continue;
      seen[start] = true;
      queue.assign(1, start);
      for (std::size_t head = 0; head < queue.size(); ++head) {
        const std::uint32_t u = queue[head];
        if (mate_[u] == none) {
          if (waiting == none) {
            waiting = u;
          } else {
            join(waiting, u);
            waiting = none;
          }
        }
        for_partners(u, [&](std::uint32_t v, double) {
          if (seen[v]) return;
          seen[v] = true;
          queue.push_back(v);
        });
      }
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> pairs() const {
    std::vector<std::uint32_t> out(mate_.size());
    std::uint32_t next = 0;
    for (std::uint32_t u = 0; u < mate_.size(); ++u) {
      out[u] = mate_[u] < u ? out[mate_[u]] : next++;
    }
    return out;
  }

 private:
  void join(std::uint32_t u, std::uint32_t v) {
    mate_[u] = v;
    mate_[v] = u;
  }
  template <class Body>
  void for_partners(std::uint32_t u, Body body) const {
    for (std::uint64_t i = graph_->links.offsets[u]; i < graph_->links.offsets[u + 1]; ++i) {
      body(graph_->links.targets[i], graph_->bytes[i]);
    }
  }

  const TaskGraph* graph_;
  std::vector<std::uint32_t> mate_;
  Rng rng_;
};

}  // namespace

std::vector<std::uint32_t> perfect_pairs(const TaskGraph& graph, std::uint64_t seed) {
  require(graph.tasks() % 2 == 0, "perfect_pairs: ", graph.tasks(), " tasks; must be an even number");
  Matching m(graph, seed);
  m.heavy_first();
  m.exchange();
  m.join_the_rest();
  return m.pairs();
}

}  // namespace isthmus::mapping

#include "topology/graph_topology.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace isthmus::topology {
namespace {
constexpr std::uint16_t far = 0xffff;
constexpr std::uint32_t no_slot = 0xffffffff;
}  // namespace

GraphTopology::GraphTopology(GraphParameters p) : Topology("graph"), nodes_forward_(p.switches.empty()) {
  std::uint64_t links = 0;
  const std::uint64_t vertices = p.nodes.size() + p.switches.size();
  for (const Cable& c : p.cables) links += 2 * static_cast<std::uint64_t>(c.count);
  set_counts(p.nodes.size(), p.switches.size(), links);
  names_ = std::move(p.nodes);
  names_.insert(names_.end(), std::make_move_iterator(p.switches.begin()), std::make_move_iterator(p.switches.end()));
  cables_ = std::move(p.cables);
  classes_ = std::move(p.classes);
  require(classes_.size() < 0xffff, "graph: ", classes_.size(), " link classes; at most 65534 are allowed");
  dimensions_ = {{"node", nodes_}};
  graph_.offsets.assign(vertices + 1, 0);
  for (const Cable& c : cables_) {
    require(c.a < vertices && c.b < vertices, "graph: a cable between vertices ", c.a, " and ", c.b, "; there are ",
            vertices);
    require(c.a != c.b, "graph: a cable from ", names_[c.a], " to itself");
    require(c.link_class < classes_.size(), "graph: link class ", c.link_class, "; there are ", classes_.size());
    graph_.offsets[c.a + 1] += c.count;
    graph_.offsets[c.b + 1] += c.count;
  }
  std::partial_sum(graph_.offsets.begin(), graph_.offsets.end(), graph_.offsets.begin());
  graph_.targets.resize(links);
  from_.resize(links);
  class_of_.resize(links);
  std::vector<std::uint64_t> next(graph_.offsets.begin(), graph_.offsets.end() - 1);
  for (const Cable& c : cables_) {
    for (std::uint32_t i = 0; i < c.count; ++i) {
      for (const auto& [a, b] : {std::pair{c.a, c.b}, std::pair{c.b, c.a}}) {
        const std::uint64_t id = next[a]++;
        graph_.targets[id] = b;
        from_[id] = a;
        class_of_[id] = static_cast<std::uint16_t>(c.link_class);
      }
    }
  }
  cache_ = std::make_shared<Cache>();
  cache_->slot_of.assign(nodes_, no_slot);
  // 128 MiB of hops at the most; all destinations of a network of 8,000 vertices.
  cache_->capacity = std::clamp<std::size_t>((std::size_t{128} << 20) / (2 * vertices), 2, nodes_ + std::size_t{2});
  require_connected();
  spec_ = message("graph:", nodes_, " nodes");
}

void GraphTopology::require_connected() const {
  const auto reaches_all = [&](Vertex to) {
    const auto hops = hops_to(to);
    for (Vertex v = 0; v < nodes_; ++v) {
      require((*hops)[v] != far, "graph: node ", names_[v], " is not connected to node ", names_[to]);
    }
  };
  reaches_all(0);
  if (nodes_forward_) return;
  // Nodes that meet node 0 on different planes of switches need not meet each other. Where every node has a switch on
  // the plane of one switch, all do; else each is asked.
  std::vector<std::uint8_t> seen(vertices(), 0);
  const auto row = graph_.row(0);
  const auto first = std::find_if(row.begin(), row.end(), [&](Vertex v) { return v >= nodes_; });
  std::vector<Vertex> queue;
  if (first != row.end()) queue.push_back(*first);
  for (const Vertex v : queue) seen[v] = 1;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const Vertex w : graph_.row(queue[head])) {
      if (seen[w]) continue;
      seen[w] = 1;
      if (w >= nodes_) queue.push_back(w);
    }
  }
  if (std::all_of(seen.begin(), seen.begin() + nodes_, [](std::uint8_t s) { return s != 0; })) return;
  for (Vertex v = 1; v < nodes_; ++v) reaches_all(v);
}

bool GraphTopology::permits(LinkId id, Vertex to) const { return enters(graph_.targets[id], to); }

std::string GraphTopology::label(Vertex vertex) const {
  require_vertex(vertex);
  return message(vertex < nodes_ ? "node " : "switch ", names_[vertex]);
}

Link GraphTopology::link(LinkId id) const {
  require_link(id);
  return {from_[id], graph_.targets[id]};
}

std::uint32_t GraphTopology::link_class(LinkId id) const {
  require_link(id);
  return class_of_[id];
}

void GraphTopology::out_links(Vertex vertex, std::vector<LinkId>& out) const {
  require_vertex(vertex);
  for (std::uint64_t id = graph_.offsets[vertex]; id < graph_.offsets[vertex + 1]; ++id) {
    out.push_back(static_cast<LinkId>(id));
  }
}

std::shared_ptr<const GraphTopology::Hops> GraphTopology::hops_to(Vertex node) const {
  {
    const std::lock_guard lock(cache_->mutex);
    const std::uint32_t slot = cache_->slot_of[node];
    if (slot != no_slot) return cache_->entries[slot].second;
  }
  auto hops = std::make_shared<Hops>(vertices(), far);
  std::vector<Vertex> queue{node};
  (*hops)[node] = 0;
  // Cables are undirected, so searching forward from the destination gives the hops to it.
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const Vertex v = queue[head];
    if (v < nodes_ && v != node && !nodes_forward_) continue;
    require((*hops)[v] + 1 < far, "graph: a path of more than ", far - 1, " hops; at most that many are supported");
    for (const Vertex w : graph_.row(v)) {
      if ((*hops)[w] != far) continue;
      (*hops)[w] = static_cast<std::uint16_t>((*hops)[v] + 1);
      queue.push_back(w);
    }
  }
  const std::lock_guard lock(cache_->mutex);
  Cache& cache = *cache_;
  if (cache.slot_of[node] == no_slot) {
    if (cache.entries.size() < cache.capacity) cache.entries.emplace_back();
    const std::size_t slot = cache.next;
    cache.next = (cache.next + 1) % cache.capacity;
    if (cache.entries[slot].second) cache.slot_of[cache.entries[slot].first] = no_slot;
    cache.entries[slot] = {node, hops};
    cache.slot_of[node] = static_cast<std::uint32_t>(slot);
  }
  return hops;
}

std::uint32_t GraphTopology::distance(Vertex from, Vertex to) const {
  require_vertex(from);
  require_node(to);
  return (*hops_to(to))[from];
}

template <class Visit>
void GraphTopology::by_destination(std::span<const Vertex> from, std::span<const Vertex> to, Visit visit) const {
  std::vector<std::size_t> order(to.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return std::pair(to[i], i) < std::pair(to[j], j); });
  std::shared_ptr<const Hops> hops;
  Vertex last = nodes_;
  for (const std::size_t i : order) {
    require_node(from[i]);
    require_node(to[i]);
    if (to[i] != last) hops = hops_to(last = to[i]);
    visit(i, *hops);
  }
}

void GraphTopology::distances(std::span<const Vertex> from, std::span<const Vertex> to,
                              std::span<std::uint32_t> out) const {
  require(from.size() == to.size(), "pairs: ", from.size(), " sources but ", to.size(), " destinations");
  by_destination(from, to, [&](std::size_t i, const Hops& hops) { out[i] = hops[from[i]]; });
}

void GraphTopology::route_lengths(std::span<const Vertex> from, std::span<const Vertex> to,
                                  std::span<std::uint32_t> out) const {
  distances(from, to, out);
}

LinkId* GraphTopology::walk(Vertex from, Vertex to, const Hops& hops, LinkId* out) const {
  const std::uint32_t salt = from + to;
  for (Vertex at = from; at != to;) {
    const auto next_hops = static_cast<std::uint16_t>(hops[at] - 1);
    const auto usable = [&](std::uint64_t id) {
      const Vertex w = graph_.targets[id];
      return hops[w] == next_hops && enters(w, to);
    };
    std::uint32_t count = 0;
    for (std::uint64_t id = graph_.offsets[at]; id < graph_.offsets[at + 1]; ++id) count += usable(id);
    std::uint32_t skip = salt % count;
    std::uint64_t id = graph_.offsets[at];
    while (!usable(id) || skip-- > 0) ++id;
    *out++ = static_cast<LinkId>(id);
    at = graph_.targets[id];
  }
  return out;
}

LinkId* GraphTopology::write_route(Vertex from, Vertex to, LinkId* out) const {
  require_node(from);
  require_node(to);
  return walk(from, to, *hops_to(to), out);
}

void GraphTopology::routes(std::span<const Vertex> from, std::span<const Vertex> to,
                           std::span<const std::uint64_t> offsets, LinkId* out) const {
  by_destination(from, to, [&](std::size_t i, const Hops& hops) { walk(from[i], to[i], hops, out + offsets[i]); });
}

GraphTopology::Sample GraphTopology::sample() const {
  const Vertex count = nodes_ <= 16'384 ? nodes_ : 1024;
  std::uint64_t sum = 0;
  std::uint32_t largest = 0;
  for (Vertex i = 0; i < count; ++i) {
    const auto hops = hops_to(static_cast<Vertex>(static_cast<std::uint64_t>(i) * nodes_ / count));
    for (Vertex v = 0; v < nodes_; ++v) {
      sum += (*hops)[v];
      largest = std::max<std::uint32_t>(largest, (*hops)[v]);
    }
  }
  const double pairs = static_cast<double>(count) * (nodes_ - 1);
  return {largest, pairs > 0 ? static_cast<double>(sum) / pairs : 0, count == nodes_};
}

Estimate GraphTopology::diameter() const {
  const Sample s = sample();
  return {static_cast<double>(s.largest), s.exact};
}

Estimate GraphTopology::average_distance() const {
  const Sample s = sample();
  return {s.mean, s.exact};
}

}  // namespace isthmus::topology

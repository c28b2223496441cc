#include "topology/fat_tree.hpp"

#include <algorithm>

#include "topology/spec_text.hpp"

namespace isthmus::topology {

FatTree::FatTree(const FatTreeParameters& p) : Topology(p.kind) {
  const std::size_t h = p.children.size();
  require(h >= 1 && h <= 12, kind_, ": ", h, " levels; must be 1 to 12");
  require(p.parents.size() == h, kind_, ": m has ", h, " levels, w has ", p.parents.size());
  require(p.parallel.empty() || p.parallel.size() == h, kind_, ": m has ", h, " levels, parallel has ",
          p.parallel.size());
  std::uint64_t nodes = 1;
  for (std::size_t l = 0; l < h; ++l) {
    const std::uint32_t k = p.parallel.empty() ? 1 : p.parallel[l];
    require(p.children[l] >= 1 && p.parents[l] >= 1 && k >= 1, kind_, ": m, w and parallel of level ", l + 1, " are ",
            p.children[l], ", ", p.parents[l], ", ", k, "; must be at least 1");
    nodes *= p.children[l];
    require(nodes < (std::uint64_t{1} << 32), kind_, ": more than 2^32 nodes");
  }
  levels_.push_back({0, 0, 0, Divider(1), 1, 0, static_cast<std::uint32_t>(nodes), 0, 0, 0});
  std::uint64_t below = 1;
  std::uint64_t ways = 1;
  std::uint64_t vertices = nodes;
  std::uint64_t links = 0;
  std::uint64_t count = nodes;
  for (std::size_t l = 0; l < h; ++l) {
    const std::uint32_t k = p.parallel.empty() ? 1 : p.parallel[l];
    const std::uint64_t pairs = count * p.parents[l];
    require(pairs < (std::uint64_t{1} << 32) / k, kind_, ": more than 2^32 links");
    const std::uint64_t cables = pairs * k;
    below *= p.children[l];
    ways *= p.parents[l];
    count = nodes / below * ways;
    require(vertices + count < (std::uint64_t{1} << 32) && links + 2 * cables < (std::uint64_t{1} << 32), kind_,
            ": more than 2^32 vertices or links");
    levels_.push_back({p.children[l], p.parents[l], k, Divider(static_cast<std::uint32_t>(below)),
                       static_cast<std::uint32_t>(ways), static_cast<Vertex>(vertices),
                       static_cast<std::uint32_t>(count), static_cast<LinkId>(links),
                       static_cast<LinkId>(links + cables), static_cast<LinkId>(cables)});
    vertices += count;
    links += 2 * cables;
    classes_.push_back({message("level", l + 1)});
  }
  for (std::size_t l = 0; l < h; ++l) {
    dimensions_.push_back({l == 0 ? std::string("leaf_port") : message("child", l + 1), p.children[l]});
  }
  set_counts(nodes, vertices - nodes, links);
  spec_ = p.spec.empty() ? message(kind_ == "tree" ? "tree:m=" : "xgft:m=", joined(p.children),
                                   kind_ == "tree" ? "" : ",w=" + joined(p.parents),
                                   p.parallel.empty() ? "" : ",parallel=" + joined(p.parallel))
                         : p.spec;
}

std::string FatTree::label(Vertex vertex) const {
  if (vertex < nodes_) return Topology::label(vertex);
  require_vertex(vertex);
  const Place at = place(vertex);
  return message("level ", at.level, " switch ", at.index);
}

FatTree::Place FatTree::place(Vertex vertex) const {
  std::size_t level = levels_.size() - 1;
  while (levels_[level].first > vertex) --level;
  return {level, vertex - levels_[level].first};
}

std::uint32_t FatTree::parent_index(std::size_t level, std::uint32_t child_index, std::uint32_t parent) const {
  const Level& l = levels_[level];
  const std::uint32_t ways = levels_[level - 1].ways;
  return child_index / ways / l.children * l.ways + child_index % ways + ways * parent;
}

LinkId FatTree::up(std::size_t level, std::uint32_t child_index, std::uint32_t port) const {
  const Level& l = levels_[level];
  // A port numbers the parents first, so that neighbouring ports lead to different parents.
  return l.first_up + (child_index * l.parents + port % l.parents) * l.parallel + port / l.parents;
}

LinkId FatTree::down(std::size_t level, std::uint32_t index, std::uint32_t child, std::uint32_t copy) const {
  const Level& l = levels_[level];
  return l.first_down + (index * l.children + child) * l.parallel + copy;
}

Link FatTree::link(LinkId id) const {
  require_link(id);
  std::size_t level = 1;
  while (id >= levels_[level].first_down + levels_[level].cables) ++level;
  const Level& l = levels_[level];
  if (id < l.first_down) {
    const std::uint32_t pair = (id - l.first_up) / l.parallel;
    const std::uint32_t child = pair / l.parents;
    return {levels_[level - 1].first + child, l.first + parent_index(level, child, pair % l.parents)};
  }
  const std::uint32_t pair = (id - l.first_down) / l.parallel;
  const std::uint32_t index = pair / l.children;
  const std::uint32_t ways = levels_[level - 1].ways;
  const std::uint32_t child = (index / l.ways * l.children + pair % l.children) * ways + index % l.ways % ways;
  return {l.first + index, levels_[level - 1].first + child};
}

std::uint32_t FatTree::link_class(LinkId id) const {
  require_link(id);
  std::uint32_t level = 1;
  while (id >= levels_[level].first_down + levels_[level].cables) ++level;
  return level - 1;
}

void FatTree::out_links(Vertex vertex, std::vector<LinkId>& out) const {
  require_vertex(vertex);
  const Place at = place(vertex);
  const std::size_t begin = out.size();
  if (at.level + 1 < levels_.size()) {
    const Level& above = levels_[at.level + 1];
    const std::uint32_t ports = above.parents * above.parallel;
    for (std::uint32_t i = 0; i < ports; ++i) out.push_back(above.first_up + at.index * ports + i);
  }
  if (at.level > 0) {
    const Level& l = levels_[at.level];
    const std::uint32_t ports = l.children * l.parallel;
    for (std::uint32_t i = 0; i < ports; ++i) out.push_back(l.first_down + at.index * ports + i);
  }
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
}

std::uint32_t FatTree::distance(Vertex from, Vertex to) const {
  require_vertex(from);
  require_node(to);
  const Place at = place(from);
  // Any node below the vertex; its common level with the destination is where the way turns, unless it is below
  // already.
  const Vertex under = at.index / levels_[at.level].ways * levels_[at.level].below.divisor();
  const std::uint32_t turn = std::max(common_level(under, to), static_cast<std::uint32_t>(at.level));
  return turn - static_cast<std::uint32_t>(at.level) + turn;
}

void FatTree::distances(std::span<const Vertex> from, std::span<const Vertex> to, std::span<std::uint32_t> out) const {
  require(from.size() == to.size(), "pairs: ", from.size(), " sources but ", to.size(), " destinations");
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] >= nodes_ || to[i] >= nodes_) [[unlikely]] {
      require_node(from[i]);
      require_node(to[i]);
    }
    // All levels, without a branch: random pairs would mispredict it.
    std::uint32_t differing = 0;
    for (const Level& l : levels_) differing += l.below.quotient(from[i]) != l.below.quotient(to[i]);
    out[i] = 2 * differing;
  }
}

Estimate FatTree::diameter() const {
  std::uint32_t level = 0;
  for (std::uint32_t l = 1; l < levels_.size(); ++l) {
    if (levels_[l].children > 1) level = l;
  }
  return {2.0 * level, true};
}

Estimate FatTree::average_distance() const {
  if (nodes_ < 2) return {0, true};
  double sum = 0;
  for (std::size_t l = 1; l < levels_.size(); ++l) {
    sum += 2.0 * static_cast<double>(l) * (levels_[l].below.divisor() - levels_[l - 1].below.divisor());
  }
  return {sum / (nodes_ - 1), true};
}

double FatTree::oversubscription(std::size_t level) const {
  require(level >= 1 && level < levels_.size(), kind_, ": level ", level, "; must be 1 to ", levels_.size() - 1);
  if (level + 1 == levels_.size()) return 1;
  const Level& l = levels_[level];
  const Level& above = levels_[level + 1];
  return l.children * l.parallel * classes_[level - 1].bandwidth /
         (above.parents * above.parallel * classes_[level].bandwidth);
}

Bisection FatTree::bisection() const {
  // Half of the subtrees of each level, their links upwards cut. With an odd number of subtrees the middle one is split
  // in the levels below: the bound then adds the cut inside it.
  double links = 1e300;
  double bandwidth = 1e300;
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    double l = 0;
    double b = 0;
    double subtrees = nodes_ / levels_[level - 1].below.divisor();
    for (std::size_t k = level; k >= 1; --k) {
      const Level& at = levels_[k];
      const double each = static_cast<double>(levels_[k - 1].ways) * at.parents * at.parallel;
      const double cut = static_cast<std::uint64_t>(subtrees) / 2 * each;
      l += cut;
      b += cut * classes_[k - 1].bandwidth;
      if (static_cast<std::uint64_t>(subtrees) % 2 == 0) break;
      subtrees = at.children > 0 && k > 1 ? levels_[k - 1].children : 0;
    }
    links = std::min(links, l);
    bandwidth = std::min(bandwidth, b);
  }
  return {static_cast<std::uint64_t>(links), bandwidth, false};
}

LinkId* FatTree::descend(std::size_t level, std::uint32_t index, Vertex to, LinkId* out) const {
  for (; level >= 1; --level) {
    const Level& l = levels_[level];
    const std::uint32_t below = levels_[level - 1].below.quotient(to);
    const std::uint32_t child = below % l.children;
    const std::uint32_t ways = levels_[level - 1].ways;
    // The cable that the up route of the same destination takes: others would meet on one of several parallel cables.
    *out++ = down(level, index, child, to / ways % (l.parents * l.parallel) / l.parents);
    index = below * ways + index % l.ways % ways;
  }
  return out;
}

LinkId* FatTree::write_route(Vertex from, Vertex to, LinkId* out) const {
  require_node(from);
  require_node(to);
  const std::uint32_t turn = common_level(from, to);
  std::uint32_t index = from;
  for (std::size_t level = 1; level <= turn; ++level) {
    const Level& l = levels_[level];
    const std::uint32_t port = to / levels_[level - 1].ways % (l.parents * l.parallel);
    *out++ = up(level, index, port);
    index = parent_index(level, index, port % l.parents);
  }
  return descend(turn, index, to, out);
}

void FatTree::valiant_route(Vertex from, Vertex to, Rng& rng, std::vector<LinkId>& out) const {
  require_node(from);
  require_node(to);
  if (from == to) return;
  std::uint32_t index = from;
  const std::size_t top = levels_.size() - 1;
  for (std::size_t level = 1; level <= top; ++level) {
    const Level& l = levels_[level];
    const std::uint32_t port = rng.below(l.parents * l.parallel);
    out.push_back(up(level, index, port));
    index = parent_index(level, index, port % l.parents);
  }
  const std::size_t begin = out.size();
  out.resize(begin + top);
  descend(top, index, to, out.data() + begin);
}

std::uint32_t FatTree::virtual_channels(Routing /*routing*/) const { return 1; }

void FatTree::channels(Routing /*routing*/, std::span<const LinkId> /*route*/, std::span<std::uint8_t> out) const {
  std::fill(out.begin(), out.end(), std::uint8_t{0});  // up, then down: never up again
}

}  // namespace isthmus::topology

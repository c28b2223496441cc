#include "mapping/problem/target.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "topology/grid.hpp"
#include "topology/hypercube.hpp"
#include "topology/hyperx.hpp"

namespace isthmus::mapping {
namespace {

/// Coordinates beyond this many are not indexed, so that a small job on a huge machine stays cheap.
constexpr std::uint64_t most_cells = std::uint64_t{1} << 28;
/// Rows of a table of distances: 64 MiB.
constexpr std::uint32_t most_rows = 8192;

bool sums_over_coordinates(const Topology& t) {
  return dynamic_cast<const Grid*>(&t) != nullptr || dynamic_cast<const Hypercube*>(&t) != nullptr ||
         dynamic_cast<const HyperX*>(&t) != nullptr;
}

}  // namespace

Target::Target(const Topology& topology, std::vector<Vertex> nodes, std::vector<std::uint32_t> capacity)
    : topology_(&topology),
      places_(static_cast<std::uint32_t>(nodes.size())),
      nodes_(std::move(nodes)),
      capacity_(std::move(capacity)) {
  require(!nodes_.empty(), "a target needs at least one node");
  require(capacity_.empty() || capacity_.size() == nodes_.size(), "target: ", capacity_.size(), " capacities of ",
          nodes_.size(), " nodes");
  // One each is what an empty list says, and what halving asks for.
  if (std::all_of(capacity_.begin(), capacity_.end(), [](auto c) { return c == 1; })) capacity_.clear();
  std::vector<bool> seen(topology.nodes(), false);
  for (const Vertex v : nodes_) {
    require(v < topology.nodes(), "target: node ", v, " is not one of the ", topology.nodes(), " of ", topology.spec());
    require(!seen[v], "target: node ", v, " is listed twice");
    seen[v] = true;
  }
  if (sums_over_coordinates(topology)) tabulate_axes();
  symmetric_ = !axes_.empty();
  if (axes_.empty()) tabulate_rows();
  if (by_links()) {
    place_of_.assign(topology.nodes(), nowhere);
    for (std::uint32_t p = 0; p < places_; ++p) place_of_[nodes_[p]] = p;
  }
  find_groups();
}

std::uint64_t Target::slots() const {
  return capacity_.empty() ? places() : std::accumulate(capacity_.begin(), capacity_.end(), std::uint64_t{0});
}

Target Target::with_room_for_one() const {
  Target out = *this;
  out.capacity_.clear();
  return out;
}

bool Target::halves(std::size_t axis) const {
  if (axes_.empty()) {
    if (table_.empty() || !capacity_.empty() || axis > 0 || places_ % 2 != 0) return false;
    for (std::uint32_t p = 0; p < places_; p += 2) {
      if (row_[p] != row_[p + 1] || (p > 0 && row_[p] < row_[p - 1])) return false;
    }
    return true;
  }
  if (!capacity_.empty() || axis >= axes_.size() || axes_[axis].extent % 2 != 0 || axes_[axis].extent < 4) return false;
  if (place_at_.size() != places_) return false;
  for (std::uint32_t p = 0; p < places_; ++p) {
    if (place_at_[p] != p) return false;
  }
  return true;
}

Target Target::halved(std::size_t axis) const {
  require(halves(axis), "halved: axis ", axis, " has an odd number of places, or some are missing");
  Target out;
  if (axes_.empty()) {
    out.places_ = places_ / 2;
    out.symmetric_ = symmetric_;
    out.rows_ = rows_;
    out.table_ = table_;
    out.groups_ = groups_;
    for (std::uint32_t p = 0; p < places_; p += 2) {
      out.row_.push_back(row_[p]);
      if (!group_.empty()) out.group_.push_back(group_[p]);
    }
    return out;
  }
  out.symmetric_ = symmetric_;
  out.axes_ = axes_;
  out.terminals_ = terminals_;
  out.places_ = places_ / 2;
  Axis& half = out.axes_[axis];
  const std::uint32_t e = half.extent;
  half.extent = e / 2;
  for (std::uint32_t x = 0; x < e; x += 2) {
    for (std::uint32_t y = 0; y < e; y += 2) {
      const auto& d = axes_[axis].distance;
      const std::uint32_t sum = d[x * e + y] + d[x * e + y + 1] + d[(x + 1) * e + y] + d[(x + 1) * e + y + 1];
      half.distance[x / 2 * (e / 2) + y / 2] = static_cast<std::uint8_t>(x == y ? 0 : (sum + 2) / 4);
    }
  }
  half.distance.resize(static_cast<std::size_t>(e / 2) * (e / 2));
  out.place_at_.resize(out.places_);
  std::iota(out.place_at_.begin(), out.place_at_.end(), 0U);
  std::uint32_t stride = 1;
  for (Axis& a : out.axes_) {
    a.at.resize(out.places_);
    for (std::uint32_t p = 0; p < out.places_; ++p) a.at[p] = static_cast<std::uint16_t>(p / stride % a.extent);
    stride *= a.extent;
  }
  return out;
}

void Target::tabulate_axes() {
  const auto& dims = topology_->dimensions();
  std::uint64_t cells = 1;
  for (const Dimension& d : dims) cells *= d.extent;
  if (cells > most_cells) return;
  std::vector<std::uint32_t> c(dims.size(), 0);
  const bool slots = topology_->switches() > 0;
  terminals_ = slots ? 2 : 0;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const std::uint32_t e = dims[k].extent;
    Axis axis{e, false, std::vector<std::uint8_t>(static_cast<std::size_t>(e) * e, 0), {}};
    // A coordinate among the nodes of a router adds nothing but the terminal links.
    if (!slots || k + 1 < dims.size()) {
      std::vector<Vertex> on_axis(e);
      for (c[k] = 0; c[k] < e; ++c[k]) on_axis[c[k]] = topology_->node_at(c);
      c[k] = 0;
      for (std::uint32_t i = 0; i < e; ++i) {
        for (std::uint32_t j = 0; j < e; ++j) {
          const std::uint32_t d = i == j ? 0 : topology_->route_length(on_axis[i], on_axis[j]) - terminals_;
          if (d > 255) {
            axes_.clear();
            terminals_ = 0;
            return;
          }
          axis.distance[i * e + j] = static_cast<std::uint8_t>(d);
        }
      }
      axis.wrap = e > 2 && axis.distance[e - 1] == 1;
    }
    axes_.push_back(std::move(axis));
  }
  for (Axis& axis : axes_) axis.at.resize(nodes_.size());
  place_at_.assign(cells, nowhere);
  for (std::uint32_t p = 0; p < places(); ++p) {
    topology_->coordinates(nodes_[p], c);
    std::uint64_t cell = 0;
    for (std::size_t k = axes_.size(); k-- > 0;) {
      axes_[k].at[p] = static_cast<std::uint16_t>(c[k]);
      cell = cell * axes_[k].extent + c[k];
    }
    place_at_[cell] = p;
  }
}

void Target::tabulate_rows() {
  // Nodes that hang on one switch by one link are alike, wherever they send.
  std::unordered_map<Vertex, std::uint32_t> row_of;
  std::vector<Vertex> representative;
  std::vector<Vertex> second;  // another node of the row, if there is one
  row_.resize(nodes_.size());
  std::vector<LinkId> links;
  for (std::uint32_t p = 0; p < places(); ++p) {
    links.clear();
    topology_->out_links(nodes_[p], links);
    const bool hangs = links.size() == 1 && topology_->link(links[0]).to >= topology_->nodes();
    const auto [found, added] =
        row_of.try_emplace(hangs ? topology_->link(links[0]).to : nodes_[p], static_cast<std::uint32_t>(rows_));
    row_[p] = found->second;
    if (added) {
      ++rows_;
      representative.push_back(nodes_[p]);
      second.push_back(nodes_[p]);
    } else {
      second[row_[p]] = nodes_[p];
    }
  }
  if (rows_ > most_rows) {
    rows_ = 0;
    return;
  }
  table_.resize(static_cast<std::size_t>(rows_) * rows_);
  std::vector<Vertex> from(rows_);
  std::vector<Vertex> to = representative;
  std::vector<std::uint32_t> length(rows_);
  for (std::uint32_t r = 0; r < rows_; ++r) {
    interruption_point();
    std::fill(from.begin(), from.end(), representative[r]);
    to[r] = second[r];
    topology_->route_lengths(from, to, length);
    to[r] = representative[r];
    for (std::uint32_t s = 0; s < rows_; ++s) {
      const std::uint32_t d = length[s];
      require(d != unreachable, "target: no route from node ", representative[r], " to node ",
              r == s ? second[s] : representative[s]);
      if (d > 255) {
        table_.clear();
        return;
      }
      table_[static_cast<std::size_t>(r) * rows_ + s] = static_cast<std::uint8_t>(d);
    }
  }
  symmetric_ = true;
  // Swaps could gain for ever if there and back were different, as they are on networks of one-way links.
  for (std::uint32_t r = 0; r < rows_; ++r) {
    for (std::uint32_t s = 0; s < r; ++s) {
      std::uint8_t& there = table_[static_cast<std::size_t>(r) * rows_ + s];
      std::uint8_t& back = table_[static_cast<std::size_t>(s) * rows_ + r];
      symmetric_ = symmetric_ && there == back;
      there = back = static_cast<std::uint8_t>((there + back + 1) / 2);
    }
  }
}

void Target::find_groups() {
  const auto& dims = topology_->dimensions();
  const auto group = std::find_if(dims.begin(), dims.end(), [](const Dimension& d) { return d.name == "group"; });
  if (group == dims.end()) return;
  groups_ = group->extent;
  group_.resize(places_);
  std::vector<std::uint32_t> c(dims.size());
  for (std::uint32_t p = 0; p < places_; ++p) {
    topology_->coordinates(nodes_[p], c);
    group_[p] = c[static_cast<std::size_t>(group - dims.begin())];
  }
}

std::uint32_t Target::place_at(std::span<const std::uint32_t> coordinates) const {
  std::uint64_t cell = 0;
  for (std::size_t k = axes_.size(); k-- > 0;) cell = cell * axes_[k].extent + coordinates[k];
  return place_at_[cell];
}

void Target::near_by_axes(std::uint32_t place, std::uint32_t count, std::vector<std::uint32_t>& out) const {
  const std::size_t begin = out.size();
  // Places at exactly distance `left` from `place`, going over the coordinates that give it.
  const auto at_distance = [&](const auto& self, std::size_t k, std::uint64_t stride, std::uint64_t cell,
                               std::uint32_t left) -> void {
    if (k == axes_.size()) {
      const std::uint32_t p = left == 0 ? place_at_[cell] : nowhere;
      if (p != nowhere && p != place) out.push_back(p);
      return;
    }
    const Axis& axis = axes_[k];
    const std::uint8_t* row = axis.distance.data() + axis.at[place] * axis.extent;
    for (std::uint32_t x = 0; x < axis.extent; ++x) {
      if (row[x] <= left) self(self, k + 1, stride * axis.extent, cell + x * stride, left - row[x]);
    }
  };
  std::uint32_t largest = 0;
  for (const Axis& axis : axes_) largest += *std::max_element(axis.distance.begin(), axis.distance.end());
  for (std::uint32_t d = 0; d <= largest && out.size() - begin < count; ++d) {
    const std::size_t first = out.size();
    at_distance(at_distance, 0, 1, 0, d);
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  }
  out.resize(std::min(out.size(), begin + count));
}

std::size_t Target::near_by_links(std::uint32_t place, std::uint32_t count, std::vector<std::uint32_t>& out) const {
  std::unordered_set<Vertex> seen{nodes_[place]};
  std::vector<Vertex> rim{nodes_[place]};
  std::vector<Vertex> next;
  std::vector<LinkId> links;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  while (!rim.empty() && found.size() < count) {
    next.clear();
    for (const Vertex v : rim) {
      links.clear();
      topology_->out_links(v, links);
      for (const LinkId l : links) {
        const Vertex w = topology_->link(l).to;
        if (!seen.insert(w).second) continue;
        next.push_back(w);
        const std::uint32_t p = w < topology_->nodes() ? place_of_[w] : nowhere;
        if (p != nowhere) found.emplace_back(distance(place, p), p);
      }
    }
    std::swap(rim, next);
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min<std::size_t>(found.size(), count));
  for (const auto& [d, p] : found) out.push_back(p);
  return seen.size();
}

std::size_t Target::near(std::uint32_t place, std::uint32_t count, std::vector<std::uint32_t>& out) const {
  if (by_links()) return near_by_links(place, count, out);
  if (!axes_.empty()) {
    const std::size_t before = out.size();
    near_by_axes(place, count, out);
    return out.size() - before;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  all.reserve(places());
  for (std::uint32_t p = 0; p < places(); ++p) {
    if (p != place) all.emplace_back(distance(place, p), p);
  }
  const std::size_t kept = std::min<std::size_t>(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end());
  for (std::size_t i = 0; i < kept; ++i) out.push_back(all[i].second);
  return places();
}

std::vector<std::uint32_t> Target::neighbourhoods(std::uint32_t& count) const {
  count = std::min(count, places() - 1);
  std::vector<std::uint32_t> out;
  if (axes_.empty() && !table_.empty()) return neighbourhoods_by_rows(count);
  out.reserve(static_cast<std::size_t>(places()) * count);
  for (std::uint32_t p = 0; p < places(); ++p) near(p, count, out);
  return out;
}

std::vector<std::uint32_t> Target::neighbourhoods_by_rows(std::uint32_t count) const {
  std::vector<std::vector<std::uint32_t>> members(rows_);
  for (std::uint32_t p = 0; p < places_; ++p) members[row_[p]].push_back(p);
  std::vector<std::uint32_t> out(static_cast<std::size_t>(places_) * count);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  for (std::uint32_t r = 0; r < rows_; ++r) {
    interruption_point();
    const std::uint8_t* distance = table_.data() + static_cast<std::size_t>(r) * rows_;
    std::array<std::uint32_t, 256> at_distance{};
    for (std::uint32_t s = 0; s < rows_; ++s) at_distance[distance[s]] += static_cast<std::uint32_t>(members[s].size());
    // One more than is wanted, as a place is not its own neighbour.
    std::uint32_t farthest = 0;
    for (std::uint32_t sum = at_distance[0]; sum <= count; sum += at_distance[++farthest]) {
    }
    found.clear();
    for (std::uint32_t s = 0; s < rows_; ++s) {
      if (distance[s] > farthest) continue;
      for (const std::uint32_t p : members[s]) found.emplace_back(distance[s], p);
    }
    std::partial_sort(found.begin(), found.begin() + count + 1, found.end());
    for (const std::uint32_t p : members[r]) {
      std::uint32_t* to = out.data() + static_cast<std::size_t>(p) * count;
      for (std::uint32_t i = 0, filled = 0; filled < count; ++i) {
        if (found[i].second != p) to[filled++] = found[i].second;
      }
    }
  }
  return out;
}

}  // namespace isthmus::mapping

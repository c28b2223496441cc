#include "mapping/regular/node_box.hpp"

#include <algorithm>

namespace isthmus::mapping {
namespace {

constexpr std::uint32_t largest_table = 1024;

/// Distances of the nodes along an axis; an axis too long for a table must be a line or a ring.
std::optional<NodeAxis> axis_along(const Topology& topology, const std::vector<Vertex>& nodes) {
  const auto e = static_cast<std::uint32_t>(nodes.size());
  if (e <= largest_table) {
    std::vector<std::uint32_t> table(std::size_t{e} * e);
    for (std::uint32_t i = 0; i < e; ++i) {
      for (std::uint32_t j = 0; j < e; ++j) {
        table[std::size_t{i} * e + j] = i == j ? 0 : topology.route_length(nodes[i], nodes[j]);
      }
    }
    return NodeAxis(e, std::move(table));
  }
  const NodeAxis axis(e, topology.route_length(nodes.front(), nodes.back()) == 1);
  for (std::uint32_t i = 0; i < e; ++i) {
    const std::uint32_t j = (i + e / 2) % e;
    if (topology.route_length(nodes[0], nodes[i]) != axis.distance(0, i)) return std::nullopt;
    if (topology.route_length(nodes[i], nodes[j]) != axis.distance(i, j)) return std::nullopt;
  }
  return axis;
}
}  // namespace

NodeAxis NodeAxis::prefix(std::uint32_t extent) const {
  std::vector<std::uint32_t> table;
  if (extent > largest_table && extent != extent_) return {extent, false};
  if (extent == extent_) return *this;
  for (std::uint32_t i = 0; i < extent; ++i) {
    for (std::uint32_t j = 0; j < extent; ++j) table.push_back(distance(i, j));
  }
  return {extent, std::move(table)};
}

std::optional<NodeBox> NodeBox::of(const Target& target, double emptiest) {
  const Topology& topology = target.topology();
  const std::size_t d = topology.dimensions().size();
  if (d == 0) return std::nullopt;
  const std::uint32_t capacity = target.capacity(0);
  std::vector<std::vector<std::uint32_t>> number(d);  // of every coordinate, among those in use
  for (std::size_t k = 0; k < d; ++k) number[k].assign(topology.dimensions()[k].extent, 0);
  std::vector<std::uint32_t> at(d);
  std::vector<std::uint32_t> all(target.places() * d);
  for (std::uint32_t p = 0; p < target.places(); ++p) {
    if (target.capacity(p) != capacity) return std::nullopt;
    topology.coordinates(target.node(p), at);
    for (std::size_t k = 0; k < d; ++k) {
      number[k][at[k]] = 1;
      all[p * d + k] = at[k];
    }
  }
  std::uint64_t cells = 1;
  std::vector<std::vector<std::uint32_t>> used(d);
  for (std::size_t k = 0; k < d; ++k) {
    for (std::uint32_t c = 0; c < number[k].size(); ++c) {
      if (number[k][c] == 0) continue;
      number[k][c] = static_cast<std::uint32_t>(used[k].size());
      used[k].push_back(c);
    }
    cells *= used[k].size();
    if (static_cast<double>(cells) > emptiest * target.places()) return std::nullopt;
  }
  if (capacity == 0) return std::nullopt;
  NodeBox out;
  if (capacity > 1) out.axes.emplace_back(capacity, std::vector<std::uint32_t>(std::size_t{capacity} * capacity, 0));
  for (std::size_t k = 0; k < d; ++k) at[k] = used[k][0];
  std::vector<Vertex> line;
  for (std::size_t k = 0; k < d; ++k) {
    line.clear();
    for (const std::uint32_t c : used[k]) {
      at[k] = c;
      line.push_back(topology.node_at(at));
    }
    at[k] = used[k][0];
    auto axis = axis_along(topology, line);
    if (!axis) return std::nullopt;
    out.axes.push_back(std::move(*axis));
  }
  out.places.assign(cells * capacity, nowhere);
  for (std::uint32_t p = 0; p < target.places(); ++p) {
    std::uint64_t cell = 0;
    for (std::size_t k = d; k-- > 0;) cell = cell * used[k].size() + number[k][all[p * d + k]];
    std::fill_n(out.places.begin() + static_cast<std::ptrdiff_t>(cell * capacity), capacity, p);
  }
  return out;
}

bool NodeBox::settle(std::vector<std::uint32_t>& cell) const {
  constexpr std::uint64_t budget = 200'000'000;  // cells searched
  const auto cells = static_cast<std::uint32_t>(places.size());
  std::vector<std::uint32_t> task_at(cells, nowhere);
  std::vector<std::uint32_t> waiting;
  for (std::uint32_t t = 0; t < cell.size(); ++t) {
    if (places[cell[t]] != nowhere && task_at[cell[t]] == nowhere) task_at[cell[t]] = t;
    else waiting.push_back(t);
  }
  std::vector<std::uint32_t> met(cells, nowhere);  // in the search for this task
  std::vector<std::uint32_t> before(cells);
  std::vector<std::uint32_t> queue;
  std::uint64_t searched = 0;
  for (const std::uint32_t t : waiting) {
    queue.assign(1, cell[t]);
    met[cell[t]] = t;
    std::uint32_t end = nowhere;
    const auto visit = [&](std::uint32_t from, std::uint32_t to) {
      if (met[to] == t || end != nowhere) return;
      met[to] = t;
      before[to] = from;
      queue.push_back(to);
      if (places[to] != nowhere && task_at[to] == nowhere) end = to;
    };
    for (std::size_t head = 0; head < queue.size() && end == nowhere; ++head) {
      const std::uint32_t at = queue[head];
      std::uint32_t stride = 1;
      for (const NodeAxis& axis : axes) {
        const std::uint32_t e = axis.extent();
        const std::uint32_t x = at / stride % e;
        const bool around = e > 2 && axis.distance(0, e - 1) <= axis.distance(0, 1);
        if (x + 1 < e) visit(at, at + stride);
        else if (around) visit(at, at - x * stride);
        if (x > 0) visit(at, at - stride);
        else if (around) visit(at, at + (e - 1) * stride);
        stride *= e;
      }
    }
    searched += queue.size();
    if (end == nowhere || searched > budget) return false;
    // From the free place backwards, everybody moves up; the holes on the way are skipped.
    const std::uint32_t start = cell[t];
    std::uint32_t free = end;
    for (std::uint32_t at = end; at != start;) {
      at = before[at];
      const std::uint32_t mover = at == start ? t : task_at[at];
      if (mover == nowhere) continue;
      task_at[free] = mover;
      cell[mover] = free;
      free = at;
    }
  }
  for (std::uint32_t& c : cell) c = places[c];
  return true;
}

}  // namespace isthmus::mapping

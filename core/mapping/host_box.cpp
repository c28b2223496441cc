#include "mapping/host_box.hpp"

#include <algorithm>

namespace isthmus {
namespace {

constexpr std::uint32_t largest_table = 1024;

/// Distances of the nodes along an axis; an axis too long for a table must be a line or a ring.
std::optional<HostAxis> axis_along(const Topology& topology, const std::vector<Vertex>& nodes) {
  const auto e = static_cast<std::uint32_t>(nodes.size());
  if (e <= largest_table) {
    std::vector<std::uint32_t> table(std::size_t{e} * e);
    for (std::uint32_t i = 0; i < e; ++i) {
      for (std::uint32_t j = 0; j < e; ++j) {
        table[std::size_t{i} * e + j] = i == j ? 0 : topology.route_length(nodes[i], nodes[j]);
      }
    }
    return HostAxis(e, std::move(table));
  }
  const HostAxis axis(e, topology.route_length(nodes.front(), nodes.back()) == 1);
  for (std::uint32_t i = 0; i < e; ++i) {
    const std::uint32_t j = (i + e / 2) % e;
    if (topology.route_length(nodes[0], nodes[i]) != axis.distance(0, i)) return std::nullopt;
    if (topology.route_length(nodes[i], nodes[j]) != axis.distance(i, j)) return std::nullopt;
  }
  return axis;
}
}  // namespace

HostAxis HostAxis::prefix(std::uint32_t extent) const {
  std::vector<std::uint32_t> table;
  if (extent > largest_table && extent != extent_) return {extent, false};
  if (extent == extent_) return *this;
  for (std::uint32_t i = 0; i < extent; ++i) {
    for (std::uint32_t j = 0; j < extent; ++j) table.push_back(distance(i, j));
  }
  return {extent, std::move(table)};
}

std::optional<HostBox> HostBox::of(const Target& target) {
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
    if (cells > target.places()) return std::nullopt;
  }
  if (cells != target.places() || capacity == 0) return std::nullopt;
  HostBox out;
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
  out.places.resize(cells * capacity);
  for (std::uint32_t p = 0; p < target.places(); ++p) {
    std::uint64_t cell = 0;
    for (std::size_t k = d; k-- > 0;) cell = cell * used[k].size() + number[k][all[p * d + k]];
    std::fill_n(out.places.begin() + static_cast<std::ptrdiff_t>(cell * capacity), capacity, p);
  }
  return out;
}

}  // namespace isthmus

#include "mapping/problem/task_graph.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace isthmus::mapping {
namespace {

/// Rows in any order to rows in ascending order with equal targets added up. A counting sort by target, then by row:
/// linear in the entries.
void sort_rows(TaskGraph& graph) {
  const std::uint32_t n = graph.tasks();
  Csr turned;
  turned.offsets.assign(n + 1, 0);
  for (const std::uint32_t t : graph.links.targets) ++turned.offsets[t + 1];
  std::partial_sum(turned.offsets.begin(), turned.offsets.end(), turned.offsets.begin());
  turned.targets.resize(graph.links.targets.size());
  std::vector<double> bytes(graph.bytes.size());
  std::vector<std::uint64_t> next(turned.offsets.begin(), turned.offsets.end() - 1);
  for (std::uint32_t v = 0; v < n; ++v) {
    for (std::uint64_t i = graph.links.offsets[v]; i < graph.links.offsets[v + 1]; ++i) {
      const std::uint64_t at = next[graph.links.targets[i]]++;
      turned.targets[at] = v;
      bytes[at] = graph.bytes[i];
    }
  }
  // The matrix is symmetric, so its transpose has the same rows, now ascending.
  std::uint64_t kept = 0;
  std::uint64_t begin = 0;
  for (std::uint32_t v = 0; v < n; ++v) {
    const std::uint64_t end = turned.offsets[v + 1];
    const std::uint64_t first = kept;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (kept > first && turned.targets[kept - 1] == turned.targets[i]) {
        bytes[kept - 1] += bytes[i];
      } else {
        turned.targets[kept] = turned.targets[i];
        bytes[kept++] = bytes[i];
      }
    }
    begin = end;
    turned.offsets[v + 1] = kept;
  }
  turned.targets.resize(kept);
  bytes.resize(kept);
  graph.links = std::move(turned);
  graph.bytes = std::move(bytes);
}

}  // namespace

double TaskGraph::total_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0) / 2; }

double TaskGraph::total_load() const { return load.empty() ? tasks() : std::accumulate(load.begin(), load.end(), 0.0); }

TaskGraph task_graph(std::uint32_t tasks, std::span<const std::uint32_t> from, std::span<const std::uint32_t> to,
                     std::span<const double> bytes, std::vector<double> load) {
  require(from.size() == to.size() && from.size() == bytes.size(), "task graph: ", from.size(), " sources, ", to.size(),
          " targets and ", bytes.size(), " numbers of bytes; must be as many of each");
  require(load.empty() || load.size() == tasks, "task graph: ", load.size(), " loads of ", tasks, " tasks");
  for (std::size_t t = 0; t < load.size(); ++t) {
    require(load[t] >= 0 && std::isfinite(load[t]), "task ", t, " has load ", load[t], "; must be 0 or more");
  }
  TaskGraph out;
  out.load = std::move(load);
  out.links.offsets.assign(tasks + 1, 0);
  const auto counts = [&](std::size_t i) { return from[i] != to[i] && bytes[i] > 0; };
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint32_t larger = std::max(from[i], to[i]);
    require(larger < tasks, "transfer ", i, " names task ", larger, ", but there are ", tasks, " tasks");
    require(bytes[i] >= 0 && std::isfinite(bytes[i]), "transfer ", i, " has ", bytes[i], " bytes; must be 0 or more");
    if (!counts(i)) continue;
    ++out.links.offsets[from[i] + 1];
    ++out.links.offsets[to[i] + 1];
  }
  std::partial_sum(out.links.offsets.begin(), out.links.offsets.end(), out.links.offsets.begin());
  out.links.targets.resize(out.links.offsets[tasks]);
  out.bytes.resize(out.links.offsets[tasks]);
  std::vector<std::uint64_t> next(out.links.offsets.begin(), out.links.offsets.end() - 1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!counts(i)) continue;
    for (const auto& [a, b] : {std::pair(from[i], to[i]), std::pair(to[i], from[i])}) {
      out.links.targets[next[a]] = b;
      out.bytes[next[a]++] = bytes[i];
    }
  }
  sort_rows(out);
  return out;
}

TaskGraph quotient(const TaskGraph& graph, std::span<const std::uint32_t> group, std::uint32_t groups) {
  require(group.size() == graph.tasks(), "quotient: ", group.size(), " groups of ", graph.tasks(), " tasks");
  TaskGraph out;
  out.load.assign(groups, 0);
  std::vector<std::uint64_t> first(groups + 1, 0);
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) {
    require(group[t] < groups, "quotient: task ", t, " is in group ", group[t], " of ", groups);
    out.load[group[t]] += graph.load_of(t);
    ++first[group[t] + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> member(graph.tasks());
  {
    std::vector<std::uint64_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t t = 0; t < graph.tasks(); ++t) member[next[group[t]]++] = t;
  }
  constexpr std::uint64_t absent = ~std::uint64_t{0};
  std::vector<std::uint64_t> entry(groups, absent);
  out.links.offsets.reserve(groups + 1);
  out.links.offsets.push_back(0);
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::uint64_t begin = out.links.targets.size();
    for (std::uint64_t m = first[g]; m < first[g + 1]; ++m) {
      const std::uint32_t t = member[m];
      for (std::uint64_t i = graph.links.offsets[t]; i < graph.links.offsets[t + 1]; ++i) {
        const std::uint32_t h = group[graph.links.targets[i]];
        if (h == g) continue;
        if (entry[h] == absent) {
          entry[h] = out.links.targets.size();
          out.links.targets.push_back(h);
          out.bytes.push_back(0);
        }
        out.bytes[entry[h]] += graph.bytes[i];
      }
    }
    for (std::uint64_t i = begin; i < out.links.targets.size(); ++i) entry[out.links.targets[i]] = absent;
    out.links.offsets.push_back(out.links.targets.size());
  }
  sort_rows(out);
  return out;
}

}  // namespace isthmus::mapping

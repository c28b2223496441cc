#include "mapping/problem/pattern_graph.hpp"

#include "base/error.hpp"
#include "base/pages.hpp"

namespace isthmus::mapping {
namespace {

/// What a task receives: side by side, since it is written in no order that memory knows.
struct Received {
  std::uint64_t bytes;
  std::uint32_t source;
};
}  // namespace

TaskGraph pattern_graph(std::span<const std::uint64_t> first, std::span<const std::uint32_t> peer,
                        std::span<const std::uint64_t> bytes) {
  require(!first.empty() && first.front() == 0 && first.back() == peer.size() && bytes.size() == peer.size(),
          "pattern: rows do not begin at 0 and end with the ", peer.size(), " partners and ", bytes.size(), " bytes");
  const auto n = static_cast<std::uint32_t>(first.size() - 1);
  std::vector<std::uint64_t> end(n + 1, 0);  // of what each task receives, when all is there
  for (std::uint32_t v = 0; v < n; ++v) {
    require(first[v] <= first[v + 1] && first[v + 1] <= peer.size(), "pattern: row ", v, " ends before it begins");
    for (std::uint64_t e = first[v]; e < first[v + 1]; ++e) {
      require(peer[e] < n, "pattern: partner ", peer[e], " of task ", v, "; there are ", n, " tasks");
      require(e == first[v] || peer[e - 1] < peer[e], "pattern: partners of task ", v, " are not ascending");
      ++end[peer[e] + 1];
    }
  }
  for (std::uint32_t v = 0; v < n; ++v) end[v + 1] += end[v];
  LargeVector<Received> received(peer.size());
  for (std::uint32_t v = 0; v < n; ++v) {
    for (std::uint64_t e = first[v]; e < first[v + 1]; ++e) received[end[peer[e]]++] = {bytes[e], v};
  }
  TaskGraph out;
  out.links.offsets.reserve(first.size());
  out.links.offsets.push_back(0);
  out.links.targets.reserve(2 * peer.size());
  out.bytes.reserve(2 * peer.size());
  std::uint64_t in = 0;
  for (std::uint32_t v = 0; v < n; ++v) {
    std::uint64_t e = first[v];
    while (e < first[v + 1] || in < end[v]) {
      const std::uint32_t to = e < first[v + 1] ? peer[e] : unreachable;
      const std::uint32_t from = in < end[v] ? received[in].source : unreachable;
      const std::uint32_t partner = to < from ? to : from;
      double sum = 0;
      if (to == partner) sum += static_cast<double>(bytes[e++]);
      if (from == partner) sum += static_cast<double>(received[in++].bytes);
      if (partner == v || sum == 0) continue;
      out.links.targets.push_back(partner);
      out.bytes.push_back(sum);
    }
    out.links.offsets.push_back(out.links.targets.size());
  }
  return out;
}

}  // namespace isthmus::mapping

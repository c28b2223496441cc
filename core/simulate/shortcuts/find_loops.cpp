#include "simulate/shortcuts/find_loops.hpp"

#include <algorithm>

#include "base/interruption.hpp"
#include "simulate/model/repetition.hpp"

namespace isthmus::simulate {
namespace {

constexpr std::uint32_t fewest = 4;  // iterations; fewer are no loop

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 29;
}

/// A number for each operation of a rank that says all about it, but for where it stands.
class Codes {
 public:
  /// False where a receive has a wildcard.
  bool read(const Schedule& s, Rank rank) {
    if ((rank & 0xFF) == 0) interruption_point();
    const auto ops = s.ops_of(rank);
    codes_.resize(ops.size());
    last_.clear();
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const Operation& op = ops[i];
      std::uint64_t h = mix(op.amount, std::uint64_t{op.peer} << 32 | op.comm);
      h = mix(h, std::uint64_t{op.needs} << 32 | static_cast<std::uint32_t>(op.kind) << 16 | op.cpu << 8 | op.nic);
      if (op.kind == OpKind::send || op.kind == OpKind::recv) {
        if (op.kind == OpKind::recv && (op.peer == any_rank || op.tag == any_tag)) return false;
        // Tags may advance: how much from one operation to the next is what repeats.
        std::uint32_t& tag = last(op.comm);
        h = mix(h, op.tag - tag);
        tag = op.tag;
      }
      for (const Edge e : s.dependants(rank, i)) h = mix(h, std::uint64_t{e.to() - i} << 1 | (e.on_start() ? 1 : 0));
      codes_[i] = mix(h, 0);
    }
    return true;
  }
  [[nodiscard]] const std::vector<std::uint64_t>& get() const { return codes_; }

 private:
  std::uint32_t& last(std::uint32_t comm) {
    for (auto& [c, tag] : last_)
      if (c == comm) return tag;
    return last_.emplace_back(comm, 0).second;
  }
  std::vector<std::uint64_t> codes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> last_;  // tags, by communicator
};

/// A range of operations that repeats the first `length` of them.
struct Range {
  std::uint32_t first = 0, length = 0, end = 0;
  [[nodiscard]] std::uint32_t iterations() const { return length == 0 ? 0 : (end - first) / length; }
};

/// The range around an operation for a body of this length.
Range around(const std::vector<std::uint64_t>& codes, std::uint32_t at, std::uint32_t length) {
  const auto n = static_cast<std::uint32_t>(codes.size());
  std::uint32_t first = at, end = at + length;
  while (end < n && codes[end] == codes[end - length]) ++end;
  while (first > 0 && codes[first - 1] == codes[first - 1 + length]) --first;
  return {first, length, end};
}

/// The longest range that begins with a repetition of what comes after `at`: lengths of common prefixes (Gusfield,
/// "Algorithms on Strings, Trees and Sequences", 1997, section 1.4).
Range longest_from(const std::vector<std::uint64_t>& codes, std::uint32_t at, std::vector<std::uint32_t>& common) {
  const auto n = static_cast<std::uint32_t>(codes.size() - at);
  const std::uint64_t* c = codes.data() + at;
  common.assign(n, 0);
  std::uint32_t left = 0, right = 0, best = 0, covers = 0;
  for (std::uint32_t i = 1; i < n; ++i) {
    std::uint32_t z = i < right ? std::min(right - i, common[i - left]) : 0;
    while (i + z < n && c[z] == c[i + z]) ++z;
    common[i] = z;
    if (i + z > right) {
      left = i;
      right = i + z;
    }
    if (z >= i && i + z > covers) {
      covers = i + z;
      best = i;
    }
  }
  return best == 0 ? Range{} : around(codes, at, best);
}

/// The longest range of a rank; `like`: that of another one, which is tried first.
Range longest(const std::vector<std::uint64_t>& codes, const Range& like, std::vector<std::uint32_t>& common) {
  const auto n = static_cast<std::uint32_t>(codes.size());
  if (like.length > 0 && like.end <= n) {
    const Range same = around(codes, like.first, like.length);
    if (same.first == like.first && same.iterations() == like.iterations()) return same;
  }
  Range best;
  for (const std::uint32_t at : {n / 2, n / 4, n - n / 4}) {
    if (at >= best.first && at < best.end) continue;
    if (at >= n) continue;
    const Range range = longest_from(codes, at, common);
    if (range.iterations() >= fewest && range.end - range.first > best.end - best.first) best = range;
  }
  return best;
}

/// By how much the tags of each communicator advance; false where some do and others do not.
bool find_steps(const Schedule& s, Loops& loops) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps;
  for (Rank r = 0; r < s.ranks; ++r) {
    const Loop& loop = loops.of[r];
    const Operation* ops = s.ops.data() + s.op_first[r] + loop.first;
    for (std::uint32_t i = 0; i < loop.length; ++i) {
      if (ops[i].kind != OpKind::send && ops[i].kind != OpKind::recv) continue;
      const std::uint32_t by = ops[i + loop.length].tag - ops[i].tag;
      const auto found =
          std::find_if(steps.begin(), steps.end(), [&](const auto& x) { return x.first == ops[i].comm; });
      if (found == steps.end()) steps.emplace_back(ops[i].comm, by);
      else if (found->second != by) return false;
    }
  }
  std::erase_if(steps, [](const auto& step) { return step.second == 0; });
  loops.steps = std::move(steps);
  return true;
}

/// Where dependencies lead, and streams that are used from the loop on.
bool look_at_body(const Schedule& s, Rank rank, Loops& loops) {
  Loop& loop = loops.of[rank];
  const auto ops = s.ops_of(rank);
  const std::uint32_t first = loop.first, end = loop.first + loop.length;
  for (std::uint32_t i = 0; i < first; ++i)
    for (const Edge e : s.dependants(rank, i))
      if (e.to() >= first && e.to() < first + std::uint64_t{loop.length} * loops.iterations)
        loop.entered = std::max(loop.entered, (e.to() - first) / loop.length + 1);
  for (std::uint32_t i = first; i < end; ++i) {
    if (ops[i].needs == 0) return false;
    for (const Edge e : s.dependants(rank, i))
      loops.reach = std::max(loops.reach,
                             e.to() >= first ? (e.to() - first) / loop.length : (first - e.to() - 1) / loop.length + 1);
  }
  return true;
}

bool note_streams(const Schedule& s, Loops& loops) {
  const auto note = [&](Rank r, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) {
      const Operation& op = s.ops[i];
      if (op.cpu >= 32) return false;
      loops.of[r].streams |= 1U << op.cpu;
      if (op.kind == OpKind::send && op.peer < s.ranks) loops.of[op.peer].streams |= 1U << op.cpu;
    }
    return true;
  };
  for (Rank r = 0; r < s.ranks; ++r) {
    const Loop& loop = loops.of[r];
    if (loop.length == 0) continue;
    const std::uint64_t body = s.op_first[r] + loop.first;
    const std::uint64_t after = body + std::uint64_t{loop.length} * loops.iterations;
    if (!note(r, body, body + loop.length) || !note(r, after, s.op_first[r + 1])) return false;
  }
  return true;
}

}  // namespace

std::optional<Loops> find_loops(const Schedule& s) {
  Loops loops;
  loops.of.resize(s.ranks);
  Codes codes;
  Range last;
  std::vector<std::uint32_t> common;
  std::vector<std::uint32_t> iterations(s.ranks);
  std::uint32_t least = 0xFFFFFFFF;
  for (Rank r = 0; r < s.ranks; ++r) {
    if (!codes.read(s, r)) return std::nullopt;
    const Range range = longest(codes.get(), last, common);
    if (range.length == 0) continue;
    last = range;
    loops.of[r].first = range.first;
    loops.of[r].length = range.length;
    iterations[r] = range.iterations();
    least = std::min(least, range.iterations());
  }
  if (least == 0xFFFFFFFF) return std::nullopt;
  // A body of some ranks may be two equal halves on others.
  loops.iterations = least;
  for (Rank r = 0; r < s.ranks; ++r) {
    if (loops.of[r].length == 0) continue;
    const std::uint32_t times = iterations[r] / least;
    loops.of[r].length *= times;
    loops.iterations = std::min(loops.iterations, iterations[r] / times);
  }
  if (loops.iterations < fewest) return std::nullopt;
  for (Rank r = 0; r < s.ranks; ++r) {
    loops.ops += loops.of[r].length;
    if (loops.of[r].length > 0 && !look_at_body(s, r, loops)) return std::nullopt;
  }
  if (!find_steps(s, loops) || !note_streams(s, loops)) return std::nullopt;
  return loops;
}

std::uint32_t iterations_needed(const Loops& loops, const Repetition& repetition) {
  return repetition.untouched + 2 * (loops.reach + 1);
}

std::optional<Schedule> shorten(const Schedule& s, const Loops& loops, std::uint32_t iterations) {
  if (iterations <= loops.reach) return std::nullopt;
  Schedule out;
  out.ranks = s.ranks;
  const std::uint32_t fewer = loops.iterations - iterations;
  for (Rank r = 0; r < s.ranks; ++r) {
    const Loop& loop = loops.of[r];
    const std::uint32_t n = s.ops_in(r);
    // Operations of the iterations that are left out.
    const std::uint32_t from = loop.length == 0 ? n : loop.first + loop.length * iterations;
    const std::uint32_t without = loop.length * fewer, to = from + without;
    const std::uint64_t edges = out.edges.size();
    for (std::uint32_t i = 0; i < n; i = i + 1 == from ? to : i + 1) {
      Operation op = s.ops[s.op_first[r] + i];
      op.first_edge = static_cast<std::uint32_t>(out.edges.size() - edges);
      for (const Edge e : s.dependants(r, i)) {
        std::uint32_t target = e.to();
        if (i >= to) {  // it may lead into the last iterations
          if (target + std::uint64_t{loops.reach} * loop.length < to) return std::nullopt;
          target -= without;
        } else if (i < loop.first && target >= from) {
          if (target < to) return std::nullopt;
          target -= without;
        }
        // What led from a last iteration to the next leads out of the loop now.
        out.edges.emplace_back(target, e.on_start());
      }
      if (i >= to && (op.kind == OpKind::send || op.kind == OpKind::recv)) {
        op.tag -= loops.step(op.comm) * fewer;
        if (op.kind == OpKind::recv && op.tag == any_tag) return std::nullopt;
      }
      out.ops.push_back(op);
    }
    out.op_first.push_back(out.ops.size());
    out.edge_first.push_back(out.edges.size());
  }
  return out;
}

}  // namespace isthmus::simulate

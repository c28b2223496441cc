#include "proof/symmetry.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/interruption.hpp"

namespace isthmus::proof {
namespace {

__extension__ using Wide = unsigned __int128;

bool is_message(OpKind kind) { return kind == OpKind::send || kind == OpKind::recv; }

/// One step of what a class does, in the frame of rank 0: an operation, or blocks equally far from each other.
struct Step {
  std::uint32_t op = 0;  // kind, cpu, nic and mode
  Rank peer = 0;
  std::uint32_t tag = 0;
  std::uint32_t comm = 0;
  std::uint32_t from_buffer = Slice::none;
  std::uint32_t to_buffer = Slice::none;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t bytes = 0;
  std::uint64_t block = 0;      // of a copy whose buffers do not turn
  std::uint64_t from_step = 0;  // from one block to the next; modulo the buffer where it turns, otherwise modulo 2^64
  std::uint64_t to_step = 0;
  std::uint64_t count = 1;
  bool operator==(const Step&) const = default;
};

/// Operations that are done alike, as said in find_rotation.
struct Class {
  std::uint32_t first;               // operation
  std::vector<std::uint64_t> needs;  // classes, times two, and whether only their start; sorted
  std::vector<Step> steps;
};

/// What one rank does, seen from its place.
class View {
 public:
  View(const Schedule& schedule, std::vector<std::uint64_t> turns)
      : schedule_(schedule), names_(schedule.buffers.names.size()), turns_(std::move(turns)) {}

  /// Do all operations but copies stand in the order of those of rank 0, and do the same? A question that is cheap to
  /// ask, and that most schedules without a rotation deny; copies may be cut in two, and dependencies are left out.
  [[nodiscard]] bool resembles_first(Rank rank) const;
  /// Can the operations of this rank be compared?
  bool load(Rank rank);
  [[nodiscard]] bool operator==(const View& other) const {
    if (used_ != other.used_) return false;
    for (std::size_t c = 0; c < used_; ++c) {
      if (classes_[c].needs != other.classes_[c].needs || classes_[c].steps != other.classes_[c].steps) return false;
    }
    return true;
  }

 private:
  void load_needs(Rank rank);
  [[nodiscard]] std::span<const Edge> needs(std::uint32_t op) const {
    return {needs_.data() + first_[op], needs_.data() + first_[op + 1]};
  }
  std::uint32_t class_of(Rank rank, std::uint32_t op);
  [[nodiscard]] bool alike(Rank rank, std::uint32_t a, std::uint32_t b) const;
  bool add(Class& to, Rank rank, std::uint32_t op);
  /// How far the bytes of a buffer turn for each rank; 0: not at all.
  [[nodiscard]] std::uint64_t turn(std::uint32_t buffer) const { return buffer == Slice::none ? 0 : turns_[buffer]; }
  [[nodiscard]] std::uint64_t place(Rank rank, std::uint32_t buffer, std::uint64_t offset) const {
    const std::uint64_t block = turn(buffer), all = block * schedule_.ranks;
    return block == 0 ? offset : (offset + all - rank * block) % all;
  }
  /// The sum of a place and a step.
  [[nodiscard]] std::uint64_t further(std::uint32_t buffer, std::uint64_t at, std::uint64_t step) const {
    const std::uint64_t block = turn(buffer);
    return block == 0 ? at + step : (at + step) % (block * schedule_.ranks);
  }
  [[nodiscard]] std::uint64_t step_of(std::uint32_t buffer, std::int64_t stride, std::uint64_t block) const {
    const std::uint64_t all = turn(buffer) * schedule_.ranks;
    if (all == 0) return static_cast<std::uint64_t>(stride) * block;  // modulo 2^64
    const std::uint64_t bytes = static_cast<std::uint64_t>(stride < 0 ? -stride : stride) * block % all;
    return stride < 0 && bytes != 0 ? all - bytes : bytes;
  }
  void add_run(std::vector<Step>& steps, Step run) const;

  const Schedule& schedule_;
  std::size_t names_;
  std::vector<std::uint64_t> turns_;  // of the schedule's buffers
  std::vector<std::uint64_t> first_;
  std::vector<Edge> needs_;
  std::vector<std::uint32_t> classes_of_;
  std::vector<Class> classes_;  // the first used_; the others keep their memory
  std::size_t used_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> copies_;  // classes, by a hash of their dependencies
};

void View::load_needs(Rank rank) {
  const std::uint32_t n = schedule_.ops_in(rank);
  first_.assign(std::size_t{n} + 1, 0);
  for (std::uint32_t i = 0; i < n; ++i) first_[i + std::size_t{1}] = first_[i] + schedule_.ops_of(rank)[i].needs;
  needs_.resize(first_[n]);
  std::vector<std::uint64_t> next(first_.begin(), first_.end() - 1);
  // Operations come in their order, so that what an operation waits for is sorted.
  for (std::uint32_t i = 0; i < n; ++i) {
    for (const Edge edge : schedule_.dependants(rank, i)) needs_[next[edge.to()]++] = Edge(i, edge.on_start());
  }
}

bool View::alike(Rank rank, std::uint32_t a, std::uint32_t b) const {
  const auto same = [](std::span<const Edge> x, std::span<const Edge> y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](Edge p, Edge q) { return p.to() == q.to() && p.on_start() == q.on_start(); });
  };
  return same(needs(a), needs(b)) && same(schedule_.dependants(rank, a), schedule_.dependants(rank, b));
}

std::uint32_t View::class_of(Rank rank, std::uint32_t op) {
  const auto fresh = [&] {
    if (used_ == classes_.size()) classes_.emplace_back();
    Class& c = classes_[used_];
    c.first = op;
    c.needs.clear();
    c.steps.clear();
    for (const Edge need : needs(op)) {
      c.needs.push_back(std::uint64_t{classes_of_[need.to()]} * 2 + (need.on_start() ? 1 : 0));
    }
    std::sort(c.needs.begin(), c.needs.end());
    c.needs.erase(std::unique(c.needs.begin(), c.needs.end()), c.needs.end());
    return static_cast<std::uint32_t>(used_++);
  };
  if (schedule_.ops_of(rank)[op].kind != OpKind::copy) return fresh();
  std::uint64_t hash = 0x9E3779B97F4A7C15;
  const auto mix = [&](Edge edge) {
    hash = (hash ^ (std::uint64_t{edge.to()} * 2 + (edge.on_start() ? 1 : 0))) * 0xBF58476D1CE4E5B9;
    hash ^= hash >> 29;
  };
  for (const Edge edge : needs(op)) mix(edge);
  for (const Edge edge : schedule_.dependants(rank, op)) mix(edge);
  std::vector<std::uint32_t>& known = copies_[hash];
  for (const std::uint32_t c : known) {
    if (alike(rank, classes_[c].first, op)) return c;
  }
  known.push_back(fresh());
  return known.back();
}

/// Block by block, so that it does not matter how copies were cut: a run takes in whatever goes on as it does.
void View::add_run(std::vector<Step>& steps, Step run) const {
  std::uint64_t left = run.count;
  const std::uint64_t from_step = run.from_step, to_step = run.to_step;
  run.count = 1;
  run.from_step = run.to_step = 0;
  const auto continues = [&](const Step& last) {
    return last.op == run.op && last.from_buffer == run.from_buffer && last.to_buffer == run.to_buffer &&
           last.bytes == run.bytes && last.block == run.block;
  };
  // Where the last block of the last step is.
  std::uint64_t from = 0, to = 0;
  if (!steps.empty() && continues(steps.back())) {
    const Step& last = steps.back();
    const auto end = [&](std::uint32_t buffer, std::uint64_t at, std::uint64_t step) {
      const std::uint64_t block = turn(buffer);
      if (block == 0) return at + step * (last.count - 1);
      const std::uint64_t all = block * schedule_.ranks;
      return static_cast<std::uint64_t>((at + static_cast<Wide>(step) * (last.count - 1)) % all);
    };
    from = end(run.from_buffer, last.from, last.from_step);
    to = end(run.to_buffer, last.to, last.to_step);
  }
  for (; left > 0; --left) {
    if (steps.empty() || !continues(steps.back())) {
      steps.push_back(run);
    } else {
      Step& last = steps.back();
      const auto way = [&](std::uint32_t buffer, std::uint64_t a, std::uint64_t b) {
        const std::uint64_t all = turn(buffer) * schedule_.ranks;
        return all == 0 || b >= a ? b - a : b + all - a;
      };
      const std::uint64_t by_from = way(run.from_buffer, from, run.from), by_to = way(run.to_buffer, to, run.to);
      if (last.count == 1) {
        last.from_step = by_from;
        last.to_step = by_to;
        last.count = 2;
      } else if (last.from_step == by_from && last.to_step == by_to) {
        ++last.count;
      } else {
        steps.push_back(run);
      }
      if (steps.back().count > 1 && steps.back().from_step == from_step && steps.back().to_step == to_step) {
        steps.back().count += left - 1;
        return;
      }
    }
    from = run.from;
    to = run.to;
    run.from = further(run.from_buffer, run.from, from_step);
    run.to = further(run.to_buffer, run.to, to_step);
  }
}

bool View::add(Class& to, Rank rank, std::uint32_t index) {
  const Operation& op = schedule_.ops_of(rank)[index];
  Step step;
  step.op =
      static_cast<std::uint32_t>(op.kind) << 24 | std::uint32_t{op.cpu} << 16 | std::uint32_t{op.nic} << 8 | op.mode;
  step.tag = op.tag;
  step.comm = op.comm;
  step.bytes = op.amount;
  if (is_message(op.kind)) {
    if (op.peer == any_rank || op.peer == rank || op.tag == any_tag) return false;
    step.peer = op.peer >= rank ? op.peer - rank : op.peer + (schedule_.ranks - rank);
  }
  if (schedule_.slices.empty()) {
    to.steps.push_back(step);
    return true;
  }
  const Slices& slices = schedule_.slices[schedule_.op_first[rank] + index];
  step.from_buffer = slices.from.buffer;
  step.to_buffer = slices.to.buffer;
  step.from = place(rank, slices.from.buffer, slices.from.offset);
  step.to = place(rank, slices.to.buffer, slices.to.offset);
  const std::uint64_t from_turn = turn(step.from_buffer), to_turn = turn(step.to_buffer);
  if (op.kind != OpKind::copy || (from_turn == 0 && to_turn == 0)) {
    step.block = slices.block;
    if (slices.block != 0) {
      if (op.kind != OpKind::copy) return false;
      step.from_step = static_cast<std::uint64_t>(std::int64_t{slices.from.stride});
      step.to_step = static_cast<std::uint64_t>(std::int64_t{slices.to.stride});
    }
    to.steps.push_back(step);
    return true;
  }
  // Blocks of the size that turns; where pieces are no such blocks they stand for themselves.
  const std::uint64_t unit = from_turn != 0 ? from_turn : to_turn;
  const std::uint64_t block = slices.block == 0 ? op.amount : slices.block;
  if (block == 0 || block % unit != 0 || op.amount % block != 0) {
    if (slices.block != 0) return false;
    to.steps.push_back(step);
    return true;
  }
  step.bytes = unit;
  const std::uint64_t blocks = op.amount / block;
  const std::uint64_t from_step = step_of(step.from_buffer, slices.from.stride, block);
  const std::uint64_t to_step = step_of(step.to_buffer, slices.to.stride, block);
  if (block == unit && slices.block != 0) {
    step.count = blocks;
    step.from_step = from_step;
    step.to_step = to_step;
    add_run(to.steps, step);
    return true;
  }
  step.count = block / unit;
  step.from_step = step_of(step.from_buffer, 1, unit);
  step.to_step = step_of(step.to_buffer, 1, unit);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    add_run(to.steps, step);
    step.from = further(step.from_buffer, step.from, from_step);
    step.to = further(step.to_buffer, step.to, to_step);
  }
  return true;
}

bool View::resembles_first(Rank rank) const {
  const auto a = schedule_.ops_of(0), b = schedule_.ops_of(rank);
  const auto relative = [&](const Operation& op, Rank own) {
    return op.peer >= own ? op.peer - own : op.peer + (schedule_.ranks - own);
  };
  const auto same_place = [&](const Slice& x, const Slice& y) {
    return x.buffer == y.buffer && place(0, x.buffer, x.offset) == place(rank, y.buffer, y.offset);
  };
  std::size_t i = 0, j = 0;
  while (true) {
    while (i < a.size() && a[i].kind == OpKind::copy) ++i;
    while (j < b.size() && b[j].kind == OpKind::copy) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    const Operation &x = a[i], &y = b[j];
    if (x.kind != y.kind || x.cpu != y.cpu || x.nic != y.nic || x.mode != y.mode || x.tag != y.tag ||
        x.comm != y.comm || x.amount != y.amount) {
      return false;
    }
    if (is_message(x.kind) && relative(x, 0) != relative(y, rank)) return false;
    if (!schedule_.slices.empty()) {
      const Slices &p = schedule_.slices[schedule_.op_first[0] + i],
                   &q = schedule_.slices[schedule_.op_first[rank] + j];
      if (!same_place(p.from, q.from) || !same_place(p.to, q.to)) return false;
    }
    ++i;
    ++j;
  }
}

bool View::load(Rank rank) {
  for (std::size_t b = 0; b < names_; ++b) {
    if (schedule_.buffers.bytes[rank * names_ + b] != schedule_.buffers.bytes[b]) return false;
  }
  load_needs(rank);
  const std::uint32_t n = schedule_.ops_in(rank);
  classes_of_.assign(n, 0);
  copies_.clear();
  used_ = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto before = needs(i);
    if (!before.empty() && before.back().to() >= i) return false;  // they are sorted
    const std::uint32_t c = class_of(rank, i);
    classes_of_[i] = c;
    if (!add(classes_[c], rank, i)) return false;
  }
  return true;
}

/// How far the schedule's buffers turn; nothing where one of them has another size.
std::optional<std::vector<std::uint64_t>> turns_of(const Schedule& s, const Contract& contract, const Rotation& by) {
  std::vector<std::uint64_t> out(s.buffers.names.size());
  for (std::size_t b = 0; b < out.size(); ++b) {
    const auto found = std::find(contract.buffers.begin(), contract.buffers.end(), s.buffers.names[b]);
    if (found == contract.buffers.end()) continue;
    out[b] = by.buffers[static_cast<std::size_t>(found - contract.buffers.begin())];
    if (out[b] == 0) continue;
    if (s.buffers.bytes[b] % out[b] != 0 || s.buffers.bytes[b] / out[b] != s.ranks) return std::nullopt;
  }
  return out;
}

bool turns(const Schedule& schedule, const std::vector<std::uint64_t>& buffers) {
  View first(schedule, buffers), other(schedule, buffers);
  // Few ranks tell of most schedules that there is no rotation: the next, the last, and some between them.
  constexpr Rank asked = 16;
  const Rank far = schedule.ranks - 1;
  for (Rank k = 0; k <= std::min(asked, far - 1); ++k) {
    const auto r = static_cast<Rank>(1 + std::uint64_t{far - 1} * k / std::min(asked, std::max<Rank>(far - 1, 1)));
    if (!first.resembles_first(r)) return false;
  }
  if (!first.load(0)) return false;
  for (Rank r = 1; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    if (!other.load(r) || !(first == other)) return false;
  }
  return true;
}

}  // namespace

std::optional<Rotation> find_rotation(const Schedule& schedule, const Contract& contract) {
  if (schedule.ranks < 2 || schedule.ranks != contract.ranks) return std::nullopt;
  for (const Operation& op : schedule.ops_of(0)) {
    if (op.kind == OpKind::put || op.kind == OpKind::get) return std::nullopt;
  }
  for (const Rotation& rotation : contract.rotations) {
    const auto buffers = turns_of(schedule, contract, rotation);
    if (buffers && turns(schedule, *buffers)) return rotation;
  }
  return std::nullopt;
}

std::optional<Symmetry> find_symmetry(const Schedule& s, const Rotation& rotation, const Pairs& pairs) {
  // Messages stand in the same order on all ranks, so that their places among them name them.
  std::vector<std::uint32_t> number(s.ops.size());
  std::vector<std::uint32_t> own, partners;
  for (Rank r = 0; r < s.ranks; ++r) {
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < s.ops_in(r); ++i) {
      if (!is_message(s.ops_of(r)[i].kind)) continue;
      if (r == 0) own.push_back(i);
      number[s.op_first[r] + i] = next++;
    }
  }
  for (Rank r = 0; r < s.ranks; ++r) {
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < s.ops_in(r); ++i) {
      if (!is_message(s.ops_of(r)[i].kind)) continue;
      const std::uint32_t meets = number[s.op_first[pairs.peer(r, i)] + pairs.partner(r, i)];
      if (r == 0) partners.push_back(meets);
      else if (partners[next] != meets) return std::nullopt;
      ++next;
    }
  }
  Symmetry out;
  out.rotation = rotation;
  out.partners.assign(s.ops_in(0), Pairs::none);
  for (std::size_t m = 0; m < own.size(); ++m) out.partners[own[m]] = own[partners[m]];
  Schedule& first = out.first;
  const auto ops = s.ops_of(0);
  first.ranks = 1;
  first.op_first = {0, ops.size()};
  first.edge_first = {0, s.edge_first[1]};
  first.ops.assign(ops.begin(), ops.end());
  first.edges.assign(s.edges.begin(), s.edges.begin() + static_cast<std::ptrdiff_t>(s.edge_first[1]));
  first.buffers.names = s.buffers.names;
  first.buffers.bytes.assign(s.buffers.bytes.begin(),
                             s.buffers.bytes.begin() + static_cast<std::ptrdiff_t>(s.buffers.names.size()));
  if (!s.slices.empty())
    first.slices.assign(s.slices.begin(), s.slices.begin() + static_cast<std::ptrdiff_t>(ops.size()));
  return out;
}

}  // namespace isthmus::proof

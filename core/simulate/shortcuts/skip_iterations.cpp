#include "simulate/shortcuts/skip_iterations.hpp"

#include <algorithm>
#include <utility>

#include "simulate/model/costs.hpp"
#include "simulate/shortcuts/find_loops.hpp"

namespace isthmus::simulate {
namespace {

constexpr std::uint32_t fewest = 16;  // iterations that are worth it

bool deterministic(const SimulationOptions& options) {
  if (options.noise.kind != NoiseSpec::Kind::none) return false;
  return options.model == Model::loggops || (options.route == RoutingPolicy::minimal && options.slices == 0);
}

/// From the result of fewer iterations to that of all.
class Expansion {
 public:
  Expansion(const Schedule& whole, const Schedule& brief, const Loops& loops, const Loops& brief_loops,
            Simulated&& result)
      : whole_(whole),
        brief_(brief),
        loops_(loops),
        brief_loops_(brief_loops),
        times_((loops.iterations - brief_loops.iterations) / result.repetition.period),
        more_(product(static_cast<Picoseconds>(times_), result.repetition.length)),
        in_(std::move(result)) {}

  /// False where operations of the iterations that would be repeated are not done before the loop is left.
  bool run() {
    if (!in_.start.empty() && !expand_ops()) return false;
    const Repetition& r = in_.repetition;
    for (auto* times : {&in_.finish, &in_.free})
      for (Picoseconds& f : *times)
        if (f > r.from) f += more_;
    const Picoseconds last = in_.finish.empty() ? 0 : *std::max_element(in_.finish.begin(), in_.finish.end());
    require_in_time(last);
    expand_breakdown(last);
    in_.makespan = last;
    in_.executed += times_ * r.executed;
    in_.events += times_ * r.events;
    in_.messages += times_ * r.messages;
    in_.bytes += times_ * r.bytes;
    in_.lost_in_all += times_ * r.lost;
    expand_traffic();
    in_.skipped = loops_.iterations - brief_loops_.iterations;
    return true;
  }
  Simulated take() { return std::move(in_); }

 private:
  void expand_breakdown(Picoseconds makespan) {
    constexpr auto idle = static_cast<std::size_t>(Share::idle);
    for (std::size_t at = 0; at < in_.breakdown.size(); at += shares) {
      // What is left at the end is counted once for each stream, however many iterations there are.
      Picoseconds streams = 0, sum = 0;
      for (std::size_t i = 0; i < shares; ++i) streams += in_.breakdown[at + i];
      streams = in_.makespan == 0 ? 0 : streams / in_.makespan;
      for (std::size_t i = 0; i < shares; ++i) {
        if (i == idle) continue;
        in_.breakdown[at + i] += static_cast<Picoseconds>(times_) * in_.repetition.breakdown[at + i];
        sum += in_.breakdown[at + i];
      }
      in_.breakdown[at + idle] = product(makespan, streams) - sum;
    }
  }

  /// The operation of the whole schedule that comes `later` iterations after one of the short schedule.
  [[nodiscard]] std::uint64_t whole_of(std::uint64_t op, std::uint32_t later) const {
    const auto rank = static_cast<Rank>(std::upper_bound(brief_.op_first.begin(), brief_.op_first.end(), op) -
                                        brief_.op_first.begin() - 1);
    const Loop& loop = loops_.of[rank];
    std::uint64_t at = op - brief_.op_first[rank];
    const std::uint64_t end = loop.first + std::uint64_t{loop.length} * brief_loops_.iterations;
    if (at >= end) later = loops_.iterations - brief_loops_.iterations;
    if (at >= loop.first) at += std::uint64_t{loop.length} * later;
    return whole_.op_first[rank] + at;
  }

  /// Calls part(begin, end, later) for parts of a list that grows while the simulation runs: what comes before the
  /// repetition and in it, the repetition again and again, and what comes after it.
  template <class Part>
  void unfold(std::uint64_t begin, std::uint64_t end, std::uint64_t all, Part&& part) const {
    const std::uint32_t period = in_.repetition.period;
    part(0, end, 0);
    for (std::uint32_t t = 1; t <= times_; ++t) part(begin, end, t * period);
    part(end, all, times_ * period);
  }

  void expand_traffic() {
    const Repetition& r = in_.repetition;
    if (r.link_bytes.empty()) return;
    const Traffic& few = in_.traffic;
    Traffic all(few.bytes().size(), 0);
    for (std::size_t link = 0; link < few.bytes().size(); ++link)
      all.add(static_cast<std::uint32_t>(link), few.bytes()[link] + static_cast<double>(times_) * r.link_bytes[link], 0,
              0);
    if (!few.messages().empty())
      unfold(r.route_begin, r.route_end, few.messages().size(),
             [&](std::uint64_t begin, std::uint64_t end, std::uint32_t later) {
               for (std::uint64_t i = begin; i < end; ++i)
                 all.log(whole_of(few.messages()[i], later),
                         std::span(few.links().data() + (i == 0 ? 0 : few.ends()[i - 1]),
                                   few.links().data() + few.ends()[i]));
             });
    in_.traffic = std::move(all);
  }

  bool expand_ops() {
    const Repetition& r = in_.repetition;
    // Operations of iterations before this one are done while what comes after the loop makes no difference yet.
    const std::uint32_t settled = r.untouched + r.period;
    if (settled > brief_loops_.iterations) return false;
    for (Rank rank = 0; rank < brief_.ranks; ++rank) {
      const Loop& loop = loops_.of[rank];
      const std::uint64_t first = brief_.op_first[rank] + loop.first;
      for (std::uint64_t op = first; op < first + std::uint64_t{loop.length} * settled; ++op)
        if (in_.end[op] < 0 || std::max(in_.end[op], in_.handled[op]) > r.alike_until) return false;
    }
    std::vector<LogEntry> log;
    log.reserve(in_.log.size() + times_ * (r.log_end - r.log_begin));
    unfold(r.log_begin, r.log_end, in_.log.size(), [&](std::uint64_t begin, std::uint64_t end, std::uint32_t later) {
      for (std::uint64_t i = begin; i < end; ++i) log.emplace_back(in_.log[i].kind(), whole_of(in_.log[i].op(), later));
    });
    in_.log = std::move(log);
    for (auto* times : {&in_.start, &in_.end, &in_.handled}) *times = expand_times(*times);
    for (auto* lengths : {&in_.busy, &in_.lost, &in_.parked}) *lengths = expand_lengths(*lengths);
    in_.partner = expand_partners();
    return true;
  }

  /// Calls visit(op, like, times, inside) for every operation of the whole, with the one of the short schedule that
  /// says all about it, how many repetitions earlier that is, and whether it is in the loop.
  template <class Visitor>
  void each(Visitor&& visit) const {
    const Repetition& r = in_.repetition;
    for (Rank rank = 0; rank < whole_.ranks; ++rank) {
      const Loop& loop = loops_.of[rank];
      const std::uint64_t from = brief_.op_first[rank], to = whole_.op_first[rank];
      std::uint64_t op = 0;
      for (; op < loop.first || (loop.length == 0 && op < whole_.ops_in(rank)); ++op)
        visit(to + op, from + op, 0U, false);
      if (loop.length == 0) continue;
      for (std::uint32_t i = 0; i < loops_.iterations; ++i) {
        const std::uint32_t times = i < r.untouched ? 0 : std::min((i - r.untouched) / r.period, times_);
        const std::uint64_t earlier = std::uint64_t{loop.length} * times * r.period;
        for (std::uint32_t b = 0; b < loop.length; ++b, ++op) visit(to + op, from + op - earlier, times, true);
      }
      const std::uint64_t fewer = std::uint64_t{loop.length} * times_ * r.period;
      for (; op < whole_.ops_in(rank); ++op) visit(to + op, from + op - fewer, times_, false);
    }
  }

  [[nodiscard]] std::vector<Picoseconds> expand_lengths(const std::vector<Picoseconds>& few) const {
    if (few.empty()) return {};
    std::vector<Picoseconds> all(whole_.ops.size());
    each([&](std::uint64_t op, std::uint64_t like, std::uint32_t, bool) { all[op] = few[like]; });
    return all;
  }
  [[nodiscard]] std::vector<Picoseconds> expand_times(const std::vector<Picoseconds>& few) const {
    const Repetition& r = in_.repetition;
    std::vector<Picoseconds> all(whole_.ops.size());
    each([&](std::uint64_t op, std::uint64_t like, std::uint32_t times, bool inside) {
      const Picoseconds time = few[like];
      // Outside of the loop nothing happens during the repetition.
      if (inside) all[op] = time < 0 ? time : time + static_cast<Picoseconds>(times) * r.length;
      else all[op] = time > r.from ? time + more_ : time;
    });
    return all;
  }
  [[nodiscard]] std::vector<std::int64_t> expand_partners() const {
    std::vector<std::int64_t> all(whole_.ops.size());
    each([&](std::uint64_t op, std::uint64_t like, std::uint32_t times, bool) {
      const std::int64_t partner = in_.partner[like];
      all[op] =
          partner < 0
              ? partner
              : static_cast<std::int64_t>(whole_of(static_cast<std::uint64_t>(partner), times * in_.repetition.period));
    });
    return all;
  }

  const Schedule& whole_;
  const Schedule& brief_;
  const Loops& loops_;
  const Loops& brief_loops_;
  std::uint32_t times_;
  Picoseconds more_;
  Simulated in_;
};

}  // namespace

std::optional<Simulated> simulate_repeating(const Schedule& schedule, const SimulationOptions& options,
                                            const Simulate& simulate) {
  if (!deterministic(options)) return std::nullopt;
  std::optional<Loops> loops = find_loops(schedule);
  if (!loops || loops->iterations < fewest) return std::nullopt;
  loops->probe = true;
  SimulationOptions brief = options;
  brief.loops = &*loops;
  Simulated all = simulate(schedule, brief);
  if (!all.left) return all;
  Loops few = *loops;
  few.probe = false;
  few.from = all.repetition.first;
  few.period = all.repetition.period;
  brief.loops = &few;
  for (std::uint32_t more = 0;; more = 2 * more + few.period) {
    few.iterations = iterations_needed(*loops, all.repetition) + more;
    if (few.iterations >= loops->iterations) return std::nullopt;
    few.iterations += (loops->iterations - few.iterations) % few.period;
    if (few.iterations >= loops->iterations) return std::nullopt;
    const std::optional<Schedule> shorter = shorten(schedule, *loops, few.iterations);
    if (!shorter) return std::nullopt;
    Simulated result = simulate(*shorter, brief);
    result.steps += all.steps;
    result.network_steps += all.network_steps;
    if (result.stopped) return result;
    if (!result.stuck.empty() || !result.orphans.empty()) return std::nullopt;
    if (result.left || result.repetition.period == 0) continue;
    Expansion expansion(schedule, *shorter, *loops, few, std::move(result));
    if (expansion.run()) return expansion.take();
  }
}

}  // namespace isthmus::simulate

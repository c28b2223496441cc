#include "simulate/engine/windows.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/pages.hpp"
#include "base/prefetch.hpp"
#include "simulate/engine/ancestors.hpp"
#include "simulate/engine/breakdown.hpp"
#include "simulate/engine/event_queue.hpp"
#include "simulate/engine/mail.hpp"
#include "simulate/engine/matching.hpp"
#include "simulate/engine/operation_table.hpp"
#include "simulate/engine/rank_state.hpp"
#include "simulate/engine/remaining.hpp"
#include "simulate/engine/slabs.hpp"
#include "simulate/engine/unmatched.hpp"
#include "simulate/model/costs.hpp"

namespace isthmus::simulate {
namespace {

constexpr Picoseconds nothing = std::numeric_limits<Picoseconds>::max();
constexpr Picoseconds unknown = Birth::unknown;

template <Detail detail, Remembered back>
class Windows {
 public:
  Windows(const Schedule& schedule, const SimulationOptions& options, Dependencies&& dependencies)
      : s_(schedule),
        options_(options),
        dependencies_(std::move(dependencies)),
        breakdown_(schedule.ranks),
        operations_(schedule),
        costs_(options.cost, options.places),
        unmatched_(schedule, dependencies_.shape().wildcards, slabs_),
        states_(schedule.ranks),
        next_(std::size_t{blocks()} * ranks_in_block, nothing),
        next_of_group_(std::size_t{blocks()} * groups_in_block, nothing),
        next_of_block_(blocks(), nothing),
        mail_(blocks()),
        length_(length_of(options)) {}

  static Picoseconds length_of(const SimulationOptions& options) {
    const LevelCost& level = options.cost[static_cast<int>(Level::network)];
    return level.o_send + level.L;
  }

  std::optional<Simulated> run() {
    start();
    std::uint64_t reported = 0;
    for (;;) {
      const Picoseconds begin = std::min(arrival_, *std::min_element(next_of_block_.begin(), next_of_block_.end()));
      if (begin == nothing) break;
      if (begin > latest) return std::nullopt;
      end_ = begin + length_;
      arrival_ = nothing;
      mail_.send();
      for (std::uint32_t b = 0; b < next_of_block_.size(); ++b) {
        if (!mail_.has(b) && next_of_block_[b] >= end_) continue;
        pass(b);
        if (lost_) return std::nullopt;
        if (out_.events - reported < report_every) continue;
        reported = out_.events;
        interruption_point();
        if (options_.progress && !options_.progress(out_.executed)) {
          out_.stopped = true;
          return std::move(out_);
        }
      }
    }
    finish();
    return std::move(out_);
  }

 private:
  static constexpr unsigned started = Dependencies::started;
  static constexpr unsigned done = Dependencies::done;
  static constexpr std::uint64_t report_every = 1 << 14;
  // Ranks of a block find their state in the second-level cache when they have got their messages.
  static constexpr std::uint32_t ranks_in_group = 32, groups_in_block = 32;
  static constexpr std::uint32_t ranks_in_block = ranks_in_group * groups_in_block;

  [[nodiscard]] std::uint32_t blocks() const {
    return static_cast<std::uint32_t>((std::uint64_t{s_.ranks} + ranks_in_block - 1) / ranks_in_block);
  }

  // -- the order of events --------------------------------------------------------------------------------------------

  /// Is `a` found out before `b`?
  bool before(const Birth& a, const Birth& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.rank == b.rank) return a.number < b.number;
    if constexpr (back == Remembered::all) {
      const int order = ancestors_.compare(a, b);
      if (order == 0) lost_ = true;
      return order < 0;
    }
    if (a.parent != b.parent && a.parent != unknown && b.parent != unknown) return a.parent < b.parent;
    // What is there in the beginning is in the order of ranks, and belongs to the rank that it happens to.
    if (a.parent != -1 || b.parent != -1) lost_ = true;
    return a.rank < b.rank;
  }
  static Birth birth_of(const Waiting& w, Rank rank) { return {w.found, w.parent, rank, w.number}; }

  // -- windows --------------------------------------------------------------------------------------------------------

  /// Ranks of a block get their messages and go through the window.
  void pass(std::uint32_t block) {
    const Rank first = block * ranks_in_block;
    const auto prefetch = [&](const Mail::Letter& letter) { prefetch_state(letter.to); };
    mail_.take_all(block, prefetch, [&](const Mail::Letter& letter) {
      RankState& state = states_[letter.to];
      state.messages.push(letter.message, slabs_);
      state.fresh = state.fresh + 1U;
      const Picoseconds when = std::max({letter.message.lands, state.cpu, state.in});
      Picoseconds& next = next_[letter.to];
      if (when >= next) return;
      next = when;
      Picoseconds& group = next_of_group_[letter.to / ranks_in_group];
      group = std::min(group, when);
      next_of_block_[block] = std::min(next_of_block_[block], when);
    });
    if (next_of_block_[block] >= end_) return;
    active_.clear();
    Picoseconds* groups = next_of_group_.data() + std::size_t{block} * groups_in_block;
    for (std::uint32_t g = 0; g < groups_in_block; ++g) {
      if (groups[g] >= end_) continue;
      const Rank from = first + g * ranks_in_group;
      for (Rank r = from; r < from + ranks_in_group; ++r)
        if (next_[r] < end_) active_.push_back(r);
    }
    const std::size_t count = active_.size();
    constexpr std::size_t ahead = 5;
    for (std::size_t i = 0; i < count + 4 * ahead; ++i) {
      if (i < count) {
        prefetch_state(active_[i]);
        breakdown_.prefetch(active_[i]);
      }
      if (i >= ahead && i - ahead < count) prefetch_queues(active_[i - ahead]);
      if (i >= 2 * ahead && i - 2 * ahead < count) prefetch_operations(active_[i - 2 * ahead]);
      if (i >= 3 * ahead && i - 3 * ahead < count) prefetch_dependants(active_[i - 3 * ahead]);
      if (i >= 4 * ahead) visit(active_[i - 4 * ahead]);
    }
    for (std::uint32_t g = 0; g < groups_in_block; ++g)
      if (groups[g] < end_) {
        const auto begin = next_.begin() + first + g * ranks_in_group;
        groups[g] = *std::min_element(begin, begin + ranks_in_group);
      }
    next_of_block_[block] = *std::min_element(groups, groups + groups_in_block);
  }

  // Memory that a visit will touch, in four steps, each some visits after the one before.
  void prefetch_state(Rank rank) const {
    prefetch_line(&states_[rank]);
    prefetch_line(reinterpret_cast<const char*>(&states_[rank]) + 64);
  }
  void prefetch_queues(Rank rank) const {
    const RankState& state = states_[rank];
    if (!state.work.empty()) prefetch_line(state.work.begin());
    if (!state.sends.empty()) prefetch_line(state.sends.begin());
    if (!state.messages.empty()) {
      prefetch_line(state.messages.begin());
      prefetch_line(state.messages.end() - 1);
    }
    if (!state.posted.empty()) {
      prefetch_line(state.posted.begin());
      prefetch_line(state.posted.end() - 1);
    }
    if (!state.unexpected.empty()) prefetch_line(state.unexpected.begin());
  }
  void prefetch_operations(Rank rank) const {
    const RankState& state = states_[rank];
    const std::uint64_t first = s_.op_first[rank];
    const auto fetch = [&](std::uint64_t op) {
      prefetch_line(s_.ops.data() + op);
      prefetch_line(s_.ops.data() + op + 2);  // the next one, which it will often set free
      dependencies_.prefetch(op);
      dependencies_.prefetch(op + 3);  // what it sets free, perhaps in the next line
    };
    if (!state.work.empty()) fetch(first + state.work.front().op);
    if (!state.sends.empty()) fetch(first + state.sends.front().op);
    if (!state.messages.empty() && !state.posted.empty()) fetch(first + state.posted.front().op);
  }

  /// Of an operation that may set many free.
  void prefetch_dependants(Rank rank) const {
    const RankState& state = states_[rank];
    if (state.work.empty()) return;
    const std::uint64_t op = s_.op_first[rank] + state.work.front().op;
    if (!dependencies_.has_many(op)) return;
    prefetch_line(s_.edges.data() + s_.edge_first[rank] + s_.ops[op].first_edge);
    for (std::uint64_t to = op + 4; to <= op + 12; to += 2) prefetch_line(s_.ops.data() + to);
    dependencies_.prefetch(op + 8);
  }

  /// Sorts messages that have come since the rank was visited, and lets them pass the interface.
  void land(RankState& state) {
    Message* const end = state.messages.end();
    Message* const begin = end - state.fresh;
    state.fresh = 0;
    const auto earlier = [&](const Message& a, const Message& b) { return before(a.birth, b.birth); };
    if (end - begin > 24) {
      std::sort(begin, end, earlier);
    } else {
      for (Message* m = begin + 1; m < end; ++m) {
        if (!earlier(*m, *(m - 1))) continue;
        const Message moved = *m;
        Message* to = m;
        do {
          *to = *(to - 1);
          --to;
        } while (to != begin && earlier(moved, *(to - 1)));
        *to = moved;
      }
    }
    for (Message* m = begin; m < end; ++m) {
      const MessageCost& cost = cost_of(operations_.of(m->what).amount);
      const Picoseconds starts = std::max(m->birth.time + cost.level->o_send + cost.wire, state.in);
      if (starts > latest) lost_ = true;  // Engine says so
      state.in = starts + cost.gap();
      m->lands = starts + cost.ahead_of_cpu();
    }
  }

  enum class Kind : std::uint8_t { none, work, send, message, matched };

  /// All that happens to a rank in the window.
  void visit(Rank rank) {
    RankState& state = states_[rank];
    if (state.fresh != 0) land(state);
    now_ = -1;
    for (;;) {
      const Picoseconds free = std::max(now_, state.cpu);
      const Picoseconds work = state.work.empty() ? nothing : free;
      const Picoseconds send = state.sends.empty() ? nothing : std::max(free, state.out);
      const Picoseconds message = state.messages.empty() ? nothing : std::max(free, state.messages.front().lands);
      const Picoseconds matched = state.matched.empty() ? nothing : state.matched.front().time;
      const Picoseconds time = std::min(std::min(work, send), std::min(message, matched));
      if (time >= end_) {
        next_[rank] = time;
        return;
      }
      Birth first;
      Kind which = Kind::none;
      const auto consider = [&](Kind kind, Picoseconds when, const auto& birth) {
        if (when != time) return;
        const Birth other = birth();
        if (which != Kind::none && before(first, other)) return;
        which = kind;
        first = other;
      };
      consider(Kind::work, work, [&] { return birth_of(state.work.front(), rank); });
      consider(Kind::send, send, [&] { return birth_of(state.sends.front(), rank); });
      consider(Kind::message, message, [&] { return state.messages.front().birth; });
      consider(Kind::matched, matched, [&] { return birth_of(state.matched.front().recv, rank); });
      if (time > now_ || before(leading_, first)) lead(first);
      now_ = time;
      ++out_.events;
      switch (which) {
        case Kind::work: compute(rank, state); break;
        case Kind::send: transfer(rank, state); break;
        case Kind::message: handle(rank, state); break;
        default: {
          const std::uint64_t recv = s_.op_first[rank] + state.matched.front().recv.op;
          state.matched.pop(slabs_);
          release(rank, state, recv, done);
        }
      }
    }
  }

  // -- what happens ---------------------------------------------------------------------------------------------------

  /// Ranks one after the other may send messages of different sizes, each of them again and again.
  const MessageCost& cost_of(std::uint64_t bytes) {
    Sized& known = sized_[bytes * 0x9e3779b97f4a7c15ULL >> (64 - sized_bits)];
    if (known.bytes != bytes) known = {bytes, costs_.uniform(bytes)};
    return known.cost;
  }

  void compute(Rank rank, RankState& state) {
    const std::uint64_t op = s_.op_first[rank] + state.work.front().op;
    state.work.pop(slabs_);
    const Picoseconds work = work_of(s_.ops[op], options_);
    breakdown_.idle_before_op(rank, state.cpu, now_, 0, Share::latency);
    breakdown_.add(rank, Share::compute, work);
    state.cpu = now_ + work;
    release(rank, state, op, started | done);
  }

  void transfer(Rank rank, RankState& state) {
    const std::uint64_t send = s_.op_first[rank] + state.sends.front().op;
    state.sends.pop(slabs_);
    const Operation& op = s_.ops[send];
    const MessageCost& cost = cost_of(op.amount);
    breakdown_.idle_before_op(rank, state.cpu, now_, state.out, Share::latency);
    breakdown_.add(rank, Share::send_overhead, cost.send_cpu());
    state.cpu = now_ + cost.send_cpu();
    state.out = now_ + cost.gap();
    const Picoseconds lands = now_ + cost.level->o_send + cost.wire + cost.ahead_of_cpu();
    arrival_ = std::min(arrival_, lands);
    mail_.write(op.peer / ranks_in_block, {next_birth(rank, state), lands, operations_.what(send)}, op.peer);
    ++out_.messages;
    out_.bytes += op.amount;
    release(rank, state, send, started | done);
  }

  /// The CPU handles a message.
  void handle(Rank rank, RankState& state) {
    const Message message = state.messages.front();
    state.messages.pop(slabs_);
    const Operation& send = operations_.of(message.what);
    const MessageCost& cost = cost_of(send.amount);
    const Picoseconds began = message.lands - cost.ahead_of_cpu();
    breakdown_.idle_before_message(rank, state.cpu, now_, began - cost.wire - cost.level->o_send, began);
    breakdown_.add(rank, Share::recv_overhead, cost.recv_cpu());
    state.cpu = now_ + cost.recv_cpu();
    const MatchKey key{message.birth.rank, send.tag, send.comm};
    Posted recv;
    if (!unmatched_.take_posted(rank, state, key, recv)) {
      const std::uint64_t op = (message.what & op_mask) - s_.op_first[key.source];
      return unmatched_.keep(rank, state, {key, static_cast<std::uint32_t>(op), state.cpu});
    }
    if (recv.time > now_ ||
        (recv.time == now_ && before(message.birth, {recv.found, recv.parent, rank, recv.number}))) {
      // It was posted ahead of its time, which comes only after this.
      meet_at(state, {recv.found, recv.parent, recv.op, recv.number}, recv.time);
      return;
    }
    release(rank, state, s_.op_first[rank] + recv.op, done);
  }

  /// A receive that has its message is done at this time, or in its turn now.
  void meet_at(RankState& state, const Waiting& recv, Picoseconds time) {
    state.matched.push({recv, time}, slabs_);
    const auto later = [](const Matched& a, const Matched& b) {
      return a.time != b.time ? a.time > b.time : a.recv.number > b.recv.number;
    };
    for (Matched* m = state.matched.end() - 1; m != state.matched.begin() && later(*(m - 1), *m); --m)
      std::swap(*(m - 1), *m);
  }

  Birth next_birth(Rank rank, RankState& state) {
    if constexpr (back == Remembered::parents) return {now_, leading_.time, rank, state.number++};
    if (leader_ == unknown) leader_ = ancestors_.add(leading_);
    return {now_, leader_, rank, state.number++};
  }
  void lead(const Birth& birth) {
    leading_ = birth;
    leader_ = unknown;
  }

  struct Ready {
    OpKind kind;
    std::uint64_t op;
  };
  static bool comes_before(const Ready& a, const Ready& b) { return a.kind != b.kind ? a.kind < b.kind : a.op < b.op; }

  /// Lets everything come that the operation frees by having started, by being done, or by both at once.
  void release(Rank rank, RankState& state, std::uint64_t op, unsigned phases) {
    if ((phases & done) != 0) ++out_.executed;
    std::uint64_t freed[2];
    int found = 0;
    if (dependencies_.release_few(op, phases, freed, found)) {
      if (found == 0) return;
      Ready first{dependencies_.kind(freed[0]), freed[0]};
      if (found == 2) {
        Ready second{dependencies_.kind(freed[1]), freed[1]};
        if (comes_before(second, first)) std::swap(first, second);
        schedule(rank, state, first);
        schedule(rank, state, second);
      } else {
        schedule(rank, state, first);
      }
      return;
    }
    ready_.clear();
    dependencies_.release(rank, op, phases, [&](std::uint64_t to) { ready_.push_back({dependencies_.kind(to), to}); });
    go(rank, state);
  }
  /// Sends before receives before the rest, then in posting order.
  void go(Rank rank, RankState& state) {
    if (ready_.size() > 1) std::sort(ready_.begin(), ready_.end(), comes_before);
    for (const Ready& r : ready_) schedule(rank, state, r);
  }

  void schedule(Rank rank, RankState& state, const Ready& ready) {
    const Birth birth = next_birth(rank, state);
    const Waiting waiting{birth.time, birth.parent, static_cast<std::uint32_t>(ready.op - s_.op_first[rank]),
                          birth.number};
    if (ready.kind == OpKind::send) return state.sends.push(waiting, slabs_);
    if (ready.kind != OpKind::recv) return state.work.push(waiting, slabs_);
    // A receive is posted ahead, as in Engine.
    const Operation& op = s_.ops[ready.op];
    const Picoseconds posted = std::max({now_, state.cpu, Picoseconds{0}});
    const MatchKey key{op.peer, op.tag, op.comm};
    if (!unmatched_.take_unexpected(rank, state, key))
      return unmatched_.post(rank, state, {key, waiting.op, waiting.number, posted, now_, waiting.parent});
    meet_at(state, waiting, posted);
  }

  // -- begin and end --------------------------------------------------------------------------------------------------

  void start() {
    now_ = -1;
    leading_ = {-1, -1, 0, 0};
    leader_ = Ancestors::none;
    for (Rank r = 0; r < s_.ranks; ++r) {
      if ((r & 0xFFF) == 0) interruption_point();
      RankState& state = states_[r];
      if (options_.free.empty()) {
        state.cpu = options_.start;
      } else {
        state.cpu = options_.free[std::size_t{r} * 3];
        state.out = options_.free[std::size_t{r} * 3 + 1];
        state.in = options_.free[std::size_t{r} * 3 + 2];
      }
      ready_.clear();
      for (std::uint64_t op = s_.op_first[r]; op < s_.op_first[r + 1]; ++op)
        if (!dependencies_.waits(op)) ready_.push_back({dependencies_.kind(op), op});
      const auto sends =
          std::count_if(ready_.begin(), ready_.end(), [](const Ready& ready) { return ready.kind == OpKind::send; });
      state.sends.reserve(static_cast<std::uint32_t>(sends), slabs_);
      go(r, state);
      Picoseconds first = nothing;
      if (!state.work.empty()) first = state.cpu;
      if (!state.sends.empty()) first = std::min(first, std::max(state.cpu, state.out));
      next_[r] = first;
    }
    for (std::size_t g = 0; g < next_of_group_.size(); ++g) {
      const auto begin = next_.begin() + static_cast<std::ptrdiff_t>(g * ranks_in_group);
      next_of_group_[g] = *std::min_element(begin, begin + ranks_in_group);
    }
    for (std::size_t b = 0; b < next_of_block_.size(); ++b) {
      const auto begin = next_of_group_.begin() + static_cast<std::ptrdiff_t>(b * groups_in_block);
      next_of_block_[b] = *std::min_element(begin, begin + groups_in_block);
    }
  }

  void finish() {
    out_.finish.resize(s_.ranks);
    out_.free.resize(std::size_t{s_.ranks} * 3);
    for (Rank r = 0; r < s_.ranks; ++r) {
      const RankState& state = states_[r];
      require_in_time(state.cpu);
      out_.finish[r] = state.cpu;
      out_.makespan = std::max(out_.makespan, state.cpu);
      out_.free[std::size_t{r} * 3] = state.cpu;
      out_.free[std::size_t{r} * 3 + 1] = state.out;
      out_.free[std::size_t{r} * 3 + 2] = state.in;
    }
    if constexpr (detail != Detail::finish) {
      for (Rank r = 0; r < s_.ranks; ++r) breakdown_.idle_rest(r, out_.makespan);
      out_.breakdown = breakdown_.take();
    }
    out_.simulated_ranks = s_.ranks;
    out_.steps = out_.events;
    collect_remaining();
  }

  void collect_remaining() {
    Remaining remaining(s_, out_);
    unmatched_.remaining(
        states_, [&](Rank rank, std::uint64_t recv) { remaining.stuck(rank, recv, true); },
        [&](Rank rank, Rank source, std::uint64_t send, Picoseconds handled) {
          remaining.orphan(rank, source, send, handled);
        });
    remaining.finish(dependencies_);
  }

  struct Sized {
    std::uint64_t bytes = ~std::uint64_t{0};
    MessageCost cost;
  };
  static constexpr int sized_bits = 6;

  static constexpr std::uint64_t op_mask = (std::uint64_t{1} << Event::op_bits) - 1;

  const Schedule& s_;
  const SimulationOptions& options_;
  Dependencies dependencies_;
  Breakdown<detail != Detail::finish> breakdown_;
  OperationTable operations_;
  Costs costs_;
  Sized sized_[1 << sized_bits];
  Slabs slabs_;
  Unmatched unmatched_;
  LargeVector<RankState> states_;
  // When something happens next, at the earliest.
  LargeVector<Picoseconds> next_;           // to every rank
  std::vector<Picoseconds> next_of_group_;  // to one of a group
  std::vector<Picoseconds> next_of_block_;  // to one of a block, but for its mail
  Mail mail_;
  Picoseconds length_;             // of a window
  Picoseconds end_ = 0;            // of this one
  Picoseconds arrival_ = nothing;  // of the first message that has been written in it
  Picoseconds now_ = 0;
  Birth leading_{};  // the last to be found out of those that have happened to the rank at this time
  Ancestors ancestors_;
  Picoseconds leader_ = unknown;  // its number among the ancestors, where it has one
  bool lost_ = false;             // an order could not be told
  std::vector<Rank> active_;
  std::vector<Ready> ready_;
  Simulated out_;
};

}  // namespace

std::optional<Simulated> simulate_in_windows(const Schedule& schedule, const SimulationOptions& options,
                                             Dependencies&& dependencies, Remembered back) {
  const auto run = [&]<Detail detail>() {
    if (back == Remembered::all)
      return Windows<detail, Remembered::all>(schedule, options, std::move(dependencies)).run();
    return Windows<detail, Remembered::parents>(schedule, options, std::move(dependencies)).run();
  };
  return options.detail == Detail::finish ? run.template operator()<Detail::finish>()
                                          : run.template operator()<Detail::ranks>();
}

}  // namespace isthmus::simulate

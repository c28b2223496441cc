#include "simulate/loggops.hpp"

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "simulate/costs.hpp"
#include "simulate/dependencies.hpp"
#include "simulate/event_queue.hpp"
#include "simulate/matching.hpp"
#include "simulate/noise.hpp"
#include "simulate/resources.hpp"

namespace isthmus {
namespace {

/// One simulation. `detail`: how much it writes down. Operations are indices into Schedule::ops.
template <Detail detail>
class Engine {
 public:
  Engine(const Schedule& schedule, const SimulationOptions& options)
      : s_(schedule),
        options_(options),
        dependencies_(schedule),
        costs_(options.cost, options.places),
        resources_(schedule.ranks, dependencies_.shape().cpus, dependencies_.shape().nics, options.places),
        matching_(schedule, dependencies_.shape().wildcards),
        noise_(options.noise, options.seed, std::size_t{schedule.ranks} * dependencies_.shape().cpus),
        noisy_(options.noise.kind != NoiseSpec::Kind::none),
        one_stream_(dependencies_.shape().cpus == 1),
        // With one stream receives are posted in the order in which they become ready, whatever their times.
        post_ahead_(one_stream_ && !dependencies_.shape().receives_free_on_start) {
    if constexpr (detail != Detail::finish) out_.breakdown.resize(std::size_t{s_.ranks} * shares);
    if constexpr (detail == Detail::ops) {
      out_.start.assign(s_.ops.size(), -1);
      out_.end.assign(s_.ops.size(), -1);
      out_.partner.assign(s_.ops.size(), -1);
      out_.busy.assign(s_.ops.size(), 0);
      out_.handled.assign(s_.ops.size(), -1);
    }
  }

  Simulated run() {
    start_all();
    Event event;
    std::uint64_t until_report = report_every;
    while (queue_.pop(event)) {
      prefetch();
      now_ = event.time;
      if (event.type() == EventType::wake) {
        Event waiting;
        const std::uint32_t resource = event.rank;
        if (resources_.woken(event, waiting, queue_)) {
          examine(waiting);
          resources_.wake_next(resource, now_, queue_);
        }
      } else {
        examine(event);
      }
      ++out_.events;
      if (--until_report == 0) {
        until_report = report_every;
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
  static constexpr std::uint64_t report_every = 1 << 18;
  static constexpr bool ranks_detail = detail != Detail::finish;
  static constexpr unsigned started = Dependencies::started;
  static constexpr unsigned done = Dependencies::done;

  // -- time of a rank -------------------------------------------------------------------------------------------------

  void add(Rank rank, Share share, Picoseconds time) {
    if constexpr (ranks_detail) out_.breakdown[std::size_t{rank} * shares + static_cast<std::size_t>(share)] += time;
  }
  void log(LogEntry::Kind kind, std::uint64_t op, Picoseconds lost = 0) {
    if constexpr (detail == Detail::ops) {
      out_.log.emplace_back(kind, op);
      if (noisy_) out_.log_noise.push_back(lost);
    }
  }
  /// Occupies a CPU stream from now on; returns what the operating system took.
  Picoseconds occupy(Rank rank, std::uint8_t stream, Picoseconds work, Share share) {
    Resource& r = resources_[resources_.cpu(rank, stream)];
    Picoseconds lost = 0;
    if (noisy_) {
      lost = noise_.lost(std::size_t{rank} * resources_.cpus() + stream, now_, work);
      add(rank, Share::noise, lost);
    }
    r.free = now_ + work + lost;
    add(rank, share, work);
    return lost;
  }
  /// The stream was idle from `from` until now before an operation of its own.
  void idle_before_op(Rank rank, Picoseconds from, Picoseconds interface_free) {
    if constexpr (ranks_detail) {
      if (from >= now_) return;
      const Picoseconds until = std::clamp(interface_free, from, now_);
      add(rank, Share::gap, until - from);
      // With one stream, only the end of a put or get makes an operation ready while the stream is idle.
      add(rank, one_stream_ ? Share::latency : Share::idle, now_ - until);
    }
  }
  /// The stream was idle from `from` until now, when it handles a message that was sent and arrived at these times.
  void idle_before_message(Rank rank, Picoseconds from, Picoseconds sent, Picoseconds arrived) {
    if constexpr (ranks_detail) {
      if (from >= now_) return;
      const Picoseconds sender = std::clamp(sent, from, now_);
      const Picoseconds wire = std::clamp(arrived, sender, now_);
      add(rank, Share::late_sender, sender - from);
      add(rank, Share::latency, wire - sender);
      add(rank, Share::gap, now_ - wire);
    }
  }
  void begin(std::uint64_t op, Picoseconds end) {
    if constexpr (detail == Detail::ops) {
      out_.start[op] = now_;
      out_.end[op] = end;
      out_.busy[op] = end - now_;
    }
  }

  // -- dependencies ---------------------------------------------------------------------------------------------------

  struct Ready {
    Rank rank;
    OpKind kind;
    std::uint64_t op;
  };

  /// Collects the dependants that the operation frees by having started, by being done, or by both at once.
  void release(Rank rank, std::uint64_t op, unsigned phases) {
    if (phases & done) {
      ++out_.executed;
      if constexpr (detail == Detail::ops) out_.end[op] = std::max(out_.end[op], now_);
    }
    dependencies_.release(rank, op, phases,
                          [&](std::uint64_t to) { ready_.push_back({rank, dependencies_.kind(to), to}); });
  }
  /// Lets everything that was collected come: by rank, then sends before receives before the rest, then in posting order.
  void go() {
    if (ready_.empty()) return;
    if (ready_.size() == 2) {
      if (comes_before(ready_[1], ready_[0])) std::swap(ready_[0], ready_[1]);
    } else if (ready_.size() > 2) {
      std::sort(ready_.begin(), ready_.end(), comes_before);
    }
    std::uint32_t occupied = no_resource;
    for (const Ready& r : ready_) schedule(r, occupied);
    ready_.clear();
  }
  static bool comes_before(const Ready& a, const Ready& b) {
    // Operations are numbered by rank.
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.kind != b.kind ? a.kind < b.kind : a.op < b.op;
  }

  std::uint64_t next_order(EventType type) { return Event::make_order(sequence_++, type); }

  static constexpr std::uint32_t no_resource = 0xFFFFFFFF;

  /// `occupied`: the CPU stream for which the operation before this one will come; this one then waits behind it.
  void schedule(const Ready& ready, std::uint32_t& occupied) {
    const Operation& op = s_.ops[ready.op];
    const std::uint32_t stream = resources_.cpu(ready.rank, op.cpu);
    Picoseconds time = std::max(now_, resources_[stream].free);
    if (ready.kind == OpKind::recv) {
      const std::uint64_t order = next_order(post_ahead_ ? EventType::matched : EventType::operation);
      if (post_ahead_)
        post(ready.rank, ready.op, time, order);
      else
        queue_.push({time, order, ready.rank, ready.rank, ready.op});
      return;
    }
    if (ready.kind == OpKind::send || ready.kind == OpKind::put) {
      const bool network = !resources_.shared() || costs_.level_of(ready.rank, op.peer) == Level::network;
      time = std::max(time, resources_[resources_.nic(ready.rank, op.nic, network)].free);
    }
    const Event event{time, next_order(EventType::operation), ready.rank, ready.rank, ready.op};
    if (occupied == stream && resources_[stream].free <= time) {
      resources_.wait(stream, event, queue_, time);
    } else {
      queue_.push(event);
      occupied = stream;
    }
  }

  void start_all() {
    for (Rank r = 0; r < s_.ranks; ++r) {
      for (std::uint64_t op = s_.op_first[r]; op < s_.op_first[r + 1]; ++op)
        if (!dependencies_.waits(op)) ready_.push_back({r, dependencies_.kind(op), op});
      go();
    }
  }

  // -- events ---------------------------------------------------------------------------------------------------------

  void examine(const Event& event) {
    switch (event.type()) {
      case EventType::operation:
        operation(event);
        break;
      case EventType::message:
        message(event);
        break;
      case EventType::matched:
        meet_ahead(event);
        break;
      case EventType::put_arrives:
      case EventType::get_asks:
      case EventType::get_arrives:
        pass_interface(event);
        break;
      case EventType::put_done:
      case EventType::get_done:
        log(LogEntry::Kind::done, event.op);
        note_completion(event.rank);
        release(event.rank, event.op, done);
        go();
        break;
      case EventType::wake:
        break;
    }
  }

  void operation(const Event& event) {
    switch (dependencies_.kind(event.op)) {
      case OpKind::recv:
        post(event.rank, event.op, event.time, event.order);
        break;
      case OpKind::send:
      case OpKind::put:
      case OpKind::get:
        transfer(event);
        break;
      default:
        compute(event);
    }
  }

  void compute(const Event& event) {
    const Operation& op = s_.ops[event.op];
    const std::uint32_t stream = resources_.cpu(event.rank, op.cpu);
    if (resources_[stream].free > now_) return resources_.wait(stream, event, queue_);
    const Picoseconds work = work_of(op, options_);
    idle_before_op(event.rank, resources_[stream].free, 0);
    const Picoseconds lost = occupy(event.rank, op.cpu, work, Share::compute);
    begin(event.op, now_ + work + lost);
    log(LogEntry::Kind::start, event.op, lost);
    release(event.rank, event.op, started | done);
    go();
  }

  /// A send, put or get leaves.
  void transfer(const Event& event) {
    const Rank rank = event.rank;
    const Operation& op = s_.ops[event.op];
    const std::uint32_t stream = resources_.cpu(rank, op.cpu);
    const bool get = op.kind == OpKind::get;
    const MessageCost& cost = costs_.of(rank, op.peer, op.amount);
    const std::uint32_t interface = resources_.nic(rank, op.nic, costs_.is_network(cost));
    const Picoseconds cpu_free = resources_[stream].free;
    const Picoseconds interface_free = get ? 0 : resources_[interface].free;
    if (std::max(cpu_free, interface_free) > now_)
      return resources_.wait(cpu_free >= interface_free ? stream : interface, event, queue_);
    idle_before_op(rank, cpu_free, interface_free);
    const Picoseconds work = get ? cost.level->o_send : cost.send_cpu();
    const Picoseconds lost = occupy(rank, op.cpu, work, Share::send_overhead);
    begin(event.op, now_ + work + lost);
    log(LogEntry::Kind::start, event.op, lost);
    if (!get) resources_[interface].free = now_ + cost.gap();
    const EventType type = op.kind == OpKind::send  ? EventType::message
                           : op.kind == OpKind::put ? EventType::put_arrives
                                                    : EventType::get_asks;
    // What the operating system takes delays the message too.
    queue_.push({now_ + cost.level->o_send + lost + cost.wire, next_order(type), op.peer, rank, event.op});
    bool eager = false;
    if (op.kind == OpKind::send) {
      ++out_.messages;
      out_.bytes += op.amount;
      eager = op.amount <= cost.level->S;
    }
    release(rank, event.op, eager ? started | done : started);
    go();
  }

  /// One-sided bytes pass an interface without the CPU: of a put at the target; of a get first at the target, where they
  /// leave, then at the initiator.
  void pass_interface(const Event& event) {
    const Operation& op = s_.ops[event.op];
    const MessageCost& cost = costs_.of(event.source, op.peer, op.amount);
    const bool leaves = event.type() == EventType::get_asks;
    const std::uint32_t interface =
        resources_.nic(event.rank, op.nic, costs_.is_network(cost)) + (leaves ? 0 : 1);
    if (resources_[interface].free > now_) return resources_.wait(interface, event, queue_);
    resources_[interface].free = now_ + cost.gap();
    log(leaves ? LogEntry::Kind::leave : LogEntry::Kind::land, event.op);
    if (leaves) {
      queue_.push({now_ + cost.wire, next_order(EventType::get_arrives), event.source, event.source, event.op});
      return;
    }
    const bool put = event.type() == EventType::put_arrives;
    ++out_.messages;
    out_.bytes += op.amount;
    queue_.push({now_ + cost.bytes_G + (put ? cost.wire : 0),
                 next_order(put ? EventType::put_done : EventType::get_done), event.source, event.source, event.op});
  }

  // -- messages and receives ------------------------------------------------------------------------------------------

  /// Posts a receive at `time` (which may be ahead of now; then `order` is its place among the events of that time).
  void post(Rank rank, std::uint64_t recv, Picoseconds time, std::uint64_t order) {
    const Operation& op = s_.ops[recv];
    if constexpr (detail == Detail::ops) out_.start[recv] = time;
    log(LogEntry::Kind::post, recv);
    const MatchKey key{op.peer, op.tag, op.comm};
    const std::uint32_t found = matching_.take_waiting(rank, key);
    if (found == Matching::none) {
      matching_.post(rank, key, recv, time, order >> Event::type_bits);
      if (!post_ahead_) {
        release(rank, recv, started);
        go();
      }
      return;
    }
    const Match m = matching_[found];
    matching_.release(found);
    const Meeting meeting{recv, m.op, rank, m.source, m.time, static_cast<Picoseconds>(m.order)};
    if (post_ahead_) {
      queue_.push({time, order, rank, rank, meet_later(meeting)});
    } else {
      meet(meeting, started | done);
      go();
    }
  }

  /// A receive and its message, which came to the receiver at `arrived` and whose handling ends at `handled`.
  struct Meeting {
    std::uint64_t recv;
    std::uint64_t send;
    Rank rank;
    Rank source;
    Picoseconds arrived;
    Picoseconds handled;
  };

  /// Keeps a meeting until the turn of a receive that was posted ahead; returns its number.
  std::uint32_t meet_later(const Meeting& meeting) {
    if (unused_.empty()) {
      later_.push_back(meeting);
      return static_cast<std::uint32_t>(later_.size() - 1);
    }
    const std::uint32_t index = unused_.back();
    unused_.pop_back();
    later_[index] = meeting;
    return index;
  }
  void meet_ahead(const Event& event) {
    const Meeting meeting = later_[event.op];
    unused_.push_back(static_cast<std::uint32_t>(event.op));
    meet(meeting, done);
    go();
  }

  /// A message has arrived: its handling.
  void message(const Event& event) {
    const Rank source = event.source, rank = event.rank;
    const Operation& send = s_.ops[event.op];
    const MessageCost& cost = costs_.of(source, rank, send.amount);
    const std::uint32_t stream = resources_.cpu(rank, send.cpu);
    const std::uint32_t interface = resources_.nic(rank, send.nic, costs_.is_network(cost)) + 1;
    const Picoseconds cpu_free = resources_[stream].free;
    const Picoseconds interface_free = resources_[interface].free;
    if (std::max(cpu_free, interface_free) > now_)
      return resources_.wait(cpu_free >= interface_free ? stream : interface, event, queue_);
    idle_before_message(rank, cpu_free, event.time - cost.wire - cost.level->o_send, event.time);
    const Picoseconds lost = occupy(rank, send.cpu, cost.recv_cpu(), Share::recv_overhead);
    resources_[interface].free = now_ + cost.gap();
    log(LogEntry::Kind::handle, event.op, lost);
    if constexpr (detail == Detail::ops) out_.handled[event.op] = now_;
    const Picoseconds handled = resources_[stream].free;
    const MatchKey key{source, send.tag, send.comm};
    const std::uint32_t found = matching_.take_posted(rank, key);
    if (found == Matching::none) {
      matching_.wait(rank, key, source, event.op, event.time, handled);
      return;
    }
    const Match& m = matching_[found];
    const Meeting meeting{m.op, event.op, rank, source, event.time, handled};
    const Picoseconds posted = m.time;
    const std::uint64_t sequence = m.order;
    matching_.release(found);
    if (posted > now_ || (posted == now_ && sequence > event.sequence())) {
      // The receive was posted ahead of its time, which comes only after this event.
      queue_.push_again(
          {posted, Event::make_order(sequence, EventType::matched), rank, rank, meet_later(meeting)});
      return;
    }
    meet(meeting, done);
    go();
  }

  /// The receive has its message: it is done, and so is a send by rendezvous.
  void meet(const Meeting& m, unsigned phases) {
    log(LogEntry::Kind::meet, m.recv);
    log(LogEntry::Kind::sender, m.send);
    if constexpr (detail == Detail::ops) {
      out_.partner[m.recv] = static_cast<std::int64_t>(m.send);
      out_.partner[m.send] = static_cast<std::int64_t>(m.recv);
      out_.end[m.recv] = m.handled;
      out_.busy[m.recv] = m.handled - out_.handled[m.send];
    }
    release(m.rank, m.recv, phases);
    const Operation& op = s_.ops[m.send];
    const MessageCost& cost = costs_.of(m.source, m.rank, op.amount);
    if (op.amount <= cost.level->S) return;
    Resource& stream = resources_[resources_.cpu(m.source, op.cpu)];
    if (stream.free < now_) {
      const Picoseconds wire = std::clamp(m.arrived, stream.free, now_);
      add(m.source, Share::latency, wire - stream.free);
      add(m.source, Share::late_receiver, now_ - wire);
      stream.free = now_;
    }
    Resource& interface = resources_[resources_.nic(m.source, op.nic, costs_.is_network(cost))];
    interface.free = std::max(interface.free, now_);
    release(m.source, m.send, done);
  }

  // -- the end --------------------------------------------------------------------------------------------------------

  /// A put or get that nobody waits for still belongs to its rank's time.
  void note_completion(Rank rank) {
    if (completions_.empty()) completions_.resize(s_.ranks);
    completions_[rank] = now_;
  }

  void finish() {
    out_.finish.resize(s_.ranks);
    for (Rank r = 0; r < s_.ranks; ++r) {
      Picoseconds last = completions_.empty() ? 0 : completions_[r];
      for (std::uint32_t c = 0; c < resources_.cpus(); ++c)
        last = std::max(last, resources_[resources_.cpu(r, static_cast<std::uint8_t>(c))].free);
      out_.finish[r] = last;
      out_.makespan = std::max(out_.makespan, last);
    }
    if constexpr (ranks_detail) share_out_idle();
    out_.simulated_ranks = s_.ranks;
    if (out_.executed != s_.ops.size()) collect_stuck();
  }

  void share_out_idle() {
    for (Rank r = 0; r < s_.ranks; ++r) {
      std::uint32_t streams = 1;
      if (!one_stream_)
        for (const Operation& op : s_.ops_of(r)) streams = std::max<std::uint32_t>(streams, op.cpu + 1U);
      Picoseconds rest = out_.makespan * streams;
      for (int i = 0; i < shares; ++i) rest -= out_.breakdown[std::size_t{r} * shares + static_cast<std::size_t>(i)];
      add(r, Share::idle, rest);
    }
  }

  /// What waits, in the order of ranks and operations.
  void collect_stuck() {
    const auto stuck = [&](Rank rank, std::uint64_t op, bool has_started) {
      out_.stuck.push_back({rank, static_cast<std::uint32_t>(op - s_.op_first[rank]), has_started});
    };
    matching_.remaining([&](Rank rank, const Match& m) { stuck(rank, m.op, true); },
                        [&](Rank rank, const Match& m) {
                          out_.orphans.push_back(
                              {rank, m.source, static_cast<std::uint32_t>(m.op - s_.op_first[m.source])});
                          const std::uint64_t bytes = s_.ops[m.op].amount;
                          if (bytes > costs_.of(m.source, rank, bytes).level->S) stuck(m.source, m.op, true);
                        });
    for (Rank r = 0; r < s_.ranks; ++r)
      for (std::uint64_t op = s_.op_first[r]; op < s_.op_first[r + 1]; ++op)
        if (dependencies_.waits(op)) stuck(r, op, false);
    std::sort(out_.stuck.begin(), out_.stuck.end(),
              [](const Stuck& a, const Stuck& b) { return a.rank != b.rank ? a.rank < b.rank : a.op < b.op; });
    std::sort(out_.orphans.begin(), out_.orphans.end(), [](const Orphan& a, const Orphan& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.source != b.source ? a.source < b.source : a.op < b.op;
    });
  }

  /// Memory that events to come will touch: fetched while those before them are dealt with.
  void prefetch() {
    if (const Event* e = queue_.peek(9); e != nullptr && e->type() <= EventType::message) {
      __builtin_prefetch(&s_.ops[e->op]);
      dependencies_.prefetch(e->op);
      resources_.prefetch(e->rank);
      if (e->type() == EventType::message) matching_.prefetch_queue(e->rank);
    }
    if (const Event* e = queue_.peek(6); e != nullptr && e->type() == EventType::message)
      matching_.prefetch_match(e->rank, {e->source, s_.ops[e->op].tag, s_.ops[e->op].comm});
    if (const Event* e = queue_.peek(3); e != nullptr && e->type() == EventType::message) {
      const std::uint64_t recv = matching_.probable_op(e->rank);
      dependencies_.prefetch(recv);
      __builtin_prefetch(&s_.ops[recv] + 2);
    }
  }

  const Schedule& s_;
  const SimulationOptions& options_;
  Dependencies dependencies_;
  Costs costs_;
  Resources resources_;
  Matching matching_;
  Noise noise_;
  bool noisy_;
  bool one_stream_;
  bool post_ahead_;
  EventQueue queue_;
  std::vector<Ready> ready_;
  std::vector<Meeting> later_;
  std::vector<std::uint32_t> unused_;  // numbers in later_
  std::vector<Picoseconds> completions_;  // of the last put or get of each rank
  std::uint64_t sequence_ = 0;
  Picoseconds now_ = 0;
  Simulated out_;
};

template <Detail detail>
Simulated simulate_as(const Schedule& schedule, const SimulationOptions& options) {
  // On the heap: the queue's buckets are large for a thread's stack.
  return std::make_unique<Engine<detail>>(schedule, options)->run();
}

}  // namespace

Simulated simulate_loggops(const Schedule& schedule, const SimulationOptions& options) {
  for (const LevelCost& cost : options.cost)
    require(cost.L >= 0 && cost.o_send >= 0 && cost.o_recv >= 0 && cost.g >= 0 && cost.G >= 0 && cost.O >= 0 &&
                cost.per_hop >= 0,
            "LogGOPS parameters are numbers from 0");
  require(options.copy_rate >= 0 && options.reduce_rate >= 0, "rates are numbers from 0");
  switch (options.detail) {
    case Detail::finish:
      return simulate_as<Detail::finish>(schedule, options);
    case Detail::ranks:
      return simulate_as<Detail::ranks>(schedule, options);
    default:
      return simulate_as<Detail::ops>(schedule, options);
  }
}

}  // namespace isthmus

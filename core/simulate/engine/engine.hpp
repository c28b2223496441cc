// The event loop of the LogGOPS simulator.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "schedule/schedule.hpp"
#include "simulate/engine/breakdown.hpp"
#include "simulate/engine/dependencies.hpp"
#include "simulate/engine/event_queue.hpp"
#include "simulate/engine/in_flight.hpp"
#include "simulate/engine/matching.hpp"
#include "simulate/engine/noise.hpp"
#include "simulate/engine/operation_table.hpp"
#include "simulate/engine/resources.hpp"
#include "simulate/engine/ties.hpp"
#include "simulate/engine/variants.hpp"
#include "simulate/model/costs.hpp"
#include "simulate/model/state.hpp"
#include "simulate/shortcuts/find_loops.hpp"

namespace isthmus::simulate {
using namespace schedule;

/// One simulation. `detail`: how much it writes down. Operations are indices into Schedule::ops.
template <Detail detail, Variant variant>
class Engine {
  static constexpr bool plain = variant == Variant::plain, contended = variant == Variant::network;

 public:
  Engine(const Schedule& schedule, const SimulationOptions& options, Dependencies&& dependencies)
      : s_(schedule),
        options_(options),
        dependencies_(std::move(dependencies)),
        breakdown_(schedule.ranks),
        operations_(schedule),
        costs_(options.cost, options.places),
        resources_(schedule.ranks, dependencies_.shape().cpus, dependencies_.shape().nics, options.places),
        matching_(schedule, dependencies_.shape().wildcards),
        noise_(options.noise, options.seed, std::size_t{schedule.ranks} * dependencies_.shape().cpus),
        noisy_(options.noise.kind != NoiseSpec::Kind::none),
        whole_(options.receive == Receive::loggopsim),
        pairing_(!whole_ && may_wait()),
        in_order_(plain && !whole_ && !dependencies_.shape().one_sided &&
                  options.cost[static_cast<int>(Level::network)].pieces.empty()),
        one_stream_(plain || dependencies_.shape().cpus == 1),
        // With one stream receives are posted in the order in which they become ready, whatever their times.
        post_ahead_(one_stream_ && !dependencies_.shape().receives_free_on_start) {
    if constexpr (detail == Detail::ops) {
      out_.start.assign(s_.ops.size(), -1);
      out_.end.assign(s_.ops.size(), -1);
      out_.partner.assign(s_.ops.size(), -1);
      out_.busy.assign(s_.ops.size(), 0);
      out_.handled.assign(s_.ops.size(), -1);
    }
    require(options.free.empty() || options.free.size() == resources_.size(), "the state to go on from has ",
            options.free.size(), " resources, the simulation ", resources_.size());
    for (std::uint32_t i = 0; i < options.free.size(); ++i) resources_[i].free = options.free[i];
    if (options.free.empty() && options.start > 0)
      for (std::uint32_t i = 0; i < resources_.size(); ++i)
        if (resources_.is_cpu(i)) resources_[i].free = options.start;
    if (pairing_) pair_of_.resize(s_.ops.size());
    if constexpr (contended) in_flight_.start(options, s_.ops.size());
    if (options.loops != nullptr) mark_ = std::max(options.loops->from, 1U) * options.loops->ops;
  }

  Simulated run() {
    if (watch_ties()) ties_.watch(std::size_t{2} * s_.ranks);  // CPUs, then interfaces
    start_all();
    Event event;
    std::uint64_t until_report = report_every;
    while (queue_.pop(event)) {
      if (out_.executed >= mark_ && event.time > now_ && !look_for_repetition(event)) {
        out_.left = true;
        note_steps();
        return std::move(out_);
      }
      prefetch();
      now_ = event.time;
      if (static_cast<std::uint64_t>(now_) > static_cast<std::uint64_t>(options_.until) && is_late(event)) break;
      if (watch_ties()) {
        ties_.now(now_, sequence_);
        if (ties_.found()) {
          out_.tie = true;
          return std::move(out_);
        }
      }
      if (event.type() == EventType::wake) {
        Event waiting;
        const std::uint32_t resource = event.rank;
        if (resources_.woken(event, waiting, queue_)) {
          if (const Event* next = resources_.first_waiting(resource); watch_ties() && next != nullptr)
            ties_.choose(waiting, *next);
          deal_with(waiting);
          resources_.wake_next(resource, now_, queue_);
        } else if (watch_ties()) {
          // Another event has just taken the resource from the one whose turn it would have been.
          if (const Event* first = resources_.first_waiting(resource);
              first != nullptr && first->sequence() == event.sequence())
            look(*first);
        }
      } else {
        deal_with(event);
      }
      if ((++out_.steps & (contended ? 0x3F : 0xFFF)) == 0) interruption_point();
      if (--until_report == 0) {
        until_report = report_every;
        if (options_.progress && !options_.progress(out_.executed)) {
          out_.stopped = true;
          return std::move(out_);
        }
      }
    }
    out_.tie = ties_.found();  // by the last event
    note_steps();
    if constexpr (contended) out_.traffic = in_flight_.take_traffic();
    finish();
    return std::move(out_);
  }

 private:
  static constexpr std::uint64_t report_every = 1 << 18;
  static constexpr unsigned started = Dependencies::started;
  static constexpr unsigned done = Dependencies::done;

  [[nodiscard]] bool watch_ties() const { return !plain && options_.stop_at_ties; }
  [[nodiscard]] bool noisy() const { return !plain && noisy_; }
  [[nodiscard]] std::uint32_t cpu_of(Rank rank, std::uint8_t stream) const {
    return plain ? rank * 3 : resources_.cpu(rank, stream);
  }
  /// The sending side of an interface; the receiving side is the one after it.
  [[nodiscard]] std::uint32_t interface_of(Rank rank, std::uint8_t nic, const MessageCost& cost) const {
    return plain ? rank * 3 + 1 : resources_.nic(rank, nic, cost.network);
  }
  const MessageCost& cost_of(Rank from, Rank to, std::uint64_t bytes) {
    return plain ? costs_.uniform(bytes) : costs_.of(from, to, bytes);
  }

  // -- time of a rank -------------------------------------------------------------------------------------------------

  void log(LogEntry::Kind kind, std::uint64_t op, Picoseconds lost = 0) {
    if constexpr (detail == Detail::ops) {
      if (options_.log_most != 0) {
        if (!is_in_part(kind)) return;
        out_.log_time.push_back(now_);
      }
      out_.log.emplace_back(kind, op);
      if (noisy()) out_.log_noise.push_back(lost);
    }
  }
  /// Does an entry belong to the part of the log that is kept? Both entries of a meeting stay together.
  [[nodiscard]] bool is_in_part(LogEntry::Kind kind) const {
    if (kind == LogEntry::Kind::sender) return !out_.log.empty() && out_.log.back().kind() == LogEntry::Kind::meet;
    return out_.executed >= options_.log_from && out_.log.size() < options_.log_most;
  }
  /// Occupies a CPU stream from now on; returns what the operating system took.
  Picoseconds occupy(Rank rank, std::uint8_t stream, Picoseconds work, Share share) {
    Resource& r = resources_[cpu_of(rank, stream)];
    Picoseconds lost = 0;
    if (noisy()) {
      lost = noise_.lost(std::size_t{rank} * resources_.cpus() + stream, now_, work);
      breakdown_.add(rank, Share::noise, lost);
    }
    r.free = now_ + work + lost;
    breakdown_.add(rank, share, work);
    return lost;
  }
  /// The event has taken both resources, or stands aside: who waited behind it leads now.
  void follow(std::uint32_t stream, std::uint32_t interface, const Event& event) {
    Event next;
    if (resources_.follow(stream, interface, event, next, queue_, now_) && watch_ties()) ties_.choose(event, next);
  }
  /// The cause of waiting of an operation that becomes ready on an idle stream: with one stream, only a put or get.
  [[nodiscard]] Share rest_of_idle() const { return one_stream_ ? Share::latency : Share::idle; }
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
    bool by_end;  // with Receive::loggopsim, freed by the end of another one: those that its start frees come before
    std::uint64_t op;
  };

  void count(std::uint64_t op, unsigned phases) {
    if ((phases & done) == 0) return;
    ++out_.executed;
    if constexpr (detail == Detail::ops) out_.end[op] = std::max(out_.end[op], now_);
  }
  /// Dependants wait until the work of the operation is through. On the same stream they do so anyway.
  void wait_for_work(Rank rank, std::uint64_t op, unsigned phases, Picoseconds end) {
    if (one_stream_ || (phases & done) == 0 || end <= now_) return;
    if (not_before_.empty()) not_before_.resize(s_.ops.size());
    const std::uint64_t first = s_.op_first[rank];
    for (const Edge e : s_.dependants(rank, static_cast<std::uint32_t>(op - first)))
      if (!e.on_start()) not_before_[first + e.to()] = std::max(not_before_[first + e.to()], end);
  }
  /// Lets everything come that the operation frees by having started, by being done, or by both at once.
  void release_and_go(Rank rank, std::uint64_t op, unsigned phases) {
    std::uint64_t ready[2];
    int found = 0;
    if ((whole_ && dependencies_.frees_by_both(op)) || !dependencies_.release_few(op, phases, ready, found)) {
      release(rank, op, phases);
      go();
      return;
    }
    count(op, phases);
    if (found == 0) return;
    std::uint32_t occupied = no_resource;
    Ready first{rank, dependencies_.kind(ready[0]), false, ready[0]};
    if (found == 2) {
      Ready second{rank, dependencies_.kind(ready[1]), false, ready[1]};
      if (comes_before(second, first)) std::swap(first, second);
      schedule(first, occupied);
      schedule(second, occupied);
    } else {
      schedule(first, occupied);
    }
  }
  /// Collects the dependants that the operation frees.
  void release(Rank rank, std::uint64_t op, unsigned phases) {
    count(op, phases);
    if (whole_) {
      dependencies_.release_by_phase(rank, op, phases, [&](std::uint64_t to, Dependencies::Phase phase) {
        ready_.push_back({rank, dependencies_.kind(to), phase == done, to});
      });
      return;
    }
    dependencies_.release(rank, op, phases,
                          [&](std::uint64_t to) { ready_.push_back({rank, dependencies_.kind(to), false, to}); });
  }
  /// Lets everything that was collected come: by rank, then sends before receives before the rest, then in posting
  /// order.
  void go() {
    if (ready_.size() > 1) std::sort(ready_.begin(), ready_.end(), comes_before);
    std::uint32_t occupied = no_resource;
    for (const Ready& r : ready_) schedule(r, occupied);
    ready_.clear();
  }
  static bool comes_before(const Ready& a, const Ready& b) {
    return std::tie(a.rank, a.kind, a.by_end, a.op) < std::tie(b.rank, b.kind, b.by_end, b.op);
  }

  std::uint64_t next_order(EventType type) { return Event::make_order(sequence_++, type); }

  static constexpr std::uint32_t no_resource = 0xFFFFFFFF;
  static constexpr Rank no_rank = InFlight::no_rank;

  /// `occupied`: the CPU stream for which the operation before this one will come; this one then waits behind it.
  void schedule(const Ready& ready, std::uint32_t& occupied) {
    const Operation& op = s_.ops[ready.op];
    const std::uint32_t stream = cpu_of(ready.rank, op.cpu);
    Picoseconds time = std::max(now_, resources_[stream].free);
    if (!plain && !not_before_.empty()) time = std::max(time, not_before_[ready.op]);
    if (ready.kind == OpKind::recv) {
      const bool ahead = post_ahead_ || paired(ready.rank);
      const std::uint64_t order = next_order(ahead ? EventType::matched : EventType::operation);
      if (contended && in_flight_.stops(ready.op, time, {time, order, ready.rank, op.peer, ready.op})) return;
      if (ahead) post(ready.rank, ready.op, time, order);
      else queue_.push({time, order, ready.rank, op.peer, ready.op});
      return;
    }
    std::uint32_t interface = no_resource;
    if (ready.kind == OpKind::send || ready.kind == OpKind::put) {
      const bool network = plain || !resources_.shared() || costs_.level_of(ready.rank, op.peer) == Level::network;
      interface = plain ? stream + 1 : resources_.nic(ready.rank, op.nic, network);
      time = std::max(time, resources_[interface].free);
    }
    Event event{time, next_order(EventType::operation), ready.rank, op.peer, operations_.what(ready.op)};
    if constexpr (contended) {
      if (in_flight_.stops(ready.op, time, event)) return;
      event.time = time;
    }
    // Operations that wait for the interface must not keep others from the stream.
    if (occupied == stream && time <= std::max(now_, resources_[stream].free)) {
      if (interface == no_resource) resources_.wait(stream, event, queue_, time);
      else resources_.wait(stream, interface, event, queue_, time);
    } else {
      queue_.push(event);
      occupied = stream;
    }
  }

  void start_all() {
    for (Rank r = 0; r < s_.ranks; ++r) {
      for (std::uint64_t op = s_.op_first[r]; op < s_.op_first[r + 1]; ++op)
        if (!dependencies_.waits(op)) ready_.push_back({r, dependencies_.kind(op), false, op});
      go();
    }
  }

  /// Does the order of this event and others of the same time matter? The head of a message meets others at its
  /// receiver's interface only.
  void look(const Event& event) {
    const bool head = event.type() == EventType::message && !whole_;
    ties_.look(event, head ? event.rank + s_.ranks : event.rank);
  }

  void note_steps() {
    if constexpr (contended) out_.network_steps = in_flight_.steps();
  }

  // -- events ---------------------------------------------------------------------------------------------------------

  /// An event comes: it happens, or it has to wait for a resource and comes again.
  void deal_with(const Event& event) {
    waits_ = false;
    examine(event);
    if (!waits_) ++out_.events;
  }
  template <class... Resource>
  void wait(const Event& event, Resource... resource) {
    waits_ = true;
    resources_.wait(resource..., event, queue_);
  }

  void examine(const Event& event) {
    if (watch_ties()) {
      look(event);
      turn_ = event.sequence();
    }
    switch (event.type()) {
      case EventType::operation: operation(event); break;
      case EventType::message: message(event); break;
      case EventType::landed: landed(event); break;
      case EventType::matched: meet_ahead(event); break;
      case EventType::put_arrives:
      case EventType::get_asks:
      case EventType::get_arrives: pass_interface(event); break;
      case EventType::put_done:
      case EventType::get_done:
        log(LogEntry::Kind::done, event.op());
        note_completion(event.rank, now_);
        release_and_go(event.rank, event.op(), done);
        break;
      case EventType::network:
        if constexpr (contended) go_on();
        break;
      case EventType::wake: break;
    }
  }

  // -- the network (network.hpp) --------------------------------------------------------------------------------------

  void enter(std::uint64_t op, Rank from, Rank to, std::uint8_t nic, std::uint64_t bytes, const MessageCost& cost,
             Picoseconds leaves);
  void arm();
  void note_loss(std::uint64_t op, Picoseconds lost);
  void go_on();
  void arrived(Rank rank, Picoseconds tail, std::uint64_t recv);
  void pass_interface(const Event& event);

  // -- iterations that repeat (checkpoint.hpp) ------------------------------------------------------------------------

  static constexpr std::uint64_t no_mark = ~std::uint64_t{0};

  bool look_for_repetition(const Event& next);
  bool probe(const Event& next, std::uint64_t iteration);
  bool measure(const Event& next, std::uint64_t iteration);
  Digest sketch_of_state(std::uint64_t iteration);
  std::uint32_t low_of(Rank rank);
  void take_before();
  void take_difference();
  Reached reach_of_ranks(std::uint64_t iteration, StateWriter& state);
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> name_of_op(std::uint64_t op, std::uint64_t iteration) const;
  void write_op(std::uint64_t op, std::uint64_t iteration, StateWriter& state) const;
  void write_events(std::vector<Event>& events, std::uint64_t iteration, StateWriter& state) const;
  void write_state(const Event& next, std::uint64_t iteration, StateWriter& state) const;
  void write_resources(std::uint64_t iteration, StateWriter& state) const;
  void write_matching(std::uint64_t iteration, StateWriter& state) const;

  // -- what events do -------------------------------------------------------------------------------------------------

  void operation(const Event& event) {
    switch (operations_.of(event).kind) {
      case OpKind::recv:
        if (!paired(event.rank)) return post(event.rank, event.op(), event.time, event.order);
        log(LogEntry::Kind::post, event.op());
        return release_and_go(event.rank, event.op(), started);
      case OpKind::send:
      case OpKind::put:
      case OpKind::get: transfer(event); break;
      default: compute(event);
    }
  }

  void compute(const Event& event) {
    const Operation& op = operations_.of(event);
    const std::uint32_t stream = cpu_of(event.rank, op.cpu);
    if (resources_[stream].free > now_) return wait(event, stream);
    const Picoseconds work = work_of(op, options_);
    breakdown_.idle_before_op(event.rank, resources_[stream].free, now_, 0, rest_of_idle());
    const Picoseconds lost = occupy(event.rank, op.cpu, work, Share::compute);
    begin(event.op(), now_ + work + lost);
    log(LogEntry::Kind::start, event.op(), lost);
    wait_for_work(event.rank, event.op(), done, now_ + work + lost);
    release_and_go(event.rank, event.op(), started | done);
  }

  /// A send, put or get leaves.
  void transfer(const Event& event) {
    const Rank rank = event.rank;
    const Operation& op = operations_.of(event);
    const std::uint32_t stream = cpu_of(rank, op.cpu);
    const bool get = op.kind == OpKind::get;
    const MessageCost& cost = cost_of(rank, event.other, op.amount);
    const std::uint32_t interface = interface_of(rank, op.nic, cost);
    const Picoseconds cpu_free = resources_[stream].free;
    const Picoseconds interface_free = get ? 0 : resources_[interface].free;
    if (std::max(cpu_free, interface_free) > now_) {
      if (get) wait(event, stream);
      else wait(event, stream, interface);
      return;
    }
    const bool eager = op.kind == OpKind::send && is_eager(op, cost);
    if (pairing_ && op.kind == OpKind::send && !event.called() && stands_aside(event, op, eager)) {
      if (event.leading()) follow(stream, interface, event);
      return release_and_go(rank, event.op(), started);
    }
    breakdown_.idle_before_op(rank, cpu_free, now_, interface_free,
                              event.called() ? Share::late_receiver : rest_of_idle());
    const Picoseconds work = get ? cost.level->o_send : cost.send_cpu();
    const Picoseconds lost = occupy(rank, op.cpu, work, Share::send_overhead);
    if (event.called()) note_parking(event.op());
    begin(event.op(), now_ + work + lost);
    log(LogEntry::Kind::start, event.op(), lost);
    if (!get) {
      resources_[interface].free = now_ + cost.gap();
      follow(stream, interface, event);
    }
    const EventType type = op.kind == OpKind::send  ? (in_order_ ? EventType::landed : EventType::message)
                           : op.kind == OpKind::put ? EventType::put_arrives
                                                    : EventType::get_asks;
    // Noise delays the message too.
    Picoseconds arrives = now_ + cost.level->o_send + lost + cost.wire;
    if constexpr (plain)
      if (type == EventType::landed)
        arrives = take_interface(interface_of(event.other, op.nic, cost) + 1, arrives, event.op(), cost);
    queue_.push({arrives, next_order(type), event.other, rank, event.subject()});
    if constexpr (contended)
      if (!get) enter(event.op(), rank, event.other, op.nic, op.amount, cost, now_ + cost.level->o_send + lost);
    if (op.kind == OpKind::send) {
      ++out_.messages;
      out_.bytes += op.amount;
    }
    wait_for_work(rank, event.op(), done, now_ + work + lost);
    release_and_go(rank, event.op(), eager ? started | done : event.called() ? 0 : started);
  }

  // -- messages and receives ------------------------------------------------------------------------------------------

  /// Posts a receive at `time` (which may be ahead of now; then `order` is its place among the events of that time).
  void post(Rank rank, std::uint64_t recv, Picoseconds time, std::uint64_t order) {
    const Operation& op = s_.ops[recv];
    if constexpr (detail == Detail::ops) out_.start[recv] = time;
    const bool ahead = post_ahead_ || paired(rank);
    if (ahead && !post_ahead_) {
      // Operations that its start frees come in their turn.
      queue_.push_again(
          {time, Event::make_order(order >> Event::type_bits, EventType::operation), rank, op.peer, recv});
    } else {
      log(LogEntry::Kind::post, recv);
    }
    const MatchKey key{op.peer, op.tag, op.comm};
    const std::uint32_t found = matching_.take_waiting(rank, key);
    if (found == Matching::none || matching_[found].state != Match::State::handled) {
      if (found != Matching::none) {
        call(found, recv, time, order);
      } else {
        matching_.post(rank, key, recv, time, order >> Event::type_bits);
        if (watch_ties() && pairing_) ties_.place(recv, turn_);
      }
      if (!ahead) {
        release_and_go(rank, recv, started);
      }
      return;
    }
    const Match m = matching_[found];
    matching_.release(found);
    const Meeting meeting{recv, m.op, rank, m.source, m.time, static_cast<Picoseconds>(m.order), m.rendezvous};
    if (ahead) {
      queue_.push({time, order, rank, rank, meet_later(meeting)});
    } else {
      meet(meeting, started | done);
    }
  }

  // -- sends and the receives that they wait for (rendezvous.hpp) -----------------------------------------------------

  /// Are messages to this rank given their receives when they are sent?
  [[nodiscard]] bool paired(Rank rank) const { return pairing_ && !matching_.has_wildcards(rank); }
  /// Is there a send that may have to wait until its receive is posted?
  [[nodiscard]] bool may_wait() const;
  /// A send is issued and gets its receive, now or when that is posted: true if it must not begin before that.
  bool stands_aside(const Event& event, const Operation& send, bool eager);
  /// The receive of a send that has been issued is posted, at `time`.
  void call(std::uint32_t found, std::uint64_t recv, Picoseconds time, std::uint64_t order);
  /// A send that has stood aside begins.
  void note_parking(std::uint64_t send);
  /// A send that has stood aside may begin.
  void come_back(std::uint64_t send, Rank source, Rank to, Picoseconds time);

  // -- messages that arrive (messages.hpp) ----------------------------------------------------------------------------

  /// Keeps a meeting until the turn of a receive that was posted ahead; returns its number.
  std::uint32_t meet_later(const Meeting& meeting);
  void meet_ahead(const Event& event);
  /// A message begins to pass its receiver's interface when that is free, but not before `arrives`; returns when the
  /// CPU can handle it.
  Picoseconds take_interface(std::uint32_t interface, Picoseconds arrives, std::uint64_t op, const MessageCost& cost);
  /// The head of a message has arrived: it passes the interface, and then comes the turn of the CPU.
  void message(const Event& event);
  /// The CPU handles a message.
  void landed(const Event& event);
  /// A message keeps interface and CPU from the arrival of its head.
  void message_whole(const Event& event, const Operation& send, const MessageCost& cost, std::uint32_t interface);
  /// The CPU has begun to handle a message: it meets its receive.
  void handled(const Event& event, const Operation& send, const MessageCost& cost, std::uint32_t stream,
               Picoseconds lost);
  /// The receive has its message: it is done, and so is a send by rendezvous.
  void meet(const Meeting& m, unsigned phases);
  /// Operations that a receive frees wait until the last byte has arrived.
  void meet_on_way(const Meeting& m, unsigned phases, std::uint32_t flight);
  void meet_now(const Meeting& m, unsigned phases);

  // -- the end (finish.hpp) -------------------------------------------------------------------------------------------

  bool is_late(const Event& event);
  void note_completion(Rank rank, Picoseconds when);
  void finish();
  void share_out_idle();
  void collect_remaining();

  // -- memory that events to come will touch (fetch_ahead.hpp) --------------------------------------------------------

  [[nodiscard]] const Event* coming(std::size_t ahead) const;
  [[nodiscard]] bool meets(const Event& event) const {
    return event.type() == (whole_ ? EventType::message : EventType::landed);
  }
  void prefetch();
  void prefetch_pairs();
  [[nodiscard]] MatchKey key_of(const Event& message) const {
    const Operation& op = operations_.of(message);
    return {message.other, op.tag, op.comm};
  }

  const Schedule& s_;
  const SimulationOptions& options_;
  Dependencies dependencies_;
  Breakdown<detail != Detail::finish> breakdown_;
  OperationTable operations_;
  Costs costs_;
  Resources resources_;
  Matching matching_;
  Noise noise_;
  bool noisy_;
  bool whole_;     // does a message keep its receiver's CPU all the time?
  bool pairing_;   // are sends paired with receives when they are issued?
  bool in_order_;  // do messages come to an interface in the order in which they are sent? Pieces may have a smaller L
  bool one_stream_;
  bool post_ahead_;
  EventQueue queue_;
  InFlight in_flight_;  // of messages through the network
  Picoseconds alarm_ = never;
  Ties ties_;
  std::vector<Ready> ready_;
  std::vector<Meeting> later_;
  std::vector<std::uint32_t> unused_;     // numbers in later_
  std::vector<std::uint32_t> pair_of_;    // of every operation: of sends that are issued and not handled; or empty
  bool waits_ = false;                    // does the event have to wait?
  std::uint64_t turn_ = 0;                // with ties, the sequence number of what happens
  std::vector<Picoseconds> not_before_;   // with several streams, of every operation: the end of what it waits for
  std::vector<Picoseconds> completions_;  // of the last put or get of each rank
  std::uint64_t sequence_ = 0;
  std::uint64_t mark_ = no_mark;  // operations done at which the state is looked at
  Watch watch_;
  Picoseconds now_ = 0;
  Simulated out_;
};

}  // namespace isthmus::simulate

#include "simulate/engine/checkpoint.hpp"
#include "simulate/engine/fetch_ahead.hpp"
#include "simulate/engine/finish.hpp"
#include "simulate/engine/messages.hpp"
#include "simulate/engine/network.hpp"
#include "simulate/engine/rendezvous.hpp"

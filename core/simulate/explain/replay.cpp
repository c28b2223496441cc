#include "simulate/explain/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.hpp"
#include "base/interruption.hpp"
#include "base/sparse_array.hpp"
#include "simulate/engine/dependencies.hpp"
#include "simulate/engine/resources.hpp"
#include "simulate/model/costs.hpp"

namespace isthmus::simulate {
namespace {

constexpr std::uint32_t nobody = 0xFFFFFFFF;

/// A moment a + b x, x being the change of the parameter, and what it follows from.
struct Moment {
  Picoseconds a = 0;
  double b = 0;
  std::uint32_t cause = nobody;  // the event
  Via via = Via::nothing;
};

/// A duration a + b x.
struct Span {
  Picoseconds a = 0;
  double b = 0;
  Span operator+(const Span& o) const { return {a + o.a, b + o.b}; }
  Span operator-(const Span& o) const { return {a - o.a, b - o.b}; }
};

struct Change {
  Parameter parameter = Parameter::L;
  double x = 0;
  bool rising = true;  // which of two moments at the same time decides: the one that grows faster, or more slowly
};

class Replay {
 public:
  Replay(const Schedule& schedule, const SimulationOptions& options, std::span<const LogEntry> log,
         std::span<const Picoseconds> noise, std::span<const Picoseconds> lost = {},
         std::span<const Picoseconds> times = {})
      : s_(schedule),
        options_(options),
        log_(log),
        noise_(noise),
        lost_(lost),
        times_(times),
        rank_(schedule.ops.size()) {
    for (Rank r = 0; r < s_.ranks; ++r)
      std::fill(rank_.begin() + static_cast<std::ptrdiff_t>(s_.op_first[r]),
                rank_.begin() + static_cast<std::ptrdiff_t>(s_.op_first[r + 1]), r);
    find_receives();
  }

  /// The makespan with the change; with `keep`, also what every event follows from.
  Moment run(const Change& change, bool keep) {
    change_ = change;
    keep_ = keep;
    Dependencies dependencies(s_);
    Costs costs(options_.cost, options_.places);
    Resources resources(s_.ranks, dependencies.shape().cpus, dependencies.shape().nics, options_.places);
    dependencies_ = &dependencies;
    costs_ = &costs;
    resources_ = &resources;
    free_.assign(resources.size(), Moment{});
    for (std::uint32_t i = 0; i < resources.size(); ++i)
      if (resources.is_cpu(i)) free_[i].a = options_.start;
    at_.reset(s_.ops.size());
    handled_.assign(dependencies.shape().cpus > 1 ? s_.ops.size() : 0, Moment{});
    begins_.clear();
    if (keep) begins_.reserve(log_.size());
    tails_.assign(lost_.size(), Moment{});
    last_ = Moment{};
    aside_.assign(s_.ops.size(), false);
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if ((i & 0xFFF) == 0) interruption_point();
      tell(static_cast<std::uint32_t>(i));
    }
    for (Rank r = 0; r < s_.ranks; ++r)
      for (std::uint32_t c = 0; c < resources.cpus(); ++c)
        last_ = later(last_, free_[resources.cpu(r, static_cast<std::uint8_t>(c))]);
    return last_;
  }
  [[nodiscard]] const std::vector<Moment>& begins() const { return begins_; }
  [[nodiscard]] Rank rank_of(std::uint64_t op) const { return rank_[op]; }

 private:
  /// The receive of every send by rendezvous that begins only when the receive is posted.
  void find_receives() {
    if (options_.receive == Receive::loggopsim) return;
    std::vector<std::uint8_t> wildcards(s_.ranks);
    for (Rank r = 0; r < s_.ranks; ++r)
      wildcards[r] = std::ranges::any_of(s_.ops_of(r), [](const Operation& op) {
        return op.kind == OpKind::recv && (op.peer == any_rank || op.tag == any_tag);
      });
    Costs costs(options_.cost, options_.places);
    for (std::size_t i = 0; i + 1 < log_.size(); ++i) {
      if (log_[i].kind() != LogEntry::Kind::meet) continue;
      const std::uint64_t send = log_[i + 1].op();
      const Operation& op = s_.ops[send];
      if (wildcards[op.peer] != 0 || is_eager(op, costs.of(rank_[send], op.peer, op.amount))) continue;
      if (receive_.empty()) receive_.assign(s_.ops.size(), none);
      receive_[send] = log_[i].op();
    }
  }

  [[nodiscard]] double value(const Moment& m) const { return static_cast<double>(m.a) + m.b * change_.x; }
  [[nodiscard]] const Moment& later(const Moment& p, const Moment& q) const {
    if (change_.x == 0 ? p.a != q.a : value(p) != value(q))
      return (change_.x == 0 ? p.a > q.a : value(p) > value(q)) ? p : q;
    return (change_.rising ? p.b >= q.b : p.b <= q.b) ? p : q;
  }
  [[nodiscard]] const Span& longer(const Span& p, const Span& q) const {
    const double x = change_.x;
    const double u = static_cast<double>(p.a) + p.b * x, v = static_cast<double>(q.a) + q.b * x;
    if (u != v) return u > v ? p : q;
    return (change_.rising ? p.b >= q.b : p.b <= q.b) ? p : q;
  }
  [[nodiscard]] Span span(Picoseconds a, Parameter parameter, double b) const {
    return {a, change_.parameter == parameter ? b : 0};
  }
  [[nodiscard]] static Moment after(const Moment& m, const Span& s, std::uint32_t event, Via via) {
    return {m.a + s.a, m.b + s.b, event, via};
  }

  struct Spans {
    Span o_send, o_recv, g, G, O, O_recv, wire;
  };
  const MessageCost& consider(std::uint64_t op) {
    const Operation& o = s_.ops[op];
    const MessageCost& c = costs_->of(rank_[op], o.peer, o.amount);
    network_ = c.network;
    eager_ = is_eager(o, c);
    return c;
  }
  [[nodiscard]] Spans spans(std::uint64_t op) {
    const MessageCost& c = consider(op);
    const std::uint64_t bytes = s_.ops[op].amount;
    const std::uint64_t first = c.level->after;
    const double rest = bytes > first ? static_cast<double>(bytes - first) : 0;
    return {span(c.level->o_send, Parameter::o, 1), span(c.level->o_recv, Parameter::o, 1),
            span(c.level->g, Parameter::g, 1),      span(c.bytes_G, Parameter::G, rest),
            span(c.bytes_O, Parameter::O, rest),    span(c.bytes_O_recv, Parameter::O, rest),
            span(c.wire, Parameter::L, 1)};
  }
  /// L from the peer, which may differ where routes do.
  [[nodiscard]] Span back(std::uint64_t op) {
    const Operation& o = s_.ops[op];
    return span(costs_->of(o.peer, rank_[op], o.amount).wire, Parameter::L, 1);
  }
  [[nodiscard]] Span lost(std::uint32_t event) const { return {noise_.empty() ? 0 : noise_[event], 0}; }

  /// The event begins at the last of these moments.
  Moment begin(std::uint32_t event, const Moment& p, const Moment& q = {}, const Moment& r = {}) {
    Moment m = later(later(p, q), r);
    // What it follows from is not in the log.
    if (!times_.empty() && m.a < times_[event]) m = {times_[event], 0, nobody, Via::nothing};
    if (keep_) begins_.push_back(m);
    return {m.a, m.b, event, Via::nothing};
  }

  /// The operation has reached the phases at `when`; its work is through at `end`.
  void release(std::uint64_t op, unsigned phases, const Moment& when, const Moment& end) {
    dependencies_->release(rank_[op], op, phases, [&](std::uint64_t to) { ready_.push_back(to); });
    for_dependants(op, phases, when, later(when, end));
  }
  /// Every dependant remembers the last of what it waited for.
  void for_dependants(std::uint64_t op, unsigned phases, const Moment& when, const Moment& end) {
    const Rank rank = rank_[op];
    const auto index = static_cast<std::uint32_t>(op - s_.op_first[rank]);
    for (const Edge e : s_.dependants(rank, index)) {
      if ((phases & (e.on_start() ? Dependencies::started : Dependencies::done)) == 0) continue;
      Moment& at = at_[s_.op_first[rank] + e.to()];
      at = later(at, e.on_start() ? when : end);
    }
  }
  /// Receives are posted when they become ready, but not while their stream is busy then.
  void go() {
    for (const std::uint64_t op : ready_)
      if (s_.ops[op].kind == OpKind::recv) at_[op] = later(at_[op], cpu(rank_[op], s_.ops[op].cpu));
    ready_.clear();
  }
  Moment& cpu(Rank rank, std::uint8_t stream) { return free_[resources_->cpu(rank, stream)]; }
  Moment& interface(Rank rank, std::uint8_t nic, bool receiving) {
    return free_[resources_->nic(rank, nic, network_) + (receiving ? 1 : 0)];
  }

  void tell(std::uint32_t event) {
    const std::uint64_t index = log_[event].op();
    const Operation& op = s_.ops[index];
    const Rank rank = rank_[index];
    switch (log_[event].kind()) {
      case LogEntry::Kind::start: start(event, index, op, rank); break;
      case LogEntry::Kind::post: {
        // It may have become ready by something that is not in the log.
        if (!times_.empty()) at_[index] = later(at_[index], cpu(rank, op.cpu));
        const Moment when = begin(event, at_[index]);
        at_[index] = when;
        release(index, Dependencies::started, when, when);
        go();
        break;
      }
      case LogEntry::Kind::aside: {
        consider(index);
        const Moment when = begin(event, at_[index], cpu(rank, op.cpu), interface(rank, op.nic, false));
        at_[index] = when;
        aside_[index] = true;
        release(index, Dependencies::started, when, when);
        go();
        break;
      }
      case LogEntry::Kind::handle: {
        const Spans c = spans(index);
        Moment& stream = cpu(op.peer, op.cpu);
        Moment& in = interface(op.peer, op.nic, true);
        const bool whole = options_.receive == Receive::loggopsim;
        const Moment when = begin(event, at_[index], stream, whole ? in : Moment{});
        stream = after(when, c.o_recv + (whole ? longer(c.O_recv, c.G) : c.O_recv) + lost(event), event, Via::handle);
        if (whole) in = after(when, c.g + c.G, event, Via::interface);
        if (!handled_.empty()) handled_[index] = stream;
        at_[index] = when;
        break;
      }
      case LogEntry::Kind::meet: {
        const std::uint64_t send = log_[event + 1].op();
        const Moment when = begin(event, at_[index], at_[send]);
        Moment end = handled_.empty() ? when : handled_[send];
        if (!tails_.empty()) {
          end = later(end, tails_[send]);
          last_ = later(last_, tails_[send]);
        }
        release(index, Dependencies::done, when, end);
        const MessageCost& c = consider(send);
        if (!eager_) {
          const Operation& from = s_.ops[send];
          Moment& stream = cpu(rank_[send], from.cpu);
          Moment& out = interface(rank_[send], from.nic, false);
          stream = later(stream, when);
          out = later(out, when);
          Moment sent = when;
          if (!tails_.empty() && tails_[send].cause != nobody && options_.receive == Receive::loggp) {
            // As in Engine::meet_on_way.
            Moment tail = tails_[send];
            if (c.bytes_O_recv > c.bytes_G) tail.a -= c.wire;
            sent = later(sent, tail);
            last_ = later(last_, sent);
          }
          release(send, Dependencies::done, when, sent);
        }
        go();
        break;
      }
      case LogEntry::Kind::sender:
        if (keep_) begins_.emplace_back();
        break;
      case LogEntry::Kind::leave: {
        const Spans c = spans(index);
        Moment& out = interface(op.peer, op.nic, false);
        const Moment when = begin(event, at_[index], out);
        out = after(when, c.g + c.G, event, Via::interface);
        at_[index] = after(when, back(index), event, Via::way);
        note_tail(index, when, back(index) + c.G, event);
        break;
      }
      case LogEntry::Kind::land: {
        const Spans c = spans(index);
        const bool put = op.kind == OpKind::put, send = op.kind == OpKind::send;
        Moment& in = interface(put || send ? op.peer : rank, op.nic, true);
        const Moment when = begin(event, at_[index], in);
        in = after(when, c.g + c.G, event, Via::interface);
        if (send) {
          at_[index] = after(when, longer(c.G - c.O_recv, {}), event, Via::landing);
          break;
        }
        at_[index] = after(when, put ? c.G + back(index) : c.G, event, Via::landing);
        if (!tails_.empty() && tails_[index].cause != nobody) {
          Moment tail = tails_[index];
          if (put) tail.a += back(index).a;
          at_[index] = later(at_[index], tail);
        }
        break;
      }
      case LogEntry::Kind::done: {
        const Moment when = begin(event, at_[index]);
        last_ = later(last_, at_[index]);
        release(index, Dependencies::done, when, when);
        go();
        break;
      }
    }
  }

  void start(std::uint32_t event, std::uint64_t index, const Operation& op, Rank rank) {
    Moment& stream = cpu(rank, op.cpu);
    if (op.kind != OpKind::send && op.kind != OpKind::put && op.kind != OpKind::get) {
      const Moment when = begin(event, at_[index], stream);
      const Picoseconds work = work_of(op, options_);
      stream = after(when, span(work, Parameter::compute, static_cast<double>(work)) + lost(event), event, Via::work);
      release(index, Dependencies::started | Dependencies::done, when, stream);
      go();
      return;
    }
    const Spans c = spans(index);
    const bool get = op.kind == OpKind::get, eager = eager_ && op.kind == OpKind::send;
    Moment& out = interface(rank, op.nic, false);
    const bool called = !receive_.empty() && receive_[index] != none;
    const Moment& ready = called ? later(at_[index], at_[receive_[index]]) : at_[index];
    const Moment when = begin(event, ready, stream, get ? Moment{} : out);
    stream = after(when, (get ? c.o_send : c.o_send + c.O) + lost(event), event, Via::send);
    if (!get) out = after(when, c.g + c.G, event, Via::interface);
    at_[index] = after(when, c.o_send + lost(event) + c.wire, event, Via::wire);
    if (!get) note_tail(index, when, c.o_send + lost(event) + c.wire + c.G, event);
    for_dependants(index, Dependencies::done, stream, stream);
    const unsigned begun = aside_[index] ? 0U : Dependencies::started;
    release(index, eager ? begun | Dependencies::done : begun, when, stream);
    go();
  }

  /// When the last byte of a message arrives that others have delayed.
  void note_tail(std::uint64_t op, const Moment& when, const Span& alone, std::uint32_t event) {
    if (!lost_.empty() && lost_[op] > 0) tails_[op] = after(when, alone + Span{lost_[op], 0}, event, Via::contention);
  }

  const Schedule& s_;
  const SimulationOptions& options_;
  std::span<const LogEntry> log_;
  std::span<const Picoseconds> noise_;
  std::span<const Picoseconds> lost_;   // of every operation: to other messages in the network; or empty
  std::span<const Picoseconds> times_;  // of every entry, at least; or empty
  std::vector<Moment> tails_;           // of the same: when the last byte of the message arrives
  std::vector<Rank> rank_;              // of every operation
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::vector<std::uint64_t> receive_;  // of every operation: see find_receives(); or empty
  std::vector<bool> aside_;             // of every operation: it has stood aside
  Change change_;
  bool keep_ = false;
  Dependencies* dependencies_ = nullptr;
  Costs* costs_ = nullptr;
  Resources* resources_ = nullptr;
  std::vector<Moment> free_;  // of every resource
  /// For every operation: ready, posted; then its message: arrives, handled, lands. A log of a part tells of few.
  SparseArray<Moment> at_;
  std::vector<Moment> handled_;  // with several streams, of every send: when the receiver is through with its message
  std::vector<std::uint64_t> ready_;
  std::vector<Moment> begins_;
  Moment last_;
  bool network_ = true;  // of the operation that was last asked for
  bool eager_ = true;
};

}  // namespace

void change(SimulationOptions& options, Parameter parameter, double x) {
  const auto time = [&](Picoseconds& t) {
    t = std::max<Picoseconds>(0, t + static_cast<Picoseconds>(std::llround(x)));
  };
  const auto rate = [&](double& r) { r = std::max(0.0, r + x); };
  const auto change = [&](LevelCost& c) {
    switch (parameter) {
      case Parameter::L: time(c.L); break;
      case Parameter::o:
        time(c.o_send);
        time(c.o_recv);
        break;
      case Parameter::g: time(c.g); break;
      case Parameter::G: rate(c.G); break;
      case Parameter::O:
        rate(c.O);
        if (c.O_recv) rate(*c.O_recv);
        break;
      case Parameter::compute: break;
    }
  };
  for (LevelCost& c : options.cost) {
    change(c);
    std::ranges::for_each(c.pieces, change);
  }
  if (parameter == Parameter::compute) options.compute_factor = std::max(0.0, options.compute_factor * (1 + x));
}

std::vector<Step> critical_path(const Schedule& schedule, const SimulationOptions& options,
                                std::span<const LogEntry> log, std::span<const Picoseconds> noise,
                                std::span<const Picoseconds> lost, std::span<const Picoseconds> times) {
  Replay replay(schedule, options, log, noise, lost, times);
  const Moment end = replay.run({}, true);
  Costs costs(options.cost, options.places);
  std::vector<Step> path;
  for (Moment m = end; m.cause != nobody; m = replay.begins()[m.cause]) {
    const Moment& before = replay.begins()[m.cause];
    const LogEntry& entry = log[m.cause];
    const Operation& op = schedule.ops[entry.op()];
    Step step{before.a, m.a, entry.op(), replay.rank_of(entry.op()), m.via, 0, 0, 0};
    if (step.begin == step.end) continue;
    const bool at_receiver = entry.kind() == LogEntry::Kind::handle || entry.kind() == LogEntry::Kind::leave ||
                             (entry.kind() == LogEntry::Kind::land && op.kind != OpKind::get);
    if (at_receiver) step.rank = op.peer;
    const Rank own = replay.rank_of(entry.op());
    if (m.via == Via::contention) step.lost = lost[entry.op()];
    if (m.via == Via::wire || (m.via == Via::contention && entry.kind() == LogEntry::Kind::start))
      step.latency = costs.of(own, op.peer, op.amount).wire;
    else if (m.via == Via::way || m.via == Via::contention || (m.via == Via::landing && op.kind == OpKind::put))
      step.latency = costs.of(op.peer, own, op.amount).wire;
    if (!noise.empty() && (m.via == Via::work || m.via == Via::send || m.via == Via::handle || m.via == Via::wire ||
                           m.via == Via::contention))
      step.noise = noise[m.cause];
    path.push_back(step);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Sensitivity sensitivity(const Schedule& schedule, const SimulationOptions& options, std::span<const LogEntry> log,
                        std::span<const Picoseconds> noise, Parameter parameter) {
  Replay replay(schedule, options, log, noise);
  // Only levels and pieces that messages use bound how far a parameter may fall.
  double least = parameter == Parameter::compute ? 1 : std::numeric_limits<double>::infinity();
  if (parameter != Parameter::compute) {
    Costs costs(options.cost, options.places);
    for (const LogEntry& entry : log) {
      const Operation& op = schedule.ops[entry.op()];
      if (entry.kind() != LogEntry::Kind::start || op.kind == OpKind::calc || op.kind == OpKind::copy ||
          op.kind == OpKind::reduce)
        continue;
      const LevelCost& c = *costs.of(replay.rank_of(entry.op()), op.peer, op.amount).level;
      const double now[] = {static_cast<double>(c.L), static_cast<double>(std::min(c.o_send, c.o_recv)),
                            static_cast<double>(c.g), c.G, std::min(c.O, c.O_recv.value_or(c.O))};
      least = std::min(least, now[static_cast<int>(parameter)]);
    }
  }
  if (!std::isfinite(least)) least = 0;

  // The makespan is the largest of the lines that paths contribute, a convex function of x. From each side: the line at
  // 0, then Newton's method for the nearest x where another line is above it.
  Sensitivity out{};
  for (const bool rising : {true, false}) {
    const Moment line = replay.run({parameter, 0, rising}, false);
    (rising ? out.slope : out.slope_below) = line.b;
    // Beyond 2^50 every path with another slope has crossed already.
    double x = rising ? 0x1p50 : -least;
    const double limit = rising ? std::numeric_limits<double>::infinity() : -least;
    double end = limit;
    for (int i = 0; i < 100 && x != 0; ++i) {
      const Moment other = replay.run({parameter, x, rising}, false);
      const double gain = (static_cast<double>(other.a) + other.b * x) - (static_cast<double>(line.a) + line.b * x);
      if (other.b == line.b || !(gain > 0)) break;
      const double crossing = static_cast<double>(line.a - other.a) / (other.b - line.b);
      end = crossing;
      if (crossing == x) break;
      x = crossing;
    }
    (rising ? out.upper : out.lower) = end;
  }
  return out;
}

}  // namespace isthmus::simulate

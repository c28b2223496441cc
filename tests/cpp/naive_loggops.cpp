#include "naive_loggops.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "simulate/engine/noise.hpp"

namespace isthmus::test {
using namespace simulate;
namespace {

enum class What : std::uint8_t { start, message, landed, put_arrives, get_asks, get_arrives, back };

struct Event {
  Picoseconds time;
  std::uint64_t number;
  What what;
  Rank rank;
  std::uint64_t op;
  bool operator<(const Event& other) const { return std::tie(time, number) < std::tie(other.time, other.number); }
};

enum class Side : std::uint8_t { cpu, sending, receiving };

class Simulator {
 public:
  Simulator(const Schedule& schedule, const SimulationOptions& options)
      : s_(schedule),
        o_(options),
        needs_(s_.ops.size()),
        owner_(s_.ops.size()),
        end_(s_.ops.size()),
        handled_(s_.ops.size()),
        not_before_(s_.ops.size()) {
    for (const Operation& op : s_.ops) cpus_ = std::max<std::uint32_t>(cpus_, op.cpu + 1U);
    noise_ = std::make_unique<Noise>(options.noise, options.seed, std::size_t{s_.ranks} * cpus_);
    out_.start.assign(s_.ops.size(), -1);
    out_.partner.assign(s_.ops.size(), -1);
    out_.done.assign(s_.ops.size(), false);
    out_.finish.assign(s_.ranks, 0);
    posted_.resize(s_.ranks);
    unexpected_.resize(s_.ranks);
    wild_.resize(s_.ranks);
    for (Rank r = 0; r < s_.ranks; ++r)
      for (const Operation& op : s_.ops_of(r)) {
        rendezvous_ = rendezvous_ || (op.kind == OpKind::send && op.amount > cost(r, op.peer, op.amount).S);
        if (op.kind == OpKind::recv && (op.peer == any_rank || op.tag == any_tag)) wild_[r] = true;
      }
  }

  Naive run() {
    for (Rank r = 0; r < s_.ranks; ++r) {
      for (std::uint64_t i = s_.op_first[r]; i < s_.op_first[r + 1]; ++i) {
        owner_[i] = r;
        needs_[i] = s_.ops[i].needs;
        if (needs_[i] == 0) free_.push_back(i);
      }
      come();
    }
    while (!queue_.empty()) {
      const Event event = *queue_.begin();
      queue_.erase(queue_.begin());
      now_ = event.time;
      happen(event);
      come();
    }
    for (const auto& [key, time] : clocks_)
      if (std::get<0>(key) == Side::cpu) {
        Picoseconds& last = out_.finish[std::get<1>(key)];
        last = std::max(last, time);
      }
    for (const Picoseconds t : out_.finish) out_.makespan = std::max(out_.makespan, t);
    return std::move(out_);
  }

 private:
  // -- the machine ----------------------------------------------------------------------------------------------------

  [[nodiscard]] int level(Rank a, Rank b) const {
    const Places& p = o_.places;
    if (p.topology == nullptr || p.node[a] != p.node[b]) return static_cast<int>(Level::network);
    return static_cast<int>(p.socket[a] == p.socket[b] ? Level::socket : Level::node);
  }
  /// The last piece that the message is larger than, with what pieces leave to their level.
  [[nodiscard]] LevelCost cost(Rank a, Rank b, std::uint64_t bytes) const {
    const LevelCost& level_cost = o_.cost[level(a, b)];
    LevelCost found = level_cost;
    for (const LevelCost& piece : level_cost.pieces)
      if (bytes > piece.above) found = piece;
    found.S = level_cost.S;
    found.per_hop = level_cost.per_hop;
    return found;
  }
  [[nodiscard]] Picoseconds latency(Rank a, Rank b, const LevelCost& c) const {
    if (o_.places.topology == nullptr || level(a, b) != static_cast<int>(Level::network)) return c.L;
    const auto hops = o_.places.topology->route_length(o_.places.node[a], o_.places.node[b]);
    return c.L + static_cast<Picoseconds>(std::max(hops, 1U) - 1) * c.per_hop;
  }
  static Picoseconds rest(std::uint64_t bytes, const LevelCost& c, double rate) {
    return bytes < c.after ? 0 : static_cast<Picoseconds>(static_cast<double>(bytes - c.after) * rate + 0.5);
  }
  Picoseconds& cpu(Rank rank, const Operation& op) { return clocks_[{Side::cpu, rank, op.cpu}]; }
  /// The interface of `rank` that a message of `op` between it and `other` passes.
  Picoseconds& nic(Side side, Rank rank, Rank other, const Operation& op) {
    const Places& p = o_.places;
    if (p.topology == nullptr || level(rank, other) != static_cast<int>(Level::network))
      return clocks_[{side, rank, op.nic}];
    return clocks_[{side, s_.ranks + p.node[rank], (p.nic[rank] + op.nic) % p.nics}];
  }

  // -- dependencies ---------------------------------------------------------------------------------------------------

  void free(std::uint64_t op, bool by_start) {
    free_.push_back(op);
    // As LogGOPSim does it, those that a start frees come before those that an end frees.
    if (!by_start && o_.receive == Receive::loggopsim) by_end_.insert(op);
  }
  void fulfil(std::uint64_t op, bool on_start) {
    const Rank rank = owner_[op];
    for (const Edge e : s_.dependants(rank, static_cast<std::uint32_t>(op - s_.op_first[rank])))
      if (e.on_start() == on_start && --needs_[s_.op_first[rank] + e.to()] == 0)
        free(s_.op_first[rank] + e.to(), on_start);
  }
  void start(std::uint64_t op) {
    out_.start[op] = now_;
    fulfil(op, true);
  }
  /// Dependants wait for the end of its work too, on whatever stream they are.
  void finish(std::uint64_t op) {
    out_.done[op] = true;
    ++out_.executed;
    const std::uint64_t first = s_.op_first[owner_[op]];
    for (const Edge e : s_.dependants(owner_[op], static_cast<std::uint32_t>(op - first)))
      if (!e.on_start()) not_before_[first + e.to()] = std::max(not_before_[first + e.to()], end_[op]);
    fulfil(op, false);
  }
  /// What has become executable comes into the queue.
  void come() {
    std::sort(free_.begin(), free_.end());
    std::stable_sort(free_.begin(), free_.end(), [&](std::uint64_t a, std::uint64_t b) {
      return std::make_tuple(owner_[a], s_.ops[a].kind, by_end_.contains(a)) <
             std::make_tuple(owner_[b], s_.ops[b].kind, by_end_.contains(b));
    });
    for (const std::uint64_t i : free_) {
      const Operation& op = s_.ops[i];
      Picoseconds time = std::max({now_, cpu(owner_[i], op), not_before_[i]});
      if (op.kind == OpKind::send || op.kind == OpKind::put)
        time = std::max(time, nic(Side::sending, owner_[i], op.peer, op));
      push(time, What::start, owner_[i], i);
      if (op.kind == OpKind::recv && paired(owner_[i])) announce(i, time);
    }
    free_.clear();
  }
  void push(Picoseconds time, What what, Rank rank, std::uint64_t op) {
    queue_.insert({time, number_++, what, rank, op});
  }
  /// Is the event too early? Then it comes again.
  bool blocked(const Event& event, Picoseconds free) {
    if (free <= now_) return false;
    queue_.insert({free, event.number, event.what, event.rank, event.op});
    return true;
  }
  /// Returns when the work ends.
  Picoseconds occupy(Rank rank, const Operation& op, Picoseconds work) {
    lost_ = noise_->lost(std::size_t{rank} * cpus_ + op.cpu, now_, work);
    return cpu(rank, op) = now_ + work + lost_;
  }

  // -- events ---------------------------------------------------------------------------------------------------------

  void happen(const Event& event) {
    const Operation& op = s_.ops[event.op];
    const Rank owner = owner_[event.op];
    const bool has_peer = op.kind == OpKind::send || op.kind == OpKind::put || op.kind == OpKind::get;
    const Rank peer = has_peer ? op.peer : owner;
    const LevelCost c = cost(owner, peer, op.amount);
    const Picoseconds G = rest(op.amount, c, c.G), O = rest(op.amount, c, c.O), L = latency(owner, peer, c);
    const Picoseconds O_recv = c.O_recv ? rest(op.amount, c, *c.O_recv) : O;
    switch (event.what) {
      case What::start:
        if (op.kind == OpKind::recv) {
          post(event.op, owner);
        } else if (!has_peer) {
          if (blocked(event, cpu(owner, op))) return;
          const double rate = op.kind == OpKind::calc ? 1 : op.kind == OpKind::copy ? o_.copy_rate : o_.reduce_rate;
          end_[event.op] = occupy(
              owner, op, static_cast<Picoseconds>(static_cast<double>(op.amount) * rate * o_.compute_factor + 0.5));
          start(event.op);
          finish(event.op);
        } else if (op.kind == OpKind::get) {
          if (blocked(event, cpu(owner, op))) return;
          end_[event.op] = occupy(owner, op, c.o_send);
          push(now_ + c.o_send + lost_ + L, What::get_asks, peer, event.op);
          start(event.op);
        } else {
          Picoseconds& out = nic(Side::sending, owner, peer, op);
          if (blocked(event, std::max(cpu(owner, op), out))) return;
          if (op.kind == OpKind::send && issue(event, op)) return;
          end_[event.op] = occupy(owner, op, c.o_send + O);
          out = now_ + c.g + G;
          const bool send = op.kind == OpKind::send;
          push(now_ + c.o_send + lost_ + L, send ? What::message : What::put_arrives, peer, event.op);
          if (aside_.contains(event.op)) out_.start[event.op] = now_;
          else start(event.op);
          if (send) count(op);
          if (send && op.amount <= c.S) finish(event.op);
        }
        return;
      case What::message: {
        Picoseconds& in = nic(Side::receiving, peer, owner, op);
        const bool whole = o_.receive == Receive::loggopsim;
        if (blocked(event, whole ? std::max(cpu(peer, op), in) : in)) return;
        in = now_ + c.g + G;
        // The same number: it takes the CPU before whatever was sent later.
        queue_.insert(
            {whole ? now_ : now_ + std::max<Picoseconds>(0, G - O_recv), event.number, What::landed, peer, event.op});
        return;
      }
      case What::landed: {
        if (blocked(event, cpu(peer, op))) return;
        handled_[event.op] =
            occupy(peer, op, c.o_recv + (o_.receive == Receive::loggopsim ? std::max(G, O_recv) : O_recv));
        auto& posted = posted_[peer];
        const auto match = std::find_if(posted.begin(), posted.end(), [&](std::uint64_t r) {
          return paired(peer) ? place_[r] == place_[event.op] && accepts(r, event.op) : accepts(r, event.op);
        });
        if (match == posted.end()) {
          unexpected_[peer].push_back(event.op);
          return;
        }
        const std::uint64_t recv = *match;
        posted.erase(match);
        meet(recv, event.op);
        return;
      }
      case What::put_arrives: {
        Picoseconds& in = nic(Side::receiving, peer, owner, op);
        if (blocked(event, in)) return;
        in = now_ + c.g + G;
        count(op);
        push(now_ + G + latency(peer, owner, c), What::back, owner, event.op);
        return;
      }
      case What::get_asks: {
        Picoseconds& out = nic(Side::sending, peer, owner, op);
        if (blocked(event, out)) return;
        out = now_ + c.g + G;
        push(now_ + latency(peer, owner, c), What::get_arrives, owner, event.op);
        return;
      }
      case What::get_arrives: {
        Picoseconds& in = nic(Side::receiving, owner, peer, op);
        if (blocked(event, in)) return;
        in = now_ + c.g + G;
        count(op);
        push(now_ + G, What::back, owner, event.op);
        return;
      }
      case What::back:
        out_.finish[owner] = now_;
        finish(event.op);
        return;
    }
  }
  void count(const Operation& op) {
    ++out_.messages;
    out_.bytes += op.amount;
  }

  [[nodiscard]] bool accepts(std::uint64_t recv, std::uint64_t send) const {
    const Operation& r = s_.ops[recv];
    const Operation& m = s_.ops[send];
    return r.comm == m.comm && (r.peer == any_rank || r.peer == owner_[send]) && (r.tag == any_tag || r.tag == m.tag);
  }
  /// Are messages to this rank given their receives when they are sent?
  [[nodiscard]] bool paired(Rank rank) const { return rendezvous_ && o_.receive == Receive::loggp && !wild_[rank]; }
  using Key = std::tuple<Rank, Rank, std::uint32_t, std::uint32_t>;
  /// A send counts among those of its key; by rendezvous it comes again when the receive of the same place is posted.
  bool issue(const Event& event, const Operation& op) {
    if (!paired(op.peer) || place_.contains(event.op)) return false;
    const Key key{event.rank, op.peer, op.tag, op.comm};
    const std::size_t place = place_[event.op] = sent_[key]++;
    const std::vector<Picoseconds>& posted = posted_at_[key];
    if (op.amount <= cost(event.rank, op.peer, op.amount).S || (place < posted.size() && posted[place] <= now_))
      return false;
    if (place < posted.size()) push(posted[place], What::start, event.rank, event.op);
    aside_.insert(event.op);
    start(event.op);
    return true;
  }
  /// A receive has become ready and will be posted at this time.
  void announce(std::uint64_t recv, Picoseconds time) {
    const Operation& op = s_.ops[recv];
    std::vector<Picoseconds>& posted = posted_at_[{op.peer, owner_[recv], op.tag, op.comm}];
    const std::size_t place = place_[recv] = posted.size();
    posted.push_back(time);
    for (const std::uint64_t send : aside_)
      if (place_[send] == place && s_.ops[send].peer == owner_[recv] && accepts(recv, send))
        push(time, What::start, owner_[send], send);
  }
  void post(std::uint64_t recv, Rank rank) {
    start(recv);
    if (paired(rank)) come();
    auto& waiting = unexpected_[rank];
    const auto match = std::find_if(waiting.begin(), waiting.end(), [&](std::uint64_t m) {
      return accepts(recv, m) && (!paired(rank) || place_[recv] == place_[m]);
    });
    if (match == waiting.end()) {
      posted_[rank].push_back(recv);
      return;
    }
    const std::uint64_t send = *match;
    waiting.erase(match);
    meet(recv, send);
  }
  void meet(std::uint64_t recv, std::uint64_t send) {
    out_.partner[recv] = static_cast<std::int64_t>(send);
    out_.partner[send] = static_cast<std::int64_t>(recv);
    end_[recv] = handled_[send];
    finish(recv);
    const Operation& op = s_.ops[send];
    if (op.amount <= cost(owner_[send], op.peer, op.amount).S) return;
    for (Picoseconds* clock : {&cpu(owner_[send], op), &nic(Side::sending, owner_[send], op.peer, op)})
      *clock = std::max(*clock, now_);
    finish(send);
  }

  const Schedule& s_;
  const SimulationOptions& o_;
  std::uint32_t cpus_ = 1;
  std::unique_ptr<Noise> noise_;
  std::set<Event> queue_;
  std::map<std::tuple<Side, std::uint64_t, std::uint64_t>, Picoseconds> clocks_;
  std::vector<std::uint32_t> needs_;
  std::vector<Rank> owner_;
  std::vector<Picoseconds> end_;         // of the work of every operation; of a receive, of its message's handling
  std::vector<Picoseconds> handled_;     // of every send: the end of its message's handling
  std::vector<Picoseconds> not_before_;  // of every operation: the end of what it waited for
  std::vector<std::uint64_t> free_;
  std::set<std::uint64_t> by_end_;
  std::vector<std::list<std::uint64_t>> posted_, unexpected_;
  Picoseconds now_ = 0;
  Picoseconds lost_ = 0;
  std::uint64_t number_ = 0;
  std::vector<bool> wild_;   // does the rank have receives with wildcards?
  bool rendezvous_ = false;  // may any send have to wait for its receive?
  std::map<Key, std::size_t> sent_;
  std::map<Key, std::vector<Picoseconds>> posted_at_;  // receives in the order in which they become ready
  std::map<std::uint64_t, std::size_t> place_;         // of sends and receives among those of their key
  std::set<std::uint64_t> aside_;
  Naive out_;
};

}  // namespace

Naive simulate_naively(const Schedule& schedule, const SimulationOptions& options) {
  return Simulator(schedule, options).run();
}

}  // namespace isthmus::test

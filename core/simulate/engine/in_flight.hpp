// Messages on their way through a network, and what waits for their last bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "simulate/engine/event_queue.hpp"
#include "simulate/model/state.hpp"
#include "simulate/network/network.hpp"

namespace isthmus::simulate {

/// One message. Its head travels as in LogGOPS; this is about its last byte.
struct Flight {
  Picoseconds tail = never;   ///< when that arrives; never: not known yet
  Picoseconds wire = 0;       ///< latency
  std::uint64_t op = 0;       ///< the send, put or get
  std::uint64_t recv = 0;     ///< the receive that has taken it
  Rank receiver = 0;          ///< its rank; InFlight::no_rank: of a put or get
  Rank sender = 0xFFFFFFFF;   ///< a rank that waits too; InFlight::no_rank: it does not
  Picoseconds ahead = 0;      ///< so much earlier than its receiver
  std::uint32_t waiting = 0;  ///< first of what waits
  std::uint32_t last = 0;     ///< last of it
  bool met = false;           ///< a receive has taken it
};

class InFlight {
 public:
  static constexpr std::uint32_t none = 0;
  static constexpr Rank no_rank = 0xFFFFFFFF;

  void start(const SimulationOptions& options, std::size_t ops) {
    network_ = make_network(options);
    places_ = &options.places;
    of_.resize(ops);
  }

  void send(std::uint64_t op, Rank from, Rank to, std::uint8_t nic, std::uint64_t bytes, Picoseconds duration,
            Picoseconds leaves, Picoseconds wire) {
    const std::uint32_t id = take(unused_flight_, flights_);
    flights_[id] = Flight{};
    flights_[id].op = op;
    flights_[id].wire = wire;
    of_[op] = id;
    const std::uint32_t nics = places_->nics;
    network_->send({id, op, places_->node[from], places_->node[to], (places_->nic[from] + nic) % nics,
                    (places_->nic[to] + nic) % nics, bytes - 1, leaves, duration});
  }
  [[nodiscard]] Picoseconds next() const {
    const Picoseconds next = network_->next();
    require((next >= 0 && next < latest) || next == never, "messages are in flight for more than ",
            latest / 1'000'000'000'000, " s, the longest time that can be simulated");
    return next;
  }
  [[nodiscard]] std::uint32_t of(std::uint64_t op) const { return of_[op]; }
  [[nodiscard]] Picoseconds tail(std::uint32_t flight) const { return flights_[flight].tail; }

  /// A receive has taken the message.
  void meet(std::uint32_t flight, Rank receiver, std::uint64_t recv) {
    flights_[flight].met = true;
    flights_[flight].receiver = receiver;
    flights_[flight].recv = recv;
  }
  /// The sender waits for the last byte too: until so much before it has arrived.
  void hold_sender(std::uint32_t flight, Rank sender, Picoseconds ahead) {
    flights_[flight].sender = sender;
    flights_[flight].ahead = ahead;
  }
  /// The event of a put or get comes at its time or when the last byte has arrived, whichever is later, and `further`
  /// later than that.
  void hold(std::uint32_t flight, const Event& event, Picoseconds further) {
    append(flight, {event, further, 0, none});
  }
  /// The operation, an index into Schedule::ops, does not begin before the last byte has arrived, or so much `ahead` of
  /// that.
  void gate(std::uint32_t flight, std::uint64_t op, Picoseconds ahead = 0) {
    Gate& gate = gates_[op];
    if (flights_[flight].tail == never) {
      ++gate.closed;
      append(flight, {{}, -ahead, op + 1, none});
    } else {
      gate.not_before = std::max(gate.not_before, flights_[flight].tail - ahead);
    }
  }
  /// The operation is ready but for last bytes: true if the event has to wait for them, otherwise it does not come
  /// before `time`.
  bool stops(std::uint64_t op, Picoseconds& time, const Event& event) {
    if (gates_.empty()) return false;
    const auto found = gates_.find(op);
    if (found == gates_.end()) return false;
    Gate& gate = found->second;
    if (gate.closed > 0) {
      gate.held = true;
      gate.event = event;
      return true;
    }
    time = std::max(time, gate.not_before);
    gates_.erase(found);
    return false;
  }
  /// Forgets a message that has been taken and has arrived.
  void release(std::uint32_t flight) {
    of_[flights_[flight].op] = none;
    unused_flight_.push_back(flight);
  }

  /// Lets the network go on: passed(way, lost) for every message whose last byte has left it, then
  /// let_go(event) for every event that was held for it, its time set.
  template <class Pass, class LetGo>
  void advance(Picoseconds now, Pass passed, LetGo let_go) {
    if (network_->next() > now) return;
    passed_.clear();
    network_->advance(now, passed_);
    for (const Passed& p : passed_) {
      Flight& flight = flights_[p.message];
      flight.tail = p.at + flight.wire;
      if (!flight.met) flight.receiver = no_rank;
      passed(flight, p.lost);
      if (!flight.met) continue;
      const Picoseconds tail = flight.tail;
      std::uint32_t at = flight.waiting;
      release(p.message);
      while (at != none) {
        Waiting w = waiting_[at];
        unused_waiting_.push_back(at);
        at = w.next;
        if (w.gated == 0) {
          w.event.time = std::max(w.event.time, tail) + w.further;
          let_go(w.event);
          continue;
        }
        const auto gate = gates_.find(w.gated - 1);
        gate->second.not_before = std::max(gate->second.not_before, tail + w.further);
        if (--gate->second.closed > 0 || !gate->second.held) continue;
        Event event = gate->second.event;
        // The network may say later that a last byte has left, and when that was.
        event.time = std::max({event.time, gate->second.not_before, now});
        gates_.erase(gate);
        let_go(event);
      }
    }
  }
  Traffic take_traffic() { return network_->take_traffic(); }
  [[nodiscard]] const Traffic& traffic() const { return network_->traffic(); }
  [[nodiscard]] std::uint64_t steps() const { return network_->steps(); }
  /// Messages and operations that wait for them, at `now`, when the network has nothing to do; place(op) says which
  /// operation.
  template <class Place>
  void write(Picoseconds now, StateWriter& state, Place&& place) const {
    std::vector<std::pair<std::uint64_t, Picoseconds>> all;
    for (std::size_t id = 1; id < flights_.size(); ++id)
      if (of_[flights_[id].op] == id)
        all.emplace_back(place(flights_[id].op), std::max<Picoseconds>(flights_[id].tail - now, 0));
    const std::size_t messages = all.size();
    for (const auto& [op, gate] : gates_) all.emplace_back(place(op), std::max<Picoseconds>(gate.not_before - now, 0));
    const auto gates = all.begin() + static_cast<std::ptrdiff_t>(messages);
    std::sort(all.begin(), gates);
    std::sort(gates, all.end());
    state.number(messages);
    for (const auto& [op, time] : all) {
      state.number(op);
      state.number(time);
    }
    network_->write(now, state);
  }

 private:
  struct Waiting {
    Event event;
    Picoseconds further = 0;
    std::uint64_t gated = 0;  // or an operation + 1
    std::uint32_t next = none;
  };
  struct Gate {
    std::uint32_t closed = 0;  // messages that it waits for
    bool held = false;         // with the event
    Picoseconds not_before = 0;
    Event event{};
  };

  void append(std::uint32_t flight, const Waiting& waiting) {
    const std::uint32_t id = take(unused_waiting_, waiting_);
    waiting_[id] = waiting;
    (flights_[flight].waiting == none ? flights_[flight].waiting : waiting_[flights_[flight].last].next) = id;
    flights_[flight].last = id;
  }

  template <class T>
  static std::uint32_t take(std::vector<std::uint32_t>& unused, std::vector<T>& all) {
    if (!unused.empty()) {
      const std::uint32_t id = unused.back();
      unused.pop_back();
      return id;
    }
    if (all.empty()) all.emplace_back();  // 0 is none
    require(all.size() < 0xFFFFFFFF, "more than 4294967294 messages are in flight at once");
    all.emplace_back();
    return static_cast<std::uint32_t>(all.size() - 1);
  }

  std::unique_ptr<Network> network_;
  const Places* places_ = nullptr;
  std::vector<std::uint32_t> of_;  // of every operation
  std::vector<Flight> flights_;
  std::vector<Waiting> waiting_;
  std::unordered_map<std::uint64_t, Gate> gates_;  // of operations
  std::vector<std::uint32_t> unused_flight_, unused_waiting_;
  std::vector<Passed> passed_;
};

}  // namespace isthmus::simulate

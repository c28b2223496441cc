// Messages on their way through a network, and what waits for their last bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "simulate/event_queue.hpp"
#include "simulate/network.hpp"

namespace isthmus {

/// One message. Its head travels as in LogGOPS; this is about its last byte.
struct Way {
  Picoseconds tail = never;  ///< when that arrives; never: not known yet
  Picoseconds wire = 0;      ///< latency
  std::uint64_t op = 0;      ///< the send, put or get
  std::uint64_t recv = 0;    ///< the receive that has taken it
  Rank receiver = 0;         ///< its rank; Ways::no_rank: of a put or get
  std::uint32_t held = 0;    ///< first of what waits
  std::uint32_t last = 0;    ///< last of it
  bool met = false;          ///< a receive has taken it
};

class Ways {
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
    const std::uint32_t id = take(unused_way_, ways_);
    ways_[id] = Way{};
    ways_[id].op = op;
    ways_[id].wire = wire;
    of_[op] = id;
    const std::uint32_t nics = places_->nics;
    network_->send({id, op, places_->node[from], places_->node[to], (places_->nic[from] + nic) % nics,
                    (places_->nic[to] + nic) % nics, bytes - 1, leaves, duration});
  }
  [[nodiscard]] Picoseconds next() const { return network_->next(); }
  [[nodiscard]] std::uint32_t of(std::uint64_t op) const { return of_[op]; }
  [[nodiscard]] Picoseconds tail(std::uint32_t way) const { return ways_[way].tail; }

  /// A receive has taken the message.
  void meet(std::uint32_t way, Rank receiver, std::uint64_t recv) {
    ways_[way].met = true;
    ways_[way].receiver = receiver;
    ways_[way].recv = recv;
  }
  /// The event comes at its time or when the last byte has arrived, whichever is later, and `further` later than that.
  void hold(std::uint32_t way, const Event& event, Picoseconds further = 0) {
    const std::uint32_t id = take(unused_held_, held_);
    held_[id] = {event, further, none};
    (ways_[way].held == none ? ways_[way].held : held_[ways_[way].last].next) = id;
    ways_[way].last = id;
  }
  /// Forgets a message that has been taken and has arrived.
  void release(std::uint32_t way) {
    of_[ways_[way].op] = none;
    unused_way_.push_back(way);
  }

  /// Lets the network go on: passed(way, lost) for every message whose last byte has left it, then
  /// let_go(event, tail, further) for every event that was held for it.
  template <class Pass, class LetGo>
  void advance(Picoseconds now, Pass passed, LetGo let_go) {
    if (network_->next() > now) return;
    passed_.clear();
    network_->advance(now, passed_);
    for (const Passed& p : passed_) {
      Way& way = ways_[p.message];
      way.tail = p.at + way.wire;
      if (!way.met) way.receiver = no_rank;
      passed(way, p.lost);
      if (!way.met) continue;
      const Picoseconds tail = way.tail;
      std::uint32_t at = way.held;
      release(p.message);
      while (at != none) {
        const Held held = held_[at];
        unused_held_.push_back(at);
        let_go(held.event, tail, held.further);
        at = held.next;
      }
    }
  }
  Traffic take_traffic() { return network_->take_traffic(); }

 private:
  struct Held {
    Event event;
    Picoseconds further = 0;
    std::uint32_t next = none;
  };

  template <class T>
  static std::uint32_t take(std::vector<std::uint32_t>& unused, std::vector<T>& all) {
    if (!unused.empty()) {
      const std::uint32_t id = unused.back();
      unused.pop_back();
      return id;
    }
    if (all.empty()) all.emplace_back();  // 0 is none
    require(all.size() < 0xFFFFFFFF, "more than 4294967294 messages are on their way at once");
    all.emplace_back();
    return static_cast<std::uint32_t>(all.size() - 1);
  }

  std::unique_ptr<Network> network_;
  const Places* places_ = nullptr;
  std::vector<std::uint32_t> of_;  // of every operation
  std::vector<Way> ways_;
  std::vector<Held> held_;
  std::vector<std::uint32_t> unused_way_, unused_held_;
  std::vector<Passed> passed_;
};

}  // namespace isthmus

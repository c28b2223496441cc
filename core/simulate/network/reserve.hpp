// Messages that occupy whole links one after the other: the cheapest model in which they meet.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "simulate/network/network.hpp"
#include "simulate/network/router.hpp"
#include "simulate/network/time_queue.hpp"

namespace isthmus::simulate {

/// Every link, and every interface on its way in and out, carries one message at a time, in the order in which their
/// heads arrive at it, for bytes / bandwidth. A head goes on as soon as its link is taken (cut-through); a message that
/// waits for a link holds none of those behind it.
class ReserveNetwork final : public Network {
 public:
  explicit ReserveNetwork(const SimulationOptions& options);

  void send(const Passage& passage) override;
  [[nodiscard]] Picoseconds next() const override { return heads_.next(); }
  void advance(Picoseconds now, std::vector<Passed>& passed) override;
  [[nodiscard]] Traffic take_traffic() override { return std::move(traffic_); }
  [[nodiscard]] const Traffic& traffic() const override { return traffic_; }
  /// Links that messages have taken.
  [[nodiscard]] std::uint64_t steps() const override { return steps_; }
  void write(Picoseconds now, StateWriter& state) const override {
    for (const Place& place : places_) state.number(std::max<Picoseconds>(place.free - now, 0));
  }

 private:
  struct Head {
    Picoseconds time;
    std::uint32_t message;  // index into messages_
    std::uint32_t hop;
  };
  struct Message {
    Passage passage;
    Picoseconds end = 0;              // when its last byte has passed the links so far
    std::vector<std::uint32_t> path;  // an interface, links, an interface
  };
  /// A link or one direction of an interface.
  struct Place {
    Picoseconds free = 0;  // from then on
    double per_byte = -1;  // picoseconds; negative: not asked for yet
  };

  void pass(Head head, std::vector<Passed>& passed);
  [[nodiscard]] double per_byte(std::uint32_t place) const {
    return place < topology_->links() ? link_per_byte_[topology_->link_class(place)] : interface_per_byte_;
  }

  const Topology* topology_;
  Router router_;
  double interface_per_byte_;  // picoseconds
  std::uint32_t nics_;
  bool log_routes_;
  Traffic traffic_;
  std::uint64_t steps_ = 0;
  std::vector<double> link_per_byte_;  // picoseconds, of every class of links
  std::vector<Place> places_;          // every link, then every interface out and in
  TimeQueue<Head> heads_;
  std::vector<Head> now_;  // those whose time it is, in their order
  std::vector<Message> messages_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace isthmus::simulate

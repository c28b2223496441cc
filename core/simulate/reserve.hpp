// Messages that occupy whole links one after the other: the cheapest model in which they meet.
#pragma once

#include <vector>

#include "simulate/network.hpp"
#include "simulate/router.hpp"

namespace isthmus {

/// Every link, and every interface on its way in and out, carries one message at a time, in the order in which they are
/// sent, for bytes / bandwidth. A message waits for each link of its route in turn; while it waits it holds none of
/// those behind it.
class ReserveNetwork final : public Network {
 public:
  explicit ReserveNetwork(const SimulationOptions& options);

  Picoseconds send(const Passage& passage) override;
  [[nodiscard]] Picoseconds next() const override { return never; }
  void advance(Picoseconds, std::vector<Passed>&) override {}
  [[nodiscard]] Traffic take_traffic() override { return std::move(traffic_); }

 private:
  /// The message takes the link at `head` or when it is free; returns when it does.
  Picoseconds take(std::size_t link, Picoseconds head, double per_byte, std::uint64_t bytes, Picoseconds& end);

  const Topology* topology_;
  Router router_;
  double per_byte_;  // picoseconds of an interface
  std::uint32_t nics_;
  bool log_routes_;
  Traffic traffic_;
  std::vector<double> link_per_byte_;  // picoseconds, of every class of links
  std::vector<Picoseconds> free_;      // of every link, then of every interface out and in
};

}  // namespace isthmus

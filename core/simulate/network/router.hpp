// Which links a message takes.
#pragma once

#include <vector>

#include "base/rng.hpp"
#include "simulate/model/options.hpp"
#include "topology/topology.hpp"

namespace isthmus::simulate {
using namespace topology;

/// Chooses routes; the same choices for the same seed and the same order of messages.
class Router {
 public:
  Router(const Topology& topology, RoutingPolicy how, std::uint64_t seed)
      : topology_(&topology), how_(how), rng_(seed) {}

  /// Do all messages between two nodes take the same links?
  [[nodiscard]] bool fixed() const { return how_ == RoutingPolicy::minimal; }

  /// The links from one node to another, until the next call. `load(link)`: what is on a link already;
  /// RoutingPolicy::adaptive compares the fullest links of a minimal and of a Valiant route, each times its length
  /// (UGAL: Singh, "Load-balanced routing in interconnection networks", 2005, with the loads of whole paths instead of
  /// the first queues).
  template <class Load>
  const std::vector<LinkId>& route(Vertex from, Vertex to, Load&& load) {
    links_.clear();
    switch (how_) {
      case RoutingPolicy::minimal: topology_->route(from, to, links_); break;
      case RoutingPolicy::random: topology_->random_route(from, to, rng_, links_); break;
      case RoutingPolicy::valiant: topology_->valiant_route(from, to, rng_, links_); break;
      case RoutingPolicy::adaptive: {
        topology_->random_route(from, to, rng_, links_);
        detour_.clear();
        topology_->valiant_route(from, to, rng_, detour_);
        const auto cost = [&](const std::vector<LinkId>& route) {
          double most = 0;
          for (const LinkId l : route) most = std::max(most, load(l));
          return most * static_cast<double>(route.size());
        };
        if (cost(detour_) < cost(links_)) links_.swap(detour_);
        break;
      }
    }
    return links_;
  }

 private:
  const Topology* topology_;
  RoutingPolicy how_;
  Rng rng_;
  std::vector<LinkId> links_;
  std::vector<LinkId> detour_;
};

}  // namespace isthmus::simulate

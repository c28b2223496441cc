// Costs of swaps from the distances of all partners: any topology.
#pragma once

#include <cstdint>

#include "mapping/distances.hpp"
#include "mapping/slots.hpp"

namespace isthmus {

class PairCosts {
 public:
  PairCosts(const Target& target, Slots& slots) : slots_(&slots), distances_(target, slots) {}

  /// As Fields::change_at_best(), but exact.
  [[nodiscard]] float change_at_best(std::uint32_t u, std::uint32_t v) const {
    const std::uint32_t p = slots_->slot_of(u);
    const std::uint32_t q = slots_->slot_of(v);
    return distances_.change(*slots_, u, v, p, q) + distances_.change(*slots_, v, u, q, p);
  }
  [[nodiscard]] float change_between(std::uint32_t /*u*/, std::uint32_t /*v*/) const { return 0; }
  void swap(std::uint32_t u, std::uint32_t v) { slots_->swap(u, v); }

 private:
  Slots* slots_;
  Distances distances_;
};

}  // namespace isthmus

// Costs of swaps from the distances of all partners: any topology.
#pragma once

#include <cstdint>

#include "mapping/problem/effort.hpp"
#include "mapping/refine/distances.hpp"
#include "mapping/refine/slots.hpp"

namespace isthmus::mapping {

class PairCosts {
 public:
  PairCosts(const Target& target, Slots& slots) : slots_(&slots), distances_(target, slots) {}

  /// As AxisCosts::change_at_best(), but exact.
  [[nodiscard]] float change_at_best(std::uint32_t u, std::uint32_t v) {
    edges_ += slots_->degree(u) + slots_->degree(v);
    const std::uint32_t p = slots_->slot_of(u);
    const std::uint32_t q = slots_->slot_of(v);
    return distances_.change(*slots_, u, v, p, q) + distances_.change(*slots_, v, u, q, p);
  }
  [[nodiscard]] float change_between(std::uint32_t /*u*/, std::uint32_t /*v*/) const { return 0; }
  void swap(std::uint32_t u, std::uint32_t v) { slots_->swap(u, v); }
  /// Processor time, about, of so many proposals and the set-up, see effort.hpp.
  [[nodiscard]] double seconds(std::uint64_t proposals) const {
    const double far = effort::beyond_cache(distances_.memory() + slots_->memory());
    return distances_.set_up_seconds() + static_cast<double>(proposals) * 38e-9 +
           static_cast<double>(edges_) * (3.7e-9 + 2e-9 * far + distances_.more_of_edge());
  }

 private:
  Slots* slots_;
  Distances distances_;
  std::uint64_t edges_ = 0;  ///< that proposals looked at
};

}  // namespace isthmus::mapping

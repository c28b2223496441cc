// Costs of swaps from the distances of all partners: any topology.
#pragma once

#include <cstdint>

#include "mapping/slots.hpp"

namespace isthmus {

class PairCosts {
 public:
  PairCosts(const Target& target, Slots& slots) : target_(&target), slots_(&slots) {}

  /// As Fields::change_at_best().
  [[nodiscard]] float change_at_best(std::uint32_t u, std::uint32_t v) const {
    const std::uint32_t p = slots_->place_of_slot(slots_->slot_of(u));
    const std::uint32_t q = slots_->place_of_slot(slots_->slot_of(v));
    return gain(u, p, q) + gain(v, q, p);
  }
  [[nodiscard]] float change_between(std::uint32_t u, std::uint32_t v) const {
    const float bytes = slots_->bytes_between(u, v);
    if (bytes == 0) return 0;
    return 2 * bytes * length(slots_->place_of_slot(slots_->slot_of(u)), slots_->place_of_slot(slots_->slot_of(v)));
  }
  void swap(std::uint32_t u, std::uint32_t v) { slots_->swap(u, v); }

 private:
  [[nodiscard]] float length(std::uint32_t p, std::uint32_t q) const {
    return static_cast<float>(target_->distance(p, q));
  }
  [[nodiscard]] float gain(std::uint32_t task, std::uint32_t from, std::uint32_t to) const {
    float sum = 0;
    for (const Slots::Edge* e = slots_->begin(task); e != slots_->end(task); ++e) {
      const std::uint32_t at = slots_->place_of_slot(slots_->slot_of(e->to));
      sum += e->bytes * (length(to, at) - length(from, at));
    }
    return sum;
  }

  const Target* target_;
  Slots* slots_;
};

}  // namespace isthmus

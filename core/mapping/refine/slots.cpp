#include "mapping/refine/slots.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "mapping/problem/objective.hpp"

namespace isthmus::mapping {

Slots::Slots(const TaskGraph& graph, const Target& target, const Map& map) : tasks_(graph.tasks()) {
  require_map(graph, target, map);
  const std::uint64_t slots = target.slots();
  require(slots < nowhere, "target: ", slots, " slots do not fit 32 bits");
  std::vector<std::uint32_t> next(target.places());  // next free slot of each place
  for (std::uint32_t p = 0; p < target.places(); ++p) {
    next[p] = static_cast<std::uint32_t>(place_.size());
    place_.insert(place_.end(), target.capacity(p), p);
  }
  number_.resize(tasks_);
  std::vector<std::uint32_t> original(slots, nowhere);
  for (std::uint32_t t = 0; t < tasks_; ++t) {
    number_[t] = next[map[t]]++;
    original[number_[t]] = t;
  }
  slot_of_.resize(slots);
  task_at_.resize(slots);
  for (std::uint32_t s = 0; s < slots; ++s) slot_of_[s] = task_at_[s] = s;

  double heaviest = 0;
  for (std::uint32_t t = 0; t < tasks_; ++t) {
    double sum = 0;
    for (const double b : graph.bytes_of(t)) sum += b;
    heaviest = std::max(heaviest, sum);
  }
  // Sums of a task's bytes times distance, and differences of four of them, stay below 2^24, where float is exact.
  constexpr double largest_distance = 256;
  if (heaviest > 0) scale_ = std::exp2(std::floor(std::log2(std::exp2(22) / (heaviest * largest_distance))));
  first_.assign(slots + 1, 0);
  edges_.reserve(graph.links.targets.size());
  double sum = 0;
  for (std::uint32_t s = 0; s < slots; ++s) {
    const std::uint32_t t = original[s];
    if (t != nowhere) {
      for (std::uint64_t i = graph.links.offsets[t]; i < graph.links.offsets[t + 1]; ++i) {
        const auto w = static_cast<float>(std::max(1.0, std::round(graph.bytes[i] * scale_)));
        edges_.push_back({number_[graph.links.targets[i]], w});
        sum += w;
      }
    }
    first_[s + 1] = static_cast<std::uint32_t>(edges_.size());
  }
  mean_ = edges_.empty() ? 1 : sum / tasks_;
}

Map Slots::map() const {
  Map out(tasks_);
  for (std::uint32_t t = 0; t < tasks_; ++t) out[t] = place_[slot_of_[number_[t]]];
  return out;
}

}  // namespace isthmus::mapping

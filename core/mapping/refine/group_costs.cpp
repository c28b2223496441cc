#include "mapping/refine/group_costs.hpp"

#include <algorithm>

#include "mapping/problem/effort.hpp"

namespace isthmus::mapping {

std::vector<double> group_loads(const TaskGraph& graph, const Target& target, const Map& map) {
  std::vector<double> load(static_cast<std::size_t>(target.groups()) * target.groups(), 0);
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) {
    for (std::uint64_t i = graph.links.offsets[t]; i < graph.links.offsets[t + 1]; ++i) {
      const std::uint32_t g = target.group(map[t]);
      const std::uint32_t h = target.group(map[graph.links.targets[i]]);
      if (g != h) load[static_cast<std::size_t>(g) * target.groups() + h] += graph.bytes[i];
    }
  }
  return load;
}

GroupCosts::GroupCosts(const Target& target, Slots& slots, double limit, double weight)
    : slots_(&slots),
      distances_(target, slots),
      groups_(target.groups()),
      limit_(static_cast<float>(limit * slots.scale())),
      weight_(static_cast<float>(weight)),
      group_(slots.size()),
      load_(static_cast<std::size_t>(target.groups()) * target.groups(), 0),
      change_(2 * static_cast<std::size_t>(target.groups()), 0) {
  for (std::uint32_t s = 0; s < slots.size(); ++s) group_[s] = target.group(slots.place_of_slot(s));
  for (std::uint32_t t = 0; t < slots.size(); ++t) {
    const std::uint32_t g = group(t);
    for (const Slots::Edge* e = slots.begin(t); e != slots.end(t); ++e) load_[g * groups_ + group(e->to)] += e->bytes;
  }
}

float GroupCosts::change_at_best(std::uint32_t u, std::uint32_t v) {
  const std::uint32_t p = group(u);
  const std::uint32_t q = group(v);
  float sum = distances_.change(*slots_, u, v, slots_->slot_of(u), slots_->slot_of(v)) +
              distances_.change(*slots_, v, u, slots_->slot_of(v), slots_->slot_of(u));
  const std::uint32_t partners = slots_->degree(u) + slots_->degree(v);
  edges_ += partners;
  if (p == q) return sum;
  apart_ += partners;
  double* here = change_.data();
  double* there = here + groups_;
  for (const Slots::Edge* e = slots_->begin(u); e != slots_->end(u); ++e) {
    if (e->to == v) continue;
    const std::uint32_t g = group(e->to);
    here[g] -= e->bytes;
    there[g] += e->bytes;
  }
  for (const Slots::Edge* e = slots_->begin(v); e != slots_->end(v); ++e) {
    if (e->to == u) continue;
    const std::uint32_t g = group(e->to);
    here[g] += e->bytes;
    there[g] -= e->bytes;
  }
  // Between the two groups both rows tell of the same link; within them there is none.
  here[q] += there[p];
  there[p] = here[p] = there[q] = 0;
  for (const std::uint32_t task : {u, v}) {
    for (const Slots::Edge* e = slots_->begin(task); e != slots_->end(task); ++e) {
      const std::uint32_t g = group(e->to);
      if (here[g] != 0) {
        const double load = load_[p * groups_ + g];
        sum += penalty(load + here[g]) - penalty(load);
        here[g] = 0;
      }
      if (there[g] != 0) {
        const double load = load_[q * groups_ + g];
        sum += penalty(load + there[g]) - penalty(load);
        there[g] = 0;
      }
    }
  }
  // What moved between the two groups may have no partner there.
  if (here[q] != 0) {
    const double load = load_[p * groups_ + q];
    sum += penalty(load + here[q]) - penalty(load);
    here[q] = 0;
  }
  return sum;
}

double GroupCosts::seconds(std::uint64_t proposals) const {
  const auto n = [](std::uint64_t count) { return static_cast<double>(count); };
  const double far = effort::beyond_cache(distances_.memory() + slots_->memory());
  return distances_.set_up_seconds() + n(proposals) * (60e-9 + 20e-9 * far) +
         n(edges_) * (4.2e-9 + 1.5e-9 * far + distances_.more_of_edge()) + n(apart_) * (7e-9 + 3e-9 * far) +
         n(moved_) * (20e-9 + 5e-9 * far);
}

void GroupCosts::swap(std::uint32_t u, std::uint32_t v) {
  const std::uint32_t p = group(u);
  const std::uint32_t q = group(v);
  if (p != q) {
    moved_ += slots_->degree(u) + slots_->degree(v);
    const auto add = [&](std::uint32_t a, std::uint32_t b, float bytes) {
      load_[a * groups_ + b] += bytes;
      load_[b * groups_ + a] += bytes;
    };
    shift(u, v, p, q, add);
    shift(v, u, q, p, add);
  }
  slots_->swap(u, v);
}

}  // namespace isthmus::mapping

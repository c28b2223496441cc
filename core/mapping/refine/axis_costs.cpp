#include "mapping/refine/axis_costs.hpp"

#include <algorithm>

#include "base/vector.hpp"
#include "mapping/problem/effort.hpp"

namespace isthmus::mapping {
namespace {

/// Axes of a target joined to at most four, each a list of the axes it stands for.
std::vector<std::vector<std::size_t>> joined_axes(const Target& target) {
  constexpr std::uint32_t small = 32;
  constexpr std::uint32_t most = 512;
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::uint32_t> extent;
  for (std::size_t k = 0; k < target.axes().size(); ++k) {
    const Target::Axis& axis = target.axes()[k];
    const bool constant = std::all_of(axis.distance.begin(), axis.distance.end(), [](auto d) { return d == 0; });
    if (constant) continue;
    if (!groups.empty() && extent.back() * axis.extent <= small) {
      groups.back().push_back(k);
      extent.back() *= axis.extent;
    } else {
      groups.push_back({k});
      extent.push_back(axis.extent);
    }
  }
  while (groups.size() > AxisCosts::most_axes) {
    std::size_t best = 0;
    for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
      if (extent[g] * extent[g + 1] < extent[best] * extent[best + 1]) best = g;
    }
    groups[best].insert(groups[best].end(), groups[best + 1].begin(), groups[best + 1].end());
    extent[best] *= extent[best + 1];
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    extent.erase(extent.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  for (const std::uint32_t e : extent) {
    if (e > most) return {};
  }
  return groups;
}

/// field[x] += factor * row[x] for the partners of a task.
ISTHMUS_VECTOR_CLONES
void add_to_partners(const Slots::Edge* begin, const Slots::Edge* end, float sign, const float* row, std::size_t from,
                     std::size_t to, std::size_t stride, float* field) {
  for (const Slots::Edge* e = begin; e != end; ++e) {
    float* f = field + static_cast<std::size_t>(e->to) * stride;
    const float factor = sign * e->bytes;
    for (std::size_t x = from; x < to; ++x) f[x] += factor * row[x];
  }
}

}  // namespace

bool AxisCosts::suits(const Target& target) {
  if (target.axes().empty() || (target.terminals() > 0 && target.slots() != target.places())) return false;
  return !joined_axes(target).empty();
}

AxisCosts::AxisCosts(const Target& target, Slots& slots) : slots_(&slots) {
  const auto groups = joined_axes(target);
  axes_ = groups.size();
  std::vector<std::uint32_t> extent(axes_, 1);
  for (std::size_t g = 0; g < axes_; ++g) {
    for (const std::size_t k : groups[g]) extent[g] *= target.axes()[k].extent;
    first_[g] = static_cast<std::uint32_t>(stride_);
    stride_ += extent[g];
  }
  constexpr std::size_t vector = 8;
  stride_ = (stride_ + vector - 1) / vector * vector;
  for (std::size_t g = 0; g < axes_; ++g) {
    distance_[g].assign(extent[g], std::vector<float>(stride_, 0));
    for (std::uint32_t x = 0; x < extent[g]; ++x) {
      for (std::uint32_t y = 0; y < extent[g]; ++y) {
        std::uint32_t a = x;
        std::uint32_t b = y;
        std::uint32_t sum = 0;
        for (const std::size_t k : groups[g]) {
          const Target::Axis& axis = target.axes()[k];
          sum += axis.distance[a % axis.extent * axis.extent + b % axis.extent];
          a /= axis.extent;
          b /= axis.extent;
        }
        distance_[g][x][first_[g] + y] = static_cast<float>(sum);
      }
    }
  }
  at_.resize(slots.size());
  for (std::uint32_t s = 0; s < slots.size(); ++s) {
    at_[s].fill(0);
    for (std::size_t g = 0; g < axes_; ++g) {
      std::uint32_t x = 0;
      std::uint32_t unit = 1;
      for (const std::size_t k : groups[g]) {
        x += unit * target.axes()[k].at[slots.place_of_slot(s)];
        unit *= target.axes()[k].extent;
      }
      at_[s][g] = static_cast<std::uint16_t>(first_[g] + x);
    }
  }
  field_.assign(static_cast<std::size_t>(slots.size()) * stride_, 0);
  for (std::uint32_t t = 0; t < slots.size(); ++t) {
    const auto& p = at_[slots.slot_of(t)];
    for (std::size_t g = 0; g < axes_; ++g) {
      add_to_partners(slots.begin(t), slots.end(t), 1, distance_[g][p[g] - first_[g]].data(), first_[g],
                      first_[g] + extent[g], stride_, field_.data());
    }
  }
}

// Fitted anew on another computer while other processes ran: what caches hold takes half of what it did on the Xeon of
// effort.hpp.
double AxisCosts::seconds(std::uint64_t proposals) const {
  const double far = effort::beyond_cache(field_.size() * sizeof(float));
  const auto n = [](std::uint64_t count) { return static_cast<double>(count); };
  return static_cast<double>(field_.size()) * 14e-9 + n(proposals) * (14e-9 + 5e-9 * far + 5.5e-9 * far * far) +
         n(swaps_) * (90e-9 + 60e-9 * far) + n(cells_) * (0.2e-9 + 0.16e-9 * far);
}

void AxisCosts::swap(std::uint32_t u, std::uint32_t v) {
  const auto& p = at_[slots_->slot_of(u)];
  const auto& q = at_[slots_->slot_of(v)];
  const std::uint32_t partners = slots_->degree(u) + slots_->degree(v);
  ++swaps_;
  for (std::size_t g = 0; g < axes_; ++g) {
    if (p[g] == q[g]) continue;
    const std::size_t from = first_[g];
    const std::size_t to = g + 1 < axes_ ? first_[g + 1] : stride_;
    const float* before = distance_[g][p[g] - from].data();
    const float* after = distance_[g][q[g] - from].data();
    cells_ += partners * (to - from);
    float row[520];
    for (std::size_t x = from; x < to; ++x) row[x - from] = after[x] - before[x];
    add_to_partners(slots_->begin(u), slots_->end(u), 1, row - from, from, to, stride_, field_.data());
    add_to_partners(slots_->begin(v), slots_->end(v), -1, row - from, from, to, stride_, field_.data());
  }
  slots_->swap(u, v);
}

}  // namespace isthmus::mapping

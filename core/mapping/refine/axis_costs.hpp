// The cost of every task at every coordinate: costs of swaps in constant time on grids.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mapping/refine/slots.hpp"

namespace isthmus::mapping {

/// Where distances are sums over coordinates, so is what a task pays at a place: for each coordinate one row of
/// sum over partners of bytes * distance from x. A swap is then judged by looking at eight or so numbers, whatever the
/// degrees, and only accepted swaps cost time for every partner. Coordinates of few values are joined, so that there
/// are at most four.
class AxisCosts {
 public:
  static constexpr std::size_t most_axes = 4;

  /// Can the target be treated so?
  static bool suits(const Target& target);

  AxisCosts(const Target& target, Slots& slots);

  /// Change of cost if u and v (different tasks) were swapped and had no bytes between them; bytes only make it worse.
  [[nodiscard]] float change_at_best(std::uint32_t u, std::uint32_t v) const {
    const std::uint16_t* p = at_[slots_->slot_of(u)].data();
    const std::uint16_t* q = at_[slots_->slot_of(v)].data();
    const float* fu = field_.data() + static_cast<std::size_t>(u) * stride_;
    const float* fv = field_.data() + static_cast<std::size_t>(v) * stride_;
    float sum = 0;
    for (std::size_t k = 0; k < axes_; ++k) sum += (fu[q[k]] - fu[p[k]]) + (fv[p[k]] - fv[q[k]]);
    return sum;
  }
  /// The part that change_at_best() leaves out: the bytes between the two do not get shorter.
  [[nodiscard]] float change_between(std::uint32_t u, std::uint32_t v) const {
    const float bytes = slots_->bytes_between(u, v);
    return bytes == 0 ? 0 : 2 * bytes * distance(slots_->slot_of(u), slots_->slot_of(v));
  }
  void swap(std::uint32_t u, std::uint32_t v);
  /// Processor time, about, of so many proposals and of all swaps and the set-up, see effort.hpp.
  [[nodiscard]] double seconds(std::uint64_t proposals) const;

 private:
  [[nodiscard]] float distance(std::uint32_t slot, std::uint32_t other) const {
    float sum = 0;
    for (std::size_t k = 0; k < axes_; ++k) sum += distance_[k][at_[slot][k] - first_[k]][at_[other][k]];
    return sum;
  }

  Slots* slots_;
  std::size_t axes_ = 0;
  std::size_t stride_ = 0;
  std::array<std::uint32_t, most_axes> first_{};  ///< where the row of an axis begins in a field
  /// distance_[k][x]: a whole field of bytes * distance from x, zero outside the axis.
  std::array<std::vector<std::vector<float>>, most_axes> distance_;
  std::vector<std::array<std::uint16_t, most_axes>> at_;  ///< of a slot: first_[k] + coordinate
  std::vector<float> field_;
  std::uint64_t swaps_ = 0;
  std::uint64_t cells_ = 0;  ///< numbers in fields that swaps changed
};

}  // namespace isthmus::mapping

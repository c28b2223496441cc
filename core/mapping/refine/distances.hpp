// Distances between slots where there is a table of them.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/problem/effort.hpp"
#include "mapping/refine/slots.hpp"

namespace isthmus::mapping {

/// The table of a target by rows, or one made for a few thousand places, or the target itself. Different tasks on one
/// place are at distance 0, which a table of rows cannot tell: places with room for several are rows of their own.
class Distances {
 public:
  Distances(const Target& target, const Slots& slots) : target_(&target), row_(slots.size()) {
    const bool single = target.slots() == target.places();
    constexpr std::uint32_t most = 4096;
    if (single && !target.table().empty()) {
      rows_ = target.rows();
      table_ = target.table();
    } else if (target.places() <= most) {
      rows_ = target.places();
      made_ = true;
      table_.resize(static_cast<std::size_t>(rows_) * rows_);
      for (std::uint32_t p = 0; p < rows_; ++p) {
        for (std::uint32_t q = 0; q < rows_ && !table_.empty(); ++q) {
          const std::uint32_t d = target.distance(p, q);
          if (d > 255) {
            table_.clear();
          } else {
            table_[static_cast<std::size_t>(p) * rows_ + q] = static_cast<std::uint8_t>(d);
          }
        }
      }
    }
    const bool by_row = single && !target.table().empty();
    for (std::uint32_t s = 0; s < slots.size(); ++s) {
      const std::uint32_t p = slots.place_of_slot(s);
      row_[s] = by_row ? target.row(p) : p;
    }
  }

  [[nodiscard]] std::size_t memory() const { return table_.size() + row_.size() * sizeof(std::uint32_t); }
  /// Processor time that it took to make the table, about.
  [[nodiscard]] double set_up_seconds() const { return made_ ? 8e-9 * static_cast<double>(table_.size()) : 0; }
  /// And of a look at an edge in change() beyond that with a small table.
  [[nodiscard]] double more_of_edge() const {
    return table_.empty() ? 2 * effort::distance_by_links : 1.5e-9 * effort::beyond_cache(table_.size());
  }
  [[nodiscard]] std::uint32_t row(std::uint32_t slot) const { return row_[slot]; }
  /// Sum over the partners of `task`, but for `other`, of bytes * (distance from `to` - distance from `from`), which
  /// are slots.
  [[nodiscard]] float change(const Slots& slots, std::uint32_t task, std::uint32_t other, std::uint32_t from,
                             std::uint32_t to) const {
    float sum = 0;
    if (table_.empty()) {
      for (const Slots::Edge* e = slots.begin(task); e != slots.end(task); ++e) {
        if (e->to == other) continue;
        const std::uint32_t at = row_[slots.slot_of(e->to)];
        sum += e->bytes * (static_cast<float>(target_->distance(row_[to], at)) -
                           static_cast<float>(target_->distance(row_[from], at)));
      }
      return sum;
    }
    const std::uint8_t* near = table_.data() + static_cast<std::size_t>(row_[to]) * rows_;
    const std::uint8_t* far = table_.data() + static_cast<std::size_t>(row_[from]) * rows_;
    for (const Slots::Edge* e = slots.begin(task); e != slots.end(task); ++e) {
      const std::uint32_t at = row_[slots.slot_of(e->to)];
      const float bytes = e->to == other ? 0 : e->bytes;
      sum += bytes * static_cast<float>(static_cast<int>(near[at]) - static_cast<int>(far[at]));
    }
    return sum;
  }

 private:
  const Target* target_;
  std::uint32_t rows_ = 0;
  bool made_ = false;  ///< here, not by the target
  std::vector<std::uint8_t> table_;
  std::vector<std::uint32_t> row_;  ///< of a slot
};

}  // namespace isthmus::mapping

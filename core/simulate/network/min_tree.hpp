// The least of many numbers that grow one by one: a tree of minima, each of 16.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/assert.hpp"

namespace isthmus::simulate {

class MinTree {
 public:
  static constexpr double nothing = std::numeric_limits<double>::infinity();

  void clear() { size_ = 0; }
  void push_back(double value) {
    if (size_ % width == 0) at(0).resize(size_ + width, nothing);
    levels_[0][size_++] = value;
  }
  /// After the last push_back().
  void build() {
    height_ = 0;
    for (std::size_t n = size_; n > width; ++height_) {
      n = (n + width - 1) / width;
      std::vector<double>& above = at(height_ + 1);
      above.assign((n + width - 1) / width * width, nothing);
      for (std::size_t b = 0; b < n; ++b) above[b] = of_block(levels_[height_], b);
    }
  }
  [[nodiscard]] double value(std::size_t i) const { return levels_[0][i]; }
  /// Where the least is, the first of equal ones; nothing at all: the place of a number that is infinite, or 0.
  [[nodiscard]] std::size_t place() const {
    // Every level knows the least number of the blocks below it: there it is only looked for.
    const double least = of_block(levels_[height_], 0);
    std::size_t block = 0;
    for (std::size_t l = height_ + 1; l-- > 0;) {
      const double* v = &levels_[l][block * width];
      unsigned equal = 0;
      for (unsigned i = 0; i < width; ++i) equal |= static_cast<unsigned>(v[i] == least) << i;
      block = block * width + static_cast<std::size_t>(std::countr_zero(equal));
    }
    return block;
  }
  /// Number `i` becomes `value`, which is more.
  void raise(std::size_t i, double value) {
    ISTHMUS_ASSERT(value >= levels_[0][i]);
    for (std::size_t l = 0;; ++l) {
      const double before = levels_[l][i];
      levels_[l][i] = value;
      if (l == height_ || levels_[l + 1][i / width] < before) return;
      i /= width;
      value = of_block(levels_[l], i);
    }
  }

 private:
  static constexpr std::size_t width = 16;

  static double of_block(const std::vector<double>& level, std::size_t block) {
    const double* v = &level[block * width];
    double least[4] = {v[0], v[1], v[2], v[3]};
    for (std::size_t i = 4; i < width; i += 4)
      for (std::size_t j = 0; j < 4; ++j) least[j] = std::min(least[j], v[i + j]);
    return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
  }
  std::vector<double>& at(std::size_t level) {
    if (level >= levels_.size()) levels_.resize(level + 1);
    return levels_[level];
  }

  std::size_t size_ = 0;
  std::size_t height_ = 0;
  std::vector<std::vector<double>> levels_;
};

}  // namespace isthmus::simulate

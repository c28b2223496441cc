#include "mapping/balance/packing.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace isthmus::mapping {
namespace {

constexpr double rounding = 1e-12;

class Packing {
 public:
  /// `price` as in pack(), empty: the fullest bin that has room is tried first.
  Packing(std::span<const double> load, std::span<const double> room, std::span<const double> price)
      : load_(load), price_(price), left_(room.begin(), room.end()), order_(load.size()), where_(load.size(), 0) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return load_[a] > load_[b]; });
    rest_.assign(load.size() + 1, 0);
    for (std::size_t i = load.size(); i-- > 0;) rest_[i] = rest_[i + 1] + load_[order_[i]];
  }

  /// Has a packing been found?
  bool run() {
    constexpr int most_steps = 4000;
    for (int step = 0; step < most_steps; ++step) {
      if (open_.size() == order_.size()) return true;
      open_.push_back(bins(open_.size()));
      while (!open_.empty() && open_.back().empty()) {
        open_.pop_back();
        if (!open_.empty()) left_[where_[current()]] += load_[current()];
      }
      if (open_.empty()) {
        complete_ = true;
        return false;
      }
      where_[current()] = open_.back().back();
      open_.back().pop_back();
      left_[where_[current()]] -= load_[current()];
    }
    return false;
  }

  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const std::vector<std::uint32_t>& where() const { return where_; }

 private:
  [[nodiscard]] std::uint32_t current() const { return order_[open_.size() - 1]; }

  /// Bins for the task at a depth, the one to try first last; of bins with the same room one.
  [[nodiscard]] std::vector<std::uint32_t> bins(std::size_t depth) const {
    // What no further task fits is lost.
    double useful = 0;
    for (const double l : left_) useful += l >= load_[order_.back()] ? l : 0;
    if (useful < rest_[depth] * (1 - rounding)) return {};
    const std::uint32_t task = order_[depth];
    std::vector<std::uint32_t> out;
    for (std::uint32_t b = 0; b < left_.size(); ++b) {
      if (left_[b] >= load_[task]) out.push_back(b);
    }
    const auto rank = [&](std::uint32_t b) { return price_.empty() ? left_[b] : price_[task * left_.size() + b]; };
    std::stable_sort(out.begin(), out.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    std::vector<double> seen;
    std::erase_if(out, [&](std::uint32_t b) {
      if (std::find(seen.begin(), seen.end(), left_[b]) != seen.end()) return true;
      seen.push_back(left_[b]);
      return false;
    });
    std::reverse(out.begin(), out.end());
    return out;
  }

  std::span<const double> load_;
  std::span<const double> price_;
  std::vector<double> left_;
  std::vector<double> rest_;  ///< load from a depth on
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> where_;
  std::vector<std::vector<std::uint32_t>> open_;  ///< of every task that is down, the bins still to be tried
  bool complete_ = false;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> pack(std::span<const double> load, std::span<const double> room,
                                               std::span<const std::uint32_t> home, std::span<const double> cost) {
  std::vector<double> price(cost.begin(), cost.end());
  for (std::size_t t = 0; t < home.size(); ++t) {
    price[t * room.size() + home[t]] = -std::numeric_limits<double>::infinity();
  }
  Packing near_home(load, room, price);
  if (near_home.run()) return near_home.where();
  if (near_home.complete()) return std::nullopt;
  Packing fullest(load, room, {});
  return fullest.run() ? std::optional(fullest.where()) : std::nullopt;
}

}  // namespace isthmus::mapping

#include "mapping/regular/fold.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "base/interruption.hpp"
#include "mapping/regular/factor_tables.hpp"

namespace isthmus::mapping {
namespace {

/// Digits of x, fastest first, with reflection.
void reflected_digits(std::uint32_t x, const std::vector<Fold::Digit>& digits, std::uint32_t* out) {
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const std::uint32_t r = digits[k].radix;
    const std::uint32_t rest = x / r;
    out[k] = rest % 2 == 1 ? r - 1 - x % r : x % r;
    x = rest;
  }
}

using Digits = std::vector<std::vector<Fold::Digit>>;

struct Candidate {
  Digits digits;
  double bound;
};

class Folding {
 public:
  Folding(const TaskGrid& grid, const std::vector<NodeAxis>& axes) : grid_(grid), axes_(axes) {
    for (const NodeAxis& axis : axes) pairs_.push_back(pairs_at_distance(axis));
    tasks_ = 1;
    for (const std::uint32_t e : grid.extents) tasks_ *= e;
  }

  std::vector<Fold> run(std::size_t count) {
    constexpr std::size_t most_tables = 20'000;
    std::vector<std::uint32_t> host;
    for (const NodeAxis& axis : axes_) host.push_back(axis.extent());
    std::vector<Candidate> candidates;
    for (const FactorTable& table : factor_tables(grid_.extents, host, most_tables)) add_orders(table, candidates);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; });
    constexpr std::size_t most_arranged = 3000;
    if (candidates.size() > most_arranged) candidates.resize(most_arranged);
    std::vector<Fold> best;  // by cost
    for (Candidate& c : candidates) {
      if (best.size() == count && c.bound >= best.back().hop_bytes * (1 - 1e-9)) break;
      Fold fold = arranged(std::move(c.digits));
      const auto at = std::upper_bound(best.begin(), best.end(), fold.hop_bytes,
                                       [](double cost, const Fold& f) { return cost < f.hop_bytes; });
      if (best.size() == count && at == best.end()) continue;
      best.insert(at, std::move(fold));
      if (best.size() > count) best.pop_back();
    }
    return best;
  }

 private:
  /// Every order of the digits, up to a limit, with a bound of its cost.
  void add_orders(const FactorTable& table, std::vector<Candidate>& out) const {
    constexpr std::size_t most_orders = 48;
    Digits digits(grid_.extents.size());
    std::vector<std::size_t> sharing(axes_.size(), 0);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      for (std::size_t j = 0; j < axes_.size(); ++j) {
        if (table[i * axes_.size() + j] == 1) continue;
        digits[i].push_back({static_cast<std::uint32_t>(j), table[i * axes_.size() + j]});
        ++sharing[j];
      }
    }
    // Digits that share their axis with the fewest others first: the cheapest steps should be the most frequent.
    const auto by_cost = [&](const Fold::Digit& a, const Fold::Digit& b) {
      if (sharing[a.axis] != sharing[b.axis]) return sharing[a.axis] < sharing[b.axis];
      return a.axis < b.axis;
    };
    for (auto& row : digits) std::sort(row.begin(), row.end(), by_cost);
    std::size_t orders = 0;
    std::function<void(std::size_t)> permute = [&](std::size_t i) {
      if (orders >= most_orders) return;
      if (i == digits.size()) {
        ++orders;
        out.push_back({digits, bound(digits)});
        return;
      }
      const auto sorted = digits[i];
      do {
        interruption_point();
        permute(i + 1);
      } while (std::next_permutation(digits[i].begin(), digits[i].end(), by_cost));
      digits[i] = sorted;
    };
    permute(0);
  }

  /// The grid of blocks on axis j: pairs weighted so that the cost of an arrangement is its part of the hop-bytes.
  [[nodiscard]] BlockGrid blocks(const Digits& digits, std::size_t j) const {
    BlockGrid out;
    const double places = axes_[j].extent();
    std::vector<std::uint32_t> last(axes_.size() + 1);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const auto k = static_cast<std::size_t>(
          std::find_if(digits[i].begin(), digits[i].end(), [&](const auto& d) { return d.axis == j; }) -
          digits[i].begin());
      if (k == digits[i].size()) continue;
      const std::uint32_t r = digits[i][k].radix;
      double slower = 1;
      for (std::size_t l = k + 1; l < digits[i].size(); ++l) slower *= digits[i][l].radix;
      // A line of tasks along i, spread evenly over the blocks that differ in other dimensions.
      const double line = grid_.bytes[i] * (static_cast<double>(tasks_) / grid_.extents[i]) / (places / r);
      out.extents.push_back(r);
      out.weight.push_back(line * slower);
      reflected_digits(grid_.filled[i] - 1, digits[i], last.data());
      out.closing.push_back(last[k]);
      out.closing_weight.push_back(grid_.wrap[i] && grid_.filled[i] > 2 ? line : 0);
    }
    return out;
  }

  [[nodiscard]] double bound(const Digits& digits) const {
    double sum = 0;
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      if (axes_[j].extent() > 1) sum += layout_bound(blocks(digits, j), pairs_[j]);
    }
    return sum;
  }

  Fold arranged(Digits&& digits) {
    Fold out{std::move(digits), {}, 0};
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      const BlockGrid grid = blocks(out.digits, j);
      if (grid.extents.empty()) {
        out.position.push_back({0});
        continue;
      }
      // Arrangements depend on the ratios of weights only, and on axes that are alike.
      double scale = 0;
      for (const double w : grid.weight) scale = std::max(scale, w);
      if (scale == 0) scale = 1;
      std::vector<double> key{static_cast<double>(std::find(axes_.begin(), axes_.end(), axes_[j]) - axes_.begin())};
      for (std::size_t i = 0; i < grid.extents.size(); ++i) {
        key.insert(key.end(), {double{0} + grid.extents[i], grid.weight[i] / scale, double{0} + grid.closing[i],
                               grid.closing_weight[i] / scale});
      }
      auto [known, added] = arrangements_.try_emplace(std::move(key));
      if (added) {
        known->second = lay_out(grid, axes_[j]);
        known->second.cost /= scale;
      }
      out.position.push_back(known->second.position);
      out.hop_bytes += known->second.cost * scale;
    }
    return out;
  }

  const TaskGrid& grid_;
  const std::vector<NodeAxis>& axes_;
  std::uint64_t tasks_;
  std::vector<std::vector<std::uint64_t>> pairs_;
  std::map<std::vector<double>, AxisLayout> arrangements_;
};

}  // namespace

std::vector<Fold> folds(const TaskGrid& grid, const std::vector<NodeAxis>& axes, std::size_t count) {
  return Folding(grid, axes).run(count);
}

FoldTable::FoldTable(const Fold& fold, const TaskGrid& grid, std::size_t axes)
    : fold_(fold), axes_(axes), block_(grid.extents.size()) {
  std::vector<std::uint32_t> stride(axes, 1);
  std::vector<std::uint32_t> digit(axes + 1);
  for (std::size_t i = 0; i < block_.size(); ++i) {
    block_[i].assign(std::size_t{grid.extents[i]} * axes, 0);
    const auto& digits = fold.digits[i];
    for (std::uint32_t x = 0; x < grid.extents[i]; ++x) {
      reflected_digits(x, digits, digit.data());
      for (std::size_t k = 0; k < digits.size(); ++k) {
        block_[i][x * axes + digits[k].axis] = digit[k] * stride[digits[k].axis];
      }
    }
    for (const auto& d : digits) stride[d.axis] *= d.radix;
  }
}

void FoldTable::coordinates(const std::uint32_t* x, std::uint32_t* out) const {
  std::fill_n(out, axes_, 0U);
  for (std::size_t i = 0; i < block_.size(); ++i) {
    const std::uint32_t* part = block_[i].data() + std::size_t{x[i]} * axes_;
    for (std::size_t j = 0; j < axes_; ++j) out[j] += part[j];
  }
  for (std::size_t j = 0; j < axes_; ++j) out[j] = fold_.position[j][out[j]];
}

}  // namespace isthmus::mapping

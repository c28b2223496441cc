#include "proof/contributions.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace isthmus::proof {
namespace {

std::uint64_t pair_of(std::uint32_t a, std::uint32_t b) { return std::uint64_t{std::min(a, b)} << 32 | std::max(a, b); }

}  // namespace

Contributions::Contributions(Rank ranks) : ranks_(ranks), first_{0, 0, 0} {
  rehash(64);
  for (Rank r = 0; r < ranks; ++r) {
    const RankRange one{r, r + 1};
    find({&one, 1});
  }
}

Contributions::Set Contributions::range(RankRange range) {
  if (range.first >= range.end) return nothing;
  return find({&range, 1});
}

std::span<const RankRange> Contributions::ranges(Set set) const {
  return {pool_.data() + first_[set], pool_.data() + first_[set + 1]};
}

Contributions::Set Contributions::sum(Set a, Set b) {
  const auto known = sums_.find(pair_of(a, b));
  if (known != sums_.end()) return known->second;
  if (!merge(a, b, false)) return nothing;
  const Set out = find(merged_);
  sums_.emplace(pair_of(a, b), out);
  return out;
}

Contributions::Set Contributions::concatenation(Set a, Set b) {
  if (ranges(a).back().end != ranges(b).front().first) return nothing;
  return sum(a, b);
}

Contributions::Set Contributions::all_of(Set a, Set b) {
  if (a == b || b == nothing) return a;
  if (a == nothing) return b;
  const auto known = unions_.find(pair_of(a, b));
  if (known != unions_.end()) return known->second;
  merge(a, b, true);
  const Set out = find(merged_);
  unions_.emplace(pair_of(a, b), out);
  return out;
}

Contributions::Set Contributions::rotated(Set set, Rank by) {
  if (set <= unknown || by == 0) return set;
  const auto old = ranges(set);
  if (old.size() == 1 && old[0].end - old[0].first == ranks_) return set;
  merged_.clear();
  const auto add = [&](std::uint64_t first, std::uint64_t end) {
    if (!merged_.empty() && merged_.back().end == first) merged_.back().end = static_cast<Rank>(end);
    else merged_.push_back({static_cast<Rank>(first), static_cast<Rank>(end)});
  };
  // What comes round the end is first.
  for (const RankRange range : old) {
    const std::uint64_t first = std::uint64_t{range.first} + by, end = std::uint64_t{range.end} + by;
    if (end > ranks_) add(std::max<std::uint64_t>(first, ranks_) - ranks_, end - ranks_);
  }
  for (const RankRange range : old) {
    const std::uint64_t first = std::uint64_t{range.first} + by, end = std::uint64_t{range.end} + by;
    if (first < ranks_) add(first, std::min<std::uint64_t>(end, ranks_));
  }
  return find(merged_);
}

Rank Contributions::common(Set a, Set b) const {
  const auto left = ranges(a), right = ranges(b);
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    const Rank first = std::max(left[i].first, right[j].first);
    if (first < std::min(left[i].end, right[j].end)) return first;
    if (left[i].end < right[j].end) ++i;
    else ++j;
  }
  return any_rank;
}

std::string Contributions::text(Set set) const {
  if (set == nothing) return "nothing";
  if (set == unknown) return "something already wrong";
  constexpr std::size_t shown = 6;
  const auto all = ranges(set);
  std::string out = all.size() == 1 && all[0].end == all[0].first + 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == shown) return out + message(" and ", all.size() - shown, " more ranges");
    if (i != 0) out += i + 1 == all.size() ? " and " : ", ";
    out += message(all[i].first);
    if (all[i].end != all[i].first + 1) out += message("-", all[i].end - 1);
  }
  return out;
}

bool Contributions::merge(Set a, Set b, bool may_overlap) {
  merged_.clear();
  auto left = ranges(a), right = ranges(b);
  while (!left.empty() || !right.empty()) {
    const bool take_left = right.empty() || (!left.empty() && left.front().first <= right.front().first);
    auto& from = take_left ? left : right;
    const RankRange next = from.front();
    from = from.subspan(1);
    if (merged_.empty() || merged_.back().end < next.first) {
      merged_.push_back(next);
      continue;
    }
    if (merged_.back().end > next.first && !may_overlap) return false;
    merged_.back().end = std::max(merged_.back().end, next.end);
  }
  return true;
}

std::uint64_t Contributions::hash(std::span<const RankRange> ranges) {
  std::uint64_t h = 0x9E3779B97F4A7C15;
  for (const RankRange& range : ranges) {
    h = (h ^ (std::uint64_t{range.first} << 32 | range.end)) * 0xBF58476D1CE4E5B9;
    h ^= h >> 29;
  }
  return h;
}

Contributions::Set Contributions::find(std::span<const RankRange> wanted) {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash(wanted) & mask;
  for (; table_[slot] != 0; slot = (slot + 1) & mask) {
    const auto known = ranges(table_[slot]);
    if (std::equal(known.begin(), known.end(), wanted.begin(), wanted.end())) return table_[slot];
  }
  const auto set = static_cast<Set>(first_.size() - 1);
  table_[slot] = set;
  pool_.insert(pool_.end(), wanted.begin(), wanted.end());
  first_.push_back(pool_.size());
  if (2 * first_.size() > table_.size()) rehash(2 * table_.size());
  return set;
}

void Contributions::rehash(std::size_t slots) {
  table_.assign(slots, 0);
  for (Set set = 2; set + 1 < first_.size(); ++set) {
    std::size_t slot = hash(ranges(set)) & (slots - 1);
    while (table_[slot] != 0) slot = (slot + 1) & (slots - 1);
    table_[slot] = set;
  }
}

}  // namespace isthmus::proof

#include "collectives/write/groups.hpp"

#include <cmath>
#include <unordered_map>

#include "base/error.hpp"
#include "schedule/names.hpp"

namespace isthmus::collectives {

Groups::Groups(const CollectiveCall& call) : group_(call.ranks), place_(call.ranks), members_(call.ranks) {
  const std::vector<Rank>& given = call.options->groups;
  if (given.size() <= 1) {
    const auto standard = static_cast<Rank>(std::ceil(std::sqrt(static_cast<double>(call.ranks))));
    const Rank size = given.empty() ? standard : given[0];
    require(size != 0, "option groups of ", name_of(call.kind), ": a group must have at least one rank");
    for (Rank r = 0; r < call.ranks; ++r) group_[r] = r / size;
    first_.resize((call.ranks - 1) / size + std::size_t{2});
  } else {
    std::unordered_map<Rank, Rank> numbers;
    for (Rank r = 0; r < call.ranks; ++r) {
      const Rank world = call.world.empty() ? r : call.world[r];
      require(world < given.size(), "option groups of ", name_of(call.kind), ": ", given.size(),
              " numbers, but none for rank ", world);
      group_[r] = numbers.try_emplace(given[world], static_cast<Rank>(numbers.size())).first->second;
    }
    first_.resize(numbers.size() + 1);
  }
  for (const Rank group : group_) ++first_[group + std::size_t{1}];
  for (std::size_t g = 1; g < first_.size(); ++g) first_[g] += first_[g - 1];
  std::vector<Rank> next(first_.begin(), first_.end() - 1);
  for (Rank r = 0; r < call.ranks; ++r) {
    const Rank at = next[group_[r]]++;
    place_[r] = at - first_[group_[r]];
    members_[at] = r;
  }
}

}  // namespace isthmus::collectives

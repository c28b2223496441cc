// What was used last comes first, so that it is found at once; of what nobody uses only so much is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace isthmus::runtime {

/// The first one that serves, which comes first then; null: none does.
template <class T, class Serves>
T* find_recent(std::vector<std::unique_ptr<T>>& kept, const Serves& serves) {
  const auto at = std::find_if(kept.begin(), kept.end(), [&](const auto& one) { return serves(*one); });
  if (at == kept.end()) return nullptr;
  std::rotate(kept.begin(), at, std::next(at));
  return kept.front().get();
}

/// What is in use stays, and takes no place from others.
template <class T, class Unused>
T& add_recent(std::vector<std::unique_ptr<T>>& kept, std::unique_ptr<T> made, std::size_t most, const Unused& unused) {
  const auto is_unused = [&](const auto& one) { return unused(*one); };
  if (static_cast<std::size_t>(std::count_if(kept.begin(), kept.end(), is_unused)) >= most)
    kept.erase(std::next(std::find_if(kept.rbegin(), kept.rend(), is_unused)).base());
  kept.insert(kept.begin(), std::move(made));
  return *kept.front();
}

}  // namespace isthmus::runtime

#include "runtime/pgas/meeting.hpp"

#include <algorithm>

#include "runtime/transport/delay.hpp"

namespace isthmus::runtime {

Meeting::Meeting(const Segments& segments, Flags flags, Rank rank, Rank ranks)
    : segments_(segments), flags_(flags), rank_(rank), ranks_(ranks) {
  while ((std::uint64_t{1} << steps_) < ranks) ++steps_;
}

void Meeting::pass(std::uint64_t number) {
  const std::uint64_t at = number - reached_[0] - 1;
  if (passed_.size() <= at) passed_.resize(at + 1);
  passed_[at] = true;
  const auto first = std::find(passed_.begin(), passed_.end(), false);
  reached_[0] += static_cast<std::uint64_t>(first - passed_.begin());
  passed_.erase(passed_.begin(), first);
}

bool Meeting::all(std::uint64_t number) {
  for (std::uint32_t step = 0; step < steps_; ++step) {
    if (reached_[step] > told_[step]) {
      const auto to = static_cast<Rank>((rank_ + (std::uint64_t{1} << step)) % ranks_);
      maybe_delay();
      (segments_.control(to).*flags_)[step].reached.store(reached_[step], std::memory_order_release);
      told_[step] = reached_[step];
    }
    maybe_delay();
    const std::uint64_t heard = (segments_.control(rank_).*flags_)[step].reached.load(std::memory_order_acquire);
    reached_[step + 1] = std::min(reached_[step], heard);
    if (reached_[step + 1] < number) return false;
  }
  return reached_[steps_] >= number;
}

}  // namespace isthmus::runtime

#include "runtime/pgas/meeting.hpp"

#include <algorithm>

#include "runtime/transport/delay.hpp"

namespace isthmus::runtime {

Meeting::Meeting(std::span<MeetingFlag* const> flags, Rank rank) : flags_(flags), rank_(rank) {
  while ((std::uint64_t{1} << steps_) < flags.size()) ++steps_;
}

bool Meeting::all(std::uint64_t number) {
  for (std::uint32_t step = 0; step < steps_; ++step) {
    if (reached_[step] > told_[step]) {
      const std::size_t to = (rank_ + (std::uint64_t{1} << step)) % flags_.size();
      maybe_delay();
      flags_[to][step].reached.store(reached_[step], std::memory_order_release);
      told_[step] = reached_[step];
    }
    maybe_delay();
    const std::uint64_t heard = flags_[rank_][step].reached.load(std::memory_order_acquire);
    reached_[step + 1] = std::min(reached_[step], heard);
    if (reached_[step + 1] < number) return false;
  }
  return reached_[steps_] >= number;
}

}  // namespace isthmus::runtime

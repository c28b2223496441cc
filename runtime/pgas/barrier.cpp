#include "runtime/pgas/barrier.hpp"

#include "runtime/transport/delay.hpp"

namespace isthmus::runtime {

Barrier::Barrier(const Segments& segments, const std::unique_ptr<Far>& far, Rank rank, Rank ranks)
    : segments_(segments), far_(far), rank_(rank), ranks_(ranks) {
  while ((std::uint64_t{1} << rounds_) < ranks) ++rounds_;
}

void Barrier::notify(const std::int64_t* id) {
  ++epoch_;
  round_ = 0;
  notified_ = true;
  numbers_ = {};
  if (id != nullptr) numbers_ = {*id, 0, rank_, 0, BarrierNumbers::number};
  if (rounds_ > 0) tell();
}

void Barrier::tell() {
  const auto to = static_cast<Rank>((rank_ + (std::uint64_t{1} << round_)) % ranks_);
  if (!segments_.is_near(to)) return far_->tell(to, epoch_, round_, numbers_);
  BarrierFlag& flag = segments_.control(to).flags[epoch_ % 2][round_];
  flag.numbers = numbers_;
  maybe_delay();
  flag.epoch.store(epoch_, std::memory_order_release);
}

void Barrier::learn(const BarrierNumbers& theirs) {
  if (theirs.known == BarrierNumbers::nothing || differs()) return;
  if (theirs.known == BarrierNumbers::different || numbers_.known == BarrierNumbers::nothing) {
    numbers_ = theirs;
  } else if (theirs.id != numbers_.id) {
    numbers_.other_id = theirs.id;
    numbers_.other = theirs.rank;
    numbers_.known = BarrierNumbers::different;
  }
}

bool Barrier::go_on() {
  while (round_ < rounds_) {
    const BarrierFlag& flag = segments_.control(rank_).flags[epoch_ % 2][round_];
    maybe_delay();
    if (flag.epoch.load(std::memory_order_acquire) != epoch_) return false;
    learn(flag.numbers);
    if (++round_ < rounds_) tell();
  }
  return true;
}

}  // namespace isthmus::runtime

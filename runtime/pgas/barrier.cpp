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
  known_ = id == nullptr ? nothing : number;
  id_ = id == nullptr ? 0 : *id;
  if (rounds_ > 0) tell();
}

void Barrier::tell() {
  const auto to = static_cast<Rank>((rank_ + (std::uint64_t{1} << round_)) % ranks_);
  if (!segments_.is_near(to)) return far_->tell(to, epoch_, round_, id_, known_);
  BarrierFlag& flag = segments_.control(to).flags[epoch_ % 2][round_];
  flag.id = id_;
  flag.known = known_;
  maybe_delay();
  flag.epoch.store(epoch_, std::memory_order_release);
}

void Barrier::learn(const BarrierFlag& flag) {
  if (flag.known == different || (flag.known == number && known_ == number && flag.id != id_)) {
    known_ = different;
  } else if (flag.known == number && known_ == nothing) {
    known_ = number;
    id_ = flag.id;
  }
}

bool Barrier::go_on() {
  while (round_ < rounds_) {
    const BarrierFlag& flag = segments_.control(rank_).flags[epoch_ % 2][round_];
    maybe_delay();
    if (flag.epoch.load(std::memory_order_acquire) != epoch_) return false;
    learn(flag);
    if (++round_ < rounds_) tell();
  }
  return true;
}

}  // namespace isthmus::runtime

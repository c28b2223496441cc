#include "runtime/transport/nodes/nodes.hpp"

#include <utility>

namespace isthmus::runtime {

NodesTransport::NodesTransport(std::unique_ptr<MpiTransport> far, std::unique_ptr<RingTransport> near,
                               const std::vector<Rank>& mates)
    : far_(std::move(far)), near_(std::move(near)), near_rank_(far_->ranks(), not_near) {
  for (Rank r = 0; r < mates.size(); ++r) near_rank_[mates[r]] = r;
  if (near_->looks() < looks()) take_turns();
  near_->follow(*this);
  count_contexts();
}

bool NodesTransport::send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) {
  if (!failure().empty()) return false;
  const Rank near = near_rank_[to];
  if (near == not_near) return far_->send(to, key, bytes, count, token);
  return near_->send(near, key, bytes, count, token);
}

bool NodesTransport::recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) {
  if (!failure().empty()) return false;
  const Rank near = near_rank_[from];
  if (near == not_near) return far_->recv(from, key, bytes, count, token);
  return near_->recv(near, key, bytes, count, token);
}

std::size_t NodesTransport::poll(Token* ended, std::size_t most) {
  // A look at MPI costs more than all of the other's: where nothing of ours is under way there, now and then.
  constexpr std::uint32_t seldom = 256;
  std::size_t count = near_->poll(ended, most);
  const bool waits = count == 0 && ++turns_ % seldom == 0;
  if (count < most && (far_->is_busy() || waits)) count += far_->poll(ended + count, most - count);
  if (waits) near_->watch();
  join_failures();
  return count;
}

void NodesTransport::watch() {
  near_->watch();
  join_failures();
}

/// What fails here ends the waiting of all ranks, not of this node's only.
void NodesTransport::join_failures() {
  if (!failure().empty()) return;
  if (!near_->failure().empty()) far_->raise(near_->failure());
  if (!far_->failure().empty()) fail(far_->failure());
}

const std::string& NodesTransport::notice() const {
  return Transport::notice().empty() ? near_->notice() : Transport::notice();
}

}  // namespace isthmus::runtime

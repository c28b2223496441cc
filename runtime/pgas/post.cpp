#include "runtime/pgas/post.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/transport/nodes/nodes.hpp"

namespace isthmus::runtime {

Post::Post(MpiTransport& far)
    : far_(far), room_(std::min<std::size_t>(usual_room, far.most() / 16 * 16)), peers_(far.ranks()) {}

Post* Post::of(Transport& transport) {
  auto* far = dynamic_cast<MpiTransport*>(&transport);
  if (const auto* const nodes = dynamic_cast<NodesTransport*>(&transport); nodes != nullptr) far = &nodes->far();
  if (far == nullptr || far->ranks() == 1) return nullptr;
  if (far->listener() == nullptr) {
    auto made = std::make_unique<Post>(*far);
    Post& post = *made;
    far->listen(std::move(made));
    post.listen();
  }
  return static_cast<Post*>(far->listener());
}

Way Post::way() const {
  if (far_.is_network()) return Way::network(most());
  Way way = Way::unasked();
  way.room = std::min(way.room, most());
  return way;
}

void Post::enter(std::uint32_t number, Receiver& receiver) {
  receivers_.resize(std::max<std::size_t>(receivers_.size(), number + 1));
  receivers_[number] = &receiver;
}

std::uint32_t Post::buffer() {
  if (spare_.empty()) {
    spare_.push_back(static_cast<std::uint32_t>(buffers_.size()));
    buffers_.push_back(std::make_unique<std::byte[]>(room_));
  }
  const std::uint32_t number = spare_.back();
  spare_.pop_back();
  return number;
}

void Post::listen() {
  for (; listening_ < listeners; ++listening_) {
    const std::uint32_t number = buffer();
    far_.listener_receives(ISTHMUS_WIRE_ANY, letters, buffers_[number].get(), room_, token(Kind::in, number));
  }
}

Letter& Post::fresh() {
  filled_ = buffer();
  Letter& made = letter(filled_);
  made = {};
  return made;
}

void Post::send(Rank to, Letter& filled, std::size_t bytes) {
  Peer& peer = peers_[to];
  filled.origin = far_.rank();
  filled.sequence = peer.sent++;
  filled.credits = static_cast<std::uint16_t>(std::exchange(peer.owed, 0));
  if (filled.asks()) --peer.credit;
  ++going_;
  far_.listener_sends(to, letters, buffers_[filled_].get(), sizeof(Letter) + bytes, token(Kind::out, filled_));
}

std::uint32_t Post::keep(Bulk bulk, std::size_t count) {
  if (spare_bulks_.empty()) {
    spare_bulks_.push_back(static_cast<std::uint32_t>(bulks_.size()));
    bulks_.emplace_back();
  }
  const std::uint32_t number = spare_bulks_.back();
  spare_bulks_.pop_back();
  bulk.pieces = static_cast<std::uint32_t>((count - 1) / far_.piece_of(count) + 1);
  bulks_[number] = bulk;
  ++going_;
  return number;
}

void Post::send_bulk(Rank to, Tag tag, const std::byte* bytes, std::size_t count, Bulk bulk) {
  bulk.leaves = far_.piece_of(count) < count ? count : 0;
  bulk.to = to;
  const Held one{bytes, count, tag, keep(bulk, count)};
  if (bulk.leaves == 0 && !held_.contains(to)) return begin(to, one);
  held_[to].push_back(one);
  let_go(to);
}

void Post::begin(Rank to, const Held& one) {
  const std::uint64_t piece = far_.piece_of(one.count);
  for (std::size_t at = 0; at < one.count; at += piece)
    far_.listener_sends(to, one.tag, one.bytes + at, std::min<std::size_t>(piece, one.count - at),
                        token(Kind::bulk, one.number));
}

/// Of those to a rank what may go, in their order.
void Post::let_go(Rank to) {
  const auto found = held_.find(to);
  if (found == held_.end()) return;
  std::uint64_t& there = peers_[to].leaving;
  for (std::deque<Held>& held = found->second; !held.empty(); held.pop_front()) {
    const std::uint64_t bytes = bulks_[held.front().number].leaves;
    if (bytes > 0 && there > 0 && leaving_ + bytes > most_leaving) return;
    there += bytes;
    leaving_ += bytes;
    begin(to, held.front());
  }
  held_.erase(found);
}

void Post::receive_bulk(Rank from, Tag tag, std::byte* bytes, std::size_t count, Bulk bulk) {
  const std::uint32_t number = keep(bulk, count);
  const std::uint64_t piece = far_.piece_of(count);
  for (std::size_t at = 0; at < count; at += piece)
    far_.listener_receives(from, tag, bytes + at, std::min<std::size_t>(piece, count - at), token(Kind::bulk, number));
}

void Post::ended(std::uint64_t token) {
  const auto number = static_cast<std::uint32_t>(token);
  switch (static_cast<Kind>(token >> 56)) {
    case Kind::in:
      --listening_;
      arrived_.push_back(number);
      break;
    case Kind::out:
      --going_;
      spare_.push_back(number);
      break;
    case Kind::bulk:
      if (--bulks_[number].pieces == 0) finished_.push_back(number);
      break;
  }
}

void Post::give_back(std::uint32_t number) {
  const Letter& done = letter(number);
  const Rank origin = done.origin;
  spare_.push_back(number);
  if (peers_[origin].owed >= most_credit / 4) send(origin, fresh(), 0);
}

void Post::take(std::uint32_t number) {
  Letter& next = letter(number);
  Peer& peer = peers_[next.origin];
  ++peer.taken;
  peer.credit += next.credits;
  if (next.asks() && next.what != Letter::What::request) ++peer.owed;  // the answer says so
  Receiver* const receiver = next.space < receivers_.size() ? receivers_[next.space] : nullptr;
  const bool done = next.what == Letter::What::credit || receiver == nullptr || receiver->take(next, number);
  if (done) give_back(number);
}

/// False: one that was sent before has not arrived.
bool Post::came(std::uint32_t number) {
  const Letter& next = letter(number);
  if (next.sequence != peers_[next.origin].taken) return false;
  take(number);
  return true;
}

bool Post::go_on(bool looks) {
  if (looks) far_.look();
  if (arrived_.empty() && finished_.empty()) return false;
  // Whoever takes them sends, and does not look.
  for (const std::uint32_t number : finished_) {
    const Bulk bulk = bulks_[number];
    spare_bulks_.push_back(number);
    --going_;
    if (bulk.leaves > 0) {
      peers_[bulk.to].leaving -= bulk.leaves;
      leaving_ -= bulk.leaves;
      let_go(bulk.to);
    }
    if (bulk.space < receivers_.size() && receivers_[bulk.space] != nullptr) receivers_[bulk.space]->ended(bulk);
  }
  finished_.clear();
  for (const std::uint32_t number : arrived_) {
    if (!came(number)) {
      early_.push_back(number);
      continue;
    }
    while (std::erase_if(early_, [&](std::uint32_t one) { return came(one); }) > 0) {
    }
  }
  arrived_.clear();
  listen();
  return true;
}

}  // namespace isthmus::runtime

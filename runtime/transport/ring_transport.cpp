#include "runtime/transport/ring_transport.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace isthmus::runtime {

RingTransport::Peer& RingTransport::peer(Rank rank) {
  Peer& found = peers_[rank];
  if (!found.out.is_open()) {
    found.out.open(ring(rank_, rank));
    found.in.open(ring(rank, rank_));
  }
  return found;
}

void RingTransport::activate(Rank rank) {
  Peer& found = peers_[rank];
  if (found.listed) return;
  found.listed = true;
  active_.push_back(rank);
}

bool RingTransport::send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) {
  Peer& other = peer(to);
  const bool small = count <= Slot::room;
  std::uint64_t number = 0;
  if (!small) {
    if (spare_.empty()) {
      number = large_.size();
      large_.push_back(token);
    } else {
      number = spare_.back();
      spare_.pop_back();
      large_[number] = token;
    }
    ++other.owed;
    activate(to);
  }
  const Late parcel{small ? Parcel::eager : Parcel::waiting, key, bytes, count, number, token};
  if (other.late.empty() && put(other, parcel)) return small;
  other.late.push_back(parcel);
  activate(to);
  return false;
}

bool RingTransport::put(Peer& other, const Late& parcel) {
  Slot* slot = other.out.free();
  if (slot == nullptr) return false;
  slot->key = parcel.key;
  slot->count = parcel.count;
  slot->number = parcel.number;
  slot->address = reinterpret_cast<std::uintptr_t>(parcel.bytes);
  if (parcel.parcel == Parcel::eager && parcel.count > 0) std::memcpy(slot->bytes, parcel.bytes, parcel.count);
  other.out.pass(*slot, parcel.parcel);
  return true;
}

void RingTransport::flush(Peer& other) {
  while (!other.late.empty() && put(other, other.late.front())) {
    const Late& gone = other.late.front();
    if (gone.parcel == Parcel::eager) ended_.push_back(gone.token);
    other.late.pop_front();
  }
}

bool RingTransport::recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) {
  Peer& other = peer(from);
  const Posted receive{key, bytes, count, token};
  Early early;
  if (other.box.take_early(key, early)) {
    const std::size_t before = ended_.size();
    deliver(from, other, receive, early, early.bytes.get());
    if (ended_.size() > before) {
      ended_.pop_back();
      return true;
    }
    return false;
  }
  other.box.post(receive);
  activate(from);
  return false;
}

void RingTransport::deliver(Rank from, Peer& other, const Posted& receive, const Early& message,
                            const std::byte* bytes) {
  if (message.count != receive.count)
    return fail("rank " + std::to_string(from) + " sends " + std::to_string(message.count) + " bytes where rank " +
                std::to_string(rank_) + " receives " + std::to_string(receive.count));
  if (bytes != nullptr) {
    if (message.count > 0) std::memcpy(receive.bytes, bytes, message.count);
  } else {
    if (!fetch(from, message.address, receive.bytes, message.count))
      return fail("rank " + std::to_string(rank_) + " cannot read a message of rank " + std::to_string(from));
    const Late taken{Parcel::taken, {}, nullptr, 0, message.number, {}};
    if (!other.late.empty() || !put(other, taken)) {
      other.late.push_back(taken);
      activate(from);
    }
  }
  ended_.push_back(receive.token);
}

void RingTransport::settle(Peer& other, std::uint64_t number) {
  ended_.push_back(large_[number]);
  spare_.push_back(number);
  --other.owed;
}

void RingTransport::take(Rank from, Peer& other, Slot& slot) {
  const Parcel parcel = slot.parcel.load(std::memory_order_relaxed);
  if (parcel == Parcel::taken) {
    settle(other, slot.number);
    return other.in.give_back(slot);
  }
  Early message{slot.key, static_cast<std::size_t>(slot.count), slot.address, slot.number, nullptr};
  const bool here = parcel == Parcel::eager;
  Posted receive;
  if (other.box.take_posted(slot.key, receive)) {
    deliver(from, other, receive, message, here ? slot.bytes : nullptr);
  } else {
    if (here) {
      message.bytes = std::make_unique<std::byte[]>(std::max<std::size_t>(message.count, 1));
      std::memcpy(message.bytes.get(), slot.bytes, message.count);
    }
    other.box.keep(std::move(message));
  }
  other.in.give_back(slot);
}

std::size_t RingTransport::poll(Token* ended, std::size_t most) {
  if (failure().empty()) {
    for (std::size_t i = 0; i < active_.size();) {
      const Rank from = active_[i];
      Peer& other = peer(from);
      flush(other);
      while (Slot* slot = other.in.look()) take(from, other, *slot);
      if (is_active(other)) {
        ++i;
      } else {
        other.listed = false;
        active_[i] = active_.back();
        active_.pop_back();
      }
    }
  }
  const std::size_t count = std::min(most, ended_.size() - told_);
  std::copy_n(ended_.begin() + static_cast<std::ptrdiff_t>(told_), count, ended);
  told_ += count;
  if (told_ == ended_.size()) {
    ended_.clear();
    told_ = 0;
  }
  return count;
}

}  // namespace isthmus::runtime

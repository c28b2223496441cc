#include "runtime/transport/ring_transport.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace isthmus::runtime {
namespace {

void copy_bytes(std::byte* to, const std::byte* from, std::size_t count) {
  if (count > 0) std::memcpy(to, from, count);
}

/// In the number of what is in the ring of bytes: it might have stayed where it was; it was copied past the caches.
constexpr std::uint32_t might_stay = 1, went_past = 2;
/// In both this number and that of what stays: the caller of the sender may do something else meanwhile.
constexpr std::uint32_t goes_on = 1U << 31;

std::uint32_t kind_of(std::size_t count, std::uint32_t number) {
  return InPlace::kind_of(count, (number & goes_on) == 0);
}

/// Whether all bytes come with it.
bool is_whole(Parcel parcel) { return parcel == Parcel::small || parcel == Parcel::bulk; }

}  // namespace

bool RingTransport::open(Peer& peer, Rank rank) {
  if (!failure().empty()) return false;
  if (peer.out.is_open()) return true;
  Ring* const out = ring(rank_, rank);
  Ring* const in = out == nullptr ? nullptr : ring(rank, rank_);
  if (in == nullptr) return false;
  peer.out.open(*out);
  peer.in.open(*in);
  return true;
}

bool RingTransport::open_bulk(BulkRing& ring, Rank from, Rank to) {
  if (ring.is_open()) return true;
  std::byte* const memory = bulk_ring(from, to);
  if (memory == nullptr) return false;
  ring.open(memory, bulk_);
  return true;
}

void RingTransport::activate(Rank rank) {
  Peer& found = peers_[rank];
  if (found.listed) return;
  found.listed = true;
  active_.push_back(rank);
}

bool RingTransport::send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) {
  Peer& other = peers_[to];
  if (!open(other, to)) return false;
  Late parcel{Parcel::small, key, bytes, count, 0, token};
  bool stays = false;
  if (may_stay(to, count)) {
    parcel.number = might_stay | (waits() ? 0 : goes_on);
    stays = other.in_place.stays(kind_of(count, parcel.number), other.out.asked());
  }
  bool at_once = true;
  if (count > Cell::room) parcel.parcel = Parcel::bulk;
  if (stays || count > BulkRing::most(bulk_)) {
    if (count > Elsewhere::most) {
      fail("a message of " + std::to_string(count) + " bytes is longer than the " + std::to_string(Elsewhere::most) +
           " that go within a node");
      return false;
    }
    parcel.parcel = Parcel::waiting;
    const std::uint32_t how = parcel.number & goes_on;
    if (spare_.empty()) {
      spare_.push_back(static_cast<std::uint32_t>(large_.size()));
      large_.emplace_back();
    }
    parcel.number = spare_.back();
    spare_.pop_back();
    large_[parcel.number] = {token, bytes, count};
    parcel.number |= how;
    ++other.owed;
    activate(to);
    at_once = false;
  }
  if (other.late.empty() && put(to, other, parcel)) return at_once;
  other.late.push(parcel);
  activate(to);
  return false;
}

bool RingTransport::put(Rank to, Peer& other, const Late& parcel) {
  const bool small = parcel.parcel == Parcel::small;
  Cell* const cell = other.out.free(small ? Cell::cells(parcel.count) : 1);
  if (cell == nullptr) return false;
  if (small) {
    other.out.pass(parcel.key, parcel.bytes, parcel.count);
    return true;
  }
  std::uint64_t address = reinterpret_cast<std::uintptr_t>(parcel.bytes);
  std::uint32_t number = parcel.number;
  if (parcel.parcel == Parcel::bulk || parcel.parcel == Parcel::piece) {
    if (!open_bulk(other.bulk_out, rank_, to)) return false;
    std::byte* const room = other.bulk_out.room(parcel.bytes, parcel.count, address);
    if (room == nullptr) return false;
    if (copy_in(other, parcel, room)) number |= went_past;
  }
  cell->key = parcel.key;
  cell->elsewhere = Elsewhere::of(address, parcel.count, number);
  other.out.pass(parcel.parcel);
  return true;
}

bool RingTransport::copy_in(Peer& other, const Late& parcel, std::byte* room) {
  const std::size_t count = parcel.count;
  if (count <= Copying::least) {
    std::memcpy(room, parcel.bytes, count);
    return false;
  }
  const Copying::Way way = can_go_past ? other.copying.next(count, other.out.told()) : Copying::Way{};
  const std::uint64_t since = way.timed ? Faster::now() : 0;
  if (way.past) copy_past(room, parcel.bytes, count);
  else std::memcpy(room, parcel.bytes, count);
  if (way.timed) other.copying.copied_in(count, way.past, Faster::now() - since);
  return way.past;
}

void RingTransport::put_or_wait(Rank to, Peer& other, const Late& parcel) {
  if (other.late.empty() && put(to, other, parcel)) return;
  other.late.push(parcel);
  activate(to);
}

void RingTransport::flush(Rank to, Peer& other) {
  while (!other.late.empty() && put(to, other, other.late.front())) {
    const Late& gone = other.late.front();
    if (is_whole(gone.parcel)) ended_.push_back(gone.token);
    other.late.pop();
  }
  if (!other.outgoing.empty()) send_pieces(to, other);
}

void RingTransport::send_pieces(Rank to, Peer& other) {
  while (!other.outgoing.empty()) {
    Outgoing& message = other.outgoing.front();
    const Large& large = large_[message.number];
    const std::size_t now = std::min(large.count - message.done, BulkRing::most(bulk_));
    if (!put(to, other, {Parcel::piece, {}, large.bytes + message.done, now, 0, {}})) return;
    message.done += now;
    if (message.done < large.count) continue;
    settle(other, message.number);
    other.outgoing.pop();
  }
}

bool RingTransport::fits(Rank from, const Posted& receive, std::size_t count) {
  if (count == receive.count) return true;
  fail("rank " + words_of(from) + " sends " + std::to_string(count) + " bytes where rank " + words_of(rank_) +
       " receives " + std::to_string(receive.count));
  return false;
}

void RingTransport::deliver(const Posted& receive, const std::byte* bytes, std::size_t offset, std::size_t count) {
  const Token& token = receive.token;
  if (token.take != nullptr) token.take(token.owner, token.step, bytes, offset, count);
  else copy_bytes(receive.bytes + offset, bytes, count);
}

bool RingTransport::recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) {
  Peer& other = peers_[from];
  if (!open(other, from)) return false;
  const Posted receive{key, bytes, count, token};
  Early early;
  if (other.box.take_early(key, early)) {
    if (!fits(from, receive, early.count)) return false;
    if (!early.here) return this->receive(from, other, receive, early.address, early.number);
    deliver(receive, early.bytes.data(), 0, count);
    other.box.recycle(early);
    return true;
  }
  // What is first in the ring may be it, if no receive was there before this one.
  const Cell* const cell = other.box.awaits() ? nullptr : other.in.look();
  const Parcel parcel = cell == nullptr ? Parcel::none : cell->parcel();
  if (is_whole(parcel) && cell->key == key) {
    if (!fits(from, receive, cell->count())) return false;
    if (!deliver_first(from, other, *cell, receive)) return false;
    other.in.give_back();
    return true;
  }
  other.box.post(receive);
  activate(from);
  return false;
}

/// The bytes of a message that are at the sender, where they need not come piece by piece; in parts that stay in the
/// cache until they are taken, where somebody takes them.
RingTransport::Fetched RingTransport::fetch_all(Rank from, const Posted& receive, std::uint64_t address) {
  if (receive.token.take == nullptr) return fetch(from, address, receive.bytes, receive.count);
  constexpr std::size_t most = 32 << 10;
  if (part_.empty()) part_.resize(most);
  for (std::size_t done = 0; done < receive.count;) {
    const std::size_t now = std::min(receive.count - done, most);
    const Fetched found = fetch(from, address + done, part_.data(), now);
    // What has been taken cannot come again.
    if (found != Fetched::done) return done == 0 ? found : Fetched::failed;
    deliver(receive, part_.data(), done, now);
    done += now;
  }
  return Fetched::done;
}

/// A message whose bytes are at the sender. True if they are here now.
bool RingTransport::receive(Rank from, Peer& other, const Posted& receive, std::uint64_t address,
                            std::uint32_t number) {
  const std::uint32_t kind = kind_of(receive.count, number);
  number &= ~goes_on;  // what an answer names
  const bool taken = receive.token.take != nullptr, may = receive.count <= BulkRing::most(bulk_);
  const bool chooses = pieces_ == Pieces::where_faster && from != rank_ && !may;
  const bool in_pieces = chooses ? faster_.in_pieces(receive.count, taken, receive.key.context)
                                 : pieces_ == Pieces::always && from != rank_;
  const std::uint64_t since = chooses ? Faster::now() : 0;
  switch (in_pieces ? Fetched::refused : fetch_all(from, receive, address)) {
    case Fetched::done:
      if (chooses) faster_.took(false, receive.count, taken, since);
      if (may) ask(other, kind, true);
      put_or_wait(from, other, {Parcel::taken, {}, nullptr, 0, number, {}});
      return true;
    case Fetched::refused:
      if (may) ask_for_none();
      // What is refused is known only now; what waits for the message before it would be timed with that one.
      other.incoming.push({receive, 0, in_pieces && other.incoming.empty() ? since : 0});
      activate(from);
      put_or_wait(from, other, {Parcel::wanted, {}, nullptr, 0, number, {}});
      return false;
    case Fetched::failed: fail("rank " + words_of(rank_) + " cannot read a message of rank " + words_of(from));
  }
  return false;
}

void RingTransport::settle(Peer& other, std::uint32_t number) {
  ended_.push_back(large_[number].token);
  spare_.push_back(number);
  --other.owed;
}

bool RingTransport::deliver_first(Rank from, Peer& other, const Cell& cell, const Posted& receive) {
  if (cell.parcel() == Parcel::small) {
    std::byte room[Cell::room];
    if (receive.token.take == nullptr) other.in.read(receive.bytes);
    else deliver(receive, other.in.bytes(room), 0, receive.count);
    return true;
  }
  if (!open_bulk(other.bulk_in, from, rank_)) return false;
  const std::uint32_t number = cell.elsewhere.number();
  copy_out(other, cell, receive, 0);
  if (asks_ && (number & might_stay) != 0) ask(other, kind_of(receive.count, number), false);
  return true;
}

/// What is in the ring of bytes.
void RingTransport::copy_out(Peer& other, const Cell& cell, const Posted& receive, std::size_t offset) {
  const std::size_t count = cell.count();
  const bool past = (cell.elsewhere.number() & went_past) != 0;
  const bool compared = can_go_past && count > Copying::least && other.copying.times(count, past);
  const std::uint64_t since = compared ? Faster::now() : 0;
  deliver(receive, other.bulk_in.at(cell.elsewhere.address), offset, count);
  const std::uint64_t took = compared ? Faster::now() - since : 0;
  other.bulk_in.give_back(cell.elsewhere.address, count);
  if (compared) {
    other.copying.copied_out(count, past, took);
    other.in.tell(other.copying.told());
  }
}

/// After a message: how the next ones are to come.
void RingTransport::ask(Peer& other, std::uint32_t kind, bool stayed) {
  const std::uint32_t before = other.in_place.asked();
  const std::uint32_t asked = other.in_place.received(kind, stayed, Faster::now);
  if (asked != before) other.in.ask(asked);
}

/// Bytes cannot be taken from where they are: that is not asked for any more.
void RingTransport::ask_for_none() {
  for (Peer& other : peers_) {
    if (other.in_place.asked() != 0) other.in.ask(0);
    other.in_place.refuse();
  }
}

bool RingTransport::keep_first(Rank from, Peer& other, const Cell& cell) {
  const Early message{cell.key, cell.count(), 0, 0, true, {}};
  if (cell.parcel() == Parcel::small) {
    std::byte room[Cell::room];
    other.box.keep(message, other.in.bytes(room));
    return true;
  }
  if (!open_bulk(other.bulk_in, from, rank_)) return false;
  other.box.keep(message, other.bulk_in.at(cell.elsewhere.address));
  other.bulk_in.give_back(cell.elsewhere.address, message.count);
  return true;
}

void RingTransport::take_piece(Rank from, Peer& other, const Cell& cell) {
  if (!open_bulk(other.bulk_in, from, rank_)) return;
  Incoming& message = other.incoming.front();
  copy_out(other, cell, message.receive, message.done);
  message.done += cell.count();
  if (message.done < message.receive.count) return;
  if (message.since != 0) faster_.took(true, message.done, message.receive.token.take != nullptr, message.since);
  ended_.push_back(message.receive.token);
  other.incoming.pop();
}

void RingTransport::take(Rank from, Peer& other, const Cell& cell) {
  const Parcel parcel = cell.parcel();
  const std::size_t count = cell.count();
  Posted found;
  switch (parcel) {
    case Parcel::none: return;
    case Parcel::taken: settle(other, cell.elsewhere.number()); break;
    case Parcel::wanted: other.outgoing.push({cell.elsewhere.number(), 0}); break;
    case Parcel::piece: take_piece(from, other, cell); break;
    case Parcel::waiting:
      if (!other.box.take_posted(cell.key, found)) {
        other.box.keep({cell.key, count, cell.elsewhere.address, cell.elsewhere.number(), false, {}}, nullptr);
      } else if (fits(from, found, count) &&
                 receive(from, other, found, cell.elsewhere.address, cell.elsewhere.number())) {
        ended_.push_back(found.token);
      }
      break;
    case Parcel::small:
    case Parcel::bulk:
      if (!other.box.take_posted(cell.key, found)) {
        if (!keep_first(from, other, cell)) return;
      } else if (fits(from, found, count)) {
        if (!deliver_first(from, other, cell, found)) return;
        ended_.push_back(found.token);
      }
  }
  if (failure().empty()) other.in.give_back();
}

std::size_t RingTransport::poll(Token* ended, std::size_t most) {
  constexpr std::uint32_t patience = 1 << 10;
  if (failure().empty()) {
    bool idle = true;
    for (std::size_t i = 0; i < active_.size() && failure().empty();) {
      const Rank from = active_[i];
      Peer& other = peers_[from];
      while (const Cell* cell = other.in.look()) {
        take(from, other, *cell);
        idle = false;
        // What nobody waits for yet stays in the ring, so that a sender that is ahead waits: to keep it would take
        // fresh memory and another copy, and might not end before the sender does.
        if (!failure().empty() || !expects(other)) break;
      }
      flush(from, other);
      if (is_active(other)) {
        ++i;
      } else {
        other.listed = false;
        active_[i] = active_.back();
        active_.pop_back();
      }
    }
    idle_ = idle ? idle_ + 1 : 0;
    if (idle && idle_ % patience == 0 && !active_.empty()) watch();
  }
  return ended_.give(ended, most);
}

}  // namespace isthmus::runtime

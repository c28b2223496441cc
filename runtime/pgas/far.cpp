#include "runtime/pgas/far.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "runtime/pgas/accesses.hpp"
#include "runtime/pgas/atomics.hpp"
#include "runtime/pgas/signals.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {

using What = Letter::What;

Far::Far(isthmus_space& space, Post& post, std::uint32_t number, std::uint64_t packed)
    : space_(space),
      post_(post),
      number_(number),
      operations_(1),
      way_(post.way()),
      together_(space.team.ranks),
      pages_(space.team.ranks) {
  if (packed != 0) way_.longest = packed;
  post_.enter(number, *this);
}

std::byte* Far::own(std::uint64_t offset) const { return space_.segments.memory(space_.team.rank) + offset; }

std::uint32_t Far::begin(std::uint32_t parts) {
  if (spare_.empty()) {
    spare_.push_back(static_cast<std::uint32_t>(operations_.size()));
    operations_.emplace_back();
  }
  const std::uint32_t number = spare_.back();
  spare_.pop_back();
  operations_[number] = {parts, 0, 0, operations_[number].uses};
  return number;
}

std::uint32_t Far::begin(std::uint32_t parts, bool implicit) {
  if (!implicit) return begin(parts);
  operations_[region_].left += parts;
  return region_;
}

// 0 means that nothing is under way, and the first operation has no event.
isthmus_event Far::event_of(std::uint32_t number) const {
  return static_cast<isthmus_event>(operations_[number].uses) << 32 | number;
}

bool Far::is_settled(Operation& one) {
  if (one.left > 0) return false;
  if (std::exchange(one.windows, false)) one.local ? windows_->settle_here() : windows_->settle();
  return true;
}

bool Far::is_done(isthmus_event event) {
  const auto number = static_cast<std::uint32_t>(event);
  if (number == 0 || number >= operations_.size()) return true;
  return operations_[number].uses != static_cast<std::uint32_t>(event >> 32) || is_settled(operations_[number]);
}

bool Far::through_windows(std::size_t bytes) const {
  if (windows_ == nullptr) return false;
  return bytes > post_.most() ? windows_->use().alone : windows_->use().begun;
}

/// Long messages need no copy, as windows that need the other rank do not either.
bool Far::waits_through_windows(std::size_t bytes) const {
  return windows_ != nullptr && (windows_->use().alone || bytes <= post_.most());
}

void Far::forget(isthmus_event event) {
  const auto number = static_cast<std::uint32_t>(event);
  if (number == 0 || number >= operations_.size() ||
      operations_[number].uses != static_cast<std::uint32_t>(event >> 32))
    return;
  operations_[number].uses = (operations_[number].uses + 1) & most_uses;
  spare_.push_back(number);
}

void Far::open_region() { region_ = begin(0); }

isthmus_event Far::close_region() { return event_of(std::exchange(region_, 0)); }

Far::Operation Far::end(std::uint32_t number, Rank rank) {
  post_.await(space_.team.member(rank));
  space_.wait_until([&] { return is_settled(operations_[number]); });
  post_.await(MpiTransport::nobody);
  operations_[number].uses = (operations_[number].uses + 1) & most_uses;
  spare_.push_back(number);
  return operations_[number];
}

void Far::wait(isthmus_event event, Rank rank) { end(static_cast<std::uint32_t>(event), rank); }

Letter& Far::fresh(What what) {
  Letter& made = post_.fresh();
  made.space = number_;
  made.what = what;
  made.from = space_.team.rank;
  return made;
}

Letter& Far::ask(Rank rank, What what, std::uint64_t number) {
  const Rank to = space_.team.member(rank);
  if (!together_[rank].empty()) send_waiting(rank);
  if (!post_.has_credit(to)) {
    post_.await(to);
    space_.wait_until([&] { return post_.has_credit(to); });
    post_.await(MpiTransport::nobody);
  }
  Letter& made = fresh(what);
  made.number = number;
  return made;
}

void Far::send(Rank rank, Letter& letter, std::size_t bytes) { post_.send(space_.team.member(rank), letter, bytes); }

// -- what this rank asks for

void Far::put(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes) {
  if (!waits_through_windows(bytes)) return wait(begin_put(rank, offset, from, bytes, false), rank);
  windows_->put(rank, offset, from, bytes);
  windows_->flush(rank);
  go_on_seldom();
}

void Far::get(Rank rank, std::uint64_t offset, void* to, std::size_t bytes) {
  if (!waits_through_windows(bytes)) return wait(begin_get(rank, offset, to, bytes, false), rank);
  windows_->get(rank, offset, to, bytes);
  windows_->flush(rank);
  go_on_seldom();
}

/// What goes through windows needs nobody, but others may wait for this rank.
void Far::go_on_seldom() {
  constexpr std::uint32_t seldom = 32;
  if (++through_ % seldom == 0) space_.go_on();
}

void Far::write(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes) {
  const Parts parts{begin(0)};
  ask_to_put(rank, offset, from, bytes, parts);
  end(parts.number, rank);
}

void Far::read(Rank rank, std::uint64_t offset, void* to, std::size_t bytes) {
  const std::uint32_t number = begin(0);
  ask_to_get(rank, offset, to, bytes, number);
  end(number, rank);
}

Parts Far::begin_parts(bool implicit, bool local, bool told) {
  Parts parts{begin(0, implicit), implicit};
  if (told) parts.notice = ++notices_;
  if (!local) return parts;
  parts.local = begin(0);
  operations_[parts.local].local = true;
  return parts;
}

isthmus_event Far::event_of_local(const Parts& parts) {
  const isthmus_event event = event_of(parts.local);
  const Operation& one = operations_[parts.local];
  if (one.left > 0 || one.windows) return event;
  forget(event);
  return 0;
}

isthmus_event Far::begin_put(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, bool implicit) {
  const Parts parts = begin_parts(implicit);
  put_part(rank, offset, from, bytes, parts);
  return event_of_parts(parts);
}

isthmus_event Far::begin_get(Rank rank, std::uint64_t offset, void* to, std::size_t bytes, bool implicit) {
  const Parts parts = begin_parts(implicit);
  get_part(rank, offset, to, bytes, parts);
  return event_of_parts(parts);
}

void Far::put_part(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, const Parts& parts) {
  // Who is told of it hears of letters alone when they are there.
  if (parts.notice == 0 && through_windows(bytes)) {
    windows_->put(rank, offset, from, bytes);
    windows_->mark(rank);
    operations_[parts.number].windows = true;
    if (parts.local != 0) operations_[parts.local].windows = true;
    return;
  }
  const bool alone = post_.is_idle(space_.team.member(rank)) && together_[rank].empty();
  if (parts.notice == 0 && !alone && bytes <= way_.room / 8)
    return put_with_others(rank, offset, from, bytes, parts.number);
  ask_to_put(rank, offset, from, bytes, parts);
}

void Far::ask_to_put(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, const Parts& parts) {
  const bool large = bytes > post_.most();
  operations_[parts.number].left += large ? 2 : 1;
  if (large && parts.local != 0) ++operations_[parts.local].left;
  Letter& letter = ask(rank, large ? What::put_large : What::put, parts.number);
  letter.offset = offset;
  letter.bytes = bytes;
  letter.values[0] = parts.notice;
  if (!large) std::memcpy(letter.payload(), from, bytes);
  send(rank, letter, large ? 0 : bytes);
  if (large)
    post_.send_bulk(space_.team.member(rank), Post::puts, static_cast<const std::byte*>(from), bytes,
                    {0, number_, parts.local == 0 ? operation : operation_and_local, parts.local, parts.number});
}

void Far::get_part(Rank rank, std::uint64_t offset, void* to, std::size_t bytes, const Parts& parts) {
  if (through_windows(bytes)) {
    windows_->get(rank, offset, to, bytes);
    windows_->mark(rank);
    operations_[parts.number].windows = true;
    return;
  }
  ask_to_get(rank, offset, to, bytes, parts.number);
}

void Far::ask_to_get(Rank rank, std::uint64_t offset, void* to, std::size_t bytes, std::uint32_t number) {
  const bool large = bytes > post_.most();
  ++operations_[number].left;
  Letter& letter = ask(rank, large ? What::get_large : What::get, number);
  letter.offset = offset;
  letter.bytes = bytes;
  letter.values[0] = reinterpret_cast<std::uintptr_t>(to);  // comes back with the bytes
  if (large)
    post_.receive_bulk(space_.team.member(rank), Post::gets, static_cast<std::byte*>(to), bytes,
                       {0, number_, operation, rank, number});
  send(rank, letter);
}

void Far::signal_after(Rank rank, std::uint64_t signal, std::uint64_t add, const Parts& parts) {
  ++operations_[parts.number].left;
  Letter& letter = ask(rank, What::signal, parts.number);
  letter.offset = signal;
  letter.values[0] = add;
  letter.values[1] = parts.notice;
  send(rank, letter);
}

Letter& Far::ask_for_pieces(Rank rank, bool puts, const Parts& parts) {
  ++operations_[parts.number].left;
  return ask(rank, puts ? What::put_pieces : What::get_pieces, parts.number);
}

std::uint64_t Far::keep_places(std::vector<std::uint64_t>&& words) {
  if (spare_kept_.empty()) {
    spare_kept_.push_back(kept_.size());
    kept_.emplace_back();
  }
  const std::uint64_t at = spare_kept_.back();
  spare_kept_.pop_back();
  kept_[at] = std::move(words);
  return at;
}

void Far::set(Rank rank, std::uint64_t offset, int value, std::size_t bytes) {
  if (!waits_through_windows(bytes)) return wait(begin_set(rank, offset, value, bytes, false), rank);
  constexpr std::size_t most = 64 << 10;
  if (filled_.size() < std::min(bytes, most)) filled_.resize(std::min(bytes, most));
  std::memset(filled_.data(), value, std::min(bytes, most));
  for (std::size_t done = 0; done < bytes; done += most)
    windows_->put(rank, offset + done, filled_.data(), std::min(bytes - done, most));
  windows_->flush(rank);
  go_on_seldom();
}

isthmus_event Far::begin_set(Rank rank, std::uint64_t offset, int value, std::size_t bytes, bool implicit) {
  const std::uint32_t number = begin(1, implicit);
  Letter& letter = ask(rank, What::set, number);
  letter.offset = offset;
  letter.bytes = bytes;
  letter.values[0] = static_cast<std::uint64_t>(value);
  send(rank, letter);
  return implicit ? 0 : event_of(number);
}

void Far::put_signal(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, std::uint64_t signal,
                     std::uint64_t add) {
  if (bytes > post_.most()) {
    put(rank, offset, from, bytes);
    bytes = 0;
  }
  const std::uint32_t number = begin(1);
  Letter& letter = ask(rank, What::put_signal, number);
  letter.offset = offset;
  letter.bytes = bytes;
  letter.values[0] = signal;
  letter.values[1] = add;
  if (bytes > 0) std::memcpy(letter.payload(), from, bytes);
  send(rank, letter, bytes);
  end(number, rank);
}

std::uint64_t Far::atomic(Rank rank, std::uint64_t offset, isthmus_element element, isthmus_atomic_operator with,
                          std::uint64_t operand, std::uint64_t expected) {
  const std::uint32_t number = begin(1);
  Letter& letter = ask(rank, What::atomic, number);
  letter.offset = offset;
  letter.handler = static_cast<std::uint16_t>(element);
  letter.flags = static_cast<std::uint8_t>(with);
  letter.values[0] = operand;
  letter.values[1] = expected;
  send(rank, letter);
  return end(number, rank).value;
}

std::uint64_t Far::amend(Rank rank, std::uint64_t offset, isthmus_element element, isthmus_atomic_operator with,
                         std::uint64_t operand, std::uint64_t expected) {
  if (!changes_by_windows()) return atomic(rank, offset, element, with, operand, expected);
  if (with != ISTHMUS_ATOMIC_MULTIPLY) return windows_->change(rank, offset, element, with, operand, expected);
  // Windows know no products: until nobody came between.
  std::uint64_t before = windows_->change(rank, offset, element, ISTHMUS_ATOMIC_READ, 0, 0);
  for (;;) {
    std::uint64_t next = before;
    change(reinterpret_cast<char*>(&next), element, with, operand, 0);
    const std::uint64_t found = windows_->change(rank, offset, element, ISTHMUS_ATOMIC_SWAP_IF, next, before);
    if (found == before) return before;
    before = found;
  }
}

std::int32_t Far::allocate(std::uint64_t bytes, std::uint64_t& offset) {
  const std::uint32_t number = begin(1);
  Letter& letter = ask(0, What::allocate, number);
  letter.bytes = bytes;
  send(0, letter);
  const Operation done = end(number, 0);
  offset = done.value;
  return done.status;
}

std::int32_t Far::release(Rank rank, std::uint64_t offset) {
  const std::uint32_t number = begin(1);
  Letter& letter = ask(rank, What::release, number);
  letter.offset = offset;
  send(rank, letter);
  return end(number, rank).status;
}

std::int32_t Far::take_pages(std::uint64_t end_of, Rank& without) {
  std::vector<std::pair<Rank, std::uint32_t>> asked;
  for (Rank r = 0; r < pages_.size(); ++r) {
    if (pages_[r] >= end_of || space_.segments.is_near(r)) continue;
    asked.emplace_back(r, begin(1));
    Letter& letter = ask(r, What::pages, asked.back().second);
    letter.bytes = end_of;
    send(r, letter);
  }
  std::int32_t worst = 0;
  for (const auto& [rank, number] : asked) {
    const std::int32_t status = end(number, rank).status;
    if (status == 0) pages_[rank] = end_of;
    else if (worst == 0) worst = status, without = rank;
  }
  return worst;
}

void Far::tell(Rank rank, std::uint64_t epoch, std::uint32_t round, const BarrierNumbers& numbers) {
  Letter& letter = fresh(What::barrier);
  letter.number = round;
  letter.values[0] = epoch;
  std::memcpy(letter.payload(), &numbers, sizeof numbers);
  send(rank, letter, sizeof numbers);
}

void Far::store(Rank rank, std::uint64_t offset, std::uint64_t value) {
  Letter& letter = fresh(What::store);
  letter.offset = offset;
  letter.values[0] = value;
  send(rank, letter);
}

isthmus_event Far::begin_send(Rank rank, bool is_reply, const Content& content, bool implicit) {
  const std::size_t before = Letter::payload_at(content.count) - sizeof(Letter);
  const bool large = content.bytes > 0 && before + content.bytes > post_.most();
  Letter& letter = is_reply ? fresh(What::reply) : ask(rank, What::request, 0);
  letter.handler = static_cast<std::uint16_t>(content.handler);
  letter.count = static_cast<std::uint8_t>(content.count);
  letter.flags = static_cast<std::uint8_t>((content.in_space ? Letter::in_space : 0) | (large ? Letter::by_itself : 0));
  letter.bytes = content.bytes;
  letter.offset = content.offset;
  letter.values[0] = content.notice;
  if (content.count > 0) std::memcpy(letter.arguments(), content.arguments, 8 * content.count);
  if (content.bytes == 0 || large) {
    send(rank, letter, std::size_t{8} * content.count);
  } else {
    std::memcpy(letter.payload(), content.payload, content.bytes);
    send(rank, letter, before + content.bytes);
  }
  if (!large) return 0;
  const std::uint32_t number = begin(1, implicit);
  post_.send_bulk(space_.team.member(rank), Post::puts, static_cast<const std::byte*>(content.payload), content.bytes,
                  {0, number_, operation, rank, number});
  return implicit ? 0 : event_of(number);
}

// -- what others ask for

void Far::answer(const Letter& asked, std::int32_t status, std::uint64_t value) {
  Letter& letter = fresh(What::done);
  letter.number = asked.number;
  letter.flags = asked.what == What::put_pieces ? asked.flags & Letter::of_several : 0;
  letter.values[0] = value;
  letter.values[1] = static_cast<std::uint64_t>(status);
  send(asked.from, letter);
}

bool Far::take(Letter& letter, std::uint32_t number) {
  switch (letter.what) {
    case What::request:
    case What::reply: keep(letter, number); return false;
    case What::data:
      std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(letter.values[0])), letter.payload(),
                  letter.bytes);
      --operations_[letter.number].left;
      return true;
    case What::pieces: {
      const std::vector<std::uint64_t> places = std::move(kept_[letter.values[0]]);
      spare_kept_.push_back(letter.values[0]);
      Places::unpack(places.data(), places.size(), 0, letter.payload());
      --operations_[letter.number].left;
      return true;
    }
    case What::done: {
      if ((letter.flags & Letter::of_several) != 0) {
        several_are_done(letter.number);
        return true;
      }
      Operation& done = operations_[letter.number];
      done.value = letter.values[0];
      done.status = static_cast<std::int32_t>(letter.values[1]);
      --done.left;
      return true;
    }
    case What::barrier: {
      BarrierFlag& flag = space_.segments.control(space_.team.rank).flags[letter.values[0] % 2][letter.number];
      std::memcpy(&flag.numbers, letter.payload(), sizeof flag.numbers);
      flag.epoch.store(letter.values[0], std::memory_order_release);
      return true;
    }
    case What::store: {
      auto* const head = reinterpret_cast<std::byte*>(&space_.segments.control(space_.team.rank));
      reinterpret_cast<std::atomic<std::uint64_t>*>(head + letter.offset)->store(letter.values[0]);
      return true;
    }
    case What::put:
      copy_into(own(letter.offset), letter.payload(), letter.bytes);
      answer(letter, 0, 0);
      return true;
    case What::put_large:
      if (letter.values[0] != 0) ++arriving_[{letter.from, letter.values[0]}].left;
      post_.receive_bulk(letter.origin, Post::puts, own(letter.offset), letter.bytes,
                         {0, number_, put_here, letter.from, letter.number, letter.values[0]});
      return true;
    case What::get: {
      Letter& back = fresh(What::data);
      back.number = letter.number;
      back.bytes = letter.bytes;
      back.values[0] = letter.values[0];
      copy_out_of(own(letter.offset), back.payload(), letter.bytes);
      send(letter.from, back, letter.bytes);
      return true;
    }
    case What::get_large:
      post_.send_bulk(letter.origin, Post::gets, own(letter.offset), letter.bytes, {0, number_, nothing, 0, 0});
      return true;
    case What::put_pieces: {
      const std::byte* const places = letter.payload() + (letter.bytes + 7) / 8 * 8;
      Places::unpack(reinterpret_cast<const std::uint64_t*>(places), letter.values[0],
                     reinterpret_cast<std::uintptr_t>(own(0)), letter.payload());
      answer(letter, 0, 0);
      return true;
    }
    case What::get_pieces: {
      Letter& back = fresh(What::pieces);
      back.number = letter.number;
      back.values[0] = letter.values[1];
      Places::pack(reinterpret_cast<const std::uint64_t*>(letter.payload()), letter.values[0],
                   reinterpret_cast<std::uintptr_t>(own(0)), back.payload());
      send(letter.from, back, letter.bytes);
      return true;
    }
    case What::set:
      std::memset(own(letter.offset), static_cast<int>(letter.values[0]), letter.bytes);
      answer(letter, 0, 0);
      return true;
    case What::put_signal:
      if (letter.bytes > 0) std::memcpy(own(letter.offset), letter.payload(), letter.bytes);
      add_to_signal(*reinterpret_cast<std::uint64_t*>(own(letter.values[0])), letter.values[1]);
      answer(letter, 0, 0);
      return true;
    case What::signal:
      if (Arriving* const others = arriving(letter, letter.values[1])) others->letter = letter;
      else add_signal(letter);
      return true;
    case What::atomic:
      answer(letter, 0,
             change(reinterpret_cast<char*>(own(letter.offset)), static_cast<isthmus_element>(letter.handler),
                    static_cast<isthmus_atomic_operator>(letter.flags), letter.values[0], letter.values[1]));
      return true;
    case What::pages: answer(letter, space_.segments.take_pages(space_.team.rank, false, letter.bytes), 0); return true;
    case What::allocate: {
      std::uint64_t offset = 0;
      const std::int32_t status = space_.allocate_for_another(letter.bytes, offset);
      answer(letter, status, offset);
      return true;
    }
    case What::release: answer(letter, space_.release_for_another(letter.offset), 0); return true;
    case What::credit: break;
  }
  return true;
}

void Far::add_signal(const Letter& letter) {
  add_to_signal(*reinterpret_cast<std::uint64_t*>(own(letter.offset)), letter.values[0]);
  answer(letter, 0, 0);
}

// Letters of a rank are taken in their order, so what it tells of is there but for what comes by itself.
Far::Arriving* Far::arriving(const Letter& letter, std::uint64_t notice) {
  const auto found = notice == 0 ? arriving_.end() : arriving_.find({letter.from, notice});
  if (found == arriving_.end()) return nullptr;
  if (found->second.left > 0) {
    found->second.is_asked = true;
    return &found->second;
  }
  arriving_.erase(found);
  return nullptr;
}

void Far::arrived(Rank from, std::uint64_t notice) {
  const auto found = arriving_.find({from, notice});
  if (--found->second.left > 0 || !found->second.is_asked) return;
  const Arriving all = found->second;
  arriving_.erase(found);
  if (all.is_message) messages_[all.message - popped_].is_whole = true;
  else add_signal(all.letter);
}

/// An active message waits until this rank may handle it.
void Far::keep(Letter& letter, std::uint32_t number) {
  Message& message = messages_.emplace_back();
  message.number = number;
  message.letter = &letter;
  const bool in_space = (letter.flags & Letter::in_space) != 0;
  message.payload = in_space ? own(letter.offset) : letter.payload();
  if ((letter.flags & Letter::by_itself) != 0) {
    if (!in_space) {
      message.own = std::make_unique<std::byte[]>(letter.bytes);
      message.payload = message.own.get();
    }
    message.is_whole = false;
    post_.receive_bulk(letter.origin, Post::puts, message.payload, letter.bytes,
                       {0, number_, payload_here, letter.from, popped_ + messages_.size() - 1});
  } else if (in_space && letter.bytes > 0) {
    std::memcpy(message.payload, letter.payload(), letter.bytes);
  }
  if (Arriving* const others = arriving(letter, letter.values[0])) {
    others->is_message = true;
    others->message = popped_ + messages_.size() - 1;
    message.is_whole = false;
  }
}

void Far::pop() {
  const std::uint32_t number = messages_.front().number;
  messages_.pop_front();
  ++popped_;
  post_.give_back(number);
}

void Far::ended(const Bulk& bulk) {
  switch (bulk.what) {
    case operation_and_local: --operations_[bulk.peer].left; [[fallthrough]];
    case operation: --operations_[bulk.number].left; break;
    case payload_here: messages_[bulk.number - popped_].is_whole = true; break;
    case put_here: {
      Letter& letter = fresh(What::done);
      letter.number = bulk.number;
      send(bulk.peer, letter);
      if (bulk.notice != 0) arrived(bulk.peer, bulk.notice);
      break;
    }
    default: break;
  }
}

}  // namespace isthmus::runtime

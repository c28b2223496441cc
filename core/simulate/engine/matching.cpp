#include "simulate/engine/matching.hpp"

#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/interruption.hpp"

namespace isthmus::simulate {

Matching::Matching(const Schedule& schedule, bool wildcards)
    : posted_(schedule.ranks), waiting_(schedule.ranks), pool_(1) {
  // Most schedules have one receive of a rank posted at a time, or a few.
  pool_.reserve(std::size_t{schedule.ranks} + 1);
  if (!wildcards) return;
  wildcards_.resize(schedule.ranks);
  for (Rank r = 0; r < schedule.ranks; ++r) {
    std::uint8_t shapes = 0;
    for (const Operation& op : schedule.ops_of(r)) {
      if (op.kind != OpKind::recv) continue;
      const bool source = op.peer == any_rank, tag = op.tag == any_tag;
      if (source || tag) shapes |= source && tag ? any_both_bit : source ? any_source_bit : any_tag_bit;
    }
    wildcards_[r] = shapes;
  }
}

std::uint32_t Matching::extend() {
  require(pool_.size() < 0xFFFFFFFF, "more than 4294967294 receives and messages wait at once");
  if ((pool_.size() & 0xFFF) == 0) interruption_point();
  pool_.emplace_back();
  return static_cast<std::uint32_t>(pool_.size() - 1);
}

std::uint32_t Matching::add(Queue& q, const MatchKey& key) {
  const std::uint32_t index = allocate();
  std::uint32_t first = slot(q, key);
  int passed = 0;
  for (; first != none && pool_[first].key != key; ++passed) first = pool_[first].chain;
  Match& m = pool_[index];
  m.key = key;
  m.next = none;
  m.twin = index;
  if (first != none) {
    m.previous = pool_[first].last;
    pool_[m.previous].next = index;
    pool_[first].last = index;
    return index;
  }
  m.previous = none;
  m.last = index;
  std::uint32_t& head = slot(q, key);
  m.chain = head;
  head = index;
  if (q.table == 0 ? passed >= long_chain : ++tables_[q.table].keys > 1U << tables_[q.table].bits) grow(q);
  return index;
}

void Matching::unlink(Queue& q, std::uint32_t index) {
  Match& m = pool_[index];
  if (m.previous != none) {
    pool_[m.previous].next = m.next;
    if (m.next != none) pool_[m.next].previous = m.previous;
    else pool_[find(q, m.key)].last = m.previous;
    return;
  }
  std::uint32_t* link = &slot(q, m.key);
  while (*link != index) link = &pool_[*link].chain;
  if (m.next != none) {
    Match& second = pool_[m.next];
    second.previous = none;
    second.last = m.last;
    second.chain = m.chain;
    *link = m.next;
  } else {
    *link = m.chain;
    if (q.table != 0) --tables_[q.table].keys;
  }
}

void Matching::grow(Queue& q) {
  Table larger;
  larger.bits = static_cast<std::uint8_t>(q.table == 0 ? 5 : tables_[q.table].bits + 2);
  larger.slots = std::make_unique<std::uint32_t[]>(std::size_t{1} << larger.bits);
  const std::size_t slots = q.table == 0 ? 1 : std::size_t{1} << tables_[q.table].bits;
  for (std::size_t s = 0; s < slots; ++s) {
    std::uint32_t at = q.table == 0 ? q.chain : tables_[q.table].slots[s];
    while (at != none) {
      Match& m = pool_[at];
      const std::uint32_t following = m.chain;
      std::uint32_t& head = larger.slots[hash(m.key) >> (32 - larger.bits)];
      m.chain = head;
      head = at;
      ++larger.keys;
      at = following;
    }
  }
  if (q.table == 0) {
    q.table = static_cast<std::uint32_t>(tables_.size());
    tables_.emplace_back();
  }
  tables_[q.table] = std::move(larger);
}

std::uint32_t Matching::earliest_posted(Rank rank, const MatchKey& message, std::uint8_t shapes) {
  Queue& q = posted_[rank];
  std::uint32_t best = find(q, message);
  const auto consider = [&](std::uint8_t shape, const MatchKey& key) {
    if ((shapes & shape) == 0) return;
    const std::uint32_t other = find(q, key);
    // With several CPU streams the numbers of receives are not in the order of their times.
    const auto turn = [&](std::uint32_t at) { return std::tuple(pool_[at].time, pool_[at].order, pool_[at].source); };
    if (other != none && (best == none || turn(other) < turn(best))) best = other;
  };
  consider(any_source_bit, {any_rank, message.tag, message.comm});
  consider(any_tag_bit, {message.source, any_tag, message.comm});
  consider(any_both_bit, {any_rank, any_tag, message.comm});
  return best;
}

void Matching::wait(Rank rank, const MatchKey& message, Rank source, std::uint64_t op, std::int64_t arrival,
                    std::int64_t handled, bool rendezvous) {
  Queue& q = waiting_[rank];
  const auto enter = [&](const MatchKey& key) {
    const std::uint32_t index = add(q, key);
    Match& m = pool_[index];
    m.source = source;
    m.op = op;
    come(index, arrival, handled, rendezvous);
    return index;
  };
  const std::uint32_t first = enter(message);
  const std::uint8_t shapes = wildcards_.empty() ? 0 : wildcards_[rank];
  const auto twin = [&](std::uint8_t shape, const MatchKey& key) {
    if ((shapes & shape) == 0) return;
    const std::uint32_t index = enter(key);
    pool_[index].twin = pool_[first].twin;
    pool_[first].twin = index;
  };
  twin(any_source_bit, {any_rank, message.tag, message.comm});
  twin(any_tag_bit, {message.source, any_tag, message.comm});
  twin(any_both_bit, {any_rank, any_tag, message.comm});
}

void Matching::take_twins(Rank rank, std::uint32_t index) {
  Queue& q = waiting_[rank];
  std::uint32_t at = index;
  do {
    const std::uint32_t following = pool_[at].twin;
    unlink(q, at);
    if (at != index) release(at);
    at = following;
  } while (at != index);
}

}  // namespace isthmus::simulate

// Message matching as MPI has it: a message meets the earliest posted receive that takes it, a receive the earliest
// message that has come. Receives and messages are found by hashing (source, tag, communicator); a wildcard is a key of
// its own, so that no queue is ever searched, however deep.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/pages.hpp"
#include "base/prefetch.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::simulate {
using namespace schedule;

struct MatchKey {
  std::uint32_t source;  ///< or any_rank
  std::uint32_t tag;     ///< or any_tag
  std::uint32_t comm;
  bool operator==(const MatchKey&) const = default;
};

/// A posted receive, or a message that has come before its receive; or, where sends are paired with receives when they
/// are issued (see Engine::stands_aside), both.
struct Match {
  enum class State : std::uint8_t {
    none,
    posted,   ///< a receive that no message has
    handled,  ///< a message that has come, without a receive
    coming,   ///< a send that has been issued, without a receive
    aside,    ///< the same, by rendezvous: it has not begun
    paired,   ///< a receive and the send whose message it will take
  };
  MatchKey key;
  std::uint32_t source = 0;    ///< message: rank of the sender; posted: order among those of equal `order`
  std::uint64_t op = 0;        ///< posted, paired: the receive; otherwise the send; indices into Schedule::ops
  std::uint32_t chain = 0;     ///< the first of the next key in the slot
  std::uint32_t next = 0;      ///< the next of the same key
  std::uint32_t previous = 0;  ///< the one before; 0: this is the first of its key
  std::uint32_t last = 0;      ///< of the first: the last of the key
  std::uint32_t twin = 0;      ///< a ring of the entries of one message under its wildcard keys
  bool rendezvous = false;     ///< message: does its sender wait for the match?
  State state = State::none;
  std::int64_t time = 0;    ///< posted: when; message: when it arrived
  std::uint64_t order = 0;  ///< posted: sequence number; message: when its handling ended
};
static_assert(sizeof(Match) == 64);

/// A receive and its message, which came to the receiver at `arrived` and whose handling ends at `handled`.
struct Meeting {
  std::uint64_t recv;
  std::uint64_t send;
  Rank rank;
  Rank source;
  std::int64_t arrived;
  std::int64_t handled;
  bool rendezvous;  // the sender waits for it
};

/// Both queues of every rank.
class Matching {
 public:
  static constexpr std::uint32_t none = 0;

  /// `wildcards`: does any receive have one?
  Matching(const Schedule& schedule, bool wildcards);

  /// Posts a receive of `rank` that no message waits for.
  void post(Rank rank, const MatchKey& key, std::uint64_t op, std::int64_t time, std::uint64_t order,
            std::uint32_t number = 0) {
    const std::uint32_t index = add(posted_[rank], key);
    fill_posted(pool_[index], op, time, order);
    pool_[index].source = number;
    pool_[index].state = Match::State::posted;
  }
  /// Takes the earliest posted receive of `rank` that accepts the message; none if there is none. The match stays valid
  /// until release().
  std::uint32_t take_posted(Rank rank, const MatchKey& message) {
    const std::uint8_t shapes = wildcards_.empty() ? 0 : wildcards_[rank];
    const std::uint32_t found = shapes ? earliest_posted(rank, message, shapes) : find(posted_[rank], message);
    if (found != none) unlink(posted_[rank], found);
    return found;
  }
  /// Puts a message that no posted receive accepts among those that wait.
  void wait(Rank rank, const MatchKey& message, Rank source, std::uint64_t op, std::int64_t arrival,
            std::int64_t handled, bool rendezvous);
  /// Takes the earliest waiting message that a receive with this key accepts.
  std::uint32_t take_waiting(Rank rank, const MatchKey& key) {
    const std::uint32_t found = find(waiting_[rank], key);
    if (found != none) take_twins(rank, found);
    return found;
  }
  const Match& operator[](std::uint32_t index) const { return pool_[index]; }
  void release(std::uint32_t index) {
    pool_[index].state = Match::State::none;
    pool_[index].next = free_;
    free_ = index;
  }

  // -- sends that are paired with receives when they are issued; of ranks whose receives have no wildcards ------------

  [[nodiscard]] bool has_wildcards(Rank rank) const { return !wildcards_.empty() && wildcards_[rank] != 0; }
  /// A send is issued that no posted receive of the rank takes: it gets the receive whose turn it then is.
  std::uint32_t expect(Rank rank, const MatchKey& message, Rank source, std::uint64_t send, bool aside) {
    const std::uint32_t index = add(waiting_[rank], message);
    Match& m = pool_[index];
    m.source = source;
    m.op = send;
    m.state = aside ? Match::State::aside : Match::State::coming;
    return index;
  }
  /// The message of such a send has come, and there still is no receive.
  void come(std::uint32_t index, std::int64_t arrival, std::int64_t handled, bool rendezvous) {
    Match& m = pool_[index];
    m.time = arrival;
    m.order = static_cast<std::uint64_t>(handled);
    m.rendezvous = rendezvous;
    m.state = Match::State::handled;
  }
  /// The send and the receive of a match that has been taken belong together; until release().
  void pair(std::uint32_t index, std::uint64_t send) {
    Match& m = pool_[index];
    m.state = Match::State::paired;
    // It is in no queue any more.
    m.chain = static_cast<std::uint32_t>(send);
    m.next = static_cast<std::uint32_t>(send >> 32);
  }
  /// Pairs a send that waited with the receive that is posted for it.
  void pair(std::uint32_t index, std::uint64_t recv, std::int64_t time, std::uint64_t order) {
    Match& m = pool_[index];
    const std::uint64_t send = m.op;
    fill_posted(m, recv, time, order);
    pair(index, send);
  }
  /// Calls visit(match, send) for every pair whose message has not been handled, in no particular order.
  template <class Visitor>
  void pairs(Visitor visit) const {
    for (const Match& m : pool_)
      if (m.state == Match::State::paired) visit(m, std::uint64_t{m.next} << 32 | m.chain);
  }

  /// Calls visit(rank, match) for every receive that is still posted, and for every message that still waits.
  template <class Posted, class Waiting>
  void remaining(Posted posted, Waiting waiting) const {
    for (Rank r = 0; r < posted_.size(); ++r) {
      visit(posted_[r], [&](const Match& m) { posted(r, m); });
      visit(waiting_[r], [&](const Match& m) {
        if (m.key.source != any_rank && m.key.tag != any_tag) waiting(r, m);
      });
    }
  }
  /// Three steps of fetching what a message to the rank will probably meet, each some time after the one before.
  void prefetch_slot(Rank rank, const MatchKey& message) { prefetch_line(&slot(posted_[rank], message)); }
  void prefetch_match(Rank rank, const MatchKey& message) { prefetch_line(&pool_[slot(posted_[rank], message)]); }
  [[nodiscard]] std::uint64_t probable_op(Rank rank, const MatchKey& message) {
    return pool_[slot(posted_[rank], message)].op;
  }
  void prefetch(std::uint32_t index) const { prefetch_line(&pool_[index]); }

 private:
  // Which wildcards the receives of a rank use: bit 1 any source, bit 2 any tag, bit 3 both.
  static constexpr std::uint8_t any_source_bit = 1, any_tag_bit = 2, any_both_bit = 4;

  /// The keys of one rank's queue: one chain while they are few, a hash table of chains when they are many.
  struct Queue {
    std::uint32_t chain = none;  // while table == 0
    std::uint32_t table = 0;     // index into tables_
  };
  struct Table {
    std::unique_ptr<std::uint32_t[]> slots;  // 1 << bits chains
    std::uint32_t keys = 0;
    std::uint8_t bits = 0;
  };
  static constexpr int long_chain = 8;

  static std::uint32_t hash(const MatchKey& k) {
    std::uint64_t h = (std::uint64_t{k.tag} << 32 | k.source) * 0x9e3779b97f4a7c15ULL;
    h = (h ^ h >> 29 ^ k.comm) * 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::uint32_t>(h >> 32);
  }
  std::uint32_t& slot(Queue& q, const MatchKey& key) {
    if (q.table == 0) return q.chain;
    Table& t = tables_[q.table];
    return t.slots[hash(key) >> (32 - t.bits)];
  }
  /// The first of the key.
  std::uint32_t find(Queue& q, const MatchKey& key) {
    std::uint32_t at = slot(q, key);
    while (at != none && pool_[at].key != key) at = pool_[at].chain;
    return at;
  }
  template <class Visitor>
  void visit(const Queue& q, Visitor visitor) const {
    const std::size_t slots = q.table == 0 ? 1 : std::size_t{1} << tables_[q.table].bits;
    for (std::size_t s = 0; s < slots; ++s)
      for (std::uint32_t first = q.table == 0 ? q.chain : tables_[q.table].slots[s]; first != none;
           first = pool_[first].chain)
        for (std::uint32_t at = first; at != none; at = pool_[at].next) visitor(pool_[at]);
  }

  static void fill_posted(Match& m, std::uint64_t recv, std::int64_t time, std::uint64_t order) {
    m.op = recv;
    m.time = time;
    m.order = order;
  }
  std::uint32_t allocate() {
    if (free_ == none) return extend();
    const std::uint32_t index = free_;
    free_ = pool_[index].next;
    return index;
  }
  std::uint32_t extend();
  std::uint32_t add(Queue& q, const MatchKey& key);
  void unlink(Queue& q, std::uint32_t index);
  void grow(Queue& q);
  std::uint32_t earliest_posted(Rank rank, const MatchKey& message, std::uint8_t shapes);
  void take_twins(Rank rank, std::uint32_t index);

  LargeVector<Queue> posted_;
  LargeVector<Queue> waiting_;
  std::vector<Table> tables_{1};         // [0] is unused
  std::vector<std::uint8_t> wildcards_;  // of each rank, or empty where no receive has one
  LargeVector<Match> pool_;              // [0] is none
  std::uint32_t free_ = none;
};

}  // namespace isthmus::simulate

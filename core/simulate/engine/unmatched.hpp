// Receives without messages and messages without receives, in windows: in short lists of their ranks, in a Matching
// where a rank has many.
#pragma once

#include <cstdint>
#include <optional>

#include "simulate/engine/matching.hpp"
#include "simulate/engine/rank_state.hpp"
#include "simulate/engine/slabs.hpp"

namespace isthmus::simulate {

class Unmatched {
 public:
  /// `wildcards`: does any receive have one?
  Unmatched(const Schedule& schedule, bool wildcards, Slabs& slabs)
      : s_(schedule), wildcards_(wildcards), slabs_(slabs) {}

  /// The earliest posted receive that takes the message.
  bool take_posted(Rank rank, RankState& state, const MatchKey& message, Posted& recv) {
    if (state.many) {
      const std::uint32_t found = many_->take_posted(rank, message);
      if (found == Matching::none) return false;
      const Match& m = (*many_)[found];
      recv = {m.key,
              static_cast<std::uint32_t>(m.op - s_.op_first[rank]),
              m.source,
              m.time,
              static_cast<Picoseconds>(m.order) - 1,
              Birth::unknown};
      many_->release(found);
      return true;
    }
    for (Posted* p = state.posted.begin(); p != state.posted.end(); ++p)
      if (accepts(p->key, message)) {
        recv = *p;
        state.posted.erase(p, slabs_);
        return true;
      }
    return false;
  }
  /// Takes the earliest message that the receive takes.
  bool take_unexpected(Rank rank, RankState& state, const MatchKey& recv) {
    if (state.many) {
      const std::uint32_t found = many_->take_waiting(rank, recv);
      if (found == Matching::none) return false;
      many_->release(found);
      return true;
    }
    for (Unexpected* u = state.unexpected.begin(); u != state.unexpected.end(); ++u)
      if (accepts(recv, u->key)) {
        state.unexpected.erase(u, slabs_);
        return true;
      }
    return false;
  }
  void post(Rank rank, RankState& state, const Posted& recv) {
    if (!state.many && state.posted.size() < few) return state.posted.push(recv, slabs_);
    become_many(rank, state);
    enter(rank, recv);
  }
  void keep(Rank rank, RankState& state, const Unexpected& message) {
    if (!state.many && state.unexpected.size() < few) return state.unexpected.push(message, slabs_);
    become_many(rank, state);
    enter(rank, message);
  }
  /// Calls posted(rank, operation) for every receive that is left, message(rank, source, send, when its handling ended)
  /// for every message; operations are indices into Schedule::ops.
  template <class OnPosted, class OnMessage>
  void remaining(const LargeVector<RankState>& states, OnPosted&& posted, OnMessage&& message) const {
    for (Rank r = 0; r < s_.ranks; ++r) {
      const RankState& state = states[r];
      for (const Posted* p = state.posted.begin(); p != state.posted.end(); ++p) posted(r, s_.op_first[r] + p->op);
      for (const Unexpected* u = state.unexpected.begin(); u != state.unexpected.end(); ++u)
        message(r, u->key.source, s_.op_first[u->key.source] + u->op, u->handled);
    }
    if (!many_) return;
    many_->remaining(
        [&](Rank rank, const Match& m) { posted(rank, m.op); },
        [&](Rank rank, const Match& m) { message(rank, m.source, m.op, static_cast<Picoseconds>(m.order)); });
  }

 private:
  // Where more receives or messages wait, looking through all of them takes longer than a hash table.
  static constexpr std::uint32_t few = 16;

  static bool accepts(const MatchKey& recv, const MatchKey& message) {
    return recv.comm == message.comm && (recv.source == message.source || recv.source == any_rank) &&
           (recv.tag == message.tag || recv.tag == any_tag);
  }
  void enter(Rank rank, const Posted& recv) {
    many_->post(rank, recv.key, s_.op_first[rank] + recv.op, recv.time, static_cast<std::uint64_t>(recv.found + 1),
                recv.number);
  }
  void enter(Rank rank, const Unexpected& u) {
    many_->wait(rank, u.key, u.key.source, s_.op_first[u.key.source] + u.op, 0, u.handled, false);
  }
  void become_many(Rank rank, RankState& state) {
    if (state.many) return;
    if (!many_) many_.emplace(s_, wildcards_);
    state.many = 1;
    for (const Posted* p = state.posted.begin(); p != state.posted.end(); ++p) enter(rank, *p);
    for (const Unexpected* u = state.unexpected.begin(); u != state.unexpected.end(); ++u) enter(rank, *u);
    if (!state.posted.empty()) state.posted.clear(slabs_);
    if (!state.unexpected.empty()) state.unexpected.clear(slabs_);
  }

  const Schedule& s_;
  bool wildcards_;
  Slabs& slabs_;
  std::optional<Matching> many_;
};

}  // namespace isthmus::simulate

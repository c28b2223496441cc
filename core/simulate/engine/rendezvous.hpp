// Sends by rendezvous begin when their receives have been posted. The n-th send of a source, target, tag and
// communicator gets the n-th receive, counted in the order in which sends are issued and receives become ready, so that
// a message that comes early takes no other send's receive. When a receive becomes ready its time is known: one that is
// posted at the time at which its send is issued has been posted, whatever the order of ranks. Receives with wildcards
// take what comes: all messages to a rank that has such receives begin when they are sent.
#pragma once

#include <algorithm>

#include "simulate/engine/engine.hpp"

namespace isthmus::simulate {

/// Is there a send that is not eager, and so may have to wait until its receive is posted? The messages that there are
/// decide, not the levels of a machine: a level that no message uses must not change the order of equal times.
template <Detail detail, Variant variant>
bool Engine<detail, variant>::may_wait() const {
  const Shape& shape = dependencies_.shape();
  if (shape.rendezvous) return true;
  if (costs_.is_uniform()) return shape.largest_send > costs_.eager(Level::network);
  std::uint64_t least = costs_.eager(Level::network);
  for (int level = 0; level < levels; ++level) least = std::min(least, costs_.eager(static_cast<Level>(level)));
  if (shape.largest_send <= least) return false;
  for (Rank r = 0; r < s_.ranks; ++r)
    for (const Operation& op : s_.ops_of(r))
      if (op.kind == OpKind::send && op.mode == static_cast<std::uint8_t>(Protocol::by_size) && op.amount > least &&
          op.amount > costs_.eager(costs_.level_of(r, op.peer)))
        return true;
  return false;
}

/// A send is issued and gets its receive, now or when that is posted: true if it must not begin before that.
template <Detail detail, Variant variant>
bool Engine<detail, variant>::stands_aside(const Event& event, const Operation& send, bool eager) {
  const Rank to = event.other;
  if (!paired(to)) return false;
  const MatchKey key{event.rank, send.tag, send.comm};
  std::uint32_t& pair = pair_of_[event.op()];
  pair = matching_.take_posted(to, key);
  if (pair == Matching::none) {
    pair = matching_.expect(to, key, event.rank, event.op(), !eager);
    if (eager) return false;
    if (watch_ties()) ties_.place(event.op(), turn_);
  } else {
    const std::uint64_t recv = matching_[pair].op;
    const Picoseconds posted = matching_[pair].time;
    matching_.pair(pair, event.op());
    if (eager) return false;
    if (watch_ties()) ties_.meet_place(recv, turn_);
    if (posted <= now_) return false;
    come_back(event.op(), event.rank, to, posted);
  }
  log(LogEntry::Kind::aside, event.op());
  if constexpr (detail == Detail::ops) out_.start[event.op()] = now_;  // until it begins
  return true;
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::note_parking(std::uint64_t send) {
  if constexpr (detail == Detail::ops) {
    if (out_.parked.empty()) out_.parked.resize(s_.ops.size());
    out_.parked[send] = now_ - out_.start[send];
  }
}

/// The receive of a send that has been issued is posted, at `time`.
template <Detail detail, Variant variant>
void Engine<detail, variant>::call(std::uint32_t found, std::uint64_t recv, Picoseconds time, std::uint64_t order) {
  const Match m = matching_[found];
  matching_.pair(found, recv, time, order >> Event::type_bits);
  if (m.state != Match::State::aside) return;
  if (watch_ties()) ties_.meet_place(m.op, turn_);
  come_back(m.op, m.source, s_.ops[m.op].peer, std::max(now_, time));
}

/// A send that has stood aside may begin.
template <Detail detail, Variant variant>
void Engine<detail, variant>::come_back(std::uint64_t send, Rank source, Rank to, Picoseconds time) {
  Event event{time, next_order(EventType::operation), source, to, operations_.what(send)};
  event.what |= Event::called_bit;
  queue_.push(event);
}

}  // namespace isthmus::simulate

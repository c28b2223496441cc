// The end of a simulation: its result and the operations that wait.
#pragma once

#include "simulate/engine/engine.hpp"
#include "simulate/engine/remaining.hpp"

namespace isthmus::simulate {

/// An event after SimulationOptions::until: does it show that the end is later too? What a resource or the network was
/// to do at that time may have been overtaken by what was done before it.
template <Detail detail, Variant variant>
bool Engine<detail, variant>::is_late(const Event& event) {
  require_in_time(now_);
  // A send whose interface is free only then may wait for a receive for ever, and take no time.
  const bool may_stand_aside =
      pairing_ && event.type() == EventType::operation && !event.called() && operations_.of(event).kind == OpKind::send;
  out_.stopped = event.type() != EventType::wake && event.type() != EventType::network && !may_stand_aside;
  return out_.stopped;
}

/// A put or get that nobody waits for still belongs to its rank's time, and so does the end of a message.
template <Detail detail, Variant variant>
void Engine<detail, variant>::note_completion(Rank rank, Picoseconds when) {
  if (completions_.empty()) completions_.resize(s_.ranks);
  completions_[rank] = std::max(completions_[rank], when);
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::finish() {
  out_.finish.resize(s_.ranks);
  if (out_.stopped) out_.makespan = now_;
  for (Rank r = 0; r < s_.ranks; ++r) {
    Picoseconds last = completions_.empty() ? 0 : completions_[r];
    for (std::uint32_t c = 0; c < resources_.cpus(); ++c)
      last = std::max(last, resources_[resources_.cpu(r, static_cast<std::uint8_t>(c))].free);
    require_in_time(last);
    out_.finish[r] = last;
    out_.makespan = std::max(out_.makespan, last);
  }
  out_.free.resize(resources_.size());
  for (std::uint32_t i = 0; i < resources_.size(); ++i) out_.free[i] = resources_[i].free;
  for (Rank r = 0; r < s_.ranks; ++r) out_.free[resources_.cpu(r, 0)] = out_.finish[r];
  if constexpr (detail != Detail::finish) share_out_idle();
  out_.simulated_ranks = s_.ranks;
  if (!out_.stopped) collect_remaining();
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::share_out_idle() {
  // A rank has the streams of its operations and of the messages that it gets.
  std::vector<std::uint32_t> streams(s_.ranks, 1);
  if (!one_stream_)
    for (Rank r = 0; r < s_.ranks; ++r)
      for (const Operation& op : s_.ops_of(r))
        for (const Rank at : {r, op.kind == OpKind::send ? op.peer : r})
          streams[at] = std::max<std::uint32_t>(streams[at], op.cpu + 1U);
  for (Rank r = 0; r < s_.ranks; ++r) {
    breakdown_.idle_rest(r, product(out_.makespan, streams[r]));
  }
  out_.breakdown = breakdown_.take();
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::collect_remaining() {
  Remaining remaining(s_, out_);
  matching_.remaining([&](Rank rank, const Match& m) { remaining.stuck(rank, m.op, true); },
                      [&](Rank rank, const Match& m) {
                        remaining.orphan(rank, m.source, m.op,
                                         m.state == Match::State::aside ? -1 : static_cast<Picoseconds>(m.order));
                        const Operation& send = s_.ops[m.op];
                        if (is_eager(send, cost_of(m.source, rank, send.amount))) return;
                        remaining.stuck(m.source, m.op, true);
                        if constexpr (detail == Detail::ops) out_.end[m.op] = -1;
                      });
  remaining.finish(dependencies_);
}

}  // namespace isthmus::simulate

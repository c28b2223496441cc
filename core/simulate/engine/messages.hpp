// Messages at their receivers: the interface, the CPU, the receive that waits for them.
#pragma once

#include <algorithm>
#include <utility>

#include "simulate/engine/engine.hpp"

namespace isthmus::simulate {

/// Keeps a meeting until the turn of a receive that was posted ahead; returns its number.
template <Detail detail, Variant variant>
inline std::uint32_t Engine<detail, variant>::meet_later(const Meeting& meeting) {
  if (unused_.empty()) {
    later_.push_back(meeting);
    return static_cast<std::uint32_t>(later_.size() - 1);
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  later_[index] = meeting;
  return index;
}

template <Detail detail, Variant variant>
inline void Engine<detail, variant>::meet_ahead(const Event& event) {
  const Meeting meeting = later_[event.what];
  unused_.push_back(static_cast<std::uint32_t>(event.what));
  meet(meeting, done);
}

/// A message begins to pass its receiver's interface when that is free, but not before `arrives`; returns when the
/// CPU can handle it.
template <Detail detail, Variant variant>
inline Picoseconds Engine<detail, variant>::take_interface(std::uint32_t interface, Picoseconds arrives,
                                                           std::uint64_t op, const MessageCost& cost) {
  Resource& in = resources_[interface];
  arrives = std::max(arrives, in.free);
  if (arrives > latest) require_in_time(arrives);  // it may be taken ahead of time
  in.free = arrives + cost.gap();
  log(LogEntry::Kind::land, op);
  return arrives + cost.ahead_of_cpu();
}

/// The head of a message has arrived: it passes the interface, and then comes the turn of the CPU.
template <Detail detail, Variant variant>
inline void Engine<detail, variant>::message(const Event& event) {
  const Operation& send = operations_.of(event);
  const MessageCost& cost = cost_of(event.other, event.rank, send.amount);
  const std::uint32_t interface = interface_of(event.rank, send.nic, cost) + 1;
  if (whole_) return message_whole(event, send, cost, interface);
  if (resources_[interface].free > now_) return wait(event, interface);
  if (event.time < now_ && resources_.shared() && one_stream_)
    breakdown_.idle_at_interface(event.rank, resources_[cpu_of(event.rank, send.cpu)].free, now_,
                                 event.time - cost.wire - cost.level->o_send, event.time);
  Event next = event;
  next.time = take_interface(interface, now_, event.op(), cost);
  next.order = Event::make_order(event.sequence(), EventType::landed);
  if (next.time == now_) return examine(next);
  queue_.push_again(next);
}

/// The CPU handles a message.
template <Detail detail, Variant variant>
inline void Engine<detail, variant>::landed(const Event& event) {
  const Operation& send = operations_.of(event);
  const MessageCost& cost = cost_of(event.other, event.rank, send.amount);
  const std::uint32_t stream = cpu_of(event.rank, send.cpu);
  const Picoseconds cpu_free = resources_[stream].free;
  if (cpu_free > now_) return wait(event, stream);
  const Picoseconds began = event.time - cost.ahead_of_cpu();
  breakdown_.idle_before_message(event.rank, cpu_free, now_, began - cost.wire - cost.level->o_send, began);
  const Picoseconds lost = occupy(event.rank, send.cpu, cost.recv_cpu(), Share::recv_overhead);
  handled(event, send, cost, stream, lost);
}

/// A message keeps interface and CPU from the arrival of its head.
template <Detail detail, Variant variant>
inline void Engine<detail, variant>::message_whole(const Event& event, const Operation& send, const MessageCost& cost,
                                                   std::uint32_t interface) {
  const Rank rank = event.rank;
  const std::uint32_t stream = cpu_of(rank, send.cpu);
  const Picoseconds cpu_free = resources_[stream].free;
  const Picoseconds interface_free = resources_[interface].free;
  if (std::max(cpu_free, interface_free) > now_) return wait(event, stream, interface);
  breakdown_.idle_before_message(rank, cpu_free, now_, event.time - cost.wire - cost.level->o_send, event.time);
  const Picoseconds lost = occupy(rank, send.cpu, cost.recv_all(), Share::recv_overhead);
  resources_[interface].free = now_ + cost.gap();
  follow(stream, interface, event);
  handled(event, send, cost, stream, lost);
}

/// The CPU has begun to handle a message: it meets its receive.
template <Detail detail, Variant variant>
inline void Engine<detail, variant>::handled(const Event& event, const Operation& send, const MessageCost& cost,
                                             std::uint32_t stream, Picoseconds lost) {
  const Rank source = event.other, rank = event.rank;
  log(LogEntry::Kind::handle, event.op(), lost);
  if constexpr (detail == Detail::ops) out_.handled[event.op()] = now_;
  const Picoseconds end = resources_[stream].free;
  const bool rendezvous = !is_eager(send, cost);
  std::uint32_t found = pairing_ ? std::exchange(pair_of_[event.op()], Matching::none) : Matching::none;
  if (found != Matching::none) {
    if (matching_[found].state != Match::State::paired) return matching_.come(found, event.time, end, rendezvous);
  } else {
    const MatchKey key{source, send.tag, send.comm};
    found = matching_.take_posted(rank, key);
    if (found == Matching::none) return matching_.wait(rank, key, source, event.op(), event.time, end, rendezvous);
  }
  const Match& m = matching_[found];
  const Meeting meeting{m.op, event.op(), rank, source, event.time, end, rendezvous};
  const Picoseconds posted = m.time;
  const std::uint64_t sequence = m.order;
  matching_.release(found);
  if (watch_ties() && posted == now_) ties_.compare(sequence, event.sequence());
  if (posted > now_ || (posted == now_ && sequence > event.sequence())) {
    // The receive was posted ahead of its time, which comes only after this event.
    queue_.push_again({posted, Event::make_order(sequence, EventType::matched), rank, rank, meet_later(meeting)});
    return;
  }
  meet(meeting, done);
}

/// The receive has its message: it is done, and so is a send by rendezvous.
template <Detail detail, Variant variant>
inline void Engine<detail, variant>::meet(const Meeting& m, unsigned phases) {
  log(LogEntry::Kind::meet, m.recv);
  log(LogEntry::Kind::sender, m.send);
  if constexpr (detail == Detail::ops) {
    out_.partner[m.recv] = static_cast<std::int64_t>(m.send);
    out_.partner[m.send] = static_cast<std::int64_t>(m.recv);
    out_.end[m.recv] = m.handled;
    out_.busy[m.recv] = m.handled - out_.handled[m.send];
  }
  wait_for_work(m.rank, m.recv, phases, m.handled);
  if constexpr (contended) {
    if (const std::uint32_t flight = in_flight_.of(m.send); flight != InFlight::none)
      return meet_on_way(m, phases, flight);
  }
  meet_now(m, phases);
}

/// Operations freed by a receive, or by a send by rendezvous, wait until the last byte has arrived.
template <Detail detail, Variant variant>
inline void Engine<detail, variant>::meet_on_way(const Meeting& m, unsigned phases, std::uint32_t flight) {
  in_flight_.meet(flight, m.rank, m.recv);
  const Picoseconds tail = in_flight_.tail(flight);
  const auto gate = [&](Rank rank, std::uint64_t op, Picoseconds ahead) {
    if (tail - ahead <= now_) return;
    const std::uint64_t first = s_.op_first[rank];
    for (const Edge e : s_.dependants(rank, static_cast<std::uint32_t>(op - first)))
      if (!e.on_start()) in_flight_.gate(flight, first + e.to(), ahead);
    if (tail != never) arrived(rank, tail - ahead, op);
  };
  gate(m.rank, m.recv, 0);
  if (m.rendezvous && !whole_) {
    const MessageCost& cost = cost_of(m.source, m.rank, s_.ops[m.send].amount);
    // Processors that copy more slowly than bytes travel meet before the last byte is there: the last one has left.
    const Picoseconds ahead = cost.bytes_O_recv > cost.bytes_G ? cost.wire : 0;
    gate(m.source, m.send, ahead);
    if (tail == never) in_flight_.hold_sender(flight, m.source, ahead);
  }
  meet_now(m, phases);
  if (tail != never) in_flight_.release(flight);
}

template <Detail detail, Variant variant>
inline void Engine<detail, variant>::meet_now(const Meeting& m, unsigned phases) {
  if (!m.rendezvous) return release_and_go(m.rank, m.recv, phases);
  const Operation& op = s_.ops[m.send];
  const MessageCost& cost = cost_of(m.source, m.rank, op.amount);
  release(m.rank, m.recv, phases);
  if (watch_ties()) ties_.touch(m.source);
  Resource& stream = resources_[cpu_of(m.source, op.cpu)];
  if (stream.free < now_) {
    breakdown_.late_receiver(m.source, stream.free, now_, m.arrived);
    stream.free = now_;
  }
  Resource& interface = resources_[interface_of(m.source, op.nic, cost)];
  interface.free = std::max(interface.free, now_);
  release(m.source, m.send, done);
  go();
}

}  // namespace isthmus::simulate

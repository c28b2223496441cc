// Messages between nodes where they meet, and bytes that pass interfaces without a CPU.
#pragma once

#include "simulate/engine/engine.hpp"

namespace isthmus::simulate {

/// A message of `op` enters the network on its way to an interface of another node.
template <Detail detail, Variant variant>
void Engine<detail, variant>::enter(std::uint64_t op, Rank from, Rank to, std::uint8_t nic, std::uint64_t bytes,
                                    const MessageCost& cost, Picoseconds leaves) {
  if (bytes < 2 || !cost.network) return;
  in_flight_.send(op, from, to, nic, bytes, cost.bytes_G, leaves, cost.wire);
  arm();
}
template <Detail detail, Variant variant>
void Engine<detail, variant>::arm() {
  if (const Picoseconds next = in_flight_.next(); next < alarm_) {
    alarm_ = next;
    queue_.push({next, next_order(EventType::network), 0, 0, 0});
  }
}
template <Detail detail, Variant variant>
void Engine<detail, variant>::note_loss(std::uint64_t op, Picoseconds lost) {
  out_.lost_in_all += static_cast<double>(lost);
  if constexpr (detail == Detail::ops) {
    if (out_.lost.empty()) out_.lost.resize(s_.ops.size());
    out_.lost[op] = lost;
  }
}
template <Detail detail, Variant variant>
void Engine<detail, variant>::go_on() {
  if (now_ == alarm_) alarm_ = never;
  in_flight_.advance(
      now_,
      [&](const Flight& flight, Picoseconds lost) {
        note_loss(flight.op, lost);
        if (flight.receiver != no_rank) arrived(flight.receiver, flight.tail, flight.recv);
        if (flight.sender != no_rank) arrived(flight.sender, flight.tail - flight.ahead, flight.op);
      },
      [&](const Event& event) {
        if (event.type() == EventType::matched) post(event.rank, event.op(), event.time, event.order);
        else queue_.push_again(event);
      });
  arm();
}
/// The last byte of a message arrives later than without other messages: for its receive, or its send by rendezvous.
template <Detail detail, Variant variant>
void Engine<detail, variant>::arrived(Rank rank, Picoseconds tail, std::uint64_t op) {
  note_completion(rank, tail);
  breakdown_.contended_until(rank, tail);
  if constexpr (detail == Detail::ops) out_.end[op] = std::max(out_.end[op], tail);
}

/// One-sided bytes pass an interface without the CPU: of a put at the target; of a get first at the target, where
/// they leave, then at the initiator.
template <Detail detail, Variant variant>
void Engine<detail, variant>::pass_interface(const Event& event) {
  const Operation& op = s_.ops[event.op()];
  const MessageCost& cost = cost_of(event.other, op.peer, op.amount);
  const bool leaves = event.type() == EventType::get_asks;
  const std::uint32_t interface = interface_of(event.rank, op.nic, cost) + (leaves ? 0 : 1);
  if (resources_[interface].free > now_) return wait(event, interface);
  resources_[interface].free = now_ + cost.gap();
  log(leaves ? LogEntry::Kind::leave : LogEntry::Kind::land, event.op());
  const Picoseconds bytes_G = cost.bytes_G;
  const MessageCost& cost_back = cost_of(op.peer, event.other, op.amount);
  const Picoseconds back = cost_back.wire;
  if (leaves) {
    if constexpr (contended) enter(event.op(), event.rank, event.other, op.nic, op.amount, cost_back, now_);
    queue_.push({now_ + back, next_order(EventType::get_arrives), event.other, event.other, event.subject()});
    return;
  }
  const bool put = event.type() == EventType::put_arrives;
  ++out_.messages;
  out_.bytes += op.amount;
  const Picoseconds further = put ? back : 0;
  Event landed{now_ + bytes_G, next_order(put ? EventType::put_done : EventType::get_done), event.other, event.other,
               event.subject()};
  if constexpr (contended) {
    if (const std::uint32_t flight = in_flight_.of(event.op()); flight != InFlight::none) {
      in_flight_.meet(flight, no_rank, 0);
      const Picoseconds tail = in_flight_.tail(flight);
      if (tail == never) return in_flight_.hold(flight, landed, further);
      landed.time = std::max(landed.time, tail);
      in_flight_.release(flight);
    }
  }
  landed.time += further;
  queue_.push(landed);
}

}  // namespace isthmus::simulate

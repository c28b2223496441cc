// Memory that events to come will touch, step by step: fetched while those before them are dealt with.
#pragma once

#include "base/prefetch.hpp"
#include "simulate/engine/engine.hpp"

namespace isthmus::simulate {

/// The event that comes so many places later; of a resource that becomes free, the one that waits for it first.
template <Detail detail, Variant variant>
inline const Event* Engine<detail, variant>::coming(std::size_t ahead) const {
  const Event* e = queue_.peek(ahead);
  return e != nullptr && e->type() == EventType::wake ? resources_.first_waiting(e->rank) : e;
}

template <Detail detail, Variant variant>
inline void Engine<detail, variant>::prefetch() {
  if (const Event* e = queue_.peek(16); e != nullptr && e->type() == EventType::wake)
    resources_.prefetch_first(e->rank);
  if (const Event* e = coming(12); e != nullptr) {
    if (e->type() == EventType::operation) dependencies_.prefetch(e->op());
    else if (meets(*e) && !pairing_) matching_.prefetch_slot(e->rank, key_of(*e));
  }
  if (pairing_) return prefetch_pairs();
  if (const Event* e = coming(8); e != nullptr && meets(*e)) matching_.prefetch_match(e->rank, key_of(*e));
  if (const Event* e = coming(4); e != nullptr && meets(*e)) {
    // The receive, and the next operation, which it will often set free.
    const std::uint64_t recv = matching_.probable_op(e->rank, key_of(*e));
    dependencies_.prefetch(recv);
    prefetch_line(&s_.ops[recv] + 2);
  }
}

/// Like prefetch(), for sends that are issued and messages that have their receives.
template <Detail detail, Variant variant>
void Engine<detail, variant>::prefetch_pairs() {
  const auto issued = [&](const Event& e) {
    return e.type() == EventType::operation && operations_.of(e).kind == OpKind::send;
  };
  // The key of a send is that of its message, told to its target.
  const auto key = [&](const Event& e) {
    const Operation& op = operations_.of(e);
    return MatchKey{e.rank, op.tag, op.comm};
  };
  if (const Event* e = coming(12); e != nullptr) {
    if (meets(*e)) {
      prefetch_line(&pair_of_[e->op()]);
    } else if (issued(*e)) {
      prefetch_line(&pair_of_[e->op()]);
      matching_.prefetch_slot(e->other, key(*e));
    }
  }
  if (const Event* e = coming(8); e != nullptr) {
    if (meets(*e)) matching_.prefetch(pair_of_[e->op()]);
    else if (issued(*e)) matching_.prefetch_match(e->other, key(*e));
  }
  if (const Event* e = coming(4); e != nullptr && meets(*e)) {
    const std::uint64_t recv = matching_[pair_of_[e->op()]].op;
    dependencies_.prefetch(recv);
    prefetch_line(&s_.ops[recv] + 2);
  }
}

}  // namespace isthmus::simulate

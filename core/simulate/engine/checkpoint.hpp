// Do iterations repeat? After as many operations as an iteration has, the whole state is written down, with times
// counted from now and operations of the loop counted from the iteration. What happens depends on nothing but the state
// and what the program still holds; so once a state comes again, so does everything after it, until the loop ends.
// States are compared by 128 bits of them.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "simulate/engine/engine.hpp"
#include "simulate/model/state.hpp"
#include "simulate/shortcuts/find_loops.hpp"

namespace isthmus::simulate {

/// Looks at the state after an iteration, when all that happens now has happened; false to stop the simulation.
template <Detail detail, Variant variant>
bool Engine<detail, variant>::look_for_repetition(const Event& next) {
  const Loops& loops = *options_.loops;
  if constexpr (contended)
    if (in_flight_.next() != never) return true;  // the state of a network is short when nothing is in it
  const std::uint64_t iteration = out_.executed / loops.ops;
  mark_ = (iteration + 1) * loops.ops;
  return loops.probe ? probe(next, iteration) : measure(next, iteration);
}

/// Finds two iterations after which the state is the same.
template <Detail detail, Variant variant>
bool Engine<detail, variant>::probe(const Event& next, std::uint64_t iteration) {
  // What happens at the same time on many ranks may come in another order each time, until that comes again too.
  constexpr std::size_t longest = 128;  // period that is looked for
  const auto keep = [](std::vector<Seen>& all, const Seen& seen) {
    all.push_back(seen);
    if (all.size() > longest) all.erase(all.begin());
  };
  const Loops& loops = *options_.loops;
  Watch& w = watch_;
  const Seen sketch{iteration, out_.executed, sketch_of_state(iteration)};
  const bool again = std::any_of(w.sketches.begin(), w.sketches.end(),
                                 [&](const Seen& before) { return before.state == sketch.state; });
  keep(w.sketches, sketch);
  if (!again) return true;
  StateWriter state;
  const Reached reached = reach_of_ranks(iteration, state);
  if (reached.last + loops.reach >= loops.iterations) {
    mark_ = no_mark;
    return true;
  }
  if (!reached.inside) return true;
  write_state(next, iteration, state);
  const Seen now{iteration, out_.executed, state.digest()};
  const auto found = std::find_if(w.states.rbegin(), w.states.rend(), [&](const Seen& before) {
    return before.state == now.state && now.executed - before.executed == (iteration - before.iteration) * loops.ops;
  });
  if (found == w.states.rend()) {
    keep(w.states, now);
    return true;
  }
  mark_ = no_mark;
  Repetition& r = out_.repetition;
  r.first = found->iteration;
  r.period = static_cast<std::uint32_t>(iteration - found->iteration);
  r.untouched = reached.last + 1;
  // What has been simulated is simulated again.
  return reached.last + iterations_needed(loops, r) >= loops.iterations;
}

/// Counts what happens between these iterations.
template <Detail detail, Variant variant>
bool Engine<detail, variant>::measure(const Event& next, std::uint64_t iteration) {
  const Loops& loops = *options_.loops;
  Watch& w = watch_;
  Repetition& r = out_.repetition;
  StateWriter state;
  const Reached reached = reach_of_ranks(iteration, state);
  if (reached.last + loops.reach >= loops.iterations) {
    mark_ = no_mark;
    return r.period > 0;
  }
  if (r.period > 0) {
    r.alike_until = now_;
    return true;
  }
  write_state(next, iteration, state);
  const Seen now{iteration, out_.executed, state.digest()};
  if (w.states.empty()) {
    w.states.push_back(now);
    mark_ = (iteration + loops.period) * loops.ops;
    r.first = static_cast<std::uint32_t>(iteration);
    r.untouched = reached.last + 1;
    take_before();
    return true;
  }
  const Seen& before = w.states.back();
  if (before.state != now.state || now.executed - before.executed != loops.period * loops.ops) return false;
  r.period = loops.period;
  r.alike_until = now_;
  take_difference();
  if constexpr (detail != Detail::ops) mark_ = no_mark;
  return true;
}

/// A part of the state that is soon written: where some of the ranks are.
template <Detail detail, Variant variant>
Digest Engine<detail, variant>::sketch_of_state(std::uint64_t iteration) {
  constexpr Rank some = 256;
  StateWriter state;
  for (Rank r = 0; r < s_.ranks; r += 1 + s_.ranks / some) {
    if (options_.loops->of[r].length == 0) continue;
    state.number(low_of(r) - iteration * options_.loops->of[r].length);
    state.number(resources_[resources_.cpu(r, 0)].free - now_);
  }
  return state.digest();
}

/// The operation of a rank before which none waits for others any more.
template <Detail detail, Variant variant>
std::uint32_t Engine<detail, variant>::low_of(Rank rank) {
  const Loop& loop = options_.loops->of[rank];
  watch_.low.resize(s_.ranks);
  std::uint32_t& low = watch_.low[rank];
  const std::uint32_t end = loop.length == 0 ? s_.ops_in(rank) : loop.first + loop.length * options_.loops->iterations;
  while (low < end && !dependencies_.waits(s_.op_first[rank] + low)) ++low;
  return low;
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::take_before() {
  Repetition& r = out_.repetition;
  r.from = now_;
  r.executed = out_.executed;
  r.events = out_.events;
  r.messages = out_.messages;
  r.bytes = out_.bytes;
  r.lost = out_.lost_in_all;
  r.breakdown = breakdown_.sums();
  r.log_begin = out_.log.size();
  if constexpr (contended) {
    r.link_bytes = in_flight_.traffic().bytes();
    r.route_begin = in_flight_.traffic().messages().size();
  }
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::take_difference() {
  Repetition& r = out_.repetition;
  r.length = now_ - r.from;
  r.executed = out_.executed - r.executed;
  r.events = out_.events - r.events;
  r.messages = out_.messages - r.messages;
  r.bytes = out_.bytes - r.bytes;
  r.lost = out_.lost_in_all - r.lost;
  for (std::size_t i = 0; i < r.breakdown.size(); ++i) r.breakdown[i] = breakdown_.sums()[i] - r.breakdown[i];
  r.log_end = out_.log.size();
  if constexpr (contended) {
    const Traffic& traffic = in_flight_.traffic();
    for (std::size_t i = 0; i < r.link_bytes.size(); ++i) r.link_bytes[i] = traffic.bytes()[i] - r.link_bytes[i];
    r.route_end = traffic.messages().size();
  }
}

/// How far the ranks have come: writes what the operations that may be next still wait for.
template <Detail detail, Variant variant>
Reached Engine<detail, variant>::reach_of_ranks(std::uint64_t iteration, StateWriter& state) {
  const Loops& loops = *options_.loops;
  Reached reached;
  for (Rank r = 0; r < s_.ranks; ++r) {
    const Loop& loop = loops.of[r];
    const std::uint64_t op = s_.op_first[r];
    const std::uint32_t low = low_of(r);
    const std::uint32_t end = loop.length == 0 ? s_.ops_in(r) : loop.first + loop.length * loops.iterations;
    if (loop.length == 0) {
      // Tags of what it has still to do do not advance.
      if (low < end && !loops.steps.empty()) reached.inside = false;
      continue;
    }
    if (low < loop.first + loop.entered * loop.length) reached.inside = false;
    std::uint32_t last = low;  // after the last one of which anything has been fulfilled
    for (std::uint32_t i = low; i < end && i - last < (loops.reach + 1) * loop.length; ++i)
      if (dependencies_.needs(op + i) != s_.ops[op + i].needs) last = i + 1;
    if (last > loop.first) reached.last = std::max(reached.last, (last - 1 - loop.first) / loop.length);
    state.number(low - loop.first - iteration * loop.length);
    state.number(last - low);
    for (std::uint32_t i = low; i < last; ++i) {
      state.number(dependencies_.needs(op + i));
      if (!not_before_.empty()) state.number(std::max<Picoseconds>(not_before_[op + i] - now_, 0));
    }
  }
  return reached;
}

/// An operation, by its place in its iteration; its tag, by how far it is ahead of the iteration's.
template <Detail detail, Variant variant>
std::pair<std::uint64_t, std::uint64_t> Engine<detail, variant>::name_of_op(std::uint64_t op,
                                                                            std::uint64_t iteration) const {
  const Loops& loops = *options_.loops;
  const auto rank =
      static_cast<Rank>(std::upper_bound(s_.op_first.begin(), s_.op_first.end(), op) - s_.op_first.begin() - 1);
  const Loop& loop = loops.of[rank];
  const auto at = static_cast<std::uint32_t>(op - s_.op_first[rank]);
  const bool inside = at >= loop.first && at < loop.first + std::uint64_t{loop.length} * loops.iterations;
  constexpr std::uint32_t in_loop = 0x80000000;  // ranks have fewer operations
  const std::uint32_t place = inside ? (at - static_cast<std::uint32_t>(iteration) * loop.length) | in_loop : at;
  const Operation& o = s_.ops[op];
  const bool tagged = o.kind == OpKind::send || o.kind == OpKind::recv;
  const std::uint32_t tag = tagged ? o.tag - loops.step(o.comm) * static_cast<std::uint32_t>(iteration) : 0;
  return {std::uint64_t{rank} << 32 | place, tag};
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::write_op(std::uint64_t op, std::uint64_t iteration, StateWriter& state) const {
  const auto [place, tag] = name_of_op(op, iteration);
  state.number(place);
  state.number(tag);
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::write_events(std::vector<Event>& events, std::uint64_t iteration,
                                           StateWriter& state) const {
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.order != b.order ? a.order < b.order : a.rank < b.rank;
  });
  state.number(events.size());
  for (const Event& e : events) {
    state.number(e.time - now_);
    state.sequence(e.sequence());
    state.number(static_cast<std::uint32_t>(e.type()) << 2 | (e.called() ? 2U : 0U) | (e.leading() ? 1U : 0U));
    state.number(std::uint64_t{e.rank} << 32 | e.other);
    if (e.type() == EventType::matched) {
      const Meeting& m = later_[e.what];
      write_op(m.recv, iteration, state);
      write_op(m.send, iteration, state);
      state.number(m.arrived - now_);
      state.number(m.handled - now_);
      state.number(m.rendezvous ? 1U : 0U);
    } else if (e.type() != EventType::wake && e.type() != EventType::network) {
      write_op(e.op(), iteration, state);
    }
  }
  events.clear();
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::write_state(const Event& next, std::uint64_t iteration, StateWriter& state) const {
  std::vector<Event> events{next};
  queue_.visit([&](const Event& e) { events.push_back(e); });
  write_events(events, iteration, state);
  state.number(alarm_ == never ? -1 : alarm_ - now_);
  write_resources(iteration, state);
  write_matching(iteration, state);
  for (const Picoseconds c : completions_) state.number(std::max<Picoseconds>(c - now_, 0));
  if constexpr (contended)
    in_flight_.write(now_, state, [&](std::uint64_t op) { return name_of_op(op, iteration).first; });
}

/// When resources are free. What has been free for long is the same as what has been free for longer, if nobody asks
/// since when: of streams that are used again the breakdown does, of interfaces as far as the streams were idle.
template <Detail detail, Variant variant>
void Engine<detail, variant>::write_resources(std::uint64_t iteration, StateWriter& state) const {
  const Loops& loops = *options_.loops;
  Picoseconds idle_since = now_;
  for (Rank r = 0; r < s_.ranks; ++r) {
    Picoseconds since = now_;
    for (std::uint32_t c = 0; c < resources_.cpus(); ++c) {
      const Picoseconds free = resources_[resources_.cpu(r, static_cast<std::uint8_t>(c))].free;
      const bool used = c < 32 && (loops.of[r].streams >> c & 1U) != 0;
      state.number(used ? free - now_ : std::max<Picoseconds>(free - now_, 0));
      if (used) since = std::min(since, breakdown_.told(r, free));
    }
    idle_since = std::min(idle_since, since);
    if (const Picoseconds tail = breakdown_.tail(r); tail > since) state.number(tail - now_);
    else state.number(since - now_);
  }
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < resources_.size(); ++i) {
    if (!resources_.is_cpu(i)) state.number(std::max(resources_[i].free, idle_since) - now_);
    if (!resources_.occupied(i)) continue;
    state.number(i);
    resources_.visit(
        i, [&](const Event& e) { events.push_back(e); },
        [&](const Convoy& convoy) {
          write_events(events, iteration, state);
          state.number(std::uint64_t{convoy.interface} << 32 | convoy.leaders);
          if (convoy.leaders > 0) state.sequence(convoy.leader);
          convoy.behind.visit([&](const Event& e) { events.push_back(e); });
        });
    write_events(events, iteration, state);
  }
}

template <Detail detail, Variant variant>
void Engine<detail, variant>::write_matching(std::uint64_t iteration, StateWriter& state) const {
  struct Entry {
    std::uint64_t place;
    const Match* match;
    std::uint32_t at;  // in the queue of its key
  };
  std::vector<Entry> entries;
  std::uint32_t at = 0;
  const auto collect = [&](Rank, const Match& m) {
    at = m.previous == Matching::none ? 0 : at + 1;
    entries.push_back({name_of_op(m.op, iteration).first, &m, at});
  };
  const auto sorted = [&]() -> const std::vector<Entry>& {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.place < b.place; });
    state.number(entries.size());
    return entries;
  };
  matching_.remaining(collect, [](Rank, const Match&) {});
  for (const Entry& e : sorted()) {
    write_op(e.match->op, iteration, state);
    state.number(e.at);
    state.number(std::max<Picoseconds>(e.match->time - now_, -1));
    state.sequence(e.match->order);
  }
  entries.clear();
  matching_.remaining([](Rank, const Match&) {}, collect);
  for (const Entry& e : sorted()) {
    write_op(e.match->op, iteration, state);
    state.number(e.at);
    const bool handled = e.match->state == Match::State::handled;
    state.number(static_cast<std::uint32_t>(e.match->state));
    state.number(handled ? e.match->time - now_ : 0);
    state.number(handled ? static_cast<Picoseconds>(e.match->order) - now_ : 0);
  }
  if (!pairing_) return;
  entries.clear();
  std::map<std::uint64_t, std::uint64_t> sends;  // by the place of the receive
  matching_.pairs([&](const Match& m, std::uint64_t send) {
    entries.push_back({name_of_op(m.op, iteration).first, &m, 0});
    sends[entries.back().place] = send;
  });
  for (const Entry& e : sorted()) {
    write_op(e.match->op, iteration, state);
    write_op(sends[e.place], iteration, state);
    state.number(std::max<Picoseconds>(e.match->time - now_, -1));
    state.sequence(e.match->order);
  }
}

}  // namespace isthmus::simulate

#include "model.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "hooks.hpp"
#include "machine.hpp"

namespace isthmus::model {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29) ^ 0x9D;
}

alignas(4096) std::array<char, arena_bytes> arena;

Machine* machine_made = nullptr;

Machine& machine() {
  if (machine_made == nullptr) machine_made = new Machine;
  return *machine_made;
}

bool beginning = false;  // of a run: what it allocates is shared
bool busy = false;       // the model runs, not the program: what it allocates and copies is its own

/// From an operation of the program to its end; other threads may run in between.
struct Busy {
  Busy() { busy = true; }
  ~Busy() { busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
};

enum Part : int { acquires = 1, releases = 2, consistent = 4 };

[[noreturn]] void leave() { _longjmp(machine().outside, 1); }

[[noreturn]] void fail(const std::string& words) {
  Machine& m = machine();
  const int saved = m.running;
  m.running = -1;
  if (m.found.error.empty()) m.found.error = words + (saved < 0 ? "" : " (thread " + std::to_string(saved) + ")");
  if (saved < 0) throw std::logic_error(m.found.error);
  leave();
}

std::size_t choose(std::size_t of) {
  Machine& m = machine();
  if (of == 1) return 0;
  if (m.depth == m.trace.size()) m.trace.push_back({0, static_cast<std::uint16_t>(of)});
  if (m.trace[m.depth].of != of) fail("the program is not the same in each run");
  return m.trace[m.depth++].taken;
}

std::uint16_t last_of(const Place& place) { return static_cast<std::uint16_t>(place.order.size() - 1); }

std::uint16_t at_of(std::uint16_t store) { return machine().stores[store].at; }

void join(std::uint16_t& mine, std::uint16_t other) {
  if (at_of(other) > at_of(mine)) mine = other;
}

void join(View& mine, const View& other) {
  Machine& m = machine();
  for (std::size_t p = 0; p < m.places.size(); ++p) join(mine.stores[p], other.stores[p]);
  for (int t = 0; t < m.count; ++t) mine.clock[t] = std::max(mine.clock[t], other.clock[t]);
}

std::uint64_t hash_of(const View& view) {
  const Machine& m = machine();
  std::uint64_t sum = 0;
  for (std::size_t p = 0; p < m.places.size(); ++p)
    if (at_of(view.stores[p]) > 0) sum += mixed(m.places[p].offset, m.stores[view.stores[p]].name);
  for (int t = 0; t < m.count; ++t) sum = mixed(sum, view.clock[t]);
  return sum;
}

std::uint64_t state() {
  const Machine& m = machine();
  std::uint64_t sum = 0;
  for (const Place& place : m.places) {
    if (place.order.size() == 1) continue;
    std::uint64_t own = place.offset;
    for (const std::uint16_t store : place.order) own = mixed(own, m.stores[store].name);
    sum += mixed(own, m.stores[place.consistent].name);
  }
  for (int t = 0; t < m.count; ++t) {
    const Thread& one = m.threads[t];
    sum = mixed(sum, one.history + (one.done ? 1 : 0));
    sum = mixed(sum, hash_of(one.view));
    sum = mixed(sum, hash_of(one.released));
    sum = mixed(sum, hash_of(one.pending));
  }
  if (m.limits.switches >= 0)
    sum = mixed(sum, static_cast<std::uint64_t>(m.switches) << 8 | static_cast<std::uint64_t>(m.running));
  return sum;
}

bool may_go_on(const Thread& thread) {
  const Machine& m = machine();
  if (thread.done) return false;
  if (!thread.waits) return true;
  // What it may know of by now without having looked counts as well.
  for (const auto& [p, found] : thread.looked)
    if (at_of(found) < last_of(m.places[p])) return true;
  return false;
}

void run_thread() {
  Machine& m = machine();
  busy = false;
  m.program->threads[static_cast<std::size_t>(m.running)]();
  busy = true;
  m.threads[static_cast<std::size_t>(m.running)].chosen = false;
  m.threads[static_cast<std::size_t>(m.running)].done = true;
  next_step();
}

[[noreturn]] void resume(int thread) {
  Machine& m = machine();
  m.running = thread;
  Thread& one = m.threads[static_cast<std::size_t>(thread)];
  if (one.started) _longjmp(one.at, 1);
  one.started = one.chosen = true;
  setcontext(&one.begin);
  std::abort();
}

}  // namespace

/// Before an operation that others can notice, and where a thread waits or ends.
void next_step() {
  Machine& m = machine();
  std::array<int, most_threads> ready{};
  std::size_t count = 0;
  const int own = m.running;
  if (own >= 0 && m.threads[static_cast<std::size_t>(own)].chosen) {
    m.threads[static_cast<std::size_t>(own)].chosen = false;
    return;
  }
  const bool goes_on = own >= 0 && may_go_on(m.threads[static_cast<std::size_t>(own)]);
  const bool may_switch = !goes_on || m.limits.switches < 0 || m.switches < m.limits.switches;
  if (goes_on) ready[count++] = own;
  bool all_done = true;
  for (int t = 0; t < m.count; ++t) {
    all_done = all_done && m.threads[static_cast<std::size_t>(t)].done;
    if (t != own && may_switch && may_go_on(m.threads[static_cast<std::size_t>(t)])) ready[count++] = t;
  }
  if (count == 0) {
    if (!all_done) fail("all threads wait");
    m.running = -2;  // the run is over
    leave();
  }
  if (m.depth >= m.replayed) {
    if (m.visited.size() >= m.limits.states) {
      m.found.whole = false;
      leave();
    }
    if (!m.visited.insert(state()).second) leave();
  }
  const int chosen = ready[choose(count)];
  if (chosen == own) return;
  if (goes_on) ++m.switches;
  if (own < 0 || m.threads[static_cast<std::size_t>(own)].done) resume(chosen);
  if (_setjmp(m.threads[static_cast<std::size_t>(own)].at) == 0) resume(chosen);
}

bool in_thread() { return machine_made != nullptr && machine_made->running >= 0 && !busy; }

bool shares_what_it_allocates() { return beginning || in_thread(); }

bool is_shared(const volatile void* address) {
  const auto* const at = static_cast<const volatile char*>(address);
  return at >= arena.data() && at < arena.data() + arena.size();
}

namespace {

std::size_t offset_of(const volatile void* address) {
  return static_cast<std::size_t>(static_cast<const volatile char*>(address) - arena.data());
}

Thread& own() {
  Machine& m = machine();
  return m.threads[static_cast<std::size_t>(m.running)];
}

using Kind = std::array<std::uint16_t, most_threads> Accesses::*;

/// An access of a byte after all those of other threads of these kinds, or a race.
void access_byte(std::size_t byte, Kind kind, std::initializer_list<Kind> before) {
  Machine& m = machine();
  Accesses& a = m.accesses[byte];
  const Thread& thread = own();
  for (const Kind one : before)
    for (int t = 0; t < m.count; ++t)
      if (t != m.running && (a.*one)[static_cast<std::size_t>(t)] > thread.view.clock[static_cast<std::size_t>(t)])
        fail("data race with thread " + std::to_string(t));
  auto& mine = (a.*kind)[static_cast<std::size_t>(m.running)];
  if (mine == 0) m.touched.push_back(static_cast<std::uint32_t>(byte));
  mine = thread.view.clock[static_cast<std::size_t>(m.running)];
}

void access_atomic(std::size_t offset, std::size_t size, bool reads, bool writes) {
  for (std::size_t i = 0; i < size; ++i) {
    if (reads) access_byte(offset + i, &Accesses::atomic_reads, {&Accesses::writes});
    if (writes) access_byte(offset + i, &Accesses::atomic_writes, {&Accesses::writes, &Accesses::reads});
  }
}

std::uint64_t in_memory(std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, arena.data() + offset, size);
  return value;
}

std::uint16_t new_store(std::uint64_t name) {
  Machine& m = machine();
  if (m.stores.size() == 0xFFFF) fail("too many stores in one run");
  m.stores.emplace_back();
  m.stores.back().name = name;
  return static_cast<std::uint16_t>(m.stores.size() - 1);
}

std::uint16_t place_of(std::size_t offset, std::size_t size) {
  Machine& m = machine();
  const std::int16_t known = m.place_at[offset];
  if (known > 0) {
    Place& place = m.places[static_cast<std::size_t>(known - 1)];
    if (place.size != size) fail("an atomic of two sizes");
    Store& last = m.stores[place.order.back()];
    if (last.unread) {
      last.unread = false;
      last.value = in_memory(offset, size);
    }
    return static_cast<std::uint16_t>(known - 1);
  }
  if (m.places.size() == most_places) fail("too many atomics");
  m.places.push_back({offset, size, {}, 0, 0});
  const std::uint16_t first = new_store(offset + 1);
  m.stores[first].value = in_memory(offset, size);
  m.places.back().order.push_back(first);
  m.places.back().floor = m.places.back().consistent = first;
  m.place_at[offset] = static_cast<std::int16_t>(m.places.size());
  return static_cast<std::uint16_t>(m.places.size() - 1);
}

/// The first one in its order that the thread may find, or behind which it may store.
std::uint16_t first_for(const Place& place, std::uint16_t number, int parts) {
  std::uint16_t first = std::max(at_of(place.floor), at_of(own().view.stores[number]));
  if ((parts & consistent) != 0) first = std::max(first, at_of(place.consistent));
  return first;
}

void take(std::uint16_t number, std::uint16_t store, int parts) {
  Machine& m = machine();
  Thread& thread = own();
  const View& carried = m.stores[store].view;
  join(thread.pending, carried);
  if ((parts & acquires) != 0) join(thread.view, carried);
  join(thread.view.stores[number], store);
  if ((parts & consistent) != 0) join(m.places[number].consistent, store);
  thread.history = mixed(mixed(thread.history, m.places[number].offset), m.stores[store].name);
}

void put(std::uint16_t number, std::uint16_t after, std::uint64_t value, int parts, bool joined) {
  Machine& m = machine();
  Thread& thread = own();
  const std::uint64_t name = mixed(static_cast<std::uint64_t>(m.running + 1) << 32 | ++thread.stores, 0x51);
  const std::uint16_t made = new_store(name);
  Place& place = m.places[number];
  Store& store = m.stores[made];
  store.value = value;
  store.joined = joined;
  place.order.insert(place.order.begin() + after + 1, made);
  for (std::size_t i = after + 1U; i < place.order.size(); ++i)
    m.stores[place.order[i]].at = static_cast<std::uint16_t>(i);
  thread.view.stores[number] = made;
  store.view = (parts & releases) != 0 ? thread.view : thread.released;
  if (joined) join(store.view, m.stores[place.order[after]].view);
  store.view.stores[number] = made;
  if ((parts & releases) != 0) ++thread.view.clock[static_cast<std::size_t>(m.running)];
  if ((parts & consistent) != 0) place.consistent = made;
  thread.history = mixed(mixed(thread.history, place.offset), value);
  if (place.order.back() == made) std::memcpy(arena.data() + place.offset, &value, place.size);
}

/// The parts of an order, as the call has them now.
int parts_of(int order, bool reads, bool writes, const void* call) {
  Machine& m = machine();
  int parts = 0;
  if (reads && order != 0 && order != 3) parts |= acquires;
  if (writes && order >= 3) parts |= releases;
  if (order == 5) parts |= consistent;
  const auto address = reinterpret_cast<std::uintptr_t>(call);
  m.calls[address] |= parts;
  if (m.weakening == Weakening::none || !m.weak_calls.contains(address)) return parts;
  switch (m.weakening) {
    case Weakening::acquire: return parts & ~(acquires | consistent);
    case Weakening::release: return parts & ~(releases | consistent);
    default: return parts & ~consistent;
  }
}

void looked_at(std::uint16_t number, std::uint16_t store) { own().looked.emplace_back(number, store); }

}  // namespace

std::uint64_t load(const volatile void* address, std::size_t size, int order, const void* call) {
  const Busy now;
  next_step();
  Machine& m = machine();
  const std::size_t offset = offset_of(address);
  const std::uint16_t number = place_of(offset, size);
  access_atomic(offset, size, true, false);
  const int parts = parts_of(order, true, false, call);
  const std::uint16_t first = first_for(m.places[number], number, parts);
  const std::size_t behind = choose(m.places[number].order.size() - first);  // the newest one first
  const std::uint16_t store = m.places[number].order[m.places[number].order.size() - 1 - behind];
  looked_at(number, store);
  take(number, store, parts);
  return m.stores[store].value;
}

void store(volatile void* address, std::size_t size, std::uint64_t value, int order, const void* call) {
  const Busy now;
  next_step();
  Machine& m = machine();
  const std::size_t offset = offset_of(address);
  const std::uint16_t number = place_of(offset, size);
  access_atomic(offset, size, false, true);
  const int parts = parts_of(order, false, true, call);
  const std::vector<std::uint16_t>& all = m.places[number].order;
  std::vector<std::uint16_t> behind;
  for (std::size_t i = all.size(); i-- > first_for(m.places[number], number, parts);)
    if (i + 1 == all.size() || !m.stores[all[i + 1]].joined) behind.push_back(static_cast<std::uint16_t>(i));
  put(number, behind[choose(behind.size())], value, parts, false);
}

std::uint64_t change(volatile void* address, std::size_t size, const Next& next, int order, int otherwise,
                     const void* call) {
  const Busy now;
  next_step();
  Machine& m = machine();
  const std::size_t offset = offset_of(address);
  const std::uint16_t number = place_of(offset, size);
  const int parts = parts_of(order, true, true, call);
  const std::vector<std::uint16_t>& all = m.places[number].order;
  std::vector<std::uint16_t> possible;
  std::uint64_t value = 0;
  for (std::size_t i = all.size(); i-- > first_for(m.places[number], number, parts);)
    if (i + 1 == all.size() || !m.stores[all[i + 1]].joined || !next(m.stores[all[i]].value, value))
      possible.push_back(all[i]);
  const std::uint16_t found = possible[choose(possible.size())];
  const std::uint64_t before = m.stores[found].value;
  looked_at(number, found);
  if (next(before, value)) {
    access_atomic(offset, size, true, true);
    take(number, found, parts);
    put(number, at_of(found), value, parts, true);
  } else {
    access_atomic(offset, size, true, false);
    take(number, found, parts_of(otherwise, true, false, call) & parts);
  }
  return before;
}

void fence(int order, const void* call) {
  const Busy now;
  Machine& m = machine();
  if (order == 5) next_step();
  const int parts = parts_of(order, true, true, call);
  Thread& thread = own();
  if ((parts & acquires) != 0) join(thread.view, thread.pending);
  if ((parts & consistent) != 0) {
    for (std::size_t p = 0; p < m.places.size(); ++p) {
      join(thread.view.stores[p], m.places[p].consistent);
      m.places[p].consistent = thread.view.stores[p] == 0 ? m.places[p].consistent : thread.view.stores[p];
    }
  }
  if ((parts & releases) != 0) {
    thread.released = thread.view;
    ++thread.view.clock[static_cast<std::size_t>(m.running)];
  }
  thread.history = mixed(thread.history, 0xFE0 + static_cast<std::uint64_t>(parts));
}

void plain(const volatile void* address, std::size_t size, bool writes) {
  Machine& m = machine();
  if (!in_thread() || !is_shared(address)) return;
  const Busy now;
  const std::size_t offset = offset_of(address);
  for (std::size_t i = 0; i < size; ++i) {
    if (writes) {
      access_byte(offset + i, &Accesses::writes,
                  {&Accesses::writes, &Accesses::reads, &Accesses::atomic_writes, &Accesses::atomic_reads});
    } else {
      access_byte(offset + i, &Accesses::reads, {&Accesses::writes, &Accesses::atomic_writes});
    }
  }
  if (!writes) return;
  for (std::size_t at = offset < 7 ? 0 : offset - 7; at < offset + size; ++at) {
    if (m.place_at[at] == 0) continue;
    const auto number = static_cast<std::uint16_t>(m.place_at[at] - 1);
    if (at + m.places[number].size <= offset) continue;
    // Whoever looks at it has this before, or it is a race.
    put(number, last_of(m.places[number]), 0, 0, false);
    const std::uint16_t made = m.places[number].order.back();
    m.stores[made].unread = true;
    m.stores[made].view = {};  // nobody acquires from it
    m.stores[made].view.stores[number] = made;
    m.places[number].floor = m.places[number].consistent = made;
  }
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  Machine& m = machine();
  const bool inside = m.running >= 0;
  const std::size_t first = inside ? (64 << 10) + static_cast<std::size_t>(m.running) * heap_bytes : 0;
  const std::size_t room = inside ? heap_bytes : 64 << 10;
  std::size_t& used = inside ? own().heap : m.used;
  used = (used + alignment - 1) / alignment * alignment;
  if (used + bytes > room) fail("too much memory");
  void* const at = arena.data() + first + used;
  used += bytes;
  return at;
}

void await(const std::function<bool()>& is_so) {
  Thread& thread = own();
  for (;;) {
    const std::uint64_t history = thread.history;
    const std::uint32_t stores = thread.stores;
    const auto seen = thread.view.stores;
    thread.looked.clear();
    if (is_so()) return;
    // Who has found nothing new is where it was.
    if (thread.stores == stores && thread.view.stores == seen) thread.history = history;
    thread.waits = true;
    {
      const Busy now;
      next_step();
    }
    thread.waits = false;
    thread.chosen = true;
  }
}

void check(bool holds, const char* words) {
  if (holds) return;
  busy = true;
  fail(words);
}

void outcome(const std::string& words) { machine().found.outcomes.insert(words); }

namespace {

void run_once() {
  Machine& m = machine();
  std::memset(arena.data(), 0, m.used);
  for (int t = 0; t < m.count; ++t)
    std::memset(arena.data() + (64 << 10) + static_cast<std::size_t>(t) * heap_bytes, 0,
                m.threads[static_cast<std::size_t>(t)].heap);
  for (const std::uint32_t byte : m.touched) m.accesses[byte] = {};
  for (const Place& place : m.places) m.place_at[place.offset] = 0;
  m.touched.clear();
  m.places.clear();
  m.stores.clear();
  m.stores.emplace_back();
  m.used = 0;
  m.depth = 0;
  m.switches = 0;
  m.running = -1;
  beginning = true;
  m.program->begin();
  beginning = false;
  for (int t = 0; t < m.count; ++t) {
    Thread& one = m.threads[static_cast<std::size_t>(t)];
    one.started = one.done = one.waits = one.chosen = false;
    one.history = 0x15;
    one.stores = 0;
    one.heap = 0;
    one.view = one.released = one.pending = {};
    one.view.clock[static_cast<std::size_t>(t)] = 1;
    one.looked.clear();
    getcontext(&one.begin);
    one.begin.uc_stack.ss_sp = one.stack.get();
    one.begin.uc_stack.ss_size = stack_bytes;
    one.begin.uc_link = nullptr;
    makecontext(&one.begin, run_thread, 0);
  }
  busy = true;
  if (_setjmp(m.outside) == 0) next_step();
  busy = false;
  const bool over = m.running == -2;
  m.running = -1;
  if (over && m.program->end != nullptr) {
    try {
      m.program->end();
    } catch (const std::logic_error&) {
    }
  }
}

/// Drops the last choice that has no alternatives left; false: there are no others.
bool advance() {
  Machine& m = machine();
  m.trace.resize(m.depth);
  while (!m.trace.empty() && m.trace.back().taken + 1 == m.trace.back().of) m.trace.pop_back();
  if (m.trace.empty()) return false;
  ++m.trace.back().taken;
  m.replayed = m.trace.size();
  return true;
}

}  // namespace

Found explore(const Program& program, const Limits& limits, const Site& weakened) {
  Machine& m = machine();
  m.program = &program;
  m.limits = limits;
  m.found = {};
  m.count = static_cast<int>(program.threads.size());
  m.trace.clear();
  m.replayed = 0;
  m.visited.clear();
  m.weak_calls.clear();
  m.weakening = weakened.part;
  if (weakened.part != Weakening::none)
    for (const auto& [address, place] : places_of(m.calls))
      if (place == weakened.place) m.weak_calls.insert(address);
  m.calls.clear();
  do {
    run_once();
    ++m.found.runs;
  } while (m.found.error.empty() && m.found.whole && advance());
  m.found.states = m.visited.size();
  const auto places = places_of(m.calls);
  for (const auto& [address, parts] : m.calls) {
    const auto place = places.find(address);
    if (place == places.end()) continue;
    if ((parts & acquires) != 0) m.found.sites.insert({place->second, Weakening::acquire});
    if ((parts & releases) != 0) m.found.sites.insert({place->second, Weakening::release});
    if ((parts & consistent) != 0) m.found.sites.insert({place->second, Weakening::consistent});
  }
  return m.found;
}

}  // namespace isthmus::model

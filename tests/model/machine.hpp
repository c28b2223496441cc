// The state of a run, and what is kept from one run to the next.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "model.hpp"

namespace isthmus::model {

constexpr int most_threads = 4;
constexpr std::size_t most_places = 160, stack_bytes = 64 << 10, heap_bytes = 32 << 10;
constexpr std::size_t arena_bytes = (64 << 10) + most_threads * heap_bytes;

/// How far a thread, or what a store carries, has come at every place; and, by thread, what happened before.
struct View {
  std::array<std::uint16_t, most_places> stores{};  // their numbers; 0: the first one
  std::array<std::uint16_t, most_threads> clock{};
};

struct Store {
  std::uint64_t value = 0, name = 0;  // the name is the same in whichever order threads came here
  std::uint16_t at = 0;               // in the order of its place
  bool joined = false;                // nothing comes between it and the one before
  bool unread = false;                // written by an access to plain memory: its value is what is there
  View view;
};

struct Place {
  std::size_t offset = 0, size = 0;
  std::vector<std::uint16_t> order;
  std::uint16_t floor = 0;       // nothing before it can be found by anybody
  std::uint16_t consistent = 0;  // as far as sequentially consistent operations have come
};

/// Of a byte, by thread: clocks of the last accesses.
struct Accesses {
  std::array<std::uint16_t, most_threads> writes{}, reads{}, atomic_writes{}, atomic_reads{};
};

struct Thread {
  ucontext_t begin{};
  jmp_buf at{};
  bool started = false, done = false, waits = false;
  bool chosen = false;  // for the operation that it comes to next
  std::uint64_t history = 0;
  std::uint32_t stores = 0;
  std::size_t heap = 0;
  View view, released, pending;  // pending: what loads without acquire have found, for a fence
  std::vector<std::pair<std::uint16_t, std::uint16_t>> looked;  // places and what was found, in an attempt of await()
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_bytes);
};

struct Machine {
  const Program* program = nullptr;
  Limits limits;
  Found found;
  std::array<Thread, most_threads> threads;
  int running = -1, count = 0, switches = 0;
  jmp_buf outside{};
  std::size_t used = 0;

  std::vector<Store> stores;
  std::vector<Place> places;
  std::array<std::int16_t, arena_bytes> place_at{};  // number plus 1
  std::vector<Accesses> accesses = std::vector<Accesses>(arena_bytes);
  std::vector<std::uint32_t> touched;

  struct Choice {
    std::uint16_t taken, of;
  };
  std::vector<Choice> trace;
  std::size_t depth = 0, replayed = 0;
  std::unordered_set<std::uint64_t> visited;

  std::set<std::uintptr_t> weak_calls;
  Weakening weakening = Weakening::none;
  std::map<std::uintptr_t, int> calls;  // by address: the parts that its order has
};
/// Of addresses of calls, the places in the source, without what the standard library adds.
std::map<std::uintptr_t, std::string> places_of(const std::map<std::uintptr_t, int>& calls);

}  // namespace isthmus::model

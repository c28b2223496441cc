// A model checker for code without locks, over the atomics of C++.
//
// The code is compiled unchanged with -fsanitize=thread, but linked with this in place of the sanitizer's library: so
// every atomic operation, fence, and access to plain memory calls us, with its order. Threads are fibers of one thread.
// A program is run again and again, each time with other choices, until there are none left:
//
// - which thread takes the next step;
// - which value a load finds. Stores of a place stand in an order of their own, its modification order, and a thread
// has
//   a view: for every place, how far along it is known to be. A load finds any store that is not before that. A store
//   carries the view of its thread where it releases, and a load that acquires takes it over; fences do so for loads
//   before and stores after them; the stores of a release sequence hand it on;
// - where a store comes in that order: anywhere after what its thread has seen, but not between the halves of a
//   read-modify-write;
// - of sequentially consistent operations, the order in which they are carried out is the one order that there has to
//   be: at one place none of them goes back behind what another one has seen, and a fence takes over all of it.
//
// Loads find only what has been stored, so nothing comes out of thin air; an outcome that needs a load to wait for a
// store behind it (load buffering with relaxed operations) is not found, as in RC11 (Lahav et al., Repairing sequential
// consistency in C/C++11, PLDI 2017; the views: Kang et al., A promising semantics, POPL 2017, without promises).
// Accesses to plain memory that no such order stands between are a data race, found by clocks of the threads.
//
// States that have been met are not gone on from again. A state is what each thread has done and found, the orders of
// stores, and the views: from there on everything is the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace isthmus::model {

/// Memory that threads share, and all that they allocate, lies here, zero at the beginning of each run.
void* allocate(std::size_t bytes, std::size_t alignment = 64);
template <class T>
T& make_shared() {
  return *new (allocate(sizeof(T), alignof(T))) T();
}

/// In a thread: goes on when it is so. Where it is not and nothing new was found, the condition must not have changed
/// anything. Nobody waits in vain: a state in which all wait and nothing new can be found is an error.
void await(const std::function<bool()>& is_so);
/// In a thread or at the end: an error of the program, with words.
void check(bool holds, const char* words);
/// At the end: what came out.
void outcome(const std::string& words);

struct Program {
  std::function<void()> begin;                 ///< before the threads, not a part of what is checked
  std::vector<std::function<void()>> threads;  ///< at most most_threads
  std::function<void()> end;                   ///< after them
};

/// Part of an order that is taken away from the operations of a place in the source.
enum class Weakening : std::uint8_t { none, acquire, release, consistent };

struct Site {
  std::string place;  ///< file and line
  Weakening part = Weakening::none;
  auto operator<=>(const Site&) const = default;
};

struct Found {
  std::string error;  ///< the first one; empty: none
  std::set<std::string> outcomes;
  std::uint64_t runs = 0, states = 0;
  bool whole = true;     ///< all states were met, not only as many as were allowed
  std::set<Site> sites;  ///< what could be weakened
};

struct Limits {
  std::uint64_t states = ~std::uint64_t{0};
  int switches = -1;  ///< of threads that could have gone on; below 0: any number
};

Found explore(const Program& program, const Limits& limits = {}, const Site& weakened = {});

}  // namespace isthmus::model

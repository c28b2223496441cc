// Ranks of a space as threads, each with what went wrong on it.
#pragma once

#include <doctest/doctest.h>
#include <isthmus/isthmus_pgas.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/interface/team.hpp"
#include "runtime/transport/threads/threads.hpp"

namespace isthmus::test {

/// A rank's view of what goes wrong: doctest counts on one thread only.
struct Rank {
  isthmus_space* space = nullptr;
  std::uint32_t rank = 0, ranks = 0;
  std::mt19937_64 random;
  std::string wrong;

  void expect(bool holds, const std::string& words) {
    if (!holds && wrong.empty()) wrong = "rank " + std::to_string(rank) + ": " + words + ": " + isthmus_last_error();
  }
  void done(int status, const std::string& words) { expect(status == ISTHMUS_DONE, words); }
  std::uint64_t below(std::uint64_t limit) { return random() % limit; }
  /// Handles messages until it is so; the others may need the processor.
  template <class F>
  void poll_until(const F& is_so) {
    while (!is_so() && wrong.empty()) {
      done(isthmus_poll(space), "poll");
      std::this_thread::yield();
    }
  }
  void barrier() { done(isthmus_barrier(space, nullptr), "barrier"); }
};

inline void on_ranks(std::uint32_t ranks, const std::function<void(Rank&)>& work, isthmus_space_options options = {}) {
  options.size = sizeof options;
  if (options.symmetric == 0) options.symmetric = 16 << 20;
  if (options.local == 0) options.local = 4 << 20;
  runtime::ThreadsWorld world(ranks);
  std::vector<Rank> all(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      isthmus_team team(runtime::Joined{std::make_unique<runtime::ThreadsTransport>(world, r), {}, ranks}, 16, nullptr);
      Rank& own = all[r];
      own.rank = r;
      own.ranks = ranks;
      own.random.seed(r + 1);
      if (isthmus_space_make(&team, &options, &own.space) != ISTHMUS_DONE) {
        own.wrong = isthmus_last_error();
        return;
      }
      work(own);
      own.done(isthmus_space_leave(own.space), "leave");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Rank& rank : all) CHECK(rank.wrong == "");
}

}  // namespace isthmus::test

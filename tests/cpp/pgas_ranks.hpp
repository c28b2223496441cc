// Ranks of a partitioned global address space as threads, on one node or on several.
#pragma once

#include <doctest/doctest.h>
#include <isthmus/isthmus_pgas.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "memory_wire.hpp"
#include "runtime/interface/team.hpp"
#include "runtime/transport/threads/threads.hpp"
#include "wired_nodes.hpp"

namespace isthmus::test {

/// A rank's view of what goes wrong: doctest counts on one thread only.
struct Rank {
  isthmus_space* space = nullptr;
  std::uint32_t rank = 0, ranks = 0, per_node = 0;
  std::mt19937_64 random;
  std::string wrong;
  static inline thread_local std::vector<std::string> heard;  ///< what users are told on this rank

  static void hear(const char* words) { heard.emplace_back(words); }
  void expect(bool holds, const std::string& words) {
    if (!holds && wrong.empty()) wrong = "rank " + std::to_string(rank) + ": " + words + ": " + isthmus_last_error();
  }
  /// Whether this rank shares memory with another one.
  [[nodiscard]] bool shares(std::uint32_t other) const { return per_node == 0 || other / per_node == rank / per_node; }
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

/// Ranks, and how many of them a node has; 0: all are on one.
struct Shape {
  Shape(std::uint32_t all, std::uint32_t each = 0) : ranks(all), per_node(each) {}  // NOLINT
  std::uint32_t ranks, per_node;
};

/// The team of a rank, and what it is on.
class World {
 public:
  explicit World(const Shape& shape)
      : per_node_(shape.per_node),
        threads_(shape.ranks),
        nodes_(shape.ranks, std::max(1U, shape.per_node)),
        wires_(shape.ranks, 100, 300 + 4000 * shape.ranks, shape.ranks) {}
  runtime::Joined join(std::uint32_t rank, std::uint32_t ranks) {
    if (per_node_ == 0) return {std::make_unique<runtime::ThreadsTransport>(threads_, rank), {}, ranks};
    std::vector<runtime::Rank> nodes(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) nodes[r] = r - r % per_node_;
    return {transport_of(wires_, nodes_, rank), nodes, per_node_};
  }

 private:
  std::uint32_t per_node_;
  runtime::ThreadsWorld threads_;
  Nodes nodes_;
  MemoryWires wires_;
};

inline void on_ranks(const Shape& shape, const std::function<void(Rank&)>& work, isthmus_space_options options = {}) {
  const std::uint32_t ranks = shape.ranks;
  options.size = sizeof options;
  if (options.symmetric == 0) options.symmetric = 16 << 20;
  if (options.local == 0) options.local = 4 << 20;
  World world(shape);
  std::vector<Rank> all(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      isthmus_team team(world.join(r, ranks), 16, Rank::hear);
      Rank& own = all[r];
      own.rank = r;
      own.ranks = ranks;
      own.per_node = shape.per_node;
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

inline std::vector<Shape> shapes() { return {1, 2, 3, 4, 7, {2, 1}, {3, 1}, {3, 2}, {7, 3}}; }

}  // namespace isthmus::test

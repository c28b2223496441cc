// Schedules that are carried out: every algorithm of the catalogue, on threads, against what MPI says of its
// collective.
#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "collectives/buffers.hpp"
#include "collectives/registry.hpp"
#include "runtime/collectives/collective_program.hpp"
#include "runtime/collectives/operators.hpp"
#include "runtime/transport/threads/threads.hpp"
#include "schedule/names.hpp"

namespace isthmus::test {
namespace {

using namespace runtime;
using schedule::CollectiveCall;
using schedule::CollectiveKind;
using enum schedule::CollectiveKind;

using Numbers = std::vector<std::int32_t>;

/// A collective of 32-bit integers, the same on all ranks.
struct Case {
  CollectiveKind kind;
  std::string algorithm;
  Rank ranks = 1;
  Rank root = 0;
  std::uint64_t count = 0;
  bool in_place = false;
  collectives::GivenOptions options = {};
};

bool has_input(const Case& c, Rank rank) {
  switch (c.kind) {
    case barrier:
    case bcast: return false;
    case scatter: return rank == c.root;
    case reduce:
    case gather: return !(c.in_place && rank == c.root);
    case allreduce:
    case scan:
    case exscan:
    case allgather: return !c.in_place;
    default: return true;
  }
}

/// Elements that a rank has at first in a whole contribution.
std::uint64_t contribution(const Case& c) {
  return c.kind == scatter || c.kind == alltoall || c.kind == reduce_scatter ? c.count * c.ranks : c.count;
}

std::int32_t value(Rank rank, std::uint64_t i) { return static_cast<std::int32_t>((rank + 1) * 1000003U + i * 7919U); }

/// What the output of a rank must hold; empty: nothing is asked.
Numbers expected(const Case& c, Rank rank) {
  const std::uint64_t n = c.count;
  const auto sum = [&](Rank first, Rank end, std::uint64_t i) {
    std::uint32_t total = 0;
    for (Rank r = first; r < end; ++r) total += static_cast<std::uint32_t>(value(r, i));
    return static_cast<std::int32_t>(total);
  };
  Numbers out;
  switch (c.kind) {
    case bcast:
      for (std::uint64_t i = 0; i < n; ++i) out.push_back(value(c.root, i));
      break;
    case reduce:
      if (rank == c.root)
        for (std::uint64_t i = 0; i < n; ++i) out.push_back(sum(0, c.ranks, i));
      break;
    case allreduce:
      for (std::uint64_t i = 0; i < n; ++i) out.push_back(sum(0, c.ranks, i));
      break;
    case scan:
      for (std::uint64_t i = 0; i < n; ++i) out.push_back(sum(0, rank + 1, i));
      break;
    case exscan:
      if (rank > 0)
        for (std::uint64_t i = 0; i < n; ++i) out.push_back(sum(0, rank, i));
      break;
    case reduce_scatter:
      for (std::uint64_t i = 0; i < n; ++i) out.push_back(sum(0, c.ranks, rank * n + i));
      break;
    case scatter:
      if (!(c.in_place && rank == c.root))
        for (std::uint64_t i = 0; i < n; ++i) out.push_back(value(c.root, rank * n + i));
      break;
    case gather:
    case allgather:
      if (c.kind == allgather || rank == c.root)
        for (Rank r = 0; r < c.ranks; ++r)
          for (std::uint64_t i = 0; i < n; ++i) out.push_back(value(r, i));
      break;
    case alltoall:
      for (Rank r = 0; r < c.ranks; ++r)
        for (std::uint64_t i = 0; i < n; ++i) out.push_back(value(r, rank * n + i));
      break;
    default: break;
  }
  return out;
}

/// One rank's buffers before the call.
struct RankData {
  Numbers input, output;
  std::vector<std::byte> scratch;
  std::byte* at[3] = {};

  RankData(const Case& c, Rank rank, const runtime::Program& program) {
    input.assign(program.buffers[0] / sizeof(std::int32_t), -1);
    output.assign(program.buffers[1] / sizeof(std::int32_t), -2);
    scratch.resize(program.buffers[2] + 1);
    const std::uint64_t n = contribution(c);
    if (has_input(c, rank))
      for (std::uint64_t i = 0; i < n && i < input.size(); ++i) input[i] = value(rank, i);
    if (c.kind == bcast && rank == c.root)
      for (std::uint64_t i = 0; i < n; ++i) output[i] = value(rank, i);
    if (c.in_place) {
      const bool whole =
          c.kind == allreduce || c.kind == scan || c.kind == exscan || (c.kind == reduce && rank == c.root);
      if (whole)
        for (std::uint64_t i = 0; i < n; ++i) output[i] = value(rank, i);
      if (c.kind == allgather || (c.kind == gather && rank == c.root))
        for (std::uint64_t i = 0; i < n; ++i) output[rank * n + i] = value(rank, i);
      if (c.kind == alltoall)
        for (std::uint64_t i = 0; i < c.count; ++i) output[rank * c.count + i] = value(rank, rank * c.count + i);
      if (c.kind == reduce_scatter && c.ranks == 1)
        for (std::uint64_t i = 0; i < n; ++i) output[i] = value(rank, i);
    }
    at[0] = reinterpret_cast<std::byte*>(input.data());
    at[1] = reinterpret_cast<std::byte*>(output.data());
    at[2] = scratch.data();
  }
};

/// Failures of threads, which may not assert.
struct Failures {
  std::mutex lock;
  std::vector<std::string> found;
  std::atomic<bool> any{false};

  void add(std::string words) {
    const std::scoped_lock guard(lock);
    found.push_back(std::move(words));
    any = true;
  }
};

void finish(runtime::Transport& transport, std::vector<std::unique_ptr<Execution>>& all, Failures& failures) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (std::size_t turn = 0;; ++turn) {
    progress(transport);
    bool done = true;
    for (const auto& one : all) {
      if (one->status() == Status::failed) return failures.add(transport.failure());
      done &= one->status() == Status::done;
    }
    if (done) return;
    if (failures.any || std::chrono::steady_clock::now() > until) return failures.add("a rank does not end");
    if (turn % 16 == 15) std::this_thread::yield();
  }
}

/// Carries out cases at once, each rank in a thread; the ranks begin them in their order.
void carry_out(const std::vector<Case>& cases) {
  const Rank ranks = cases.front().ranks;
  ThreadsWorld world(ranks);
  Failures failures;
  std::barrier all_done(static_cast<std::ptrdiff_t>(ranks));  // others may still read what a rank has sent
  const Operator sum = operator_of(Element::i32, Operation::sum);
  const auto of_rank = [&](Rank rank) {
    ThreadsTransport transport(world, rank);
    std::vector<std::unique_ptr<runtime::Program>> programs;
    std::vector<std::unique_ptr<RankData>> data;
    std::vector<std::unique_ptr<Execution>> running;
    for (const Case& c : cases) {
      CollectiveCall call;
      call.kind = c.kind;
      call.rank = rank;
      call.ranks = ranks;
      call.root = c.root;
      call.bytes = c.count;
      call.in_place = c.in_place;
      const auto algorithm = collectives::find_algorithm(c.kind, c.algorithm, c.options);
      programs.push_back(std::make_unique<runtime::Program>(collective_program(call, algorithm, sizeof(std::int32_t))));
      data.push_back(std::make_unique<RankData>(c, rank, *programs.back()));
      running.push_back(std::make_unique<Execution>(*programs.back()));
    }
    for (std::size_t i = 0; i < running.size(); ++i)
      running[i]->start(transport, static_cast<std::uint32_t>(i), data[i]->at, sum);
    finish(transport, running, failures);
    all_done.arrive_and_wait();
    if (failures.any) return;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Numbers wanted = expected(cases[i], rank);
      const Numbers& got = data[i]->output;
      if (!std::equal(wanted.begin(), wanted.end(), got.begin(),
                      got.begin() + static_cast<std::ptrdiff_t>(std::min(wanted.size(), got.size()))))
        failures.add("rank " + std::to_string(rank) + " has another result");
    }
  };
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) threads.emplace_back(of_rank, rank);
  for (std::thread& thread : threads) thread.join();
  for (const std::string& words : failures.found) {
    FAIL_CHECK(words);
    break;
  }
}

/// May the algorithm run so? Those for powers of two refuse other numbers.
bool runs(const Case& c) {
  CollectiveCall call;
  call.kind = c.kind;
  call.ranks = c.ranks;
  call.root = c.root;
  call.bytes = c.count;
  call.in_place = c.in_place;
  try {
    collective_program(call, collectives::find_algorithm(c.kind, c.algorithm, c.options), 4);
    return true;
  } catch (const InvalidInput&) {
    return false;
  }
}

TEST_CASE("every algorithm does what MPI says, at many numbers of ranks") {
  Rng random(11);
  std::size_t carried = 0;
  for (std::uint8_t k = 1; k < static_cast<std::uint8_t>(neighbor_alltoall); ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    for (const std::string& algorithm : collectives::algorithms(kind)) {
      for (const Rank ranks : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 11U, 13U, 16U, 17U}) {
        std::vector<Case> cases;
        for (const std::uint64_t count :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{37}, std::uint64_t{1} + random.below(900)}) {
          for (const bool in_place : {false, true}) {
            const Case c{kind, algorithm, ranks, static_cast<Rank>(random.below(ranks)), count, in_place, {}};
            if (runs(c)) cases.push_back(c);
          }
        }
        if (cases.empty()) continue;
        const std::string collective = schedule::name_of(kind);
        CAPTURE(collective);
        CAPTURE(algorithm);
        CAPTURE(ranks);
        carry_out(cases);
        carried += cases.size();
      }
    }
  }
  CHECK(carried > 3000);
}

}  // namespace
}  // namespace isthmus::test

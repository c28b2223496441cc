// What a rank pays without any message: operations of the executor, cached and persistent calls, and building its part
// of a schedule for many ranks. bench/runtime.py --core builds and runs it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "collectives/registry.hpp"
#include "isthmus/isthmus.h"
#include "runtime/collectives/collective_program.hpp"
#include "runtime/executor/execution.hpp"
#include "runtime/executor/program.hpp"
#include "runtime/transport/threads/threads.hpp"
#include "schedule/builder.hpp"

namespace {

using namespace isthmus;

/// The least nanoseconds of `times` calls.
template <class F>
double least(int times, F f) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// Nanoseconds an operation takes, where each waits for the `before` ones before it.
double operation(schedule::OpKind kind, std::uint32_t before) {
  constexpr std::uint32_t operations = 1000;
  schedule::ScheduleBuilder builder;
  schedule::RankBuilder rank;
  for (std::uint32_t i = 0; i < operations; ++i) {
    schedule::Operation op{};
    op.kind = kind;
    op.amount = kind == schedule::OpKind::copy ? 8 : 0;
    rank.add(op, schedule::Slices{schedule::Slice{0, 0, 0}, schedule::Slice{1, 0, 0}});
    for (std::uint32_t k = 1; k <= std::min(before, i); ++k) rank.require(i, i - k);
  }
  builder.set_buffers({{"input", "output", "scratch"}, {64, 64, 0}});
  builder.append(rank);
  const auto schedule = builder.build();
  const runtime::Program program = runtime::program_of(schedule, 0);
  runtime::Execution execution(program);
  runtime::ThreadsWorld world(1);
  runtime::ThreadsTransport transport(world, 0);
  std::byte from[64]{}, to[64]{};
  std::byte* buffers[] = {from, to, nullptr};
  return least(300, [&] { execution.start(transport, 0, buffers, {}); }) / operations;
}

void check(int status) {
  if (status >= 0) return;
  std::fprintf(stderr, "%s\n", isthmus_last_error());
  std::exit(1);
}

/// A sum of one element on one rank, which has nobody to wait for.
void calls() {
  isthmus_job job{};
  job.size = sizeof job;
  job.name = "isthmus-bench-runtime-core";
  job.ranks = 1;
  isthmus_team* team = nullptr;
  check(isthmus_join(&job, &team));
  isthmus_call sum{};
  sum.size = sizeof sum;
  sum.kind = ISTHMUS_ALLREDUCE;
  sum.element = ISTHMUS_F64;
  sum.count = 1;
  double mine = 1, all = 0;
  isthmus_operation* operation = nullptr;
  constexpr int calls = 1000;
  const double cached = least(300, [&] {
    for (int i = 0; i < calls; ++i) {
      check(isthmus_begin(team, &sum, &mine, &all, &operation));
      check(isthmus_wait(operation));
    }
  });
  check(isthmus_make(team, &sum, &operation));
  const double persistent = least(300, [&] {
    for (int i = 0; i < calls; ++i) {
      check(isthmus_start(operation, &mine, &all));
      check(isthmus_wait(operation));
    }
  });
  check(isthmus_free(operation));
  check(isthmus_leave(team));
  std::printf("a cached call of one rank, begun and waited for: %.1f ns; persistent: %.1f ns\n", cached / calls,
              persistent / calls);
}

}  // namespace

int main() {
  std::printf("computations in a chain: %.1f ns each\n", operation(schedule::OpKind::calc, 1));
  std::printf("computations that wait for four each: %.1f ns each\n", operation(schedule::OpKind::calc, 4));
  std::printf("copies of 8 B in a chain: %.1f ns each\n", operation(schedule::OpKind::copy, 1));
  calls();
  const auto algorithm = collectives::find_algorithm(schedule::CollectiveKind::allreduce, "recursive_doubling");
  for (const std::uint32_t ranks : {1024U, 100'000U}) {
    schedule::CollectiveCall call;
    call.kind = schedule::CollectiveKind::allreduce;
    call.rank = 777;
    call.ranks = ranks;
    call.bytes = 1000;
    call.in_place = false;
    std::size_t steps = 0;
    const double time = least(2000, [&] { steps = runtime::collective_program(call, algorithm, 8).steps.size(); });
    std::printf("recursive doubling of %u ranks: one rank's part of %zu operations in %.2f us\n", ranks, steps,
                time / 1e3);
  }
  return 0;
}

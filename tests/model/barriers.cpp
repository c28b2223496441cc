// The barrier of flags between ranks that share memory.
#include "runtime/pgas/barrier.hpp"

#include "near_ranks.hpp"
#include "parts.hpp"

namespace isthmus::model {
namespace {

using runtime::Barrier;

struct Shared {
  NearRanks ranks;
  Barrier* barriers[4];
  std::uint64_t* data;
};
Shared shared;

void meet(Barrier& barrier, const std::int64_t* id) {
  barrier.notify(id);
  await([&] { return barrier.go_on(); });
  barrier.end();
}

/// So many barriers one after the other: before each of them a rank writes what all read after it.
Program barriers(std::uint32_t ranks, std::uint64_t times) {
  Program program;
  program.begin = [=] {
    shared.ranks = near_ranks(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r)
      shared.barriers[r] =
          new (allocate(sizeof(Barrier))) Barrier(*shared.ranks.segments, *shared.ranks.no_far, r, ranks);
    shared.data = static_cast<std::uint64_t*>(allocate(8 * ranks * times));
  };
  for (std::uint32_t r = 0; r < ranks; ++r)
    program.threads.emplace_back([=] {
      Barrier& own = *shared.barriers[r];
      for (std::uint64_t time = 0; time < times; ++time) {
        shared.data[time * ranks + r] = time + r + 1;
        // Ranks give a number now and then; in the last one two that differ.
        const std::int64_t id = time + 1 == times ? static_cast<std::int64_t>(r) : 5;
        meet(own, (r + time) % 2 == 0 || time + 1 == times ? &id : nullptr);
        check(own.differs() == (time + 1 == times && ranks > 1), "numbers");
        for (std::uint32_t other = 0; other < ranks; ++other)
          check(shared.data[time * ranks + other] == time + other + 1, "somebody has not come");
      }
    });
  return program;
}

}  // namespace

Part barriers() {
  return {
      "barriers", {barriers(2, 4), barriers(3, 3), barriers(4, 2)}, {"runtime/pgas/barrier.cpp"}, {}, {barriers(2, 9)}};
}

}  // namespace isthmus::model

// Random schedules and machines to simulate them on.
#pragma once

#include <cstdint>
#include <random>

#include "schedule/schedule.hpp"
#include "simulate/model/options.hpp"

namespace isthmus::test {
using namespace schedule;
using namespace simulate;

using Random = std::mt19937_64;
/// Random numbers of one case of a matrix, whichever others are run.
inline Random stream(std::uint64_t matrix, std::uint64_t number) { return Random((matrix << 32) + number); }

/// 0, ..., n - 1, the same on every platform.
inline std::uint64_t below(Random& random, std::uint64_t n) { return random() % n; }
/// True once in n times.
inline bool once_in(Random& random, std::uint64_t n) { return random() % n == 0; }

struct Recipe {
  Rank ranks = 4;
  std::uint32_t steps = 20;  ///< messages, puts, gets and local operations together
  std::uint32_t tags = 2;
  std::uint32_t comms = 2;
  std::uint32_t cpus = 1;
  std::uint32_t nics = 1;
  std::uint64_t most_bytes = 6;
  std::uint64_t most_work = 6;
  bool odd = false;  ///< amounts are odd and large: between half of the most and the most
  bool wildcards = false;
  bool one_sided = false;
  bool on_start = false;   ///< some dependencies are fulfilled by the start of an operation
  bool to_itself = false;  ///< ranks send to themselves
  Rank kinds = 1;          ///< of transitive_schedule
  bool shuffled = false;   ///< operations are not numbered in the order in which they can happen
};

/// Without wildcards, and with sends of one channel in the order of the receives, it can be completed; others may
/// block.
Schedule random_schedule(Random& random, const Recipe& recipe);

/// Parameters so small that many events happen at the same time.
SimulationOptions small_machine(Random& random);
/// Parameters so large and odd that hardly any do. Eager up to `eager` bytes.
SimulationOptions odd_machine(Random& random, std::uint64_t eager);

/// Cells of recipe.kinds ranks stand on a circle, a torus or a hypercube of recipe.ranks / recipe.kinds cells, and
/// every cell does the same with cells at the same places relative to its own.
Schedule transitive_schedule(Random& random, const Recipe& recipe);

}  // namespace isthmus::test

// Seeded samples of long matrices of tests, as tests/py/samples.py takes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace isthmus::testing {

/// The cases of a long matrix that this run takes, by their numbers, in order. Where the environment sets
/// ISTHMUS_SAMPLE_SEED, as `./bootstrap test` does, they are `most` of all, others with each seed; otherwise all. A
/// case must depend on its number alone, so that one that fails in a sample fails as well where all are run.
struct Sample {
  Sample(std::string_view name, std::size_t of, std::size_t most) : cases(of) {
    std::iota(cases.begin(), cases.end(), std::size_t{0});
    const char* seed = std::getenv("ISTHMUS_SAMPLE_SEED");
    if (seed == nullptr || *seed == '\0' || of <= most) return;
    const std::string_view digits = seed;
    if (digits.find_first_not_of("0123456789") != std::string_view::npos)
      throw std::invalid_argument("ISTHMUS_SAMPLE_SEED is '" + std::string(digits) + "': expected a whole number");
    whole = false;
    // FNV-1a of the seed and the name: each matrix has a random stream of its own.
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::string_view part : {digits, name}) {
      for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      hash *= 0x100000001b3;
    }
    Rng rng(hash);
    for (std::size_t i = 0; i < most; ++i) {
      std::swap(cases[i], cases[i + rng.below(static_cast<std::uint32_t>(of - i))]);
    }
    cases.resize(most);
    std::sort(cases.begin(), cases.end());
  }

  std::vector<std::size_t> cases;
  bool whole = true;  ///< all cases are taken, so that what must hold of their number can be asked
};

}  // namespace isthmus::testing

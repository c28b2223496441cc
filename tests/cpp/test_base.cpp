#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/divider.hpp"
#include "base/error.hpp"
#include "base/in_parallel.hpp"
#include "base/interruption.hpp"
#include "base/rng.hpp"
#include "sample.hpp"

using namespace isthmus;

TEST_CASE("Divider equals / and % at the edges of 32 bits and at random") {
  constexpr std::uint32_t top = 0xffffffff;
  std::vector<std::uint32_t> divisors = {1,          2,       3,          5,       7,          10,
                                         641,        65535,   65536,      65537,   0x7fffffff, 0x80000000,
                                         0x80000001, 6700417, 0xaaaaaaab, top - 1, top};
  Rng rng(2024);
  for (int i = 0; i < 3000; ++i) {
    const auto word = static_cast<std::uint32_t>(rng.next());
    divisors.push_back((word >> rng.below(32)) | 1U);
    divisors.push_back(std::max(1U, word >> rng.below(32)));
  }
  for (const std::uint32_t d : divisors) {
    const Divider divider(d);
    REQUIRE(divider.divisor() == d);
    std::vector<std::uint32_t> numbers = {0, 1, d - 1, d, d + 1, 0x80000000, top - 1, top};
    numbers.push_back(top / d * d);
    numbers.push_back(top / d * d - 1);
    for (int i = 0; i < 20; ++i) {
      const auto n = static_cast<std::uint32_t>(rng.next());
      numbers.push_back(n);
      numbers.push_back(n / d * d);      // the first and
      numbers.push_back(n / d * d - 1);  // the last number of a quotient
    }
    for (const std::uint32_t n : numbers) {
      INFO(n, " by ", d);
      REQUIRE(divider.quotient(n) == n / d);
      REQUIRE(divider.lane_quotient(n) == n / d);
      REQUIRE(divider.remainder(n) == n % d);
    }
  }
}

TEST_CASE("Rng is xoshiro256** seeded by splitmix64") {
  // Computed apart, with exact integers, from the published definitions of both generators.
  struct Known {
    std::uint64_t seed;
    std::array<std::uint64_t, 5> words;
  };
  const Known known[] = {
      {0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c, 0xbba5ad4a1f842e59}},
      {1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7, 0xb27a48e29a233673}},
      {12345, {0xbe6a36374160d49b, 0x214aaa0637a688c6, 0xf69d16de9954d388, 0x0c60048c4e96e033, 0x8e2076aeed51c648}},
      {~0ULL, {0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e, 0xbf658d7e065f3c2f, 0x913593fda1bca32a}}};
  for (const Known& k : known) {
    Rng rng(k.seed);
    for (const std::uint64_t word : k.words) CHECK(rng.next() == word);
  }
}

TEST_CASE("Rng::below follows the published rejection and is uniform") {
  Rng wide(7);
  for (const std::uint32_t expected :
       {2101729446U, 2943293174U, 2618321815U, 313307367U, 1211119577U, 455448321U, 2195574620U, 2816896795U}) {
    CHECK(wide.below(3'000'000'000U) == expected);  // a third of the draws are rejected at this bound
  }
  Rng narrow(7);
  for (const std::uint32_t expected : {7U, 2U, 8U, 9U, 9U, 8U, 0U, 1U}) CHECK(narrow.below(10) == expected);
  CHECK(narrow.below(1) == 0);
  // With modulo bias the lower quarter of [0, 3 * 2^30) would be drawn twice as often as the others.
  constexpr int draws = 120'000;
  std::array<int, 3> thirds{};
  for (int i = 0; i < draws; ++i) ++thirds[wide.below(3U << 30) >> 30];
  const double sigma = std::sqrt(draws * (1.0 / 3) * (2.0 / 3));
  for (const int count : thirds) CHECK(std::abs(count - draws / 3) < 5 * sigma);
}

TEST_CASE("samples of long matrices can be repeated, and all cases are taken sometime") {
  using testing::Sample;
  const char* variable = "ISTHMUS_SAMPLE_SEED";
  const char* found = std::getenv(variable);
  const std::string before = found == nullptr ? "" : found;
  unsetenv(variable);
  CHECK(Sample("numbers", 4, 2).cases == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(Sample("numbers", 4, 2).whole);
  std::set<std::size_t> seen;
  std::set<std::vector<std::size_t>> different;
  for (int seed = 0; seed < 60; ++seed) {
    setenv(variable, std::to_string(seed).c_str(), 1);
    const Sample sample("numbers", 20, 3);
    CHECK(!sample.whole);
    CHECK(sample.cases.size() == 3);
    CHECK(std::is_sorted(sample.cases.begin(), sample.cases.end()));
    CHECK(sample.cases == Sample("numbers", 20, 3).cases);
    seen.insert(sample.cases.begin(), sample.cases.end());
    different.insert({sample.cases, Sample("others", 20, 3).cases});
    CHECK(Sample("few", 3, 3).whole);
  }
  CHECK(seen.size() == 20);
  CHECK(different.size() > 100);
  setenv(variable, "seven", 1);
  CHECK_THROWS_AS(Sample("numbers", 20, 3), std::invalid_argument);
  if (before.empty()) {
    unsetenv(variable);
  } else {
    setenv(variable, before.c_str(), 1);
  }
}

TEST_CASE("messages concatenate text and numbers") {
  CHECK(message("a = ", 3, ", b = ", std::string("x"), '!', 4'000'000'000U) == "a = 3, b = x!4000000000");
  CHECK_NOTHROW(require(true, "never"));
  CHECK_THROWS_WITH_AS(require(false, "p = ", 0), "p = 0", InvalidInput);
}

TEST_CASE("in_parallel() ends its threads where the caller is interrupted, also while it waits for them") {
  for (const bool waits : {false, true}) {
    const auto stop = std::make_shared<Stop>();
    std::atomic<int> begun{0};
    std::thread asks([&] {
      while (begun < 2) std::this_thread::yield();
      stop->asked = true;
    });
    const auto caller = std::this_thread::get_id();
    const WorkingFor us(stop);
    CHECK_THROWS_AS(in_parallel(4, 2,
                                [&](std::size_t) {
                                  ++begun;
                                  while (!waits || std::this_thread::get_id() != caller) interruption_point();
                                  while (begun < 2) std::this_thread::yield();
                                }),
                    Interrupted);
    asks.join();
  }
}

TEST_CASE("in_parallel() looks between pieces that do not look themselves") {
  const auto stop = std::make_shared<Stop>();
  std::atomic<int> done{0};
  const WorkingFor us(stop);
  CHECK_THROWS_AS(in_parallel(100'000, 2,
                              [&](std::size_t) {
                                ++done;
                                stop->asked = true;
                                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                              }),
                  Interrupted);
  CHECK(done < 100'000);
}

TEST_CASE("in_parallel() gives the exception of the lowest piece") {
  std::atomic<int> done{0};
  CHECK_THROWS_WITH_AS(in_parallel(100, 3,
                                   [&](std::size_t i) {
                                     ++done;
                                     if (i % 40 == 7) throw InvalidInput(std::to_string(i));
                                   }),
                       "7", InvalidInput);
  CHECK(done == 100);
}

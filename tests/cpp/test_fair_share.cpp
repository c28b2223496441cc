// Max-min fair rates against progressive filling from scratch, while flows come and go.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/rng.hpp"
#include "simulate/network/fair_share.hpp"

using isthmus::Rng;
using isthmus::simulate::FairShare;

namespace {

struct Flow {
  std::vector<std::uint32_t> links;
  std::uint32_t weight;
  FairShare::FlowId id;
};

/// Raises all rates together; flows stop when a link of theirs is full.
std::vector<double> filled(const std::vector<double>& capacity, double cap, const std::vector<Flow>& flows) {
  std::vector<double> rate(flows.size(), -1);
  for (;;) {
    double lowest = cap;
    std::vector<double> left(capacity), count(capacity.size(), 0);
    bool open = false;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      open = open || rate[f] < 0;
      for (const std::uint32_t l : flows[f].links) {
        if (rate[f] < 0) count[l] += flows[f].weight;
        else left[l] -= flows[f].weight * rate[f];
      }
    }
    if (!open) return rate;
    for (std::size_t l = 0; l < capacity.size(); ++l)
      if (count[l] > 0) lowest = std::min(lowest, std::max(left[l], 0.0) / count[l]);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (rate[f] >= 0) continue;
      bool stops = lowest >= cap;
      for (const std::uint32_t l : flows[f].links)
        stops = stops || std::max(left[l], 0.0) / count[l] <= lowest * (1 + 1e-12);
      if (stops) rate[f] = -2 - lowest;  // all of this level at once
    }
    for (double& r : rate)
      if (r <= -2) r = -2 - r;
  }
}

void run(std::uint64_t seed, std::size_t links, std::uint32_t longest, double cap, bool even) {
  Rng rng(seed);
  std::vector<double> capacity(links);
  for (double& c : capacity) c = even ? 1 : 0.5 + rng.below(1000) / 500.0;
  FairShare shares(cap);
  for (const double c : capacity) shares.add_link(c);
  std::vector<Flow> flows;
  std::vector<double> known;  // rates by id, kept up to date by changed() only
  for (int step = 0; step < 120; ++step) {
    for (std::uint32_t n = 1 + rng.below(step % 10 == 0 ? 12 : 2); n > 0; --n) {
      if (!flows.empty() && rng.below(100) < 45) {
        const std::uint32_t at = rng.below(static_cast<std::uint32_t>(flows.size()));
        const std::uint32_t weight = rng.below(3) == 0 ? 1 + rng.below(4) : 0;
        shares.set_weight(flows[at].id, weight);
        flows[at].weight = weight;
        if (weight == 0) flows.erase(flows.begin() + at);
        continue;
      }
      Flow f{{}, 1 + rng.below(3), 0};
      for (std::uint32_t k = 1 + rng.below(longest); k > 0; --k) {
        const std::uint32_t l = rng.below(static_cast<std::uint32_t>(links));
        if (std::find(f.links.begin(), f.links.end(), l) == f.links.end()) f.links.push_back(l);
      }
      f.id = shares.add(f.links, f.weight);
      flows.push_back(f);
      known.resize(shares.size(), 0);
      known[f.id] = shares.rate(f.id);  // not 0 if nobody is in its way
    }
    shares.solve();
    for (const FairShare::FlowId id : shares.changed()) known[id] = shares.rate(id);
    const std::vector<double> expected = filled(capacity, cap > 0 ? cap : 1e9, flows);
    std::vector<double> load(links, 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      REQUIRE(shares.rate(flows[f].id) == doctest::Approx(expected[f]).epsilon(1e-7));
      REQUIRE(known[flows[f].id] == doctest::Approx(expected[f]).epsilon(1e-7));
      for (const std::uint32_t l : flows[f].links) load[l] += flows[f].weight * expected[f];
    }
    for (std::size_t l = 0; l < links; ++l) REQUIRE(shares.load(l) == doctest::Approx(load[l]).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("rates are max-min fair after every change") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    run(seed, 4 + seed % 20, 4, seed % 3 == 0 ? 0 : 0.4, seed % 2 == 0);
    run(1000 + seed, 60, 3, seed % 3 == 0 ? 0 : 0.7, seed % 2 == 0);
  }
}

TEST_CASE("rates are max-min fair where most of many bundles are rated anew each time") {
  // So many bundles on so few links that they are rated by groups, then more and more slowly fewer; links come later
  // too.
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng(seed);
    const bool even = seed % 2 == 0, capped = seed % 4 < 2;
    const double cap = capped ? 0.004 : 0;
    FairShare shares(cap);
    std::vector<double> capacity;
    std::vector<Flow> flows;
    std::vector<double> known;
    const auto link = [&] {
      capacity.push_back(even ? 1 : 0.5 + rng.below(1000) / 500.0);
      shares.add_link(capacity.back());
    };
    while (capacity.size() < 24) link();
    const auto add = [&] {
      Flow f{{}, 1 + rng.below(3), 0};
      while (f.links.size() < 4) {
        const std::uint32_t l = rng.below(static_cast<std::uint32_t>(capacity.size()));
        if (std::find(f.links.begin(), f.links.end(), l) == f.links.end()) f.links.push_back(l);
      }
      f.id = shares.add(f.links, f.weight);
      flows.push_back(f);
      known.resize(std::max(known.size(), shares.size()), 0);
      known[f.id] = shares.rate(f.id);
    };
    while (flows.size() < 1200) add();
    // From 1,200 bundles to none, so that links become free and bundles are held back by nothing any more.
    for (int step = 0; !flows.empty(); ++step) {
      if (step % 16 == 5) link();
      for (int n = 0; n < 3; ++n) add();
      for (int n = 0; n < 20 + step / 4 && !flows.empty(); ++n) {
        const std::uint32_t at = rng.below(static_cast<std::uint32_t>(flows.size()));
        const std::uint32_t weight = rng.below(4) == 0 ? 1 + rng.below(4) : 0;
        shares.set_weight(flows[at].id, weight);
        flows[at].weight = weight;
        if (weight == 0) flows.erase(flows.begin() + at);
      }
      shares.solve();
      for (const FairShare::FlowId id : shares.changed()) known[id] = shares.rate(id);
      const std::vector<double> expected = filled(capacity, capped ? cap : 1e9, flows);
      for (std::size_t f = 0; f < flows.size(); ++f) {
        REQUIRE(shares.rate(flows[f].id) == doctest::Approx(expected[f]).epsilon(1e-7));
        REQUIRE(known[flows[f].id] == doctest::Approx(expected[f]).epsilon(1e-7));
      }
    }
    CHECK(shares.empty());
    shares.forget();
    add();
    shares.solve();
    CHECK(shares.rate(flows.back().id) > 0);
  }
}

TEST_CASE("many bundles with the same bottleneck are rated as one") {
  FairShare shares(0);
  shares.add_link(1);
  for (std::uint32_t l = 1; l <= 20; ++l) shares.add_link(1);
  std::vector<FairShare::FlowId> flows;
  for (std::uint32_t n = 0; n < 4000; ++n) {
    const std::uint32_t links[] = {0, 1 + n % 20};
    flows.push_back(shares.add(links, 1));
  }
  shares.solve();
  for (std::uint32_t n = 0; n < 100; ++n) {
    const std::uint64_t before = shares.solved();
    shares.set_weight(flows[n], 0);
    shares.solve();
    CHECK(shares.rate(flows.back()) == doctest::Approx(1.0 / (3999 - n)).epsilon(1e-9));
    CHECK(shares.changed().size() == 3999 - n);
    // Less than once each, after it has been found twice that most of them change.
    if (n > 1) CHECK(shares.solved() - before <= 1010);
  }
}

TEST_CASE("a change far away does not cost anything here") {
  FairShare shares(10);
  for (int l = 0; l < 2000; ++l) shares.add_link(1);
  for (std::uint32_t l = 0; l < 1000; ++l) {
    const std::uint32_t links[] = {l};
    shares.add(links, 1);
    shares.add(links, 1);
  }
  shares.solve();
  const std::uint64_t before = shares.solved();
  const std::uint32_t links[] = {1500};
  shares.add(links, 1);
  shares.solve();
  CHECK(shares.solved() - before == 1);
  CHECK(shares.changed().size() == 1);
}

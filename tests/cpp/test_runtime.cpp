// Schedules that are carried out: every algorithm of the catalogue, on threads, against what MPI says of its
// collective.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "runtime/transport/threads/threads.hpp"
#include "runtime_cases.hpp"
#include "schedule/names.hpp"

namespace isthmus::test {
namespace {

using runtime::Rank, runtime::ThreadsOptions, runtime::ThreadsTransport, runtime::ThreadsWorld;
using schedule::CollectiveKind;
using enum schedule::CollectiveKind;

std::atomic<bool> failed{false};

/// Carries out cases at once, each rank in a thread.
void on_threads(const std::vector<Case>& cases, const ThreadsOptions& options) {
  const Rank ranks = cases.front().ranks;
  ThreadsWorld world(ranks, options);
  std::mutex lock;
  std::string first;
  std::barrier all_done(static_cast<std::ptrdiff_t>(ranks));  // others may still read what a rank has sent
  failed = false;
  const auto of_rank = [&](Rank rank) {
    ThreadsTransport transport(world, rank);
    const std::string wrong = carry_out(transport, cases, [] { return failed.load(); });
    if (!wrong.empty()) {
      const std::scoped_lock guard(lock);
      if (first.empty()) first = wrong;
      failed = true;
    }
    all_done.arrive_and_wait();
  };
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) threads.emplace_back(of_rank, rank);
  for (std::thread& thread : threads) thread.join();
  if (!first.empty()) FAIL_CHECK(first);
}

/// All cases, or a sample that the seed chooses.
bool is_proof() { return std::getenv("ISTHMUS_PROOF") != nullptr; }
std::uint64_t seed() {
  const char* given = std::getenv("ISTHMUS_SAMPLE_SEED");
  return given == nullptr ? 11 : std::strtoull(given, nullptr, 10);
}

/// Up to 64 ranks; of a sample three, one of them up to 4 and one large now and then.
std::vector<Rank> numbers_of_ranks(Rng& random) {
  if (is_proof()) return {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 32, 64};
  std::vector<Rank> some{1 + random.below(4), 5 + random.below(13)};
  if (random.below(8) == 0) some.push_back(random.below(2) == 0 ? 24 : 32);
  return some;
}

/// Messages of all three ways to send: in a slot, in the ring of bytes, and from where they are.
std::uint64_t some_count(Rng& random) {
  switch (random.below(5)) {
    case 0: return random.below(3);
    case 1: return 1 + random.below(40);
    case 2: return 1000 + random.below(3000);
    default: return 1 + random.below(900);
  }
}

Values some_values(CollectiveKind kind, const std::string& algorithm, Rng& random) {
  const bool in_order = collectives::operand_order(kind, algorithm) == collectives::OperandOrder::ranks;
  return static_cast<Values>(random.below(in_order ? 5 : 4));
}

ThreadsOptions some_options(Rng& random) { return {std::size_t{1024} << random.below(9), random.below(2) == 0}; }

TEST_CASE("every algorithm does what MPI says, at many numbers of ranks") {
  Rng random(seed());
  std::size_t carried = 0;
  for (std::uint8_t k = 1; k < static_cast<std::uint8_t>(neighbor_alltoall); ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    for (const std::string& algorithm : collectives::algorithms(kind)) {
      for (const Rank ranks : numbers_of_ranks(random)) {
        std::vector<Case> cases;
        for (int i = 0; i < 6; ++i) {
          const Case c{kind,
                       algorithm,
                       ranks,
                       random.below(ranks),
                       i == 0 ? 0 : some_count(random) / (1 + ranks / 9),
                       i % 2 == 1,
                       {},
                       some_values(kind, algorithm, random)};
          if (runs(c)) cases.push_back(c);
        }
        if (cases.empty()) continue;
        on_threads(cases, some_options(random));
        carried += cases.size();
      }
    }
  }
  CHECK(carried > 500);
}

TEST_CASE("puts and gets of every algorithm do what MPI says") {
  Rng random(seed());
  std::size_t carried = 0;
  for (std::uint8_t k = 1; k < static_cast<std::uint8_t>(neighbor_alltoall); ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    for (const std::string& algorithm : collectives::algorithms(kind)) {
      for (const Rank ranks : {2 + random.below(3), 5 + random.below(is_proof() ? 12 : 4)}) {
        std::vector<Case> cases;
        for (const auto access : {schedule::Access::put, schedule::Access::get}) {
          Case c{kind, algorithm, ranks, random.below(ranks), some_count(random) / (1 + ranks / 9)};
          c.in_place = random.below(2) == 0;
          c.values = some_values(kind, algorithm, random);
          c.access = access;
          if (runs(c)) cases.push_back(c);
        }
        if (cases.empty()) continue;
        on_threads(cases, some_options(random));
        carried += cases.size();
      }
    }
  }
  CHECK(carried > 200);
}

/// Some of them nothing.
std::vector<std::int64_t> some_counts(std::size_t n, Rng& random) {
  std::vector<std::int64_t> counts(n);
  for (std::int64_t& count : counts) count = random.below(3) == 0 ? 0 : random.below(200);
  return counts;
}

TEST_CASE("every algorithm that takes them does what MPI says of different counts") {
  Rng random(seed() + 1);
  std::size_t carried = 0;
  for (const CollectiveKind kind : {gather, allgather, scatter, alltoall, reduce_scatter}) {
    for (const std::string& algorithm : collectives::algorithms(kind)) {
      for (const Rank ranks : numbers_of_ranks(random)) {
        std::vector<Case> cases;
        for (int i = 0; i < 3; ++i) {
          Case c{kind, algorithm, ranks, random.below(ranks), 0, i % 2 == 1, {}, some_values(kind, algorithm, random)};
          c.counts = some_counts(kind == alltoall ? std::size_t{ranks} * ranks : ranks, random);
          if (runs(c)) cases.push_back(c);
        }
        if (cases.empty()) continue;
        on_threads(cases, some_options(random));
        carried += cases.size();
      }
    }
  }
  CHECK(carried > 100);
}

TEST_CASE("neighbours exchange messages of any sizes, any number of them with the same rank") {
  Rng random(seed() + 2);
  for (const Rank ranks : numbers_of_ranks(random)) {
    std::vector<Case> cases;
    for (int i = 0; i < 4; ++i) {
      Case c{neighbor_alltoall, "linear", ranks};
      c.values = Values::u8_xor;
      for (Rank message = random.below(4 * ranks); message > 0; --message)
        c.counts.insert(c.counts.end(), {random.below(ranks), random.below(ranks), random.below(3000)});
      cases.push_back(c);
    }
    on_threads(cases, some_options(random));
  }
}

TEST_CASE("messages of a stencil on a torus are combined") {
  Rng random(seed() + 3);
  for (const std::vector<std::uint64_t>& dims : {std::vector<std::uint64_t>{3, 4}, {2, 3, 2}, {5, 5}}) {
    std::uint64_t ranks = 1;
    for (const std::uint64_t extent : dims) ranks *= extent;
    Case c{neighbor_alltoall, "combining", static_cast<Rank>(ranks)};
    c.options = {{"dims", dims}};
    c.values = Values::u8_xor;
    // The same two steps from every rank, along the last dimension and along the last two.
    const std::uint64_t last = dims.back(), row = dims[dims.size() - 2];
    const std::int64_t near = random.below(900), far = random.below(900);
    for (std::uint64_t r = 0; r < ranks; ++r) {
      const std::uint64_t right = r - r % last + (r + 1) % last;
      const std::uint64_t plane = r - r % (last * row);
      const std::uint64_t up = plane + (r / last % row + 1) % row * last + right % last;
      c.counts.insert(c.counts.end(), {static_cast<std::int64_t>(r), static_cast<std::int64_t>(right), near});
      c.counts.insert(c.counts.end(), {static_cast<std::int64_t>(r), static_cast<std::int64_t>(up), far});
    }
    REQUIRE(runs(c));
    on_threads({c, c}, some_options(random));
  }
}

TEST_CASE("many collectives of all kinds are under way at once") {
  Rng random(seed() + 4);
  for (const Rank ranks : {2U, 5U}) {
    std::vector<Case> cases;
    while (cases.size() < 60) {
      const auto kind = static_cast<CollectiveKind>(1 + random.below(static_cast<std::uint32_t>(exscan)));
      const std::vector<std::string> names = collectives::algorithms(kind);
      const std::string& name = names[random.below(static_cast<std::uint32_t>(names.size()))];
      const Case c{kind,
                   name,
                   ranks,
                   random.below(ranks),
                   some_count(random),
                   random.below(2) == 0,
                   {},
                   some_values(kind, name, random)};
      if (runs(c)) cases.push_back(c);
    }
    on_threads(cases, some_options(random));
  }
}

TEST_CASE("another number of bytes than the receiver expects is an error that says so") {
  ThreadsWorld world(2);
  ThreadsTransport sender(world, 0), receiver(world, 1);
  Bytes bytes(1 << 17);
  for (const std::size_t count : {std::size_t{8}, std::size_t{4000}, bytes.size()}) {
    CAPTURE(count);
    ThreadsWorld other(2);
    ThreadsTransport from(other, 0), to(other, 1);
    from.send(1, {}, bytes.data(), count, {});
    to.recv(0, {}, bytes.data(), count - 1, {});
    runtime::Token token;
    to.poll(&token, 1);
    CHECK(to.failure() ==
          "rank 0 sends " + std::to_string(count) + " bytes where rank 1 receives " + std::to_string(count - 1));
  }
}

/// Of messages that are sent one after the other: how many have gone at once before one has to wait.
std::uint32_t gone_at_once(ThreadsTransport& sender, const Bytes& bytes, std::uint32_t& next) {
  const std::uint32_t first = next;
  while (sender.send(1, {next++, 0, 0}, bytes.data(), bytes.size(), {})) continue;
  return next - first - 1;
}

TEST_CASE("a sender that is ahead waits: what nobody waits for yet is not taken out of the way") {
  for (const std::size_t count : {std::size_t{8}, std::size_t{4000}}) {
    CAPTURE(count);
    ThreadsWorld world(2);
    ThreadsTransport sender(world, 0), receiver(world, 1);
    const Bytes sent(count);
    Bytes received(count);
    std::uint32_t next = 0;
    runtime::Token tokens[64];
    CHECK_FALSE(receiver.recv(0, {0, 0, 0}, received.data(), count, {}));
    CHECK(gone_at_once(sender, sent, next) > 2);
    CHECK(receiver.poll(tokens, 64) == 1);
    CHECK(receiver.poll(tokens, 64) == 0);
    CHECK(sender.poll(tokens, 64) + gone_at_once(sender, sent, next) <= 1);
    std::uint32_t taken = 1;
    for (std::uint32_t i = 1; i < next; ++i) {
      taken += receiver.recv(0, {i, 0, 0}, received.data(), count, {}) || receiver.poll(tokens, 64) == 1 ? 1 : 0;
      sender.poll(tokens, 64);
    }
    CHECK(taken == next);
  }
}

}  // namespace
}  // namespace isthmus::test

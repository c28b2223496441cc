// Messages over an MPI library, and over shared memory and MPI at once: every algorithm of the catalogue, over a wire
// that keeps no order but the one that MPI promises.
#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "memory_wire.hpp"
#include "runtime/transport/mpi/mpi.hpp"
#include "runtime/transport/nodes/nodes.hpp"
#include "runtime/transport/threads/threads.hpp"
#include "runtime_cases.hpp"
#include "wired_nodes.hpp"

namespace isthmus::test {
namespace {

using namespace std::chrono_literals;
using runtime::Key, runtime::MpiTransport, runtime::NodesTransport, runtime::Rank, runtime::ThreadsTransport,
    runtime::ThreadsWorld, runtime::Token;
using schedule::CollectiveKind;

std::atomic<bool> failed{false};

/// Carries out cases at once, each rank in a thread.
void over_wires(const std::vector<Case>& cases, Rank per_node, Rng& random) {
  const Rank ranks = cases.front().ranks;
  const std::uint32_t tags = 3 + random.below(random.below(2) == 0 ? 3 : 40);
  MemoryWires wires(ranks, tags, 300 + random.below(9000), random.below(1'000'000));
  Nodes nodes(ranks, per_node);
  std::mutex lock;
  std::string first;
  std::barrier all_done(static_cast<std::ptrdiff_t>(ranks));
  failed = false;
  const auto of_rank = [&](Rank rank) {
    const auto transport = transport_of(wires, nodes, rank);
    const std::string wrong = carry_out(*transport, cases, [] { return failed.load(); });
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
  else CHECK(wires.left() == 0);
}

std::vector<Case> some_cases(Rank ranks, Rng& random) {
  std::vector<Case> cases;
  for (std::uint8_t k = 1; k < static_cast<std::uint8_t>(CollectiveKind::neighbor_alltoall); ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    for (const std::string& algorithm : collectives::algorithms(kind)) {
      Case c{kind, algorithm, ranks, random.below(ranks)};
      c.count = random.below(4) == 0 ? random.below(4000) : random.below(300);
      c.in_place = random.below(2) == 0;
      const bool in_order = collectives::operand_order(kind, algorithm) == collectives::OperandOrder::ranks;
      c.values = static_cast<Values>(random.below(in_order ? 5 : 4));
      if (runs(c)) cases.push_back(c);
    }
  }
  return cases;
}

TEST_CASE("every algorithm does what MPI says, over MPI and over nodes, all under way at once") {
  const char* given = std::getenv("ISTHMUS_SAMPLE_SEED");
  Rng random(given == nullptr ? 7 : std::strtoull(given, nullptr, 10));
  const bool proof = std::getenv("ISTHMUS_PROOF") != nullptr;
  for (const Rank ranks : {1U, 2U, 3U, 4U, 8U})
    for (const Rank per_node : {1U, 2U, 3U})
      if (per_node < ranks || per_node == 1)
        for (int turn = 0; turn < (proof ? 8 : 1); ++turn) over_wires(some_cases(ranks, random), per_node, random);
}

TEST_CASE("puts and gets do what MPI says, over MPI and over nodes") {
  Rng random(9);
  for (const Rank ranks : {2U, 4U}) {
    std::vector<Case> cases = some_cases(ranks, random);
    for (Case& c : cases) c.access = random.below(2) == 0 ? schedule::Access::put : schedule::Access::get;
    std::erase_if(cases, [](const Case& c) { return !runs(c); });
    for (const Rank per_node : {1U, 2U})
      if (per_node < ranks) over_wires(cases, per_node, random);
  }
}

/// Does what every rank has to do, each in a thread; what each says.
template <class F>
std::vector<std::string> on_ranks(MemoryWires& wires, Nodes& nodes, Rank ranks, const F& work) {
  std::vector<std::string> said(ranks);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { said[rank] = work(*transport_of(wires, nodes, rank, 300ms), rank); });
  for (std::thread& thread : threads) thread.join();
  return said;
}

std::string finish(runtime::Transport& transport, std::size_t tokens) {
  Token token;
  while (tokens > 0 && transport.failure().empty()) {
    tokens -= transport.poll(&token, 1);
    std::this_thread::yield();
  }
  return transport.failure();
}

TEST_CASE("messages of any keys meet in the order of each key, also those that nobody waits for yet") {
  Rng random(5);
  for (int turn = 0; turn < 20; ++turn) {
    MemoryWires wires(2, 3, 256 + random.below(600), random.below(1000));
    Nodes nodes(2, 1);
    const auto key = [](std::uint32_t i) { return Key{0, i % 3, i % 5}; };  // those of collectives, too
    const auto count = [](std::uint32_t i) { return std::size_t{37} * i % 1500; };
    constexpr std::uint32_t many = 60;
    const auto said = on_ranks(wires, nodes, 2, [&](runtime::Transport& transport, Rank rank) -> std::string {
      std::vector<std::vector<std::byte>> bytes(many);
      std::size_t waits = 0;
      std::vector<std::uint32_t> order;
      for (std::uint32_t k = 0; k < 15; ++k)  // the receiver asks for one key after the other, the sender in turn
        for (std::uint32_t i = 0; i < many; ++i)
          if (rank == 0 ? k == 0 : (7 * i) % 15 == k) order.push_back(i);
      for (const std::uint32_t i : order) {
        bytes[i].assign(count(i), rank == 0 ? static_cast<std::byte>(i + 1) : std::byte{0});
        const bool at_once = rank == 0 ? transport.send(1, key(i), bytes[i].data(), count(i), {nullptr, i})
                                       : transport.recv(0, key(i), bytes[i].data(), count(i), {nullptr, i});
        waits += at_once ? 0 : 1;
        transport.poll(nullptr, 0);
      }
      const std::string failure = finish(transport, waits);
      for (std::uint32_t i = 0; i < many && rank == 1 && failure.empty(); ++i)
        for (const std::byte value : bytes[i])
          if (value != static_cast<std::byte>(i + 1)) return "another message in place of " + std::to_string(i);
      return failure;
    });
    for (const std::string& words : said) CHECK(words == "");
  }
}

TEST_CASE("a message leaves in pieces that need no answer, a long one and one of many ranks in one") {
  for (const Rank ranks : {2U, 1000U}) {
    CAPTURE(ranks);
    MemoryWires wires(ranks, 100, 1 << 30, 747);  // in pieces of 303 bytes
    MpiTransport sender(wires.of(0));
    const std::vector<std::byte> bytes((1 << 20) + 1);
    std::size_t before = 0;
    const auto messages_of = [&](std::size_t count) {
      sender.send(1, {}, bytes.data(), count, {});
      return wires.left() - std::exchange(before, wires.left());
    };
    CHECK(messages_of(0) == 1);
    CHECK(messages_of(303) == 1);
    CHECK(messages_of(3 * 303) == 3);
    CHECK(messages_of(60'001) == 199);
    CHECK(messages_of(1 << 20) == (ranks == 2 ? 3461 : 1));
    CHECK(messages_of((1 << 20) + 1) == 1);
  }
}

TEST_CASE("a message is looked at shortly before its usual time, and where nobody waits for it hardly at all") {
  runtime::Forecast forecast;
  CHECK(forecast.pause(1000, 0us, 1000, true) == 0us);
  forecast.ended(1000, 1600us);
  CHECK(forecast.pause(1000, 0us, 1000, true) == 1500us);
  CHECK(forecast.pause(900, 400us, 900, true) == 1100us);  // of the same class
  CHECK(forecast.pause(1000, 1550us, 1000, true) == 100us);
  CHECK(forecast.pause(1000, 3600us, 1000, true) == 500us);
  CHECK(forecast.pause(1000, 1s, 1000, true) == 1ms);
  CHECK(forecast.pause(1000, 0us, 1000, false) == 20ms);
  CHECK(forecast.pause(2000, 0us, 2000, true) == 0us);  // another class
  // It comes to lie between the times that were seen, nearer to short ones.
  forecast.ended(1000, 800us);
  CHECK(forecast.pause(1000, 0us, 1000, true) == 1125us);
  forecast.ended(1000, 1600us);
  CHECK(forecast.pause(1000, 0us, 1000, true) == 1218750ns);
  // What the kernel cannot hold is taken from it, or added to, whoever waits.
  forecast.ended(1 << 20, 40ms);
  CHECK(forecast.pause(1 << 20, 0us, 1 << 20, true) == 10ms);
  CHECK(forecast.pause(1 << 20, 0us, 1 << 20, false) == 10ms);
  CHECK(forecast.pause(1 << 20, 36ms, 1 << 20, true) == 1500us);
  CHECK(forecast.pause(1 << 20, 36ms, 1 << 20, false) == 10ms);
}

TEST_CASE("a failure of one rank is one of all, over MPI and on its node") {
  for (const Rank per_node : {1U, 2U}) {
    for (const std::uint32_t tag : {0U, 1U}) {
      for (const std::size_t sent : {8U, 5000U}) {
        MemoryWires wires(4, 100, 2000, 1);
        Nodes nodes(4, per_node);
        const auto said = on_ranks(wires, nodes, 4, [&](runtime::Transport& transport, Rank rank) {
          std::byte bytes[5000] = {};
          if (rank == 0) transport.send(3, {0, 0, tag}, bytes, sent, {});
          else transport.recv(rank == 3 ? 0 : 3, {0, 0, tag}, bytes, 100, {});
          return finish(transport, 2);
        });
        const bool counted = sent < 100 || tag == 1;  // MPI does not say how much more it is
        const std::string words =
            "rank 0 sends " + (counted ? std::to_string(sent) : "more") + " bytes where rank 3 receives 100";
        CHECK(said == std::vector<std::string>(4, words));
      }
    }
  }
}

TEST_CASE("a wire that fails, and one on which nothing comes, end the waiting") {
  MemoryWires wires(2, 100, 2000, 1);
  Nodes nodes(2, 1);
  wires.cut(1);
  const auto said = on_ranks(wires, nodes, 2, [&](runtime::Transport& transport, Rank rank) {
    std::byte byte{};
    if (rank == 1) transport.send(0, {}, &byte, 1, {});
    else transport.recv(1, {}, &byte, 1, {});
    return finish(transport, 2);
  });
  CHECK(said[0] == "nothing has come over MPI for 300 ms: rank 0 waits for rank 1");
  CHECK(said[1] == "rank 1 cannot send or receive over MPI: the wire is cut");
}

}  // namespace
}  // namespace isthmus::test

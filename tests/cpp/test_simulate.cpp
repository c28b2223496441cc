// The LogGOPS simulator: against a naive one, against itself on other paths, and against closed forms.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "collectives/collective_schedule.hpp"
#include "collectives/registry.hpp"
#include "naive_loggops.hpp"
#include "random_schedules.hpp"
#include "sample.hpp"
#include "schedule/builder.hpp"
#include "schedule/validate.hpp"
#include "simulate/simulate.hpp"
#include "topology/grid.hpp"

namespace isthmus::simulate {

bool operator==(const Stuck& a, const Stuck& b) { return a.rank == b.rank && a.op == b.op && a.started == b.started; }
bool operator==(const Orphan& a, const Orphan& b) {
  return a.rank == b.rank && a.source == b.source && a.op == b.op && a.handled == b.handled;
}

}  // namespace isthmus::simulate

namespace isthmus::test {
using namespace topology;
using namespace schedule;
using namespace collectives;
using namespace simulate;
namespace {

Recipe random_recipe(Random& random) {
  Recipe recipe;
  recipe.ranks = static_cast<Rank>(1 + below(random, 5));
  recipe.steps = static_cast<std::uint32_t>(1 + below(random, 30));
  if (once_in(random, 2)) {
    recipe.cpus = 3;
    recipe.nics = 2;
  }
  recipe.wildcards = once_in(random, 3);
  recipe.one_sided = once_in(random, 3);
  recipe.on_start = once_in(random, 2);
  recipe.shuffled = once_in(random, 2);
  recipe.to_itself = recipe.ranks == 1 || once_in(random, 3);
  return recipe;
}

void make_noisy(Random& random, SimulationOptions& options) {
  options.noise.kind = once_in(random, 2) ? NoiseSpec::Kind::periodic : NoiseSpec::Kind::exponential;
  options.noise.period = 20;
  options.noise.duration = 5;
  options.seed = random();
}

/// Ranks here and there on a 3 x 2 torus, each node with two sockets and two interfaces that its ranks share.
void place(Random& random, SimulationOptions& options, Rank ranks, const Topology& topology) {
  Places& places = options.places;
  places.topology = &topology;
  places.nics = 2;
  for (Rank r = 0; r < ranks; ++r) {
    places.node.push_back(static_cast<Vertex>(below(random, topology.nodes())));
    places.socket.push_back(static_cast<std::uint32_t>(below(random, 2)));
    places.nic.push_back(static_cast<std::uint32_t>(below(random, 2)));
  }
}

Simulated simulate(const Schedule& schedule, SimulationOptions options, Detail detail) {
  options.detail = detail;
  return simulate::simulate(schedule, options);
}

void check_alike(const Simulated& a, const Simulated& b) {
  CHECK(a.makespan == b.makespan);
  CHECK(a.finish == b.finish);
  CHECK(a.executed == b.executed);
  CHECK(a.messages == b.messages);
  CHECK(a.bytes == b.bytes);
  CHECK(a.stuck == b.stuck);
  CHECK(a.orphans == b.orphans);
}

/// Every rank's shares are times, and together the makespan of each of its streams.
void check_breakdown(const Schedule& schedule, const Simulated& s) {
  REQUIRE(s.breakdown.size() == std::size_t{schedule.ranks} * shares);
  // A rank has the streams of its own operations and of the messages that it gets.
  std::vector<std::uint32_t> streams(schedule.ranks, 1);
  for (Rank r = 0; r < schedule.ranks; ++r)
    for (const Operation& op : schedule.ops_of(r)) {
      streams[r] = std::max<std::uint32_t>(streams[r], op.cpu + 1U);
      if (op.kind == OpKind::send) streams[op.peer] = std::max<std::uint32_t>(streams[op.peer], op.cpu + 1U);
    }
  for (Rank r = 0; r < schedule.ranks; ++r) {
    const auto first = s.breakdown.begin() + static_cast<std::ptrdiff_t>(std::size_t{r} * shares);
    CHECK(*std::min_element(first, first + shares) >= 0);
    CHECK(std::accumulate(first, first + shares, Picoseconds{0}) == s.makespan * streams[r]);
  }
}

struct Totals {
  std::uint64_t messages = 0, bytes = 0;
};
Totals sent(const Schedule& schedule) {
  Totals t;
  for (const Operation& op : schedule.ops) {
    if (op.kind != OpKind::send && op.kind != OpKind::put && op.kind != OpKind::get) continue;
    ++t.messages;
    t.bytes += op.amount;
  }
  return t;
}

void check_against_naive(const Schedule& schedule, const SimulationOptions& options, std::uint64_t& deadlocks) {
  const Naive naive = simulate_naively(schedule, options);
  const Simulated ops = simulate(schedule, options, Detail::ops);
  CHECK(ops.makespan == naive.makespan);
  CHECK(ops.finish == naive.finish);
  CHECK(ops.start == naive.start);
  CHECK(ops.partner == naive.partner);
  CHECK(ops.executed == naive.executed);
  CHECK(ops.messages == naive.messages);
  CHECK(ops.bytes == naive.bytes);

  const Simulated ranks = simulate(schedule, options, Detail::ranks);
  check_alike(ops, ranks);
  check_alike(ops, simulate(schedule, options, Detail::finish));
  CHECK(ops.breakdown == ranks.breakdown);
  check_breakdown(schedule, ranks);

  // Stuck is what has not been done.
  std::vector<Stuck> stuck;
  for (Rank r = 0; r < schedule.ranks; ++r)
    for (std::uint32_t i = 0; i < schedule.ops_in(r); ++i)
      if (const std::uint64_t at = schedule.op_first[r] + i; !naive.done[at])
        stuck.push_back({r, i, naive.start[at] >= 0});
  CHECK(ops.stuck == stuck);
  if (!stuck.empty()) {
    ++deadlocks;
    return;
  }
  const Totals totals = sent(schedule);
  CHECK(ops.messages == totals.messages);
  CHECK(ops.bytes == totals.bytes);
  CHECK(ops.executed == schedule.ops.size());
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) CHECK(ops.end[i] >= ops.start[i]);
}

/// The schedule with one more rank, which does nothing but have a second CPU stream.
Schedule with_second_stream(const Schedule& schedule) {
  Schedule s = schedule;
  Operation op;
  op.cpu = 1;
  op.first_edge = 0;
  s.ops.push_back(op);
  s.op_first.push_back(s.ops.size());
  s.edge_first.push_back(s.edges.size());
  ++s.ranks;
  return s;
}

std::uint32_t rounds(Rank ranks) { return static_cast<std::uint32_t>(std::bit_width(ranks - 1)); }

Schedule collective_of(CollectiveKind kind, const char* algorithm, Rank ranks, std::uint64_t bytes) {
  CollectiveCall call;
  call.kind = kind;
  call.ranks = ranks;
  call.bytes = bytes;
  return collective_schedule(call, find_algorithm(kind, algorithm));
}

SimulationOptions machine(Picoseconds L, Picoseconds o, Picoseconds g, double G) {
  SimulationOptions options;
  for (LevelCost& c : options.cost) {
    c.L = L;
    c.o_send = c.o_recv = o;
    c.g = g;
    c.G = G;
  }
  return options;
}

Operation operation(OpKind kind, Rank peer, std::uint64_t amount, std::uint32_t tag = 0) {
  Operation op;
  op.kind = kind;
  op.peer = peer;
  op.amount = amount;
  op.tag = tag;
  return op;
}

}  // namespace

TEST_CASE("random schedules take the time that a naive simulator says, down to every operation") {
  std::uint64_t deadlocks = 0;
  const testing::Sample rounds("naive", 1500, 500);
  for (const std::size_t round : rounds.cases) {
    CAPTURE(round);
    Random random = stream(1, round);
    const Schedule schedule = random_schedule(random, random_recipe(random));
    const SimulationOptions options = small_machine(random);
    check_against_naive(schedule, options, deadlocks);
  }
  // Both happen often.
  CHECK(deadlocks > (rounds.whole ? rounds.cases.size() / 50 : 0));
  CHECK(deadlocks < rounds.cases.size() / 2);
}

TEST_CASE("so do they with noise and on nodes that share interfaces") {
  const Grid torus({"torus", {3, 2}});
  std::uint64_t deadlocks = 0;
  for (const std::size_t round : testing::Sample("naive, noise", 700, 230).cases) {
    CAPTURE(round);
    Random random = stream(2, round);
    const Recipe recipe = random_recipe(random);
    const Schedule schedule = random_schedule(random, recipe);
    SimulationOptions options = small_machine(random);
    if (round % 3 != 0) make_noisy(random, options);
    if (round % 3 != 1) place(random, options, recipe.ranks, torus);
    check_against_naive(schedule, options, deadlocks);
  }
}

TEST_CASE("so do those in which many operations of a rank wait for the same") {
  std::uint64_t deadlocks = 0;
  for (const std::size_t round : testing::Sample("naive, many wait", 8, 3).cases) {
    CAPTURE(round);
    Random random = stream(3, round);
    Recipe recipe = random_recipe(random);
    recipe.steps = 1500;
    recipe.tags = 3;
    check_against_naive(random_schedule(random, recipe), small_machine(random), deadlocks);
  }
}

TEST_CASE("operations that wait for the interface do not keep others from the CPU") {
  // Two sends may leave at g only; two calcs that a message frees meanwhile do not wait for them.
  ScheduleBuilder builder;
  RankBuilder rank;
  rank.add(operation(OpKind::send, 1, 1));
  for (std::uint32_t i = 1; i < 3; ++i) {
    rank.add(operation(OpKind::send, 1, 1));
    rank.require(i, 0);
  }
  rank.add(operation(OpKind::recv, 1, 1));
  for (std::uint32_t i = 4; i < 6; ++i) {
    rank.add(operation(OpKind::calc, 0, 20));
    rank.require(i, 3);
  }
  builder.append(rank);
  rank.add(operation(OpKind::send, 0, 1));
  for (int i = 0; i < 3; ++i) rank.add(operation(OpKind::recv, 0, 1));
  builder.append(rank);
  const Schedule schedule = builder.build();
  const Simulated s = simulate(schedule, machine(5, 10, 1000, 0), Detail::ops);
  // The message is handled from 15 to 25.
  CHECK(s.start[4] == 25);
  CHECK(s.start[5] == 45);
  CHECK(s.start[1] == 1000);
  CHECK(s.start[2] == 2000);
}

TEST_CASE("a message takes the receive that was posted first, on whichever CPU stream") {
  // A receive from any rank becomes ready first, but its stream is busy until 100.
  ScheduleBuilder builder;
  RankBuilder rank;
  for (std::uint8_t stream = 0; stream < 2; ++stream) {
    Operation work = operation(OpKind::calc, 0, stream == 0 ? 100 : 1);
    Operation recv = operation(OpKind::recv, stream == 0 ? any_rank : 1, 1);
    work.cpu = recv.cpu = stream;
    rank.add(work);
    rank.add(recv);
    rank.require(2 * stream + 1U, 2U * stream);
  }
  builder.append(rank);
  rank.add(operation(OpKind::send, 0, 1));
  rank.add(operation(OpKind::send, 0, 1));
  rank.require(1, 0);
  builder.append(rank);
  const Schedule schedule = builder.build();
  const Simulated s = simulate(schedule, machine(200, 10, 0, 0), Detail::ops);
  CHECK(s.start[1] == 100);
  CHECK(s.start[3] == 1);
  CHECK(s.partner[3] == 4);
  CHECK(s.partner[1] == 5);
}

/// The log: what happened at interfaces of receivers, by receiver, or the rest.
static std::vector<std::pair<LogEntry::Kind, std::uint64_t>> told(const Schedule& schedule, const Simulated& s,
                                                                  bool landings) {
  std::vector<std::pair<LogEntry::Kind, std::uint64_t>> all;
  for (const LogEntry& e : s.log)
    if ((e.kind() == LogEntry::Kind::land) == landings) all.emplace_back(e.kind(), e.op());
  if (landings)
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return schedule.ops[a.second].peer < schedule.ops[b.second].peer;
    });
  return all;
}

TEST_CASE("the engine for plain machines tells the same as the general one") {
  Random random(4);
  for (int round = 0; round < 800; ++round) {
    CAPTURE(round);
    Recipe recipe = random_recipe(random);
    recipe.cpus = recipe.nics = 1;
    const Schedule schedule = random_schedule(random, recipe);
    const SimulationOptions options = small_machine(random);
    const Simulated plain = simulate(schedule, options, Detail::ops);
    // Noise that takes nothing.
    SimulationOptions noisy = options;
    noisy.noise.kind = NoiseSpec::Kind::periodic;
    noisy.noise.period = 3;
    const Simulated general = simulate(schedule, noisy, Detail::ops);
    check_alike(plain, general);
    CHECK(plain.breakdown == general.breakdown);
    CHECK(plain.start == general.start);
    CHECK(plain.end == general.end);
    CHECK(plain.partner == general.partner);
    CHECK(plain.busy == general.busy);
    CHECK(plain.handled == general.handled);
    // The general one has an event more for most messages, when their heads arrive; the plain one tells of that when
    // they are sent.
    const bool whole = options.receive == Receive::loggopsim;
    if (whole) CHECK(plain.events == general.events);
    CHECK(told(schedule, plain, false) == told(schedule, general, false));
    CHECK(told(schedule, plain, true) == told(schedule, general, true));
    // Another rank's second stream: receives are events of their own now.
    const Schedule streams = with_second_stream(schedule);
    const Simulated more = simulate(streams, options, Detail::ops);
    CHECK(more.makespan == plain.makespan);
    CHECK(std::equal(plain.finish.begin(), plain.finish.end(), more.finish.begin()));
    CHECK(std::equal(plain.start.begin(), plain.start.end(), more.start.begin()));
    CHECK(std::equal(plain.end.begin(), plain.end.end(), more.end.begin()));
    CHECK(std::equal(plain.partner.begin(), plain.partner.end(), more.partner.begin()));
    CHECK(plain.stuck == more.stuck);
    CHECK(plain.orphans == more.orphans);
  }
}

TEST_CASE("where ranks are indistinguishable, simulating one of each kind changes nothing") {
  for (const bool ties : {false, true}) {
    CAPTURE(ties);
    std::uint64_t fewer = 0, several = 0;
    const testing::Sample rounds(ties ? "alike, ties" : "alike", 600, 200);
    for (const std::size_t round : rounds.cases) {
      CAPTURE(round);
      Random random = stream(ties ? 5 : 6, round);
      Recipe recipe;
      recipe.kinds = once_in(random, 2) ? 1 : static_cast<Rank>(1 + below(random, 3));
      recipe.ranks = recipe.kinds * static_cast<Rank>(4 + below(random, 12));
      recipe.steps = recipe.kinds * static_cast<std::uint32_t>(1 + below(random, 6));
      recipe.tags = static_cast<std::uint32_t>(1 + below(random, 3));
      recipe.shuffled = once_in(random, 2);
      recipe.on_start = once_in(random, 2);
      if (once_in(random, 3)) recipe.cpus = 2;
      if (!ties) {
        recipe.odd = true;
        recipe.most_bytes = recipe.most_work = 100'000;
      }
      const Schedule schedule = transitive_schedule(random, recipe);
      REQUIRE_NOTHROW(validate(schedule));
      SimulationOptions options =
          ties ? small_machine(random) : odd_machine(random, once_in(random, 4) ? 75'000 : 200'000);
      const Simulated all = simulate(schedule, options, Detail::ranks);
      options.symmetry = true;
      const Simulated few = simulate(schedule, options, Detail::ranks);
      check_alike(all, few);
      CHECK(all.breakdown == few.breakdown);
      CHECK(few.finish == simulate(schedule, options, Detail::finish).finish);
      CHECK(all.simulated_ranks == schedule.ranks);
      fewer += few.simulated_ranks < schedule.ranks;
      several += few.simulated_ranks > 1 && few.simulated_ranks < schedule.ranks;
      // A detail that tells of every operation is never abbreviated.
      if (round % 10 == 0) CHECK(simulate(schedule, options, Detail::ops).simulated_ranks == schedule.ranks);
    }
    // Operations and messages that were made ready at the same time and wait for the same stream are ties as well.
    CHECK(fewer > (rounds.whole ? rounds.cases.size() / 10 : 0));
    CHECK(fewer < rounds.cases.size());
    CHECK(several > (rounds.whole ? rounds.cases.size() / 20 : 0));
  }
}

TEST_CASE("ranks whose neighbours are the same rank are distinguished from those with two neighbours") {
  // Everybody sends to the left, works, and sends to the right; in a circle of two the message from the left comes as
  // the first from the same neighbour, in a circle of four as the second.
  for (const Rank first : {2U, 4U}) {
    ScheduleBuilder builder;
    RankBuilder rank;
    Rank base = 0;
    for (const Rank n : {first, 6 - first}) {
      for (Rank i = 0; i < n; ++i) {
        const Rank right = base + (i + 1) % n, left = base + (i + n - 1) % n;
        rank.add(operation(OpKind::send, right, 11));
        rank.add(operation(OpKind::send, left, 11));
        rank.add(operation(OpKind::calc, 0, 3001));
        rank.require(2, 1);
        rank.require(0, 2);
        rank.add(operation(OpKind::recv, left, 11));
        rank.add(operation(OpKind::recv, right, 11));
        rank.add(operation(OpKind::calc, 0, 5003));
        rank.require(5, 3);
        builder.append(rank);
      }
      base += n;
    }
    const Schedule schedule = builder.build();
    validate(schedule);
    SimulationOptions options = machine(1009, 101, 7, 0);
    const Simulated all = simulate(schedule, options, Detail::ranks);
    CHECK(all.finish[0] != all.finish[5]);
    options.symmetry = true;
    CHECK(simulate(schedule, options, Detail::ranks).finish == all.finish);
  }
}

TEST_CASE("closed forms of textbook collectives") {
  constexpr Picoseconds L = 1009, o = 101;
  for (const bool symmetry : {false, true}) {
    SimulationOptions small = machine(L, o, 1, 0);
    small.symmetry = symmetry;
    for (Rank p = 2; p <= 40; ++p) {
      CAPTURE(p);
      const auto time = [&](CollectiveKind kind, const char* algorithm, std::uint64_t bytes) {
        return simulate(collective_of(kind, algorithm, p, bytes), small, Detail::finish).makespan;
      };
      const auto steps = static_cast<Picoseconds>(rounds(p));
      CHECK(time(CollectiveKind::barrier, "dissemination", 0) == steps * (2 * o + L));
      if (std::has_single_bit(p)) CHECK(time(CollectiveKind::bcast, "binomial", 1) == steps * (2 * o + L));
      CHECK(time(CollectiveKind::allgather, "ring", 1) == (p - 1) * (2 * o + L));
      CHECK(time(CollectiveKind::bcast, "ring", 1) == (p - 1) * (2 * o + L));
      // Where L is no more than (P - 2) o, messages are waiting when the last send has left.
      if ((p - 2) * o >= L) CHECK(time(CollectiveKind::alltoall, "linear", 1) == (2 * p - 2) * o);
    }
    constexpr Rank p = 8;
    constexpr std::uint64_t block = 1000;
    SimulationOptions large = machine(L, o, 1, 2);
    large.symmetry = symmetry;
    const Simulated s = simulate(collective_of(CollectiveKind::allreduce, "ring", p, p * block), large, Detail::ranks);
    CHECK(s.makespan == 2 * (p - 1) * (2 * o + L + 2 * (static_cast<Picoseconds>(block) - 1)));
    CHECK(s.messages == 2 * (p - 1) * p);
    CHECK(s.bytes == 2 * (p - 1) * p * block);
    CHECK(s.simulated_ranks == (symmetry ? 1 : p));
  }
}

TEST_CASE("deadlocks name the operations that are left") {
  // Two ranks that send by rendezvous before they receive.
  ScheduleBuilder builder;
  RankBuilder rank;
  for (Rank r = 0; r < 2; ++r) {
    rank.add(operation(OpKind::send, 1 - r, 100));
    rank.add(operation(OpKind::recv, 1 - r, 100));
    rank.add(operation(OpKind::calc, 0, 7));
    rank.require(1, 0);
    builder.append(rank);
  }
  const Schedule schedule = builder.build();
  validate(schedule);
  SimulationOptions options = machine(10, 3, 1, 0);
  for (LevelCost& c : options.cost) c.S = 99;
  for (const bool symmetry : {false, true}) {
    options.symmetry = symmetry;
    const Simulated s = simulate(schedule, options, Detail::ops);
    CHECK(s.stuck == std::vector<Stuck>{{0, 0, true}, {0, 1, false}, {1, 0, true}, {1, 1, false}});
    CHECK(s.executed == 2);
    // Nothing was sent.
    CHECK(s.messages == 0);
    CHECK(s.orphans == std::vector<Orphan>{{0, 1, 0, -1}, {1, 0, 0, -1}});
    CHECK(s.end[0] == -1);
    CHECK(s.start[1] == -1);
    CHECK(s.end[2] == 7);
  }
  for (LevelCost& c : options.cost) c.S = 100;
  CHECK(simulate(schedule, options, Detail::ops).stuck.empty());
}

TEST_CASE("a simulation can be stopped") {
  Recipe recipe;
  recipe.steps = 200'000;
  Random random(6);
  const Schedule schedule = random_schedule(random, recipe);
  SimulationOptions options = small_machine(random);
  for (LevelCost& c : options.cost) c.S = 65535;
  std::uint64_t calls = 0;
  options.progress = [&](std::uint64_t executed) {
    ++calls;
    CHECK(executed > 0);
    CHECK(executed <= schedule.ops.size());
    return false;
  };
  const Simulated s = simulate(schedule, options, Detail::finish);
  CHECK(s.stopped);
  CHECK(calls == 1);
}

TEST_CASE("a simulation that stops at a time tells a bound of the makespan, and elsewhere everything") {
  const Grid torus({"torus", {3, 2}});
  const testing::Sample rounds("until", 2000, 500);
  std::size_t early = 0;
  for (const std::size_t round : rounds.cases) {
    CAPTURE(round);
    Random random = stream(7, round);
    const Recipe recipe = random_recipe(random);
    const Schedule schedule = random_schedule(random, recipe);
    SimulationOptions options = small_machine(random);
    if (round % 4 == 0) make_noisy(random, options);
    if (round % 2 == 0) {
      place(random, options, recipe.ranks, torus);
      options.model = static_cast<Model>(below(random, 4));
    }
    const Simulated whole = simulate(schedule, options, Detail::ranks);
    options.until = static_cast<Picoseconds>(below(random, static_cast<std::uint64_t>(whole.makespan) + 1));
    const Simulated part = simulate(schedule, options, Detail::ranks);
    if (!part.stopped) {
      check_alike(whole, part);
      CHECK(whole.breakdown == part.breakdown);
      continue;
    }
    ++early;
    CHECK(part.makespan > options.until);
    CHECK(part.makespan <= whole.makespan);
    for (Rank r = 0; r < schedule.ranks; ++r) CHECK(part.finish[r] <= whole.finish[r]);
    CHECK(part.executed <= whole.executed);
    CHECK(part.messages <= whole.messages);
    CHECK(part.stuck.empty());
    check_breakdown(schedule, part);
    options.until = whole.makespan;
    CHECK(!simulate(schedule, options, Detail::ranks).stopped);
  }
  CHECK(early > rounds.cases.size() / 2);
}

TEST_CASE("so does one of ranks that are indistinguishable, and of iterations that repeat") {
  const Schedule ring = collective_of(CollectiveKind::allreduce, "ring", 64, 64'000);
  SimulationOptions options = machine(1'000'000, 1'000'000, 1'000'000, 1'000);
  options.symmetry = options.skip = true;
  const Simulated whole = simulate(ring, options, Detail::ranks);
  REQUIRE(whole.simulated_ranks == 1);
  options.until = whole.makespan / 3;
  const Simulated part = simulate(ring, options, Detail::ranks);
  CHECK(part.stopped);
  CHECK(part.makespan > options.until);
  CHECK(part.makespan < whole.makespan);
  CHECK(part.executed < whole.executed / 64);
  CHECK(part.finish.size() == 64);
  options.symmetry = false;
  CHECK(simulate(ring, options, Detail::ranks).stopped);
}

TEST_CASE("parameters and places that make no sense are rejected") {
  const Schedule schedule = collective_of(CollectiveKind::barrier, "dissemination", 4, 0);
  SimulationOptions options = machine(1, 1, 1, 1);
  options.cost[1].L = -1;
  CHECK_THROWS_AS(simulate(schedule, options, Detail::finish), InvalidInput);
  options = machine(1, 1, 1, 1);
  options.copy_rate = -1;
  CHECK_THROWS_AS(simulate(schedule, options, Detail::finish), InvalidInput);
  options = machine(1, 1, 1, 1);
  const Grid ring({"ring", {4}});
  options.places.topology = &ring;
  options.places.node = {0, 1, 2, 4};
  options.places.socket = options.places.nic = {0, 0, 0, 0};
  CHECK_THROWS_AS(simulate(schedule, options, Detail::finish), InvalidInput);
  options.places.node = {0, 1, 2};
  CHECK_THROWS_AS(simulate(schedule, options, Detail::finish), InvalidInput);
  options.places.node = {0, 1, 2, 3};
  CHECK_NOTHROW(simulate(schedule, options, Detail::finish));
}

}  // namespace isthmus::test

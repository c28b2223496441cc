// The simulator in windows of time, against the one with one queue of events.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "naive_loggops.hpp"
#include "random_schedules.hpp"
#include "sample.hpp"
#include "schedule/builder.hpp"
#include "simulate/engine/windows.hpp"
#include "simulate/simulate.hpp"

namespace isthmus::test {
using namespace schedule;
using namespace simulate;
namespace {

std::optional<Simulated> in_windows(const Schedule& schedule, const SimulationOptions& options,
                                    Remembered back = Remembered::parents) {
  Dependencies dependencies(schedule);
  if (!fits_windows(schedule, dependencies.shape(), options)) return std::nullopt;
  return simulate_in_windows(schedule, options, std::move(dependencies), back);
}

Simulated in_a_queue(const Schedule& schedule, SimulationOptions options) {
  options.windows = false;
  return simulate::simulate(schedule, options);
}

void check_equal(const Simulated& a, const Simulated& b) {
  CHECK(a.makespan == b.makespan);
  CHECK(a.finish == b.finish);
  CHECK(a.free == b.free);
  CHECK(a.breakdown == b.breakdown);
  CHECK(a.executed == b.executed);
  CHECK(a.events == b.events);
  CHECK(a.messages == b.messages);
  CHECK(a.bytes == b.bytes);
  CHECK(a.simulated_ranks == b.simulated_ranks);
  REQUIRE(a.stuck.size() == b.stuck.size());
  for (std::size_t i = 0; i < a.stuck.size(); ++i) {
    CHECK(a.stuck[i].rank == b.stuck[i].rank);
    CHECK(a.stuck[i].op == b.stuck[i].op);
    CHECK(a.stuck[i].started == b.stuck[i].started);
  }
  REQUIRE(a.orphans.size() == b.orphans.size());
  for (std::size_t i = 0; i < a.orphans.size(); ++i) {
    CHECK(a.orphans[i].rank == b.orphans[i].rank);
    CHECK(a.orphans[i].source == b.orphans[i].source);
    CHECK(a.orphans[i].op == b.orphans[i].op);
    CHECK(a.orphans[i].handled == b.orphans[i].handled);
  }
}

Recipe random_recipe(Random& random) {
  Recipe recipe;
  recipe.ranks = static_cast<Rank>(1 + below(random, once_in(random, 3) ? 60 : 6));
  recipe.steps = static_cast<std::uint32_t>(1 + below(random, once_in(random, 8) ? 1500 : 40));
  recipe.tags = static_cast<std::uint32_t>(1 + below(random, 3));
  recipe.comms = static_cast<std::uint32_t>(1 + below(random, 2));
  recipe.wildcards = once_in(random, 3);
  recipe.shuffled = once_in(random, 2);
  recipe.to_itself = recipe.ranks == 1 || once_in(random, 3);
  recipe.odd = once_in(random, 2);
  recipe.most_work = once_in(random, 2) ? 300 : 8;
  recipe.most_bytes = once_in(random, 2) ? 30 : 8;
  return recipe;
}

/// All that a simulation in windows can have.
void adapt(Random& random, SimulationOptions& options, Rank ranks) {
  options.receive = Receive::loggp;
  for (LevelCost& c : options.cost) {
    c.S = 65535;
    c.pieces.clear();
    if (c.L == 0) c.L = static_cast<Picoseconds>(below(random, 3));
    if (once_in(random, 2)) c.L *= static_cast<Picoseconds>(1 + below(random, 50));
    if (once_in(random, 2)) c.g *= static_cast<Picoseconds>(1 + below(random, 20));
  }
  if (once_in(random, 4)) options.start = static_cast<Picoseconds>(below(random, 50));
  if (once_in(random, 4))
    for (Rank i = 0; i < 3 * ranks; ++i) options.free.push_back(static_cast<Picoseconds>(below(random, 50)));
}

/// Ranks on a circle that is long enough for several blocks compute for random times and send to some far from them.
Schedule far_exchange(Random& random, Rank ranks, std::uint32_t steps, std::uint64_t most_work) {
  ScheduleBuilder builder;
  for (Rank r = 0; r < ranks; ++r) {
    RankBuilder rank;
    std::uint32_t last = 0;
    for (std::uint32_t k = 0; k < steps; ++k) {
      const Rank far = 1 + k * 977 % (ranks - 1);
      Operation calc, send, recv;
      calc.amount = below(random, most_work);
      send.kind = OpKind::send;
      recv.kind = OpKind::recv;
      send.amount = recv.amount = 8;
      send.tag = recv.tag = k;
      send.peer = (r + far) % ranks;
      recv.peer = (r + ranks - far) % ranks;
      const std::uint32_t c = rank.add(calc), s = rank.add(send), v = rank.add(recv);
      if (k > 0) rank.require(c, last);
      rank.require(s, c);
      last = v;
    }
    builder.append(rank);
  }
  return builder.build();
}

}  // namespace

TEST_CASE("windows of time tell the same as one queue, or nothing") {
  std::size_t fit = 0, told = 0, told_by_all = 0, stuck = 0;
  const testing::Sample rounds("windows", 4000, 1300);
  for (const std::size_t round : rounds.cases) {
    CAPTURE(round);
    Random random = stream(21, round);
    Recipe recipe = random_recipe(random);
    const bool odd = once_in(random, 3);
    if (odd) {
      recipe.most_work = 1'000'000;
      recipe.most_bytes = 1000;
    }
    const Schedule schedule = random_schedule(random, recipe);
    SimulationOptions options = odd ? odd_machine(random, 65535) : small_machine(random);
    adapt(random, options, schedule.ranks);
    options.detail = once_in(random, 2) ? Detail::finish : Detail::ranks;
    const Simulated queue = in_a_queue(schedule, options);
    if (!fits_windows(schedule, Dependencies(schedule).shape(), options)) continue;
    ++fit;
    const auto windows = in_windows(schedule, options), by_all = in_windows(schedule, options, Remembered::all);
    if (by_all) {
      ++told_by_all;
      check_equal(queue, *by_all);
    }
    if (!windows) continue;
    CHECK(by_all);
    ++told;
    if (!queue.stuck.empty()) ++stuck;
    check_equal(queue, *windows);
    if (!options.free.empty() || options.start != 0 || recipe.steps > 100) continue;
    const Naive naive = simulate_naively(schedule, options);
    CHECK(windows->makespan == naive.makespan);
    CHECK(windows->finish == naive.finish);
    CHECK(windows->executed == naive.executed);
  }
  // Only a few have no window or an order that is not told, and deadlocks are among the others.
  CHECK(fit > rounds.cases.size() * 3 / 4);
  CHECK(told > fit * 3 / 4);
  CHECK(told < fit);
  CHECK(told_by_all > fit - (fit - told) / 3);
  CHECK(stuck > told / 10);
}

TEST_CASE("windows of time tell the same where messages go from block to block") {
  for (const Rank ranks : {1024U, 1025U, 5000U}) {
    CAPTURE(ranks);
    Random random = stream(22, ranks);
    const Schedule schedule = far_exchange(random, ranks, 12, 5'000'000);
    SimulationOptions options = odd_machine(random, 65535);
    adapt(random, options, ranks);
    for (const Detail detail : {Detail::finish, Detail::ranks}) {
      options.detail = detail;
      const auto windows = in_windows(schedule, options);
      REQUIRE(windows);
      check_equal(in_a_queue(schedule, options), *windows);
      CHECK(windows->executed == schedule.ops.size());
      CHECK(windows_pay(schedule));
      check_equal(simulate::simulate(schedule, options), *windows);
    }
  }
}

TEST_CASE("where windows cannot tell an order, the queue does") {
  // Ranks in step send to the same one, whose receives take whatever comes; a computation between has each message
  // found out by an event like the others'.
  ScheduleBuilder builder;
  constexpr Rank senders = 400;
  RankBuilder receiver;
  for (Rank i = 0; i < 4 * senders; ++i) {
    Operation recv;
    recv.kind = OpKind::recv;
    recv.peer = any_rank;
    recv.amount = 1;
    receiver.add(recv);
  }
  builder.append(receiver);
  for (Rank r = 1; r <= senders; ++r) {
    RankBuilder rank;
    std::uint32_t last = 0;
    for (int k = 0; k < 4; ++k) {
      Operation calc, send;
      calc.amount = 1000;
      send.kind = OpKind::send;
      send.amount = 1;
      const std::uint32_t c = rank.add(calc), s = rank.add(send);
      if (k > 0) rank.require(c, last);
      rank.require(s, c);
      last = s;
    }
    builder.append(rank);
  }
  const Schedule schedule = builder.build();
  SimulationOptions options;
  options.cost[static_cast<int>(Level::network)].L = 50;
  options.cost[static_cast<int>(Level::network)].o_send = 5;
  options.cost[static_cast<int>(Level::network)].o_recv = 5;
  options.detail = Detail::finish;
  CHECK(!in_windows(schedule, options));
  CHECK(windows_pay(schedule));
  CHECK(!in_windows(schedule, options, Remembered::all));  // all senders would be compared back to the beginning
  const Simulated s = simulate::simulate(schedule, options);
  CHECK(s.finish == simulate_naively(schedule, options).finish);
}

TEST_CASE("a simulation in windows can be stopped, and refuses times that are too long") {
  Random random = stream(23, 0);
  const Schedule schedule = far_exchange(random, 3000, 6, 5'000'000);
  SimulationOptions options = odd_machine(random, 65535);
  adapt(random, options, schedule.ranks);
  options.detail = Detail::finish;
  std::uint64_t most = 0;
  options.progress = [&](std::uint64_t executed) {
    most = std::max(most, executed);
    return executed < 20'000;
  };
  const auto stopped = in_windows(schedule, options);
  REQUIRE(stopped);
  CHECK(stopped->stopped);
  CHECK(most >= 20'000);
  CHECK(most < schedule.ops.size());
  options.progress = nullptr;
  options.free.assign(std::size_t{3} * schedule.ranks, latest - 1000);
  CHECK_THROWS((void)simulate::simulate(schedule, options));
}

TEST_CASE("windows do not pay where ranks go in step, one thing after the other") {
  Random random = stream(24, 0);
  CHECK(!windows_pay(far_exchange(random, 1000, 8, 1)));
  CHECK(windows_pay(far_exchange(random, 1000, 8, 1000)));
  CHECK(!windows_pay(far_exchange(random, 10, 8, 1000)));  // too few operations
  ScheduleBuilder builder;  // a chain: each rank sends to the next when it has been sent to
  for (Rank r = 0; r < 4000; ++r) {
    RankBuilder rank;
    Operation recv, send;
    recv.kind = OpKind::recv;
    send.kind = OpKind::send;
    recv.peer = r == 0 ? 0 : r - 1;
    send.peer = r + 1;
    if (r > 0) rank.add(recv);
    if (r + 1 < 4000) rank.add(send);
    if (r > 0 && r + 1 < 4000) rank.require(1, 0);
    builder.append(rank);
  }
  CHECK(!windows_pay(builder.build()));
}

}  // namespace isthmus::test

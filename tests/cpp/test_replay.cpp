// Critical paths and sensitivities, against simulations.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "random_schedules.hpp"
#include "schedule/builder.hpp"
#include "simulate/explain/replay.hpp"
#include "simulate/simulate.hpp"
#include "topology/grid.hpp"

namespace isthmus::test {
using namespace topology;
using namespace schedule;
using namespace simulate;
namespace {

Simulated logged(const Schedule& schedule, SimulationOptions options) {
  options.detail = Detail::ops;
  return simulate::simulate(schedule, options);
}

std::vector<Rank> owners(const Schedule& schedule) {
  std::vector<Rank> rank;
  for (Rank r = 0; r < schedule.ranks; ++r) rank.insert(rank.end(), schedule.ops_in(r), r);
  return rank;
}

void check_path(const Schedule& schedule, const SimulationOptions& options) {
  const Simulated s = logged(schedule, options);
  const std::vector<Step> path = critical_path(schedule, options, s.log, s.log_noise);
  const std::vector<Rank> owner = owners(schedule);
  Picoseconds at = 0;
  for (const Step& step : path) {
    REQUIRE(step.begin == at);
    REQUIRE(step.end > step.begin);
    at = step.end;
    CHECK(step.latency >= 0);
    CHECK(step.noise >= 0);
    CHECK(step.latency + step.noise <= step.end - step.begin);
    REQUIRE(step.op < schedule.ops.size());
    const Operation& op = schedule.ops[step.op];
    const bool one_sided = op.kind == OpKind::put || op.kind == OpKind::get;
    const bool message = op.kind == OpKind::send || one_sided;
    CHECK((step.rank == owner[step.op] || (message && step.rank == op.peer)));
    switch (step.via) {
      case Via::work:
        CHECK_FALSE(message);
        CHECK(op.kind != OpKind::recv);
        // It is what the simulation did then.
        CHECK(s.start[step.op] == step.begin);
        CHECK(s.busy[step.op] == step.end - step.begin);
        break;
      case Via::send:
        CHECK(message);
        CHECK(s.start[step.op] == step.begin);
        CHECK(s.busy[step.op] == step.end - step.begin);
        break;
      case Via::handle:
        CHECK(op.kind == OpKind::send);
        CHECK(step.rank == op.peer);
        CHECK(s.handled[step.op] == step.begin);
        break;
      case Via::interface: CHECK(message); break;
      case Via::wire:
        CHECK(message);
        CHECK(s.start[step.op] == step.begin);
        break;
      case Via::way:
        CHECK(op.kind == OpKind::get);
        CHECK(step.latency == step.end - step.begin);
        break;
      case Via::landing: CHECK(message); break;
      case Via::contention: FAIL("messages do not meet");
      case Via::nothing: FAIL("a step takes time");
    }
  }
  CHECK(at == s.makespan);
}

/// What happened at every rank, in order: as long as this stays the same, so do the reasons of every moment.
std::vector<std::vector<std::pair<int, std::uint64_t>>> order_at_ranks(const Schedule& schedule, const Simulated& s) {
  const std::vector<Rank> owner = owners(schedule);
  // Messages pass the interfaces of receivers in an order of their own.
  std::vector<std::vector<std::pair<int, std::uint64_t>>> order(std::size_t{2} * schedule.ranks);
  for (const LogEntry& entry : s.log) {
    const Operation& op = schedule.ops[entry.op()];
    const bool there = entry.kind() == LogEntry::Kind::handle || entry.kind() == LogEntry::Kind::leave ||
                       (entry.kind() == LogEntry::Kind::land && op.kind == OpKind::put);
    const bool passes = entry.kind() == LogEntry::Kind::land && op.kind == OpKind::send;
    order[passes  ? op.peer + schedule.ranks
          : there ? op.peer
                  : owner[entry.op()]]
        .emplace_back(static_cast<int>(entry.kind()), entry.op());
  }
  return order;
}

struct Tried {
  std::uint64_t inside = 0, outside = 0, bounded = 0, sloped = 0;
};

/// Simulates with the parameter changed: as long as the order is the same, the makespan is on the line inside the range
/// and above it outside.
void check_sensitivity(const Schedule& schedule, const SimulationOptions& options, Parameter parameter, Tried& tried) {
  const Simulated now = logged(schedule, options);
  const Sensitivity line = sensitivity(schedule, options, now.log, now.log_noise, parameter);
  CHECK(line.lower <= 0);
  CHECK(line.upper >= 0);
  CHECK(line.slope >= line.slope_below);
  // With more O the CPU begins with a message sooner, and so do those that wait for that.
  if (parameter != Parameter::O || options.receive == Receive::loggopsim) CHECK(line.slope_below >= 0);
  tried.sloped += line.slope > 0;
  tried.bounded += std::isfinite(line.upper);
  const auto order = order_at_ranks(schedule, now);
  const bool factor = parameter == Parameter::compute;
  if (!factor && now.messages == 0) {
    CHECK(line.slope == 0);
    CHECK(line.slope_below == 0);
    return;
  }
  // Times of work are rounded to picoseconds after they have been scaled.
  const double rounding = factor ? 0.5 * static_cast<double>(schedule.ops.size()) : 0.25;
  const auto attempt = [&](double x) {
    if (!factor) x = x < 0 ? std::ceil(x) : std::floor(x);
    SimulationOptions changed = options;
    change(changed, parameter, x);
    const Simulated then = logged(schedule, changed);
    if (order_at_ranks(schedule, then) != order) return;
    const double slope = x < 0 ? line.slope_below : line.slope;
    const double predicted = static_cast<double>(now.makespan) + slope * x;
    const double difference = static_cast<double>(then.makespan) - predicted;
    CAPTURE(x);
    CAPTURE(line.lower);
    CAPTURE(line.upper);
    CAPTURE(predicted);
    if (x >= line.lower && x <= line.upper) {
      ++tried.inside;
      CHECK(std::abs(difference) <= rounding);
    } else {
      ++tried.outside;
      CHECK(difference > -rounding);
      // Lines of paths have slopes that are whole numbers but for the compute factor.
      const double beyond = x < 0 ? line.lower - x : x - line.upper;
      if (!factor && beyond >= 1) CHECK(difference > 0);
    }
  };
  // The parameter itself ends the range below; past this nothing changes.
  const double most = factor ? 4 : 4e6;
  const double upper = std::min(line.upper, most);
  for (const double part : {0.001, 0.3, 0.9, 1.0}) attempt(upper * part);
  if (line.upper < most)
    for (const double part : {1.02, 1.3, 2.0}) attempt(line.upper * part + (factor ? 0.001 : 2));
  for (const double part : {0.001, 0.3, 0.9, 1.0}) attempt(line.lower * part);
  double least = 1;
  if (!factor) {
    const LevelCost& c = options.cost[static_cast<int>(Level::network)];
    const std::array<double, 5> values = {static_cast<double>(c.L), static_cast<double>(std::min(c.o_send, c.o_recv)),
                                          static_cast<double>(c.g), c.G, c.O};
    least = values[static_cast<std::size_t>(parameter)];
  }
  CHECK(line.lower >= -least);
  for (const double part : {1.02, 1.3, 2.0}) {
    const double x = line.lower * part - (factor ? 0.001 : 2);
    if (x >= -least) attempt(x);
  }
}

constexpr std::array all_parameters = {Parameter::L, Parameter::o, Parameter::g,
                                       Parameter::G, Parameter::O, Parameter::compute};

}  // namespace

TEST_CASE("critical paths lead from 0 to the makespan without holes") {
  Random random(1);
  const Grid torus({"torus", {3, 2}});
  for (int round = 0; round < 1500; ++round) {
    CAPTURE(round);
    Recipe recipe;
    recipe.ranks = static_cast<Rank>(1 + below(random, 5));
    recipe.steps = static_cast<std::uint32_t>(1 + below(random, 30));
    recipe.cpus = once_in(random, 2) ? 1 : 3;
    recipe.nics = once_in(random, 2) ? 1 : 2;
    recipe.wildcards = once_in(random, 3);
    recipe.one_sided = once_in(random, 2);
    recipe.on_start = once_in(random, 2);
    recipe.shuffled = once_in(random, 2);
    recipe.to_itself = recipe.ranks == 1 || once_in(random, 3);
    recipe.odd = round % 2 != 0;
    if (recipe.odd) recipe.most_bytes = recipe.most_work = 10'000;
    const Schedule schedule = random_schedule(random, recipe);
    SimulationOptions options = recipe.odd ? odd_machine(random, 7'000) : small_machine(random);
    if (once_in(random, 3)) {
      options.noise.kind = once_in(random, 2) ? NoiseSpec::Kind::periodic : NoiseSpec::Kind::exponential;
      options.noise.period = recipe.odd ? 1'000'000 : 20;
      options.noise.duration = recipe.odd ? 200'000 : 5;
      options.seed = random();
    }
    if (once_in(random, 3)) {
      options.places.topology = &torus;
      options.places.nics = 2;
      for (Rank r = 0; r < recipe.ranks; ++r) {
        options.places.node.push_back(static_cast<Vertex>(below(random, 6)));
        options.places.socket.push_back(static_cast<std::uint32_t>(below(random, 2)));
        options.places.nic.push_back(static_cast<std::uint32_t>(below(random, 2)));
      }
    }
    check_path(schedule, options);
  }
}

TEST_CASE("the critical path of a ping-pong") {
  ScheduleBuilder builder;
  RankBuilder rank;
  Operation op;
  op.amount = 101;
  for (Rank r = 0; r < 2; ++r) {
    op.peer = 1 - r;
    op.kind = r == 0 ? OpKind::send : OpKind::recv;
    rank.add(op);
    op.kind = r == 0 ? OpKind::recv : OpKind::send;
    rank.add(op);
    rank.require(1, 0);
    builder.append(rank);
  }
  const Schedule schedule = builder.build();
  SimulationOptions options;
  for (LevelCost& c : options.cost) {
    c.L = 1000;
    c.o_send = 20;
    c.o_recv = 30;
    c.g = 5;
    c.G = 2;
  }
  const Simulated s = logged(schedule, options);
  const auto path = critical_path(schedule, options, s.log, s.log_noise);
  // o and L, then 100 G at the receiver's interface, then its o; and back.
  REQUIRE(path.size() == 6);
  const std::array<Picoseconds, 7> times = {0, 1020, 1220, 1250, 2270, 2470, 2500};
  const std::array<std::uint64_t, 6> ops = {0, 0, 0, 3, 3, 3};
  const std::array<Rank, 6> ranks = {0, 1, 1, 1, 0, 0};
  const std::array<Via, 3> via = {Via::wire, Via::landing, Via::handle};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(path[i].begin == times[i]);
    CHECK(path[i].end == times[i + 1]);
    CHECK(path[i].op == ops[i]);
    CHECK(path[i].rank == ranks[i]);
    CHECK(path[i].via == via[i % 3]);
    CHECK(path[i].latency == (i % 3 == 0 ? 1000 : 0));
  }
  const auto slope = [&](Parameter p) {
    const Sensitivity line = sensitivity(schedule, options, s.log, s.log_noise, p);
    CHECK(line.slope == line.slope_below);
    CHECK(line.upper > 1e9);
    return line.slope;
  };
  CHECK(slope(Parameter::L) == 2);
  CHECK(slope(Parameter::o) == 4);
  CHECK(slope(Parameter::g) == 0);
  CHECK(slope(Parameter::G) == 200);
  CHECK(slope(Parameter::compute) == 0);
  // O takes the place of G on the receiver's side when it is larger: up to 2 ps/B nothing changes.
  const Sensitivity O = sensitivity(schedule, options, s.log, s.log_noise, Parameter::O);
  CHECK(O.slope == 0);
  CHECK(O.lower == 0);
}

TEST_CASE("two paths that are equally long have two slopes") {
  // A calc of as long as a message takes, beside it.
  ScheduleBuilder builder;
  RankBuilder rank;
  Operation op;
  op.amount = 1;
  op.peer = 1;
  op.kind = OpKind::send;
  rank.add(op);
  builder.append(rank);
  op.peer = 0;
  op.kind = OpKind::recv;
  rank.add(op);
  builder.append(rank);
  op.kind = OpKind::calc;
  op.amount = 140;
  rank.add(op);
  builder.append(rank);
  const Schedule schedule = builder.build();
  SimulationOptions options;
  for (LevelCost& c : options.cost) {
    c.L = 100;
    c.o_send = c.o_recv = 20;
  }
  const Simulated s = logged(schedule, options);
  CHECK(s.makespan == 140);
  const Sensitivity line = sensitivity(schedule, options, s.log, s.log_noise, Parameter::L);
  CHECK(line.slope == 1);
  CHECK(line.slope_below == 0);
  CHECK(line.lower == -100);
  const Sensitivity work = sensitivity(schedule, options, s.log, s.log_noise, Parameter::compute);
  CHECK(work.slope == 140);
  CHECK(work.slope_below == 0);
  CHECK(work.lower == -1);
}

TEST_CASE("sensitivities say what simulations with other parameters say") {
  Random random(2);
  std::array<Tried, parameters> tried{};
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    Recipe recipe;
    recipe.ranks = static_cast<Rank>(2 + below(random, 3));
    recipe.steps = static_cast<std::uint32_t>(2 + below(random, 14));
    recipe.cpus = once_in(random, 3) ? 2 : 1;
    recipe.one_sided = once_in(random, 3);
    recipe.on_start = once_in(random, 3);
    recipe.odd = true;
    recipe.most_bytes = 2'000;
    recipe.most_work = 3'000'000;
    const Schedule schedule = random_schedule(random, recipe);
    SimulationOptions options = odd_machine(random, 1'500);
    options.copy_rate = options.reduce_rate = 1;
    for (const Parameter p : all_parameters) {
      const auto which = static_cast<std::size_t>(p);
      CAPTURE(which);
      check_sensitivity(schedule, options, p, tried[which]);
    }
  }
  for (const Tried& t : tried) {
    CHECK(t.inside > 200);
    CHECK(t.sloped > 10);
    CHECK(t.outside > 5);
    CHECK(t.bounded > 5);
  }
}

}  // namespace isthmus::test

// Pipelined loops: the model beside closed forms, the choice on made-up machines, and loops of ranks as threads.
#include <doctest/doctest.h>
#include <isthmus/isthmus_pipeline.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <isthmus/pipeline.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/interface/team.hpp"
#include "runtime/transport/threads/threads.hpp"

namespace isthmus::test {
namespace {

constexpr loggp network{20e-6, 2e-6, 3e-6, 10e-9, 0};

TEST_CASE("the model of the blocking loop is a sum") {
  const loop_shape loop{12, 5000, 3};
  const item_times item{40e-6, 15e-6};
  const double sum = 12 * 55e-6 + 2 * 3 * 2e-6 + 20e-6 + 12 * 5000 * 10e-9;
  CHECK(predicted(loop, item, network, {12, 1}) == doctest::Approx(sum));
  // A processor's time for each byte counts on both sides.
  loggp copies = network;
  copies.overhead_per_byte = 1e-9;
  CHECK(predicted(loop, item, copies, {12, 1}) == doctest::Approx(sum + 2 * 12 * 5000 * 1e-9));
}

TEST_CASE("the model of a loop that computes long: all but the last exchange is hidden") {
  const loop_shape loop{10, 1000, 1};
  const item_times item{1e-3, 0};
  for (const std::size_t window : {1, 2, 4})
    CHECK(predicted(loop, item, network, {2, window}) ==
          doctest::Approx(10e-3 + 5 * 2 * 2e-6 + 20e-6 + 2 * 1000 * 10e-9));
}

TEST_CASE("the model of a loop that computes little: the interface is busy from the first tile on") {
  const loop_shape loop{64, 100000, 1};
  const item_times item{10e-6, 0};
  const double first = 4 * 10e-6 + 2e-6;
  CHECK(predicted(loop, item, network, {4, 2}) ==
        doctest::Approx(first + 64 * 100000 * 10e-9 + 20e-6 + 2e-6).epsilon(1e-3));
}

TEST_CASE("the notation of parameters") {
  const loggp read = loggp::parse("loggops:L=5us,o=1us,g=0.5ms,G=8ns,O=0,S=65535");
  CHECK(read.latency == doctest::Approx(5e-6));
  CHECK(read.overhead == doctest::Approx(1e-6));
  CHECK(read.gap == doctest::Approx(0.5e-3));
  CHECK(read.gap_per_byte == doctest::Approx(8e-9));
  CHECK(read.overhead_per_byte == 0);
  for (const char* wrong : {"L=5us", "loggops:L", "loggops:L=us", "loggops:L=5", "loggops:L=-5us", "loggops:l=5us",
                            "loggops:L=5us,,", "loggops:L=5m", "loggops:L=nan", ""}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(loggp::parse(wrong), std::invalid_argument);
  }
}

/// A machine on which runs take what a function says, give or take some noise; the time of so many runs.
template <class F>
double play(tiling_choice& choice, const item_times& item, int runs, double noise, const F& takes) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> some(1 - noise, 1 + noise);
  double sum = 0;
  for (int i = 0; i < runs; ++i) {
    if (choice.wants_item()) choice.item_took(item);
    const double seconds = takes(choice.next()) * some(random);
    sum += seconds;
    if (choice.asks()) choice.took(seconds, item);
    else choice.passed();
  }
  return sum;
}

TEST_CASE("the choice comes close to the best of all tilings") {
  const loop_shape loop{64, 20000, 1, 4};
  for (const double produce : {20e-6, 200e-6, 1e-3}) {
    CAPTURE(produce);
    const item_times item{produce, produce / 3};
    const auto takes = [&](tiling t) { return predicted(loop, item, network, t); };
    double least = takes({64, 1});
    for (std::size_t tile = 1; tile < 64; ++tile)
      for (std::size_t window = 1; window <= 4; ++window) least = std::min(least, takes({tile, window}));
    for (const bool knows : {true, false}) {
      CAPTURE(knows);
      tiling_choice choice(loop, knows ? network : loggp{});
      play(choice, item, 60, 0.001, takes);
      CHECK(choice.settled());
      CHECK(takes(choice.best()) < 1.02 * least);
    }
  }
}

TEST_CASE("where tiles cost more than the model knows, others are found, and the blocking loop where none is faster") {
  const loop_shape loop{64, 20000, 1, 4};
  const item_times item{100e-6, 0};
  // Every exchange costs 0.6 ms of the processor's time: a few tiles are best.
  const auto takes = [&](tiling t) {
    const double exchanges = std::ceil(64.0 / static_cast<double>(t.tile));
    return predicted(loop, item, network, t) + exchanges * 0.6e-3;
  };
  tiling_choice choice(loop, network);
  play(choice, item, 60, 0.001, takes);
  double least = takes({64, 1});
  for (std::size_t tile = 1; tile < 64; ++tile) least = std::min(least, takes({tile, 1}));
  CHECK(takes(choice.best()) < 1.03 * least);

  // Nothing is ever hidden.
  const auto slower = [&](tiling t) { return t == tiling{64, 1} ? 10e-3 : 13e-3; };
  tiling_choice careful(loop, network);
  const double sum = play(careful, item, 200, 0.001, slower);
  CHECK(careful.best() == careful.blocking());
  CHECK(sum < 1.02 * 200 * 10e-3);
}

TEST_CASE("a machine that changes is found out") {
  const loop_shape loop{64, 20000, 1, 4};
  const item_times item{100e-6, 0};
  tiling_choice choice(loop, network);
  const auto hides = [&](tiling t) { return t == tiling{64, 1} ? 10e-3 : 8e-3; };
  play(choice, item, 40, 0.001, hides);
  CHECK(choice.next() != choice.blocking());
  const auto hides_not = [&](tiling t) { return t == tiling{64, 1} ? 10e-3 : 12e-3; };
  play(choice, item, 300, 0.001, hides_not);
  CHECK(choice.best() == choice.blocking());
}

TEST_CASE("slots limit tile and window") {
  const loop_shape loop{64, 20000, 1, 4, 24};
  tiling_choice choice(loop, network);
  play(choice, {50e-6, 0}, 40, 0.001, [&](tiling t) {
    CHECK((t == tiling{64, 1} || t.tile * (t.window + 1) <= 24));
    return predicted(loop, {50e-6, 0}, network, t);
  });
}

/// Each rank a thread; what goes wrong. doctest counts on one thread only.
template <class F>
void on_teams(std::uint32_t ranks, const F& work) {
  runtime::ThreadsWorld world(ranks);
  std::vector<std::string> said(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      isthmus_team team({std::make_unique<runtime::ThreadsTransport>(world, r), {}, ranks}, 16, nullptr);
      said[r] = work(&team, r);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& words : said) CHECK(words == "");
}

constexpr std::size_t items = 13, width = 37;

/// Items of which all ranks have the sums, made and looked at in the order of a loop.
struct Field {
  Field(isthmus_team* of, std::uint32_t own) : team(of), rank(own), ranks(isthmus_ranks(of)) {
    from.resize(items * ranks * width);
    to.resize(from.size());
  }
  static std::int64_t value(std::size_t i, std::uint32_t sender, std::uint32_t receiver) {
    return static_cast<std::int64_t>(10007 * i + 101 * sender + receiver);
  }
  void produce(std::size_t first, std::size_t count) {
    if (first != produced) wrong = "produced out of order";
    produced += count;
    for (std::size_t i = first; i < first + count; ++i)
      for (std::uint32_t r = 0; r < ranks; ++r)
        for (std::size_t k = 0; k < width; ++k) from[(i * ranks + r) * width + k] = value(i, rank, r);
  }
  isthmus_call call(std::size_t count) {
    isthmus_call out{};
    out.size = sizeof out;
    out.kind = ISTHMUS_ALLREDUCE;
    out.element = ISTHMUS_I64;
    out.count = count * ranks * width;
    return out;
  }
  void finish(std::size_t first, std::size_t count) {
    if (first != finished) wrong = "finished out of order";
    finished += count;
    for (std::size_t i = first; i < first + count; ++i)
      for (std::uint32_t r = 0; r < ranks; ++r) {
        std::int64_t sum = 0;
        for (std::uint32_t s = 0; s < ranks; ++s) sum += value(i, s, r);
        for (std::size_t k = 0; k < width; ++k)
          if (to[(i * ranks + r) * width + k] != sum) wrong = "another sum";
      }
  }
  void again() {
    if (produced != items || finished != items) wrong = "not all items";
    produced = finished = 0;
    std::fill(to.begin(), to.end(), 0);
  }
  std::size_t at(std::size_t first) const { return first * ranks * width; }

  isthmus_team* team;
  std::uint32_t rank, ranks;
  std::vector<std::int64_t> from, to;
  std::size_t produced = 0, finished = 0;
  std::string wrong;
};

TEST_CASE("a loop of any tiling passes all items in order") {
  for (const std::uint32_t ranks : {1U, 2U, 3U})
    on_teams(ranks, [](isthmus_team* team, std::uint32_t rank) -> std::string {
      Field field(team, rank);
      std::vector<tiling> all = {{0, 0}};
      for (std::size_t tile = 1; tile <= items + 1; tile += 3)
        for (std::size_t window = 1; window <= 4; ++window) all.push_back({tile, window});
      for (const tiling fixed : all) {
        pipeline loop({.items = items, .bytes = 1000, .tests = fixed.tile % 3, .costs = network, .fixed = fixed}, team);
        for (int run = 0; run < 4; ++run) {
          std::vector<std::size_t> busy;
          loop.run([&](const tile& t) { field.produce(t.first, t.count); },
                   [&](const tile& t) {
                     if (std::find(busy.begin(), busy.end(), t.slot) != busy.end()) field.wrong = "a slot twice";
                     busy.push_back(t.slot);
                     return begin(team, field.call(t.count), &field.from[field.at(t.first)],
                                  &field.to[field.at(t.first)]);
                   },
                   [&](const tile& t) {
                     if (t.first + t.count == t.tile_first + t.tile_count)
                       busy.erase(std::find(busy.begin(), busy.end(), t.slot));
                     field.finish(t.first, t.count);
                   });
          if (!busy.empty()) return "something is still under way";
          field.again();
        }
      }
      return field.wrong;
    });
}

TEST_CASE("what a function of a loop throws comes out when nothing is under way") {
  on_teams(2, [](isthmus_team* team, std::uint32_t rank) -> std::string {
    Field field(team, rank);
    pipeline loop({.items = items, .fixed = {1, 3}}, team);
    std::string said;
    for (int where = 0; where < 2; ++where) {
      field.produced = field.finished = 0;
      try {
        loop.run(
            [&](const tile& t) {
              if (where == 0 && t.first == 5) throw std::runtime_error("enough");
              field.produce(t.first, t.count);
            },
            [&](const tile& t) {
              return begin(team, field.call(t.count), &field.from[field.at(t.first)], &field.to[field.at(t.first)]);
            },
            [&](const tile& t) {
              if (where == 1 && t.first == 2) throw std::runtime_error("enough");
              field.finish(t.first, t.count);
            });
        return "nothing was thrown";
      } catch (const std::runtime_error& error) {
        said += error.what();
      }
    }
    return said == "enoughenough" ? field.wrong : said;
  });
}

TEST_CASE("the loop in C") {
  on_teams(3, [](isthmus_team* team, std::uint32_t rank) -> std::string {
    Field field(team, rank);
    isthmus_loop loop{};
    loop.size = sizeof loop;
    loop.items = items;
    loop.bytes = 8 * 3 * width;
    loop.messages = 2;
    loop.tests = 2;
    loop.data = &field;
    loop.produce = [](void* data, const isthmus_tile* t) { static_cast<Field*>(data)->produce(t->first, t->count); };
    loop.start = [](void* data, const isthmus_tile* t, isthmus_operation** operation) {
      Field& f = *static_cast<Field*>(data);
      const isthmus_call call = f.call(t->count);
      return isthmus_begin(f.team, &call, &f.from[f.at(t->first)], &f.to[f.at(t->first)], operation);
    };
    loop.finish = [](void* data, const isthmus_tile* t) { static_cast<Field*>(data)->finish(t->first, t->count); };
    isthmus_pipeline* runs = nullptr;
    if (isthmus_pipeline_make(team, &loop, &runs) != ISTHMUS_DONE) return isthmus_last_error();
    for (int run = 0; run < 30; ++run) {
      if (isthmus_pipeline_run(runs) != ISTHMUS_DONE) return isthmus_last_error();
      field.again();
    }
    isthmus_pipeline_state state{};
    state.size = sizeof state;
    if (isthmus_pipeline_look(runs, &state) != ISTHMUS_DONE) return isthmus_last_error();
    if (state.tile == 0 || state.window == 0 || !(state.blocking > 0) || !(state.seconds > 0)) return "no state";
    isthmus_pipeline_free(runs);

    loop.start = [](void* data, const isthmus_tile*, isthmus_operation** operation) {
      Field& f = *static_cast<Field*>(data);
      isthmus_call call = f.call(1);
      call.kind = ISTHMUS_BCAST;
      call.root = 99;
      return isthmus_begin(f.team, &call, f.from.data(), f.to.data(), operation);
    };
    if (isthmus_pipeline_make(team, &loop, &runs) != ISTHMUS_DONE) return isthmus_last_error();
    if (isthmus_pipeline_run(runs) != ISTHMUS_INVALID) return "a call that is none";
    isthmus_pipeline_free(runs);
    loop.window = 2;
    if (isthmus_pipeline_make(team, &loop, &runs) != ISTHMUS_INVALID) return "a window without a tile";
    loop.window = 0;
    loop.costs = "loggops:L=5";
    if (isthmus_pipeline_make(team, &loop, &runs) != ISTHMUS_INVALID) return "parameters that are none";
    return field.wrong;
  });
}

TEST_CASE("costs that are measured are times") {
  on_teams(3, [](isthmus_team* team, std::uint32_t) -> std::string {
    const loggp costs = measure_costs(team);
    return costs.known() && costs.gap_per_byte >= 0 && costs.latency >= 0 ? "" : "no costs";
  });
}

}  // namespace
}  // namespace isthmus::test

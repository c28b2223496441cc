// Building schedules, from rank to rank and from columns, against plain lists; patterns against maps.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "schedule/builder.hpp"
#include "schedule/columns.hpp"
#include "schedule/pattern.hpp"
#include "schedule/schedule.hpp"
#include "schedule/validate.hpp"

using namespace isthmus;
using namespace isthmus::schedule;

namespace {

/// What a random schedule is made of, in the order in which it is given.
struct Given {
  std::vector<Rank> rank, peer;
  std::vector<std::uint8_t> kind, cpu, start;
  std::vector<std::uint32_t> tag;
  std::vector<std::uint64_t> amount, op, on;
};

Given random_operations(Rank ranks, std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  const auto below = [&](std::uint64_t n) { return rng.below(static_cast<std::uint32_t>(n)); };
  Given g;
  for (std::size_t i = 0; i < count; ++i) {
    g.rank.push_back(below(ranks));
    g.peer.push_back(below(ranks));
    g.kind.push_back(static_cast<std::uint8_t>(1 + below(op_kinds - 1)));
    g.cpu.push_back(static_cast<std::uint8_t>(below(3)));
    g.tag.push_back(below(4));
    g.amount.push_back(below(1000));
  }
  for (std::size_t i = 0; i < count * 3; ++i) {
    const std::uint64_t a = below(count), b = below(count);
    if (a <= b || g.rank[a] != g.rank[b]) continue;
    g.op.push_back(a);
    g.on.push_back(b);
    g.start.push_back(static_cast<std::uint8_t>(below(2)));
  }
  return g;
}

template <class T>
Column<T> column(const std::vector<T>& values) {
  return Column<T>(std::span<const T>(values));
}

const std::vector<std::uint32_t> zero{0};
const std::vector<std::uint8_t> zero_byte{0};

OperationColumns columns_of(const Given& g) {
  OperationColumns c;
  c.count = g.rank.size();
  c.rank = column(g.rank);
  c.kind = column(g.kind);
  c.amount = column(g.amount);
  c.peer = column(g.peer);
  c.tag = column(g.tag);
  c.comm = column(zero);
  c.cpu = column(g.cpu);
  c.nic = column(zero_byte);
  return c;
}

Schedule from_columns(Rank ranks, const Given& g) {
  return schedule_of(ranks, columns_of(g), {g.op, g.on, column(g.start)}, {});
}

/// The same with a RankBuilder.
Schedule from_ranks(Rank ranks, const Given& g) {
  ScheduleBuilder builder;
  RankBuilder rank;
  for (Rank r = 0; r < ranks; ++r) {
    std::map<std::uint64_t, std::uint32_t> number;
    for (std::size_t i = 0; i < g.rank.size(); ++i) {
      if (g.rank[i] != r) continue;
      Operation op;
      op.kind = static_cast<OpKind>(g.kind[i]);
      op.amount = g.amount[i];
      op.cpu = g.cpu[i];
      const bool message = op.kind == OpKind::send || op.kind == OpKind::recv;
      if (message || op.kind == OpKind::put || op.kind == OpKind::get) op.peer = g.peer[i];
      if (message) op.tag = g.tag[i];
      number[i] = rank.add(op);
    }
    for (std::size_t d = 0; d < g.op.size(); ++d) {
      if (g.rank[g.op[d]] != r) continue;
      if (g.start[d] != 0) {
        rank.require_start(number[g.op[d]], number[g.on[d]]);
      } else {
        rank.require(number[g.op[d]], number[g.on[d]]);
      }
    }
    builder.append(rank);
  }
  return builder.build();
}

bool same(const Operation& a, const Operation& b) {
  return a.amount == b.amount && a.peer == b.peer && a.tag == b.tag && a.comm == b.comm &&
         a.first_edge == b.first_edge && a.needs == b.needs && a.kind == b.kind && a.cpu == b.cpu && a.nic == b.nic;
}

bool same(const Schedule& a, const Schedule& b) {
  return a.ranks == b.ranks && a.op_first == b.op_first && a.edge_first == b.edge_first &&
         std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(),
                    [](const Operation& x, const Operation& y) { return same(x, y); }) &&
         std::equal(a.edges.begin(), a.edges.end(), b.edges.begin(), b.edges.end(),
                    [](Edge x, Edge y) { return x.to() == y.to() && x.on_start() == y.on_start(); });
}

}  // namespace

TEST_CASE("columns and rank after rank give the same schedule") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Rank ranks = 1 + static_cast<Rank>(seed % 7);
    const Given g = random_operations(ranks, seed * 3, seed);
    const Schedule a = from_columns(ranks, g);
    CHECK(same(a, from_ranks(ranks, g)));
    CHECK(a.ops.size() == g.rank.size());
    CHECK(a.edges.size() == g.op.size());
    std::size_t dependants = 0;
    for (Rank r = 0; r < ranks; ++r) {
      for (std::uint32_t i = 0; i < a.ops_in(r); ++i) dependants += a.dependants(r, i).size();
    }
    CHECK(dependants == g.op.size());
  }
}

TEST_CASE("columns given by rank need no sorting and give the same") {
  Given g = random_operations(5, 200, 1);
  const Schedule a = from_columns(5, g);
  const RankOrder sorted = order_by_rank(5, g.rank);
  CHECK(sorted.first == a.op_first);
  Given h = g;
  std::vector<std::uint64_t> place(g.rank.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    const auto from = static_cast<std::size_t>(sorted.order[i]);
    place[from] = i;
    h.rank[i] = g.rank[from];
    h.peer[i] = g.peer[from];
    h.kind[i] = g.kind[from];
    h.cpu[i] = g.cpu[from];
    h.tag[i] = g.tag[from];
    h.amount[i] = g.amount[from];
  }
  for (auto* pairs : {&h.op, &h.on}) {
    for (auto& index : *pairs) index = place[index];
  }
  CHECK(std::is_sorted(h.rank.begin(), h.rank.end()));
  CHECK(same(from_columns(5, h), a));
}

TEST_CASE("slices and buffers follow their operations") {
  Given g = random_operations(3, 9, 2);
  OperationColumns c = columns_of(g);
  std::vector<Slices> slices(9);
  for (std::uint32_t i = 0; i < 9; ++i) slices[i].to = {i % 2, 7, i};
  c.slices = slices;
  const Buffers buffers{{"a", "b"}, {1, 2, 3, 4, 5, 6}};
  const Schedule s = schedule_of(3, c, {}, buffers);
  REQUIRE(s.slices.size() == 9);
  const RankOrder sorted = order_by_rank(3, g.rank);
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(s.slices[i].to.offset == static_cast<std::uint64_t>(sorted.order[i]));
    CHECK(s.slices[i].to.stride == 0);  // there are no blocks
    CHECK(s.slices[i].from.buffer == Slice::none);
  }
  const std::vector<Rank> to{2, 0, 1};
  const Schedule moved = relabel(s, to);
  CHECK(moved.buffers.bytes == std::vector<std::uint64_t>{3, 4, 5, 6, 1, 2});
  CHECK(moved.slices[moved.op_first[2]].to.offset == s.slices[0].to.offset);
  CHECK_THROWS_AS(schedule_of(3, c, {}, {{"a"}, {1, 2, 3}}), InvalidInput);
  CHECK_THROWS_AS(schedule_of(3, c, {}, {{"a", "b"}, {1, 2, 3}}), InvalidInput);
  c.slices = std::span<const Slices>(slices).first(8);
  CHECK_THROWS_AS(schedule_of(3, c, {}, buffers), InvalidInput);
}

TEST_CASE("relabelled twice is as before") {
  const Given g = random_operations(4, 60, 3);
  const Schedule s = from_columns(4, g);
  const std::vector<Rank> to{2, 0, 3, 1}, back{1, 3, 0, 2};
  const Schedule moved = relabel(s, to);
  CHECK_FALSE(same(moved, s));
  CHECK(same(relabel(moved, back), s));
  CHECK_THROWS_AS(relabel(s, std::vector<Rank>{0, 1, 2}), InvalidInput);
  CHECK_THROWS_AS(relabel(s, std::vector<Rank>{0, 1, 2, 4}), InvalidInput);
  CHECK_THROWS_AS(relabel(s, std::vector<Rank>{0, 1, 2, 2}), InvalidInput);
}

TEST_CASE("messages name rank, operation and reason") {
  Given g = random_operations(2, 4, 4);
  g.rank = {0, 1, 1, 0};
  g.kind = {1, 2, 3, 6};
  g.op.clear();
  g.on.clear();
  g.start.clear();
  const auto text = [](const Given& broken) {
    try {
      from_columns(2, broken);
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(text(g) == "accepted");
  Given h = g;
  h.peer[1] = any_rank;
  h.tag[1] = any_tag;
  CHECK(text(h) == "accepted");
  h = g;
  h.rank[3] = 2;
  CHECK(text(h) == "operation 3 is on rank 2: ranks are 0 to 1");
  h = g;
  h.kind[2] = 8;
  CHECK(text(h) == "operation 2 (of rank 1): kind 8 is unknown: must be 1 to 7");
  h = g;
  h.peer[0] = any_rank;
  CHECK(text(h) == "operation 0 (of rank 0): send to any rank, but ranks are 0 to 1");
  h = g;
  h.op = {1};
  h.on = {0};
  h.start = {0};
  CHECK(
      text(h) ==
      "operation 1 (of rank 1): depends on operation 0 of rank 0, but a dependency cannot cross ranks: send a message");
  h.on = {4};
  CHECK(text(h) == "dependency 0: operation 1 on operation 4, but there are 4 operations");
  h.on = {1};
  CHECK(text(h) == "operation 1 (of rank 1): depends on itself");
}

TEST_CASE("a rank's dependencies are checked when it is appended") {
  ScheduleBuilder builder;
  RankBuilder rank;
  rank.add({});
  rank.require(0, 0);
  CHECK_THROWS_WITH_AS(builder.append(rank), "rank 0: operation 0 depends on itself", InvalidInput);
  rank.clear();
  rank.add({});
  rank.require(0, 1);
  CHECK_THROWS_WITH_AS(builder.append(rank),
                       "rank 0: operation 0 depends on operation 1, but the rank has 1 operations", InvalidInput);
}

TEST_CASE("parts of a schedule are written in any order, and are as long as was said") {
  const auto chain = [](std::uint32_t ops) {
    RankBuilder rank;
    for (std::uint32_t i = 0; i < ops; ++i) {
      Operation op;
      op.amount = i;
      rank.add(op);
      if (i > 0) rank.require(i, i - 1);
    }
    return rank;
  };
  const std::vector<ScheduleBuilder::Part> parts = {{2, 5, 3}, {1, 1, 0}};
  RankBuilder three = chain(3), two = chain(2), one = chain(1);
  ScheduleBuilder builder(parts, true);
  builder.append(1, one);
  builder.append(0, three);
  CHECK_THROWS_WITH_AS(builder.build(), "ranks up to 2 have fewer operations and dependencies than were counted",
                       InvalidInput);
  builder.append(0, two);
  const Schedule s = builder.build();
  validate(s);
  CHECK(s.ranks == 3);
  CHECK(s.op_first == std::vector<std::uint64_t>{0, 3, 5, 6});
  CHECK(s.edge_first == std::vector<std::uint64_t>{0, 2, 3, 3});
  for (Rank r = 0; r < s.ranks; ++r) {
    for (std::uint32_t i = 0; i < s.ops_in(r); ++i) CHECK(s.ops_of(r)[i].amount == i);
  }
  for (const Slices& slices : s.slices) CHECK((slices.from.buffer == Slice::none && slices.to.buffer == Slice::none));

  ScheduleBuilder short_of_room(parts, false);
  RankBuilder six = chain(6);
  CHECK_THROWS_WITH_AS(short_of_room.append(0, six),
                       "rank 0 has 6 operations and 5 dependencies, more than were counted", InvalidInput);
}

TEST_CASE("patterns are sums by pair") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Rank ranks = 1 + static_cast<Rank>(seed % 6);
    const Given g = random_operations(ranks, seed * 4, seed + 100);
    std::map<std::pair<Rank, Rank>, std::pair<std::uint64_t, std::uint64_t>> sums;
    std::vector<double> load(ranks);
    std::vector<Rank> source, target;
    std::vector<std::uint64_t> bytes;
    for (std::size_t i = 0; i < g.rank.size(); ++i) {
      const auto kind = static_cast<OpKind>(g.kind[i]);
      if (kind == OpKind::calc) load[g.rank[i]] += static_cast<double>(g.amount[i]);
      if (kind != OpKind::send && kind != OpKind::put && kind != OpKind::get) continue;
      const bool get = kind == OpKind::get;
      source.push_back(get ? g.peer[i] : g.rank[i]);
      target.push_back(get ? g.rank[i] : g.peer[i]);
      bytes.push_back(g.amount[i]);
      auto& sum = sums[{source.back(), target.back()}];
      sum.first += g.amount[i];
      ++sum.second;
    }
    const Schedule s = from_columns(ranks, g);
    const std::vector<std::uint64_t> one{1};
    for (const Pattern& p : {pattern_of(s), pattern_of(ranks, source, target, column(bytes), column(one))}) {
      REQUIRE(p.ranks == ranks);
      REQUIRE(p.first.size() == ranks + 1);
      REQUIRE(p.peer.size() == sums.size());
      std::size_t i = 0;
      for (const auto& [pair, sum] : sums) {  // in the order of ranks, then peers
        CHECK(p.first[pair.first] <= i);
        CHECK(i < p.first[pair.first + 1]);
        CHECK(p.peer[i] == pair.second);
        CHECK(p.bytes[i] == sum.first);
        CHECK(p.messages[i] == sum.second);
        ++i;
      }
    }
    CHECK(load_of(s) == load);
  }
  const std::vector<Rank> wrong{2}, right{0};
  const std::vector<std::uint64_t> one{1};
  CHECK_THROWS_AS(pattern_of(2, wrong, right, column(one), column(one)), InvalidInput);
  CHECK_THROWS_AS(pattern_of(2, right, wrong, column(one), column(one)), InvalidInput);
}

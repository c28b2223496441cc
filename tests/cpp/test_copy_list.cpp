// Copies that put pieces of memory together, against bytes moved one by one.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "collectives/write/copy_list.hpp"

namespace isthmus::test {
using namespace collectives;
namespace {

struct Moved {
  Slice at;
  std::uint64_t bytes;
  std::uint32_t by;
  std::uint64_t to;
};

struct Written {
  Schedule schedule;
  std::uint32_t sent = 0;
};

/// Some operations that bring pieces, then what sends the pieces.
Written written(const std::vector<Moved>& pieces, std::uint32_t bringing, bool buffers, bool behind) {
  RankBuilder rank;
  Emitter out(rank, {}, 0, 0, 0, buffers);
  for (std::uint32_t i = 0; i < bringing; ++i) out.recv(0, 1, at_scratch(i));
  CopyList all;
  for (const Moved& piece : pieces) {
    if (behind) all.add(piece.at, piece.bytes, piece.by);
    else all.add(piece.at, piece.bytes, piece.by, piece.to);
  }
  Written w;
  w.sent = all.send(out, 0, at_output(1000));
  ScheduleBuilder builder;
  builder.set_buffers({{"input", "output", "scratch"}, {1 << 20, 1 << 20, 1 << 20}});
  builder.append(rank);
  w.schedule = builder.build();
  return w;
}

/// Which byte of which buffer, and brought by whom, is where in the message.
using Byte = std::pair<std::uint64_t, std::uint32_t>;

void check_message(const Written& w, const std::vector<Byte>& expected) {
  const Schedule& s = w.schedule;
  std::vector<std::uint32_t> needs(s.ops.size(), no_operation);
  std::vector<bool> waited(s.ops.size());
  for (std::uint32_t i = 0; i < s.ops.size(); ++i) {
    for (const Edge edge : s.dependants(0, i)) {
      if (edge.to() == w.sent) waited[i] = true;
      else needs[edge.to()] = i;
    }
  }
  const Operation& send = s.ops[w.sent];
  const Slice from = s.slices[w.sent].from;
  REQUIRE(send.amount == expected.size());
  if (from.buffer != output_buffer) {
    for (std::uint64_t i = 0; i < send.amount; ++i) {
      const auto [byte, by] = expected[i];
      CHECK(byte == (std::uint64_t{from.buffer} << 32) + from.offset + i);
      CHECK((by == no_operation || waited[by]));
    }
    return;
  }
  std::vector<Byte> out(send.amount, {~std::uint64_t{0}, no_operation});
  CHECK(from.offset == 1000);
  for (std::uint32_t op = 0; op < w.sent; ++op) {
    if (s.ops[op].kind != OpKind::copy) continue;
    CHECK(waited[op]);
    const Slices& slices = s.slices[op];
    std::vector<std::uint64_t> places;
    each_block(slices.to, slices.block, s.ops[op].amount, [&](std::uint64_t offset, std::uint64_t bytes) {
      for (std::uint64_t i = 0; i < bytes; ++i) places.push_back(offset + i - 1000);
    });
    std::size_t next = 0;
    each_block(slices.from, slices.block, s.ops[op].amount, [&](std::uint64_t offset, std::uint64_t bytes) {
      for (std::uint64_t i = 0; i < bytes; ++i) {
        REQUIRE(places[next] < out.size());
        CHECK(out[places[next]].first == ~std::uint64_t{0});
        out[places[next++]] = {(std::uint64_t{slices.from.buffer} << 32) + offset + i, needs[op]};
      }
    });
    CHECK(next == places.size());
  }
  CHECK(out == expected);
}

void check(std::vector<Moved> pieces, std::uint32_t bringing, bool behind) {
  std::uint64_t bytes = 0;
  for (Moved& piece : pieces) {
    if (behind) piece.to = bytes;
    bytes += piece.bytes;
  }
  std::vector<Byte> expected(bytes);
  for (const Moved& piece : pieces) {
    for (std::uint64_t i = 0; i < piece.bytes; ++i) {
      expected[piece.to + i] = {(std::uint64_t{piece.at.buffer} << 32) + piece.at.offset + i, piece.by};
    }
  }
  const Written named = written(pieces, bringing, true, behind);
  check_message(named, expected);
  const Schedule plain = written(pieces, bringing, false, behind).schedule;
  CHECK(plain.slices.empty());
  REQUIRE(plain.ops.size() == named.schedule.ops.size());
  for (std::size_t i = 0; i < plain.ops.size(); ++i) {
    CHECK(plain.ops[i].amount == named.schedule.ops[i].amount);
    CHECK(plain.ops[i].kind == named.schedule.ops[i].kind);
    CHECK(plain.ops[i].needs == named.schedule.ops[i].needs);
  }
}

std::size_t copies(const Written& w) {
  std::size_t n = 0;
  for (const Operation& op : w.schedule.ops) n += op.kind == OpKind::copy ? 1 : 0;
  return n;
}

TEST_CASE("pieces equally far from each other are one copy") {
  std::vector<Moved> pieces;
  // Every second block of 4 bytes, the last one shorter, in two pieces each.
  for (std::uint64_t i = 0; i < 5; ++i) {
    pieces.push_back({at_input(100 + 8 * i), 1, no_operation, 0});
    pieces.push_back({at_input(101 + 8 * i), i == 4 ? 1U : 3U, no_operation, 0});
  }
  const Written w = written(pieces, 0, true, true);
  CHECK(copies(w) == 1);
  CHECK(w.schedule.slices[0].block == 4);
  CHECK(w.schedule.slices[0].from.stride == 2);
  CHECK(w.schedule.slices[0].to.stride == 1);
  check(pieces, 0, true);

  // Backwards, as Bruck's algorithm ends.
  pieces.clear();
  for (std::uint64_t i = 0; i < 5; ++i) pieces.push_back({at_input(100 + 4 * i), 4, no_operation, 4 * (4 - i)});
  const Written back = written(pieces, 0, true, false);
  CHECK(copies(back) == 1);
  CHECK(back.schedule.slices[0].to.stride == -1);
  check(pieces, 0, false);

  // What other operations bring, in turn: a copy for each.
  pieces.clear();
  for (std::uint64_t i = 0; i < 8; ++i) {
    pieces.push_back({at_scratch(100 + 200 * (i % 2) + 12 * i), 4, static_cast<std::uint32_t>(i % 2), 0});
  }
  CHECK(copies(written(pieces, 2, true, true)) == 2);
  check(pieces, 2, true);

  // One behind the other: nothing is copied.
  pieces = {{at_input(5), 3, no_operation, 0}, {at_input(8), 0, no_operation, 0}, {at_input(8), 9, no_operation, 0}};
  CHECK(copies(written(pieces, 0, true, true)) == 0);
  check(pieces, 0, true);
  check({}, 0, true);
}

TEST_CASE("any pieces come to their places") {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t bringing = below(4);
    const std::uint64_t size = 1 + below(4), step = size + below(9);
    std::vector<Moved> pieces;
    std::uint64_t at = 4000;
    for (std::uint32_t i = below(20); i > 0; --i) {
      const std::uint64_t bytes = below(5) == 0 ? below(6) : size;
      const std::uint32_t by = bringing == 0 || below(3) == 0 ? no_operation : below(bringing);
      pieces.push_back({{below(8) == 0 ? input_buffer : scratch_buffer, 0, at}, bytes, by, 0});
      const std::uint32_t way = below(6);
      at += way == 0 ? bytes : way == 1 ? 0 - step : way == 2 ? 0 - bytes : step;
    }
    check(pieces, bringing, true);
    // The same the other way round.
    std::uint64_t to = 0;
    for (std::size_t i = pieces.size(); i-- > 0;) {
      pieces[i].to = to;
      to += pieces[i].bytes;
    }
    check(pieces, bringing, false);
  }
}

}  // namespace
}  // namespace isthmus::test

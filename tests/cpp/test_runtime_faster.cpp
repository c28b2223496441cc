// How messages are copied: the faster way is taken, also where it becomes the other one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <vector>

#include "runtime/transport/copying.hpp"
#include "runtime/transport/faster.hpp"
#include "runtime/transport/in_place.hpp"

using isthmus::runtime::Faster;

namespace {

constexpr std::size_t count = 1 << 20;
constexpr std::uint64_t seconds = 1'000'000'000;  // what the loop itself takes does not matter

/// Receives of one rank.
struct Receiver {
  Faster faster;
  std::uint32_t context = 0;

  /// Messages that come in pieces, of so many, each way with its own time.
  int in_pieces(int messages, bool taken, std::uint64_t copy_ns, std::uint64_t pieces_ns) {
    int found = 0;
    for (int i = 0; i < messages; ++i) {
      const bool pieces = faster.in_pieces(count, taken, context++);
      faster.took(pieces, count, taken, Faster::now() - (pieces ? pieces_ns : copy_ns));
      found += pieces ? 1 : 0;
    }
    return found;
  }
};

}  // namespace

TEST_CASE("the faster way is taken but for a few messages of each 512") {
  Receiver rank;
  (void)rank.in_pieces(512, false, 10 * seconds, 20 * seconds);
  int slower = rank.in_pieces(51200, false, 10 * seconds, 20 * seconds);
  CHECK(slower > 200);
  CHECK(slower < 800);
  // Other classes know nothing of it.
  slower = 512 - rank.in_pieces(512, true, 20 * seconds, 10 * seconds);
  CHECK(slower < 100);
  CHECK(slower > 4);
  // The one way becomes slower: soon the other one is taken.
  CHECK(rank.in_pieces(512, false, 40 * seconds, 20 * seconds) > 400);
  // The other one becomes faster: that is seen when it is tried.
  CHECK(rank.in_pieces(4096, false, 10 * seconds, 20 * seconds) < 2000);
}

TEST_CASE("first messages that were late do not decide for long") {
  // All pieces of the first sixteen came while another program had the processor.
  int soon = 0;
  for (std::uint32_t begin = 0; begin < 4000; begin += 40) {
    Receiver rank{{}, begin};
    (void)rank.in_pieces(16, false, 20 * seconds, 40 * seconds);
    soon += rank.in_pieces(240, false, 20 * seconds, 10 * seconds) > 120 ? 1 : 0;
    CHECK(rank.in_pieces(4096, false, 20 * seconds, 10 * seconds) > 3000);
  }
  CHECK(soon > 90);
}

TEST_CASE("ranks that have received other messages before try at the same time") {
  // Pieces are fast where both take them, and slow where one of them copies by itself.
  Receiver one, other;
  (void)one.in_pieces(77, false, 20 * seconds, 30 * seconds);  // such as broadcasts, which only this one receives
  other.context = one.context;
  int both = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool pieces = one.faster.in_pieces(count, false, one.context++);
    const bool too = other.faster.in_pieces(count, false, other.context++);
    const std::uint64_t ns = pieces && too ? 10 * seconds : pieces || too ? 40 * seconds : 20 * seconds;
    one.faster.took(pieces, count, false, Faster::now() - ns);
    other.faster.took(too, count, false, Faster::now() - ns);
    both += i >= 1000 && pieces && too ? 1 : 0;
  }
  CHECK(both > 1800);
}

TEST_CASE("a program whose large messages come in a rhythm tries both ways") {
  for (const std::uint32_t period : {2U, 8U, 512U}) {
    Receiver rank;
    int pieces = 0;
    for (int i = 0; i < 4000; ++i) {
      rank.context += period - 1;
      pieces += rank.in_pieces(1, false, 10 * seconds, 20 * seconds);
    }
    CHECK(pieces > 20);
    CHECK(pieces < 400);
  }
}

namespace {

using isthmus::runtime::InPlace;

/// Two ranks that exchange messages of a kind: what one takes through the ring, and where it stays; where only one of
/// them asks for it, messages go through the ring.
struct Exchange {
  std::uint32_t kind = 2;
  std::uint64_t now = 0;
  InPlace ranks[2];

  int stay(int messages, std::uint64_t ring_ns, std::uint64_t place_ns) {
    int found = 0;
    for (int i = 0; i < messages; ++i) {
      const bool stays = ranks[0].stays(kind, ranks[1].asked());
      CHECK(stays == ranks[1].stays(kind, ranks[0].asked()));
      now += stays ? place_ns : ring_ns;
      for (InPlace& rank : ranks) (void)rank.received(kind, stays, [&] { return now; });
      found += stays ? 1 : 0;
    }
    return found;
  }
};

}  // namespace

TEST_CASE("messages stay where that takes less from one to the next, and where it comes to") {
  CHECK(InPlace::size_of(InPlace::least + 1) == 0);
  CHECK(InPlace::size_of(8 << 10) == 0);
  CHECK(InPlace::size_of((8 << 10) + 1) == 1);
  CHECK(InPlace::size_of(32 << 10) == 2);
  CHECK(InPlace::size_of(1 << 20) == 3);
  CHECK(InPlace::kind_of(32 << 10, true) != InPlace::kind_of(32 << 10, false));

  Exchange slower;
  CHECK(slower.stay(256, 3000, 4000) == 128);  // as often either way
  CHECK(slower.stay(8192 - 256, 3000, 4000) == 128);
  CHECK(slower.stay(81920, 3000, 4000) == 1280);  // tried now and then
  // A machine that has changed: from the next try on.
  CHECK(slower.stay(8192, 3000, 2000) > 8192 - 128 - 1);

  Exchange faster;
  CHECK(faster.stay(8192, 3000, 2500) > 8192 - 500);
  CHECK(faster.stay(8192, 2000, 2500) < 300);
  // Other sizes, and calls of the other sort, have tries of their own.
  faster.kind = 1;
  CHECK(faster.stay(256, 3000, 2500) == 128);
  CHECK(faster.stay(500, 3000, 2500) == 500);
  faster.kind = 1 + InPlace::sizes;
  CHECK(faster.stay(256, 3000, 2500) == 128);
  // A computation beside it, which takes as long either way, changes nothing, but what cannot be seen is left alone.
  Exchange beside;
  CHECK(beside.stay(8192, 23000, 22000) > 8192 - 500);
  CHECK(beside.stay(8192, 23000, 22900) > 8192 - 500);
  Exchange unseen;
  CHECK(unseen.stay(8192, 23000, 22900) == 256);
}

TEST_CASE("messages of an exchange stay only where both ranks ask for it") {
  Exchange ranks;
  CHECK(ranks.stay(2048, 3000, 2000) > 1024);
  // One of them has seen other times: soon both go one way.
  InPlace& other = ranks.ranks[1];
  other = InPlace();
  for (int i = 0; i < 300; ++i)
    (void)other.received(ranks.kind, i >= 129 && i < 257, [&] { return ranks.now += 1000; });
  (void)ranks.stay(8192, 3000, 2000);
  const int found = ranks.stay(16384, 3000, 2000);
  CHECK((found < 600 || found > 16384 - 600));
  // Who sends and never receives such messages does what it is asked for.
  InPlace sender;
  CHECK(sender.stays(2, 1U << 2));
  CHECK(!sender.stays(2, 1U << 1));
  // Bytes that cannot be taken are not asked for.
  for (InPlace& rank : ranks.ranks) rank.refuse();
  CHECK(ranks.stay(10000, 3000, 2000) == 0);
}

using isthmus::runtime::Copying;

TEST_CASE("bytes are copied past the caches, whatever their number and where they come from") {
  std::vector<std::byte> from(700), room(1024);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  std::byte* const line = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
  for (std::size_t count = 0; count <= 600; count += count < 140 ? 1 : 23) {
    for (const std::size_t shift : {0, 1, 8, 63}) {
      std::fill(room.begin(), room.end(), std::byte{0});
      isthmus::runtime::copy_past(line, from.data() + shift, count);
      CHECK(std::equal(line, line + count, from.data() + shift));
      CHECK(line[count] == std::byte{0});
    }
  }
}

TEST_CASE("messages go past the caches where that is faster, and where it comes to be") {
  constexpr std::size_t bytes = 32 << 10;
  Copying sender, receiver;
  // Nanoseconds of copies in and out, through and past the caches.
  struct Machine {
    std::uint64_t in[2], out[2];
  };
  const auto past = [&](int messages, const Machine& machine) {
    int found = 0;
    for (int i = 0; i < messages; ++i) {
      const Copying::Way way = sender.next(bytes, receiver.told());
      if (way.timed) sender.copied_in(bytes, way.past, machine.in[way.past ? 1 : 0]);
      if (receiver.times(bytes, way.past)) receiver.copied_out(bytes, way.past, machine.out[way.past ? 1 : 0]);
      found += way.past ? 1 : 0;
    }
    return found;
  };
  const Machine apart{{14000, 850}, {2100, 2150}}, one_core{{1400, 1500}, {1300, 2600}};
  CHECK(past(16, apart) == 8);  // as often either way
  CHECK(past(10000, apart) > 9900);
  CHECK(past(10000, one_core) < 1500);  // found out at a try
  CHECK(past(10000, one_core) < 300);
  CHECK(past(10000, apart) > 9500);
  // What exchanges gain is less than what a stream loses, in which both sides copy at the same time.
  CHECK(past(10000, {{2700, 1500}, {2800, 3900}}) < 1500);
  // Another size is another question.
  CHECK(!sender.next(8 << 10, receiver.told()).past);
}

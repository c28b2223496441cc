// Large messages in pieces or by one copy: the faster way is taken, also where it becomes the other one.
#include <doctest/doctest.h>

#include <cstdint>

#include "runtime/transport/faster.hpp"

using isthmus::runtime::Faster;

namespace {

/// Messages that come in pieces, of so many, each way with its own time.
int in_pieces(Faster& faster, int messages, bool taken, std::uint64_t copy_ns, std::uint64_t pieces_ns) {
  constexpr std::size_t count = 1 << 20;
  int found = 0;
  for (int i = 0; i < messages; ++i) {
    const bool pieces = faster.in_pieces(count, taken);
    faster.took(pieces, count, taken, Faster::now() - (pieces ? pieces_ns : copy_ns));
    found += pieces ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("the faster way is taken but for a few messages of each 512") {
  constexpr std::uint64_t seconds = 1'000'000'000;  // what the loop itself takes does not matter
  Faster faster;
  CHECK(in_pieces(faster, 16, false, 10 * seconds, 20 * seconds) == 8);
  // Five times at first, at 16, 32, 64, 128 and 256.
  CHECK(in_pieces(faster, 496, false, 10 * seconds, 20 * seconds) == 20);
  CHECK(in_pieces(faster, 5120, false, 10 * seconds, 20 * seconds) == 40);
  // Other classes know nothing of it.
  CHECK(in_pieces(faster, 16, true, 20 * seconds, 10 * seconds) == 8);
  CHECK(in_pieces(faster, 496, true, 20 * seconds, 10 * seconds) == 496 - 20);
  CHECK(in_pieces(faster, 5120, true, 20 * seconds, 10 * seconds) == 5120 - 40);
  // The one way becomes slower: soon the other one is taken.
  CHECK(in_pieces(faster, 512, false, 40 * seconds, 20 * seconds) > 450);
  // The other one becomes faster: that is seen when it is tried.
  CHECK(in_pieces(faster, 1024, false, 10 * seconds, 20 * seconds) < 600);
}

TEST_CASE("first messages that were late do not decide for long") {
  constexpr std::uint64_t seconds = 1'000'000'000;
  // All pieces of the first sixteen came while another program had the processor.
  Faster faster;
  CHECK(in_pieces(faster, 16, false, 20 * seconds, 40 * seconds) == 8);
  CHECK(in_pieces(faster, 4, false, 20 * seconds, 10 * seconds) > 0);
  CHECK(in_pieces(faster, 12, false, 20 * seconds, 10 * seconds) == 12);
}

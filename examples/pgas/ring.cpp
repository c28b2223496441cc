// A number goes round a ring of ranks, each of which adds its own to it: a put that says when it is there.
#include <cstdio>

#include "example.hpp"

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint32_t rounds = example::number(argc, argv, 1, 100);
  std::uint64_t place = 0;  // of the number; behind it, how many have come
  isthmus::pgas::check(isthmus_allocate_all(world, 16, &place));
  isthmus::pgas::check(isthmus_set(world, world.rank(), place, 0, 16));
  world.barrier();

  const std::uint32_t next = (world.rank() + 1) % world.ranks();
  const auto* const mine = static_cast<const std::uint64_t*>(isthmus_cast(world, world.rank(), place));
  const auto pass_on = [&](std::uint64_t value) {
    isthmus::pgas::check(isthmus_put_signal(world, next, place, &value, sizeof value, place + 8, 1));
  };
  const double begin = example::seconds();
  if (world.rank() == 0) pass_on(0);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    isthmus::pgas::check(isthmus_wait_signal(world, place + 8, 1));
    if (world.rank() > 0 || round + 1 < rounds) pass_on(*mine + world.rank());
  }
  const double took = example::seconds() - begin;

  // Rank 0 adds nothing, and keeps what comes last.
  const std::uint64_t expected = std::uint64_t{rounds} * world.ranks() * (world.ranks() - 1) / 2;
  const bool right = world.rank() > 0 || *mine == expected;
  if (world.rank() == 0)
    std::printf("%u rounds of %u ranks: %llu, %s, %.6f s\n", rounds, world.ranks(),
                static_cast<unsigned long long>(*mine), right ? "right" : "wrong", took);
  return right ? 0 : 1;
}

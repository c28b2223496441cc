// Random updates of a table that is dealt out (RandomAccess of the HPC Challenge), as atomic operations: none is lost.
// Done twice, they leave the table as it was.
#include <cstdio>

#include "example.hpp"

static std::uint64_t next(std::uint64_t random) {
  return random << 1 ^ (static_cast<std::int64_t>(random) < 0 ? 7 : 0);
}

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint64_t size = std::uint64_t{1} << example::number(argc, argv, 1, 16);  // power of two, in words
  const std::uint64_t updates = example::number(argc, argv, 2, 20000);                // of each rank
  isthmus::pgas::shared_array<std::uint64_t> table(world, size, static_cast<std::uint32_t>(size / world.ranks() + 1));
  for (auto [i, x] : table.mine()) x = i;
  world.barrier();

  double took = 0;
  std::uint64_t bits = 0;
  for (int time = 0; time < 2; ++time) {
    const double begin = example::seconds();
    std::uint64_t random = example::mixed(world.rank() + 1, 1);
    for (std::uint64_t i = 0; i < updates; ++i) {
      random = next(random);
      const auto place = table.begin() + static_cast<std::ptrdiff_t>(random & (size - 1));
      isthmus::pgas::check(isthmus_atomic(world, place.rank(), place.offset(), ISTHMUS_U64, ISTHMUS_ATOMIC_XOR, &random,
                                          nullptr, nullptr));
    }
    world.barrier();
    took += example::seconds() - begin;
    if (time == 0)
      for (auto [i, x] : table.mine()) bits += (x ^ i) * (2 * i + 1);
    world.barrier();
  }
  std::uint64_t wrong = 0;
  for (auto [i, x] : table.mine()) wrong += x != i;
  wrong = world.reduce(wrong);
  bits = world.reduce(bits);
  const double all = 2.0 * static_cast<double>(updates) * world.ranks();
  if (world.rank() == 0)
    std::printf("%llu words on %u ranks: %llu wrong, bits %016llx, %.6f s, %.6f GUPS\n",
                static_cast<unsigned long long>(size), world.ranks(), static_cast<unsigned long long>(wrong),
                static_cast<unsigned long long>(bits), took, all / took / 1e9);
  return wrong == 0 ? 0 : 1;
}

// A matrix is dealt out by rows and transposed: every rank gets the pieces of its new rows from all others.
#include <cstdio>

#include "example.hpp"

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint32_t n = example::number(argc, argv, 1, 500), rank = world.rank(), ranks = world.ranks();
  // A block is a row.
  isthmus::pgas::shared_array<double> before(world, std::uint64_t{n} * n, n), after(world, std::uint64_t{n} * n, n);
  for (auto [i, x] : before.mine()) x = static_cast<double>(i);
  world.barrier();

  // The rows of this rank lie one behind the other, and so do those of any other, of which each column is one piece.
  const double begin = example::seconds();
  const std::uint64_t mine = after.local_size() / n;
  for (std::uint32_t step = 0; step < ranks; ++step) {
    const std::uint32_t other = (rank + step) % ranks;
    // Row `k * ranks + rank` of the result: element `i * ranks + other` is element k * ranks + rank of its row i.
    const std::size_t pieces[2] = {mine, isthmus_shared_local(before.size(), n, ranks, other) / n};
    const std::int64_t there[2] = {static_cast<std::int64_t>(ranks * sizeof(double)),
                                   static_cast<std::int64_t>(n * sizeof(double))};
    const std::int64_t here[2] = {there[1], there[0]};
    isthmus::pgas::check(isthmus_get_strided(world, after.data() + other, here, other,
                                             before.offset() + rank * sizeof(double), there, sizeof(double), pieces,
                                             2));
  }
  world.barrier();
  const double took = example::seconds() - begin;

  std::uint64_t wrong = 0, bits = 0;
  for (auto [i, x] : after.mine()) wrong += x != static_cast<double>(i % n * n + i / n), bits += example::mixed(i, x);
  wrong = world.reduce(wrong);
  bits = world.reduce(bits);
  if (rank == 0)
    std::printf("%u x %u on %u ranks: %llu elements are wrong, bits %016llx, %.6f s\n", n, n, ranks,
                static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(bits), took);
  return wrong == 0 ? 0 : 1;
}

// A matrix is dealt out by rows and transposed: every rank gets the pieces of its new rows from all others.
#include <cstdio>
#include <cstdlib>
#include <isthmus/pgas.hpp>

int main(int argc, char** argv) {
  isthmus_team* team;
  isthmus_space* space;
  const std::uint32_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 500;
  isthmus::pgas::check(isthmus_join(nullptr, &team));
  isthmus::pgas::check(isthmus_space_make(team, nullptr, &space));
  {
    // A block is a row.
    isthmus::pgas::shared_array<double> before(space, std::uint64_t{n} * n, n), after(space, std::uint64_t{n} * n, n);
    for (auto [i, x] : before.mine()) x = static_cast<double>(i);
    isthmus::pgas::check(isthmus_barrier(space, nullptr));

    // The rows of this rank lie one behind the other, and so do those of any other, of which each column is one piece.
    const std::uint32_t rank = isthmus_rank(team), ranks = isthmus_ranks(team);
    const std::uint64_t mine = after.local_size() / n;
    for (std::uint32_t step = 0; step < ranks; ++step) {
      const std::uint32_t other = (rank + step) % ranks;
      const std::size_t rows = isthmus_shared_local(before.size(), n, ranks, other) / n;
      for (std::uint64_t k = 0; k < mine; ++k) {
        // Row `k * ranks + rank` of the result: element `i * ranks + other` is element k * ranks + rank of its row i.
        const std::int64_t there = n * sizeof(double), here = ranks * sizeof(double);
        isthmus::pgas::check(isthmus_get_strided(space, after.data() + k * n + other, &here, other,
                                                 before.offset() + (k * ranks + rank) * sizeof(double), &there,
                                                 sizeof(double), &rows, 1));
      }
    }
    isthmus::pgas::check(isthmus_barrier(space, nullptr));

    std::uint64_t wrong = 0;
    for (auto [i, x] : after.mine()) wrong += x != static_cast<double>(i % n * n + i / n);
    isthmus_call sum{};
    sum.size = sizeof sum;
    sum.kind = ISTHMUS_ALLREDUCE;
    sum.element = ISTHMUS_U64;
    sum.count = 1;
    std::uint64_t all = 0;
    isthmus::pgas::check(isthmus_run(team, &sum, &wrong, &all));
    if (rank == 0)
      std::printf("%u x %u on %u ranks: %llu elements are wrong\n", n, n, ranks, static_cast<unsigned long long>(all));
  }
  isthmus::pgas::check(isthmus_space_leave(space));
  isthmus_leave(team);
}

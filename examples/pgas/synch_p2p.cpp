// A pipeline of the Parallel Research Kernels: every element of a grid needs those above it and to its left. Columns
// are dealt out; a rank puts the last element of a row to its neighbour as soon as it has it, with a signal.
#include <cmath>
#include <cstdio>

#include "example.hpp"

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint64_t n = example::number(argc, argv, 1, 300),
                      m = example::number(argc, argv, 2, 200);  // columns, rows
  const std::uint64_t iterations = example::number(argc, argv, 3, 5);
  const std::uint32_t rank = world.rank(), ranks = world.ranks();
  const std::uint64_t first = n * rank / ranks, columns = n * (rank + 1) / ranks - first, row = columns + 1;
  if (n / ranks < 2) return std::fprintf(stderr, "at least 2 columns for each rank\n"), 2;

  // Of every row, what comes from the left; of the corner, what comes at the end; behind them, how many have come.
  std::uint64_t place = 0;
  isthmus::pgas::check(isthmus_allocate_all(world, (m + 2) * sizeof(double), &place));
  isthmus::pgas::check(isthmus_set(world, rank, place, 0, (m + 2) * sizeof(double)));
  const auto* const left = static_cast<const double*>(isthmus_cast(world, rank, place));
  const std::uint64_t corner = place + m * sizeof(double), signal = corner + sizeof(double);
  const auto pass_on = [&](std::uint32_t to, std::uint64_t offset, double value) {
    isthmus::pgas::check(isthmus_put_signal(world, to, offset, &value, sizeof value, signal, 1));
  };
  std::vector<double> grid(m * row);  // column 0 is that of the rank before
  for (std::uint64_t j = 0; j <= columns; ++j)
    if (first + j > 0) grid[j] = static_cast<double>(first + j - 1);
  for (std::uint64_t i = 0; i < m && rank == 0; ++i) grid[i * row + 1] = static_cast<double>(i);
  world.barrier();

  const double begin = example::seconds();
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::uint64_t i = 1; i < m; ++i) {
      double* const now = &grid[i * row];
      const double* const above = now - row;
      if (rank > 0) {
        isthmus::pgas::check(isthmus_wait_signal(world, signal, 1));
        now[0] = left[i];
      }
      for (std::uint64_t j = rank == 0 ? 2 : 1; j <= columns; ++j) now[j] = above[j] + now[j - 1] - above[j - 1];
      if (rank + 1 < ranks) pass_on(rank + 1, place + i * sizeof(double), now[columns]);
    }
    // The last corner makes the next iteration depend on this one.
    if (rank + 1 == ranks) pass_on(0, corner, -grid[(m - 1) * row + columns]);
    if (rank == 0) {
      isthmus::pgas::check(isthmus_wait_signal(world, signal, 1));
      grid[1] = left[m];
    }
  }
  world.barrier();
  const double took = example::seconds() - begin;

  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i < m; ++i)
    for (std::uint64_t j = 1; j <= columns; ++j) bits += example::mixed(i * n + first + j - 1, grid[i * row + j]);
  bits = world.reduce(bits);
  const double expected = static_cast<double>(iterations * (m + n - 2));
  const double wrong = rank + 1 == ranks ? std::fabs(grid[(m - 1) * row + columns] - expected) : 0;
  const bool right = world.reduce(wrong) < 1e-8;
  if (rank == 0)
    std::printf("%llu x %llu, %llu iterations on %u ranks: %s, bits %016llx, %.6f s\n",
                static_cast<unsigned long long>(n), static_cast<unsigned long long>(m),
                static_cast<unsigned long long>(iterations), ranks, right ? "right" : "wrong",
                static_cast<unsigned long long>(bits), took);
  return right ? 0 : 1;
}

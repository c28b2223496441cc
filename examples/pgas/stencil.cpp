// The star stencil of the Parallel Research Kernels: rows are dealt out, and two rows at each end of a rank's part are
// put into the memory of its neighbours, with a signal.
#include <cmath>
#include <cstdio>

#include "example.hpp"

constexpr std::uint32_t radius = 2;

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint64_t n = example::number(argc, argv, 1, 400), iterations = example::number(argc, argv, 2, 20);
  const std::uint32_t rank = world.rank(), ranks = world.ranks();
  const auto first_of = [&](std::uint64_t r) { return n * r / ranks; };
  const std::uint64_t first = first_of(rank), rows = first_of(rank + 1) - first;
  if (n / ranks < radius) return std::fprintf(stderr, "at least %u rows for each rank\n", radius), 2;

  // Rows of this rank, with room for those of the neighbours before and behind; then signals of both.
  const std::uint64_t row = n * sizeof(double), most = n / ranks + 1;
  std::uint64_t place = 0, signals = 0;
  isthmus::pgas::check(isthmus_allocate_all(world, (most + 2 * radius) * row, &place));
  isthmus::pgas::check(isthmus_allocate_all(world, 16, &signals));
  isthmus::pgas::check(isthmus_set(world, rank, signals, 0, 16));
  auto* const in = static_cast<double*>(isthmus_cast(world, rank, place)) + radius * n;
  std::vector<double> out(rows * n);
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t j = 0; j < n; ++j) in[i * n + j] = static_cast<double>(first + i + j);
  double weight[radius + 1];
  for (std::uint32_t d = 1; d <= radius; ++d) weight[d] = 1 / (2.0 * d * radius);
  world.barrier();

  const double begin = example::seconds();
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
    if (rank > 0)  // behind the last row of the rank before
      isthmus::pgas::check(isthmus_put_signal(world, rank - 1, place + (radius + first - first_of(rank - 1)) * row, in,
                                              radius * row, signals + 8, 1));
    if (rank + 1 < ranks)
      isthmus::pgas::check(
          isthmus_put_signal(world, rank + 1, place, in + (rows - radius) * n, radius * row, signals, 1));
    if (rank > 0) isthmus::pgas::check(isthmus_wait_signal(world, signals, 1));
    if (rank + 1 < ranks) isthmus::pgas::check(isthmus_wait_signal(world, signals + 8, 1));
    const std::uint64_t from = first < radius ? radius - first : 0;
    const std::uint64_t to = first + rows > n - radius ? n - radius - first : rows;
    for (std::uint64_t i = from; i < to; ++i)
      for (std::uint64_t j = radius; j < n - radius; ++j) {
        const double* const at = in + i * n + j;
        double sum = 0;
        for (std::uint32_t d = 1; d <= radius; ++d) sum += weight[d] * (at[d] - at[-static_cast<int>(d)]);
        for (std::uint64_t d = 1; d <= radius; ++d) sum += weight[d] * (at[d * n] - *(at - d * n));
        out[i * n + j] += sum;
      }
    world.barrier();  // nobody needs the rows any more
    for (std::uint64_t i = 0; i < rows * n; ++i) in[i] += 1;
  }
  const double took = example::seconds() - begin;

  // The gradient of i + j is 2 everywhere.
  double norm = 0;
  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i < rows * n; ++i) norm += std::fabs(out[i]), bits += example::mixed(first * n + i, out[i]);
  const auto points = static_cast<double>((n - 2 * radius) * (n - 2 * radius));
  norm = world.reduce(norm) / points;
  bits = world.reduce(bits);
  const bool right = std::fabs(norm - 2.0 * static_cast<double>(iterations)) < 1e-8;
  if (rank == 0)
    std::printf("%llu x %llu, %llu iterations on %u ranks: norm %.6f, %s, bits %016llx, %.6f s\n",
                static_cast<unsigned long long>(n), static_cast<unsigned long long>(n),
                static_cast<unsigned long long>(iterations), ranks, norm, right ? "right" : "wrong",
                static_cast<unsigned long long>(bits), took);
  return right ? 0 : 1;
}

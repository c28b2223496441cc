// A sparse matrix times a vector: rows and vector are dealt out, and every rank gets the elements that it needs of
// others in one call for each, before it multiplies.
#include <cmath>
#include <cstdio>
#include <vector>

#include "example.hpp"

constexpr std::uint64_t of_a_row = 9;  // elements that are not 0

static std::uint64_t column(std::uint64_t row, std::uint64_t k, std::uint64_t n) {
  return k == 0 ? row : example::mixed(of_a_row * row + k, 1) % n;
}

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint64_t n = example::number(argc, argv, 1, 3000), iterations = example::number(argc, argv, 2, 10);
  const auto part = static_cast<std::uint32_t>((n + world.ranks() - 1) / world.ranks());
  isthmus::pgas::shared_array<double> x(world, n, part);
  const std::uint64_t first = std::uint64_t{part} * world.rank(), rows = x.local_size();

  // What is needed of each rank, in the order of its elements; `where` says at which place of `needed` it comes to lie.
  std::vector<std::uint64_t> place(n, n);
  for (std::uint64_t i = 0; i < of_a_row * rows; ++i) place[column(first + i / of_a_row, i % of_a_row, n)] = 0;
  std::vector<std::vector<std::uint64_t>> offsets(world.ranks());
  std::vector<double> needed(n);
  std::vector<double*> begins;
  std::uint64_t count = 0;
  for (std::uint64_t j = 0; j < n; ++j) {
    if (j % part == 0) begins.push_back(&needed[count]);
    if (place[j] == n) continue;
    place[j] = count++;
    const auto p = x.begin() + static_cast<std::ptrdiff_t>(j);
    offsets[p.rank()].push_back(p.offset());
  }
  std::vector<std::uint64_t> where(of_a_row * rows);
  for (std::uint64_t i = 0; i < where.size(); ++i) where[i] = place[column(first + i / of_a_row, i % of_a_row, n)];
  std::vector<double> y(rows);
  for (auto [i, value] : x.mine()) value = 1 + static_cast<double>(i % 10);
  world.barrier();

  const double begin = example::seconds();
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::uint32_t r = 0; r < begins.size(); ++r) {
      void* const to = begins[r];
      isthmus::pgas::check(isthmus_get_indexed(world, &to, 1, offsets[r].size() * sizeof(double), r, offsets[r].data(),
                                               offsets[r].size(), sizeof(double)));
    }
    for (std::uint64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (std::uint64_t k = 0; k < of_a_row; ++k) sum += (k == 0 ? 2.0 : -0.125) * needed[where[of_a_row * i + k]];
      y[i] = sum / 3;
    }
    world.barrier();  // all have got what they need
    std::copy(y.begin(), y.end(), x.data());
    world.barrier();
  }
  const double took = example::seconds() - begin;

  // Rows add up to 1 / 3 of what an element is.
  std::uint64_t bits = 0, wild = 0;
  for (auto [i, value] : x.mine()) bits += example::mixed(i, value), wild += !(std::fabs(value) <= 10);
  bits = world.reduce(bits);
  wild = world.reduce(wild);
  if (world.rank() == 0)
    std::printf("%llu rows on %u ranks, %llu times: %s, bits %016llx, %.6f s\n", static_cast<unsigned long long>(n),
                world.ranks(), static_cast<unsigned long long>(iterations), wild == 0 ? "right" : "wrong",
                static_cast<unsigned long long>(bits), took);
  return wild == 0 ? 0 : 1;
}

// Pi as an area: every rank adds up its stripes, and then, with a lock, adds its part to the sum.
#include <cmath>
#include <cstdio>

#include "example.hpp"

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint32_t stripes = example::number(argc, argv, 1, 1000000);
  isthmus::pgas::shared_array<double> pi(world, 1);
  for (auto [i, x] : pi.mine()) x = 0;
  isthmus_mutex mutex;
  isthmus::pgas::check(isthmus_mutex_make_all(world, &mutex));
  world.barrier();

  double part = 0;
  for (std::uint32_t i = world.rank(); i < stripes; i += world.ranks()) {
    const double x = (i + 0.5) / stripes;
    part += 4 / (1 + x * x) / stripes;
  }
  isthmus::pgas::check(isthmus_lock(world, mutex));
  pi[0] = pi[0] + part;
  isthmus::pgas::check(isthmus_unlock(world, mutex));
  world.barrier();

  const bool right = std::fabs(pi[0] - M_PI) < 1.0 / stripes;
  if (world.rank() == 0)
    std::printf("pi on %u ranks: %.9f, %s\n", world.ranks(), double{pi[0]}, right ? "right" : "wrong");
  world.barrier();
  if (world.rank() == 0) isthmus_mutex_free(world, mutex);
  return right ? 0 : 1;
}

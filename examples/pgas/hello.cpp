// Every rank writes a greeting into the memory of the next one.
#include <cstdio>

#include "example.hpp"

int main() {
  isthmus::pgas::world world(example::joined());
  isthmus::pgas::shared_array<char> letters(world, 80 * world.ranks(), 80);  // 80 on every rank

  char text[80];
  std::snprintf(text, sizeof text, "hello from rank %u of %u", world.rank(), world.ranks());
  const std::uint32_t next = (world.rank() + 1) % world.ranks();
  (&letters[80 * next]).global().put(text, sizeof text);
  world.barrier();  // all are written

  for (std::uint32_t turn = 0; turn < world.ranks(); ++turn) {
    if (turn == world.rank()) std::printf("rank %u: %s\n", world.rank(), letters.data()), std::fflush(stdout);
    world.barrier();
  }
}

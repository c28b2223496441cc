// Sample sort: samples of all ranks say where to cut, every rank puts what others are to have into their memory, at
// places that it takes by an atomic operation, and sorts what has come.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "example.hpp"

int main(int argc, char** argv) {
  isthmus::pgas::world world(example::joined());
  const std::uint64_t keys = example::number(argc, argv, 1, 20000);  // of each rank
  const std::uint32_t rank = world.rank(), ranks = world.ranks(), samples = 64;
  std::vector<std::uint64_t> mine(keys);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < keys; ++i) sum += mine[i] = example::mixed(rank * keys + i, 1) >> 20;

  // Rank r's samples are block r; everybody reads all of them.
  isthmus::pgas::shared_array<std::uint64_t> sampled(world, std::uint64_t{samples} * ranks, samples);
  for (std::uint32_t s = 0; s < samples; ++s) sampled.data()[s] = mine[s * keys / samples];
  world.barrier();
  std::vector<std::uint64_t> cuts(std::uint64_t{samples} * ranks);
  for (std::uint32_t r = 0; r < ranks; ++r)
    (&sampled[std::uint64_t{samples} * r]).global().get(&cuts[std::uint64_t{samples} * r], samples);
  std::sort(cuts.begin(), cuts.end());

  // Room for what may come; element 0 of a block says how many have.
  const auto room = static_cast<std::uint32_t>(2 * keys + 1000);
  isthmus::pgas::shared_array<std::uint64_t> come(world, std::uint64_t{room} * ranks, room);
  come.data()[0] = 0;
  world.barrier();
  std::sort(mine.begin(), mine.end());
  auto from = mine.begin();
  bool fits = true;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto to =
        r + 1 == ranks ? mine.end() : std::lower_bound(from, mine.end(), cuts[std::uint64_t{samples} * (r + 1)]);
    const auto block = (&come[std::uint64_t{room} * r]).global();
    const auto count = static_cast<std::uint64_t>(to - from);
    std::uint64_t before = 0;
    isthmus::pgas::check(
        isthmus_atomic(world, r, block.offset(), ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &count, nullptr, &before));
    fits = fits && 1 + before + count <= room;
    if (fits) (block + static_cast<std::ptrdiff_t>(1 + before)).put(mine.data() + (from - mine.begin()), count);
    from = to;
  }
  world.barrier();
  const std::uint64_t have = std::min<std::uint64_t>(come.data()[0], room - 1);
  std::uint64_t* const sorted = come.data() + 1;
  std::sort(sorted, sorted + have);
  world.barrier();

  // Nothing is lost, and the largest here is no larger than the smallest of the next rank that has any.
  for (std::uint64_t i = 0; i < have; ++i) sum -= sorted[i];
  bool right = fits;
  for (std::uint32_t r = rank + 1; r < ranks && have > 0; ++r) {
    const auto block = (&come[std::uint64_t{room} * r]).global();
    if (block.get() == 0) continue;
    right = right && sorted[have - 1] <= (block + 1).get();
    break;
  }
  const bool all_right = world.reduce(sum) == 0 && world.reduce(std::uint64_t{right}) == ranks;
  const std::uint64_t most = world.reduce(have, ISTHMUS_MAX);
  if (rank == 0)
    std::printf("%llu keys on %u ranks: %s, at most %llu on one\n", static_cast<unsigned long long>(keys * ranks),
                ranks, all_right ? "sorted" : "wrong", static_cast<unsigned long long>(most));
  return all_right ? 0 : 1;
}

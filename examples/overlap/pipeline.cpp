// The smallest pipelined loop: columns are made, exchanged by all-to-alls, and summed up by who gets them.
#include <isthmus/isthmus_mpi.h>

#include <cmath>
#include <cstdio>
#include <isthmus/pipeline.hpp>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  isthmus_team* team;
  if (isthmus_join_mpi(MPI_COMM_WORLD, &team) != ISTHMUS_DONE) MPI_Abort(MPI_COMM_WORLD, 1);

  constexpr std::size_t columns = 64, block = 500;  // numbers for each rank in a column
  const auto width = block * static_cast<std::size_t>(ranks);
  std::vector<double> from(columns * width), to(columns * width);
  double sum = 0;

  isthmus::pipeline loop({.items = columns,
                          .bytes = 8.0 * static_cast<double>(width - block),
                          .messages = static_cast<std::size_t>(ranks)},
                         team);
  for (int step = 0; step < 20; ++step) {
    sum = 0;
    loop.run(
        [&](const isthmus::tile& t) {  // make some columns: blocks of a tile for one rank lie together
          for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
            for (std::size_t i = t.first; i < t.first + t.count; ++i)
              for (std::size_t k = 0; k < block; ++k)
                from[t.tile_first * width + (r * t.tile_count + i - t.tile_first) * block + k] =
                    std::sqrt(static_cast<double>(i + k)) + rank;
        },
        [&](const isthmus::tile& t) {  // begin their exchange
          isthmus_call call{};
          call.size = sizeof call;
          call.kind = ISTHMUS_ALLTOALL;
          call.element = ISTHMUS_F64;
          call.count = t.count * block;
          return isthmus::begin(team, call, &from[t.first * width], &to[t.first * width]);
        },
        [&](const isthmus::tile& t) {  // use what has come
          for (std::size_t i = t.first * width; i < (t.first + t.count) * width; ++i) sum += to[i];
        });
  }

  double right = 0;
  for (int r = 0; r < ranks; ++r)
    for (std::size_t i = 0; i < columns; ++i)
      for (std::size_t k = 0; k < block; ++k) right += std::sqrt(static_cast<double>(i + k)) + r;
  const isthmus::tiling best = loop.choice().best();
  if (rank == 0)
    std::printf("%s, tile %zu, window %zu\n", std::abs(sum - right) < 1e-9 * right ? "right" : "wrong", best.tile,
                best.window);
  isthmus_leave(team);
  MPI_Finalize();
  return std::abs(sum - right) < 1e-9 * right ? 0 : 1;
}

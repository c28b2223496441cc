// What the examples share: how they join. Compiled with -DWITH_MPI by mpicxx they join the ranks of MPI, which may be
// on several nodes; otherwise those that `isthmus run -n` starts, or another launcher on this computer.
#pragma once
#ifdef WITH_MPI
#include <isthmus/isthmus_mpi.h>
#endif
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <isthmus/pgas.hpp>
#include <vector>

namespace example {

inline isthmus_team* joined() {
  isthmus_team* team = nullptr;
#ifdef WITH_MPI
  MPI_Init(nullptr, nullptr);
  std::atexit([] { MPI_Finalize(); });
  isthmus::pgas::check(isthmus_join_mpi(MPI_COMM_WORLD, &team));
#else
  isthmus::pgas::check(isthmus_join(nullptr, &team));
#endif
  return team;
}

/// A number among the words of the command line, or the usual one.
inline std::uint32_t number(int argc, char** argv, int which, std::uint32_t usual) {
  return argc > which ? static_cast<std::uint32_t>(std::strtoul(argv[which], nullptr, 10)) : usual;
}

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The bits of a number, mixed with its place: their sum over all ranks is the same however they are dealt out, and
/// another one where a single bit differs.
inline std::uint64_t mixed(std::uint64_t place, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits ^ (place * 0x9E3779B97F4A7C15U)) * 0xBF58476D1CE4E5B9U;
  return bits ^ (bits >> 29);
}

}  // namespace example

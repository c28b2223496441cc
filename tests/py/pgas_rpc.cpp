// Remote procedure calls between processes: where functions are differs from one to the other. Says "all done" on rank
// 0. Compiled with PGAS_RPC_MPI it joins by MPI. Words: seed, or what is to go wrong.
#ifdef PGAS_RPC_MPI
#include <isthmus/isthmus_mpi.h>
#endif
#include <isthmus/rpc.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

using isthmus::pgas::future;
using isthmus::pgas::per_rank;
using isthmus::pgas::remote_calls;
using table = per_rank<std::map<std::string, std::vector<std::uint32_t>>>;

namespace {

void require(bool holds, const char* words) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", words);
  std::exit(1);
}

std::uintptr_t address_here() { return reinterpret_cast<std::uintptr_t>(&address_here); }
std::string repeated(const std::string& text, std::uint32_t times) {
  std::string all;
  for (std::uint32_t i = 0; i < times; ++i) all += text;
  return all;
}

void calls(isthmus::pgas::world& world, unsigned seed) {
  remote_calls on(world);
  std::mt19937 random(seed * 1000 + world.rank());
  const auto any_rank = [&] { return static_cast<std::uint32_t>(random() % world.ranks()); };

  // A table by words, and a copy of what this rank put in.
  table words(on);
  std::map<std::string, std::vector<std::uint32_t>> mine;
  std::vector<future<std::size_t>> sizes;
  for (int i = 0; i < 400; ++i) {
    const std::string key = "rank " + std::to_string(world.rank()) + " word " + std::to_string(random() % 100);
    std::vector<std::uint32_t> values(random() % 20 == 0 ? random() % 60000 : random() % 30);
    for (auto& value : values) value = static_cast<std::uint32_t>(random());
    mine[key] = values;
    const auto owner = static_cast<std::uint32_t>(std::hash<std::string>()(key) % world.ranks());
    sizes.push_back(on.rpc(
        owner,
        [](table& t, std::string k, std::vector<std::uint32_t> v) {
          const std::size_t size = v.size();
          (*t)[std::move(k)] = std::move(v);
          return size;
        },
        words, key, values));
  }
  isthmus::pgas::when_all(std::move(sizes)).wait();
  for (const auto& [key, values] : mine) {
    const auto owner = static_cast<std::uint32_t>(std::hash<std::string>()(key) % world.ranks());
    require(on.rpc(
                  owner, [](table& t, const std::string& k) { return t->at(k); }, words, key)
                    .wait() == values,
            "a value of the table");
  }
  on.barrier();

  for (int i = 0; i < 100; ++i) {
    const std::string text(random() % 50, 'x');
    const std::uint32_t times = random() % 5;
    require(on.rpc(any_rank(), repeated, text, times).wait() == repeated(text, times), "a function");
  }
  const std::uint32_t next = (world.rank() + 1) % world.ranks();
  on.rpc(next, address_here).wait();
  on.barrier();  // others run no calls while they allocate

  isthmus::pgas::shared_array<std::uint64_t> counts(world, 50, 3);
  for (auto [i, x] : counts.mine()) x = 0;
  on.barrier();
  std::vector<future<std::uint64_t>> before;
  for (int i = 0; i < 1000; ++i) before.push_back(on.atomic((&counts[random() % 50]).global(), ISTHMUS_ATOMIC_ADD, 1));
  isthmus::pgas::when_all(std::move(before)).wait();
  on.barrier();
  for (int i = 0; i < 1000; ++i) on.apply_ff((&counts[random() % 50]).global(), [](std::uint64_t& x) { ++x; });
  on.finish();
  std::uint64_t own = 0;
  for (auto [i, x] : counts.mine()) own += x;
  require(world.reduce(own) == std::uint64_t{2000} * world.ranks(), "counts");
  on.finish();
}

int run(isthmus::pgas::world& world, const char* how) {
  if (std::strcmp(how, "dies") == 0) {
    remote_calls on(world);
    if (world.rank() == 1) std::raise(SIGKILL);
    on.rpc(1, [] {}).wait();
  } else if (std::strcmp(how, "where") == 0) {
    remote_calls on(world);
    const std::uintptr_t there = on.rpc(world.ranks() - 1, address_here).wait();
    if (world.rank() == 0) std::printf("%s\n", there == address_here() ? "same" : "elsewhere");
    on.barrier();
    return 0;
  } else {
    calls(world, static_cast<unsigned>(std::strtoul(how, nullptr, 10)));
  }
  if (world.rank() == 0) std::printf("all done\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 1;
#ifdef PGAS_RPC_MPI
  MPI_Init(&argc, &argv);
#endif
  try {
#ifdef PGAS_RPC_MPI
    isthmus_team* team = nullptr;
    isthmus::pgas::check(isthmus_join_mpi(MPI_COMM_WORLD, &team));
    isthmus::pgas::world world(team);
#else
    isthmus::pgas::world world;
#endif
    status = run(world, argc > 1 ? argv[1] : "0");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
#ifdef PGAS_RPC_MPI
  MPI_Finalize();
#endif
  return status;
}

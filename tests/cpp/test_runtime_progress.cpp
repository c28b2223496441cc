// Collectives that go on while the program does not call the library: teams of the C interface, a thread for each rank
// and one beside it, over a wire in memory.
#include <doctest/doctest.h>
#include <isthmus/isthmus.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "memory_wire.hpp"
#include "runtime/progress/progress.hpp"

namespace isthmus::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t ranks = 4;

isthmus_call sum_of(std::uint64_t count) {
  isthmus_call call{};
  call.size = sizeof call;
  call.kind = ISTHMUS_ALLREDUCE;
  call.element = ISTHMUS_I64;
  call.count = count;
  call.algorithm = "recursive_doubling";
  return call;
}

/// Every rank does something with a team that has a thread of this kind; what goes wrong.
template <class F>
std::vector<std::string> on_teams(const char* progress, const F& work) {
  MemoryWires wires(ranks, 100, 4000, 3);
  std::vector<std::string> said(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      isthmus_wire wire = wires.of(rank);
      wire.concurrent = 1;
      isthmus_job job{};
      job.size = sizeof job;
      job.name = "progress";
      job.rank = rank;
      job.ranks = ranks;
      job.wire = &wire;
      job.transport = "mpi";
      job.progress = progress;
      isthmus_team* team = nullptr;
      if (isthmus_join(&job, &team) != ISTHMUS_DONE) {
        said[rank] = isthmus_last_error();
        return;
      }
      said[rank] = work(team, rank);
      isthmus_leave(team);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

void count_sums(const void* left, const void* right, void* out, std::size_t elements, void* data) {
  for (std::size_t i = 0; i < elements; ++i)
    static_cast<std::int64_t*>(out)[i] =
        static_cast<const std::int64_t*>(left)[i] + static_cast<const std::int64_t*>(right)[i];
  static_cast<std::atomic<int>*>(data)->fetch_add(1);
}

TEST_CASE("a collective goes on while the program calls nothing") {
  for (const char* progress : {"thread", "timer", "auto"}) {
    CAPTURE(progress);
    const auto said = on_teams(progress, [](isthmus_team* team, std::uint32_t rank) -> std::string {
      std::vector<std::int64_t> in(700, rank + 1), out(700);
      std::atomic<int> sums{0};
      isthmus_call call = sum_of(in.size());
      call.combine = count_sums;
      call.data = &sums;
      isthmus_operation* operation = nullptr;
      if (isthmus_begin(team, &call, in.data(), out.data(), &operation) != ISTHMUS_IN_PROGRESS)
        return isthmus_last_error();
      // The second sum needs a message that its sender sends after its first one.
      const auto until = std::chrono::steady_clock::now() + 120s;
      while (sums.load() < 2 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
      if (sums.load() != 2) return "nobody went on";
      if (isthmus_wait(operation) != ISTHMUS_DONE) return isthmus_last_error();
      return out.front() == 10 && out.back() == 10 ? "" : "another sum";
    });
    for (const std::string& words : said) CHECK(words == "");
  }
}

TEST_CASE("calls of the program and the thread beside it take turns") {
  for (const char* progress : {"thread", "timer"}) {
    CAPTURE(progress);
    const auto said = on_teams(progress, [](isthmus_team* team, std::uint32_t rank) -> std::string {
      constexpr int many = 12;
      std::vector<std::vector<std::int64_t>> in(many), out(many);
      std::vector<isthmus_operation*> operations(many);
      const std::uint32_t all[ranks] = {3, 1, 0, 2};
      isthmus_team* group = nullptr;
      if (isthmus_group(team, all, ranks, 1, &group) != ISTHMUS_DONE) return isthmus_last_error();
      for (int turn = 0; turn < 8; ++turn) {
        for (int i = 0; i < many; ++i) {
          const std::size_t count = 1 + 97 * static_cast<std::size_t>(i);
          in[i].assign(count, rank + i);
          out[i].assign(count, 0);
          const isthmus_call call = sum_of(count);
          if (isthmus_begin(i % 3 == 0 ? group : team, &call, in[i].data(), out[i].data(), &operations[i]) < 0)
            return isthmus_last_error();
        }
        for (int k = 0; k < many; ++k) {
          const int i = static_cast<int>((5 * k + rank) % many);
          int status = ISTHMUS_IN_PROGRESS;
          if (k % 2 == 0) status = isthmus_wait(operations[i]);
          while (status == ISTHMUS_IN_PROGRESS) {
            std::this_thread::sleep_for(100us);
            status = isthmus_test(operations[i]);
          }
          if (status != ISTHMUS_DONE) return isthmus_last_error();
          if (out[i].back() != 6 + 4 * i) return "another sum";
        }
        std::int64_t one = 1, sum = 0;
        const isthmus_call call = sum_of(1);
        if (isthmus_run(team, &call, &one, &sum) != ISTHMUS_DONE || sum != ranks) return "another sum of one";
        if (turn % 4 == 1) std::this_thread::sleep_for(8ms);  // it goes to sleep
      }
      isthmus_leave(group);
      return "";
    });
    for (const std::string& words : said) CHECK(words == "");
  }
}

TEST_CASE("two ranks that share no memory exchange a long vector at once, others take turns with halves") {
  isthmus_call call = sum_of(1 << 17);
  call.algorithm = nullptr;
  for (const bool share : {false, true}) {
    CAPTURE(share);
    MemoryWires wires(2, 100, 4000, 4);
    const std::uint32_t node[2] = {0, 0};
    std::vector<std::thread> threads;
    std::vector<std::string> taken(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        isthmus_wire wire = wires.of(rank);
        wire.nodes = share ? node : nullptr;
        isthmus_job job{};
        job.size = sizeof job;
        job.name = "apart";
        job.rank = rank;
        job.ranks = 2;
        job.wire = &wire;
        job.transport = "mpi";
        isthmus_team* team = nullptr;
        const char* algorithm = "";
        if (isthmus_join(&job, &team) == ISTHMUS_DONE) isthmus_choice(team, &call, &algorithm);
        taken[rank] = algorithm;
        isthmus_leave(team);
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& algorithm : taken) CHECK(algorithm == (share ? "rabenseifner" : "recursive_doubling"));
  }
}

TEST_CASE("without a core that is free there is a thread only where it can hide something") {
  std::vector<runtime::ProgressMode> found;
  std::thread([&] {
    cpu_set_t allowed, first;
    CPU_ZERO(&allowed);
    CPU_ZERO(&first);
    sched_getaffinity(0, sizeof allowed, &allowed);
    int core = 0;
    while (!CPU_ISSET(core, &allowed)) ++core;
    CPU_SET(core, &first);
    sched_setaffinity(0, sizeof first, &first);
    found = {runtime::progress_mode("auto", 1, 2),       runtime::progress_mode("auto", 2, 2),
             runtime::progress_mode("auto", 1000, 1000), runtime::progress_mode("auto", 1, 3),
             runtime::progress_mode("auto", 4, 8),       runtime::progress_mode("timer", 2, 2)};
  }).join();
  using enum runtime::ProgressMode;
  CHECK((found == std::vector<runtime::ProgressMode>{none, none, none, timer, timer, timer}));
}

TEST_CASE("a thread that may not call MPI is not started, and other words are refused") {
  std::vector<std::string> told;
  static std::vector<std::string>* all_told;
  all_told = &told;
  MemoryWires wires(1, 100, 4000, 3);
  isthmus_job job{};
  const auto joined = [&](const char* progress) {
    const isthmus_wire wire = wires.of(0);
    job.size = sizeof job;
    job.name = "progress";
    job.ranks = 1;
    job.wire = &wire;
    job.transport = "mpi";
    job.progress = progress;
    job.say = [](const char* words) { all_told->emplace_back(words); };
    isthmus_team* team = nullptr;
    const int status = isthmus_join(&job, &team);
    if (status == ISTHMUS_DONE) isthmus_leave(team);
    return status;
  };
  CHECK(joined("thread") == ISTHMUS_DONE);
  CHECK(told == std::vector<std::string>{
                    "progress is made in calls only: a thread would need MPI_THREAD_MULTIPLE from MPI_Init_thread"});
  CHECK(joined("always") == ISTHMUS_INVALID);
  CHECK(std::string(isthmus_last_error()) == "progress 'always': must be none, thread, timer or auto");
}

}  // namespace
}  // namespace isthmus::test

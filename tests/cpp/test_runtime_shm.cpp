// Ranks that are processes of one node: what they compute, and what becomes of them when one of them dies.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "runtime/transport/shm/shm.hpp"
#include "runtime_cases.hpp"

namespace isthmus::test {
namespace {

using namespace std::chrono_literals;
using runtime::Rank, runtime::ShmOptions, runtime::ShmTransport, runtime::TransportError;
using schedule::CollectiveKind;

/// Another name for every job, also of tests that run at the same time.
std::string new_job() {
  static std::atomic<int> jobs{0};
  return "test-" + std::to_string(::getpid()) + "-" + std::to_string(++jobs);
}

bool is_left_behind(const std::string& job) {
  const int file = ::shm_open(("/isthmus-" + job).c_str(), O_RDWR, 0);
  if (file >= 0) ::close(file);
  return file >= 0 || errno != ENOENT;
}

ShmOptions options_of(const std::string& job, Rank rank, Rank ranks) {
  ShmOptions options;
  options.job = job;
  options.rank = rank;
  options.ranks = ranks;
  return options;
}

/// Processes that each do something and say a line.
class Processes {
 public:
  using Work = std::function<std::string(Rank)>;

  void start(Rank rank, const Work& work) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const pid_t process = ::fork();
    REQUIRE(process >= 0);
    if (process == 0) {
      ::alarm(900);  // a test that hangs fails
      std::string words;
      try {
        words = work(rank);
      } catch (const std::exception& error) {
        words = error.what();
      }
      ::_exit(::write(ends[1], words.data(), words.size()) == static_cast<ssize_t>(words.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    all_.push_back({process, ends[0]});
  }
  void kill(std::size_t i) const { ::kill(all_[i].process, SIGKILL); }
  [[nodiscard]] pid_t process(std::size_t i) const { return all_[i].process; }

  /// What each of them said; waits for all.
  std::vector<std::string> said() {
    std::vector<std::string> out;
    for (const Child& child : all_) {
      std::string words;
      char some[256];
      for (ssize_t got = 0; (got = ::read(child.pipe, some, sizeof some)) > 0;)
        words.append(some, static_cast<std::size_t>(got));
      ::close(child.pipe);
      int status = 0;
      ::waitpid(child.process, &status, 0);
      if (WIFSIGNALED(status)) words = "signal " + std::to_string(WTERMSIG(status));
      if (WIFEXITED(status) && WEXITSTATUS(status) != 0) words += " exit " + std::to_string(WEXITSTATUS(status));
      out.push_back(words);
    }
    all_.clear();
    return out;
  }

 private:
  struct Child {
    pid_t process;
    int pipe;
  };
  std::vector<Child> all_;
};

std::vector<std::string> in_processes(Rank ranks, const Processes::Work& work) {
  Processes all;
  for (Rank rank = 0; rank < ranks; ++rank) all.start(rank, work);
  return all.said();
}

/// Waits for a message that never comes.
std::string wait_for(ShmTransport& transport, Rank from) {
  std::byte bytes[8];
  runtime::Token token;
  transport.recv(from, {}, bytes, sizeof bytes, {});
  while (transport.failure().empty() && transport.poll(&token, 1) == 0) std::this_thread::yield();
  return transport.failure();
}

std::vector<Case> some_cases(Rank ranks, Rng& random) {
  std::vector<Case> cases;
  for (std::uint8_t k = 1; k < static_cast<std::uint8_t>(CollectiveKind::neighbor_alltoall); ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    for (const std::string& algorithm : collectives::algorithms(kind)) {
      Case c{kind, algorithm, ranks, random.below(ranks)};
      c.count = random.below(4) == 0 ? random.below(40'000) : random.below(1000);
      c.in_place = random.below(2) == 0;
      if (runs(c)) cases.push_back(c);
    }
  }
  return cases;
}

TEST_CASE("every algorithm does what MPI says, between processes, with one copy and with two") {
  const char* given = std::getenv("ISTHMUS_SAMPLE_SEED");
  Rng random(given == nullptr ? 3 : std::strtoull(given, nullptr, 10));
  for (const Rank ranks : {1U, 2U, 3U, 4U, 8U}) {
    for (const bool one_copy : {true, false}) {
      const std::vector<Case> cases = some_cases(ranks, random);
      const std::string job = new_job();
      const auto said = in_processes(ranks, [&](Rank rank) {
        ShmOptions options = options_of(job, rank, ranks);
        options.one_copy = one_copy;
        options.bulk = std::size_t{4096} << random.below(8);
        options.pieces = static_cast<runtime::Pieces>(random.below(3));
        ShmTransport transport(options);
        return carry_out(transport, cases, [] { return false; });
      });
      for (const std::string& words : said) CHECK(words == "");
      CHECK_FALSE(is_left_behind(job));
    }
  }
}

TEST_CASE("puts and gets do what MPI says, between processes") {
  Rng random(5);
  for (const Rank ranks : {2U, 3U}) {
    std::vector<Case> cases = some_cases(ranks, random);
    for (Case& c : cases) c.access = random.below(2) == 0 ? schedule::Access::put : schedule::Access::get;
    std::erase_if(cases, [](const Case& c) { return !runs(c); });
    CHECK(cases.size() > 30);
    const std::string job = new_job();
    const auto said = in_processes(ranks, [&](Rank rank) {
      ShmTransport transport(options_of(job, rank, ranks));
      return carry_out(transport, cases, [] { return false; });
    });
    for (const std::string& words : said) CHECK(words == "");
    CHECK_FALSE(is_left_behind(job));
  }
}

TEST_CASE("messages that stay where they are, and others in turns, do what MPI says") {
  for (const bool one_copy : {true, false}) {
    const std::string job = new_job();
    const auto said = in_processes(2, [&](Rank rank) -> std::string {
      ShmOptions options = options_of(job, rank, 2);
      options.one_copy = one_copy;
      ShmTransport transport(options);
      transport.wait_for(true);
      Rng random(11);
      for (int round = 0; round < 200; ++round) {
        std::vector<Case> cases;
        for (const auto kind : {CollectiveKind::allreduce, CollectiveKind::alltoall, CollectiveKind::bcast}) {
          const std::vector<std::string> names = collectives::algorithms(kind);
          Case c{kind, names[random.below(names.size())], 2, random.below(2)};
          c.count = 1025 + random.below(random.below(2) == 0 ? 16'000 : 3'000);
          c.in_place = random.below(2) == 0;
          if (runs(c)) cases.push_back(c);
        }
        const std::string words = carry_out(transport, cases, [] { return false; });
        if (!words.empty()) return words;
      }
      return "";
    });
    for (const std::string& words : said) CHECK(words == "");
    CHECK_FALSE(is_left_behind(job));
  }
}

TEST_CASE("a rank that dies is named by all others") {
  for (const bool between_calls : {true, false}) {
    CAPTURE(between_calls);
    const std::string job = new_job();
    Processes all;
    for (Rank rank = 0; rank < 4; ++rank) {
      all.start(rank, [&](Rank own) -> std::string {
        ShmTransport transport(options_of(job, own, 4));
        const Bytes large(1 << 20);
        if (own == 2 && !between_calls) transport.send(3, {}, large.data(), large.size(), {});
        if (own == 2) ::raise(SIGKILL);
        return wait_for(transport, own == 3 ? 2 : (own + 1) % 4);
      });
    }
    const std::string named = "rank 2 died (process " + std::to_string(all.process(2)) + ")";
    const auto said = all.said();
    CHECK(said[2] == "signal 9");
    // What rank 2 began to send is there, but no longer its memory: of another size than rank 3 expects, too.
    for (const Rank rank : {0, 1}) CHECK(said[rank] == named);
    if (between_calls) CHECK(said[3] == named);
    CHECK_FALSE(is_left_behind(job));
  }
}

TEST_CASE("nothing is left behind where all ranks are killed") {
  const std::string job = new_job();
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  Processes all;
  for (Rank rank = 0; rank < 3; ++rank) {
    all.start(rank, [&](Rank own) {
      ShmTransport transport(options_of(job, own, 3));
      (void)!::write(ends[1], "x", 1);
      return wait_for(transport, (own + 1) % 3);
    });
  }
  ::close(ends[1]);
  char there[1];
  for (int i = 0; i < 3; ++i) REQUIRE(::read(ends[0], there, 1) == 1);
  for (std::size_t i = 0; i < 3; ++i) all.kill(i);
  for (const std::string& words : all.said()) CHECK((words == "signal 9" || words.find("died") != std::string::npos));
  CHECK_FALSE(is_left_behind(job));
  ::close(ends[0]);
}

TEST_CASE("to wait for a rank that has left is an error; what it sent before is there") {
  const std::string job = new_job();
  const auto said = in_processes(2, [&](Rank own) -> std::string {
    ShmTransport transport(options_of(job, own, 2));
    const std::byte bytes[100] = {};
    if (own == 1) {
      transport.send(0, {}, bytes, sizeof bytes, {});
      return "";
    }
    std::byte there[100];
    runtime::Token token;
    if (!transport.recv(1, {}, there, sizeof there, {}))
      while (transport.failure().empty() && transport.poll(&token, 1) == 0) std::this_thread::yield();
    if (!transport.failure().empty()) return transport.failure();
    return wait_for(transport, 1);
  });
  CHECK(said[0] == "rank 1 has left while rank 0 waits for it");
  CHECK(said[1] == "");
}

TEST_CASE("ranks that do not start are named, and nothing is left behind") {
  const std::string job = new_job();
  const auto said = in_processes(2, [&](Rank own) -> std::string {
    ShmOptions options = options_of(job, 2 * own, 4);
    options.patience = 1s;
    const ShmTransport transport(options);
    return "";
  });
  // The first one that gives up leaves; the other may see that, or give up by itself.
  const std::string missing = "job '" + job + "': these of 4 ranks did not start: 1, 3";
  CHECK((said[0] == missing || said[1] == missing));
  CHECK_FALSE(is_left_behind(job));
}

TEST_CASE("a rank that dies while the others are starting is named") {
  const std::string job = new_job();
  Processes all;
  all.start(0, [&](Rank own) -> std::string {
    ::alarm(1);  // it waits for rank 2 then
    const ShmTransport transport(options_of(job, own, 3));
    return "";
  });
  all.start(1, [&](Rank own) -> std::string {
    const ShmTransport transport(options_of(job, own, 3));
    return "";
  });
  const auto said = all.said();
  CHECK(said[0] == "signal 14");
  CHECK(said[1] == "rank 0 of job '" + job + "' ended while the others were starting");
  CHECK_FALSE(is_left_behind(job));
}

TEST_CASE("wrong names, ranks and numbers of ranks are said") {
  const auto refusal = [](const std::string& job, Rank rank, Rank ranks) {
    return in_processes(1, [&](Rank) -> std::string {
      const ShmTransport transport(options_of(job, rank, ranks));
      return "";
    })[0];
  };
  CHECK(refusal("a/b", 0, 1) == "job 'a/b': must be up to 200 letters, digits, '-', '_' and '.'");
  CHECK(refusal("", 0, 1) == "job '': must be up to 200 letters, digits, '-', '_' and '.'");
  CHECK(refusal("a", 3, 3) == "rank 3 does not exist: there are 3 ranks");
}

TEST_CASE("shared memory that cannot be had is said in one line") {
  const std::string job = new_job();
  const auto said = in_processes(1, [&](Rank) -> std::string {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{1024, 1024};
    ::setrlimit(RLIMIT_FSIZE, &little);
    const ShmTransport transport(options_of(job, 0, 1));
    return "";
  });
  CHECK(said[0].find("cannot make shared memory of ") == 0);
  CHECK(said[0].find("File too large") != std::string::npos);
  CHECK_FALSE(is_left_behind(job));
}

}  // namespace
}  // namespace isthmus::test

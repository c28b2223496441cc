// What the programs of this folder have in common: options, the ways to exchange, and taking turns.
//
// Each program does the same work in several ways (`--ways`), in turns within one process, and prints a line for each:
//
//  - none: without its exchanges. Computation alone, whose results are wrong; its error shows that the check sees it.
//  - blocking: blocking MPI, everything in one exchange.
//  - mpi: nonblocking MPI, pipelined.
//  - ours: libisthmus, pipelined; exchanges go on in tests of the loop alone.
//  - timer: the same with ISTHMUS_PROGRESS=timer, without tests unless it is told so.
//  - one-sided: puts into memory of the other ranks, pipelined.
//  - scalapack: the whole by ScaLAPACK, in programs that say so.
//
// `mpi:0`, `ours:16` and so on have so many tests in each tile, by default 4.
#pragma once

#include <mpi.h>
//
#include <algorithm>
#include <atomic>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <isthmus/isthmus_mpi.h>
#include <isthmus/isthmus_pgas.h>
#include <isthmus/pipeline.hpp>

namespace overlap {

/// Ends the program for a reason that all ranks know.
[[noreturn]] inline void refuse(const std::string& reason) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::fprintf(stderr, "%s\n", reason.c_str());
  MPI_Finalize();
  std::exit(2);
}

/// The larger of two errors; what is no number is the largest.
inline double worse(double error, double other) {
  return std::isnan(other) ? std::numeric_limits<double>::infinity() : std::max(error, other);
}

/// A whole number from the command line, `--name=value`.
struct option {
  std::string name;
  long value, least;
};

enum class kind { none, blocking, mpi, ours, timer, one_sided, scalapack };

/// One of the ways.
struct way {
  std::string name;
  kind how = kind::none;
  std::size_t tests = 4;
  [[nodiscard]] bool pipelined() const { return how != kind::none && how != kind::blocking && how != kind::scalapack; }
  [[nodiscard]] bool isthmus() const { return how == kind::ours || how == kind::timer || how == kind::one_sided; }
};

/// Options, the teams of the job, and what is printed.
class program {
 public:
  program(int& argc, char**& argv, std::string what, std::vector<option> own, const std::string& ways,
          bool scalapack = false)
      : what_(std::move(what)), options_(std::move(own)), ways_(ways), scalapack_(scalapack) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    for (const option& one : std::vector<option>{{"runs", 3, 1}, {"warm", 1, 0}, {"tile", 0, 0}, {"window", 0, 0}})
      options_.push_back(one);
    for (int i = 1; i < argc; ++i) read(argv[i]);
    if ((number("tile") == 0) != (number("window") == 0)) refuse("--tile and --window: give both or none");
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() {
    for (const made& one : made_) isthmus_space_leave(one.space);
    for (const made& one : made_) isthmus_leave(one.team);
    MPI_Finalize();
  }

  [[nodiscard]] long number(const std::string& name) const {
    for (const option& one : options_)
      if (one.name == name) return one.value;
    std::abort();
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  [[nodiscard]] std::vector<way> ways() const {
    const std::map<std::string, kind> known = {
        {"none", kind::none},          {"blocking", kind::blocking}, {"mpi", kind::mpi},
        {"ours", kind::ours},          {"timer", kind::timer},       {"one-sided", kind::one_sided},
        {"scalapack", kind::scalapack}};
    std::vector<way> out;
    for (std::size_t from = 0; from <= ways_.size();) {
      const std::size_t end = std::min(ways_.find(',', from), ways_.size());
      const std::string text = ways_.substr(from, end - from), name = text.substr(0, text.find(':'));
      const auto found = known.find(name);
      if (found == known.end()) refuse("'" + text + "' is no way: none, blocking, mpi, ours, timer, one-sided");
      if (found->second == kind::scalapack && !scalapack_)
        refuse("scalapack is a way of summa and cholesky, and only where it is installed");
      way one{text, found->second, found->second == kind::timer ? 0U : 4U};
      if (name.size() < text.size()) one.tests = static_cast<std::size_t>(std::atol(text.c_str() + name.size() + 1));
      out.push_back(one);
      from = end + 1;
    }
    return out;
  }

  /// The team of a communicator for a way; made at first use, by all its ranks. Null for ways without libisthmus.
  isthmus_team* team(const way& of, MPI_Comm comm) {
    if (!of.isthmus()) return nullptr;
    return of_comm(of, comm).team;
  }
  /// The space of a communicator.
  isthmus_space* space(const way& of, MPI_Comm comm) {
    made& one = of_comm(of, comm);
    if (one.space == nullptr) isthmus::pgas::check(isthmus_space_make(one.team, nullptr, &one.space));
    return one.space;
  }

  /// A loop of this program for a way: one exchange where it is blocking.
  isthmus::pipeline pipeline(const way& of, std::size_t items, double bytes, std::size_t messages, MPI_Comm comm) {
    isthmus::pipeline_options options;
    options.items = items;
    options.bytes = bytes;
    options.messages = messages;
    options.tests = of.tests;
    if (!of.pipelined()) options.fixed = {items, 1};
    else if (number("tile") > 0)
      options.fixed = {static_cast<std::size_t>(number("tile")), static_cast<std::size_t>(number("window"))};
    else options.costs = costs(comm);
    return {options, isthmus::largest_of(comm)};
  }

  /// What a way does: one run, and afterwards how far its results are from right and what there is to say.
  struct work {
    std::function<void()> run;
    std::function<double()> error;
    std::function<std::string()> says = [] { return std::string(); };
  };

  /// Runs all ways in turns and prints a line for each; the exit status.
  int take_turns(const std::function<work(const way&)>& make, double allowed) {
    const long warm = number("warm"), runs = number("runs");
    const std::vector<way> all = ways();
    std::vector<work> works;
    for (const way& one : all) works.push_back(make(one));
    std::vector<std::vector<double>> seconds(all.size());
    std::vector<double> errors(all.size(), 0);
    for (long turn = -warm; turn < runs; ++turn)
      for (std::size_t i = 0; i < all.size(); ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        works[i].run();
        double took = MPI_Wtime() - begin;
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (turn >= 0) seconds[i].push_back(took);
        errors[i] = worse(errors[i], works[i].error());
      }
    int wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::sort(seconds[i].begin(), seconds[i].end());
      int bad = all[i].how != kind::none && !(errors[i] <= allowed);
      MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
      MPI_Allreduce(MPI_IN_PLACE, &errors[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      wrong |= bad;
      if (rank_ != 0) continue;
      const std::size_t n = seconds[i].size();
      std::printf("%s %s: %.6f s (%.6f to %.6f), error %.2g, %s", what_.c_str(), all[i].name.c_str(), seconds[i][n / 2],
                  seconds[i][n / 4], seconds[i][3 * n / 4], errors[i],
                  all[i].how == kind::none ? "not meant to be right"
                  : bad                    ? "wrong"
                                           : "right");
      const std::string said = works[i].says();
      std::printf("%s%s\n", said.empty() ? "" : ", ", said.c_str());
    }
    std::fflush(stdout);
    return wrong;
  }

 private:
  struct made {
    MPI_Comm comm;
    bool timer;
    isthmus_team* team;
    isthmus_space* space;
    isthmus::loggp costs;
  };

  made& of_comm(const way& of, MPI_Comm comm) {
    const bool timer = of.how == kind::timer;
    for (made& one : made_)
      if (one.comm == comm && one.timer == timer) return one;
    isthmus_job job{};
    job.size = sizeof job;
    job.progress = timer ? "timer" : "none";
    made one{comm, timer, nullptr, nullptr, {}};
    isthmus::pgas::check(isthmus_join_mpi_with(comm, &job, &one.team));
    return made_.emplace_back(one);
  }

  /// Of messages between the ranks of a communicator, the same for all ways: from the environment, or measured once.
  isthmus::loggp costs(MPI_Comm comm) {
    if (const char* const given = std::getenv("OVERLAP_COSTS")) return isthmus::loggp::parse(given);
    made& one = of_comm({"ours", kind::ours}, comm);
    if (!one.costs.known()) one.costs = isthmus::measure_costs(one.team);
    return one.costs;
  }

  void read(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (name == "--ways" && !value.empty()) {
      ways_ = value;
      return;
    }
    for (option& one : options_) {
      if (name != "--" + one.name) continue;
      char* end = nullptr;
      one.value = std::strtol(value.c_str(), &end, 10);
      if (!value.empty() && *end == 0 && one.value >= one.least) return;
    }
    std::string known = what_ + ": cannot use '" + text + "'; options and their defaults: --ways=" + ways_;
    for (const option& one : options_) known += " --" + one.name + "=" + std::to_string(one.value);
    refuse(known);
  }

  std::string what_;
  std::vector<option> options_;
  std::string ways_;
  bool scalapack_;
  int rank_ = 0, ranks_ = 1;
  std::vector<made> made_;  // in an order that all ranks have: leaving is for all
};

/// "tile 4, window 2" where a loop was pipelined, and what it took and takes by the model where it chose these.
inline std::string tiling_of(const isthmus::pipeline& loop) {
  const isthmus::tiling next = loop.choice().settled() ? loop.next() : loop.choice().best();
  std::string out = "tile " + std::to_string(next.tile) + ", window " + std::to_string(next.window);
  const double took = loop.choice().measured(next);
  if (!loop.choice().fixed() && took > 0)
    out += " (" + std::to_string(took * 1e3) + " ms, by the model " + std::to_string(loop.model(next) * 1e3) + " ms)";
  return out;
}

/// What other ranks put into memory of this one, counted by a signal.
class arrival {
 public:
  arrival(isthmus_space* space, std::uint64_t signal, std::uint64_t count)
      : space_(space), signal_(signal), count_(count) {}
  bool test() {
    isthmus::pgas::check(isthmus_poll(space_));
    const void* const at = isthmus_cast(space_, isthmus_rank(isthmus_space_team(space_)), signal_);
    if (count_ > 0 &&
        std::atomic_ref(*const_cast<std::uint64_t*>(static_cast<const std::uint64_t*>(at))).load() < count_)
      return false;
    wait();
    return true;
  }
  void wait() {
    if (count_ > 0) isthmus::pgas::check(isthmus_wait_signal(space_, signal_, std::exchange(count_, 0)));
  }

 private:
  isthmus_space* space_;
  std::uint64_t signal_, count_;
};

/// What is got from memory of other ranks.
class transfer {
 public:
  transfer(isthmus_space* space, isthmus_event event) : space_(space), event_(event) {}
  bool test() { return event_ == 0 || isthmus::pgas::check(isthmus_test_event(space_, &event_)) == ISTHMUS_DONE; }
  void wait() {
    if (event_ != 0) isthmus::pgas::check(isthmus_wait_event(space_, &event_));
  }

 private:
  isthmus_space* space_;
  isthmus_event event_;
};

/// Numbers from -1/2 to 1/2 that depend on their place alone, not on the number of ranks.
inline double made_up(std::size_t i, std::size_t j, std::size_t k) {
  std::uint64_t mixed = (i * 73856093U) ^ (j * 19349663U) ^ (k * 83492791U);
  mixed = (mixed ^ (mixed >> 13)) * 0x9e3779b97f4a7c15U;
  return static_cast<double>(mixed >> 40) / static_cast<double>(1 << 24) - 0.5;
}

/// Exchanges that are under way in any of the ways.
class request {
 public:
  request() = default;
  template <isthmus::exchange_request R>
    requires(!std::same_as<R, request>)
  request(R one) {  // NOLINT(google-explicit-constructor)
    parts_.push_back(std::make_unique<part_of<R>>(std::move(one)));
  }
  void add(request other) { std::move(other.parts_.begin(), other.parts_.end(), std::back_inserter(parts_)); }
  bool test() {
    bool all = true;
    for (const auto& one : parts_) all = one->test() && all;
    return all;
  }
  void wait() {
    for (const auto& one : parts_) one->wait();
    parts_.clear();
  }

 private:
  struct part {
    virtual ~part() = default;
    virtual bool test() = 0;
    virtual void wait() = 0;
  };
  template <class R>
  struct part_of final : part {
    explicit part_of(R given) : one(std::move(given)) {}
    bool test() override { return one.test(); }
    void wait() override { one.wait(); }
    R one;
  };
  std::vector<std::unique_ptr<part>> parts_;
};

/// Calls of a team, with the members that all of them need.
inline isthmus_call call_of(isthmus_kind what, isthmus_element element, std::size_t count) {
  isthmus_call call{};
  call.size = sizeof call;
  call.kind = what;
  call.element = element;
  call.count = count;
  return call;
}

/// Begins an all-to-all of so many doubles for each rank.
inline request alltoall(const way& of, MPI_Comm comm, isthmus_team* team, const double* from, double* to,
                        std::size_t count) {
  const int n = static_cast<int>(count);
  switch (of.how) {
    case kind::none: break;
    case kind::blocking: MPI_Alltoall(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, comm); break;
    case kind::mpi: {
      MPI_Request begun = MPI_REQUEST_NULL;
      MPI_Ialltoall(from, n, MPI_DOUBLE, to, n, MPI_DOUBLE, comm, &begun);
      return isthmus::mpi_requests(begun);
    }
    default: return isthmus::begin(team, call_of(ISTHMUS_ALLTOALL, ISTHMUS_F64, count), from, to);
  }
  return {};
}

/// Begins a broadcast of doubles.
inline request broadcast(const way& of, MPI_Comm comm, isthmus_team* team, std::size_t root, double* at,
                         std::size_t count) {
  const int n = static_cast<int>(count), from = static_cast<int>(root);
  switch (of.how) {
    case kind::none: break;
    case kind::blocking: MPI_Bcast(at, n, MPI_DOUBLE, from, comm); break;
    case kind::mpi: {
      MPI_Request begun = MPI_REQUEST_NULL;
      MPI_Ibcast(at, n, MPI_DOUBLE, from, comm, &begun);
      return isthmus::mpi_requests(begun);
    }
    default: {
      isthmus_call call = call_of(ISTHMUS_BCAST, ISTHMUS_F64, count);
      call.root = static_cast<std::uint32_t>(root);
      return isthmus::begin(team, call, nullptr, at);
    }
  }
  return {};
}

/// Begins a sum over all ranks.
inline request allreduce(const way& of, MPI_Comm comm, isthmus_team* team, const double* from, double* to,
                         std::size_t count) {
  const int n = static_cast<int>(count);
  switch (of.how) {
    case kind::none: std::copy(from, from + count, to); break;
    case kind::blocking: MPI_Allreduce(from, to, n, MPI_DOUBLE, MPI_SUM, comm); break;
    case kind::mpi: {
      MPI_Request begun = MPI_REQUEST_NULL;
      MPI_Iallreduce(from, to, n, MPI_DOUBLE, MPI_SUM, comm, &begun);
      return isthmus::mpi_requests(begun);
    }
    default: return isthmus::begin(team, call_of(ISTHMUS_ALLREDUCE, ISTHMUS_F64, count), from, to);
  }
  return {};
}

}  // namespace overlap

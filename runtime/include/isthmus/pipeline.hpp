// Loops whose communication goes on behind their computation, in C++20, header only: items are produced in tiles, each
// tile is exchanged while the next ones are produced, and finished when it has arrived.
//
//     isthmus::pipeline loop({.items = planes, .bytes = bytes_of_a_plane}, team);
//     loop.run([&](const isthmus::tile& t) { transform(t.first, t.count); },
//              [&](const isthmus::tile& t) { return isthmus::begin(team, exchange_of(t), from(t), to(t)); },
//              [&](const isthmus::tile& t) { transform_other_way(t.first, t.count); });
//
// Tile factor and window are chosen by a model and corrected by the time that runs take (tiling.hpp). All ranks run the
// same loops in the same order. isthmus_pipeline.h has the same for C.
#ifndef ISTHMUS_PIPELINE_HPP
#define ISTHMUS_PIPELINE_HPP

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "pgas.hpp"
#include "tiling.hpp"

namespace isthmus {

/// Some items of a loop: those that are exchanged together, or a part of them, between two tests.
struct tile {
  std::size_t first = 0, count = 0;            ///< these items
  std::size_t tile_first = 0, tile_count = 0;  ///< all that are exchanged together with them
  std::size_t slot = 0;   ///< a number below window + 1 that no other exchange under way has: for buffers
  std::size_t items = 0;  ///< of the whole loop
  /// The loop is one exchange: nothing is produced meanwhile, and a blocking call does as well.
  [[nodiscard]] bool whole() const { return tile_count == items; }
};

/// What start() returns: an exchange that is under way. test() goes on with it and says whether it is done.
template <class R>
concept exchange_request = std::movable<R> && requires(R& r) {
  { r.test() } -> std::convertible_to<bool>;
  r.wait();
};

/// A collective of libisthmus that is under way. Throws pgas::error.
class operation {
 public:
  operation() = default;
  explicit operation(isthmus_operation* given) : given_(given) {}
  operation(operation&& other) noexcept : given_(std::exchange(other.given_, nullptr)) {}
  operation& operator=(operation&& other) noexcept {
    std::swap(given_, other.given_);
    return *this;
  }
  ~operation() {
    if (given_ != nullptr) isthmus_wait(given_);
  }
  bool test() {
    if (given_ == nullptr) return true;
    const int status = isthmus_test(given_);
    if (status == ISTHMUS_IN_PROGRESS) return false;
    given_ = nullptr;
    return pgas::check(status) == ISTHMUS_DONE;
  }
  void wait() {
    if (given_ != nullptr) pgas::check(isthmus_wait(std::exchange(given_, nullptr)));
  }

 private:
  isthmus_operation* given_ = nullptr;
};

/// isthmus_begin() as an object.
inline operation begin(isthmus_team* team, const isthmus_call& call, const void* input, void* output) {
  isthmus_operation* given = nullptr;
  pgas::check(isthmus_begin(team, &call, input, output, &given));
  return operation(given);
}

/// An exchange that is done already.
struct done {
  static bool test() { return true; }
  static void wait() {}
};

/// Makes numbers the largest that any rank has; every rank calls it at the same place.
using agreement = std::function<void(double* values, std::size_t count)>;

inline agreement largest_of(isthmus_team* team) {
  return [team](double* values, std::size_t count) {
    isthmus_call call{};
    call.size = sizeof call;
    call.kind = ISTHMUS_ALLREDUCE;
    call.element = ISTHMUS_F64;
    call.operation = ISTHMUS_MAX;
    call.count = count;
    std::vector<double> own(values, values + count);
    pgas::check(isthmus_run(team, &call, own.data(), values));
  };
}

#ifdef MPI_VERSION  // mpi.h comes before this header

inline agreement largest_of(MPI_Comm comm) {
  return [comm](double* values, std::size_t count) {
    MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_DOUBLE, MPI_MAX, comm);
  };
}

/// Requests of the MPI library.
class mpi_requests {
 public:
  mpi_requests() = default;
  explicit mpi_requests(MPI_Request one) : requests_{one} {}
  explicit mpi_requests(std::vector<MPI_Request> many) : requests_(std::move(many)) {}
  bool test() {
    // One by one, and never again: MPI_Testall of MPICH 4.0 fails on persistent collectives.
    for (int one = 1; ended_ < requests_.size(); ++ended_) {
      MPI_Test(&requests_[ended_], &one, MPI_STATUS_IGNORE);
      if (one == 0) return false;
    }
    return true;
  }
  void wait() {
    const int left = static_cast<int>(requests_.size() - ended_);
    if (left > 0) MPI_Waitall(left, &requests_[ended_], MPI_STATUSES_IGNORE);
    ended_ = requests_.size();
  }

 private:
  std::vector<MPI_Request> requests_;
  std::size_t ended_ = 0;  ///< so many of the first ones
};

#endif

/// Parameters of messages between the ranks of a team, by exchanges among all of them: what pipelines take where a
/// machine file says nothing. All ranks call it, which takes some milliseconds.
inline loggp measure_costs(isthmus_team* team) {
  constexpr std::size_t large = 256 << 10;
  constexpr int turns = 5;
  const auto ranks = static_cast<std::size_t>(isthmus_ranks(team));
  loggp out;
  if (ranks == 1) return out;
  std::vector<char> from(ranks * large), to(ranks * large);
  double least[2] = {1e9, 1e9}, begun = 1e9;
  for (int turn = 0; turn < turns; ++turn)
    for (int which = 0; which < 2; ++which) {
      isthmus_call call{};
      call.size = sizeof call;
      call.kind = ISTHMUS_ALLTOALL;
      call.element = ISTHMUS_U8;
      call.count = which == 0 ? 8 : large;
      const auto begin_at = std::chrono::steady_clock::now();
      operation under_way = begin(team, call, from.data(), to.data());
      const auto started = std::chrono::steady_clock::now();
      under_way.wait();
      const auto ended = std::chrono::steady_clock::now();
      least[which] = std::min(least[which], std::chrono::duration<double>(ended - begin_at).count());
      if (which == 0) begun = std::min(begun, std::chrono::duration<double>(started - begin_at).count());
    }
  double told[3] = {least[0], least[1], begun};
  largest_of(team)(told, 3);
  const auto messages = static_cast<double>(ranks - 1);
  out.overhead = out.gap = told[2] / messages;
  out.latency = std::max(0.0, told[0] - 2 * told[2]);
  out.gap_per_byte = std::max(0.0, told[1] - told[0]) / (static_cast<double>(large) * messages);
  return out;
}

/// Seconds of the last run of this rank.
struct run_times {
  double total = 0, produce = 0, finish = 0, start = 0, test = 0, wait = 0;
};

struct pipeline_options {
  std::size_t items = 0;     ///< of a run, the same on all ranks
  double bytes = 0;          ///< that a rank sends for one item; where ranks differ, those of the one that sends most
  std::size_t messages = 1;  ///< that a rank sends in one exchange: ranks - 1 of an all-to-all
  std::size_t most_window = 4;
  std::size_t most_items = 0;  ///< that all slots hold together; 0: any number
  std::size_t tests = 4;       ///< how often exchanges under way are looked at while a tile is produced
  loggp costs = {};            ///< of the machine; unknown: they are measured where a team is given
  tiling fixed = {};           ///< not 0: this tiling, always
};

class pipeline {
 public:
  /// All ranks of the team make it; where costs are unknown they are measured.
  pipeline(pipeline_options options, isthmus_team* team) : pipeline(with_costs(options, team), largest_of(team)) {}
  /// Among ranks that are not a team: ranks tell each other what runs took by `largest`.
  pipeline(const pipeline_options& options, agreement largest)
      : options_(options),
        choice_({options.items, options.bytes, options.messages, options.most_window, options.most_items},
                options.costs),
        largest_(std::move(largest)) {
    if (options.fixed.tile > 0 || options.fixed.window > 0) choice_.fix(options.fixed);
  }

  /// Runs the loop once. produce(tile) makes items; start(tile) begins the exchange of those of a tile, and returns
  /// what is waited for; finish(tile) works on what has come. Where there are tests, produce() and finish() get a tile
  /// in parts. Exchanges start and finish in order. What a function throws goes on after all exchanges under way have
  /// ended.
  template <class Produce, class Start, class Finish>
    requires exchange_request<std::invoke_result_t<Start&, const tile&>>
  void run(Produce&& produce, Start&& start, Finish&& finish) {
    running<std::invoke_result_t<Start&, const tile&>> state;
    try {
      go_through(state, produce, start, finish);
    } catch (...) {
      for (auto& one : state.ring)
        if (one.request) try {
            one.request->wait();
          } catch (...) {  // the first failure is the one that is told
          }
      throw;
    }
  }

  /// Of the next run.
  [[nodiscard]] tiling next() const { return choice_.next(); }
  /// Seconds of a run by the model, with times as they were measured.
  [[nodiscard]] double model(tiling t) const { return choice_.model(t); }
  [[nodiscard]] const tiling_choice& choice() const { return choice_; }
  [[nodiscard]] const run_times& times() const { return times_; }

 private:
  using clock = std::chrono::steady_clock;

  static pipeline_options with_costs(pipeline_options options, isthmus_team* team) {
    if (!options.costs.known() && options.fixed.tile == 0) options.costs = measure_costs(team);
    return options;
  }

  template <class Request>
  struct running {
    struct one {
      tile what;
      std::optional<Request> request;
    };
    std::vector<one> ring;
    std::size_t oldest = 0, count = 0;
  };

  /// Adds what it takes to a sum.
  template <class F>
  static void timed(double& sum, F&& work) {
    const clock::time_point begin = clock::now();
    work();
    sum += std::chrono::duration<double>(clock::now() - begin).count();
  }

  template <class Request, class Produce, class Start, class Finish>
  void go_through(running<Request>& state, Produce& produce, Start& start, Finish& finish) {
    times_ = {};
    const bool asks = choice_.asks(), first_item = choice_.wants_item();
    timed(times_.total, [&] {
      std::size_t first = 0;
      if (first_item) {
        pass(state, {1, 1}, 0, 1, produce, start, finish);
        drain(state, finish);
        double item[2] = {times_.produce, times_.finish};
        largest_(item, 2);
        choice_.item_took({item[0], item[1]});
        first = 1;
      }
      const tiling t = choice_.next();
      for (; first < options_.items; first += t.tile)
        pass(state, t, first, std::min(t.tile, options_.items - first), produce, start, finish);
      drain(state, finish);
    });
    if (!asks) return choice_.passed();
    const auto items = static_cast<double>(options_.items);
    double told[3] = {times_.total, times_.produce / items, times_.finish / items};
    largest_(told, 3);
    choice_.took(told[0], {told[1], told[2]});
  }

  template <class Request, class Produce, class Start, class Finish>
  void pass(running<Request>& state, tiling t, std::size_t first, std::size_t count, Produce& produce, Start& start,
            Finish& finish) {
    const std::size_t room = t.window + 1;
    if (state.ring.size() != room) {
      state.ring.clear();
      state.ring.resize(room);
      state.oldest = 0;
    }
    const std::size_t slot = (state.oldest + state.count) % room;
    const tile now{first, count, first, count, slot, options_.items};
    const std::size_t parts = state.count == 0 ? 1 : std::min(count, options_.tests + 1);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t from = count * part / parts, to = count * (part + 1) / parts;
      timed(times_.produce, [&] { produce(tile{first + from, to - from, first, count, slot, options_.items}); });
      if (state.count > 0 && options_.tests > 0) timed(times_.test, [&] { test(state); });
    }
    std::optional<tile> ended;
    if (state.count == t.window) ended = wait(state);
    timed(times_.start, [&] { state.ring[slot] = {now, start(now)}; });
    ++state.count;
    if (ended) finish_in_parts(state, *ended, finish);
  }

  /// As it is produced: what has come is worked on in parts, with tests between them.
  template <class Request, class Finish>
  void finish_in_parts(running<Request>& state, const tile& ended, Finish& finish) {
    const std::size_t parts = state.count == 0 ? 1 : std::min(ended.count, options_.tests + 1);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t from = ended.count * part / parts, to = ended.count * (part + 1) / parts;
      timed(times_.finish,
            [&] { finish(tile{ended.first + from, to - from, ended.first, ended.count, ended.slot, ended.items}); });
      if (state.count > 0 && options_.tests > 0) timed(times_.test, [&] { test(state); });
    }
  }

  template <class Request>
  void test(running<Request>& state) {
    for (std::size_t i = 0; i < state.count; ++i) state.ring[(state.oldest + i) % state.ring.size()].request->test();
  }

  template <class Request>
  tile wait(running<Request>& state) {
    auto& one = state.ring[state.oldest];
    timed(times_.wait, [&] { one.request->wait(); });
    one.request.reset();
    state.oldest = (state.oldest + 1) % state.ring.size();
    --state.count;
    return one.what;
  }

  template <class Request, class Finish>
  void drain(running<Request>& state, Finish& finish) {
    while (state.count > 0) {
      const tile ended = wait(state);
      finish_in_parts(state, ended, finish);
    }
  }

  pipeline_options options_;
  tiling_choice choice_;
  agreement largest_;
  run_times times_;
};

}  // namespace isthmus
#endif

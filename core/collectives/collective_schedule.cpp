#include "collectives/collective_schedule.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/in_parallel.hpp"
#include "base/interruption.hpp"
#include "collectives/buffers.hpp"
#include "schedule/counts.hpp"
#include "schedule/lower.hpp"
#include "schedule/names.hpp"

namespace isthmus::collectives {
namespace {

/// The messages of a neighbour exchange as each rank has them: one for its sender and one for its receiver, in the
/// order of messages.
class NeighborLists {
 public:
  explicit NeighborLists(const CollectiveCall& call) {
    if (call.kind != CollectiveKind::neighbor_alltoall) return;
    const auto counts = call.counts;
    require(counts.size() % 3 == 0, "neighbor_alltoall: ", counts.size(), " counts: expected three for each message");
    first_.assign(std::size_t{call.ranks} + 1, 0);
    for (std::size_t i = 0; i < counts.size(); i += 3) {
      for (std::size_t end = i; end < i + 2; ++end) {
        require(counts[end] >= 0 && counts[end] < call.ranks, "neighbor_alltoall: rank ", counts[end],
                " does not exist: there are ", call.ranks, " ranks");
        first_[static_cast<std::size_t>(counts[end]) + 1] += 3;
      }
    }
    for (std::size_t r = 0; r < call.ranks; ++r) first_[r + 1] += first_[r];
    lists_.resize(2 * counts.size());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    const auto add = [&](std::int64_t rank, std::int64_t neighbour, std::int64_t to, std::int64_t from) {
      for (const std::int64_t value : {neighbour, to, from}) lists_[next[static_cast<std::size_t>(rank)]++] = value;
    };
    for (std::size_t i = 0; i < counts.size(); i += 3) {
      add(counts[i], counts[i + 1], counts[i + 2], 0);
      add(counts[i + 1], counts[i], 0, counts[i + 2]);
    }
  }
  [[nodiscard]] std::span<const std::int64_t> of(Rank rank) const {
    return std::span(lists_).subspan(first_[rank], first_[rank + std::size_t{1}] - first_[rank]);
  }

 private:
  std::vector<std::int64_t> lists_;
  std::vector<std::size_t> first_;
};

/// The call as one rank after the other sees it.
class RankCalls {
 public:
  RankCalls(const CollectiveCall& call, const NeighborLists& lists) : call_(call), own_(call), lists_(lists) {}

  const CollectiveCall& of(Rank rank) {
    own_.rank = rank;
    if (call_.counts.empty() && checked_) return own_;
    own_.counts = counts(rank);
    if (call_.kind == CollectiveKind::alltoall) check_.forget();
    std::uint64_t deciding = 0;
    const std::string wrong = check_.check(own_, deciding);
    require(wrong.empty(), name_of(call_.kind), ": ", wrong);
    checked_ = true;
    return own_;
  }

 private:
  std::span<const std::int64_t> counts(Rank rank) {
    if (call_.counts.empty()) return {};
    if (call_.kind == CollectiveKind::neighbor_alltoall) return lists_.of(rank);
    if (call_.kind != CollectiveKind::alltoall) return call_.counts;
    const std::size_t n = call_.ranks;
    require(call_.counts.size() / n == n && call_.counts.size() % n == 0, "alltoall: ", call_.counts.size(),
            " counts: expected one for each pair of ", n, " ranks");
    pairs_.resize(2 * n);
    for (std::size_t other = 0; other < n; ++other) {
      pairs_[other] = call_.counts[rank * n + other];
      pairs_[n + other] = call_.counts[other * n + rank];
    }
    return pairs_;
  }

  const CollectiveCall& call_;
  CollectiveCall own_;
  const NeighborLists& lists_;
  Counts check_;
  bool checked_ = false;
  std::vector<std::int64_t> pairs_;  // of alltoall: what the rank sends to each and gets from each
};

/// Ranks are independent of each other: they are counted and then written part by part, on several threads if that
/// pays. To generate twice is cheaper than to grow by copying, and takes no byte too many.
class Writing {
 public:
  Writing(const CollectiveCall& call, const Algorithm& algorithm, bool buffers)
      : call_(call),
        algorithm_(algorithm),
        buffers_(buffers),
        lists_(call),
        length_(call.ranks / most_parts + 1),
        parts_((call.ranks - 1) / length_ + std::size_t{1}) {}

  Schedule run() {
    count(0);
    // The first part tells about how many operations there will be.
    const bool pays = algorithm_.concurrent && operations_ > worth_threads / parts_.size();
    const unsigned threads = pays ? std::thread::hardware_concurrency() : 1;
    in_parallel(parts_.size() - 1, threads, [&](std::size_t i) { count(i + 1); });
    Buffers sizes;
    if (buffers_) {
      sizes.names = {"input", "output", "scratch"};
      sizes.bytes.resize(3 * std::size_t{call_.ranks});
    }
    ScheduleBuilder builder(parts_, buffers_);
    in_parallel(parts_.size(), threads, [&](std::size_t i) { write(i, builder, sizes.bytes); });
    builder.set_buffers(std::move(sizes));
    return builder.build();
  }

 private:
  static constexpr Rank most_parts = 128;
  static constexpr std::uint64_t worth_threads = 1 << 18;  // operations: some milliseconds

  template <class F>
  void for_each(std::size_t part, F f) const {
    const std::uint64_t first = part * length_;
    const std::uint64_t end = std::min<std::uint64_t>(first + length_, call_.ranks);
    RankCalls calls(call_, lists_);
    for (std::uint64_t r = first; r < end; ++r) {
      if (((r - first) & 0x3F) == 0) interruption_point();
      f(calls.of(static_cast<Rank>(r)));
    }
  }

  void count(std::size_t part) {
    ScheduleBuilder::Part& counted = parts_[part];
    for_each(part, [&](const CollectiveCall& own) {
      Emitter counter;
      algorithm_.generate(own, counter);
      ++counted.ranks;
      counted.ops += counter.operations();
      counted.edges += counter.dependencies();
      if (operations_ + counted.ops <= most_operations) return;
      operations_ = most_operations;  // ends the other parts too
      throw InvalidInput(message(name_of(call_.kind), ": ", call_.ranks, " ranks would need more than ",
                                 most_operations, " operations, the most that a schedule may have"));
    });
    operations_ += counted.ops;
  }

  void write(std::size_t part, ScheduleBuilder& builder, std::vector<std::uint64_t>& bytes) const {
    RankBuilder rank;
    for_each(part, [&](const CollectiveCall& own) {
      builder.begin(part, rank);
      Emitter out(rank, {}, 0, 0, 0, buffers_);
      algorithm_.generate(own, out);
      if (buffers_) {
        const BufferBytes sizes = buffer_bytes(own);
        const std::size_t at = 3 * std::size_t{own.rank};
        bytes[at] = sizes.input;
        bytes[at + 1] = sizes.output;
        bytes[at + 2] = out.scratch_bytes();
      }
      builder.append(part, rank);
    });
  }

  const CollectiveCall& call_;
  const Algorithm& algorithm_;
  bool buffers_;
  NeighborLists lists_;
  Rank length_;  // ranks of a part, but of the last
  std::vector<ScheduleBuilder::Part> parts_;
  std::atomic<std::uint64_t> operations_ = 0;  // of the parts that are counted
};

}  // namespace

Schedule collective_schedule(const CollectiveCall& given, const Algorithm& algorithm, bool buffers) {
  const char* name = name_of(given.kind);
  require(given.ranks >= 1 && given.ranks < any_rank, name, ": ", given.ranks, " ranks; must be 1 to ", any_rank - 1);
  require(!has_root(given.kind) || given.root < given.ranks, name, ": root ", given.root, " does not exist: there are ",
          given.ranks, " ranks");
  CollectiveCall call = given;
  const std::shared_ptr<const Plan> plan = algorithm.attach(call);
  return Writing(call, algorithm, buffers).run();
}

}  // namespace isthmus::collectives

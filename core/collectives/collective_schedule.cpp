#include "collectives/collective_schedule.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collectives/buffers.hpp"
#include "schedule/counts.hpp"
#include "schedule/lower.hpp"
#include "schedule/names.hpp"

namespace isthmus {
namespace {

/// Every rank's own counts, made from those of all.
class RankCounts {
 public:
  explicit RankCounts(const CollectiveCall& call) : call_(call) {
    const auto counts = call.counts;
    if (counts.empty()) return;
    if (call.kind == CollectiveKind::alltoall) {
      require(counts.size() / call.ranks == call.ranks && counts.size() % call.ranks == 0, "alltoall: ", counts.size(),
              " counts: one for every pair of ", call.ranks, " ranks is needed");
      own_.resize(2 * std::size_t{call.ranks});
    } else if (call.kind == CollectiveKind::neighbor_alltoall) {
      sort_messages();
    }
  }

  std::span<const std::int64_t> of(Rank rank) {
    if (call_.counts.empty()) return {};
    if (call_.kind == CollectiveKind::alltoall) {
      const std::size_t n = call_.ranks;
      for (std::size_t other = 0; other < n; ++other) {
        own_[other] = call_.counts[rank * n + other];
        own_[n + other] = call_.counts[other * n + rank];
      }
      return own_;
    }
    if (call_.kind == CollectiveKind::neighbor_alltoall) {
      return std::span(own_).subspan(first_[rank], first_[rank + std::size_t{1}] - first_[rank]);
    }
    return call_.counts;
  }

 private:
  /// Every message is a neighbour of its sender and one of its receiver, in the order of messages.
  void sort_messages() {
    const auto counts = call_.counts;
    require(counts.size() % 3 == 0, "neighbor_alltoall: ", counts.size(), " counts: three per message are needed");
    first_.assign(std::size_t{call_.ranks} + 1, 0);
    for (std::size_t i = 0; i < counts.size(); i += 3) {
      for (std::size_t end = i; end < i + 2; ++end) {
        require(counts[end] >= 0 && counts[end] < call_.ranks, "neighbor_alltoall: rank ", counts[end], " is none of ",
                call_.ranks, " ranks");
        first_[static_cast<std::size_t>(counts[end]) + 1] += 3;
      }
    }
    for (std::size_t r = 0; r < call_.ranks; ++r) first_[r + 1] += first_[r];
    own_.resize(2 * counts.size());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    const auto add = [&](std::int64_t rank, std::int64_t neighbour, std::int64_t to, std::int64_t from) {
      for (const std::int64_t value : {neighbour, to, from}) own_[next[static_cast<std::size_t>(rank)]++] = value;
    };
    for (std::size_t i = 0; i < counts.size(); i += 3) {
      add(counts[i], counts[i + 1], counts[i + 2], 0);
      add(counts[i + 1], counts[i], 0, counts[i + 2]);
    }
  }

  const CollectiveCall& call_;
  std::vector<std::int64_t> own_;
  std::vector<std::size_t> first_;
};

}  // namespace

Schedule collective_schedule(const CollectiveCall& given, const Algorithm& algorithm, bool buffers) {
  const char* name = name_of(given.kind);
  require(given.ranks >= 1 && given.ranks < any_rank, name, ": ", given.ranks, " ranks; 1 to ", any_rank - 1,
          " is allowed");
  require(!has_root(given.kind) || given.root < given.ranks, name, ": root ", given.root, " is none of ", given.ranks,
          " ranks");
  CollectiveCall call = given;
  const std::shared_ptr<const Plan> plan = algorithm.attach(call);
  RankCounts counts(call);
  Counts checked;
  const auto write = [&](Rank r, Emitter& out) {
    CollectiveCall own = call;
    own.rank = r;
    own.counts = counts.of(r);
    if (call.kind == CollectiveKind::alltoall) checked.forget();
    std::uint64_t deciding = 0;
    const std::string wrong = checked.check(own, deciding);
    require(wrong.empty(), name, ": ", wrong);
    algorithm.generate(own, out);
    return own;
  };
  // Once to count and once to keep: cheaper than to grow by copying, and no byte too many.
  std::uint64_t ops = 0;
  std::uint64_t edges = 0;
  for (Rank r = 0; r < call.ranks; ++r) {
    Emitter counter(buffers);
    write(r, counter);
    ops += counter.operations();
    edges += counter.dependencies();
    require(ops <= most_operations, name, ": the first ", r + std::uint64_t{1}, " of ", call.ranks, " ranks have ", ops,
            " operations: a schedule has at most ", most_operations);
  }
  RankBuilder rank;
  Buffers sizes;
  if (buffers) sizes.names = {"input", "output", "scratch"};
  ScheduleBuilder builder;
  builder.reserve(ops, edges);
  for (Rank r = 0; r < call.ranks; ++r) {
    Emitter out(rank, {}, 0, 0, 0, buffers);
    const CollectiveCall own = write(r, out);
    if (buffers) {
      const BufferBytes bytes = buffer_bytes(own);
      sizes.bytes.insert(sizes.bytes.end(), {bytes.input, bytes.output, out.scratch_bytes()});
    }
    builder.append(rank);
  }
  builder.set_buffers(std::move(sizes));
  return builder.build();
}

}  // namespace isthmus

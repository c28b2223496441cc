#include "runtime_cases.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "collectives/buffers.hpp"
#include "collectives/collective_schedule.hpp"
#include "runtime/collectives/collective_program.hpp"
#include "runtime/executor/execution.hpp"
#include "runtime/executor/shorten.hpp"
#include "schedule/names.hpp"
#include "schedule/two_sided.hpp"

namespace isthmus::test {
namespace {

using runtime::Rank;
using schedule::CollectiveCall;
using enum schedule::CollectiveKind;

/// Elements of a block of a rank, and where it begins among those of all.
std::uint64_t block(const Case& c, Rank rank) {
  return c.counts.empty() ? c.count : static_cast<std::uint64_t>(c.counts[rank]);
}
std::uint64_t begin(const Case& c, Rank rank) {
  std::uint64_t sum = 0;
  for (Rank r = 0; r < rank; ++r) sum += block(c, r);
  return sum;
}
std::uint64_t pair(const Case& c, Rank from, Rank to) {
  return c.counts.empty() ? c.count : static_cast<std::uint64_t>(c.counts[from * c.ranks + to]);
}
/// Where what goes to `to` begins in the input of `from`, and what comes from `from` in the output of `to`.
std::uint64_t pair_in(const Case& c, Rank from, Rank to) {
  std::uint64_t sum = 0;
  for (Rank r = 0; r < to; ++r) sum += pair(c, from, r);
  return sum;
}
std::uint64_t pair_out(const Case& c, Rank from, Rank to) {
  std::uint64_t sum = 0;
  for (Rank r = 0; r < from; ++r) sum += pair(c, r, to);
  return sum;
}

/// The counts as one rank gives them.
std::vector<std::int64_t> counts_of(const Case& c, Rank rank) {
  std::vector<std::int64_t> own;
  if (c.kind == alltoall && !c.counts.empty()) {
    for (Rank r = 0; r < c.ranks; ++r) own.push_back(c.counts[rank * c.ranks + r]);
    for (Rank r = 0; r < c.ranks; ++r) own.push_back(c.counts[r * c.ranks + rank]);
    return own;
  }
  if (c.kind != neighbor_alltoall) return c.counts;
  for (std::size_t i = 0; i + 2 < c.counts.size(); i += 3) {
    if (c.counts[i] == rank) own.insert(own.end(), {c.counts[i + 1], c.counts[i + 2], 0});
    if (c.counts[i + 1] == rank) own.insert(own.end(), {c.counts[i], 0, c.counts[i + 2]});
  }
  return own;
}

/// Elements of known values, others of none.
class Elements {
 public:
  Elements(Values values, Bytes& bytes) : values_(values), size_(size_of(values)), bytes_(bytes) {}

  /// At `to` the values that the input of a rank has from `from` on.
  void put(std::uint64_t to, Rank rank, std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) put_value(values_, rank, from + i, at(to + i));
  }
  /// At the beginning those of ranks `first` to before `end`, combined in this order.
  void reduce(Rank first, Rank end, std::uint64_t from, std::uint64_t count) {
    Bytes other(size_);
    put(0, first, from, count);
    for (std::uint64_t i = 0; i < count; ++i) {
      for (Rank r = first + 1; r < end; ++r) {
        put_value(values_, r, from + i, other.data());
        combine(values_, at(i), other.data());
      }
    }
  }

 private:
  std::byte* at(std::uint64_t i) {
    if (bytes_.size() < (i + 1) * size_) bytes_.resize((i + 1) * size_);
    return bytes_.data() + i * size_;
  }

  Values values_;
  std::size_t size_;
  Bytes& bytes_;
};

/// What the output of a rank must begin with. False: nothing is asked.
bool expect(const Case& c, Rank rank, Bytes& out) {
  Elements elements(c.values, out);
  const bool root = rank == c.root;
  switch (c.kind) {
    case bcast: elements.put(0, c.root, 0, c.count); return true;
    case reduce:
      if (root) elements.reduce(0, c.ranks, 0, c.count);
      return root;
    case allreduce: elements.reduce(0, c.ranks, 0, c.count); return true;
    case scan: elements.reduce(0, rank + 1, 0, c.count); return true;
    case exscan:
      if (rank > 0) elements.reduce(0, rank, 0, c.count);
      return rank > 0;
    case reduce_scatter: elements.reduce(0, c.ranks, begin(c, rank), block(c, rank)); return true;
    case scatter:
      if (c.in_place && root) return false;
      elements.put(0, c.root, begin(c, rank), block(c, rank));
      return true;
    case gather:
    case allgather:
      if (c.kind == gather && !root) return false;
      for (Rank r = 0; r < c.ranks; ++r) elements.put(begin(c, r), r, 0, block(c, r));
      return true;
    case alltoall:
      for (Rank r = 0; r < c.ranks; ++r) elements.put(pair_out(c, r, rank), r, pair_in(c, r, rank), pair(c, r, rank));
      return true;
    case neighbor_alltoall: {
      std::vector<std::uint64_t> sent(c.ranks);
      std::uint64_t at = 0;
      for (std::size_t i = 0; i + 2 < c.counts.size(); i += 3) {
        const auto from = static_cast<Rank>(c.counts[i]);
        const auto count = static_cast<std::uint64_t>(c.counts[i + 2]);
        if (c.counts[i + 1] == rank) {
          elements.put(at, from, sent[from], count);
          at += count;
        }
        sent[from] += count;
      }
      return true;
    }
    default: return false;
  }
}

/// What is in the output at first: bcast, and contributions that are in place.
void put_first(const Case& c, Rank rank, Bytes& out) {
  Elements elements(c.values, out);
  const bool root = rank == c.root;
  if (c.kind == bcast && root) elements.put(0, rank, 0, c.count);
  if (!c.in_place) return;
  if (c.kind == allreduce || c.kind == scan || c.kind == exscan || (c.kind == reduce && root))
    elements.put(0, rank, 0, c.count);
  if (c.kind == allgather || (c.kind == gather && root)) elements.put(begin(c, rank), rank, 0, block(c, rank));
  if (c.kind == alltoall) elements.put(pair_out(c, rank, rank), rank, pair_in(c, rank, rank), pair(c, rank, rank));
  if (c.kind == reduce_scatter && c.ranks == 1) elements.put(0, rank, 0, block(c, rank));
}

}  // namespace

std::string describe(const Case& c) {
  return std::string(schedule::name_of(c.kind)) + " " + c.algorithm + " on " + std::to_string(c.ranks) +
         " ranks, root " + std::to_string(c.root) + ", " + std::to_string(c.count) + " elements of " +
         std::to_string(size_of(c.values)) + " bytes" + (c.counts.empty() ? "" : ", counts") +
         (c.in_place ? ", in place" : "") + (c.access ? *c.access == schedule::Access::put ? ", puts" : ", gets" : "");
}

/// The part of a rank in a schedule of puts or gets, as messages again.
runtime::Program program_of_accesses(const Case& c, Rank rank) {
  CollectiveCall call;
  call.kind = c.kind;
  call.ranks = c.ranks;
  call.root = c.root;
  call.bytes = c.count;
  call.counts = c.counts;
  call.in_place = c.in_place;
  schedule::Schedule whole =
      collectives::collective_schedule(call, collectives::find_algorithm(c.kind, c.algorithm, c.options), true);
  const std::uint64_t size = size_of(c.values);
  for (schedule::Operation& op : whole.ops)
    if (op.kind != schedule::OpKind::calc) op.amount *= size;
  for (schedule::Slices& slices : whole.slices)
    for (std::uint64_t* offset : {&slices.from.offset, &slices.to.offset, &slices.block}) *offset *= size;
  for (std::uint64_t& bytes : whole.buffers.bytes) bytes *= size;
  const schedule::Schedule accesses = schedule::one_sided(whole, *c.access, c.count % 2 == 0);
  return runtime::program_of(schedule::two_sided(accesses).schedule, rank);
}

runtime::Program program_of(const Case& c, Rank rank) {
  if (c.access) return program_of_accesses(c, rank);
  const std::vector<std::int64_t> counts = counts_of(c, rank);
  CollectiveCall call;
  call.kind = c.kind;
  call.rank = rank;
  call.ranks = c.ranks;
  call.root = c.root;
  call.bytes = c.count;
  call.counts = counts;
  call.in_place = c.in_place;
  runtime::Program program =
      runtime::collective_program(call, collectives::find_algorithm(c.kind, c.algorithm, c.options), size_of(c.values));
  // The messages are the same with and without.
  if ((rank + c.count) % 4 != 0) runtime::shorten(program);
  return program;
}

bool runs(const Case& c) {
  try {
    program_of(c, 0);
    return true;
  } catch (const InvalidInput&) {
    return false;
  }
}

RankData::RankData(const Case& c, Rank rank, const runtime::Program& program) {
  input_.assign(program.buffers[0], std::byte{0xEE});
  output_.assign(program.buffers[1], std::byte{0xDD});
  scratch_.assign(program.buffers[2], std::byte{0xCC});
  const bool root = rank == c.root;
  const bool has_input = c.kind == scatter ? root : c.kind != bcast && program.buffers[0] > 0;
  if (has_input) Elements(c.values, input_).put(0, rank, 0, program.buffers[0] / size_of(c.values));
  put_first(c, rank, output_);
  checked_ = expect(c, rank, expected_);
  at[0] = input_.data();
  at[1] = output_.data();
  at[2] = scratch_.data();
}

bool RankData::right() const {
  return !checked_ ||
         (expected_.size() <= output_.size() && std::equal(expected_.begin(), expected_.end(), output_.begin()));
}

std::string carry_out(runtime::Transport& transport, const std::vector<Case>& cases, bool (*give_up)()) {
  std::vector<std::unique_ptr<runtime::Program>> programs;
  std::vector<std::unique_ptr<RankData>> data;
  std::vector<std::unique_ptr<runtime::Execution>> running;
  for (const Case& c : cases) {
    programs.push_back(std::make_unique<runtime::Program>(program_of(c, transport.rank())));
    data.push_back(std::make_unique<RankData>(c, transport.rank(), *programs.back()));
    running.push_back(std::make_unique<runtime::Execution>(*programs.back()));
  }
  for (std::size_t i = 0; i < running.size(); ++i)
    running[i]->start(transport, static_cast<std::uint32_t>(i), data[i]->at, operator_of(cases[i].values));
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(6);
  const auto of = [&](const std::string& words) { return "rank " + std::to_string(transport.rank()) + ": " + words; };
  for (std::size_t turn = 1, left = 0;; ++turn) {
    runtime::progress(transport);
    while (left < running.size() && running[left]->status() == runtime::Status::done) ++left;
    if (left == running.size()) break;
    if (!transport.failure().empty()) return of(transport.failure());
    if (turn % 4 != 0) continue;
    if (give_up()) return of("others gave up");
    if (std::chrono::steady_clock::now() > until) return of("does not end: " + describe(cases[left]));
    std::this_thread::yield();
  }
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!data[i]->right()) return of("another result: " + describe(cases[i]));
  return {};
}

}  // namespace isthmus::test

#include "proof/contract.hpp"

#include <memory>
#include <utility>

#include "base/error.hpp"
#include "schedule/counts.hpp"
#include "schedule/names.hpp"

namespace isthmus::proof {
namespace {

constexpr std::uint32_t input = input_buffer;
constexpr std::uint32_t output = output_buffer;

using List = std::vector<Holding>;

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::reduce || kind == CollectiveKind::allreduce || kind == CollectiveKind::scan ||
         kind == CollectiveKind::exscan || kind == CollectiveKind::reduce_scatter;
}

RankRange only(Rank rank) { return {rank, rank + 1}; }

/// Where every rank's block begins, and the end of the last one.
std::vector<std::uint64_t> block_offsets(const CollectiveCall& call) {
  std::vector<std::uint64_t> out(std::size_t{call.ranks} + 1);
  for (std::size_t r = 0; r < call.ranks; ++r) {
    out[r + 1] = out[r] + (call.counts.empty() ? call.bytes : static_cast<std::uint64_t>(call.counts[r]));
  }
  return out;
}

void message_contract(Contract& c, const CollectiveCall& call) {
  const Holding whole{output, 0, call.bytes, 0, only(call.root)};
  c.start = [whole, root = call.root](Rank rank, List& out) {
    if (rank == root) out.push_back(whole);
  };
  c.end = [whole](Rank, List& out) { out.push_back(whole); };
}

/// Vectors of all ranks combined: in the outputs of all, or of the root.
void reduction_contract(Contract& c, const CollectiveCall& call, bool in_place) {
  const Rank ranks = call.ranks, root = call.root;
  const bool rooted = call.kind == CollectiveKind::reduce;
  const CollectiveKind kind = call.kind;
  c.start = [=, bytes = call.bytes](Rank rank, List& out) {
    const bool there = in_place && (!rooted || rank == root);
    out.push_back({there ? output : input, 0, bytes, 0, only(rank)});
  };
  c.end = [=, bytes = call.bytes](Rank rank, List& out) {
    if (rooted && rank != root) return;
    RankRange combined{0, ranks};
    if (kind == CollectiveKind::scan) combined.end = rank + 1;
    if (kind == CollectiveKind::exscan) combined.end = rank;
    if (combined.end != 0) out.push_back({output, 0, bytes, 0, combined});
  };
}

void reduce_scatter_contract(Contract& c, const CollectiveCall& call, bool in_place) {
  auto first = block_offsets(call);
  const std::uint64_t all = first.back();
  const bool finished = in_place && call.ranks == 1;
  c.start = [all, finished](Rank rank, List& out) {
    out.push_back({input, 0, all, 0, only(rank)});
    if (finished) out.push_back({output, 0, all, 0, only(rank)});
  };
  c.end = [first = std::move(first), ranks = call.ranks](Rank rank, List& out) {
    out.push_back({output, 0, first[rank + 1] - first[rank], first[rank], {0, ranks}});
  };
}

void gather_contract(Contract& c, const CollectiveCall& call, bool in_place) {
  const auto first = std::make_shared<std::vector<std::uint64_t>>(block_offsets(call));
  const bool everywhere = call.kind == CollectiveKind::allgather;
  c.start = [=, root = call.root](Rank rank, List& out) {
    const std::uint64_t bytes = (*first)[rank + 1] - (*first)[rank];
    const bool there = in_place && (everywhere || rank == root);
    out.push_back({there ? output : input, there ? (*first)[rank] : 0, bytes, 0, only(rank)});
  };
  c.end = [=, root = call.root, ranks = call.ranks](Rank rank, List& out) {
    if (!everywhere && rank != root) return;
    for (Rank r = 0; r < ranks; ++r) {
      out.push_back({output, (*first)[r], (*first)[r + 1] - (*first)[r], 0, only(r)});
    }
  };
}

void scatter_contract(Contract& c, const CollectiveCall& call, bool in_place) {
  const auto first = std::make_shared<std::vector<std::uint64_t>>(block_offsets(call));
  c.start = [=, root = call.root](Rank rank, List& out) {
    if (rank == root) out.push_back({input, 0, first->back(), 0, only(root)});
  };
  c.end = [=, root = call.root](Rank rank, List& out) {
    if (in_place && rank == root) return;
    out.push_back({output, 0, (*first)[rank + 1] - (*first)[rank], (*first)[rank], only(root)});
  };
}

void alltoall_contract(Contract& c, const CollectiveCall& call, bool in_place) {
  const std::size_t ranks = call.ranks;
  require(call.counts.empty() || call.counts.size() == ranks * ranks, "alltoall: ", call.counts.size(),
          " counts: expected one for each pair of ", ranks, " ranks");
  const auto counts = std::make_shared<std::vector<std::int64_t>>(call.counts.begin(), call.counts.end());
  const auto size = [counts, ranks, bytes = call.bytes](std::size_t from, std::size_t to) {
    return counts->empty() ? bytes : static_cast<std::uint64_t>((*counts)[from * ranks + to]);
  };
  // Where the block for each rank begins in each rank's input.
  const auto place = std::make_shared<std::vector<std::uint64_t>>();
  if (!counts->empty()) {
    place->resize(ranks * ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t to = 1; to < ranks; ++to) {
        (*place)[r * ranks + to] = (*place)[r * ranks + to - 1] + size(r, to - 1);
      }
    }
  }
  const auto in_input = [place, ranks, bytes = call.bytes](std::size_t from, std::size_t to) {
    return place->empty() ? to * bytes : (*place)[from * ranks + to];
  };
  const auto in_output = [ranks, size, counts, bytes = call.bytes](std::size_t to, std::size_t until) {
    if (counts->empty()) return until * bytes;
    std::uint64_t sum = 0;
    for (std::size_t from = 0; from < until; ++from) sum += size(from, to);
    return sum;
  };
  c.start = [=](Rank rank, List& out) {
    out.push_back({input, 0, in_input(rank, ranks - 1) + size(rank, ranks - 1), 0, only(rank)});
    if (in_place) out.push_back({output, in_output(rank, rank), size(rank, rank), in_input(rank, rank), only(rank)});
  };
  c.end = [=](Rank rank, List& out) {
    std::uint64_t at = 0;
    for (Rank from = 0; from < ranks; ++from) {
      out.push_back({output, at, size(from, rank), in_input(from, rank), only(from)});
      at += size(from, rank);
    }
  };
}

/// Messages as they stand in the counts, sender, receiver and bytes: blocks in that order in the input of the sender
/// and in the output of the receiver. In place, messages to oneself are there.
void neighbor_contract(Contract& c, const CollectiveCall& call, bool in_place) {
  require(call.counts.size() % 3 == 0, "neighbor_alltoall: ", call.counts.size(),
          " counts: expected three for each message");
  std::vector<std::uint64_t> sent(call.ranks), taken(call.ranks);
  const auto ends = std::make_shared<std::vector<List>>(call.ranks);
  for (std::size_t i = 0; i < call.counts.size(); i += 3) {
    for (std::size_t end = i; end < i + 2; ++end) {
      require(call.counts[end] >= 0 && call.counts[end] < call.ranks, "neighbor_alltoall: rank ", call.counts[end],
              " does not exist: there are ", call.ranks, " ranks");
    }
    const auto from = static_cast<Rank>(call.counts[i]), to = static_cast<Rank>(call.counts[i + 1]);
    const auto bytes = static_cast<std::uint64_t>(call.counts[i + 2]);
    (*ends)[to].push_back({output, taken[to], bytes, sent[from], only(from)});
    sent[from] += bytes;
    taken[to] += bytes;
  }
  c.start = [sent = std::move(sent), ends, in_place](Rank rank, List& out) {
    out.push_back({input, 0, sent[rank], 0, only(rank)});
    for (const Holding& h : (*ends)[rank]) {
      if (in_place && h.ranks == only(rank)) out.push_back(h);
    }
  };
  c.end = [ends](Rank rank, List& out) { out.insert(out.end(), (*ends)[rank].begin(), (*ends)[rank].end()); };
}

/// Ranks of equal blocks are alike where there is no root and no order.
std::vector<Rotation> rotations_of(const CollectiveCall& call, bool ordered) {
  if (!call.counts.empty()) return {};
  const std::uint64_t block = call.bytes;
  switch (call.kind) {
    case CollectiveKind::barrier: return {{{0, 0}, 0}};
    case CollectiveKind::allgather: return {{{0, block}, 0}};
    case CollectiveKind::alltoall: return {{{block, block}, block}};
    case CollectiveKind::reduce_scatter:
      if (ordered) return {};
      return {{{block, 0}, block}};
    case CollectiveKind::allreduce: {
      if (ordered) return {};
      std::vector<Rotation> out{{{0, 0}, 0}};
      const std::uint64_t part = call.bytes / call.ranks;
      if (part != 0 && call.bytes % call.ranks == 0) out.push_back({{part, part}, part});
      return out;
    }
    default: return {};
  }
}

}  // namespace

Sync sync_of(const std::string& name) {
  if (name == "none") return Sync::none;
  if (name == "my") return Sync::my;
  require(name == "all", "sync '", name, "': must be one of none, my, all");
  return Sync::all;
}

Contract contract_of(const CollectiveCall& call, bool ordered) {
  const bool in_place = call.in_place;
  const char* name = name_of(call.kind);
  require(call.ranks >= 1 && call.ranks < any_rank, name, ": ", call.ranks, " ranks; must be 1 to ", any_rank - 1);
  require(!has_root(call.kind) || call.root < call.ranks, name, ": root ", call.root, " does not exist: there are ",
          call.ranks, " ranks");
  if (call.kind != CollectiveKind::alltoall && call.kind != CollectiveKind::neighbor_alltoall) {
    std::uint64_t deciding = 0;
    CollectiveCall checked = call;
    const std::string wrong = Counts().check(checked, deciding);
    require(wrong.empty(), name, ": ", wrong);
  }
  for (const std::int64_t count : call.counts) require(count >= 0, name, ": count ", count, " is negative");
  Contract c;
  c.name = name;
  c.ranks = call.ranks;
  c.buffers = {"input", "output"};
  c.start = c.end = [](Rank, List&) {};
  if (!in_place || call.kind != CollectiveKind::reduce_scatter) c.constant = {"input"};
  c.ordered = ordered && reduces(call.kind);
  c.rotations = rotations_of(call, c.ordered);
  switch (call.kind) {
    case CollectiveKind::barrier: c.synchronizes = true; break;
    case CollectiveKind::bcast: message_contract(c, call); break;
    case CollectiveKind::reduce:
    case CollectiveKind::allreduce:
    case CollectiveKind::scan:
    case CollectiveKind::exscan: reduction_contract(c, call, in_place); break;
    case CollectiveKind::gather:
    case CollectiveKind::allgather: gather_contract(c, call, in_place); break;
    case CollectiveKind::scatter: scatter_contract(c, call, in_place); break;
    case CollectiveKind::alltoall: alltoall_contract(c, call, in_place); break;
    case CollectiveKind::reduce_scatter: reduce_scatter_contract(c, call, in_place); break;
    case CollectiveKind::neighbor_alltoall: neighbor_contract(c, call, in_place); break;
  }
  return c;
}

}  // namespace isthmus::proof

#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"
#include "collectives/write/sums.hpp"

namespace isthmus::collectives::linear {
namespace {

/// `everywhere`: all ranks have an output, of which this is the first half of an allreduce.
void reduce_to(Rounds& rounds, const CollectiveCall& call, Rank root, bool everywhere) {
  Sum sum(call, everywhere || call.rank == root);
  if (call.rank == root) {
    for (std::uint64_t i = 1; i < call.ranks; ++i) sum.take(rounds, above(call, i));
    sum.finish(rounds);
  } else {
    rounds.send(root, call.bytes, sum.now());
  }
  rounds.next();
}

void bcast_from(Rounds& rounds, const CollectiveCall& call, Rank root, std::uint64_t bytes) {
  if (call.rank == root) {
    for (std::uint64_t i = 1; i < call.ranks; ++i) rounds.send(above(call, i), bytes, at_output());
  } else {
    rounds.recv(root, bytes, at_output());
  }
}

void scatter_from(Rounds& rounds, const CollectiveCall& call, Rank root) {
  const Blocks blocks(call);
  if (call.rank == root) {
    for (std::uint64_t i = 1; i < call.ranks; ++i) {
      const Rank to = above(call, i);
      rounds.send(to, blocks(to), at_input(blocks.offset(to)));
    }
    if (!call.in_place) rounds.copy_too(blocks(root), at_input(blocks.offset(root)), at_output());
  } else {
    rounds.recv(root, blocks(call.rank), at_output());
  }
}

}  // namespace

void bcast(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  bcast_from(rounds, call, call.root, call.bytes);
}

void reduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  reduce_to(rounds, call, call.root, false);
}

void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  reduce_to(rounds, call, 0, true);
  bcast_from(rounds, call, 0, call.bytes);
}

void barrier(const CollectiveCall& call, Emitter& out) {
  CollectiveCall nothing = call;
  nothing.bytes = 0;
  allreduce(nothing, out);
}

void gather(const CollectiveCall& call, Emitter& out) {
  const Blocks blocks(call);
  if (call.rank != call.root) {
    out.send(call.root, blocks(call.rank), at_input());
    return;
  }
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    const Rank from = above(call, i);
    out.recv(from, blocks(from), at_output(blocks.offset(from)));
  }
  const std::uint64_t own = blocks(call.rank);
  if (!call.in_place && own != 0) out.copy(own, at_input(), at_output(blocks.offset(call.rank)));
}

void scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  scatter_from(rounds, call, call.root);
}

void allgather(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  if (call.rank == 0) {
    if (!call.in_place) rounds.copy_too(blocks(0), at_input(), at_output());
    // One after the other, so that the sends that follow wait for one operation and not each for all.
    for (Rank from = 1; from < call.ranks; ++from) {
      rounds.recv(from, blocks(from), at_output(blocks.offset(from)));
      rounds.next();
    }
  } else {
    rounds.send(0, blocks(call.rank), own_block(call));
  }
  rounds.next();
  bcast_from(rounds, call, 0, blocks.all());
}

void alltoall(const CollectiveCall& call, Emitter& out) {
  const AlltoallBlocks blocks(call);
  const bool empty_too = call.counts.empty();
  const std::uint32_t window = call.options->window;
  const auto all = [&](const auto& post) {
    std::vector<std::uint32_t> posted;
    for (std::uint64_t i = 1; i < call.ranks; ++i) {
      const std::uint32_t op = post(i);
      if (op == Slice::none || window == 0) continue;
      if (posted.size() >= window) out.require(op, posted[posted.size() - window]);
      posted.push_back(op);
    }
  };
  all([&](std::uint64_t i) {
    const Rank from = below(call, i);
    const std::uint64_t bytes = blocks.taken(from);
    return empty_too || bytes != 0 ? out.recv(from, bytes, blocks.to(from)) : Slice::none;
  });
  all([&](std::uint64_t i) {
    const Rank to = above(call, i);
    const std::uint64_t bytes = blocks.sent(to);
    return empty_too || bytes != 0 ? out.send(to, bytes, blocks.from(to)) : Slice::none;
  });
  blocks.copy_own(out);
}

void reduce_scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const std::uint64_t all = blocks.all();
  if (call.rank != 0) {
    rounds.send(0, all, at_input());
    rounds.next();
    rounds.recv(0, blocks(call.rank), at_output());
    return;
  }
  // The sum grows in scratch: the output has room for the own block only.
  for (Rank from = 1; from < call.ranks; ++from) {
    rounds.recv(from, all, at_scratch(from == 1 ? 0 : all));
    if (from == 1) {
      rounds.reduce(all, at_input(), at_scratch(), ReduceOrder::before);
    } else {
      rounds.reduce(all, at_scratch(all), at_scratch());
    }
  }
  for (Rank to = 1; to < call.ranks; ++to) rounds.send(to, blocks(to), at_scratch(blocks.offset(to)));
  if (call.ranks > 1 || !call.in_place) {
    rounds.copy_too(blocks(0), call.ranks > 1 ? at_scratch() : at_input(), at_output());
  }
}

void scan(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  Sum sum(call, true);
  if (call.rank > 0) sum.take(rounds, call.rank - 1, ReduceOrder::before);
  if (call.rank + 1 < call.ranks) rounds.send(call.rank + 1, call.bytes, sum.now());
  if (!sum.begun()) rounds.copy_too(call.bytes, sum.own(), sum.sum());
}

void exscan(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const bool last = call.rank + 1 == call.ranks;
  const Slice own = call.in_place ? at_output() : at_input();
  if (call.rank == 0) {
    if (!last) rounds.send(1, call.bytes, own);
    return;
  }
  // What comes in is the result and stays; what is handed on has the own vector too. The last rank's goes nowhere.
  if (!last) rounds.copy(call.bytes, own, at_scratch());
  rounds.recv(call.rank - 1, call.bytes, at_output());
  if (last) return;
  rounds.reduce(call.bytes, at_output(), at_scratch(), ReduceOrder::before);
  rounds.send(call.rank + 1, call.bytes, at_scratch());
}

void neighbor_alltoall(const CollectiveCall& call, Emitter& out) {
  const auto triples = call.counts.size() / 3;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < triples; ++i) {
    const auto bytes = static_cast<std::uint64_t>(call.counts[3 * i + 2]);
    if (bytes != 0) out.recv(static_cast<Rank>(call.counts[3 * i]), bytes, at_output(at));
    at += bytes;
  }
  at = 0;
  for (std::size_t i = 0; i < triples; ++i) {
    const auto bytes = static_cast<std::uint64_t>(call.counts[3 * i + 1]);
    if (bytes != 0) out.send(static_cast<Rank>(call.counts[3 * i]), bytes, at_input(at));
    at += bytes;
  }
}

}  // namespace isthmus::collectives::linear

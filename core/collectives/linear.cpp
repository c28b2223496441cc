#include "collectives/algorithms.hpp"
#include "collectives/sums.hpp"

namespace isthmus::linear {
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
    // One after the other, so that the sends that follow wait for one operation and not each for all.
    for (Rank from = 1; from < call.ranks; ++from) {
      rounds.recv(from, blocks(from));
      rounds.next();
    }
  } else {
    rounds.send(0, blocks(call.rank));
  }
  rounds.next();
  bcast_from(rounds, call, 0, blocks.all());
}

void alltoall(const CollectiveCall& call, Emitter& out) {
  if (call.counts.empty()) {
    for (std::uint64_t i = 1; i < call.ranks; ++i) out.recv(below(call, i), call.bytes);
    for (std::uint64_t i = 1; i < call.ranks; ++i) out.send(above(call, i), call.bytes);
    return;
  }
  const Blocks counts(call);
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    const Rank from = below(call, i);
    if (const std::uint64_t bytes = counts(std::uint64_t{call.ranks} + from); bytes != 0) out.recv(from, bytes);
  }
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    const Rank to = above(call, i);
    if (const std::uint64_t bytes = counts(to); bytes != 0) out.send(to, bytes);
  }
}

void reduce_scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  CollectiveCall whole = call;
  whole.bytes = Blocks(call).all();
  reduce_to(rounds, whole, 0, false);
  scatter_from(rounds, call, 0);
}

void scan(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  if (call.rank > 0) {
    rounds.recv(call.rank - 1, call.bytes);
    rounds.reduce(call.bytes);
  }
  if (call.rank + 1 < call.ranks) rounds.send(call.rank + 1, call.bytes);
}

void exscan(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const bool last = call.rank + 1 == call.ranks;
  if (call.rank > 0) {
    rounds.recv(call.rank - 1, call.bytes);
    // The last rank's own part goes nowhere.
    if (!last) rounds.reduce(call.bytes);
  }
  if (!last) rounds.send(call.rank + 1, call.bytes);
}

void neighbor_alltoall(const CollectiveCall& call, Emitter& out) {
  const auto triples = call.counts.size() / 3;
  for (std::size_t i = 0; i < triples; ++i) {
    const auto triple = call.counts.subspan(3 * i, 3);
    if (triple[2] != 0) out.recv(static_cast<Rank>(triple[0]), static_cast<std::uint64_t>(triple[2]));
  }
  for (std::size_t i = 0; i < triples; ++i) {
    const auto triple = call.counts.subspan(3 * i, 3);
    if (triple[1] != 0) out.send(static_cast<Rank>(triple[0]), static_cast<std::uint64_t>(triple[1]));
  }
}

}  // namespace isthmus::linear

#include "random_schedules.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "schedule/builder.hpp"

namespace isthmus::test {
using namespace schedule;
namespace {

struct Draft {
  std::vector<Operation> ops;
  std::vector<RankBuilder::Dependency> dependencies;
};

std::uint64_t amount(Random& random, const Recipe& recipe, std::uint64_t most) {
  return recipe.odd ? (most / 2 + below(random, most / 2)) | 1 : below(random, most + 1);
}

/// Lets the last operation wait for some before it.
void depend(Random& random, const Recipe& recipe, Draft& draft) {
  const auto n = static_cast<std::uint32_t>(draft.ops.size());
  if (n == 1) return;
  // Mostly on one of the last few; sometimes on many, so that operations with more than two dependants occur.
  for (std::uint64_t i = once_in(random, 8) ? 5 : below(random, 3); i > 0; --i) {
    const auto reach = static_cast<std::uint32_t>(once_in(random, 3) ? n - 1 : std::min(n - 1, 3U));
    const auto on = static_cast<std::uint32_t>(n - 2 - below(random, reach));
    draft.dependencies.push_back({on, Edge(n - 1, recipe.on_start && once_in(random, 3))});
  }
}

void append(Random& random, const Recipe& recipe, const Draft& draft, ScheduleBuilder& builder) {
  const std::size_t n = draft.ops.size();
  std::vector<std::uint32_t> place(n), at(n);  // draft -> final, and back
  std::iota(place.begin(), place.end(), 0U);
  if (recipe.shuffled)
    for (std::size_t i = n; i > 1; --i) std::swap(place[i - 1], place[below(random, i)]);
  for (std::uint32_t i = 0; i < n; ++i) at[place[i]] = i;
  RankBuilder rank;
  for (std::size_t i = 0; i < n; ++i) rank.add(draft.ops[at[i]]);
  for (const auto& d : draft.dependencies) {
    if (d.edge.on_start()) rank.require_start(place[d.edge.to()], place[d.on]);
    else rank.require(place[d.edge.to()], place[d.on]);
  }
  builder.append(rank);
}

Operation local(Random& random, const Recipe& recipe) {
  Operation op;
  op.kind = once_in(random, 4) ? OpKind::copy : once_in(random, 4) ? OpKind::reduce : OpKind::calc;
  op.amount = amount(random, recipe, recipe.most_work);
  return op;
}

Picoseconds large(Random& random) { return static_cast<Picoseconds>(100'000 + below(random, 900'000)) | 1; }

}  // namespace

Schedule random_schedule(Random& random, const Recipe& recipe) {
  std::vector<Draft> drafts(recipe.ranks);
  const auto add = [&](Rank rank, Operation op) {
    op.cpu = static_cast<std::uint8_t>(below(random, recipe.cpus));
    op.nic = static_cast<std::uint8_t>(below(random, recipe.nics));
    drafts[rank].ops.push_back(op);
    depend(random, recipe, drafts[rank]);
  };
  for (std::uint32_t step = 0; step < recipe.steps; ++step) {
    const auto a = static_cast<Rank>(below(random, recipe.ranks));
    auto b = static_cast<Rank>(below(random, recipe.ranks));
    if (a == b && !recipe.to_itself) b = (a + 1) % recipe.ranks;
    if (once_in(random, 4)) {
      add(a, local(random, recipe));
      continue;
    }
    Operation op;
    op.amount = amount(random, recipe, recipe.most_bytes);
    op.peer = b;
    if (recipe.one_sided && once_in(random, 3)) {
      op.kind = once_in(random, 2) ? OpKind::put : OpKind::get;
      add(a, op);
      continue;
    }
    op.tag = static_cast<std::uint32_t>(below(random, recipe.tags));
    op.comm = static_cast<std::uint32_t>(below(random, recipe.comms));
    op.kind = OpKind::send;
    Operation recv = op;
    recv.kind = OpKind::recv;
    recv.peer = recipe.wildcards && once_in(random, 3) ? any_rank : a;
    if (recipe.wildcards && once_in(random, 3)) recv.tag = any_tag;
    // Where receives were posted after the sends of a round only, none would ever be waiting.
    if (once_in(random, 2)) {
      add(a, op);
      add(b, recv);
    } else {
      add(b, recv);
      add(a, op);
    }
  }
  ScheduleBuilder builder;
  for (const Draft& draft : drafts) append(random, recipe, draft, builder);
  return builder.build();
}

void add_pieces(Random& random, LevelCost& c) {
  for (std::uint64_t above = 1; above < 6; above += 1 + below(random, 4)) {
    LevelCost piece;
    piece.above = above;
    piece.after = 1 + below(random, above);
    piece.L = static_cast<Picoseconds>(below(random, 6));
    piece.o_send = static_cast<Picoseconds>(below(random, 4));
    piece.o_recv = static_cast<Picoseconds>(below(random, 4));
    piece.g = static_cast<Picoseconds>(below(random, 6));
    piece.G = static_cast<double>(below(random, 5)) / 2;
    piece.O = static_cast<double>(below(random, 4)) / 2;
    if (once_in(random, 2)) piece.O_recv = static_cast<double>(below(random, 4)) / 2;
    c.pieces.push_back(piece);
  }
}

SimulationOptions small_machine(Random& random) {
  SimulationOptions options;
  for (LevelCost& c : options.cost) {
    c.L = static_cast<Picoseconds>(below(random, 6));
    c.o_send = static_cast<Picoseconds>(below(random, 4));
    c.o_recv = once_in(random, 2) ? c.o_send : static_cast<Picoseconds>(below(random, 4));
    c.g = static_cast<Picoseconds>(below(random, 3) * below(random, 5));
    c.G = static_cast<double>(below(random, 5)) / 2;
    c.O = once_in(random, 2) ? 0 : static_cast<double>(below(random, 4)) / 2;
    c.S = once_in(random, 2) ? 65535 : below(random, 6);
    c.per_hop = static_cast<Picoseconds>(below(random, 3));
    if (once_in(random, 3)) c.O_recv = static_cast<double>(below(random, 4)) / 2;
    if (once_in(random, 3)) add_pieces(random, c);
  }
  options.copy_rate = static_cast<double>(below(random, 4)) / 2;
  options.reduce_rate = static_cast<double>(below(random, 4)) / 2;
  options.receive = once_in(random, 2) ? Receive::loggp : Receive::loggopsim;
  return options;
}

SimulationOptions odd_machine(Random& random, std::uint64_t eager) {
  SimulationOptions options;
  for (LevelCost& c : options.cost) {
    c.L = large(random);
    c.o_send = large(random);
    c.o_recv = large(random);
    c.g = large(random);
    c.G = static_cast<double>(1 + below(random, 1000));
    c.O = static_cast<double>(1 + below(random, 1000));
    c.S = eager;
    c.per_hop = large(random);
  }
  options.copy_rate = static_cast<double>(1 + below(random, 1000));
  options.reduce_rate = static_cast<double>(1 + below(random, 1000));
  options.receive = once_in(random, 2) ? Receive::loggp : Receive::loggopsim;
  return options;
}

Schedule transitive_schedule(Random& random, const Recipe& recipe) {
  const Rank kinds = recipe.kinds, p = recipe.ranks / kinds;
  const std::uint64_t shape = below(random, std::has_single_bit(p) ? 3 : 2);
  // A torus of `width` columns; 1 is a circle.
  Rank width = 1;
  if (shape == 1)
    for (Rank w = 2; w * w <= p; ++w)
      if (p % w == 0) width = w;
  const auto neighbour = [&](Rank cell, Rank offset, bool forth) -> Rank {
    if (shape == 2) return cell ^ offset;
    const Rank height = p / width;
    const Rank dx = offset % width, dy = offset / width;
    const Rank x = cell % width, y = cell / width;
    return forth ? (x + dx) % width + (y + dy) % height * width
                 : (x + width - dx) % width + (y + height - dy) % height * width;
  };
  // The programs of one cell; where the other rank of a message is, by operation.
  struct Other {
    Rank offset, kind;
  };
  std::vector<Draft> drafts(kinds);
  std::vector<std::vector<Other>> others(kinds);
  const auto add = [&](Rank kind, Operation op, Other other) {
    op.cpu = static_cast<std::uint8_t>(below(random, recipe.cpus));
    drafts[kind].ops.push_back(op);
    others[kind].push_back(other);
    depend(random, recipe, drafts[kind]);
  };
  for (std::uint32_t step = 0; step < recipe.steps; ++step) {
    const auto a = static_cast<Rank>(below(random, kinds)), b = static_cast<Rank>(below(random, kinds));
    if (once_in(random, 3)) {
      add(a, local(random, recipe), {0, a});
      continue;
    }
    const auto offset = static_cast<Rank>(a == b ? 1 + below(random, p - 1) : below(random, p));
    Operation op;
    op.tag = static_cast<std::uint32_t>(below(random, recipe.tags));
    op.comm = static_cast<std::uint32_t>(below(random, recipe.comms));
    op.amount = amount(random, recipe, recipe.most_bytes);
    // All cells do the same: where a send waits for its receive's like, all are stuck.
    const bool send_first = !once_in(random, 10);
    for (const bool send : {send_first, !send_first}) {
      op.kind = send ? OpKind::send : OpKind::recv;
      add(send ? a : b, op, {offset, send ? b : a});
    }
  }
  ScheduleBuilder builder;
  const std::uint64_t order = random();
  for (Rank r = 0; r < p * kinds; ++r) {
    const Rank cell = r / kinds, kind = r % kinds;
    Draft mine = drafts[kind];
    for (std::size_t i = 0; i < mine.ops.size(); ++i) {
      Operation& op = mine.ops[i];
      const Other& other = others[kind][i];
      if (op.kind == OpKind::send || op.kind == OpKind::recv)
        op.peer = neighbour(cell, other.offset, op.kind == OpKind::send) * kinds + other.kind;
    }
    Random same(order);
    append(same, recipe, mine, builder);
  }
  return builder.build();
}

}  // namespace isthmus::test

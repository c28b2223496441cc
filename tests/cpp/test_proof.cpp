// The parts of proofs, each against something slow and obvious.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "proof/accesses.hpp"
#include "proof/contents.hpp"
#include "proof/contract.hpp"
#include "proof/contributions.hpp"
#include "proof/local_order.hpp"
#include "schedule/builder.hpp"

using namespace isthmus;
using namespace isthmus::schedule;
using namespace isthmus::proof;

namespace {

std::set<Rank> members(const Contributions& sets, Contributions::Set set) {
  std::set<Rank> out;
  for (const RankRange& range : sets.ranges(set)) {
    CHECK(range.first < range.end);
    for (Rank r = range.first; r < range.end; ++r) CHECK(out.insert(r).second);
  }
  return out;
}

/// One rank of calcs with random dependencies, also on operations that stand behind.
Schedule random_rank(Rng& rng, std::uint32_t ops, std::uint32_t edges) {
  std::vector<std::uint32_t> place(ops);
  for (std::uint32_t i = 0; i < ops; ++i) place[i] = i;
  if (rng.below(2) == 0) {
    for (std::uint32_t i = ops; i > 1; --i) std::swap(place[i - 1], place[rng.below(i)]);
  }
  RankBuilder rank;
  for (std::uint32_t i = 0; i < ops; ++i) rank.add(Operation{});
  for (std::uint32_t e = 0; e < edges; ++e) {
    const std::uint32_t a = rng.below(ops), b = rng.below(ops);
    if (a == b) continue;
    const std::uint32_t on = place[std::min(a, b)], op = place[std::max(a, b)];
    if (rng.below(3) == 0) rank.require_start(op, on);
    else rank.require(op, on);
  }
  ScheduleBuilder out;
  out.append(rank);
  return out.build();
}

}  // namespace

TEST_CASE("sets of ranks turn round the circle") {
  Rng rng(6);
  constexpr Rank ranks = 11;
  Contributions sets(ranks);
  for (int trial = 0; trial < 500; ++trial) {
    Contributions::Set set = Contributions::nothing;
    for (Rank n = rng.below(ranks + 1); n > 0; --n) set = sets.all_of(set, sets.single(rng.below(ranks)));
    const Rank by = rng.below(ranks);
    std::set<Rank> wanted;
    for (const Rank r : members(sets, set)) wanted.insert((r + by) % ranks);
    const Contributions::Set turned = sets.rotated(set, by);
    CHECK(members(sets, turned) == wanted);
    CHECK(sets.rotated(turned, (ranks - by) % ranks) == set);
  }
  CHECK(sets.rotated(Contributions::unknown, 3) == Contributions::unknown);
}

TEST_CASE("contracts stay the same under their rotations") {
  // Byte by byte: what the next rank holds is what this one holds, turned.
  using Bytes = std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::uint64_t, std::set<Rank>>>;
  std::size_t checked = 0;
  for (const CollectiveKind kind :
       {CollectiveKind::barrier, CollectiveKind::bcast, CollectiveKind::reduce, CollectiveKind::allreduce,
        CollectiveKind::scan, CollectiveKind::exscan, CollectiveKind::gather, CollectiveKind::allgather,
        CollectiveKind::scatter, CollectiveKind::alltoall, CollectiveKind::reduce_scatter}) {
    for (Rank ranks = 2; ranks <= 6; ++ranks) {
      for (const std::uint64_t bytes : {0, 1, 3, 5, 12}) {
        for (const bool in_place : {false, true}) {
          CollectiveCall call;
          call.kind = kind;
          call.ranks = ranks;
          call.bytes = bytes;
          call.in_place = in_place;
          const Contract contract = contract_of(call, false);
          for (const Rotation& rotation : contract.rotations) {
            const auto held = [&](const Contract::Holdings& list, Rank rank, Rank turn) {
              std::vector<Holding> holdings;
              list(rank, holdings);
              const auto moved = [&](std::uint64_t at, std::uint64_t block) {
                return block == 0 || turn == 0 ? at : (at + block) % (block * ranks);
              };
              Bytes out;
              for (const Holding& h : holdings) {
                std::set<Rank> of;
                for (Rank r = h.ranks.first; r < h.ranks.end; ++r) of.insert((r + turn) % ranks);
                for (std::uint64_t b = 0; b < h.bytes; ++b) {
                  out[{h.buffer, moved(h.offset + b, rotation.buffers[h.buffer])}] = {
                      moved(h.origin + b, rotation.origin), of};
                }
              }
              return out;
            };
            for (Rank r = 0; r < ranks; ++r) {
              for (const auto& list : {contract.start, contract.end}) {
                CHECK(held(list, r, 1) == held(list, (r + 1) % ranks, 0));
              }
            }
            ++checked;
          }
        }
      }
    }
  }
  CHECK(checked > 100);
}

TEST_CASE("equal sets of ranks have equal numbers") {
  Rng rng(5);
  constexpr Rank ranks = 12;
  Contributions sets(ranks);
  std::vector<std::set<Rank>> known(2);
  for (Rank r = 0; r < ranks; ++r) known.push_back({r});
  for (int step = 0; step < 5000; ++step) {
    const auto a = static_cast<Contributions::Set>(2 + rng.below(static_cast<std::uint32_t>(known.size() - 2)));
    const auto b = static_cast<Contributions::Set>(2 + rng.below(static_cast<std::uint32_t>(known.size() - 2)));
    std::set<Rank> both = known[a];
    both.insert(known[b].begin(), known[b].end());
    const bool apart = both.size() == known[a].size() + known[b].size();
    const bool next = *known[a].rbegin() + 1 == *known[b].begin();
    CHECK((sets.common(a, b) == any_rank) == apart);
    const Contributions::Set sum = sets.sum(a, b), all = sets.all_of(a, b);
    CHECK((sum == Contributions::nothing) == !apart);
    CHECK((sets.concatenation(a, b) != Contributions::nothing) == (apart && next));
    CHECK(members(sets, all) == both);
    if (apart) CHECK(sum == all);
    if (all >= known.size()) {
      REQUIRE(all == known.size());
      for (const auto& other : known) CHECK(other != both);
      known.push_back(both);
    } else {
      CHECK(known[all] == both);
    }
  }
  CHECK(sets.range({0, ranks}) == sets.all_of(sets.range({0, 5}), sets.range({3, ranks})));
}

TEST_CASE("contents are what was written last") {
  Rng rng(6);
  struct Byte {
    Contributions::Set set = Contributions::nothing;
    std::uint64_t origin = 0;
    bool operator==(const Byte&) const = default;
  };
  for (int round = 0; round < 50; ++round) {
    constexpr std::uint32_t size = 60;
    Contents contents;
    std::vector<Byte> bytes(size);
    for (int step = 0; step < 60; ++step) {
      const std::uint32_t offset = rng.below(size);
      std::vector<Piece> pieces;
      std::uint32_t at = offset;
      while (at < size && rng.below(4) != 0) {
        const std::uint32_t length = rng.below(std::min(size - at, 9U) + 1);
        const auto set = static_cast<Contributions::Set>(1 + rng.below(3));
        const std::uint64_t origin = rng.below(2) == 0 ? at : rng.below(5);
        pieces.push_back({length, origin, set});
        for (std::uint32_t i = 0; i < length; ++i) bytes[at + i] = {set, set == 1 ? 0 : origin + i};
        at += length;
      }
      contents.write(offset, pieces);
      const std::uint32_t from = rng.below(size), to = from + rng.below(size - from + 1);
      std::vector<Piece> found;
      contents.read(from, to - from, found);
      std::vector<Byte> seen;
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i].bytes > 0);
        for (std::uint64_t b = 0; b < found[i].bytes; ++b) {
          seen.push_back({found[i].set, found[i].set <= 1 ? 0 : found[i].origin + b});
        }
      }
      CHECK(seen == std::vector<Byte>(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                                      bytes.begin() + static_cast<std::ptrdiff_t>(to)));
    }
  }
}

TEST_CASE("the order of a rank is that of its paths") {
  Rng rng(7);
  LocalOrder order;
  for (int round = 0; round < 60; ++round) {
    const auto n = 2 + rng.below(25);
    const Schedule s = random_rank(rng, n, rng.below(3 * n));
    order.load(s, 0);
    // reach[a][b]: b begins no earlier than a begins; after[a][b]: than a is done.
    std::vector<std::vector<bool>> reach(n, std::vector<bool>(n)), after = reach;
    for (std::uint32_t i = n; i-- > 0;) {
      const std::uint32_t a = order.order()[i];
      reach[a][a] = true;
      for (const Edge edge : s.dependants(0, a)) {
        CHECK(order.position(edge.to()) > i);
        for (std::uint32_t b = 0; b < n; ++b) {
          if (!reach[edge.to()][b]) continue;
          reach[a][b] = true;
          if (!edge.on_start()) after[a][b] = true;
        }
      }
    }
    for (std::uint32_t a = 0; a < n; ++a) {
      for (std::uint32_t b = 0; b < n; ++b) {
        // Many questions: from some number on a table answers.
        CHECK(order.done_before(a, b) == after[a][b]);
        CHECK(order.begins_before(a, b) == reach[a][b]);
        if (order.surely_done_before(a, b)) CHECK(after[a][b]);
      }
    }
  }
}

TEST_CASE("accesses that may meet are found") {
  Rng rng(8);
  LocalOrder order;
  for (int round = 0; round < 300; ++round) {
    const auto n = 2 + rng.below(8);
    const Schedule s = random_rank(rng, n, rng.below(4 * n));
    order.load(s, 0);
    struct Access {
      std::uint64_t begin, end;
      bool writes;
    };
    std::vector<Access> all;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t begin = rng.below(20);
      all.push_back({begin, begin + rng.below(20 - begin) + 1, rng.below(2) == 0});
    }
    bool wanted = false;
    for (std::uint32_t a = 0; a < n; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        const bool meet = all[a].begin < all[b].end && all[b].begin < all[a].end && (all[a].writes || all[b].writes);
        wanted = wanted || (meet && !order.done_before(a, b) && !order.done_before(b, a));
      }
    }
    Accesses accesses;
    accesses.clear(20);
    bool found = false;
    const auto ordered = [&](std::uint64_t a, std::uint64_t b) {
      return order.done_before(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
    };
    const auto surely = [&](std::uint64_t a, std::uint64_t b) {
      return order.surely_done_before(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
    };
    for (const std::uint32_t op : order.order()) {
      accesses.add(op, all[op].begin, all[op].end, all[op].writes, ordered, surely,
                   [&](std::uint64_t, std::uint64_t, std::uint64_t) { found = true; });
    }
    CHECK(found == wanted);
  }
}

// Every algorithm against what its collective must achieve and against the closed forms of the literature.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collectives/collective_schedule.hpp"
#include "collectives/registry.hpp"
#include "sample.hpp"
#include "schedule/names.hpp"
#include "untimed.hpp"

namespace isthmus::test {
using namespace schedule;
using namespace collectives;
namespace {

using enum CollectiveKind;

std::uint64_t log2_up(std::uint64_t n) { return static_cast<std::uint64_t>(std::bit_width(n - 1)); }

std::vector<Rank> rank_counts() {
  std::vector<Rank> counts;
  for (Rank n = 1; n <= 20; ++n) counts.push_back(n);
  counts.insert(counts.end(), {32, 33});
  return counts;
}

std::vector<CollectiveKind> kinds() {
  std::vector<CollectiveKind> all;
  for (std::uint8_t k = 1; k < collective_kinds; ++k) all.push_back(static_cast<CollectiveKind>(k));
  return all;
}

std::string label(CollectiveKind kind) { return name_of(kind); }

bool rooted(CollectiveKind kind) { return kind == bcast || kind == reduce || kind == gather || kind == scatter; }

/// Ranks whose beginning the end of `rank` must depend on.
std::uint64_t must_know(CollectiveKind kind, Rank rank, Rank ranks, Rank root) {
  const std::uint64_t all = (std::uint64_t{1} << ranks) - 1;
  switch (kind) {
    case bcast:
    case scatter: return std::uint64_t{1} << root;
    case reduce:
    case gather: return rank == root ? all : 0;
    case scan:
    case exscan: return (std::uint64_t{1} << rank) - 1;
    case neighbor_alltoall: return 0;
    default: return all;
  }
}

struct Totals {
  std::uint64_t messages = 0, bytes = 0, reduced = 0, copied = 0, depth = 0;
};

/// Runs it in several orders: no deadlock, sizes agree at both ends, ends know what they must. Returns what it moved.
Totals checked(const CollectiveCall& call, const std::string& name) {
  CAPTURE(label(call.kind));
  CAPTURE(name);
  CAPTURE(call.ranks);
  CAPTURE(call.root);
  CAPTURE(call.bytes);
  const Schedule s = collective_schedule(call, find_algorithm(call.kind, name));
  REQUIRE(s.ranks == call.ranks);
  CHECK(s.ops.capacity() == s.ops.size());
  CHECK(s.edges.capacity() == s.edges.size());
  Totals totals;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Run run = run_untimed(s, seed == 1, seed);
    REQUIRE(run.left == 0);
    totals = {};
    for (std::size_t op = 0; op < s.ops.size(); ++op) {
      const Operation& o = s.ops[op];
      if (o.kind == OpKind::reduce) totals.reduced += o.amount;
      if (o.kind == OpKind::copy) totals.copied += o.amount;
      if (o.kind == OpKind::reduce || o.kind == OpKind::copy) REQUIRE(o.amount > 0);
      totals.depth = std::max<std::uint64_t>(totals.depth, run.depth[op]);
      if (o.kind != OpKind::send && o.kind != OpKind::recv) continue;
      REQUIRE(run.partner[op] >= 0);
      REQUIRE(s.ops[static_cast<std::size_t>(run.partner[op])].amount == o.amount);
      if (o.kind == OpKind::send) totals.messages += 1, totals.bytes += o.amount;
    }
    for (Rank r = 0; r < call.ranks; ++r) {
      std::uint64_t knows = std::uint64_t{1} << r;
      for (const std::uint64_t end : ends_of(s, r)) knows |= run.knows[end];
      const std::uint64_t must = must_know(call.kind, r, call.ranks, call.root);
      REQUIRE((knows & must) == must);
    }
  }
  return totals;
}

/// Messages, bytes, reduced bytes and longest chain of messages for P ranks and n bytes.
struct ClosedForm {
  using Form = std::function<std::uint64_t(std::uint64_t)>;
  Form messages, depth, bytes, reduced;
};

std::map<std::pair<CollectiveKind, std::string>, ClosedForm> closed_forms(std::uint64_t n) {
  const auto zero = [](std::uint64_t) { return std::uint64_t{0}; };
  const auto one = [](std::uint64_t p) { return std::uint64_t{p > 1}; };
  const auto two = [](std::uint64_t p) { return std::uint64_t{p > 1 ? 2u : 0u}; };
  const auto chain = [](std::uint64_t p) { return p - 1; };
  const auto chain2 = [](std::uint64_t p) { return 2 * (p - 1); };
  const auto log = [](std::uint64_t p) { return log2_up(p); };
  // The place with the most bits has the most ancestors.
  const auto tree = [](std::uint64_t p) {
    std::uint64_t most = 0;
    for (std::uint64_t v = 0; v < p; ++v)
      most = std::max<std::uint64_t>(most, static_cast<std::uint64_t>(std::popcount(v)));
    return most;
  };
  const auto tree2 = [tree](std::uint64_t p) { return 2 * tree(p); };
  const auto p_log = [](std::uint64_t p) { return p * log2_up(p); };
  const auto pairs = [](std::uint64_t p) { return p * (p - 1); };
  const auto pairs2 = [](std::uint64_t p) { return 2 * p * (p - 1); };
  const auto of_n = [n](const ClosedForm::Form& f) { return [n, f](std::uint64_t p) { return n * f(p); }; };
  // Sizes of all subtrees but the whole tree.
  const auto subtrees = [](std::uint64_t p) {
    std::uint64_t total = 0;
    for (std::uint64_t v = 1; v < p; ++v) total += std::min(v & (~v + 1), p - v);
    return total;
  };
  // Fold of the excess over a power of two, exchanges among the rest, and back.
  const auto folded = [](std::uint64_t p) {
    const std::uint64_t q = std::bit_floor(p);
    return q * log2_up(q) + 2 * (p - q);
  };
  const auto folded_depth = [](std::uint64_t p) {
    const std::uint64_t q = std::bit_floor(p);
    if (p == q) return log2_up(q);
    // Handing over, an exchange in every round and handing back are one chain only if a place and its complement fold.
    return log2_up(q) + (2 * (p - q) > q ? 2 : 1);
  };
  const auto folded_reductions = [](std::uint64_t p) {
    const std::uint64_t q = std::bit_floor(p);
    return q * log2_up(q) + (p - q);
  };
  // Every rank exchanges with its number with one bit flipped, where that is a rank.
  const auto exchanges = [](std::uint64_t p) {
    std::uint64_t total = 0;
    for (std::uint64_t r = 0; r < p; ++r) {
      for (std::uint64_t bit = 1; bit < p; bit <<= 1) total += (r ^ bit) < p;
    }
    return total;
  };
  // Of those, each makes one reduction of what has been heard, and the upper one of the pair one of its result.
  const auto scan_reductions = [exchanges](std::uint64_t p) { return exchanges(p) + exchanges(p) / 2; };
  // An exclusive result starts as a copy, on all ranks but the first.
  const auto exscan_reductions = [scan_reductions](std::uint64_t p) { return scan_reductions(p) - (p - 1); };
  const auto exscan_chain = [](std::uint64_t p) { return p > 2 ? p - 2 : 0; };
  // The number with the most digits to the base 4 that are not 0; the last place of a tree that is filled by levels.
  const auto tree4 = [](std::uint64_t p) {
    std::uint64_t most = 0;
    for (std::uint64_t v = 0; v < p; ++v) {
      std::uint64_t digits = 0;
      for (std::uint64_t rest = v; rest != 0; rest /= 4) digits += rest % 4 != 0;
      most = std::max(most, digits);
    }
    return most;
  };
  const auto levels = [](std::uint64_t radix) {
    return [radix](std::uint64_t p) {
      std::uint64_t depth = 0;
      for (std::uint64_t place = p - 1; place != 0; place = (place - 1) / radix) ++depth;
      return depth;
    };
  };
  const auto tree4_2 = [tree4](std::uint64_t p) { return 2 * tree4(p); };
  const auto levels2_2 = [levels](std::uint64_t p) { return 2 * levels(2)(p); };
  const auto chains4 = [](std::uint64_t p) { return (p - 1 + 3) / 4; };
  const auto windows4 = [chains4](std::uint64_t p) { return 2 * chains4(p); };
  const auto log3 = [](std::uint64_t p) {
    std::uint64_t rounds = 0;
    for (std::uint64_t known = 1; known < p; known *= 3) ++rounds;
    return rounds;
  };
  const auto two_ways = [](std::uint64_t p) {
    std::uint64_t messages = 0;
    for (std::uint64_t known = 1; known < p; known *= 3) messages += std::min<std::uint64_t>(2, (p - 1) / known);
    return p * messages;
  };
  // Halves in two trees; two ranks take the whole.
  const auto halves = [](std::uint64_t p) { return p > 2 ? 2 * (p - 1) : p - 1; };
  const auto subtrees4 = [](std::uint64_t p) {
    std::uint64_t total = 0;
    for (std::uint64_t v = 1; v < p; ++v) {
      std::uint64_t span = 1;
      while (v % (4 * span) == 0) span *= 4;
      total += std::min(span, p - v);
    }
    return total;
  };
  const auto linear_allgather = [](std::uint64_t p) { return (p - 1) + (p - 1) * p; };
  const auto linear_reduce_scatter = [](std::uint64_t p) { return (p - 1) * p + (p - 1); };
  return {
      {{barrier, "dissemination"}, {p_log, log, zero, zero}},
      {{barrier, "binomial"}, {chain2, tree2, zero, zero}},
      {{barrier, "linear"}, {chain2, two, zero, zero}},
      {{barrier, "knomial"}, {chain2, tree4_2, zero, zero}},
      {{barrier, "kary"}, {chain2, levels2_2, zero, zero}},
      {{barrier, "recursive_doubling"}, {folded, folded_depth, zero, zero}},
      {{barrier, "nway"}, {two_ways, log3, zero, zero}},
      {{bcast, "binomial"}, {chain, tree, of_n(chain), zero}},
      {{bcast, "linear"}, {chain, one, of_n(chain), zero}},
      {{bcast, "ring"}, {chain, chain, of_n(chain), zero}},
      {{reduce, "binomial"}, {chain, tree, of_n(chain), of_n(chain)}},
      {{reduce, "linear"}, {chain, one, of_n(chain), of_n(chain)}},
      {{reduce, "ring"}, {chain, chain, of_n(chain), of_n(chain)}},
      {{bcast, "knomial"}, {chain, tree4, of_n(chain), zero}},
      {{bcast, "kary"}, {chain, levels(4), of_n(chain), zero}},
      {{bcast, "binary"}, {chain, levels(2), of_n(chain), zero}},
      {{bcast, "chain"}, {chain, chains4, of_n(chain), zero}},
      {{bcast, "pipeline"}, {chain, chain, of_n(chain), zero}},
      {{bcast, "split_binary"}, {halves, nullptr, of_n(chain), zero}},
      {{bcast, "double_tree"}, {halves, nullptr, of_n(chain), zero}},
      {{reduce, "knomial"}, {chain, tree4, of_n(chain), of_n(chain)}},
      {{reduce, "kary"}, {chain, levels(4), of_n(chain), of_n(chain)}},
      {{reduce, "binary"}, {chain, levels(2), of_n(chain), of_n(chain)}},
      {{reduce, "chain"}, {chain, chains4, of_n(chain), of_n(chain)}},
      {{reduce, "pipeline"}, {chain, chain, of_n(chain), of_n(chain)}},
      {{reduce, "split_binary"}, {halves, nullptr, of_n(chain), of_n(chain)}},
      {{reduce, "double_tree"}, {halves, nullptr, of_n(chain), of_n(chain)}},
      {{gather, "knomial"}, {chain, tree4, of_n(subtrees4), zero}},
      {{gather, "linear_sync"}, {chain2, windows4, of_n(chain), zero}},
      {{scatter, "knomial"}, {chain, tree4, of_n(subtrees4), zero}},
      {{scatter, "linear_sync"}, {chain2, windows4, of_n(chain), zero}},
      {{allreduce, "recursive_doubling"}, {folded, folded_depth, of_n(folded), of_n(folded_reductions)}},
      {{allreduce, "binomial"}, {chain2, tree2, of_n(chain2), of_n(chain)}},
      {{allreduce, "linear"}, {chain2, two, of_n(chain2), of_n(chain)}},
      {{allreduce, "ring"}, {pairs2, chain2, of_n(chain2), of_n(chain)}},
      {{gather, "binomial"}, {chain, tree, of_n(subtrees), zero}},
      {{gather, "linear"}, {chain, one, of_n(chain), zero}},
      {{scatter, "binomial"}, {chain, tree, of_n(subtrees), zero}},
      {{scatter, "linear"}, {chain, one, of_n(chain), zero}},
      {{allgather, "ring"}, {pairs, chain, of_n(pairs), zero}},
      {{allgather, "dissemination"}, {p_log, log, of_n(pairs), zero}},
      {{allgather, "linear"}, {chain2, two, of_n(linear_allgather), zero}},
      {{allgather, "recursive_doubling"}, {folded, folded_depth, nullptr, zero}},
      {{alltoall, "pairwise"}, {pairs, chain, of_n(pairs), zero}},
      {{alltoall, "linear"}, {pairs, one, of_n(pairs), zero}},
      {{reduce_scatter, "pairwise"}, {pairs, chain, of_n(pairs), of_n(pairs)}},
      {{reduce_scatter, "ring"}, {pairs, chain, of_n(pairs), of_n(pairs)}},
      {{reduce_scatter, "linear"}, {chain2, two, of_n(linear_reduce_scatter), of_n(pairs)}},
      {{scan, "linear"}, {chain, chain, of_n(chain), of_n(chain)}},
      {{scan, "recursive_doubling"}, {exchanges, log, of_n(exchanges), of_n(scan_reductions)}},
      {{exscan, "linear"}, {chain, chain, of_n(chain), of_n(exscan_chain)}},
      {{exscan, "recursive_doubling"}, {exchanges, log, of_n(exchanges), of_n(exscan_reductions)}},
  };
}

TEST_CASE("algorithms do what their collective is for, with the messages of the literature") {
  struct Case {
    CollectiveKind kind;
    std::string name;
    Rank ranks;
  };
  std::vector<Case> cases;
  for (const CollectiveKind kind : kinds()) {
    if (kind == neighbor_alltoall) continue;
    for (const std::string& name : algorithms(kind)) {
      for (const Rank ranks : rank_counts()) cases.push_back({kind, name, ranks});
    }
  }
  const testing::Sample sample("algorithms", cases.size(), cases.size() / 3);
  for (const std::uint64_t bytes : {0, 7, 1000}) {
    const auto forms = closed_forms(bytes);
    for (const std::size_t i : sample.cases) {
      const auto& [kind, name, ranks] = cases[i];
      CAPTURE(label(kind));
      CAPTURE(name);
      const auto known = forms.find({kind, name});
      for (const Rank root : {Rank{0}, ranks / 2, ranks - 1}) {
        if (root != 0 && !rooted(kind)) continue;
        CAPTURE(ranks);
        CAPTURE(root);
        CAPTURE(bytes);
        CollectiveCall call;
        call.kind = kind;
        call.ranks = ranks;
        call.root = root;
        call.bytes = kind == barrier ? 0 : bytes;
        const Totals t = checked(call, name);
        if (known == forms.end()) continue;
        const ClosedForm& form = known->second;
        CHECK(t.messages == form.messages(ranks));
        if (form.depth) CHECK(t.depth == form.depth(ranks));
        if (form.bytes) CHECK(t.bytes == form.bytes(ranks));
        CHECK(t.reduced == form.reduced(ranks));
      }
    }
  }
}

TEST_CASE("copies: Bruck turns blocks into place, scans keep what they have heard beside what they end with") {
  CollectiveCall call;
  call.bytes = 10;
  for (const Rank ranks : rank_counts()) {
    call.ranks = ranks;
    call.kind = allgather;
    CHECK(checked(call, "dissemination").copied == 10 * std::uint64_t{ranks} * (ranks - 1));
    CHECK(checked(call, "ring").copied == 0);
    call.kind = exscan;
    CHECK(checked(call, "recursive_doubling").copied == (ranks == 1 ? 0 : 10 * (2 * std::uint64_t{ranks} - 1)));
    call.kind = scan;
    CHECK(checked(call, "recursive_doubling").copied == (ranks == 1 ? 0 : 10 * std::uint64_t{ranks}));
  }
}

std::uint64_t amount_of(const Schedule& s, Rank rank, OpKind kind) {
  std::uint64_t total = 0;
  for (const Operation& o : s.ops_of(rank)) total += o.kind == kind ? o.amount : 0;
  return total;
}

TEST_CASE("what a rank keeps is what the collective gives it, block by block") {
  for (const Rank ranks : rank_counts()) {
    std::vector<std::int64_t> counts(ranks);
    std::uint64_t all = 0;
    for (Rank r = 0; r < ranks; ++r) all += static_cast<std::uint64_t>(counts[r] = (r * 37 + 5) % 11);
    for (const CollectiveKind kind : {gather, scatter, allgather, reduce_scatter}) {
      for (const std::string& name : algorithms(kind)) {
        for (const Rank root : {Rank{0}, ranks / 2, ranks - 1}) {
          CAPTURE(ranks);
          CAPTURE(root);
          CAPTURE(label(kind));
          CAPTURE(name);
          CollectiveCall call;
          call.kind = kind;
          call.ranks = ranks;
          call.root = rooted(kind) ? root : 0;
          call.counts = counts;
          checked(call, name);
          const Schedule s = collective_schedule(call, find_algorithm(kind, name));
          std::uint64_t reduced = 0;
          for (Rank r = 0; r < ranks; ++r) {
            const auto in = static_cast<std::int64_t>(amount_of(s, r, OpKind::recv));
            const auto out = static_cast<std::int64_t>(amount_of(s, r, OpKind::send));
            const auto rest = static_cast<std::int64_t>(all) - counts[r];
            reduced += amount_of(s, r, OpKind::reduce);
            if (kind == gather) CHECK(in - out == (r == root ? rest : -counts[r]));
            if (kind == scatter) CHECK(in - out == (r == root ? -rest : counts[r]));
            const bool direct = name == "ring" || name == "dissemination" || std::has_single_bit(ranks);
            if (kind == allgather && name != "linear" && direct) CHECK(in == rest);
            if (kind == reduce_scatter && name == "pairwise") {
              CHECK(out == rest);
              CHECK(in == std::int64_t{ranks - 1} * counts[r]);
            }
          }
          CHECK(reduced == (kind == reduce_scatter ? (ranks - 1) * all : 0));
        }
      }
    }
  }
}

TEST_CASE("schedules are the same from several threads as from one") {
  CollectiveCall call;
  call.ranks = 20'000;
  call.bytes = 100;
  for (const auto& [kind, name] : {std::pair{allreduce, "recursive_doubling"}, {reduce_scatter, "recursive_halving"}}) {
    call.kind = kind;
    Algorithm algorithm = find_algorithm(kind, name);
    CHECK(algorithm.concurrent);
    const Schedule several = collective_schedule(call, algorithm, true);
    REQUIRE(several.ops.size() > 600'000);
    algorithm.concurrent = false;
    const Schedule one = collective_schedule(call, algorithm, true);
    CHECK(several.op_first == one.op_first);
    CHECK(several.edge_first == one.edge_first);
    CHECK(several.buffers.bytes == one.buffers.bytes);
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
    };
    CHECK(same(several.ops, one.ops));
    CHECK(same(several.edges, one.edges));
    CHECK(same(several.slices, one.slices));
  }
}

TEST_CASE("an algorithm that does not write what it counted is refused") {
  CollectiveCall call;
  call.ranks = 2;
  int calls = 0;
  const Algorithm fickle([&](const CollectiveCall&, Emitter& out) {
    for (int i = 0; i < (calls < 2 ? 1 : 2); ++i) out.copy(8);
    ++calls;
  });
  CHECK_THROWS_WITH_AS(collective_schedule(call, fickle),
                       "rank 0 has 2 operations and 0 dependencies, more than were counted", InvalidInput);
}

TEST_CASE("ring allreduce: blocks of floor and ceil of bytes / ranks") {
  for (const Rank ranks : rank_counts()) {
    for (const std::uint64_t bytes : {0, 1, 19, 1000}) {
      CollectiveCall call;
      call.kind = allreduce;
      call.ranks = ranks;
      call.bytes = bytes;
      const Schedule s = collective_schedule(call, find_algorithm(allreduce, "ring"));
      for (Rank r = 0; r < ranks; ++r) {
        std::uint64_t sends = 0;
        for (const Operation& o : s.ops_of(r)) {
          if (o.kind != OpKind::send) continue;
          ++sends;
          CHECK((o.amount == bytes / ranks || o.amount == (bytes + ranks - 1) / ranks));
          CHECK(o.peer == (r + 1) % ranks);
        }
        CHECK(sends == 2 * (ranks - 1));
      }
    }
  }
}

TEST_CASE("alltoall with counts moves the matrix") {
  for (const Rank ranks : rank_counts()) {
    std::vector<std::int64_t> matrix(std::size_t{ranks} * ranks);
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
    for (Rank i = 0; i < ranks; ++i) {
      for (Rank j = 0; j < ranks; ++j) {
        const std::int64_t count = matrix[std::size_t{i} * ranks + j] = (i * 5 + j * 3) % 4;
        if (i != j) bytes += static_cast<std::uint64_t>(count), messages += count != 0;
      }
    }
    CollectiveCall call;
    call.kind = alltoall;
    call.ranks = ranks;
    call.counts = matrix;
    // Without the causality of a full alltoall: empty messages of the linear algorithm are not sent.
    for (const std::string& name : algorithms(alltoall)) {
      const Schedule s = collective_schedule(call, find_algorithm(alltoall, name));
      const Run run = run_untimed(s, false, 1);
      CHECK(run.left == 0);
      std::uint64_t sent = 0;
      std::uint64_t sends = 0;
      for (Rank r = 0; r < ranks; ++r) {
        for (const Operation& o : s.ops_of(r)) {
          if (o.kind == OpKind::send)
            CHECK(o.amount == static_cast<std::uint64_t>(matrix[std::size_t{r} * ranks + o.peer]));
          if (o.kind == OpKind::recv)
            CHECK(o.amount == static_cast<std::uint64_t>(matrix[std::size_t{o.peer} * ranks + r]));
          if (o.kind == OpKind::send) sent += o.amount, ++sends;
        }
      }
      CHECK(sent == bytes);
      CHECK(sends == (name == "linear" ? messages : std::uint64_t{ranks} * (ranks - 1)));
    }
  }
}

TEST_CASE("linear alltoall: everything at once, starting with the next rank") {
  CollectiveCall call;
  call.kind = alltoall;
  call.ranks = 5;
  call.bytes = 1;
  const Schedule s = collective_schedule(call, find_algorithm(alltoall, "linear"));
  CHECK(s.edges.empty());
  std::vector<Rank> to;
  for (const Operation& o : s.ops_of(3)) {
    if (o.kind == OpKind::send) to.push_back(o.peer);
  }
  CHECK(to == std::vector<Rank>{4, 0, 1, 2});
}

TEST_CASE("dissemination: both halves of a round wait for both of the round before") {
  CollectiveCall call;
  call.ranks = 5;
  const Schedule s = collective_schedule(call, find_algorithm(barrier, ""));
  REQUIRE(s.ops_in(4) == 6);
  const auto ops = s.ops_of(4);
  CHECK(ops[2].peer == 1);
  CHECK(ops[3].peer == 2);
  for (std::uint32_t op = 0; op < 6; ++op) {
    CHECK(ops[op].needs == (op < 2 ? 0 : 2));
    const auto edges = s.dependants(4, op);
    REQUIRE(edges.size() == (op < 4 ? 2 : 0));
    for (const Edge& e : edges) CHECK((e.to() / 2 == op / 2 + 1 && !e.on_start()));
  }
}

TEST_CASE("neighbours exchange their messages, in their order") {
  const std::vector<std::int64_t> messages = {0, 1, 10, 1, 0, 20, 0, 1, 30, 2, 2, 5, 2, 0, 0};
  CollectiveCall call;
  call.kind = neighbor_alltoall;
  call.ranks = 3;
  call.counts = messages;
  const Totals t = checked(call, "linear");
  CHECK(t.messages == 4);
  CHECK(t.bytes == 65);
  const Schedule s = collective_schedule(call, find_algorithm(neighbor_alltoall, ""));
  const Run run = run_untimed(s, true, 7);
  CHECK(run.left == 0);
}

TEST_CASE("wrong collectives are rejected with a reason") {
  const auto reason = [](const CollectiveCall& call) -> std::string {
    try {
      collective_schedule(call, find_algorithm(call.kind, ""));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  CollectiveCall call;
  call.ranks = 0;
  CHECK(reason(call) == "barrier: 0 ranks; must be 1 to 4294967294");
  call.ranks = 4;
  call.kind = bcast;
  call.root = 4;
  CHECK(reason(call) == "bcast: root 4 does not exist: there are 4 ranks");
  call.root = 0;
  const std::vector<std::int64_t> counts = {1, 2, -3};
  call.counts = counts;
  CHECK(reason(call) == "bcast: takes no counts");
  call.kind = gather;
  CHECK(reason(call) == "gather: 3 counts for 4 ranks");
  call.ranks = 3;
  CHECK(reason(call) == "gather: count -3 is negative");
  call.kind = alltoall;
  CHECK(reason(call) == "alltoall: 3 counts: expected one for each pair of 3 ranks");
  call.kind = neighbor_alltoall;
  CHECK(reason(call) == "neighbor_alltoall: count -3 is negative");
  call.ranks = 2;
  CHECK(reason(call) == "neighbor_alltoall: rank 2 does not exist: there are 2 ranks");
  call = {};
  call.kind = allgather;
  call.ranks = 4;
  call.bytes = ~std::uint64_t{0} / 4;
  CHECK(reason(call) == "allgather: 4611686018427387903 bytes from each of 4 ranks are too many");
  CHECK_THROWS_WITH(find_algorithm(exscan, "magic"),
                    "algorithm 'magic' of exscan: must be one of recursive_doubling, linear, binomial");
  CHECK_THROWS_WITH(register_algorithm(bcast, "ring", {}),
                    "algorithm 'ring' of bcast is part of Isthmus and cannot be replaced: choose another name");
  CHECK_THROWS_WITH(register_algorithm(bcast, "", {}), "give the algorithm of bcast a name");
  CHECK_THROWS_AS(collective_kind("allgatherv"), InvalidInput);
}

TEST_CASE("kinds and defaults have the names that users spell") {
  for (const CollectiveKind kind : kinds()) CHECK(collective_kind(name_of(kind)) == kind);
  CHECK(std::string(name_of(static_cast<CollectiveKind>(99))) == "?");
  CHECK(std::string(name_of(EventKind::iteration)) == "iteration");
  const std::map<CollectiveKind, std::string> defaults = {
      {barrier, "dissemination"},     {bcast, "binomial"},
      {reduce, "binomial"},           {allreduce, "recursive_doubling"},
      {gather, "binomial"},           {allgather, "ring"},
      {scatter, "binomial"},          {alltoall, "pairwise"},
      {reduce_scatter, "pairwise"},   {scan, "recursive_doubling"},
      {exscan, "recursive_doubling"}, {neighbor_alltoall, "linear"}};
  for (const auto& [kind, name] : defaults) CHECK(algorithms(kind).front() == name);
}

TEST_CASE("large numbers of ranks and distances beyond 2^31 are arithmetic only") {
  // One rank of a collective of almost 2^32: sums of ranks must not wrap.
  RankBuilder rank;
  CollectiveCall call;
  call.ranks = any_rank - 1;
  call.rank = any_rank - 2;
  Emitter out(rank, {}, 0, 0, 0);
  find_algorithm(barrier, "")(call, out);
  REQUIRE(rank.size() == 64);
  for (std::uint32_t k = 0; k < 32; ++k) {
    const std::uint64_t step = std::uint64_t{1} << k;
    CHECK(rank[2 * k].peer == (call.rank + step) % call.ranks);
    CHECK(rank[2 * k + 1].peer == (std::uint64_t{call.rank} + call.ranks - step) % call.ranks);
  }
  for (const CollectiveKind kind : {bcast, reduce, allreduce, gather, scatter, scan, exscan}) {
    for (const Rank root : {Rank{0}, call.ranks - 1, call.ranks / 2}) {
      rank.clear();
      call.kind = kind;
      call.root = root;
      Emitter next(rank, {}, 0, 0, 0);
      find_algorithm(kind, "")(call, next);
      CHECK(rank.size() <= 130);
      for (std::uint32_t op = 0; op < rank.size(); ++op) CHECK(rank[op].peer < call.ranks);
    }
  }
}

}  // namespace
}  // namespace isthmus::test

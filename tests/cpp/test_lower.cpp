// Lowering, rule by rule, and programs that are none. Random programs are held against an interpreter in tests/py.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collectives/registry.hpp"
#include "schedule/requests.hpp"
#include "untimed.hpp"

namespace isthmus::test {
using namespace schedule;
using namespace collectives;
namespace {

struct Event {
  EventKind kind;
  std::int32_t peer = 0;
  std::uint64_t amount = 0;
  std::uint32_t request = 0;
  std::int32_t tag = 0;
  std::uint32_t comm = 0;
  CollectiveKind what = CollectiveKind{0};
  std::vector<std::int64_t> detail = {};
  bool has_detail = false;
};

using enum EventKind;

Event barrier_of(std::uint32_t comm = 0, std::uint32_t request = 0) {
  Event e{collective};
  e.what = CollectiveKind::barrier;
  e.comm = comm;
  e.request = request;
  return e;
}

/// Columns that own their numbers.
struct Columns {
  std::vector<std::uint64_t> first{0}, amount, comm_first;
  std::vector<std::uint8_t> kind, what;
  std::vector<std::int32_t> peer, tag;
  std::vector<std::uint32_t> comm, request, detail, comm_ranks;
  std::vector<std::int64_t> details{0};

  explicit Columns(const std::vector<std::vector<Event>>& ranks) {
    for (const auto& events : ranks) {
      for (const Event& e : events) add(e);
      first.push_back(kind.size());
    }
    comm_first = {0, ranks.size()};
    for (Rank r = 0; r < ranks.size(); ++r) comm_ranks.push_back(r);
  }
  void add(const Event& e) {
    kind.push_back(static_cast<std::uint8_t>(e.kind));
    what.push_back(static_cast<std::uint8_t>(e.what));
    peer.push_back(e.peer);
    tag.push_back(e.tag);
    comm.push_back(e.comm);
    amount.push_back(e.amount);
    request.push_back(e.request);
    detail.push_back(e.detail.empty() && !e.has_detail ? 0 : static_cast<std::uint32_t>(details.size()));
    if (detail.back() == 0) return;
    details.push_back(static_cast<std::int64_t>(e.detail.size()));
    details.insert(details.end(), e.detail.begin(), e.detail.end());
  }
  std::uint32_t communicator(const std::vector<std::uint32_t>& members) {
    comm_ranks.insert(comm_ranks.end(), members.begin(), members.end());
    comm_first.push_back(comm_ranks.size());
    return static_cast<std::uint32_t>(comm_first.size() - 2);
  }
  Program program() const {
    Program p;
    p.ranks = static_cast<Rank>(first.size() - 1);
    p.first = first;
    p.kind = kind;
    p.what = what;
    p.peer = peer;
    p.tag = tag;
    p.comm = comm;
    p.amount = amount;
    p.request = request;
    p.detail = detail;
    p.details = details;
    p.comm_first = comm_first;
    p.comm_ranks = comm_ranks;
    return p;
  }
  Schedule lowered(const std::vector<CollectiveChoice>& choices = {}, std::uint8_t progress = 0) const {
    return lower(program(), {collective_rules(choices), progress});
  }
  std::string reason() const {
    try {
      lowered();
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  }
};

/// A rank in words: "2 send 5>1 #7 c0 <0 ~1" is operation 2, 5 bytes to rank 1, tag 7, that waits for 0 and for the
/// start of 1.
std::vector<std::string> words(const Schedule& s, Rank rank) {
  std::vector<std::string> lines;
  const auto ops = s.ops_of(rank);
  std::vector<std::string> waits(ops.size());
  std::vector<std::uint32_t> needs(ops.size());
  for (std::uint32_t on = 0; on < ops.size(); ++on) {
    for (const Edge& e : s.dependants(rank, on)) {
      waits[e.to()] += message(e.on_start() ? " ~" : " <", on);
      ++needs[e.to()];
    }
  }
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    CHECK(needs[i] == ops[i].needs);
    std::string line = message(i, " ", name_of(ops[i].kind), " ", ops[i].amount);
    if (ops[i].kind == OpKind::send || ops[i].kind == OpKind::recv || ops[i].kind == OpKind::put ||
        ops[i].kind == OpKind::get) {
      line += ops[i].peer == any_rank ? ">any" : message(">", ops[i].peer);
      line += ops[i].tag == any_tag ? " #any" : message(" #", ops[i].tag);
      line += message(" c", ops[i].comm);
    }
    if (ops[i].cpu != 0) line += message(" cpu", static_cast<int>(ops[i].cpu));
    lines.push_back(line + waits[i]);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("blocking calls follow each other") {
  const Columns c({{{compute, 0, 5}, {send, 1, 8, 0, 7}, {iteration}, {compute, 0, 0}, {recv, -1, 9, 0, -1}}, {}});
  CHECK(words(c.lowered(), 0) == Lines{"0 calc 5", "1 send 8>1 #7 c0 <0", "2 recv 9>any #any c0 <1"});
  CHECK(c.lowered().ops_in(1) == 0);
}

TEST_CASE("nonblocking calls are posted in order, and waited for where the program waits") {
  const Columns c({{{irecv, 1, 8, 4},
                    {isend, 1, 8, 9},
                    {compute, 0, 3},
                    {wait, 0, 0, 4},
                    {compute, 0, 4},
                    {wait, 0, 0, 9},
                    {compute, 0, 5}},
                   {}});
  CHECK(words(c.lowered(), 0) ==
        Lines{"0 recv 8>1 #0 c0", "1 send 8>1 #0 c0 ~0", "2 calc 3 ~1", "3 calc 4 <0 <2", "4 calc 5 <1 <3"});
}

TEST_CASE("a wait at once makes a blocking call: no dependency twice") {
  const Columns c(
      {{{isend, 1, 8, 1}, {wait, 0, 0, 1}, {compute, 0, 5}, {isend, 1, 8, 1}, {waitall}, {compute, 0, 6}}, {}});
  CHECK(words(c.lowered(), 0) == Lines{"0 send 8>1 #0 c0", "1 calc 5 <0", "2 send 8>1 #0 c0 <1", "3 calc 6 <2"});
}

TEST_CASE("sendrecv posts both and waits for both; many to many goes through a join") {
  Event both{sendrecv, 1, 8};
  both.detail = {2, -1, 16};
  const Columns c(
      {{both, both, {irecv, 1, 1, 1}, {irecv, 1, 2, 2}, {irecv, 1, 3, 3}, {waitall}, both, {compute, 0, 1}}, {}, {}});
  CHECK(words(c.lowered(), 0) == Lines{"0 send 8>1 #0 c0", "1 recv 16>2 #any c0", "2 send 8>1 #0 c0 <0 <1",
                                       "3 recv 16>2 #any c0 <0 <1", "4 recv 1>1 #0 c0 <2 <3", "5 recv 2>1 #0 c0 ~4",
                                       "6 recv 3>1 #0 c0 ~5", "7 send 8>1 #0 c0 <9", "8 recv 16>2 #any c0 <9",
                                       "9 calc 0 <4 <5 <6", "10 calc 1 <7 <8"});
  both.peer = program_null;
  Event none = both;
  none.detail = {program_null, 0, 0};
  CHECK(words(Columns({{both, none, {compute, 0, 1}}, {}, {}}).lowered(), 0) ==
        Lines{"0 recv 16>2 #any c0", "1 calc 1 <0"});
}

TEST_CASE("nothing comes of MPI_PROC_NULL, null requests and unsuccessful tests") {
  Event null_request{waitall};
  null_request.detail = {0, 2, 0};
  const Columns c({{{send, -2, 8},
                    {recv, -2, 8},
                    {isend, -2, 8, 1},
                    {irecv, -2, 8, 2},
                    {put, -2, 8},
                    {wait, 0, 0, 1},
                    null_request,
                    {wait, 0, 0, 0},
                    {isend, 0, 8, 1},
                    {test, 0, 0, 1},
                    {compute, 0, 1},
                    {test, 0, 1, 1},
                    {compute, 0, 2}}});
  CHECK(words(c.lowered(), 0) == Lines{"0 send 8>0 #0 c0", "1 calc 1 ~0", "2 calc 2 <0 <1"});
}

TEST_CASE("waitany waits for the one that completed") {
  Event any{waitany};
  any.detail = {1, 2};
  any.amount = 1;
  const Columns c({{{irecv, 0, 8, 1}, {irecv, 0, 8, 2}, any, {compute, 0, 1}, {wait, 0, 0, 1}, {compute, 0, 2}}});
  CHECK(words(c.lowered(), 0) == Lines{"0 recv 8>0 #0 c0", "1 recv 8>0 #0 c0 ~0", "2 calc 1 <1", "3 calc 2 <0 <2"});
  any.detail = {};
  any.has_detail = true;
  CHECK(Columns({{any}}).reason() == "");
}

TEST_CASE("peers are ranks of the communicator, and collectives have messages of their own") {
  Columns c({{}, {}, {{compute, 0, 1}}, {}});
  const std::uint32_t comm = c.communicator({3, 2});
  Event sent{send, 0, 8};
  sent.comm = comm;
  c = Columns({{}, {}, {sent, barrier_of(comm), barrier_of(comm)}, {barrier_of(comm), barrier_of(comm)}});
  c.communicator({3, 2});
  CHECK(words(c.lowered(), 2) == Lines{"0 send 8>3 #0 c2", "1 send 0>3 #0 c3 <0", "2 recv 0>3 #0 c3 <0",
                                       "3 send 0>3 #1 c3 <1 <2", "4 recv 0>3 #1 c3 <1 <2"});
  CHECK(words(c.lowered(), 3) ==
        Lines{"0 send 0>2 #0 c3", "1 recv 0>2 #0 c3", "2 send 0>2 #1 c3 <0 <1", "3 recv 0>2 #1 c3 <0 <1"});
}

TEST_CASE("nonblocking collectives: the program goes on when they have started") {
  const Columns c(
      {{{compute, 0, 1}, barrier_of(0, 5), {compute, 0, 2}, {wait, 0, 0, 5}, {compute, 0, 3}}, {barrier_of()}});
  CHECK(words(c.lowered(), 0) ==
        Lines{"0 calc 1", "1 send 0>1 #0 c1 <0", "2 recv 0>1 #0 c1 <0", "3 calc 2 ~1 ~2", "4 calc 3 <1 <2 <3"});
  // With a progress thread, it goes on at once.
  CHECK(words(c.lowered({}, 1), 0) ==
        Lines{"0 calc 1", "1 send 0>1 #0 c1 cpu1 <0", "2 recv 0>1 #0 c1 cpu1 <0", "3 calc 2 <0", "4 calc 3 <1 <2 <3"});
  CHECK(words(c.lowered({}, 1), 1) == Lines{"0 send 0>0 #0 c1", "1 recv 0>0 #0 c1"});
}

TEST_CASE("one-sided accesses end where the program ends them") {
  const Columns c({{{lock, 1},
                    {put, 1, 8},
                    {get, 0, 9},
                    {flush, 1},
                    {compute, 0, 1},
                    {unlock, 0},
                    {compute, 0, 2},
                    {put, 1, 3},
                    {flush, -1},
                    {compute, 0, 3}},
                   {}});
  CHECK(words(c.lowered(), 0) == Lines{"0 get 0>1 #0 c0", "1 put 8>1 #0 c0 <0", "2 get 9>0 #0 c0 ~1", "3 calc 1 <1 ~2",
                                       "4 calc 2 <2 <3", "5 put 3>1 #0 c0 <4", "6 calc 3 <5"});
  const Columns fences({{{put, 1, 8}, {put, 1, 8}, {lock, -1}, {fence}, {compute, 0, 1}}, {{fence}}});
  CHECK(words(fences.lowered(), 0) == Lines{"0 put 8>1 #0 c0", "1 put 8>1 #0 c0 ~0", "2 send 0>1 #0 c1 <0 <1",
                                            "3 recv 0>1 #0 c1 <0 <1", "4 calc 1 <2 <3"});
}

TEST_CASE("a new communicator costs an allgather of 8 bytes on the parent") {
  Columns c({{{comm_create}}, {{comm_create}}, {{comm_create}}});
  const Schedule s = c.lowered({{CollectiveKind::allgather, ~std::uint64_t{0}, "linear"}});
  CHECK(words(s, 0) ==
        Lines{"0 recv 8>1 #0 c1", "1 recv 8>2 #0 c1 <0", "2 send 24>1 #0 c1 <1", "3 send 24>2 #0 c1 <1"});
}

TEST_CASE("algorithms are chosen by size, by the mean where sizes differ but all ranks know them") {
  const auto reductions = [](std::uint64_t bytes, std::vector<std::int64_t> counts, CollectiveKind kind,
                             const std::vector<CollectiveChoice>& choices) {
    Event e{collective, 0, bytes};
    e.what = kind;
    e.detail = std::move(counts);
    return Columns(std::vector<std::vector<Event>>(4, {e})).lowered(choices).ops_in(3);
  };
  const std::vector<CollectiveChoice> choices = {{CollectiveKind::allreduce, 64, "recursive_doubling"},
                                                 {CollectiveKind::allreduce, 1000, "linear"},
                                                 {CollectiveKind::allgather, 10, "linear"},
                                                 {CollectiveKind::alltoall, 10, "linear"}};
  CHECK(reductions(64, {}, CollectiveKind::allreduce, choices) == 6);
  CHECK(reductions(65, {}, CollectiveKind::allreduce, choices) == 2);
  CHECK(reductions(1001, {}, CollectiveKind::allreduce, choices) == 6);
  CHECK(reductions(0, {10, 10, 10, 13}, CollectiveKind::allgather, choices) == 2);
  CHECK(reductions(0, {10, 10, 10, 14}, CollectiveKind::allgather, choices) == 6);
  CHECK(reductions(0, {99, 0, 0, 0, 0, 0, 0, 0}, CollectiveKind::alltoall, choices) == 1);
  CHECK(reductions(11, {99, 0, 0, 0, 0, 0, 0, 0}, CollectiveKind::alltoall, choices) == 6);
  CHECK_THROWS_AS(collective_rules({{CollectiveKind::bcast, 1, "pairwise"}}), InvalidInput);
}

TEST_CASE("what cannot be followed is named with its rank and event") {
  const auto reason = [](Event e) { return Columns({{}, {{compute, 0, 1}, std::move(e)}}).reason(); };
  CHECK(reason({EventKind{0}}) == "rank 1, event 1 (?): event kind 0: must be 1 to 19");
  CHECK(reason({EventKind{77}}) == "rank 1, event 1 (?): event kind 77: must be 1 to 19");
  CHECK(reason({send, 2}) == "rank 1, event 1 (send): peer 2, but communicator 0 has 2 ranks");
  CHECK(reason({send, -1}) == "rank 1, event 1 (send): peer -1, but communicator 0 has 2 ranks");
  CHECK(reason({send, 0, 0, 0, -1}) == "rank 1, event 1 (send): tag -1 of a send: must be 0 or more");
  CHECK(reason({recv, 0, 0, 0, -2}) == "rank 1, event 1 (recv): tag -2 of a receive: must be 0 or more, or -1 for any");
  CHECK(reason({recv, -3}) == "rank 1, event 1 (recv): peer -3, but communicator 0 has 2 ranks");
  CHECK(reason({recv, -1, 0, 0, 0, 1}) == "rank 1, event 1 (recv): communicator 1, but there are 1");
  CHECK(reason({wait, 0, 0, 3}) == "rank 1, event 1 (wait): request 3 is not open");
  CHECK(reason({flush, -3}) == "rank 1, event 1 (flush): peer -3 is neither a rank nor -1 for all");
  CHECK(reason({put, 5}) == "rank 1, event 1 (put): peer 5, but communicator 0 has 2 ranks");
  CHECK(reason({collective}) == "rank 1, event 1 (collective): collective 0: must be 1 to 12");
  Event e{collective, 7};
  e.what = CollectiveKind::gather;
  CHECK(reason(e) == "rank 1, event 1 (collective): peer 7, but communicator 0 has 2 ranks");
  e.peer = 0;
  e.detail = {1};
  CHECK(reason(e) == "rank 1, event 1 (collective): gather: 1 counts for 2 ranks");
  e.what = CollectiveKind::neighbor_alltoall;
  e.detail = {2, 1, 1};
  CHECK(reason(e) == "rank 1, event 1 (collective): neighbor_alltoall: neighbour 2 does not exist: there are 2 ranks");
  e = {waitall};
  e.detail = {0, -4};
  CHECK(reason(e) == "rank 1, event 1 (waitall): request -4 is not open");
  e = {waitany};
  e.detail = {0, 0};
  e.amount = 2;
  CHECK(reason(e) == "rank 1, event 1 (waitany): request number 2 completed, but there are 2");
  e = {sendrecv};
  CHECK(reason(e) == "rank 1, event 1 (sendrecv): detail of 0 numbers: expected source, tag and bytes of the receive");
  e.detail = {0, 0, -1};
  CHECK(reason(e) == "rank 1, event 1 (sendrecv): the receive has -1 bytes");
  CHECK(Columns({{{isend, 0, 8, 3}, {irecv, 0, 8, 3}}}).reason() ==
        "rank 0, event 1 (irecv): request 3 is open already");
  Columns c({{}, {{send, 0, 0, 0, 0, 1}}});
  c.communicator({0});
  CHECK(c.reason() == "rank 1, event 0 (send): the rank is not in communicator 1");
  c.communicator({0, 0});
  CHECK(c.reason() == "communicator 2 has rank 0 twice");
  c.comm_ranks.back() = 9;
  CHECK(c.reason() == "comm_ranks holds rank 9, but the program has 2 ranks");
  Columns reaching({{{waitall}}});
  reaching.detail[0] = 5;
  CHECK(reaching.reason() == "rank 0, event 0 (waitall): detail 5, but details has 1 numbers");
  reaching.details = {0, 1};
  reaching.detail[0] = 1;
  CHECK(reaching.reason() == "rank 0, event 0 (waitall): detail 1 of 1 numbers reaches past the end of details");
  reaching.peer.clear();
  CHECK(reaching.reason() == "column peer has 0 elements, the program 1 events");
  reaching.first = {0, 9};
  CHECK(reaching.reason() == "column kind has 1 elements, the program 9 events");
}

TEST_CASE("a collective ends when all is done that none of its operations waits for to be done") {
  const Generator chained = [](const CollectiveCall&, Emitter& out) {
    const std::uint32_t a = out.copy(1);
    const std::uint32_t b = out.copy(2);
    const std::uint32_t c = out.copy(3);
    out.require_start(b, a);
    out.require(c, b);
  };
  LowerOptions options{collective_rules({})};
  options.collectives[static_cast<std::uint8_t>(CollectiveKind::barrier)] = {{0, chained}};
  const Columns c({{{compute, 0, 9}, barrier_of(), {compute, 0, 9}}});
  CHECK(words(lower(c.program(), options), 0) ==
        Lines{"0 calc 9", "1 copy 1 <0", "2 copy 2 ~1", "3 copy 3 <2", "4 calc 9 <1 <3"});
}

TEST_CASE("an algorithm may only order its own operations") {
  const Generator wrong = [](const CollectiveCall&, Emitter& out) { out.require(out.send(0, 1), 0); };
  LowerOptions options{collective_rules({})};
  options.collectives[static_cast<std::uint8_t>(CollectiveKind::barrier)] = {{0, wrong}};
  const Columns c({{{compute, 0, 1}, barrier_of()}});
  CHECK_THROWS_AS(lower(c.program(), options), InvalidInput);
  options.collectives[static_cast<std::uint8_t>(CollectiveKind::barrier)].clear();
  CHECK_THROWS_WITH(lower(c.program(), options),
                    "rank 0, event 1 (collective): barrier of 0 bytes on 1 ranks: no algorithm is chosen for it");
}

TEST_CASE("random numbers are a program or a reason, never a crash") {
  std::mt19937 random(11);
  int programs = 0;
  int reasons = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<std::vector<Event>> ranks(static_cast<std::size_t>(1 + upto(3)));
    const bool wild = upto(4) == 0;
    for (auto& events : ranks) {
      const int count = upto(4);
      for (int i = 0; i < count; ++i) {
        Event e{static_cast<EventKind>(1 + upto(19))};
        e.peer = wild ? upto(6) - 3 : upto(static_cast<int>(ranks.size()));
        e.amount = static_cast<std::uint64_t>(wild && upto(9) == 0 ? -1 : upto(4));
        e.request = static_cast<std::uint32_t>(upto(4));
        e.tag = upto(4) - wild;
        e.comm = static_cast<std::uint32_t>(upto(20) == 0);
        e.what = static_cast<CollectiveKind>(1 + upto(12));
        if (upto(3) == 0) {
          e.has_detail = true;
          const int length = upto(8);
          for (int k = 0; k < length; ++k) e.detail.push_back(upto(4) - wild);
        }
        events.push_back(e);
      }
    }
    Columns c(ranks);
    if (upto(2) == 0) c.communicator({static_cast<std::uint32_t>(upto(4)), static_cast<std::uint32_t>(upto(4))});
    if (wild && upto(9) == 0 && !c.detail.empty()) c.detail[0] = random();
    if (wild && upto(9) == 0) c.comm_first.back() = random();
    if (wild && upto(9) == 0) c.first.back() = random();
    if (c.reason().empty()) {
      ++programs;
      const Schedule s = c.lowered();
      for (Rank r = 0; r < s.ranks; ++r) words(s, r);
    } else {
      ++reasons;
    }
  }
  CHECK(programs > 1000);
  CHECK(reasons > 1000);
}

TEST_CASE("open requests are a map from numbers to operations") {
  std::mt19937 random(3);
  for (const std::uint32_t range : {10u, 1000u, 0xFFFFFFFFu}) {
    OpenRequests table;
    std::map<std::uint32_t, std::vector<std::uint32_t>> map;
    std::vector<std::uint32_t> used;
    for (std::uint32_t round = 0; round < 30000; ++round) {
      const bool known = !used.empty() && random() % 2 == 0;
      const std::uint32_t request = known ? used[random() % used.size()] : 1 + random() % range;
      if (request == 0) continue;
      if (random() % 3 != 0) {
        used.push_back(request);
        const std::vector<std::uint32_t> ops(random() % 4, round);
        REQUIRE(table.open(request, ops) == map.emplace(request, ops).second);
      } else {
        std::vector<std::uint32_t> ops;
        const bool open = table.close(request, [&](std::uint32_t op) { ops.push_back(op); });
        REQUIRE(open == (map.count(request) == 1));
        if (open) REQUIRE(ops == map[request]);
        map.erase(request);
      }
      if (random() % 5000 == 0) {
        std::size_t ops = 0;
        std::size_t expected = 0;
        table.close_all([&](std::uint32_t) { ++ops; });
        for (const auto& [_, list] : map) expected += list.size();
        REQUIRE(ops == expected);
        map.clear();
      }
      if (random() % 5000 == 0) {
        table.clear();
        map.clear();
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::test

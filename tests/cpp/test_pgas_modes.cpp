// Collectives on the memory of a space follow the rows of a table that are of their mode of synchronisation.
#include <array>
#include <cstring>

#include "pgas_ranks.hpp"
#include "runtime/choice/choice.hpp"
#include "runtime/collectives/direct_program.hpp"
#include "runtime/pgas/board.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::test {
namespace {

std::uint8_t byte_of(std::uint64_t seed, std::uint64_t i) { return static_cast<std::uint8_t>(seed * 131 + i * 7); }

void fill_from(std::uint8_t* at, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < 100; ++i) at[i] = byte_of(seed, i);
}

/// The schedule that runs is the one of the row of the mode, compared operation by operation.
TEST_CASE("collectives follow the row of their mode of synchronisation, and what cannot be followed is said") {
  on_ranks(3, [](Rank& own) {
    isthmus_team* const all = isthmus_space_team(own.space);
    std::uint64_t to = 0, from = 0;
    own.done(isthmus_allocate_all(own.space, 4096, &to), "allocate");
    own.done(isthmus_allocate_all(own.space, 4096, &from), "allocate");
    auto* const in = static_cast<std::uint8_t*>(isthmus_cast(own.space, own.rank, from));
    const auto* const out = static_cast<const std::uint8_t*>(isthmus_cast(own.space, own.rank, to));
    const std::vector<std::string>& said = Rank::heard;
    constexpr std::array<isthmus_sync, 3> syncs = {ISTHMUS_SYNC_NONE, ISTHMUS_SYNC_MY, ISTHMUS_SYNC_ALL};
    constexpr std::array<const char*, 3> words = {"none", "my", "all"};
    const std::array<std::string, 9> algorithms = {"ring,access=get",
                                                   "ring,access=put",
                                                   "binomial,access=get",
                                                   "chain,segment=16,access=put",
                                                   "knomial,radix=3",
                                                   "linear,access=get",
                                                   "pipeline,segment=32,access=put",
                                                   "double_tree,access=get",
                                                   "linear,access=message"};
    std::string text = "isthmus decisions 2\n";
    for (std::size_t m = 0; m < 9; ++m) {
      const std::string mode = std::string(words[m / 3]) + (m / 3 == m % 3 ? "" : std::string("-") + words[m % 3]);
      text += "for bcast 3 from " + mode + "\nrule 0 " + algorithms[m] + "\n";
      text += "for alltoall 3 from " + mode + "\nrule 0 torus,dims=2x2,access=put\n";  // of four ranks
    }
    const runtime::DecisionTable table = runtime::DecisionTable::parse(text, "t");
    all->use(&table, "t");
    runtime::Board& board = *own.space->board_of(*all);
    for (std::size_t m = 0; m < 9 && own.wrong.empty(); ++m) {
      isthmus_manner manner{};
      manner.size = sizeof manner;
      manner.enter = syncs[m / 3];
      manner.leave = syncs[m % 3];
      isthmus_call call{};
      call.size = sizeof call;
      call.kind = ISTHMUS_BCAST;
      call.element = ISTHMUS_U8;
      call.count = 100;
      call.root = 1;
      call.enter = manner.enter;
      call.leave = manner.leave;
      call.apart = 1;
      const runtime::Choice choice = runtime::read_choice(algorithms[m]);
      runtime::Recipe& recipe = board.find(*all, call);
      const std::string plain = algorithms[m].substr(0, algorithms[m].find(",access"));
      own.expect(recipe.by == plain, "the algorithm of the mode, " + algorithms[m]);
      own.expect(recipe.direct.has_value() ==
                     (choice.access == runtime::Access::put || choice.access == runtime::Access::get ||
                      (choice.access == runtime::Access::any && m / 3 != 1)),
                 "by accesses, " + algorithms[m]);
      if (recipe.direct) {
        schedule::CollectiveCall asked;
        asked.kind = schedule::CollectiveKind::bcast;
        asked.rank = own.rank;
        asked.ranks = 3;
        asked.root = 1;
        asked.bytes = 100;
        runtime::Directly how;
        how.access = choice.access == runtime::Access::get ? schedule::Access::get : schedule::Access::put;
        how.ask = m / 3 == 1;
        how.tell = m % 3 == 1;
        how.apart = true;
        const auto wanted = runtime::direct_program(asked, runtime::algorithm_of(asked.kind, choice, 1), how);
        const auto& steps = wanted.program.steps;
        own.expect(wanted.words == recipe.direct->words && wanted.scratch == recipe.direct->scratch &&
                       steps.size() == recipe.direct->program.steps.size() &&
                       (steps.empty() || std::memcmp(steps.data(), recipe.direct->program.steps.data(),
                                                     steps.size() * sizeof(runtime::Step)) == 0),
                   "the schedule of " + algorithms[m]);
      }
      for (int turn = 0; turn < 20; ++turn) {
        const auto seed = static_cast<std::uint64_t>(turn) * 9 + m;
        if (own.rank == 1)
          for (std::uint64_t i = 0; i < 100; ++i) in[i] = byte_of(seed, i);
        own.barrier();
        own.done(isthmus_broadcast(own.space, &manner, to, 1, from, 100), "broadcast");
        if (manner.leave == ISTHMUS_SYNC_NONE) own.barrier();
        for (std::uint64_t i = 0; i < 100; ++i)
          own.expect(out[i] == byte_of(seed, i), "the bytes of the root by " + algorithms[m]);
        own.barrier();
      }
    }
    own.expect(said.empty(), said.empty() ? "" : said.front());
    for (std::size_t m = 0; m < 9 && own.wrong.empty(); ++m) {
      isthmus_manner manner{};
      manner.size = sizeof manner;
      manner.enter = syncs[m / 3];
      manner.leave = syncs[m % 3];
      for (std::uint64_t r = 0; r < 3; ++r) in[r] = static_cast<std::uint8_t>(10 * m + 3 * own.rank + r);
      own.barrier();
      own.done(isthmus_exchange_all(own.space, &manner, to, from, 1), "exchange");
      own.barrier();
      for (std::uint64_t r = 0; r < 3; ++r) own.expect(out[r] == 10 * m + 3 * r + own.rank, "exchanged by the default");
      own.expect(
          said.size() == m + 1 && said.back().find("t: alltoall with sync=") == 0 &&
              said.back().find("by torus,dims=2x2,access=put cannot be carried out on 3 ranks") != said.back().npos,
          said.empty() ? "nothing said" : said.back());
      own.barrier();
    }
    // A broadcast to another place, of which the root would write parts before it has sent all.
    const runtime::DecisionTable unfit = runtime::DecisionTable::parse(
        "isthmus decisions 2\nfor bcast 3 from all\nrule 0 scatter_allgather,access=put\n", "u");
    all->use(&unfit, "u");
    fill_from(in, 7);
    own.barrier();
    own.done(isthmus_broadcast(own.space, nullptr, to, 1, from, 100), "broadcast");
    for (std::uint64_t i = 0; i < 100; ++i) own.expect(out[i] == byte_of(7, i), "the bytes of the root by the default");
    own.expect(
        said.size() == 10 && said.back().find("u: bcast with sync=all by scatter_allgather,access=put cannot") == 0,
        said.back());
  });
}

/// Between nodes the team's own schedule is the one that runs.
TEST_CASE("messages between nodes follow the row of their mode, too") {
  on_ranks({4, 1}, [](Rank& own) {
    isthmus_team* const all = isthmus_space_team(own.space);
    const runtime::DecisionTable table = runtime::DecisionTable::parse(
        "isthmus decisions 2\nfor bcast 4 from\nrule 0 linear\nfor bcast 4 from my\nrule 0 ring,access=put\n"
        "for bcast 4 from none-all\nrule 0 knomial,radix=3,access=get\n",
        "t");
    all->use(&table, "t");
    constexpr isthmus_sync none = ISTHMUS_SYNC_NONE, my = ISTHMUS_SYNC_MY, every = ISTHMUS_SYNC_ALL;
    const std::array<std::pair<std::array<isthmus_sync, 2>, const char*>, 4> wanted = {
        {{{my, my}, "ring,access=put"},
         {{none, every}, "knomial,radix=3,access=get"},
         {{every, every}, "linear"},
         {{ISTHMUS_SYNC_DEFAULT, ISTHMUS_SYNC_DEFAULT}, "linear"}}};
    for (const auto& [sync, algorithm] : wanted) {
      isthmus_call call{};
      call.size = sizeof call;
      call.kind = ISTHMUS_BCAST;
      call.element = ISTHMUS_U8;
      call.count = 100;
      call.enter = sync[0];
      call.leave = sync[1];
      own.expect(all->find(call).taken == algorithm, std::string("taken: ") + algorithm);
    }
  });
}

}  // namespace
}  // namespace isthmus::test

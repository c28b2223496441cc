// Decision tables at run time: any text is a table or refused with its line; what is written is read back.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "runtime/choice/chooser.hpp"
#include "runtime/collectives/collective_program.hpp"

namespace isthmus::test {
namespace {

using runtime::DecisionTable;
using schedule::CollectiveKind;

const std::string text =
    "isthmus decisions 1\n"
    "about machine a\\sb\\\\c\\x0a\\u2028\n"
    "about source measured\n"
    "for bcast 8 tuned\n"
    "point 8 binomial 1e-06 ring 2e-06 5e-07 9e-07 1.1e-06\n"
    "point 64 ring - - - - - -\n"
    "rule 0 binomial\n"
    "rule 23 ring\n"
    "for bcast 16 from\n"
    "point 0 binomial - - - - - -\n"
    "point 4096 knomial,radix=4 - - - - - -\n"
    "rule 0 binomial\n"
    "rule 4096 knomial,radix=4\n"
    "for allreduce 4 from\n"
    "point 0 library - - - - - -\n"
    "rule 0 library\n";

TEST_CASE("a table comes back as it was written") {
  const DecisionTable table = DecisionTable::parse(text, "t");
  CHECK(table.about.at("machine") == "a b\\c\n\xE2\x80\xA8");
  CHECK(DecisionTable::parse(table.text(), "t").text() == table.text());
  CHECK(table.row(CollectiveKind::bcast, 3)->ranks == 8);
  CHECK(table.row(CollectiveKind::bcast, 15)->ranks == 8);
  CHECK(table.row(CollectiveKind::bcast, 1000)->ranks == 16);
  CHECK(table.row(CollectiveKind::scan, 8) == nullptr);
  const auto& row = *table.row(CollectiveKind::bcast, 8);
  CHECK(DecisionTable::lookup(row, 22).algorithm == "binomial");
  CHECK(DecisionTable::lookup(row, 23).algorithm == "ring");
  CHECK(row.points[0].interval->second == 1.1e-6);
}

TEST_CASE("rows of modes of synchronisation come before those of none, for calls that name one") {
  using runtime::Mode;
  using runtime::Sync;
  const std::string of_modes =
      "isthmus decisions 2\n"
      "for bcast 2 from\nrule 0 ring\n"
      "for bcast 2 from none-all\nrule 0 linear,access=get\nrule 64 library\n"
      "for bcast 3 from none-all\nrule 0 ring\n"
      "for bcast 2 tuned my\nrule 0 knomial,radix=3\n"
      "for gather 2 from all\nrule 0 linear\n";
  const DecisionTable table = DecisionTable::parse(of_modes, "t");
  CHECK(table.text() == DecisionTable::parse(table.text(), "t").text());
  CHECK(table.text().starts_with("isthmus decisions 2\n"));
  CHECK(DecisionTable::parse(text, "t").text().starts_with("isthmus decisions 1\n"));
  std::vector<std::string> said;
  const auto taken = [&](std::uint64_t ranks, CollectiveKind kind, std::uint64_t bytes, std::optional<Mode> mode) {
    runtime::Chooser chooser(ranks, [&](const std::string& words) { said.push_back(words); });
    chooser.use(table, "t");
    runtime::Question question{kind, bytes};
    question.mode = mode;
    const runtime::Candidate first = chooser.candidates(question).front();
    return first.of_user ? first.text : "";
  };
  const Mode none_all{Sync::none, Sync::all}, my{Sync::my, Sync::my}, all{Sync::all, Sync::all};
  CHECK(taken(2, CollectiveKind::bcast, 8, std::nullopt) == "ring");
  CHECK(taken(2, CollectiveKind::bcast, 8, none_all) == "linear,access=get");
  CHECK(taken(2, CollectiveKind::bcast, 64, none_all).empty());
  CHECK(taken(4, CollectiveKind::bcast, 64, none_all) == "ring");
  CHECK(taken(2, CollectiveKind::bcast, 8, my) == "knomial,radix=3");
  CHECK(taken(2, CollectiveKind::bcast, 8, all) == "ring");
  CHECK(taken(2, CollectiveKind::gather, 8, std::nullopt).empty());
  CHECK(taken(2, CollectiveKind::gather, 8, all) == "linear");
  CHECK(said.empty());
  CHECK(taken(8, CollectiveKind::bcast, 8, my).empty());
  REQUIRE(said.size() == 1);
  CHECK(said[0] == "t: bcast with sync=my was tuned for 2 ranks, not for 8: the default is taken");
  for (const char* const wrong :
       {"for bcast 2 from some\n", "for bcast 2 from all-\n", "for bcast 2 from all my\n", "for bcast 2 often all\n"})
    CHECK_THROWS_AS(DecisionTable::parse(std::string("isthmus decisions 2\n") + wrong + "rule 0 ring\n", "t"),
                    runtime::TableError);
  CHECK_THROWS_AS(DecisionTable::parse("isthmus decisions 1\nfor bcast 2 from all\nrule 0 ring\n", "t"),
                  runtime::TableError);
}

TEST_CASE("the table of the library is of its own form, and chooses what can run") {
  const DecisionTable& table = runtime::standard_table();
  CHECK_FALSE(table.is_of_another_library());
  std::size_t chosen = 0;
  for (std::uint8_t k = 1; k < schedule::collective_kinds; ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    for (schedule::Rank ranks = 1; ranks <= 9; ++ranks) {
      const auto* const row = table.row(kind, ranks);
      if (row == nullptr) continue;
      for (const auto& rule : row->rules) {
        schedule::CollectiveCall call;
        call.kind = kind;
        call.ranks = ranks;
        call.rank = ranks - 1;
        call.bytes = rule.bytes / 8;
        const auto algorithm = runtime::algorithm_of(kind, runtime::read_choice(rule.algorithm), 8);
        CHECK_NOTHROW(runtime::collective_program(call, algorithm, 8));
        ++chosen;
      }
    }
  }
  CHECK(chosen > 30);
}

TEST_CASE("any text is a table, or refused with file and line") {
  Rng random(5);
  const std::string pieces = " \n\\x0u9-.erule,=4";
  std::size_t refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = text;
    for (std::uint32_t n = 1 + random.below(3); n > 0 && !damaged.empty(); --n) {
      const std::size_t at = random.below(static_cast<std::uint32_t>(damaged.size()));
      switch (random.below(4)) {
        case 0: damaged.erase(at, random.below(9)); break;
        case 1: damaged.insert(at, 1, pieces[random.below(static_cast<std::uint32_t>(pieces.size()))]); break;
        case 2: damaged[at] = static_cast<char>(random.below(256)); break;
        default: damaged.insert(at, damaged.substr(random.below(static_cast<std::uint32_t>(at) + 1), 30));
      }
    }
    CAPTURE(damaged);
    try {
      const std::string written = DecisionTable::parse(damaged, "t").text();
      CHECK(DecisionTable::parse(written, "t").text() == written);
    } catch (const runtime::TableError& error) {
      ++refused;
      CHECK(std::string(error.what()).starts_with("t:"));
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("choices are read as Python writes them") {
  using Options = collectives::GivenOptions;
  CHECK(runtime::read_choice("knomial,radix=4,segment=8192").options == Options{{"radix", {4}}, {"segment", {8192}}});
  CHECK(runtime::read_choice("fork,dims=4x4x2").options == Options{{"dims", {4, 4, 2}}});
  CHECK(runtime::read_choice("optimal,latency=1.5e-06").options == Options{{"latency", {1'500'000}}});
  CHECK(runtime::read_choice("ring,access=put,protocol=eager").options.empty());
  for (const char* wrong : {"", ",", "4ring", "ring,", "ring,x", "ring,x=", "ring,=3", "ring,x=1,x=2", "ring,x=-1",
                            "ring,x=4x", "ring,x=4xx4", "ring,x=18446744073709551616", "optimal,gap=-1", "ring;"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(runtime::read_choice(wrong), InvalidInput);
  }
  // Segments are bytes; a message takes no element apart.
  const auto segment = [](const char* choice, std::uint64_t element_bytes) {
    return runtime::algorithm_of(CollectiveKind::bcast, runtime::read_choice(choice), element_bytes).options.segment;
  };
  CHECK(segment("pipeline,segment=4096", 8) == 512);
  CHECK(segment("pipeline,segment=4", 8) == 1);
  CHECK(segment("pipeline,segment=0", 8) == 0);
}

TEST_CASE("a candidate wins only where its interval lies below that of the usual one") {
  const auto around = [](double middle, double reach) {
    std::vector<double> out;
    for (int i = -10; i <= 10; ++i) out.push_back(middle + reach * i / 10);
    return out;
  };
  const runtime::Median m = runtime::median_of(around(5, 1));
  CHECK(m.seconds == doctest::Approx(5));
  CHECK(m.low == doctest::Approx(4.5));
  CHECK(m.high == doctest::Approx(5.5));
  CHECK(runtime::median_of({3}).high == 3);
  const auto decided = [&](double usual, double other, double reach, const std::vector<double>& external = {}) {
    return runtime::winner_of({{"usual", around(usual, reach)}, {"other", around(other, reach)}}, external);
  };
  CHECK(decided(5, 4, 0.5).algorithm == "other");
  CHECK(decided(5, 4, 0.5).runner_up == "usual");
  CHECK(decided(5, 4.9, 0.5).algorithm == "usual");
  CHECK(decided(4, 5, 0.5).algorithm == "usual");
  // Left to another library where that is faster by more than two parts in a hundred.
  CHECK(decided(5, 4, 0.5, around(3.95, 0.1)).algorithm == "other");
  CHECK(decided(5, 4, 0.5, around(3.9, 0.1)).algorithm == runtime::left_open);
  CHECK(decided(5, 4, 0.5, around(3.9, 0.1)).runner_up == "other");
}

TEST_CASE("decisions of runs are a table, which gives them back") {
  Rng random(9);
  for (int turn = 0; turn < 50; ++turn) {
    runtime::Online made;
    std::vector<std::uint64_t> sizes;
    for (std::uint32_t i = 1 + random.below(8); i > 0; --i) {
      runtime::DecisionPoint point;
      point.bytes = std::uint64_t{random.below(100)} << random.below(20);
      point.algorithm = random.below(2) == 0 ? "ring" : "recursive_doubling";
      point.seconds = 1e-6 * (1 + random.below(100));
      sizes.push_back(point.bytes);
      made.put(CollectiveKind::allreduce, 2 + random.below(2), point);
    }
    const runtime::Online back(DecisionTable::parse(made.table().text(), "t"));
    const DecisionTable table = made.table();
    for (const std::uint64_t ranks : {2U, 3U}) {
      for (std::uint64_t bytes = 0; bytes < 5'000'000; bytes = 2 * bytes + random.below(3)) {
        const auto* const wanted = made.find(CollectiveKind::allreduce, ranks, bytes);
        const auto* const found = back.find(CollectiveKind::allreduce, ranks, bytes);
        CHECK((wanted == nullptr) == (found == nullptr));
        if (table.rows(CollectiveKind::allreduce).empty()) continue;
        const auto* const row = table.row(CollectiveKind::allreduce, ranks);
        if (row->ranks != ranks) continue;
        CHECK(DecisionTable::lookup(*row, bytes).algorithm ==
              (wanted != nullptr ? wanted->algorithm : runtime::usual_choice(CollectiveKind::allreduce, ranks, bytes)));
        if (wanted != nullptr) CHECK(*found->seconds == *wanted->seconds);
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::test

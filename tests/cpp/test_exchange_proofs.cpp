// Collectives in which all ranks end with something: proofs of every algorithm with every option.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "collectives/collective_schedule.hpp"
#include "collectives/registry.hpp"
#include "proof/prove.hpp"
#include "schedule/names.hpp"

namespace isthmus::test {
using namespace schedule;
using namespace collectives;
using namespace proof;
namespace {

using enum CollectiveKind;

constexpr CollectiveKind exchanges[] = {allreduce, allgather, alltoall, reduce_scatter, scan, exscan};

/// Some values of an option; `ranks` stands for what depends on it.
std::vector<std::vector<std::uint64_t>> values_of(const std::string& option, std::uint64_t ranks) {
  if (option == "radix") return {{2}, {3}, {8}};
  if (option == "segment") return {{3}, {8}};
  if (option == "window") return {{1}, {3}};
  if (option == "groups") {
    std::vector<std::uint64_t> mixed;
    for (std::uint64_t r = 0; r < ranks; ++r) mixed.push_back((7 * r + r / 3) % 4);
    return ranks == 1 ? std::vector<std::vector<std::uint64_t>>{{2}}
                      : std::vector<std::vector<std::uint64_t>>{{1}, {3}, mixed};
  }
  if (option == "dims") {
    std::vector<std::vector<std::uint64_t>> all = {{ranks}};
    for (std::uint64_t a = 2; a < ranks; ++a) {
      if (ranks % a == 0) all.push_back({a, ranks / a});
      if (ranks % (2 * a) == 0) all.push_back({2, a, ranks / (2 * a)});
    }
    return all;
  }
  return {};
}

/// No options, and every one of them with some values.
std::vector<GivenOptions> choices(const AlgorithmInfo& info, std::uint64_t ranks) {
  std::vector<GivenOptions> all = {{}};
  for (const OptionInfo& option : info.options) {
    for (const auto& values : values_of(option.name, ranks)) all.push_back({{option.name, values}});
  }
  return all;
}

/// Does the catalogue say that operands keep the order of ranks? It says where they do not.
bool in_order(const AlgorithmInfo& info) { return info.words.find("operands") == std::string::npos; }

void check(CollectiveCall call, const std::string& name, const GivenOptions& options) {
  const bool mixed = !options.empty() && options[0].first == "groups" && options[0].second.size() > 1;
  for (const bool in_place : {true, false}) {
    call.in_place = in_place;
    CAPTURE(in_place);
    const Schedule s = collective_schedule(call, find_algorithm(call.kind, name, options), true);
    const Proof proof = prove(s, contract_of(call, in_order(algorithm_info(call.kind, name)) && !mixed));
    const std::string first = proof.defects.empty() ? "" : proof.defects[0].text;
    CHECK(first == "");
  }
}

TEST_CASE("exchanges keep their contracts, whatever the ranks, sizes and options") {
  for (const CollectiveKind kind : exchanges) {
    for (const std::string& name : algorithms(kind)) {
      CAPTURE(std::string(name_of(kind)));
      CAPTURE(name);
      for (Rank ranks = 1; ranks <= 17; ++ranks) {
        CAPTURE(ranks);
        for (const GivenOptions& options : choices(algorithm_info(kind, name), ranks)) {
          CAPTURE(options.size());
          CollectiveCall call;
          call.kind = kind;
          call.ranks = ranks;
          for (const std::uint64_t bytes : {0, 1, 30}) {
            CAPTURE(bytes);
            call.bytes = bytes;
            check(call, name, options);
          }
          std::vector<std::int64_t> counts;
          if (kind == allgather || kind == reduce_scatter) counts.resize(ranks);
          if (kind == alltoall) counts.resize(std::size_t{ranks} * ranks);
          for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<std::int64_t>((37 * i + 5) % 11 % 6);
          call.counts = counts;
          if (!counts.empty()) check(call, name, options);
        }
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::test

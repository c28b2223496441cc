#include "collectives/registry.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "collectives/algorithms.hpp"
#include "schedule/names.hpp"

namespace isthmus {
namespace {

struct Entry {
  std::string name;
  Generator generator;
};

struct Registry {
  std::mutex mutex;
  std::array<std::vector<Entry>, collective_kinds> entries;
  std::array<std::size_t, collective_kinds> textbook{};  // how many of the entries come with Isthmus

  Registry() {
    using enum CollectiveKind;
    add(barrier,
        {{"dissemination", dissemination::barrier}, {"binomial", binomial::barrier}, {"linear", linear::barrier}});
    add(bcast, {{"binomial", binomial::bcast}, {"linear", linear::bcast}, {"ring", ring::bcast}});
    add(reduce, {{"binomial", binomial::reduce}, {"linear", linear::reduce}, {"ring", ring::reduce}});
    add(allreduce, {{"recursive_doubling", recursive_doubling::allreduce},
                    {"binomial", binomial::allreduce},
                    {"linear", linear::allreduce},
                    {"ring", ring::allreduce}});
    add(gather, {{"binomial", binomial::gather}, {"linear", linear::gather}});
    add(scatter, {{"binomial", binomial::scatter}, {"linear", linear::scatter}});
    add(allgather, {{"ring", ring::allgather},
                    {"dissemination", dissemination::allgather},
                    {"linear", linear::allgather},
                    {"recursive_doubling", recursive_doubling::allgather}});
    add(alltoall, {{"pairwise", pairwise::alltoall}, {"linear", linear::alltoall}});
    add(reduce_scatter,
        {{"pairwise", pairwise::reduce_scatter}, {"linear", linear::reduce_scatter}, {"ring", ring::reduce_scatter}});
    add(scan, {{"recursive_doubling", recursive_doubling::scan}, {"linear", linear::scan}});
    add(exscan, {{"recursive_doubling", recursive_doubling::exscan}, {"linear", linear::exscan}});
    add(neighbor_alltoall, {{"linear", linear::neighbor_alltoall}});
  }

  std::vector<Entry>& of(CollectiveKind kind) { return entries[static_cast<std::uint8_t>(kind)]; }

 private:
  void add(CollectiveKind kind, std::vector<Entry> of_kind) {
    textbook[static_cast<std::uint8_t>(kind)] = of_kind.size();
    of(kind) = std::move(of_kind);
  }
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

std::vector<std::string> algorithms(CollectiveKind kind) {
  const std::scoped_lock lock(registry().mutex);
  std::vector<std::string> names;
  for (const Entry& entry : registry().of(kind)) names.push_back(entry.name);
  return names;
}

Generator find_algorithm(CollectiveKind kind, const std::string& name) {
  const std::scoped_lock lock(registry().mutex);
  const auto& entries = registry().of(kind);
  if (name.empty()) return entries.front().generator;
  std::string allowed;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.generator;
    allowed += message(allowed.empty() ? "" : ", ", entry.name);
  }
  throw InvalidInput(message("algorithm '", name, "' of ", name_of(kind), ": allowed are ", allowed));
}

void register_algorithm(CollectiveKind kind, const std::string& name, Generator generator) {
  require(!name.empty(), "an algorithm of ", name_of(kind), " needs a name");
  const std::scoped_lock lock(registry().mutex);
  auto& entries = registry().of(kind);
  const auto at = std::ranges::find(entries, name, &Entry::name);
  if (at == entries.end()) {
    entries.push_back({name, std::move(generator)});
    return;
  }
  require(static_cast<std::size_t>(at - entries.begin()) >= registry().textbook[static_cast<std::uint8_t>(kind)],
          "algorithm '", name, "' of ", name_of(kind),
          " comes with Isthmus and cannot be replaced: choose another name");
  at->generator = std::move(generator);
}

CollectiveRules collective_rules(const std::vector<CollectiveChoice>& choices) {
  CollectiveRules rules;
  for (const CollectiveChoice& choice : choices) {
    rules[static_cast<std::uint8_t>(choice.kind)].push_back(
        {choice.most_bytes, find_algorithm(choice.kind, choice.algorithm)});
  }
  for (std::uint8_t kind = 1; kind < collective_kinds; ++kind) {
    rules[kind].push_back({~std::uint64_t{0}, find_algorithm(static_cast<CollectiveKind>(kind), "")});
  }
  return rules;
}

}  // namespace isthmus

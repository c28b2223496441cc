#include "collectives/registry.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "schedule/names.hpp"

namespace isthmus::collectives {
namespace {

struct Registry {
  std::mutex mutex;
  std::array<std::vector<CatalogueEntry>, collective_kinds> entries;
  std::array<std::size_t, collective_kinds> ours{};  // how many of the entries come with Isthmus

  Registry() {
    for (std::uint8_t kind = 1; kind < collective_kinds; ++kind) {
      entries[kind] = catalogue(static_cast<CollectiveKind>(kind));
      ours[kind] = entries[kind].size();
      for (CatalogueEntry& entry : entries[kind])
        entry.info.order = operand_order(static_cast<CollectiveKind>(kind), entry.info.name);
    }
  }
  std::vector<CatalogueEntry>& of(CollectiveKind kind) { return entries[static_cast<std::uint8_t>(kind)]; }
  bool is_ours(CollectiveKind kind, const CatalogueEntry& entry) {
    return static_cast<std::size_t>(&entry - of(kind).data()) < ours[static_cast<std::uint8_t>(kind)];
  }
};

Registry& registry() {
  static Registry instance;
  return instance;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += message(out.empty() ? "" : ", ", name);
  return out;
}

/// The entry of that name, or the default; the registry is locked.
CatalogueEntry& entry_of(CollectiveKind kind, const std::string& name) {
  auto& entries = registry().of(kind);
  if (name.empty()) return entries.front();
  const auto at = std::ranges::find(entries, name, [](const CatalogueEntry& e) { return e.info.name; });
  if (at != entries.end()) return *at;
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : entries) names.push_back(entry.info.name);
  throw InvalidInput(message("algorithm '", name, "' of ", name_of(kind), ": must be one of ", listed(names)));
}

void set(AlgorithmOptions& options, const std::string& name, const std::vector<std::uint64_t>& values) {
  const auto small = [&](std::uint64_t value) {
    require(value <= std::numeric_limits<std::uint32_t>::max(), "option ", name, " = ", value, ": must be at most ",
            std::numeric_limits<std::uint32_t>::max());
    return static_cast<std::uint32_t>(value);
  };
  const auto ranks = [&](std::vector<Rank>& out) {
    for (const std::uint64_t value : values) out.push_back(small(value));
  };
  if (name == "radix") options.radix = small(values[0]);
  if (name == "segment") options.segment = values[0];
  if (name == "window") options.window = small(values[0]);
  if (name == "dims") ranks(options.dims);
  if (name == "groups") ranks(options.groups);
  if (name == "latency") options.latency = values[0];
  if (name == "overhead") options.overhead = values[0];
  if (name == "gap") options.gap = values[0];
}

AlgorithmOptions chosen(const AlgorithmInfo& info, const char* kind, const GivenOptions& given) {
  AlgorithmOptions out;
  std::vector<std::string> names;
  for (const OptionInfo& option : info.options) {
    names.push_back(option.name);
    if (!option.list) set(out, option.name, {option.standard});
  }
  for (const auto& [name, values] : given) {
    const auto option = std::ranges::find(info.options, name, &OptionInfo::name);
    require(option != info.options.end(), "option '", name, "' of ", info.name, " (", kind,
            "): ", names.empty() ? "it has none" : message("must be one of ", listed(names)));
    require(option->list ? !values.empty() : values.size() == 1, "option ", name, " of ", info.name, " (", kind,
            "): ", option->list ? "expected numbers" : "expected one number");
    for (const std::uint64_t value : values) {
      require(value >= option->least, "option ", name, " = ", value, " of ", info.name, " (", kind, "): must be ",
              option->least, " or more");
    }
    set(out, name, values);
  }
  return out;
}

}  // namespace

std::vector<std::string> algorithms(CollectiveKind kind) {
  const std::scoped_lock lock(registry().mutex);
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : registry().of(kind)) names.push_back(entry.info.name);
  return names;
}

AlgorithmInfo algorithm_info(CollectiveKind kind, const std::string& name) {
  const std::scoped_lock lock(registry().mutex);
  return entry_of(kind, name).info;
}

Algorithm find_algorithm(CollectiveKind kind, const std::string& name, const GivenOptions& options) {
  const std::scoped_lock lock(registry().mutex);
  const CatalogueEntry& entry = entry_of(kind, name);
  Algorithm found(entry.generate, entry.prepare, chosen(entry.info, name_of(kind), options));
  found.concurrent = registry().is_ours(kind, entry);
  return found;
}

void register_algorithm(CollectiveKind kind, const std::string& name, Generator generator) {
  require(!name.empty(), "give the algorithm of ", name_of(kind), " a name");
  const std::scoped_lock lock(registry().mutex);
  auto& entries = registry().of(kind);
  const auto at = std::ranges::find(entries, name, [](const CatalogueEntry& e) { return e.info.name; });
  if (at == entries.end()) {
    entries.push_back({{name, "added by the user", "", {}, operand_order(kind, name)}, std::move(generator)});
    return;
  }
  require(!registry().is_ours(kind, *at), "algorithm '", name, "' of ", name_of(kind),
          " is part of Isthmus and cannot be replaced: choose another name");
  at->generate = std::move(generator);
}

CollectiveRules collective_rules(const std::vector<CollectiveChoice>& choices) {
  CollectiveRules rules;
  for (const CollectiveChoice& choice : choices) {
    rules[static_cast<std::uint8_t>(choice.kind)].push_back(
        {choice.most_bytes, find_algorithm(choice.kind, choice.algorithm, choice.options), choice.most_ranks,
         choice.flavour});
  }
  for (std::uint8_t kind = 1; kind < collective_kinds; ++kind) {
    rules[kind].push_back({~std::uint64_t{0}, find_algorithm(static_cast<CollectiveKind>(kind), "")});
  }
  return rules;
}

}  // namespace isthmus::collectives

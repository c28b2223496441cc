// Algorithms by name: the textbook ones and what users add.
#pragma once

#include <string>
#include <vector>

#include "schedule/lower.hpp"

namespace isthmus {

/// Names of the algorithms of a collective, its default first. Safe to call from several threads, as all of these.
std::vector<std::string> algorithms(CollectiveKind kind);

/// The algorithm of that name, the default for no name. Throws InvalidInput with the allowed names.
Generator find_algorithm(CollectiveKind kind, const std::string& name);

/// Adds an algorithm, or replaces one that was added before. Throws InvalidInput for the name of a textbook one and for
/// an empty name.
void register_algorithm(CollectiveKind kind, const std::string& name, Generator generator);

/// A user's choice: collectives of at most so many bytes take this algorithm.
struct CollectiveChoice {
  CollectiveKind kind;
  std::uint64_t most_bytes;
  std::string algorithm;
};

/// Rules of lowering: the choices in their order, then the defaults. Throws InvalidInput for unknown names.
CollectiveRules collective_rules(const std::vector<CollectiveChoice>& choices);

}  // namespace isthmus

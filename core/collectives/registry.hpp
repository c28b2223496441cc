// Algorithms by name: those of the catalogue and what users add.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schedule/lower.hpp"

namespace isthmus::collectives {
using namespace schedule;

/// An option that an algorithm takes.
struct OptionInfo {
  std::string name;  ///< a member of AlgorithmOptions
  std::uint64_t standard = 0;
  std::uint64_t least = 0;
  std::string words;
  bool list = false;  ///< several numbers, of which `least` is the smallest allowed; no standard
};

/// In which order a reduction combines the operands of the ranks: of others than `ranks`, what an operator needs that
/// does not commute is there in some calls only. Facts that the proof of contents shows for many numbers of ranks.
enum class OperandOrder : std::uint8_t {
  none,       ///< nothing is combined
  ranks,      ///< that of ranks
  from_root,  ///< that of ranks from the root on, round the circle: that of ranks where the root is rank 0
  in_groups,  ///< that of ranks where every group has consecutive ranks
  any,        ///< another one, for operators that commute
};

/// The catalogue entry of an algorithm.
struct AlgorithmInfo {
  std::string name;
  std::string words;      ///< what it does, in a sentence
  std::string reference;  ///< where it is published
  std::vector<OptionInfo> options;
  OperandOrder order = OperandOrder::none;
};

/// The order in which an algorithm of the catalogue combines operands; `any` for other reductions.
OperandOrder operand_order(CollectiveKind kind, const std::string& name);

struct CatalogueEntry {
  AlgorithmInfo info;
  Generator generate;
  Prepare prepare = {};
};

/// Algorithms that come with Isthmus, the default first.
std::vector<CatalogueEntry> catalogue(CollectiveKind kind);

/// Options as users give them: names and numbers; times are picoseconds.
using GivenOptions = std::vector<std::pair<std::string, std::vector<std::uint64_t>>>;

/// Names of the algorithms of a collective, its default first. Safe to call from several threads, as all of these.
std::vector<std::string> algorithms(CollectiveKind kind);

/// Describes an algorithm; without a name, the default. Throws InvalidInput with the allowed names.
AlgorithmInfo algorithm_info(CollectiveKind kind, const std::string& name);

/// The algorithm of that name, the default for no name. Throws InvalidInput with the allowed names, and for options
/// that it does not take or that are out of range.
Algorithm find_algorithm(CollectiveKind kind, const std::string& name, const GivenOptions& options = {});

/// Adds an algorithm, or replaces one that was added before. Throws InvalidInput for the name of one of the catalogue
/// and for an empty name.
void register_algorithm(CollectiveKind kind, const std::string& name, Generator generator);

/// A user's choice: collectives of at most so many bytes on at most so many ranks take this algorithm.
struct CollectiveChoice {
  CollectiveKind kind;
  std::uint64_t most_bytes;
  std::string algorithm;
  GivenOptions options = {};
  Rank most_ranks = ~Rank{0};
  Flavour flavour = Flavour::by_size;
};

/// Rules of lowering: the choices in their order, then the defaults. Throws InvalidInput as find_algorithm().
CollectiveRules collective_rules(const std::vector<CollectiveChoice>& choices);

}  // namespace isthmus::collectives

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "collectives/registry.hpp"

namespace isthmus::collectives {
namespace {

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

OperandOrder operand_order(CollectiveKind kind, const std::string& name) {
  using enum OperandOrder;
  switch (kind) {
    case CollectiveKind::reduce:
      return is_one_of(name, {"binomial", "linear", "ring", "knomial", "chain", "pipeline", "fork", "rabenseifner"})
                 ? from_root
                 : any;
    case CollectiveKind::allreduce:
      if (name == "hierarchical") return in_groups;
      return is_one_of(name, {"recursive_doubling", "binomial", "linear", "rabenseifner", "recursive_multiplying",
                              "reduce_bcast"})
                 ? ranks
                 : any;
    case CollectiveKind::reduce_scatter: return is_one_of(name, {"linear", "butterfly"}) ? ranks : any;
    case CollectiveKind::scan:
    case CollectiveKind::exscan: return is_one_of(name, {"recursive_doubling", "linear", "binomial"}) ? ranks : any;
    default: return none;
  }
}

}  // namespace isthmus::collectives

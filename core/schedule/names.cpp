#include "schedule/names.hpp"

#include <array>

#include "base/error.hpp"

namespace isthmus::schedule {
namespace {

constexpr std::array<const char*, event_kinds> event_names = {
    "?",    "compute",    "send",        "recv", "isend", "irecv", "sendrecv", "wait", "waitall", "waitany",
    "test", "collective", "comm_create", "put",  "get",   "fence", "flush",    "lock", "unlock",  "iteration"};

constexpr std::array<const char*, collective_kinds> collective_names = {
    "?",       "barrier",  "bcast",          "reduce", "allreduce", "gather",           "allgather",
    "scatter", "alltoall", "reduce_scatter", "scan",   "exscan",    "neighbor_alltoall"};

template <class Names, class Kind>
const char* name_in(const Names& names, Kind kind) {
  const auto index = static_cast<std::uint8_t>(kind);
  return names[index < names.size() ? index : 0];
}

}  // namespace

const char* name_of(EventKind kind) { return name_in(event_names, kind); }
const char* name_of(CollectiveKind kind) { return name_in(collective_names, kind); }

CollectiveKind collective_kind(const std::string& name) {
  std::string allowed;
  for (std::uint8_t i = 1; i < collective_kinds; ++i) {
    if (name == collective_names[i]) return static_cast<CollectiveKind>(i);
    allowed += message(i > 1 ? ", " : "", collective_names[i]);
  }
  throw InvalidInput(message("collective '", name, "': must be one of ", allowed));
}

}  // namespace isthmus::schedule

// How users spell the kinds of events and collectives.
#pragma once

#include <string>

#include "schedule/program.hpp"

namespace isthmus::schedule {

/// The name users spell; "?" for a number that is no kind.
const char* name_of(EventKind kind);
const char* name_of(CollectiveKind kind);

/// The collective of that name; throws InvalidInput with the allowed names.
CollectiveKind collective_kind(const std::string& name);

}  // namespace isthmus::schedule

// Trials of algorithms by all ranks of a team, and what they agree on.
#pragma once

#include <isthmus/isthmus.h>

namespace isthmus::runtime {

/// As isthmus_tune(). Throws InvalidInput, and TableError where the decision cannot be written.
int tune(isthmus_team& team, const isthmus_call& call, const isthmus_trial& trial, const void* input,
         const void* output);

}  // namespace isthmus::runtime

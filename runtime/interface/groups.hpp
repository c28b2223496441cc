// Teams of some of the ranks of a team.
#pragma once

#include <isthmus/isthmus.h>

#include <cstddef>

namespace isthmus::runtime {

/// Exchanges so many bytes of each rank of a team. Throws TransportError.
void gather_all(isthmus_team* team, const void* mine, void* all, std::size_t bytes);

}  // namespace isthmus::runtime

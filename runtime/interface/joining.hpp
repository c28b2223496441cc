// The way a team gets its transport.
#pragma once

#include <isthmus/isthmus.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

struct Joined {
  std::unique_ptr<Transport> transport;
  std::vector<Rank> nodes;  ///< of each rank, by the least rank that is on it; empty: all are on one
  std::uint32_t mates = 1;  ///< ranks of this node
  bool concurrent = true;   ///< another thread may use the transport while the program does something else
};

/// Shared memory inside a node, the wire between nodes; one of them alone where the job or the environment says so.
/// Where the ranks of a node cannot share memory, they take the wire too, and the transport's notice says why. Throws
/// InvalidInput, Unsupported, TransportError; the wire is closed then.
Joined join(const isthmus_job& job);

/// The same for all processes that see the same /dev/shm.
std::uint64_t shared_place();

}  // namespace isthmus::runtime

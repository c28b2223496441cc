// Messages over libfabric, as an isthmus_wire: what MPI does elsewhere, without MPI. The library is loaded when a job
// asks for it, so that libisthmus needs none.
//
// What an operation costs: one tagged send or receive of the provider, with the bytes where they are, and its part of
// one look at the queue of completions. Providers send small messages at once; for large ones the receiver, when it has
// found their place, fetches them by itself (the rendezvous of ofi_rxm and of the hardware). What a provider cannot
// take now waits here, for each receiver by itself.
#pragma once

#include <isthmus/isthmus.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/ofi/rendezvous.hpp"

namespace isthmus::runtime {

struct OfiJob {
  /// A wire of the ranks of `rendezvous`, who have met, and the least rank of the node of each.
  isthmus_wire wire{};
  std::vector<Rank> nodes;
  std::string provider;
};

/// `provider`: its name in libfabric, such as "tcp"; empty: the first one that reaches other computers, in libfabric's
/// order. `place`: the same number for ranks that may share memory, if they are on one host. Collective. Throws
/// TransportError, in the same words on all ranks, where libfabric or the provider cannot be had.
OfiJob ofi_wire(std::unique_ptr<Rendezvous> rendezvous, Rank rank, Rank ranks, const std::string& provider,
                std::uint64_t place);

}  // namespace isthmus::runtime

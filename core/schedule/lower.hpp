// From programs to schedules: blocking calls, requests and collectives become operations and dependencies.
//
// Every rank is followed through its events, together with what its next operation waits for:
//
// - after a blocking call: until its operations are done;
// - after isend, irecv, put, get or the start of a nonblocking collective: until it has started (its operations without
//   a dependency, for a collective), so that operations are posted in the order of the program;
// - wait, waitall, waitany and a successful test add that the request's operations are done (those without a dependant,
//   for a collective). A wait for request 0 and an unsuccessful test add nothing.
//
// Where many operations would each wait for many, a calc of 0 ps in between saves the edges.
//
// compute        a calc; none for 0 ps
// sendrecv       a send and a recv that are posted together and both waited for
// peer -2        (MPI_PROC_NULL) nothing; a request for it is complete
// collective     what its generator writes; a barrier for fence, an allgather of 8 bytes on the parent for comm_create.
//                Operations of nonblocking collectives run on CPU stream `progress_stream`; if that is not stream 0,
//                the program only hands them over and does not wait until they have started.
// put, get       one operation each; fence, flush and unlock wait until those they name are done. Schedules have no
// windows:
//                accesses carry no communicator.
// lock           a get of 0 bytes, waited for; peer -1 (MPI_Win_lock_all): nothing
// iteration      nothing
//
// Messages match by communicator: 2 * comm for those of the program, 2 * comm + 1 for those of collectives, which are
// told apart by tag = number of collectives that the rank has called on the communicator before.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/collective.hpp"
#include "schedule/one_sided.hpp"
#include "schedule/program.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::schedule {

/// Takes collectives of communicators of at most so many ranks and of at most so many bytes: the event's amount, or the
/// mean block where it has the same counts on all ranks (so that all ranks decide alike).
struct CollectiveRule {
  std::uint64_t most_bytes = ~std::uint64_t{0};
  Algorithm algorithm;
  Rank most_ranks = ~Rank{0};
  Flavour flavour = Flavour::by_size;
};

/// By CollectiveKind; the first rule that takes a collective writes it.
using CollectiveRules = std::array<std::vector<CollectiveRule>, collective_kinds>;

struct LowerOptions {
  CollectiveRules collectives;
  std::uint8_t progress_stream = 0;
  /// Come first for reductions whose operators do not commute (tag 1).
  CollectiveRules in_order{};
};

/// Schedules with more operations than this (256 GB) are taken for mistakes.
inline constexpr std::uint64_t most_operations = std::uint64_t{1} << 33;

/// The schedule of a program. Memory beside it is that of one rank. Throws InvalidInput that names rank, event (counted
/// from 0 on its rank) and reason for what cannot be followed: columns of different lengths, unknown kinds, peers,
/// communicators and requests, collectives that no rule takes; whether ranks agree with each other is not checked.
Schedule lower(const Program& program, const LowerOptions& options);

}  // namespace isthmus::schedule

// The Program: what each rank does in MPI terms, as columns of events. The columns belong to the caller (NumPy arrays
// of the Python class Program, or a reader); the core only looks at them.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/schedule.hpp"

namespace isthmus::schedule {

enum class EventKind : std::uint8_t {
  compute = 1,  ///< amount: picoseconds
  send = 2,     ///< blocking: peer, tag, comm, amount bytes
  recv = 3,
  isend = 4,  ///< with request
  irecv = 5,
  sendrecv = 6,      ///< the send half in the columns; detail: [source, receive tag, receive bytes]
  wait = 7,          ///< request
  waitall = 8,       ///< detail: requests; no detail: all that are open
  waitany = 9,       ///< detail: requests; amount: which of them completed, counted from 0
  test = 10,         ///< request; amount: 1 if it completed, 0 if not
  collective = 11,   ///< what, comm, peer = root, amount bytes (see CollectiveKind); request 0: blocking
  comm_create = 12,  ///< comm = parent; amount: index of the new communicator, all ones if this rank is in none
  put = 13,          ///< one-sided: peer, comm = window's communicator, amount bytes; done at the next fence or flush
  get = 14,
  fence = 15,      ///< all own puts and gets on comm done, then a barrier
  flush = 16,      ///< all own puts and gets to peer (-1: to all) done
  lock = 17,       ///< a round trip to peer (contention for the lock itself is not modelled)
  unlock = 18,     ///< as flush of peer
  iteration = 19,  ///< marker, amount: number of the iteration
};
inline constexpr int event_kinds = 20;

/// Collectives as MPI has them. Bytes of an event: barrier 0; bcast, reduce, allreduce, scan, exscan: of the vector;
/// gather, allgather, scatter, alltoall, reduce_scatter: of one rank's block. With a detail, the bytes per rank of the
/// communicator instead (gatherv, scatterv, allgatherv, reduce_scatter with counts: of every rank's block, the same
/// list on all ranks; alltoallv: what this rank sends to each and then, in a second half, receives from each;
/// neighbor_alltoall: triples of neighbour, bytes to it, bytes from it).
enum class CollectiveKind : std::uint8_t {
  barrier = 1,
  bcast = 2,
  reduce = 3,
  allreduce = 4,
  gather = 5,
  allgather = 6,
  scatter = 7,
  alltoall = 8,
  reduce_scatter = 9,
  scan = 10,
  exscan = 11,
  neighbor_alltoall = 12,
};
inline constexpr int collective_kinds = 13;

inline constexpr std::int32_t program_any = -1;   ///< MPI_ANY_SOURCE, MPI_ANY_TAG
inline constexpr std::int32_t program_null = -2;  ///< MPI_PROC_NULL: the call does nothing

/// All spans but the last four have one element per event; events of rank r are [first[r], first[r + 1]).
/// Peers and roots are ranks of the communicator, as in MPI.
struct Program {
  Rank ranks = 0;
  std::span<const std::uint64_t> first;
  std::span<const std::uint8_t> kind;  ///< EventKind
  std::span<const std::uint8_t> what;  ///< CollectiveKind, otherwise 0
  std::span<const std::int32_t> peer;
  std::span<const std::int32_t> tag;
  std::span<const std::uint32_t> comm;  ///< 0: the world
  std::span<const std::uint64_t> amount;
  std::span<const std::uint32_t> request;  ///< from 1, unique among those open on the rank; 0: none
  std::span<const std::uint32_t> detail;   ///< 0: none; otherwise details[detail] = n, followed by n numbers
  std::span<const std::int64_t> details;
  std::span<const std::uint64_t> comm_first;  ///< communicators + 1
  std::span<const std::uint32_t> comm_ranks;  ///< world ranks of the members, in their order
};

}  // namespace isthmus::schedule

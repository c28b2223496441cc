// Messages by rendezvous with the request and the answer that come before them.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/schedule.hpp"

namespace isthmus::schedule {

/// The schedule in which every message by rendezvous between two nodes waits for a request of one byte from its sender
/// and an answer of one byte from its receiver, which are messages like others: they take processors and interfaces in
/// their turn, in an exchange with one rank an answer before a request. The data then go as an eager message does.
/// `node` says where each rank is; empty: each on a node of its own. Messages of more than `largest_eager` bytes, and
/// those that say so, are by rendezvous; messages to ranks that have receives with wildcards stay as they are. Data of
/// more than `queue` bytes go in parts, between which others of their rank may go, but for those of an exchange with
/// one rank, whose answers take the way of the data. What operations there were keep their order; the result names no
/// buffers. Throws InvalidInput if there are communicators too many, or sends and receives that do not match.
Schedule with_handshakes(const Schedule& schedule, std::span<const std::uint32_t> node, std::uint64_t largest_eager,
                         std::uint64_t queue);

}  // namespace isthmus::schedule

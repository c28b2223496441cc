// Whether a schedule is one.
#pragma once

#include <cstdint>

#include "schedule/schedule.hpp"

namespace isthmus::schedule {

/// Largest amount of an operation: times are signed 64-bit picoseconds.
inline constexpr std::uint64_t max_amount = 0x7FFFFFFFFFFFFFFF;

/// Arrays that fit each other, and operations that are possible taken one by one: kinds, peers, tags, dependencies,
/// buffers. Throws InvalidInput with one sentence that names rank, operation and reason.
void check_arrays(const Schedule& schedule);

/// No operation waits for itself through others. Throws InvalidInput naming one cycle. The arrays must be consistent.
void check_acyclic(const Schedule& schedule);

/// Sends and receives that can never all match. A receive takes a send of its communicator, source and tag (any_rank,
/// any_tag: whichever); sizes are not compared. Throws InvalidInput if, for one receiving rank and communicator,
///   - a source and tag is sent more often than there are receives that could take it,
///   - a source and tag is received more often than sent, or receives from one source, or of one tag, outnumber the
///   sends
///     that they could take, or
///   - there are more sends than receives in all, or more receives than sends.
/// Then some operation stays unmatched in every execution; the message names one of those counted. What is accepted can
/// be matched completely in some order, unless a rank posts both receives of any tag from one rank and receives of one
/// tag from any rank: these are counted as said, but no assignment is searched. The arrays must be consistent.
///
/// Ranks without wildcards are compared by 64-bit sums of hashed messages first, and in full where those differ.
void check_matching(const Schedule& schedule);

/// All of the above.
void validate(const Schedule& schedule);

}  // namespace isthmus::schedule

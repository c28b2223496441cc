/// Raw traces as recorder/trace.h describes them: where records begin, and where a trace may be cut into pieces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace isthmus {

/// Where records begin, in words.
struct RawRecords {
  std::vector<std::int64_t> at;
  /// Where the last whole record ends.
  std::int64_t end = 0;
  /// Where a record without a length stands; -1: nowhere. What follows it is not looked at.
  std::int64_t without_length = -1;
};

/// Walks from record to record, of those that are whole.
RawRecords raw_records(std::span<const std::uint64_t> words);

/// Where pieces of at least `records` records may begin, 0 first: between them no request is open that completes later,
/// no epoch of post and start, and no row of folded calls is divided. Records must be whole, and hold what they say.
std::vector<std::int64_t> raw_pieces(std::span<const std::uint64_t> words, std::int64_t records);

/// The largest number of a request that is opened; 0: there is none.
std::uint32_t raw_last_request(std::span<const std::uint64_t> words);

}  // namespace isthmus

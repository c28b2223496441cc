/// Raw traces as recorder/trace.h describes them: where records begin, and where a trace may be cut into pieces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace isthmus::recording {

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

/// Pieces in which a trace may be read.
struct RawPieces {
  /// Where they begin, in words; 0 first.
  std::vector<std::int64_t> begins;
  /// The largest number of a request that is opened; 0: there is none.
  std::uint32_t last_request = 0;
};

/// Pieces of at least `records` records: between them no request is open that completes later, no epoch of post and
/// start, and no row of folded calls is divided. Records must be whole, and hold what they say.
RawPieces raw_pieces(std::span<const std::uint64_t> words, std::int64_t records);

/// Copies `size` words from each of these places, one after another.
void raw_gather(std::span<const std::uint64_t> words, std::span<const std::int64_t> at, std::size_t size,
                std::uint64_t* out);

}  // namespace isthmus::recording

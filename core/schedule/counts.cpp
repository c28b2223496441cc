#include "schedule/counts.hpp"

#include "base/error.hpp"

namespace isthmus::schedule {
namespace {

/// What all ranks together move must be a number that blocks can be added up in.
constexpr std::uint64_t most_bytes = 0x7FFFFFFFFFFFFFFF;

}  // namespace

std::string Counts::check(CollectiveCall& call, std::uint64_t& deciding) {
  if (call.counts.empty()) {
    deciding = call.bytes;
    if (call.bytes <= most_bytes / call.ranks) return {};
    return message(call.bytes, " bytes from each of ", call.ranks, " ranks are too many");
  }
  if (call.kind != last_.kind || call.ranks != last_.ranks || call.bytes != last_.bytes ||
      call.counts.data() != last_.counts.data() || call.counts.size() != last_.counts.size()) {
    std::string reason = wrong(call, last_deciding_);
    if (!reason.empty()) return reason;
    last_ = call;
    offsets_.clear();
    if (call.kind != CollectiveKind::neighbor_alltoall) {
      offsets_.push_back(0);
      for (const std::int64_t count : call.counts)
        offsets_.push_back(offsets_.back() + static_cast<std::uint64_t>(count));
    }
  }
  call.offsets = offsets_;
  deciding = last_deciding_;
  return {};
}

std::string Counts::wrong(const CollectiveCall& call, std::uint64_t& deciding) {
  const std::size_t n = call.counts.size();
  const std::size_t ranks = call.ranks;
  bool shared = false;
  switch (call.kind) {
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
    case CollectiveKind::allgather:
    case CollectiveKind::reduce_scatter:
      if (n != ranks) return message(n, " counts for ", ranks, " ranks");
      shared = true;
      break;
    case CollectiveKind::alltoall:
      if (n != 2 * ranks) return message(n, " counts: expected ", ranks, " sent and ", ranks, " received");
      break;
    case CollectiveKind::neighbor_alltoall:
      if (n % 3 != 0) return message(n, " counts: expected three for each neighbour");
      break;
    default: return "takes no counts";
  }
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t count = call.counts[i];
    if (call.kind == CollectiveKind::neighbor_alltoall && i % 3 == 0) {
      if (count < 0 || static_cast<std::uint64_t>(count) >= ranks) {
        return message("neighbour ", count, " does not exist: there are ", ranks, " ranks");
      }
      continue;
    }
    if (count < 0) return message("count ", count, " is negative");
    total += static_cast<std::uint64_t>(count);
    if (total > most_bytes) return "the counts add up to too many bytes";
  }
  deciding = shared ? total / ranks : call.bytes;
  return {};
}

}  // namespace isthmus::schedule

// The ranks of a job are processes of one node, which share memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/transport/ring_transport.hpp"
#include "runtime/transport/shm/segment.hpp"

namespace isthmus::runtime {

/// One rank; used by one thread at a time. A rank that dies, or that leaves although something is expected of it, is a
/// failure that names it, within some tenths of a second of waiting.
class ShmTransport final : public RingTransport {
 public:
  /// Waits until all ranks are there. Throws TransportError.
  explicit ShmTransport(const ShmOptions& options) : ShmTransport(options, std::make_unique<ShmSegment>(options)) {}
  void watch() override;

 protected:
  Ring* ring(Rank from, Rank to) override;
  std::byte* bulk_ring(Rank from, Rank to) override;
  Fetched fetch(Rank from, std::uint64_t address, std::byte* to, std::size_t count) override;
  [[nodiscard]] Rank name_of(Rank rank) const override { return names_.empty() ? rank : names_[rank]; }

 private:
  enum class Access : std::uint8_t { unknown, allowed, refused };

  ShmTransport(const ShmOptions& options, std::unique_ptr<ShmSegment> segment)
      : RingTransport(options.rank, options.ranks, segment->bulk(), pieces_of(options, *segment),
                      options.pieces == Pieces::where_faster && !segment->take_turns()),
        names_(options.names),
        segment_(std::move(segment)),
        access_(options.ranks, options.one_copy ? Access::unknown : Access::refused) {
    if (segment_->take_turns()) take_turns();
    // A rank that only sends large messages, such as the one that tells users, would never find out.
    if (options.ranks > 1 && options.one_copy && options.pieces != Pieces::always)
      find_access((options.rank + 1) % options.ranks);
  }

  /// Two copies at the same time may be faster than one through the kernel where all ranks have a core.
  static Pieces pieces_of(const ShmOptions& options, const ShmSegment& segment);
  Access find_access(Rank from);
  void refuse(Rank from, const char* why);
  void fail_for_dead(Rank rank);

  std::vector<Rank> names_;
  std::unique_ptr<ShmSegment> segment_;
  std::vector<Access> access_;
  std::vector<Rank> gone_;  // ranks that had left when watch() looked last, while something was expected of them
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace isthmus::runtime

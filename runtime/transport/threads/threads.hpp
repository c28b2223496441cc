// All ranks in one process, a thread each: for tests, sanitizers and programs without MPI.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/transport/ring_transport.hpp"

namespace isthmus::runtime {

/// How ranks exchange large messages.
struct ThreadsOptions {
  std::size_t bulk = 64 << 10;  ///< bytes of a ring of bytes, see RingTransport
  bool one_copy = true;         ///< large messages are copied once; otherwise piece by piece, as between containers
};

/// What the ranks share.
class ThreadsWorld {
 public:
  explicit ThreadsWorld(Rank ranks, const ThreadsOptions& options = {});
  ~ThreadsWorld();
  ThreadsWorld(const ThreadsWorld&) = delete;
  ThreadsWorld& operator=(const ThreadsWorld&) = delete;

  [[nodiscard]] Rank ranks() const { return ranks_; }
  [[nodiscard]] const ThreadsOptions& options() const { return options_; }
  /// Made by whoever of the two comes first.
  Ring* ring(Rank from, Rank to);
  std::byte* bulk_ring(Rank from, Rank to);

 private:
  struct Line {
    alignas(64) std::byte bytes[64];
  };

  Rank ranks_;
  ThreadsOptions options_;
  std::vector<std::atomic<Ring*>> rings_;
  std::vector<std::atomic<Line*>> bulks_;
};

/// One rank; used by one thread.
class ThreadsTransport final : public RingTransport {
 public:
  ThreadsTransport(ThreadsWorld& world, Rank rank)
      : RingTransport(rank, world.ranks(), world.options().bulk), world_(world) {}

 protected:
  Ring* ring(Rank from, Rank to) override { return world_.ring(from, to); }
  std::byte* bulk_ring(Rank from, Rank to) override { return world_.bulk_ring(from, to); }
  Fetched fetch(Rank from, std::uint64_t address, std::byte* to, std::size_t count) override;

 private:
  ThreadsWorld& world_;
};

}  // namespace isthmus::runtime

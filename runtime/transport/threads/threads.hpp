// All ranks in one process, a thread each: for tests, sanitizers and programs without MPI.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/transport/ring_transport.hpp"

namespace isthmus::runtime {

/// What the ranks share.
class ThreadsWorld {
 public:
  explicit ThreadsWorld(Rank ranks);
  ~ThreadsWorld();
  ThreadsWorld(const ThreadsWorld&) = delete;
  ThreadsWorld& operator=(const ThreadsWorld&) = delete;

  [[nodiscard]] Rank ranks() const { return ranks_; }
  /// Made by whoever of the two comes first.
  Ring& ring(Rank from, Rank to);

 private:
  Rank ranks_;
  std::vector<std::atomic<Ring*>> rings_;
};

/// One rank; used by one thread.
class ThreadsTransport final : public RingTransport {
 public:
  ThreadsTransport(ThreadsWorld& world, Rank rank) : RingTransport(rank, world.ranks()), world_(world) {}

 protected:
  Ring& ring(Rank from, Rank to) override { return world_.ring(from, to); }
  bool fetch(Rank from, std::uint64_t address, std::byte* to, std::size_t count) override;

 private:
  ThreadsWorld& world_;
};

}  // namespace isthmus::runtime

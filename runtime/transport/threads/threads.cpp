#include "runtime/transport/threads/threads.hpp"

#include <cstring>

namespace isthmus::runtime {

ThreadsWorld::ThreadsWorld(Rank ranks) : ranks_(ranks), rings_(std::size_t{ranks} * ranks) {}

ThreadsWorld::~ThreadsWorld() {
  for (auto& ring : rings_) delete ring.load(std::memory_order_relaxed);
}

Ring& ThreadsWorld::ring(Rank from, Rank to) {
  std::atomic<Ring*>& place = rings_[std::size_t{from} * ranks_ + to];
  Ring* found = place.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  auto made = std::make_unique<Ring>();
  if (place.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *found;
}

bool ThreadsTransport::fetch(Rank, std::uint64_t address, std::byte* to, std::size_t count) {
  std::memcpy(to, reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(address)), count);
  return true;
}

}  // namespace isthmus::runtime

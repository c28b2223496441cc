#include "runtime/transport/threads/threads.hpp"

#include <cstring>
#include <memory>

namespace isthmus::runtime {
namespace {

/// What stands at `place`, or else what `make` makes.
template <class T, class Make>
T* found_or_made(std::atomic<T*>& place, const Make& make) {
  T* found = place.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  auto made = make();
  return place.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel) ? made.release() : found;
}

}  // namespace

ThreadsWorld::ThreadsWorld(Rank ranks, const ThreadsOptions& options)
    : ranks_(ranks), options_(options), rings_(std::size_t{ranks} * ranks), bulks_(rings_.size()) {}

ThreadsWorld::~ThreadsWorld() {
  for (auto& ring : rings_) delete ring.load(std::memory_order_relaxed);
  for (auto& bulk : bulks_) delete[] bulk.load(std::memory_order_relaxed);
}

Ring* ThreadsWorld::ring(Rank from, Rank to) {
  return found_or_made(rings_[std::size_t{from} * ranks_ + to], [] { return std::make_unique<Ring>(); });
}

std::byte* ThreadsWorld::bulk_ring(Rank from, Rank to) {
  const std::size_t lines = (BulkRing::head + options_.bulk) / sizeof(Line);
  return found_or_made(bulks_[std::size_t{from} * ranks_ + to], [&] { return std::make_unique<Line[]>(lines); })->bytes;
}

RingTransport::Fetched ThreadsTransport::fetch(Rank, std::uint64_t address, std::byte* to, std::size_t count) {
  if (!world_.options().one_copy) return Fetched::refused;
  std::memcpy(to, reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(address)), count);
  return Fetched::done;
}

}  // namespace isthmus::runtime

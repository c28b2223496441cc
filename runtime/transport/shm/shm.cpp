#include "runtime/transport/shm/shm.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace isthmus::runtime {
namespace {

/// Reads the memory of another process; 0 or what errno says.
int read_from(std::int32_t process, std::uint64_t address, std::byte* to, std::size_t count) {
  while (count > 0) {
    const iovec here{to, count};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), count};
    const ssize_t got = ::process_vm_readv(process, &here, 1, &there, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EFAULT;
    to += got;
    address += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  return 0;
}

}  // namespace

Ring* ShmTransport::ring(Rank from, Rank to) {
  Ring* const found = segment_->ring(from, to);
  if (found == nullptr) fail(std::string("no shared memory is left for messages (/dev/shm): ") + std::strerror(errno));
  return found;
}

std::byte* ShmTransport::bulk_ring(Rank from, Rank to) {
  std::byte* const found = segment_->bulk_ring(from, to);
  if (found == nullptr) fail(std::string("no shared memory is left for messages (/dev/shm): ") + std::strerror(errno));
  return found;
}

Pieces ShmTransport::pieces_of(const ShmOptions& options, const ShmSegment& segment) {
  // With smaller rings, both would wait for each other too often.
  constexpr std::size_t enough = 256 << 10;
  if (options.pieces != Pieces::where_faster) return options.pieces;
  return segment.bulk() >= enough && !segment.take_turns() ? Pieces::where_faster : Pieces::never;
}

ShmTransport::Access ShmTransport::find_access(Rank from) {
  if (access_[from] != Access::unknown) return access_[from];
  // In another container the number of the process may be that of another one here.
  const ShmRank& other = segment_->of(from);
  std::uint64_t value = 0;
  const int error = read_from(other.process, other.probe, reinterpret_cast<std::byte*>(&value), sizeof value);
  const bool right = error == 0 && value == other.probe_value;
  // One that has ended says nothing of what is permitted.
  if (!right && (other.state.load(std::memory_order_acquire) == ShmRank::left || !segment_->is_alive(from)))
    return Access::refused;
  if (right) access_[from] = Access::allowed;
  else refuse(from, error == 0 ? "another process has its number" : std::strerror(error));
  return access_[from];
}

void ShmTransport::refuse(Rank from, const char* why) {
  access_[from] = Access::refused;
  note("rank " + words_of(rank()) + " may not read the memory of rank " + words_of(from) + " (" + why +
       "): large messages are copied twice");
}

RingTransport::Fetched ShmTransport::fetch(Rank from, std::uint64_t address, std::byte* to, std::size_t count) {
  if (from == rank() && access_[from] != Access::refused) {
    std::memcpy(to, reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(address)), count);
    return Fetched::done;
  }
  if (find_access(from) == Access::refused) return Fetched::refused;
  const int error = read_from(segment_->of(from).process, address, to, count);
  if (error == 0) return Fetched::done;
  if (error == EPERM || error == ENOSYS) {  // a program may give up rights, or be kept from calls, while it runs
    refuse(from, std::strerror(error));
    return Fetched::refused;
  }
  if (!segment_->is_alive(from)) fail_for_dead(segment_->report_dead(from));
  return Fetched::failed;
}

void ShmTransport::fail_for_dead(Rank rank) {
  fail("rank " + words_of(rank) + " died (process " + std::to_string(segment_->of(rank).process) + ")");
}

void ShmTransport::watch() {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < std::chrono::milliseconds(100)) return;
  looked_ = now;
  if (const Rank dead = segment_->dead(); dead != ranks()) return fail_for_dead(dead);
  for (Rank r = 0; r < ranks(); ++r) {
    if (segment_->of(r).state.load(std::memory_order_acquire) == ShmRank::present && !segment_->is_alive(r)) {
      // It may have left between the two looks.
      if (segment_->of(r).state.load(std::memory_order_acquire) == ShmRank::left) continue;
      return fail_for_dead(segment_->report_dead(r));
    }
  }
  // What a rank sent before it left has been taken by the second time.
  std::vector<Rank> gone;
  for (const Rank r : expected()) {
    if (segment_->of(r).state.load(std::memory_order_acquire) != ShmRank::left) continue;
    if (std::find(gone_.begin(), gone_.end(), r) != gone_.end())
      return fail("rank " + words_of(r) + " has left while rank " + words_of(rank()) + " waits for it");
    gone.push_back(r);
  }
  gone_ = std::move(gone);
}

}  // namespace isthmus::runtime

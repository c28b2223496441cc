// Numbers in the memory of a space that say how often something has come, and what stands before them.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus::runtime {

/// After what it says.
inline void add_to_signal(std::uint64_t& count, std::uint64_t add) {
  std::atomic_ref<std::uint64_t>(count).fetch_add(add, std::memory_order_release);
}
/// Whether so much has come; then what it says is there.
inline bool has_come(std::uint64_t& count, std::uint64_t amount) {
  return std::atomic_ref<std::uint64_t>(count).load(std::memory_order_acquire) >= amount;
}
/// One rank does: its own.
inline void take_from_signal(std::uint64_t& count, std::uint64_t amount) {
  std::atomic_ref<std::uint64_t>(count).fetch_sub(amount, std::memory_order_relaxed);
}

}  // namespace isthmus::runtime

// Delays between the steps of what threads and processes do without locks, for tests that look for orders in which it
// goes wrong. Built in only with ISTHMUS_DELAYS.
#pragma once

#ifdef ISTHMUS_DELAYS
#include <atomic>
#include <cstdint>
#include <thread>
#endif

namespace isthmus::runtime {

#ifdef ISTHMUS_DELAYS
inline void maybe_delay() {
  static std::atomic<std::uint32_t> threads{0};
  thread_local std::uint64_t state = 0x9E3779B97F4A7C15U * (threads.fetch_add(1, std::memory_order_relaxed) + 1);
  state = state * 6364136223846793005U + 1442695040888963407U;
  switch ((state >> 33) % 64) {
    case 0: std::this_thread::yield(); break;
    case 1:
      for (std::uint64_t i = 0; i < (state >> 40) % 2000; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      break;
    default: break;
  }
}
#else
inline void maybe_delay() {}
#endif

}  // namespace isthmus::runtime

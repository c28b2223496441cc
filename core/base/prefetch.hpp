// Fetching memory before it is needed.
#pragma once

namespace isthmus {

/// Starts to load the cache line at `address`, which need not be valid.
inline void prefetch_line(const void* address) {
#if defined(__x86_64__) && defined(__GNUC__)
  // GCC takes a function with nothing but __builtin_prefetch for one without effect and drops the calls of it.
  asm volatile("prefetcht0 (%0)" : : "r"(address));
#else
  __builtin_prefetch(address);
#endif
}

}  // namespace isthmus

// Independent pieces of work on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace isthmus {

/// Calls body(i) for all i below `count`, on up to `threads` threads; rethrows the exception of the lowest i.
template <class Body>
void in_parallel(std::size_t count, unsigned threads, Body body) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(count);
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads && t < count; ++t) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
}

}  // namespace isthmus

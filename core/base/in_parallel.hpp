// Independent pieces of work on several threads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/interruption.hpp"

namespace isthmus {

/// Calls body(i) for all i below `count`, on up to `threads` threads; rethrows the exception of the lowest i. Where
/// this thread is interrupted, the others are too.
template <class Body>
void in_parallel(std::size_t count, unsigned threads, Body body) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(count);
  const auto stop = std::make_shared<Stop>();
  stop->around = interruption::stop();
  const auto work = [&] {
    for (std::size_t i = next++; i < count && !stop->asked; i = next++) {
      try {
        interruption_point();
        body(i);
      } catch (const Interrupted&) {
        stop->asked = true;
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::mutex mutex;
  std::condition_variable ends;
  std::size_t working = 0;
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads && t < count; ++t) {
    const std::scoped_lock lock(mutex);
    ++working;
    others.emplace_back([&] {
      const WorkingFor us(stop);
      work();
      const std::scoped_lock done(mutex);
      --working;
      ends.notify_one();
    });
  }
  work();
  {
    std::unique_lock lock(mutex);
    while (!ends.wait_for(lock, std::chrono::milliseconds(interruption::every), [&] { return working == 0; })) {
      lock.unlock();
      try {
        if (!stop->asked) interruption_point();
      } catch (const Interrupted&) {
        stop->asked = true;
      }
      lock.lock();
    }
  }
  for (std::thread& t : others) t.join();
  if (stop->asked) throw Interrupted();
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
}

}  // namespace isthmus

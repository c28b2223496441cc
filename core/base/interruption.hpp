// Ctrl-C in the middle of long work: whoever works long calls interruption_point() now and then, which throws
// Interrupted where the work is to be given up. Nothing is half-done then but what the work has not returned.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace isthmus {

/// The work was given up because somebody asked for it.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// Whether threads that work for another are to give up; they do so as well where the work is part of other work.
struct Stop {
  std::atomic<bool> asked{false};
  std::shared_ptr<const Stop> around;

  [[nodiscard]] bool is_asked() const {
    for (const Stop* s = this; s != nullptr; s = s->around.get())
      if (s->asked.load(std::memory_order_relaxed)) return true;
    return false;
  }
};

namespace interruption {

/// Asks whoever runs the program, for threads that work for nobody else; the extension for Python sets it.
inline std::atomic<bool (*)()> is_asked_from_outside{nullptr};
/// Milliseconds between two looks of a thread.
inline constexpr std::int64_t every = 50;
inline constinit thread_local std::int64_t next_look = 0;

/// The request to stop the work of this thread.
inline std::shared_ptr<const Stop>& stop() {
  static thread_local std::shared_ptr<const Stop> of_thread;
  return of_thread;
}

inline void look() {
  bool asked = false;
  if (stop()) {
    asked = stop()->is_asked();
  } else if (const auto ask = is_asked_from_outside.load(std::memory_order_relaxed)) {
    asked = ask();
  }
  if (asked) throw Interrupted();
}

}  // namespace interruption

/// Throws Interrupted if this work is to be given up. It costs reading the coarse clock, some nanoseconds, and every
/// 50 ms a look.
inline void interruption_point() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t milliseconds = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  if (milliseconds < interruption::next_look) return;
  interruption::next_look = milliseconds + interruption::every;
  interruption::look();
}

/// The thread works for `stop` as long as this lives.
class WorkingFor {
 public:
  explicit WorkingFor(std::shared_ptr<const Stop> stop)
      : before_(std::exchange(interruption::stop(), std::move(stop))) {}
  ~WorkingFor() { interruption::stop() = std::move(before_); }
  WorkingFor(const WorkingFor&) = delete;
  WorkingFor& operator=(const WorkingFor&) = delete;

 private:
  std::shared_ptr<const Stop> before_;
};

}  // namespace isthmus

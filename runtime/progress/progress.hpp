// What goes on while the program computes: a thread that looks now and then whether something can be done.
//
// Without it a team is used by one thread and nothing is locked. With it every call of the team takes one lock, which
// costs some tens of nanoseconds, and holds it while it waits; the thread looks only where the lock is free. Between
// looks it sleeps by a timer: as long as the transport expects nothing, or where that is not known the longer the
// longer nothing has happened. Whoever begins or ends what is under way sets or stops the timer, so that no look, which
// takes two changes of threads, is for nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

enum class ProgressMode : std::uint8_t {
  none,    ///< in calls of the team alone
  thread,  ///< looks often: for a core that is free
  timer,   ///< looks when it expects something, before others where that is permitted: takes turns with the program
};

/// "none", "thread", "timer", or "auto": by the cores that this process may run on, its `mates`, ranks of this node,
/// and all `ranks`. Throws InvalidInput.
ProgressMode progress_mode(std::string_view name, std::uint32_t mates, std::uint32_t ranks);

class Progress {
 public:
  /// `go_on` is called with the lock held; it says whether it could do anything. Throws TransportError where the system
  /// has no timer left.
  Progress(ProgressMode mode, std::shared_ptr<Transport> transport, std::function<bool()> go_on);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void lock() { mutex_.lock(); }
  void unlock();

 private:
  [[nodiscard]] bool has_work() const { return transport_->under_way() > 0 && transport_->failure().empty(); }
  void run();
  using Clock = std::chrono::steady_clock;

  /// Sets the timer for the next look, where there is something under way.
  void plan();
  void set(std::chrono::nanoseconds from_now) const;

  ProgressMode mode_;
  std::shared_ptr<Transport> transport_;
  std::function<bool()> go_on_;
  std::mutex mutex_;
  int timer_;
  std::chrono::nanoseconds period_{};  // where nobody knows better
  bool is_set_ = false;                // the timer, but for looks that find the lock taken
  bool foreseen_ = false;              // it is set by what the transport expects,
  Clock::time_point due_{};            // for then,
  std::chrono::nanoseconds wait_{};    // that long after it was set
  std::atomic<bool> missed_{false};    // a look has found the lock taken
  bool ends_ = false;
  std::thread thread_;
};

/// The lock, where there is a thread.
class Hold {
 public:
  explicit Hold(const std::shared_ptr<Progress>& progress) : progress_(progress.get()) {
    if (progress_ != nullptr) progress_->lock();
  }
  ~Hold() {
    if (progress_ != nullptr) progress_->unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Progress* progress_;
};

}  // namespace isthmus::runtime

// What goes on while the program computes: a thread that looks now and then whether something can be done.
//
// Without it a team is used by one thread and nothing is locked. With it every call of the team takes one lock, which
// costs some tens of nanoseconds, and holds it while it waits; the thread looks only where the lock is free. Between
// looks it sleeps by the clock, the longer the longer nothing has happened: messages begin with an exchange of requests
// and answers, and then the kernel sends by itself for a while. When nothing is under way it sleeps until something is,
// and whoever begins that wakes it.
#pragma once

#include <chrono>
#include <condition_variable>
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
  timer,   ///< looks ever less often, before others where that is permitted: takes turns with the program
};

/// "none", "thread", "timer", or "auto": by the cores that this process may run on and its `mates`, ranks of this node.
/// Throws InvalidInput.
ProgressMode progress_mode(std::string_view name, std::uint32_t mates);

class Progress {
 public:
  /// `go_on` is called with the lock held; it says whether it could do anything.
  Progress(ProgressMode mode, std::shared_ptr<const Transport> transport, std::function<bool()> go_on);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void lock() { mutex_.lock(); }
  void unlock();

 private:
  [[nodiscard]] bool has_work() const { return transport_->under_way() > 0 && transport_->failure().empty(); }
  void run(ProgressMode mode);

  std::shared_ptr<const Transport> transport_;
  std::function<bool()> go_on_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool asleep_ = false, ends_ = false;
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

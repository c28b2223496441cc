#include "runtime/progress/progress.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "base/error.hpp"

namespace isthmus::runtime {
namespace {

using std::chrono::microseconds;

/// Times between two looks: the first one after something has happened, and the longest.
struct Pace {
  microseconds first, longest;
};
/// A look costs 15 to 30 us over TCP; in the longest time 125 kB leave at 1 Gbit/s, which is about what the kernel
/// holds.
constexpr Pace often{microseconds{20}, microseconds{20}}, seldom{microseconds{100}, microseconds{1000}};

void sleep_for(microseconds time) {
  timespec left{0, static_cast<long>(time.count()) * 1000};
  ::nanosleep(&left, nullptr);
}

/// No signal of the program's is handled here.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

/// Before threads of the program, where that is permitted: otherwise the scheduler prefers a thread that has slept.
void come_first() {
  const sched_param least{::sched_get_priority_min(SCHED_FIFO)};
  ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &least);
}

std::uint32_t allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&set)) : 1;
}

}  // namespace

ProgressMode progress_mode(std::string_view name, std::uint32_t mates) {
  if (name == "none") return ProgressMode::none;
  if (name == "thread") return ProgressMode::thread;
  if (name == "timer") return ProgressMode::timer;
  require(name == "auto", "progress '", std::string(name), "': must be none, thread, timer or auto");
  // A rank that is bound has its cores for itself; others share all of them.
  const auto online = static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  const std::uint32_t cores = allowed_cores();
  return cores > (cores < online ? 1 : mates) ? ProgressMode::thread : ProgressMode::timer;
}

Progress::Progress(ProgressMode mode, std::shared_ptr<const Transport> transport, std::function<bool()> go_on)
    : transport_(std::move(transport)), go_on_(std::move(go_on)), thread_([this, mode] { run(mode); }) {}

Progress::~Progress() {
  {
    const std::scoped_lock guard(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::unlock() {
  const bool wakes = asleep_ && has_work();
  mutex_.unlock();
  if (wakes) wake_.notify_one();
}

void Progress::run(ProgressMode mode) {
  const Pace pace = mode == ProgressMode::thread ? often : seldom;
  ::pthread_setname_np(::pthread_self(), "isthmus");
  ::prctl(PR_SET_TIMERSLACK, 1000UL);
  block_signals();
  if (mode == ProgressMode::timer) come_first();
  microseconds period = pace.first;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!has_work()) {
      asleep_ = true;
      wake_.wait(lock, [this] { return ends_ || has_work(); });
      asleep_ = false;
      period = pace.first;
    }
    if (ends_) return;
    lock.unlock();
    // Where the lock is taken the program goes on itself.
    do sleep_for(period);
    while (!lock.try_lock());
    if (ends_ || !has_work()) continue;
    period = go_on_() ? pace.first : std::min(2 * period, pace.longest);
  }
}

}  // namespace isthmus::runtime

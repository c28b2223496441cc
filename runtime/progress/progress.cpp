#include "runtime/progress/progress.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/error.hpp"

namespace isthmus::runtime {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// Times between two looks where nobody knows what to expect: the first one after something has happened, and the
/// longest.
struct Pace {
  nanoseconds first, longest;
};
/// Looks so far apart take hardly any time from the program, needed or not.
constexpr nanoseconds rare = std::chrono::milliseconds(5);
constexpr Pace often{microseconds{20}, microseconds{20}}, seldom{microseconds{100}, microseconds{1000}};

constexpr Pace pace_of(ProgressMode mode) { return mode == ProgressMode::thread ? often : seldom; }

/// No signal of the program's is handled here.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

/// Before threads of the program, where that is permitted: otherwise the scheduler prefers a thread that has slept.
void come_first() {
  int policy = SCHED_OTHER;
  sched_param given{};
  ::pthread_getschedparam(::pthread_self(), &policy, &given);  // that of the thread which has made this one
  given.sched_priority = std::min(std::max(given.sched_priority + 1, ::sched_get_priority_min(SCHED_FIFO)),
                                  ::sched_get_priority_max(SCHED_FIFO));
  ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &given);
}

std::uint32_t allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&set)) : 1;
}

}  // namespace

ProgressMode progress_mode(std::string_view name, std::uint32_t mates, std::uint32_t ranks) {
  if (name == "none") return ProgressMode::none;
  if (name == "thread") return ProgressMode::thread;
  if (name == "timer") return ProgressMode::timer;
  require(name == "auto", "progress '", std::string(name), "': must be none, thread, timer or auto");
  // A rank that is bound has its cores for itself; others share all of them.
  const auto online = static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  const std::uint32_t cores = allowed_cores();
  if (cores > (cores < online ? 1 : mates)) return ProgressMode::thread;
  // To wake a thread takes longer than the messages of a node; between two ranks no message waits for another one.
  return ranks > 2 && mates < ranks ? ProgressMode::timer : ProgressMode::none;
}

Progress::Progress(ProgressMode mode, std::shared_ptr<Transport> transport, std::function<bool()> go_on)
    : mode_(mode),
      transport_(std::move(transport)),
      go_on_(std::move(go_on)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)),
      period_(pace_of(mode).first) {
  if (timer_ < 0) throw TransportError(std::string("no timer for progress: ") + std::strerror(errno));
  thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  {
    const std::scoped_lock guard(mutex_);
    ends_ = true;
    set(nanoseconds{1});
  }
  thread_.join();
  ::close(timer_);
}

/// Zero: it stands still.
void Progress::set(nanoseconds from_now) const {
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(from_now.count() / 1'000'000'000);
  when.it_value.tv_nsec = static_cast<long>(from_now.count() % 1'000'000'000);
  ::timerfd_settime(timer_, 0, &when, nullptr);
}

void Progress::plan() {
  const nanoseconds quiet = mode_ == ProgressMode::timer ? transport_->quiet_for() : nanoseconds{};
  const nanoseconds wait = std::max(quiet, period_);
  foreseen_ = quiet > nanoseconds{};
  if (foreseen_) {
    // To set it again costs more than to look too early now and then.
    const auto due = Clock::now() + wait;
    if (is_set_ && due_ < due + wait / 10) return;
    due_ = due;
  }
  is_set_ = true;
  wait_ = wait;
  set(wait);
}

void Progress::unlock() {
  if (missed_.exchange(false)) is_set_ = false;
  if (!has_work()) {
    // A look at nothing costs more than to stop the timer, but not more than to do that and set it again all the time.
    if (is_set_ && foreseen_ && wait_ < rare) {
      is_set_ = false;
      set(nanoseconds{});
    }
  } else if (!is_set_) {
    period_ = pace_of(mode_).first;
    plan();
  } else if (foreseen_) {
    plan();
  }
  mutex_.unlock();
}

void Progress::run() {
  ::pthread_setname_np(::pthread_self(), "isthmus");
  ::prctl(PR_SET_TIMERSLACK, 1000UL);
  block_signals();
  if (mode_ == ProgressMode::timer) come_first();
  constexpr nanoseconds most_missed = std::chrono::milliseconds(16);
  nanoseconds missed = pace_of(mode_).first;
  for (;;) {
    std::uint64_t times = 0;
    if (::read(timer_, &times, sizeof times) < 0) continue;
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      // The program goes on itself, and sets the timer when it leaves; unless it has just looked whether it should.
      missed = mode_ == ProgressMode::thread ? missed : std::min(2 * missed, most_missed);
      set(missed);
      missed_ = true;
      continue;
    }
    missed = pace_of(mode_).first;
    if (ends_) return;
    is_set_ = false;
    if (!has_work()) continue;
    period_ = go_on_() ? pace_of(mode_).first : std::min(2 * period_, pace_of(mode_).longest);
    if (has_work()) plan();
  }
}

}  // namespace isthmus::runtime

// The C interface. No exception leaves it: they become a status and words in one place.
#include <isthmus/isthmus.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "runtime/executor/execution.hpp"
#include "runtime/interface/joining.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/interface/table.hpp"
#include "runtime/interface/team.hpp"
#include "runtime/interface/tune.hpp"
#include "runtime/progress/progress.hpp"

namespace isthmus::runtime {
namespace {

/// A call that returns when what it begins has ended, as far as one knows.
class Waits {
 public:
  explicit Waits(Transport& transport, bool waits = true) : transport_(transport) { transport.wait_for(waits); }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
  ~Waits() { transport_.wait_for(false); }

 private:
  Transport& transport_;
};

std::uint32_t number_from(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* given = std::getenv(name);
    if (given == nullptr) continue;
    std::uint32_t value = 0;
    const char* const end = given + std::strlen(given);
    const auto read = std::from_chars(given, end, value);
    require(read.ec == std::errc{} && read.ptr == end, name, "=", given, ": must be a whole number from 0");
    return value;
  }
  throw InvalidInput(std::string(*names.begin()) + " is not set, and no launcher has said it either");
}

isthmus_job job_of_environment() {
  isthmus_job job{};
  job.name = std::getenv("ISTHMUS_JOB");
  require(job.name != nullptr, "ISTHMUS_JOB is not set: the name of the job, the same on all ranks");
  job.rank = number_from({"ISTHMUS_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
  job.ranks = number_from({"ISTHMUS_RANKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  return job;
}

bool checking_is_asked_for() {
  const char* given = std::getenv("ISTHMUS_CHECK");
  return given != nullptr && *given != '\0' && std::string_view(given) != "0";
}

/// A thread of ours may call MPI only where the program has asked MPI for that.
ProgressMode mode_of(const isthmus_job& job, const Joined& joined) {
  const char* given = job.progress != nullptr ? job.progress : std::getenv("ISTHMUS_PROGRESS");
  const ProgressMode mode = progress_mode(given == nullptr || *given == '\0' ? "none" : given, joined.mates, job.ranks);
  if (mode == ProgressMode::none || joined.concurrent) return mode;
  if (job.say != nullptr)
    job.say("progress is made in calls only: a thread would need MPI_THREAD_MULTIPLE from MPI_Init_thread");
  return ProgressMode::none;
}

isthmus_operation& begin(isthmus_team& team, const isthmus_call* call, const void* input, void* output,
                         const void* caller) {
  const bool is_whole = call != nullptr && call->size == sizeof *call;  // need not be copied first
  isthmus_operation& taken = is_whole ? team.take(*call) : team.take(whole(call, "isthmus_call"));
  try {
    team.start(taken, input, output, caller);
  } catch (...) {
    team.give_back(taken);
    throw;
  }
  return taken;
}

int wait(isthmus_operation& operation) {
  const std::uint32_t most = operation.team.transport.looks();
  for (std::uint32_t looks = 0;;) {
    const int status = operation.team.state(operation);
    if (status != ISTHMUS_IN_PROGRESS) return told(operation, status);
    // What came last may not be all that is there.
    if (operation.team.go_on()) looks = 0;
    else if (++looks >= most) ::sched_yield();
  }
}

/// Tunes a call that nobody has tried yet.
int tune_first(isthmus_team& team, const isthmus_call* given, const void* input, const void* output) {
  return guarded([&]() -> int {
    const isthmus_call call = whole(given, "isthmus_call");
    if (call.algorithm != nullptr || !team.find(call).untried) return ISTHMUS_DONE;
    isthmus_trial latency{};
    latency.size = sizeof latency;
    return tune(team, call, latency, input, output);
  });
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_version(void) { return ISTHMUS_VERSION; }

uint64_t isthmus_memory(void) { return shared_place(); }

int isthmus_join(const isthmus_job* given, isthmus_team** team) {
  return guarded([&] {
    require(team != nullptr, "team is NULL");
    const isthmus_job job = given == nullptr ? job_of_environment() : whole(given, "isthmus_job");
    Joined parts = join(job);
    const ProgressMode mode = mode_of(job, parts);
    auto joined = std::make_unique<isthmus_team>(std::move(parts), job.cached == 0 ? 64 : job.cached, job.say);
    int status = use_table(*joined, job.table == nullptr ? std::getenv("ISTHMUS_TABLE") : job.table);
    if (status < 0) return status;
    status = use_online(*joined, job.online == nullptr ? std::getenv("ISTHMUS_ONLINE") : job.online);
    if (status < 0) return status;
    if (job.check != 0 || checking_is_asked_for()) joined->checks = std::make_shared<Checks>();
    if (mode != ProgressMode::none)
      joined->progress = std::make_shared<Progress>(
          mode, joined->transport_owner,
          [transport = joined->transport_owner, checks = joined->checks, beside = joined->beside] {
            const bool any = progress(*transport);
            if (checks) checks->go_on();
            for (const std::function<void()>& one : *beside) one();
            return any;
          });
    *team = joined.release();
    return status;
  });
}

int isthmus_leave(isthmus_team* team) {
  if (team == nullptr) return ISTHMUS_DONE;
  const std::shared_ptr<Progress> progress = team->progress;  // it ends after the last team, without the lock
  const Hold hold(progress);
  delete team;
  return ISTHMUS_DONE;
}

uint32_t isthmus_rank(const isthmus_team* team) { return team->rank; }
uint32_t isthmus_ranks(const isthmus_team* team) { return team->ranks; }

int isthmus_progress(isthmus_team* team) {
  return guarded([&] {
    require(team != nullptr, "team is NULL");
    const Hold hold(team->progress);
    team->go_on();
    const std::string& failure = team->transport.failure();
    return failure.empty() ? int{ISTHMUS_DONE} : failed(ISTHMUS_FAILED, failure);
  });
}

int isthmus_concurrent(const isthmus_team* team) { return team->concurrent ? 1 : 0; }

uint32_t isthmus_looks(const isthmus_team* team) { return team->transport.looks(); }

int isthmus_make(isthmus_team* team, const isthmus_call* call, isthmus_operation** operation) {
  return guarded([&] {
    require(team != nullptr && operation != nullptr, "team or operation is NULL");
    const Hold hold(team->progress);
    *operation = &team->take(whole(call, "isthmus_call"));
    (*operation)->persistent = true;
    return ISTHMUS_DONE;
  });
}

int isthmus_start(isthmus_operation* operation, const void* input, void* output) {
  return guarded([&] {
    require(operation != nullptr, "operation is NULL");
    const Hold hold(operation->team.progress);
    require(!operation->under_way, "the operation is in progress and cannot be started");
    const int status = operation->team.start(*operation, input, output, __builtin_return_address(0));
    return status == ISTHMUS_FAILED ? told(*operation, status) : ISTHMUS_IN_PROGRESS;
  });
}

int isthmus_start_and_look(isthmus_operation* operation, const void* input, void* output, uint32_t looks) {
  const void* const caller = __builtin_return_address(0);
  return guarded([&] {
    require(operation != nullptr, "operation is NULL");
    isthmus_team& team = operation->team;
    const Hold hold(team.progress);
    require(!operation->under_way, "the operation is in progress and cannot be started");
    const Waits waits(team.transport, looks > 0);
    int status = team.start(*operation, input, output, caller);
    for (std::uint32_t vain = 0; status == ISTHMUS_IN_PROGRESS && vain < looks;) {
      if (!team.go_on()) ++vain;
      status = team.state(*operation);
    }
    return told(*operation, status);
  });
}

int isthmus_begin(isthmus_team* team, const isthmus_call* call, const void* input, void* output,
                  isthmus_operation** operation) {
  const void* const caller = __builtin_return_address(0);
  return guarded([&] {
    require(team != nullptr && operation != nullptr, "team or operation is NULL");
    const Hold hold(team->progress);
    *operation = &begin(*team, call, input, output, caller);
    return ISTHMUS_IN_PROGRESS;
  });
}

int isthmus_run(isthmus_team* team, const isthmus_call* call, const void* input, void* output) {
  const void* const caller = __builtin_return_address(0);
  if (team != nullptr && team->is_online())
    if (const int tuned = tune_first(*team, call, input, output); tuned < 0) return tuned;
  return guarded([&] {
    require(team != nullptr, "team is NULL");
    const Hold hold(team->progress);
    const Waits waits(team->transport);
    return wait(begin(*team, call, input, output, caller));
  });
}

int isthmus_test(isthmus_operation* operation) {
  return guarded([&] {
    require(operation != nullptr, "operation is NULL");
    const Hold hold(operation->team.progress);
    int status = operation->team.state(*operation);
    if (status == ISTHMUS_IN_PROGRESS) {
      // Others may need the processor after this call: before, all is done that can be.
      const bool any = operation->team.go_on();
      if (any && operation->team.transport.takes_turns()) operation->team.go_on();
      status = operation->team.state(*operation);
    }
    return told(*operation, status);
  });
}

int isthmus_wait(isthmus_operation* operation) {
  return guarded([&] {
    require(operation != nullptr, "operation is NULL");
    const Hold hold(operation->team.progress);
    return wait(*operation);
  });
}

int isthmus_free(isthmus_operation* operation) {
  return guarded([&] {
    require(operation != nullptr, "operation is NULL");
    require(operation->persistent, "the operation was not made by isthmus_make(): it is freed when it is done");
    require(!operation->under_way, "the operation is in progress and cannot be freed");
    const Hold hold(operation->team.progress);
    operation->team.give_back(*operation);
    return ISTHMUS_DONE;
  });
}

int isthmus_use(isthmus_team* team, const char* path) {
  return guarded([&] {
    require(team != nullptr, "team is NULL");
    return use_table(*team, path);
  });
}

int isthmus_choice(isthmus_team* team, const isthmus_call* call, const char** algorithm) {
  return guarded([&] {
    require(team != nullptr && algorithm != nullptr, "team or algorithm is NULL");
    const Hold hold(team->progress);
    const Cached& plan = team->find(whole(call, "isthmus_call"));
    *algorithm = plan.left_open ? left_open.data() : plan.taken.c_str();
    return ISTHMUS_DONE;
  });
}

int isthmus_algorithms(isthmus_team* team, const isthmus_call* call, const char** algorithms) {
  return guarded([&] {
    require(team != nullptr && algorithms != nullptr, "team or algorithms is NULL");
    const Hold hold(team->progress);
    team->listed.clear();
    for (const std::string& name : team->algorithms(whole(call, "isthmus_call"))) {
      if (!team->listed.empty()) team->listed += ' ';
      team->listed += name;
    }
    *algorithms = team->listed.c_str();
    return ISTHMUS_DONE;
  });
}

int isthmus_untried(isthmus_team* team, const isthmus_call* given) {
  return guarded([&] {
    require(team != nullptr, "team is NULL");
    const Hold hold(team->progress);
    return team->asked(whole(given, "isthmus_call"));
  });
}

int isthmus_tune(isthmus_team* team, const isthmus_call* call, const isthmus_trial* trial, const void* input,
                 const void* output) {
  return guarded([&] {
    require(team != nullptr, "team is NULL");
    isthmus_trial usual{};
    usual.size = sizeof usual;
    return tune(*team, whole(call, "isthmus_call"), trial == nullptr ? usual : whole(trial, "isthmus_trial"), input,
                output);
  });
}

}  // extern "C"

#include "runtime/pgas/ending.hpp"

#include <cstring>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/signals.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {

Ending::Ending(const char* call, isthmus_space& space, Rank rank, const Wanted& wanted)
    : space_(space), rank_(rank), waits_(wanted.waits) {
  completion_.event = wanted.event;
  if (waits_ || wanted.event != nullptr || wanted.completion == nullptr) return;
  completion_ = whole(wanted.completion, "isthmus_completion");
  check(call);
}

namespace {

/// The number that a program gave, which may be none of the enumeration.
template <class E>
std::uint32_t number_of(const E& given) {
  static_assert(sizeof(E) == sizeof(std::uint32_t));
  std::uint32_t number = 0;
  std::memcpy(&number, &given, sizeof number);
  return number;
}

}  // namespace

void Ending::check(const char* call) const {
  space_.outside(call);
  const isthmus_completion& given = completion_;
  const std::uint32_t local = number_of(given.local), notice = number_of(given.notice);
  require(local <= ISTHMUS_LOCAL_EVENT, call, ": isthmus_completion.local = ", local, ": must be one of isthmus_local");
  require(notice <= ISTHMUS_NOTICE_MESSAGE, call, ": isthmus_completion.notice = ", notice,
          ": must be one of isthmus_notice");
  require(local != ISTHMUS_LOCAL_EVENT || given.local_event != nullptr, call,
          ": isthmus_completion.local_event is NULL");
  if (notice == ISTHMUS_NOTICE_SIGNAL) {
    require(given.signal % 8 == 0, call, ": the signal at offset ", given.signal, " is not at a multiple of 8");
    static_cast<void>(space_.near(call, rank_, given.signal, sizeof(std::uint64_t)));
  }
  if (notice == ISTHMUS_NOTICE_MESSAGE) {
    require(given.count == 0 || given.arguments != nullptr, call, ": isthmus_completion.arguments is NULL");
    space_.check(call, rank_, {given.handler, given.arguments, given.count, nullptr, 0});
  }
}

void Ending::send_message(const Parts& parts) const {
  isthmus_space::Content content{completion_.handler, completion_.arguments, completion_.count, nullptr, 0};
  content.notice = parts.notice;
  space_.request(rank_, content);
}

int Ending::now() const {
  if (completion_.event != nullptr) *completion_.event = 0;
  if (completion_.local == ISTHMUS_LOCAL_EVENT) *completion_.local_event = 0;
  if (completion_.notice == ISTHMUS_NOTICE_SIGNAL)
    add_to_signal(*reinterpret_cast<std::uint64_t*>(space_.near("", rank_, completion_.signal, sizeof(std::uint64_t))),
                  completion_.add);
  if (completion_.notice == ISTHMUS_NOTICE_MESSAGE) send_message({});
  return ISTHMUS_DONE;
}

Parts Ending::begin() const {
  return space_.far->begin_parts(!waits_ && completion_.event == nullptr, completion_.local != ISTHMUS_LOCAL_LATER,
                                 tells());
}

int Ending::begun(const Parts& parts) const {
  Far& far = *space_.far;
  if (completion_.notice == ISTHMUS_NOTICE_SIGNAL) far.signal_after(rank_, completion_.signal, completion_.add, parts);
  if (completion_.notice == ISTHMUS_NOTICE_MESSAGE) send_message(parts);
  if (completion_.local == ISTHMUS_LOCAL_EVENT) *completion_.local_event = far.event_of_local(parts);
  if (completion_.local == ISTHMUS_LOCAL_NOW) far.end_local(parts, rank_);
  const isthmus_event event = far.event_of_parts(parts);
  if (waits_) far.wait(event, rank_);
  else if (completion_.event != nullptr) *completion_.event = event;
  return ISTHMUS_DONE;
}

}  // namespace isthmus::runtime

using namespace isthmus::runtime;

extern "C" {

int isthmus_begin_put_with(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                           const isthmus_completion* completion) {
  return guarded_space(space, [&]() -> int {
    space->outside("isthmus_begin_put_with");
    char* const to = space->near("isthmus_begin_put_with", rank, offset, bytes);
    const Ending ending("isthmus_begin_put_with", *space, rank, Wanted::with(completion));
    if (to != nullptr) {
      if (bytes > 0) std::memcpy(to, from, bytes);
      return ending.now();
    }
    const Parts parts = ending.begin();
    if (bytes > 0) space->far->put_part(rank, offset, from, bytes, parts);
    return ending.begun(parts);
  });
}

int isthmus_begin_request_to(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments,
                             uint32_t count, const void* payload, size_t bytes, uint64_t offset, isthmus_event* event) {
  return guarded_space(space, [&] {
    const Content content = content_to(handler, arguments, count, payload, bytes, offset);
    const isthmus_event begun = space->begin_request(rank, content, event == nullptr);
    if (event != nullptr) *event = begun;
    return ISTHMUS_DONE;
  });
}

}  // extern "C"

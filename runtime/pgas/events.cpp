// The C interface of what is under way in a space.
#include <isthmus/isthmus_pgas.h>

#include <cstring>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

/// Whether there is anything to wait for.
bool is_event(isthmus_space& space, const char* call, const isthmus_event* event) {
  require(event != nullptr, "event is NULL");
  space.outside(call);
  require(*event == 0 || space.far != nullptr || Joint::is_joint(*event), call, ": event ", *event,
          " was not begun in this space");
  return *event != 0;
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_begin_put_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                                isthmus_event* event) {
  return guarded_space(space, [&] {
    space->outside("isthmus_begin_put");
    char* const to = space->near("isthmus_begin_put", rank, offset, bytes);
    isthmus_event begun = 0;
    if (bytes > 0 && to == nullptr) begun = space->far->begin_put(rank, offset, from, bytes, event == nullptr);
    else if (bytes > 0) std::memcpy(to, from, bytes);
    if (event != nullptr) *event = begun;
    return ISTHMUS_DONE;
  });
}

int isthmus_begin_get_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes,
                                isthmus_event* event) {
  return guarded_space(space, [&] {
    space->outside("isthmus_begin_get");
    const char* const from = space->near("isthmus_begin_get", rank, offset, bytes);
    isthmus_event begun = 0;
    if (bytes > 0 && from == nullptr) begun = space->far->begin_get(rank, offset, to, bytes, event == nullptr);
    else if (bytes > 0) std::memcpy(to, from, bytes);
    if (event != nullptr) *event = begun;
    return ISTHMUS_DONE;
  });
}

int isthmus_begin_set(isthmus_space* space, uint32_t rank, uint64_t offset, int value, size_t bytes,
                      isthmus_event* event) {
  return guarded_space(space, [&] {
    space->outside("isthmus_begin_set");
    char* const to = space->near("isthmus_begin_set", rank, offset, bytes);
    isthmus_event begun = 0;
    if (bytes > 0 && to == nullptr) begun = space->far->begin_set(rank, offset, value, bytes, event == nullptr);
    else if (bytes > 0) std::memset(to, value, bytes);
    if (event != nullptr) *event = begun;
    return ISTHMUS_DONE;
  });
}

int isthmus_test_event(isthmus_space* space, isthmus_event* event) {
  return guarded_space(space, [&]() -> int {
    if (!is_event(*space, "isthmus_test_event", event)) return ISTHMUS_DONE;
    if (Joint::is_joint(*event)) return space->joint.test(*event);
    if (!space->far->is_done(*event)) {
      if (space->go_on()) space->tested = 0;
      else space->idle(++space->tested);
      if (!space->far->is_done(*event)) return ISTHMUS_IN_PROGRESS;
    }
    space->far->forget(*event);
    *event = 0;
    return ISTHMUS_DONE;
  });
}

int isthmus_wait_event(isthmus_space* space, isthmus_event* event) {
  return guarded_space(space, [&]() -> int {
    if (!is_event(*space, "isthmus_wait_event", event)) return ISTHMUS_DONE;
    if (Joint::is_joint(*event)) return space->joint.wait(*event);
    space->wait_until([&] { return space->far->is_done(*event); });
    space->far->forget(*event);
    *event = 0;
    return ISTHMUS_DONE;
  });
}

int isthmus_wait_all(isthmus_space* space) {
  return guarded_space(space, [&] {
    space->outside("isthmus_wait_all");
    if (space->far != nullptr) space->wait_until([&] { return space->far->is_implicit_done(); });
    return ISTHMUS_DONE;
  });
}

int isthmus_open_region(isthmus_space* space) {
  return guarded_space(space, [&] {
    space->outside("isthmus_open_region");
    require(!space->region, "isthmus_open_region: a region is open already");
    space->region = true;
    if (space->far != nullptr) space->far->open_region();
    return ISTHMUS_DONE;
  });
}

int isthmus_close_region(isthmus_space* space, isthmus_event* event) {
  return guarded_space(space, [&] {
    require(event != nullptr, "event is NULL");
    space->outside("isthmus_close_region");
    require(space->region, "isthmus_close_region: no region is open");
    space->region = false;
    *event = space->far == nullptr ? 0 : space->far->close_region();
    return ISTHMUS_DONE;
  });
}

}  // extern "C"

// Strict and relaxed accesses to memory that is not shared, and fences.
#include "runtime/pgas/accesses.hpp"

#include <isthmus/isthmus_access.h>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

void fence(isthmus_space& space) {
  space.outside("isthmus_fence");
  if (space.far != nullptr) {
    space.go_on();  // who waits in a loop of strict accesses hears from others
    space.wait_until([&] { return space.far->is_implicit_done(); });
  }
  isthmus_fence_near();
}

/// Between two fences, where it is strict.
template <class F>
int access_to(isthmus_space* space, const char* call, std::uint32_t rank, std::uint64_t offset, std::size_t bytes,
              isthmus_access access, const F& work) {
  return guarded_space(
      space,
      [&] {
        require(access == ISTHMUS_RELAXED || access == ISTHMUS_STRICT, call, ": access ", static_cast<int>(access),
                ": must be ISTHMUS_RELAXED or ISTHMUS_STRICT");
        char* const at = space->near(call, rank, offset, bytes);
        require(offset % bytes == 0, call, ": offset ", offset, " is not a multiple of ", bytes);
        if (at == nullptr) space->outside(call);
        if (access == ISTHMUS_STRICT) fence(*space);
        work(at);
        if (access == ISTHMUS_STRICT) fence(*space);
        return ISTHMUS_DONE;
      },
      call);
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_fence_elsewhere(isthmus_space* space) {
  return guarded_space(space, [&] {
    fence(*space);
    return ISTHMUS_DONE;
  });
}

int isthmus_read_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes,
                           isthmus_access access) {
  return access_to(space, "isthmus_read", rank, offset, bytes, access, [&](const char* at) {
    if (at == nullptr) space->far->read(rank, offset, to, bytes);
    else copy_out_of(at, to, bytes);
  });
}

int isthmus_write_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                            isthmus_access access) {
  return access_to(space, "isthmus_write", rank, offset, bytes, access, [&](char* at) {
    if (at == nullptr) space->far->write(rank, offset, from, bytes);
    else copy_into(at, from, bytes);
  });
}

}  // extern "C"

// The C interface of a space.
#include <isthmus/isthmus_pgas.h>

#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/signals.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

/// A number of the environment, or what stands for it.
std::uint64_t from_environment(const char* name, std::uint64_t usual) {
  const char* const given = std::getenv(name);
  if (given == nullptr) return usual;
  std::uint64_t value = 0;
  const char* const end = given + std::strlen(given);
  const auto read = std::from_chars(given, end, value);
  require(read.ec == std::errc{} && read.ptr == end && value > 0, name, "=", given,
          ": must be a whole number of bytes above 0");
  return value;
}

SegmentSizes sizes_of(const isthmus_space_options& options) {
  constexpr std::uint64_t most = std::uint64_t{1} << 44, least_queue = 16 << 10, most_queue = 1 << 30;
  const auto whole_pages = [&](std::uint64_t given, const char* name) {
    const std::uint64_t bytes = given == 0 ? from_environment("ISTHMUS_SEGMENT", 0) : given;
    require(bytes <= most, "isthmus_space_options.", name, " = ", bytes, ": must be at most ", most);
    return in_pages(bytes);
  };
  SegmentSizes sizes;
  sizes.symmetric = whole_pages(options.symmetric, "symmetric");
  sizes.local = whole_pages(options.local, "local");
  sizes.queue = options.queue == 0 ? 256 << 10 : options.queue;
  require(sizes.queue >= least_queue && sizes.queue <= most_queue && std::has_single_bit(sizes.queue),
          "isthmus_space_options.queue = ", sizes.queue, ": must be a power of two from ", least_queue, " to ",
          most_queue);
  return sizes;
}

int wait_for(isthmus_space& space, const char* call, bool may_wait) {
  require(space.barrier.is_notified(), "isthmus_await: there was no isthmus_notify()");
  if (may_wait) space.wait_until([&] { return space.barrier.go_on(); });
  else if (space.poll(); !space.barrier.go_on()) return ISTHMUS_IN_PROGRESS;
  space.barrier.end();
  const BarrierNumbers& given = space.barrier.numbers();
  require(!space.barrier.differs(), call, ": ranks gave different numbers for the same barrier: rank ", given.rank, " ",
          given.id, ", rank ", given.other, " ", given.other_id);
  return ISTHMUS_DONE;
}

void notify(isthmus_space& space, const int64_t* id) {
  space.outside("isthmus_notify");
  require(!space.barrier.is_notified(), "isthmus_notify: the barrier before has not been waited for");
  space.barrier.notify(id);
}

isthmus_space* space_of(isthmus_token* token) { return token == nullptr ? nullptr : &token->space; }

/// What a call does that waits for a far rank, which no handler may.
Far& far_of(isthmus_space& space, const char* call) {
  space.outside(call);
  return *space.far;
}

/// An element of 64 bits that is counted; null where it is far.
std::uint64_t* counter(isthmus_space& space, const char* call, std::uint32_t rank, std::uint64_t offset) {
  require(offset % 8 == 0, call, ": the signal at offset ", offset, " is not at a multiple of 8");
  return reinterpret_cast<std::uint64_t*>(space.near(call, rank, offset, sizeof(std::uint64_t)));
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_space_make(isthmus_team* team, const isthmus_space_options* options, isthmus_space** space) {
  return guarded([&] {
    require(team != nullptr && space != nullptr, "team or space is NULL");
    isthmus_space_options usual{};
    usual.size = sizeof usual;
    const isthmus_space_options given = options == nullptr ? usual : whole(options, "isthmus_space_options");
    auto made = std::make_unique<isthmus_space>(
        *team, sizes_of(given), given.packed == 0 ? from_environment("ISTHMUS_PACKED", 0) : given.packed);
    const Hold hold(team->progress);
    made->start();
    *space = made.release();
    return ISTHMUS_DONE;
  });
}

int isthmus_space_leave(isthmus_space* space) {
  if (space == nullptr) return ISTHMUS_DONE;
  const int status = guarded_space(space, [&] {
    notify(*space, nullptr);
    space->end_collectives();
    const int met = wait_for(*space, "isthmus_space_leave", true);
    if (space->far != nullptr) space->wait_until([&] { return space->far->is_still(); });
    return met;
  });
  const Hold hold(space->team.progress);
  space->joint.leave(space->team);
  delete space;
  return status;
}

int isthmus_refuse(const char* words) { return failed(ISTHMUS_INVALID, words == nullptr ? "" : words); }

isthmus_team* isthmus_space_team(const isthmus_space* space) { return &space->team; }

int isthmus_allocate_all(isthmus_space* space, uint64_t bytes, uint64_t* offset) {
  const int status = guarded([&] {  // the exchange in it takes the lock of the team
    require(space != nullptr && offset != nullptr, "space or offset is NULL");
    space->outside("isthmus_allocate_all");
    *offset = space->allocate_all(bytes);
    return ISTHMUS_DONE;
  });
  return of_call(status, "isthmus_allocate_all");
}

int isthmus_allocate_global(isthmus_space* space, uint64_t bytes, uint64_t* offset) {
  return guarded_space(space, [&] {
    require(offset != nullptr, "offset is NULL");
    space->outside("isthmus_allocate_global");
    *offset = space->allocate_global(bytes);
    return ISTHMUS_DONE;
  });
}

int isthmus_allocate(isthmus_space* space, uint64_t bytes, uint64_t* offset) {
  return guarded_space(space, [&] {
    require(offset != nullptr, "offset is NULL");
    space->outside("isthmus_allocate");
    *offset = space->allocate_local(bytes);
    return ISTHMUS_DONE;
  });
}

int isthmus_release(isthmus_space* space, uint32_t rank, uint64_t offset) {
  return guarded_space(space, [&] {
    space->outside("isthmus_release");
    space->release(rank, offset);
    return ISTHMUS_DONE;
  });
}

int isthmus_place_of_pointer(const isthmus_space* space, const void* pointer, uint32_t* rank, uint64_t* offset) {
  return guarded([&] {
    require(space != nullptr && rank != nullptr && offset != nullptr, "space, rank or offset is NULL");
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    for (std::uint32_t r = 0; r < space->head.ranks; ++r) {
      const auto first = reinterpret_cast<std::uintptr_t>(space->head.shared[r]);
      if (first == 0 || address < first || address - first >= space->head.extent) continue;
      *rank = r;
      *offset = address - first;
      return ISTHMUS_DONE;
    }
    throw InvalidInput("isthmus_place_of_pointer: the pointer is outside the space");
  });
}

int isthmus_put_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes) {
  return guarded_space(space, [&] {
    char* const to = space->near("isthmus_put", rank, offset, bytes);
    if (bytes == 0) return ISTHMUS_DONE;
    if (to == nullptr) far_of(*space, "isthmus_put").put(rank, offset, from, bytes);
    else std::memcpy(to, from, bytes);
    return ISTHMUS_DONE;
  });
}

int isthmus_get_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes) {
  return guarded_space(space, [&] {
    const char* const from = space->near("isthmus_get", rank, offset, bytes);
    if (bytes == 0) return ISTHMUS_DONE;
    if (from == nullptr) far_of(*space, "isthmus_get").get(rank, offset, to, bytes);
    else std::memcpy(to, from, bytes);
    return ISTHMUS_DONE;
  });
}

int isthmus_set_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, int value, size_t bytes) {
  return guarded_space(space, [&] {
    char* const to = space->near("isthmus_set", rank, offset, bytes);
    if (bytes == 0) return ISTHMUS_DONE;
    if (to == nullptr) far_of(*space, "isthmus_set").set(rank, offset, value, bytes);
    else std::memset(to, value, bytes);
    return ISTHMUS_DONE;
  });
}

int isthmus_handle(isthmus_space* space, uint32_t number, isthmus_handler handler, void* data) {
  return guarded_space(space, [&] {
    require(number < ISTHMUS_MOST_HANDLERS, "isthmus_handle: handler ", number, ": must be below ",
            ISTHMUS_MOST_HANDLERS);
    space->handlers[number] = {handler, data};
    return ISTHMUS_DONE;
  });
}

size_t isthmus_most_payload(const isthmus_space* space) { return space->most_payload(); }

int isthmus_request(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments, uint32_t count,
                    const void* payload, size_t bytes) {
  return guarded_space(space, [&] {
    space->request(rank, content_of(handler, arguments, count, payload, bytes));
    return ISTHMUS_DONE;
  });
}

int isthmus_request_to(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments, uint32_t count,
                       const void* payload, size_t bytes, uint64_t offset) {
  return guarded_space(space, [&] {
    space->request(rank, content_to(handler, arguments, count, payload, bytes, offset));
    return ISTHMUS_DONE;
  });
}

int isthmus_prepare(isthmus_space* space, uint32_t rank, size_t bytes, void** room) {
  return guarded_space(space, [&] {
    require(room != nullptr, "room is NULL");
    space->prepare(rank, bytes, room);
    return ISTHMUS_DONE;
  });
}

int isthmus_commit(isthmus_space* space, uint32_t handler, const uint64_t* arguments, uint32_t count, size_t bytes) {
  return guarded_space(space, [&] {
    require(count == 0 || arguments != nullptr, "arguments is NULL");
    space->commit({handler, arguments, count, nullptr, bytes});
    return ISTHMUS_DONE;
  });
}

int isthmus_reply(isthmus_token* token, uint32_t handler, const uint64_t* arguments, uint32_t count,
                  const void* payload, size_t bytes) {
  return guarded_space(space_of(token), [&] {
    token->space.reply(*token, content_of(handler, arguments, count, payload, bytes));
    return ISTHMUS_DONE;
  });
}

int isthmus_reply_to(isthmus_token* token, uint32_t handler, const uint64_t* arguments, uint32_t count,
                     const void* payload, size_t bytes, uint64_t offset) {
  return guarded_space(space_of(token), [&] {
    token->space.reply(*token, content_to(handler, arguments, count, payload, bytes, offset));
    return ISTHMUS_DONE;
  });
}

uint32_t isthmus_token_rank(const isthmus_token* token) { return token->from; }
isthmus_space* isthmus_token_space(const isthmus_token* token) { return &token->space; }

int isthmus_poll(isthmus_space* space) {
  return guarded_space(space, [&] {
    space->outside("isthmus_poll");
    if (space->poll()) space->tested = 0;
    else space->watch(++space->tested);  // programs wait by it
    return ISTHMUS_DONE;
  });
}

int isthmus_notify(isthmus_space* space, const int64_t* id) {
  return guarded_space(space, [&] {
    notify(*space, id);
    return ISTHMUS_DONE;
  });
}

int isthmus_await(isthmus_space* space) {
  return guarded_space(space, [&] {
    space->outside("isthmus_await");
    return wait_for(*space, "isthmus_await", true);
  });
}

int isthmus_try_await(isthmus_space* space) {
  return guarded_space(space, [&] {
    space->outside("isthmus_try_await");
    return wait_for(*space, "isthmus_try_await", false);
  });
}

int isthmus_barrier(isthmus_space* space, const int64_t* id) {
  return guarded_space(space, [&] {
    notify(*space, id);
    return wait_for(*space, "isthmus_barrier", true);
  });
}

int isthmus_put_signal(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                       uint64_t signal, uint64_t add) {
  return guarded_space(space, [&] {
    std::uint64_t* const count = counter(*space, "isthmus_put_signal", rank, signal);
    char* const to = space->near("isthmus_put_signal", rank, offset, bytes);
    if (count == nullptr) {
      far_of(*space, "isthmus_put_signal").put_signal(rank, offset, from, bytes, signal, add);
      return ISTHMUS_DONE;
    }
    if (bytes > 0) std::memcpy(to, from, bytes);
    add_to_signal(*count, add);
    return ISTHMUS_DONE;
  });
}

int isthmus_wait_signal(isthmus_space* space, uint64_t signal, uint64_t take) {
  return guarded_space(space, [&] {
    space->outside("isthmus_wait_signal");
    std::uint64_t& count = *counter(*space, "isthmus_wait_signal", space->head.rank, signal);
    space->wait_until([&] { return has_come(count, take); });
    take_from_signal(count, take);
    return ISTHMUS_DONE;
  });
}

}  // extern "C"

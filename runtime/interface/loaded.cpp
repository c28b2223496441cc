// Operations that are made of parts: they have buffers of their own, and carry computations out.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "runtime/collectives/operators.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/interface/team.hpp"

namespace isthmus::runtime {
namespace {

Cached plan_of(Part& part) {
  Cached out{};
  out.element_bytes = part.header.element_bytes;
  out.program = std::move(part.program);
  return out;
}

}  // namespace

Loaded::Loaded(isthmus_team& team, Part part) : plan(plan_of(part)), operation(team, plan, 0) {
  operation.combines = operator_of(part.header.element_bytes == 8 ? Element::f64 : Element::u8, Operation::sum);
  operation.persistent = true;
  operation.loaded = this;
  for (const std::uint64_t bytes : plan.program.buffers) {
    memory.emplace_back(bytes);
    buffers.push_back(memory.back().data());
  }
}

}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

isthmus_operation& isthmus_team::load(std::span<const std::byte> bytes) {
  Part part = read_part(bytes);
  require(part.header.rank == rank && part.header.ranks == ranks, "the part is that of rank ", part.header.rank, " of ",
          part.header.ranks, ", and this is rank ", rank, " of ", ranks);
  for (Step& step : part.program.steps) {
    if (step.kind != schedule::OpKind::send && step.kind != schedule::OpKind::recv) continue;
    require(step.comm == 0, "the part names communicator ", step.comm, ": its messages are told apart by tags only");
    step.comm = number;
    if (!members.empty()) step.peer = members[step.peer];
  }
  loaded.push_back(std::make_unique<Loaded>(*this, std::move(part)));
  return loaded.back()->operation;
}

std::vector<std::byte> isthmus_team::describe(const isthmus_call& call) {
  // Before copies are left out: what is described is what is proved and simulated.
  const Cached& plan = find(call);
  Program program = program_by(plan, plan.taken);
  for (Step& step : program.steps) {
    step.comm = 0;
    const auto member = std::find(members.begin(), members.end(), step.peer);
    if (member != members.end()) step.peer = static_cast<Rank>(member - members.begin());
  }
  return write_part(program, rank, ranks);
}

int isthmus_team::start(Loaded& given) {
  given.operation.under_way = true;
  given.operation.execution.start(transport, context++, given.buffers, given.operation.combines, true, number == 0);
  return state(given.operation);
}

extern "C" {

int isthmus_load(isthmus_team* team, const void* part, size_t bytes, isthmus_operation** operation) {
  return guarded([&] {
    require(team != nullptr && part != nullptr && operation != nullptr, "team, part or operation is NULL");
    const Hold hold(team->progress);
    *operation = &team->load({static_cast<const std::byte*>(part), bytes});
    return ISTHMUS_DONE;
  });
}

int isthmus_buffer(isthmus_operation* operation, uint32_t number, void** memory, uint64_t* bytes) {
  return guarded([&] {
    require(operation != nullptr && memory != nullptr && bytes != nullptr, "operation, memory or bytes is NULL");
    require(operation->loaded != nullptr, "the operation is a collective, whose buffers are those of its caller");
    const Loaded& own = *operation->loaded;
    require(number < own.memory.size(), "buffer ", number, " of ", own.memory.size());
    *memory = own.buffers[number];
    *bytes = own.memory[number].size();
    return ISTHMUS_DONE;
  });
}

int isthmus_trace(isthmus_operation* operation, int64_t* begins, int64_t* ends) {
  return guarded([&] {
    require(operation != nullptr, "operation is NULL");
    require(!operation->under_way, "the operation is in progress: its times are kept from its start on");
    require((begins == nullptr) == (ends == nullptr), "begins and ends: both are given, or none");
    operation->execution.trace({begins, ends});
    return ISTHMUS_DONE;
  });
}

int isthmus_describe(isthmus_team* team, const isthmus_call* call, void* part, size_t room, size_t* bytes) {
  return guarded([&] {
    require(team != nullptr && bytes != nullptr, "team or bytes is NULL");
    const Hold hold(team->progress);
    const auto made = team->describe(whole(call, "isthmus_call"));
    *bytes = made.size();
    if (part != nullptr) std::memcpy(part, made.data(), std::min(room, made.size()));
    return ISTHMUS_DONE;
  });
}

}  // extern "C"

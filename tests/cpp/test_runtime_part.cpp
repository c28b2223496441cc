// Parts of schedules as bytes: what is written is read again, and what is damaged is refused or does no harm.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "collectives/registry.hpp"
#include "runtime/collectives/collective_program.hpp"
#include "runtime/collectives/operators.hpp"
#include "runtime/executor/part.hpp"
#include "runtime/transport/threads/threads.hpp"

namespace isthmus::test {
namespace {

using namespace runtime;
using schedule::OpKind;

using Bytes = std::vector<std::byte>;

/// Every kind of step on one rank, which sends to itself: a copy in blocks, a sum, a message, a joint.
Program every_kind() {
  Program p;
  p.buffers = {256, 128};
  p.steps.resize(5);
  p.steps[0] = {24, 8, 64, 8, 2, -1, 0, 0, 0, 0, 0, 1, OpKind::copy};
  p.steps[1] = {16, 0, 16, 0, 1, 1, 0, 0, 0, 1, 1, 0, OpKind::reduce, schedule::ReduceOrder::before};
  p.steps[2] = {48, 200, 0, 0, 1, 1, 0, 3, 0, 2, 0, Program::no_buffer, OpKind::send};
  p.steps[3] = {48, 0, 80, 0, 1, 1, 0, 3, 0, 3, Program::no_buffer, 1, OpKind::recv};
  p.steps[4] = {0, 0, 0, 0, 1, 1, 0, 0, 0, 4, Program::no_buffer, Program::no_buffer, OpKind::calc};
  p.edges = {{1, false}, {2, true}, {4, false}, {4, false}};
  p.needs = {0, 1, 1, 0, 2};
  p.first = {0, 3};
  return p;
}

Bytes made() { return write_part(every_kind(), 0, 1); }

/// Writes the checksum that belongs to the rest, by the long way.
void seal(Bytes& part) {
  std::uint32_t value = 0xFFFFFFFF;
  for (std::size_t i = sizeof(PartHeader); i < part.size(); ++i) {
    value ^= static_cast<std::uint8_t>(part[i]);
    for (int bit = 0; bit < 8; ++bit) value = value % 2 == 1 ? value / 2 ^ 0xEDB88320 : value / 2;
  }
  value = ~value;
  std::memcpy(part.data() + offsetof(PartHeader, checksum), &value, sizeof value);
}

std::string refusal(const Bytes& part) {
  try {
    read_part(part);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

/// Carries a part out as far as one rank can; the sanitizers look at what it touches.
void carry_out_alone(const Part& part) {
  if (part.header.ranks != 1) return;
  std::size_t room = 0;
  for (const std::uint64_t bytes : part.program.buffers) {
    if (bytes > 1 << 20) return;
    room += bytes;
  }
  std::vector<Bytes> memory;
  std::vector<std::byte*> buffers;
  for (const std::uint64_t bytes : part.program.buffers) {
    memory.emplace_back(bytes);
    buffers.push_back(memory.back().data());
  }
  ThreadsWorld world(1);
  ThreadsTransport transport(world, 0);
  Execution execution(part.program);
  execution.start(transport, 0, buffers, operator_of(Element::u8, Operation::sum));
  for (int i = 0; i < 20 && execution.status() == Status::in_progress; ++i) progress(transport);
  CHECK(room < 1 << 21);
}

TEST_CASE("a part that is written is read again") {
  const Part part = read_part(made());
  const Program p = every_kind();
  CHECK(part.header.rank == 0);
  CHECK(part.header.ranks == 1);
  CHECK(part.program.buffers == p.buffers);
  CHECK(part.program.needs == p.needs);
  CHECK(part.program.first == p.first);
  CHECK(write_part(part.program, 0, 1) == made());
  carry_out_alone(part);
  schedule::CollectiveCall call;
  call.kind = schedule::CollectiveKind::alltoall;
  call.ranks = 13;
  call.rank = 5;
  call.bytes = 100;
  const Program of_many = collective_program(call, collectives::find_algorithm(call.kind, "bruck"), 8);
  CHECK(write_part(read_part(write_part(of_many, 5, 13)).program, 5, 13) == write_part(of_many, 5, 13));
}

TEST_CASE("every defect of a part is named") {
  const auto damaged = [](const std::function<void(Program&)>& damage) {
    Program p = every_kind();
    damage(p);
    return refusal(write_part(p, 0, 1));
  };
  CHECK(damaged([](Program&) {}).empty());
  CHECK(damaged([](Program& p) { p.steps[2].peer = 1; }) == "step 2 names rank 1 of 1");
  CHECK(damaged([](Program& p) { p.steps[2].amount = 57; }) == "step 2 goes beyond buffer 0, which has 256 bytes");
  CHECK(damaged([](Program& p) { p.steps[3].to_buffer = 2; }) == "step 3 names buffer 2 of 2");
  CHECK(damaged([](Program& p) { p.steps[3].to_buffer = Program::no_buffer; }) ==
        "step 3 moves 48 bytes but names no buffer");
  CHECK(damaged([](Program& p) { p.steps[0].to = 8; }) == "step 0 goes beyond buffer 1, which has 128 bytes");
  CHECK(damaged([](Program& p) { p.steps[0].from_stride = 0; }) == "step 0 has blocks at a distance of 0");
  CHECK(damaged([](Program& p) { p.steps[1].kind = static_cast<OpKind>(9); }) ==
        "step 1 is of kind 9, which cannot be carried out");
  CHECK(damaged([](Program& p) { p.steps[1].block = 8; }) == "step 1 is in blocks: only copies are");
  CHECK(damaged([](Program& p) { p.needs[4] = 1; }) == "step 4 waits for 1 others, and 2 lead to it");
  CHECK(damaged([](Program& p) { p.edges[0] = {7, false}; }) == "an edge leads to step 7 of 5");
  CHECK(damaged([](Program& p) { p.steps[3].first_edge = 1; }) == "the edges of step 3 are out of order");
  CHECK(damaged([](Program& p) {
          p.edges[3] = {3, false};
          p.needs[4] = 1;
          p.needs[3] = 1;
        }) == "steps wait for each other in a circle");

  Bytes part = made();
  part.pop_back();
  CHECK(refusal(part) == "the part has 371 bytes after its header, which announces 372");
  CHECK(refusal(Bytes(10)) == "the part has 10 bytes: its header alone has 40");
  CHECK(refusal(Bytes(100)) == "the bytes are no part of a schedule");
  part = made();
  part.back() ^= std::byte{1};
  CHECK(refusal(part) == "the part is damaged: its checksum is wrong");
  part = made();
  part[offsetof(PartHeader, version)] = std::byte{2};
  CHECK(refusal(part) == "the part is of version 2: this library reads version 1");
}

TEST_CASE("whatever a damaged part says, it is refused or stays within its buffers") {
  Rng random(5);
  int refused = 0;
  constexpr int times = 20000;
  for (int i = 0; i < times; ++i) {
    Bytes part = made();
    for (std::uint32_t changes = 1 + random.below(3); changes > 0; --changes)
      part[12 + random.below(static_cast<std::uint32_t>(part.size()) - 12)] = static_cast<std::byte>(random.below(256));
    seal(part);
    try {
      carry_out_alone(read_part(part));
    } catch (const InvalidInput&) {
      ++refused;
    }
  }
  CHECK(refused > times / 2);
  CHECK(refused < times);
}

}  // namespace
}  // namespace isthmus::test

#include "runtime/collectives/collective_program.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collectives/buffers.hpp"
#include "runtime/collectives/gaps.hpp"
#include "schedule/builder.hpp"
#include "schedule/compose.hpp"
#include "schedule/counts.hpp"

namespace isthmus::runtime {
namespace {

using schedule::CollectiveCall;
using schedule::Schedule;

const std::vector<std::string> buffer_names{"input", "output", "scratch"};

/// The operations of call.rank alone, as those of a schedule of one rank.
Schedule part_of(const CollectiveCall& call, const schedule::Algorithm& algorithm, std::uint32_t comm) {
  schedule::RankBuilder rank;
  schedule::Emitter out(rank, call.world, comm, 0, 0, true);
  algorithm.generate(call, out);
  const collectives::BufferBytes sizes = collectives::buffer_bytes(call);
  schedule::ScheduleBuilder builder;
  builder.set_buffers({buffer_names, {sizes.input, sizes.output, out.scratch_bytes()}});
  builder.append(rank);
  return builder.build();
}

/// The vector of the root is its input: what reads the output reads it, unless the output is written, too; then the
/// copy comes first.
Schedule from_input(Schedule part, std::uint64_t bytes) {
  bool written = false;
  for (const schedule::Slices& slices : part.slices) written |= slices.to.buffer == schedule::output_buffer;
  for (schedule::Slices& slices : part.slices)
    if (!written && slices.from.buffer == schedule::output_buffer) slices.from.buffer = schedule::input_buffer;
  schedule::RankBuilder rank;
  schedule::Operation copy;
  copy.kind = schedule::OpKind::copy;
  copy.amount = bytes;
  if (bytes > 0) rank.add(copy, {schedule::at_input(), schedule::at_output(), 0});
  schedule::ScheduleBuilder builder;
  builder.append(rank);
  const Schedule copies = builder.build();
  const std::array<const Schedule*, 2> both = {written ? &copies : &part, written ? &part : &copies};
  schedule::Buffers buffers = std::move(part.buffers);
  part.buffers = {};  // so that those of both keep their numbers
  buffers.bytes[schedule::input_buffer] = bytes;
  Schedule out = schedule::together(both, written ? 1 : 0);
  for (schedule::Operation& op : out.ops) op.tag = 0;  // as those of the other ranks have
  out.buffers = std::move(buffers);
  return out;
}

/// A barrier before a part, and one after it. What a rank does of one ends before it begins with the next, so that
/// messages of all have one tag: those of two ranks meet in their order.
Schedule between(const Schedule& part, const CollectiveCall& call, const Around& around, std::uint32_t comm) {
  CollectiveCall barrier;
  barrier.kind = schedule::CollectiveKind::barrier;
  barrier.rank = call.rank;
  barrier.ranks = call.ranks;
  barrier.world = call.world;
  const auto of = [&](const schedule::Algorithm* algorithm) {
    if (algorithm == nullptr) return Schedule{};
    CollectiveCall own = barrier;
    const std::shared_ptr<const schedule::Plan> plan = algorithm->attach(own);
    Schedule made = part_of(own, *algorithm, comm);
    made.buffers = {};
    return made;
  };
  const Schedule before = of(around.before), after = of(around.after);
  std::vector<const Schedule*> parts;
  if (before.ranks > 0) parts.push_back(&before);
  parts.push_back(&part);
  if (after.ranks > 0) parts.push_back(&after);
  Schedule out = schedule::together(parts, 1);
  for (schedule::Operation& op : out.ops) op.tag = 0;
  // Barriers have no buffers, so that those of the part keep their numbers.
  out.buffers = part.buffers;
  return out;
}

}  // namespace

Program collective_program(const schedule::CollectiveCall& given, const schedule::Algorithm& algorithm,
                           std::uint64_t element_bytes, std::uint32_t comm, const Around& around) {
  schedule::CollectiveCall call = given;
  const Gaps gaps(call.kind == schedule::CollectiveKind::neighbor_alltoall ? call.counts
                                                                           : std::span<const std::int64_t>());
  if (gaps.any()) call.counts = gaps.triples();
  schedule::Counts check;
  std::uint64_t deciding = 0;
  const std::string wrong = check.check(call, deciding);
  require(wrong.empty(), wrong);
  const std::shared_ptr<const schedule::Plan> plan = algorithm.attach(call);
  Schedule part = part_of(call, algorithm, comm);
  if (around.apart && call.rank == call.root) part = from_input(std::move(part), call.bytes);
  const bool alone = around.before == nullptr && around.after == nullptr;
  Program program = program_of(alone ? part : between(part, call, around, comm), 0);
  if (gaps.any()) gaps.apply(program);
  for (Step& step : program.steps) {
    for (std::uint64_t* size : {&step.from, &step.to, &step.block}) *size *= element_bytes;
    if (step.kind != schedule::OpKind::calc) step.amount *= element_bytes;
  }
  for (std::uint64_t& bytes : program.buffers) bytes *= element_bytes;
  return program;
}

}  // namespace isthmus::runtime

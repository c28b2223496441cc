#include "runtime/collectives/collective_program.hpp"

#include <memory>

#include "base/error.hpp"
#include "collectives/buffers.hpp"
#include "runtime/collectives/gaps.hpp"
#include "schedule/builder.hpp"
#include "schedule/counts.hpp"

namespace isthmus::runtime {

Program collective_program(const schedule::CollectiveCall& given, const schedule::Algorithm& algorithm,
                           std::uint64_t element_bytes, std::uint32_t comm) {
  schedule::CollectiveCall call = given;
  const Gaps gaps(call.kind == schedule::CollectiveKind::neighbor_alltoall ? call.counts
                                                                           : std::span<const std::int64_t>());
  if (gaps.any()) call.counts = gaps.triples();
  schedule::Counts check;
  std::uint64_t deciding = 0;
  const std::string wrong = check.check(call, deciding);
  require(wrong.empty(), wrong);
  const std::shared_ptr<const schedule::Plan> plan = algorithm.attach(call);
  schedule::RankBuilder rank;
  schedule::Emitter out(rank, call.world, comm, 0, 0, true);
  algorithm.generate(call, out);
  const collectives::BufferBytes sizes = collectives::buffer_bytes(call);
  schedule::ScheduleBuilder builder;
  builder.set_buffers({{"input", "output", "scratch"}, {sizes.input, sizes.output, out.scratch_bytes()}});
  builder.append(rank);
  Program program = program_of(builder.build(), 0);
  if (gaps.any()) gaps.apply(program);
  for (Step& step : program.steps) {
    for (std::uint64_t* size : {&step.from, &step.to, &step.block}) *size *= element_bytes;
    if (step.kind != schedule::OpKind::calc) step.amount *= element_bytes;
  }
  for (std::uint64_t& bytes : program.buffers) bytes *= element_bytes;
  return program;
}

}  // namespace isthmus::runtime

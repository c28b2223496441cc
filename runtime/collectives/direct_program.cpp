#include "runtime/collectives/direct_program.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "collectives/collective_schedule.hpp"

namespace isthmus::runtime {
namespace {

using schedule::Operation;
using schedule::OpKind;
using schedule::Rank;
using schedule::Schedule;

/// The root reads its input, where others would find the vector in its output.
void from_input(Schedule& s, const schedule::CollectiveCall& call) {
  for (std::uint64_t i = s.op_first[call.root]; i < s.op_first[call.root + std::size_t{1}]; ++i) {
    schedule::Slices& slices = s.slices[i];
    require(slices.to.buffer != schedule::output_buffer || s.ops[i].amount == 0,
            "bcast: the root writes its output, which is apart from its input");
    if (slices.from.buffer == schedule::output_buffer) slices.from.buffer = schedule::input_buffer;
  }
  s.buffers.bytes[call.root * s.buffers.names.size() + schedule::input_buffer] = call.bytes;
}

/// Every message gets its number among those of its receiver as tag; returns the most that a rank receives.
std::uint32_t number_words(Schedule& s) {
  std::map<std::tuple<Rank, Rank, std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> numbers;
  std::uint32_t most = 0;
  const auto each = [&](OpKind kind, const auto& f) {
    for (Rank r = 0; r < s.ranks; ++r)
      for (std::uint64_t i = s.op_first[r]; i < s.op_first[r + std::size_t{1}]; ++i)
        if (s.ops[i].kind == kind) f(r, s.ops[i]);
  };
  std::vector<std::uint32_t> words(s.ranks);
  each(OpKind::recv, [&](Rank r, Operation& op) {
    numbers[{op.peer, r, op.comm, op.tag}].push_back(words[r]);
    op.tag = words[r]++;
    most = std::max(most, words[r]);
  });
  std::map<std::tuple<Rank, Rank, std::uint32_t, std::uint32_t>, std::size_t> sent;
  each(OpKind::send, [&](Rank r, Operation& op) {
    const std::tuple channel{r, op.peer, op.comm, op.tag};
    op.tag = numbers.at(channel).at(sent[channel]++);
  });
  return most;
}

}  // namespace

DirectProgram direct_program(const schedule::CollectiveCall& given, const schedule::Algorithm& algorithm,
                             const Directly& how) {
  schedule::CollectiveCall call = given;
  call.world = {};
  Schedule messages = collectives::collective_schedule(call, algorithm, true);
  if (how.apart) from_input(messages, call);
  Schedule s = schedule::one_sided(messages, how.access, how.ask, how.tell);
  DirectProgram out;
  out.words = number_words(s);
  const std::size_t names = s.buffers.names.size();
  for (std::size_t r = 0; r < s.ranks; ++r)
    out.scratch = std::max(out.scratch, s.buffers.bytes[r * names + schedule::scratch_buffer]);
  out.program = program_of(s, call.rank, true);
  return out;
}

}  // namespace isthmus::runtime

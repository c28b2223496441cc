// libFuzzer: a program of any columns, as an HDF5 file or a recording may hold them, is refused, or lowered to a
// schedule whose arrays fit each other.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "input.hpp"
#include "schedule/collective.hpp"
#include "schedule/lower.hpp"
#include "schedule/validate.hpp"

namespace {

using namespace isthmus;
using namespace isthmus::schedule;

/// A message to the next rank: collectives as such are tested elsewhere.
void to_the_next(const CollectiveCall& call, Emitter& out) {
  out.send((call.rank + 1) % call.ranks, call.bytes);
  out.recv((call.rank + call.ranks - 1) % call.ranks, call.bytes);
}

LowerOptions options(std::uint8_t stream) {
  LowerOptions out;
  out.progress_stream = stream;
  for (auto& rules : out.collectives) rules.emplace_back(CollectiveRule{.algorithm = Algorithm(to_the_next)});
  return out;
}

/// Mostly one byte a number, so that kinds, ranks and requests are often such that exist.
template <class T>
std::vector<T> column(Input& input, std::size_t count) {
  std::vector<T> out(count);
  for (T& x : out) {
    const auto byte = input.number<std::uint8_t>();
    if (byte == 0xFF) x = input.number<T>();
    else x = static_cast<T>(static_cast<std::int8_t>(byte));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t ranks = input.number<std::uint8_t>() % 5, events = input.number<std::uint8_t>() % 32;
  const std::size_t numbers = input.number<std::uint8_t>() % 32, comms = input.number<std::uint8_t>() % 4;
  const auto stream = static_cast<std::uint8_t>(input.number<std::uint8_t>() % 2);
  const auto first = column<std::uint64_t>(input, ranks + 1);
  const auto kind = column<std::uint8_t>(input, events), what = column<std::uint8_t>(input, events);
  const auto peer = column<std::int32_t>(input, events), tag = column<std::int32_t>(input, events);
  const auto comm = column<std::uint32_t>(input, events);
  const auto amount = column<std::uint64_t>(input, events);
  const auto request = column<std::uint32_t>(input, events), detail = column<std::uint32_t>(input, events);
  const auto details = column<std::int64_t>(input, numbers);
  const auto comm_first = column<std::uint64_t>(input, comms + 1);
  const auto comm_ranks = column<std::uint32_t>(input, input.number<std::uint8_t>() % 16);
  Program program;
  program.ranks = static_cast<Rank>(ranks);
  program.first = first;
  program.kind = kind;
  program.what = what;
  program.peer = peer;
  program.tag = tag;
  program.comm = comm;
  program.amount = amount;
  program.request = request;
  program.detail = detail;
  program.details = details;
  program.comm_first = comm_first;
  program.comm_ranks = comm_ranks;
  try {
    check_arrays(lower(program, options(stream)));
  } catch (const InvalidInput&) {
  } catch (const Unsupported&) {
  }
  return 0;
}

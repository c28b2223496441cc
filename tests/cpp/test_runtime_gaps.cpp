// Blocks of a neighbour exchange that lie anywhere: which step moves which bytes, and what is refused.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collectives/registry.hpp"
#include "runtime/collectives/collective_program.hpp"

namespace isthmus::test {
namespace {

using schedule::OpKind;

/// Rank 0 of two, elements of 4 bytes.
runtime::Program made(const std::vector<std::int64_t>& counts) {
  schedule::CollectiveCall call;
  call.kind = schedule::CollectiveKind::neighbor_alltoall;
  call.ranks = 2;
  call.counts = counts;
  call.in_place = false;
  return runtime::collective_program(call, collectives::find_algorithm(call.kind, "linear"), 4);
}

std::string refusal(const std::vector<std::int64_t>& counts) {
  try {
    made(counts);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

struct Moved {
  OpKind kind;
  std::uint64_t at, bytes;
  bool operator==(const Moved&) const = default;
};

std::vector<Moved> messages(const runtime::Program& program) {
  std::vector<Moved> out;
  for (const runtime::Step& step : program.steps) {
    if (step.kind == OpKind::send) out.push_back({step.kind, step.from, step.amount});
    if (step.kind == OpKind::recv) out.push_back({step.kind, step.to, step.amount});
  }
  return out;
}

TEST_CASE("blocks of neighbours lie one after the other, or where gaps say") {
  CHECK(messages(made({1, 2, 3, 1, 5, 7})) ==
        std::vector<Moved>{{OpKind::recv, 0, 12}, {OpKind::recv, 12, 28}, {OpKind::send, 0, 8}, {OpKind::send, 8, 20}});
  // What comes first lies behind what comes next; the same block is sent twice, with a hole before it.
  const runtime::Program program = made({-1, 3, 5, 1, 2, 3, -1, -2, -8, 1, 2, 5});
  CHECK(
      messages(program) ==
      std::vector<Moved>{{OpKind::recv, 20, 12}, {OpKind::recv, 0, 20}, {OpKind::send, 12, 8}, {OpKind::send, 12, 8}});
  CHECK(program.buffers[0] == 20);
  CHECK(program.buffers[1] == 32);
  // Nothing but gaps, and blocks of nothing that would lie before the buffer.
  CHECK(messages(made({-1, 3, 5})).empty());
  CHECK(messages(made({-1, -3, -5, 1, 0, 0})).empty());
}

TEST_CASE("blocks before their buffer, negative counts, and incomplete triples are refused") {
  CHECK(refusal({-1, 0, -1, 1, 0, 2}).find("a block of neighbour 1 lies 1 elements before its buffer") !=
        std::string::npos);
  CHECK(refusal({1, -2, 0}).find("count -2 is negative") != std::string::npos);
  CHECK(refusal({-1, 1, 1, 1, -2, 0}).find("count -2 is negative") != std::string::npos);
  CHECK(refusal({-2, 1, 1}).find("neighbour -2 does not exist") != std::string::npos);
  CHECK(refusal({-1, 1, 1, 1, 2}).find("expected three for each neighbour") != std::string::npos);
}

}  // namespace
}  // namespace isthmus::test

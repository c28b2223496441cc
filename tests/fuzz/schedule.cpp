// libFuzzer: a schedule of any arrays, as an HDF5 file may hold them, is refused by check_arrays(), or all that follows
// stays inside: validation, patterns, other labels, puts in place of messages, GOAL, which comes back as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "input.hpp"
#include "schedule/columns.hpp"
#include "schedule/goal_binary.hpp"
#include "schedule/goal_text.hpp"
#include "schedule/one_sided.hpp"
#include "schedule/pattern.hpp"
#include "schedule/validate.hpp"

namespace {

using namespace isthmus;
using namespace isthmus::schedule;

template <class T, class Container>
void fill(Container& out, Input& input, std::size_t count) {
  const auto numbers = input.numbers<T>(count);
  out.resize(numbers.size());
  std::copy(numbers.begin(), numbers.end(), out.begin());
}

Schedule schedule_of(Input& input) {
  Schedule s;
  s.ranks = input.number<std::uint8_t>() % 5;
  const std::size_t ops = input.number<std::uint8_t>() % 32, edges = input.number<std::uint8_t>() % 32;
  const std::size_t names = input.number<std::uint8_t>() % 4;
  const bool slices = input.number<std::uint8_t>() % 2 != 0;
  // Small numbers, so that arrays fit each other at times.
  for (auto* first : {&s.op_first, &s.edge_first}) {
    first->clear();
    for (Rank r = 0; r <= s.ranks; ++r) first->push_back(input.number<std::uint8_t>());
  }
  fill<Operation>(s.ops, input, ops);
  fill<Edge>(s.edges, input, edges);
  for (std::size_t b = 0; b < names; ++b) s.buffers.names.push_back("b" + std::to_string(b));
  fill<std::uint64_t>(s.buffers.bytes, input, names * s.ranks);
  if (slices) fill<Slices>(s.slices, input, s.ops.size());
  return s;
}

template <class Work>
void tried(const Work& work) {
  try {
    work();
  } catch (const GoalError&) {
  } catch (const InvalidInput&) {
  } catch (const Unsupported&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const Schedule s = schedule_of(input);
  try {
    check_arrays(s);
  } catch (const InvalidInput&) {
    return 0;
  }
  tried([&] { validate(s); });
  tried([&] { pattern_of(s); });
  tried([&] { load_of(s); });
  tried([&] { one_sided(s, Access::put, true); });
  tried([&] {
    std::vector<Rank> to(s.ranks);
    for (Rank r = 0; r < s.ranks; ++r) to[r] = s.ranks - 1 - r;
    check_arrays(relabel(s, to));
  });
  tried([&] {
    std::string text;
    write_goal_text(s, {1, 1.0}, [&](std::span<const char> piece) { text.append(piece.begin(), piece.end()); });
    const Schedule back = parse_goal_text(text, 1);
    if (back.ops.size() != s.ops.size() || back.edges.size() != s.edges.size()) std::abort();
  });
  return 0;
}

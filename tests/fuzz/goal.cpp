// libFuzzer: GOAL text and binary of any bytes are a schedule whose arrays fit each other, or refused by an exception
// of ours. `./bootstrap proof` builds and runs it, with tests/fuzz/corpus/goal as the first inputs.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"
#include "schedule/columns.hpp"
#include "schedule/goal_binary.hpp"
#include "schedule/goal_text.hpp"
#include "schedule/validate.hpp"

namespace {

void read(isthmus::schedule::Schedule (*parse)(std::span<const char>, std::uint64_t), std::span<const char> bytes) {
  try {
    const isthmus::schedule::Schedule schedule = parse(bytes, 1000);
    isthmus::schedule::check_arrays(schedule);
  } catch (const isthmus::schedule::GoalError&) {
  } catch (const isthmus::InvalidInput&) {  // an operation that the builder refuses
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const char*>(data), size);
  read(isthmus::schedule::parse_goal_text, bytes);
  read(isthmus::schedule::parse_goal_binary, bytes);
  return 0;
}

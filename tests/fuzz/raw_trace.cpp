// libFuzzer: raw traces of any words are walked to their end, and what is found lies within them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "input.hpp"
#include "recording/raw_trace.hpp"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  isthmus::Input input(data, size);
  const auto words = input.numbers<std::uint64_t>(size / 8);
  const auto end = static_cast<std::int64_t>(words.size());
  const isthmus::recording::RawRecords found = isthmus::recording::raw_records(words);
  check(found.end >= 0 && found.end <= end && found.without_length < end);
  for (std::size_t i = 0; i < found.at.size(); ++i)
    check(found.at[i] >= (i == 0 ? 0 : found.at[i - 1] + 1) && found.at[i] < found.end);
  const isthmus::recording::RawPieces pieces = isthmus::recording::raw_pieces(words, 2);
  for (std::size_t i = 0; i < pieces.begins.size(); ++i)
    check(pieces.begins[i] >= (i == 0 ? 0 : pieces.begins[i - 1] + 1) && pieces.begins[i] <= end);
  return 0;
}

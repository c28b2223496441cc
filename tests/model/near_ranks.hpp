// Ranks that share memory, as the parts of a space see them, without the files that their memory is otherwise in.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/pgas/far.hpp"
#include "runtime/pgas/segments.hpp"

namespace isthmus::model {

struct NearRanks {
  runtime::Segments* segments = nullptr;
  std::unique_ptr<runtime::Far>* no_far = nullptr;
};
NearRanks near_ranks(std::uint32_t ranks);

}  // namespace isthmus::model

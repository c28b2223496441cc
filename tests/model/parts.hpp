// A part of the runtime without locks, as programs that the model checker explores.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace isthmus::model {

/// What need not be found where an order is weakened.
struct Needless {
  std::string source;  ///< of the line, as much as tells it apart
  Weakening part;
  const char* reason;
};

struct Part {
  const char* name;
  std::vector<Program> programs;
  std::vector<const char*> files;  ///< of the runtime, whose orders are weakened, one after the other
  std::vector<Needless> needless;
  std::vector<Program> larger;  ///< what takes longer, and is explored without weakened orders
};

// Each in a file of its name, but for meetings, which are in that of barriers.
Part rings();
Part inboxes();
Part barriers();
Part meetings();
Part boards();
Part locks();
Part worlds();
Part accesses();

}  // namespace isthmus::model

// One rank's part of a collective whose ranks reach each other's memory: puts or gets, and words in place of messages
// without bytes.
//
// The schedule of all ranks is made, as `isthmus prove` has it, since who puts has to know where the other rank wants
// the bytes. So it costs as much as there are ranks; those of one node are few.
#pragma once

#include <cstdint>

#include "runtime/executor/program.hpp"
#include "schedule/collective.hpp"
#include "schedule/one_sided.hpp"

namespace isthmus::runtime {

struct Directly {
  schedule::Access access = schedule::Access::put;
  bool ask = false;    ///< whose memory is used says first that it has entered
  bool tell = true;    ///< everybody hears when its own data are there, or may be changed
  bool apart = false;  ///< of bcast: the vector of the root is its input; its copy to the output is not in the program
};

struct DirectProgram {
  /// The number of a word among those of the rank that waits for it is its tag. No step has a message with bytes.
  Program program;
  std::uint32_t words = 0;    ///< the most that a rank waits for
  std::uint64_t scratch = 0;  ///< bytes, the most that a rank needs
};

/// Of a collective of bytes, without different counts, that combines nothing. Throws InvalidInput as the algorithm
/// does, and where the root of a bcast that is apart writes its output.
DirectProgram direct_program(const schedule::CollectiveCall& call, const schedule::Algorithm& algorithm,
                             const Directly& how);

}  // namespace isthmus::runtime

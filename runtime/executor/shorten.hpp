// Copies that a program can do without. What it does is the same: its messages, and the bytes that it leaves in its
// output.
#pragma once

#include "runtime/executor/program.hpp"

namespace isthmus::runtime {

/// The buffers of a program, by default as collectives number them: what is in `scratch` at its end is of no interest,
/// nor is what is in `output` at its beginning, where `input` is copied to it.
struct Roles {
  std::uint8_t input = 0;
  std::uint8_t output = 1;
  std::uint8_t scratch = 2;
};

/// Operations that read a copy of the input read the input itself, and copies that nobody reads then are left out. A
/// reduction that reads what a receive wrote, and nobody else does, may take the bytes as they arrive: Step::pair.
///
/// The schedule is free of races, as those of the core are, which are proved: then what an operation reads follows from
/// any one order of its operations that its dependencies allow.
void shorten(Program& program, const Roles& roles = {});

}  // namespace isthmus::runtime

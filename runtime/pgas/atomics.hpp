// Atomic operations on memory of a space, by the instructions of the processor.
#pragma once

#include <isthmus/isthmus_pgas.h>

#include <cstdint>

namespace isthmus::runtime {

/// The same as isthmus_atomic() on an element of this rank or one that shares memory with it, with the bits of all
/// values in words. The operator has to be defined for the element.
std::uint64_t change(char* at, isthmus_element element, isthmus_atomic_operator operation, std::uint64_t operand,
                     std::uint64_t expected);

}  // namespace isthmus::runtime

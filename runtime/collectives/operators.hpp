// The predefined operators of MPI on its predefined types, as loops over contiguous elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/executor/execution.hpp"

namespace isthmus::runtime {

enum class Element : std::uint8_t { i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, c32, c64 };
enum class Operation : std::uint8_t { sum, product, least, greatest, land, lor, lxor, band, bor, bxor };

/// Bytes of an element.
std::size_t size_of(Element element);

/// The operator; `before` is null where MPI does not define it: bits of floating numbers, order of complex ones.
Operator operator_of(Element element, Operation operation);

}  // namespace isthmus::runtime

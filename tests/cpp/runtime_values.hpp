// Elements of the tests of the runtime: what ranks contribute, and how two are combined, written plainly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/executor/execution.hpp"

namespace isthmus::test {

using Bytes = std::vector<std::byte>;

/// `matrices`: two by two, whose product does not commute: an operator as users write it.
enum class Values { i32_sum, i64_greatest, u8_xor, f64_sum, matrices };

std::size_t size_of(Values values);

/// Element i of the input of a rank. Floating ones are whole numbers, so that every order gives the same sum.
void put_value(Values values, std::uint32_t rank, std::uint64_t i, std::byte* to);

/// a = a (+) b, for one element.
void combine(Values values, std::byte* a, const std::byte* b);

/// The operator as the runtime is given it.
runtime::Operator operator_of(Values values);

}  // namespace isthmus::test

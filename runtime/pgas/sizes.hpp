// Copies of pieces of usual sizes without a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace isthmus::runtime {

/// Calls f with the number of bytes as a constant of the compiler where it is a usual one, or else with 0.
template <class F>
auto of_size(std::uint64_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(std::integral_constant<std::size_t, 1>());
    case 2: return f(std::integral_constant<std::size_t, 2>());
    case 4: return f(std::integral_constant<std::size_t, 4>());
    case 8: return f(std::integral_constant<std::size_t, 8>());
    case 16: return f(std::integral_constant<std::size_t, 16>());
    case 32: return f(std::integral_constant<std::size_t, 32>());
    case 64: return f(std::integral_constant<std::size_t, 64>());
    default: return f(std::integral_constant<std::size_t, 0>());
  }
}

/// Copies `known` bytes, or, where that is 0, so many.
template <std::size_t known>
void copy_known(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, known == 0 ? bytes : known);
}

/// One piece that may have any size.
inline void copy_piece(void* to, const void* from, std::size_t bytes) {
  of_size(bytes, [&](auto known) { copy_known<decltype(known)::value>(to, from, bytes); });
}

}  // namespace isthmus::runtime

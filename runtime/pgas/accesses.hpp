// Copies within the memory of a space for others: an element is written and read whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace isthmus::runtime {

template <class T>
bool copy_element(void* to, const void* from, std::size_t bytes, std::uintptr_t shared) {
  if (bytes != sizeof(T) || shared % sizeof(T) != 0) return false;
  T value;
  // One side is in memory that others access meanwhile; the other one need not be at a multiple of the size.
  if (reinterpret_cast<std::uintptr_t>(to) == shared) {
    std::memcpy(&value, from, sizeof value);
    __atomic_store_n(static_cast<T*>(to), value, __ATOMIC_RELAXED);
  } else {
    value = __atomic_load_n(static_cast<const T*>(from), __ATOMIC_RELAXED);
    std::memcpy(to, &value, sizeof value);
  }
  return true;
}

inline void copy_with(void* to, const void* from, std::size_t bytes, const void* shared) {
  const auto at = reinterpret_cast<std::uintptr_t>(shared);
  if (copy_element<std::uint64_t>(to, from, bytes, at) || copy_element<std::uint32_t>(to, from, bytes, at) ||
      copy_element<std::uint16_t>(to, from, bytes, at) || copy_element<std::uint8_t>(to, from, bytes, at))
    return;
  std::memcpy(to, from, bytes);
}

/// As memcpy(), but 1, 2, 4 or 8 bytes at a multiple of their size are written once: memcpy() may write them twice, and
/// what another rank writes in between would be there and gone.
inline void copy_into(void* space, const void* from, std::size_t bytes) { copy_with(space, from, bytes, space); }
inline void copy_out_of(const void* space, void* to, std::size_t bytes) { copy_with(to, space, bytes, space); }

}  // namespace isthmus::runtime

#include "runtime/pgas/atomics.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

/// Where there is no instruction: again, until nobody came between.
template <class T, class F>
T repeat(std::atomic_ref<T> place, const F& next) {
  T before = place.load();
  while (!place.compare_exchange_weak(before, next(before))) {
  }
  return before;
}

template <class T>
T apply(T& at, isthmus_atomic_operator operation, T operand, const void* expected) {
  std::atomic_ref<T> place(at);
  switch (operation) {
    case ISTHMUS_ATOMIC_ADD: return place.fetch_add(operand);
    case ISTHMUS_ATOMIC_MIN: return repeat(place, [&](T before) { return std::min(before, operand); });
    case ISTHMUS_ATOMIC_MAX: return repeat(place, [&](T before) { return std::max(before, operand); });
    case ISTHMUS_ATOMIC_SWAP: return place.exchange(operand);
    case ISTHMUS_ATOMIC_READ: return place.load();
    case ISTHMUS_ATOMIC_SWAP_IF: {
      T before = *static_cast<const T*>(expected);
      place.compare_exchange_strong(before, operand);
      return before;
    }
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (operation == ISTHMUS_ATOMIC_AND) return place.fetch_and(operand);
    if (operation == ISTHMUS_ATOMIC_OR) return place.fetch_or(operand);
    if (operation == ISTHMUS_ATOMIC_XOR) return place.fetch_xor(operand);
  }
  throw InvalidInput(message("isthmus_atomic: operator ", static_cast<int>(operation), " for ",
                             std::is_integral_v<T> ? "integers" : "floating-point numbers"));
}

/// Calls `with` for the type of an element.
template <class F>
auto by_type(isthmus_element element, const F& with) {
  switch (element) {
    case ISTHMUS_I32: return with(std::int32_t{});
    case ISTHMUS_I64: return with(std::int64_t{});
    case ISTHMUS_U32: return with(std::uint32_t{});
    case ISTHMUS_U64: return with(std::uint64_t{});
    case ISTHMUS_F32: return with(float{});
    case ISTHMUS_F64: return with(double{});
    default: break;
  }
  throw InvalidInput(message("isthmus_atomic: element ", static_cast<int>(element),
                             ": must be an integer or a floating-point number of 4 or 8 bytes"));
}

template <class T>
std::uint64_t bits_of(const void* value) {
  std::uint64_t bits = 0;
  if (value != nullptr) std::memcpy(&bits, value, sizeof(T));
  return bits;
}

template <class T>
int run_far(isthmus_space* space, std::uint32_t rank, std::uint64_t offset, isthmus_element element,
            isthmus_atomic_operator operation, const void* operand, const void* expected, void* before) {
  return guarded_space(space, [&] {
    if (rank != space->head.rank) space->outside("isthmus_atomic");
    T scratch{};  // whether there is such an operator
    apply(scratch, operation, T{}, &scratch);
    const std::uint64_t found =
        space->far->amend(rank, offset, element, operation, bits_of<T>(operand), bits_of<T>(expected));
    if (before != nullptr) std::memcpy(before, &found, sizeof(T));
    return ISTHMUS_DONE;
  });
}

template <class T>
int run(isthmus_space* space, std::uint32_t rank, std::uint64_t offset, isthmus_element element,
        isthmus_atomic_operator operation, const void* operand, const void* expected, void* before) {
  char* const at = space->near("isthmus_atomic", rank, offset, sizeof(T));
  require(offset % sizeof(T) == 0, "isthmus_atomic: offset ", offset, " is not a multiple of ", sizeof(T));
  if (at == nullptr || (space->far != nullptr && space->far->changes_by_windows()))
    return run_far<T>(space, rank, offset, element, operation, operand, expected, before);
  const T found =
      apply(*reinterpret_cast<T*>(at), operation, operand == nullptr ? T{} : *static_cast<const T*>(operand), expected);
  if (before != nullptr) *static_cast<T*>(before) = found;
  return ISTHMUS_DONE;
}

}  // namespace

std::uint64_t change(char* at, isthmus_element element, isthmus_atomic_operator operation, std::uint64_t operand,
                     std::uint64_t expected) {
  return by_type(element, [&](auto one) {
    using T = decltype(one);
    T value{};
    std::memcpy(&value, &operand, sizeof value);
    const T found = apply(*reinterpret_cast<T*>(at), operation, value, &expected);
    return bits_of<T>(&found);
  });
}

}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" int isthmus_atomic(isthmus_space* space, uint32_t rank, uint64_t offset, isthmus_element element,
                              isthmus_atomic_operator operation, const void* operand, const void* expected,
                              void* before) {
  return guarded([&]() -> int {
    require(space != nullptr, "space is NULL");
    require(operand != nullptr || operation == ISTHMUS_ATOMIC_READ, "isthmus_atomic: operand is NULL");
    require(expected != nullptr || operation != ISTHMUS_ATOMIC_SWAP_IF, "isthmus_atomic: expected is NULL");
    return by_type(element, [&](auto one) {
      return run<decltype(one)>(space, rank, offset, element, operation, operand, expected, before);
    });
  });
}

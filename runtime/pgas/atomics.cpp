#include "runtime/pgas/atomics.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/space.hpp"

/// A domain of atomic operations.
struct isthmus_domain {
  isthmus_space& space;
  isthmus_element element;
  std::uint32_t operations;
  bool windows;  ///< all of them go through these, also on memory of this rank
};

namespace isthmus::runtime {
namespace {

bool changes_by_windows(const isthmus_space& space) { return space.far != nullptr && space.far->changes_by_windows(); }

/// Where there is no instruction: again, until nobody came between.
template <class T, class F>
T repeat(std::atomic_ref<T> place, const F& next) {
  T before = place.load();
  while (!place.compare_exchange_weak(before, next(before))) {
  }
  return before;
}

/// Integers wrap round, as sums do.
template <class T>
T product(T one, T other) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(one) * static_cast<Unsigned>(other));
  } else {
    return one * other;
  }
}
template <class T>
T negative(T one) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(one));
  else return -one;
}

template <class T>
T apply(T& at, isthmus_atomic_operator operation, T operand, const void* expected) {
  std::atomic_ref<T> place(at);
  switch (operation) {
    case ISTHMUS_ATOMIC_ADD: return place.fetch_add(operand);
    case ISTHMUS_ATOMIC_SUBTRACT: return place.fetch_sub(operand);
    case ISTHMUS_ATOMIC_MULTIPLY: return repeat(place, [&](T before) { return product(before, operand); });
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

/// What is asked for, but for the type; `domain` null: the space itself.
struct Change {
  const char* call;
  isthmus_space* space;
  const isthmus_domain* domain;
  std::uint32_t rank;
  std::uint64_t offset;
  isthmus_element element;
  isthmus_atomic_operator operation;
  const void* operand;
  const void* expected;
  void* before;
};

template <class T>
int run_far(const Change& one) {
  isthmus_space* const space = one.space;
  return guarded_space(
      space,
      [&] {
        if (one.rank != space->head.rank) space->outside(one.call);
        T scratch{};  // whether there is such an operator
        apply(scratch, one.operation, T{}, &scratch);
        std::uint64_t operand = bits_of<T>(one.operand);
        isthmus_atomic_operator operation = one.operation;
        if (operation == ISTHMUS_ATOMIC_SUBTRACT) {
          T value{};
          std::memcpy(&value, one.operand, sizeof value);
          value = negative(value);
          operand = bits_of<T>(&value);
          operation = ISTHMUS_ATOMIC_ADD;
        }
        const std::uint64_t expected = bits_of<T>(one.expected);
        const bool by_message = one.domain != nullptr && !one.domain->windows;
        const std::uint64_t found =
            by_message ? space->far->atomic(one.rank, one.offset, one.element, operation, operand, expected)
                       : space->far->amend(one.rank, one.offset, one.element, operation, operand, expected);
        if (one.before != nullptr) std::memcpy(one.before, &found, sizeof(T));
        return ISTHMUS_DONE;
      },
      one.call);
}

template <class T>
int run(const Change& one) {
  isthmus_space* const space = one.space;
  char* const at = space->near(one.call, one.rank, one.offset, sizeof(T));
  require(one.offset % sizeof(T) == 0, one.call, ": offset ", one.offset, " is not a multiple of ", sizeof(T));
  const bool windows = one.domain != nullptr ? one.domain->windows : changes_by_windows(*space);
  if (at == nullptr || windows) return run_far<T>(one);
  const T found = apply(*reinterpret_cast<T*>(at), one.operation,
                        one.operand == nullptr ? T{} : *static_cast<const T*>(one.operand), one.expected);
  if (one.before != nullptr) *static_cast<T*>(one.before) = found;
  return ISTHMUS_DONE;
}

int run_any(const Change& one) {
  require(one.operand != nullptr || one.operation == ISTHMUS_ATOMIC_READ, one.call, ": operand is NULL");
  require(one.expected != nullptr || one.operation != ISTHMUS_ATOMIC_SWAP_IF, one.call, ": expected is NULL");
  return by_type(one.element, [&](auto value) { return run<decltype(value)>(one); });
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

namespace isthmus::runtime {
namespace {

/// What is wrong with the operations of a domain; each is tried.
void check_operations(isthmus_element element, std::uint32_t operations) {
  constexpr std::uint32_t count = ISTHMUS_ATOMIC_SUBTRACT + 1;
  require(operations != 0 && operations >> count == 0, "isthmus_domain_make: operations = ", operations,
          ": must be a set of ISTHMUS_ATOMIC_SET()");
  by_type(element, [&](auto value) {
    for (std::uint32_t i = 0; i < count; ++i)
      if ((operations >> i & 1) != 0) apply(value, static_cast<isthmus_atomic_operator>(i), value, &value);
    return 0;
  });
}

/// Products would be several operations of a window; a message is one, and others that need the other rank gain nothing
/// by windows that do, too.
bool goes_by_windows(const isthmus_space& space, std::uint32_t operations) {
  if (!changes_by_windows(space)) return false;
  return (operations & ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_MULTIPLY)) == 0 || space.far->changes_by_windows_alone();
}

}  // namespace
}  // namespace isthmus::runtime

extern "C" {

int isthmus_atomic(isthmus_space* space, uint32_t rank, uint64_t offset, isthmus_element element,
                   isthmus_atomic_operator operation, const void* operand, const void* expected, void* before) {
  return guarded([&]() -> int {
    require(space != nullptr, "space is NULL");
    return run_any({"isthmus_atomic", space, nullptr, rank, offset, element, operation, operand, expected, before});
  });
}

int isthmus_domain_make(isthmus_space* space, isthmus_element element, uint32_t operations, isthmus_domain** domain) {
  return guarded([&] {  // the exchange in it takes the lock of the team
    require(space != nullptr && domain != nullptr, "space or domain is NULL");
    space->outside("isthmus_domain_make");
    struct Said {
      std::uint32_t element, operations;
    };
    const Said mine{static_cast<std::uint32_t>(element), operations};
    std::vector<Said> all(space->head.ranks);
    gather_all(&space->team, &mine, all.data(), sizeof mine);
    for (Rank r = 0; r < all.size(); ++r)
      require(all[r].element == all[0].element && all[r].operations == all[0].operations,
              "isthmus_domain_make: element and operations of rank ", r, " are not those of rank 0");
    check_operations(element, operations);
    *domain = new isthmus_domain{*space, element, operations, goes_by_windows(*space, operations)};
    return ISTHMUS_DONE;
  });
}

int isthmus_domain_free(isthmus_domain* domain) {
  if (domain == nullptr) return ISTHMUS_DONE;
  isthmus_space* const space = &domain->space;
  const int status = isthmus_barrier(space, nullptr);
  delete domain;
  return status;
}

int isthmus_domain_change(isthmus_domain* domain, uint32_t rank, uint64_t offset, isthmus_atomic_operator operation,
                          const void* operand, const void* expected, void* before) {
  return guarded([&]() -> int {
    require(domain != nullptr, "domain is NULL");
    const auto number = static_cast<std::uint32_t>(operation);
    require(number <= ISTHMUS_ATOMIC_SUBTRACT && (domain->operations >> number & 1) != 0,
            "isthmus_domain_change: the domain was not made for operation ", number);
    return run_any({"isthmus_domain_change", &domain->space, domain, rank, offset, domain->element, operation, operand,
                    expected, before});
  });
}

isthmus_atomic_way isthmus_domain_way(const isthmus_domain* domain, uint32_t rank) {
  if (domain->windows) return ISTHMUS_BY_WINDOW;
  const isthmus_space_head& head = domain->space.head;
  return rank < head.ranks && head.shared[rank] != nullptr ? ISTHMUS_BY_PROCESSOR : ISTHMUS_BY_MESSAGE;
}

isthmus_space* isthmus_domain_space(const isthmus_domain* domain) { return &domain->space; }
isthmus_element isthmus_domain_element(const isthmus_domain* domain) { return domain->element; }

}  // extern "C"

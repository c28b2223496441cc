// Domains of atomic operations, beside what the operations are in mathematics.
#include <doctest/doctest.h>
#include <isthmus/isthmus_pgas.h>

#include <algorithm>
#include <cstdint>
#include <isthmus/pgas.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "pgas_ranks.hpp"

namespace isthmus::test {
namespace {

template <class T>
isthmus_element element() {
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? ISTHMUS_F32 : ISTHMUS_F64;
  else if constexpr (std::is_signed_v<T>) return sizeof(T) == 4 ? ISTHMUS_I32 : ISTHMUS_I64;
  else return sizeof(T) == 4 ? ISTHMUS_U32 : ISTHMUS_U64;
}

constexpr std::uint32_t arithmetic =
    ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_ADD) | ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_SUBTRACT) |
    ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_MULTIPLY) | ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_SWAP_IF) |
    ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_MAX) | ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_READ);

/// All ranks change elements of all ranks: sums that cancel, products of powers of two (exact in any order), the
/// largest.
template <class T>
void change_all(Rank& own) {
  constexpr int rounds = 20;
  isthmus_domain* domain = nullptr;
  std::uint64_t place = 0;
  own.done(isthmus_domain_make(own.space, element<T>(), arithmetic, &domain), "make");
  own.done(isthmus_allocate_all(own.space, 4 * sizeof(T), &place), "allocate");
  auto* const mine = static_cast<T*>(isthmus_cast(own.space, own.rank, place));
  mine[0] = 0, mine[1] = 1, mine[2] = 0, mine[3] = 0;
  own.barrier();
  const auto change = [&](std::uint32_t rank, int which, isthmus_atomic_operator operation, T operand) {
    T before{};
    const T* const given = operation == ISTHMUS_ATOMIC_READ ? nullptr : &operand;
    own.done(isthmus_domain_change(domain, rank, place + which * sizeof(T), operation, given, nullptr, &before),
             "change");
    return before;
  };
  for (int i = 0; i < rounds; ++i) {
    for (std::uint32_t r = 0; r < own.ranks; ++r) {
      change(r, 0, ISTHMUS_ATOMIC_ADD, static_cast<T>(3 * i + own.rank + 5));
      change(r, 0, ISTHMUS_ATOMIC_SUBTRACT, static_cast<T>(3 * i + own.rank + 4));
      // In floating-point numbers they are halved again: nothing overflows.
      change(r, 1, ISTHMUS_ATOMIC_MULTIPLY, std::is_integral_v<T> ? T{3} : T{2});
      if constexpr (std::is_floating_point_v<T>) change(r, 1, ISTHMUS_ATOMIC_MULTIPLY, T(0.5));
      change(r, 2, ISTHMUS_ATOMIC_MAX, static_cast<T>(own.rank * 10 + i));
      T seen = change(r, 3, ISTHMUS_ATOMIC_READ, T{});
      for (T found = seen;; seen = found) {
        const T next = static_cast<T>(seen + 1);
        own.done(isthmus_domain_change(domain, r, place + 3 * sizeof(T), ISTHMUS_ATOMIC_SWAP_IF, &next, &seen, &found),
                 "swap");
        if (found == seen) break;
      }
    }
  }
  own.barrier();
  const int all = rounds * static_cast<int>(own.ranks);
  T product = 1;
  if constexpr (std::is_integral_v<T>) {
    std::make_unsigned_t<T> wrapped = 1;
    for (int i = 0; i < all; ++i) wrapped *= 3;
    product = static_cast<T>(wrapped);
  }
  own.expect(mine[0] == static_cast<T>(all), "sums");
  own.expect(mine[1] == product, "products");
  own.expect(mine[2] == static_cast<T>((own.ranks - 1) * 10 + rounds - 1), "the largest");
  own.expect(mine[3] == static_cast<T>(all), "swaps");
  for (std::uint32_t r = 0; r < own.ranks; ++r)
    own.expect(isthmus_domain_way(domain, r) == (own.shares(r) ? ISTHMUS_BY_PROCESSOR : ISTHMUS_BY_MESSAGE), "way");
  T operand = 1;
  const int refused = isthmus_domain_change(domain, 0, place, ISTHMUS_ATOMIC_SWAP, &operand, nullptr, nullptr);
  own.expect(refused == ISTHMUS_INVALID &&
                 std::string(isthmus_last_error()) == "isthmus_domain_change: the domain was not made for operation 6",
             "not made for it");
  own.done(isthmus_domain_free(domain), "free");
}

}  // namespace

TEST_CASE("domains do what their operations say, on elements of all types") {
  for (const Shape& shape : shapes()) {
    on_ranks(shape, [](Rank& own) {
      change_all<std::int32_t>(own);
      change_all<std::int64_t>(own);
      change_all<std::uint32_t>(own);
      change_all<std::uint64_t>(own);
      change_all<float>(own);
      change_all<double>(own);
    });
  }
}

TEST_CASE("domains and completions in C++") {
  for (const Shape shape : {Shape(2), Shape(3, 1)}) {
    on_ranks(shape, [](Rank& own) {
      constexpr std::uint64_t count = 4000;
      const std::uint32_t next = (own.rank + 1) % own.ranks, last = (own.rank + own.ranks - 1) % own.ranks;
      std::uint64_t place = 0, signal = 0;
      own.done(isthmus_allocate_all(own.space, 8 * count, &place), "allocate");
      own.done(isthmus_allocate_all(own.space, 16, &signal), "allocate");
      own.done(isthmus_set(own.space, own.rank, signal, 0, 16), "set");
      own.barrier();
      {
        const pgas::atomic_domain<std::int64_t> domain(own.space, ISTHMUS_ATOMIC_ADD, ISTHMUS_ATOMIC_READ);
        const pgas::global_ptr<std::int64_t> counter(own.space, 0, signal + 8);
        for (int i = 0; i < 10; ++i) domain(counter, ISTHMUS_ATOMIC_ADD, own.rank + 1);
        own.barrier();
        own.expect(domain(counter, ISTHMUS_ATOMIC_READ) == 5 * own.ranks * (own.ranks + 1), "sum");
        bool refused = false;
        try {
          domain(counter, ISTHMUS_ATOMIC_SWAP, 1);
        } catch (const pgas::error& error) {
          refused = error.status() == ISTHMUS_INVALID;
        }
        own.expect(refused, "an operation that the domain was not made for");
      }
      std::vector<std::uint64_t> row(count, own.rank + 1);
      const pgas::global_ptr<std::uint64_t> there(own.space, next, place);
      isthmus_event done = 0;
      there.begin_put(row.data(), count, pgas::completion().event(done).local_now().signal(signal, 2));
      std::fill(row.begin(), row.end(), 0);
      own.done(isthmus_wait_signal(own.space, signal, 2), "signal");
      const pgas::global_ptr<std::uint64_t> here(own.space, own.rank, place);
      own.expect(std::count(here.local(), here.local() + count, last + 1) == count, "a row");
      own.done(isthmus_wait_event(own.space, &done), "wait");
      own.barrier();
    });
  }
}

TEST_CASE("domains that cannot be are refused on all ranks") {
  for (const Shape shape : {Shape(3), Shape(3, 1)}) {
    on_ranks(shape, [](Rank& own) {
      const auto refused = [&](isthmus_element type, std::uint32_t operations, const std::string& words) {
        isthmus_domain* domain = nullptr;
        const int status = isthmus_domain_make(own.space, type, operations, &domain);
        own.expect(status == ISTHMUS_INVALID && isthmus_last_error() == words && domain == nullptr, words);
        own.barrier();
      };
      const std::uint32_t add = ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_ADD);
      refused(ISTHMUS_I64, 0, "isthmus_domain_make: operations = 0: must be a set of ISTHMUS_ATOMIC_SET()");
      refused(ISTHMUS_I64, 1U << 11, "isthmus_domain_make: operations = 2048: must be a set of ISTHMUS_ATOMIC_SET()");
      refused(ISTHMUS_F64, ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_AND),
              "isthmus_atomic: operator 3 for floating-point numbers");
      refused(ISTHMUS_BYTES, add,
              "isthmus_atomic: element " + std::to_string(static_cast<int>(ISTHMUS_BYTES)) +
                  ": must be an integer or a floating-point number of 4 or 8 bytes");
      refused(own.rank == 2 ? ISTHMUS_I64 : ISTHMUS_U64, add,
              "isthmus_domain_make: element and operations of rank 2 are not those of rank 0");
    });
  }
}

}  // namespace isthmus::test

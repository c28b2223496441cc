// Operators of reductions beside one operation after the other: the same bits for all types, at any length and place.
#include <doctest/doctest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/rng.hpp"
#include "runtime/collectives/operators.hpp"

namespace isthmus::test {
namespace {

using runtime::Element, runtime::Operation;

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

/// Kept in memory, so that no product and sum become one.
template <class T>
T rounded(T value) {
  volatile T kept = value;
  return kept;
}

template <class T>
T alone(Operation operation, T a, T b) {
  if constexpr (IsComplex<T>::value) {
    if (operation == Operation::sum) return {rounded(a.real() + b.real()), rounded(a.imag() + b.imag())};
    return {rounded(a.real() * b.real()) - rounded(a.imag() * b.imag()),
            rounded(a.real() * b.imag()) + rounded(a.imag() * b.real())};
  } else {
    switch (operation) {
      case Operation::sum:
        if constexpr (std::is_integral_v<T>)
          return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
        else return a + b;
      case Operation::product:
        if constexpr (std::is_integral_v<T>)
          return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
        else return a * b;
      case Operation::least: return b < a ? b : a;
      case Operation::greatest: return a < b ? b : a;
      default: break;
    }
    if constexpr (std::is_integral_v<T>) {
      switch (operation) {
        case Operation::land: return a != 0 && b != 0;
        case Operation::lor: return a != 0 || b != 0;
        case Operation::lxor: return (a != 0) != (b != 0);
        case Operation::band: return static_cast<T>(a & b);
        case Operation::bor: return static_cast<T>(a | b);
        default: return static_cast<T>(a ^ b);
      }
    }
  }
  return a;
}

template <class T>
T drawn(Rng& random) {
  if constexpr (IsComplex<T>::value) {
    using Part = typename T::value_type;
    return {drawn<Part>(random), drawn<Part>(random)};
  } else if constexpr (std::is_integral_v<T>) {
    return random.below(4) == 0 ? T{0} : static_cast<T>(random.next());
  } else {
    return static_cast<T>((static_cast<double>(random.below(1u << 30)) - 0x1p29) / 1000003);
  }
}

template <class T>
std::vector<Operation> operations_of() {
  using enum Operation;
  if (IsComplex<T>::value) return {sum, product};
  if (std::is_integral_v<T>) return {sum, product, least, greatest, land, lor, lxor, band, bor, bxor};
  return {sum, product, least, greatest};
}

template <class T>
void check(Element element, Rng& random) {
  REQUIRE(runtime::size_of(element) == sizeof(T));
  for (const Operation operation : operations_of<T>()) {
    const runtime::Operator found = runtime::operator_of(element, operation);
    REQUIRE((found.apart != nullptr && found.before != nullptr));
    CHECK(found.element == sizeof(T));
    for (const std::size_t count : {0u, 1u, 3u, 7u, 8u, 17u, 63u, 64u, 65u, 200u}) {
      // Guards of 64 bytes on both sides; the vectors begin anywhere.
      const std::size_t at = 64 + random.below(64), bytes = count * sizeof(T);
      std::vector<std::byte> in(bytes + 256), with(bytes + 256), expected(bytes + 256, std::byte{0x5A});
      for (std::size_t i = 0; i < count; ++i) {
        const T a = drawn<T>(random), b = drawn<T>(random), c = alone(operation, a, b);
        std::memcpy(&in[at + i * sizeof(T)], &a, sizeof(T));
        std::memcpy(&with[at + i * sizeof(T)], &b, sizeof(T));
        std::memcpy(&expected[at + i * sizeof(T)], &c, sizeof(T));
      }
      std::vector<std::byte> apart(bytes + 256, std::byte{0x5A}), inout(bytes + 256, std::byte{0x5A});
      found.apart(&in[at], &with[at], &apart[at], bytes, nullptr);
      std::copy_n(&with[at], bytes, &inout[at]);
      found.before(&in[at], &inout[at], bytes, nullptr);
      const bool same = apart == expected && inout == expected;
      CHECK_MESSAGE(same, "element ", static_cast<int>(element), ", operation ", static_cast<int>(operation), ", ",
                    count);
    }
  }
}

}  // namespace

TEST_CASE("operators give the bits of one operation after the other") {
  Rng random(7);
  for (int turn = 0; turn < 5; ++turn) {
    check<std::int8_t>(Element::i8, random);
    check<std::int16_t>(Element::i16, random);
    check<std::int32_t>(Element::i32, random);
    check<std::int64_t>(Element::i64, random);
    check<std::uint8_t>(Element::u8, random);
    check<std::uint16_t>(Element::u16, random);
    check<std::uint32_t>(Element::u32, random);
    check<std::uint64_t>(Element::u64, random);
    check<float>(Element::f32, random);
    check<double>(Element::f64, random);
    check<std::complex<float>>(Element::c32, random);
    check<std::complex<double>>(Element::c64, random);
  }
}

}  // namespace isthmus::test

#include "runtime_values.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/collectives/operators.hpp"

namespace isthmus::test {
namespace {

using Matrix = std::array<std::uint32_t, 4>;

Matrix product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}

template <class T>
T get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void put(std::byte* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

template <bool after>
void multiply(const std::byte* in, std::byte* inout, std::size_t bytes, const void*) {
  for (std::size_t i = 0; i < bytes; i += sizeof(Matrix)) {
    const auto a = get<Matrix>(in + i), b = get<Matrix>(inout + i);
    put(inout + i, after ? product(b, a) : product(a, b));
  }
}

}  // namespace

std::size_t size_of(Values values) {
  switch (values) {
    case Values::i32_sum: return 4;
    case Values::u8_xor: return 1;
    case Values::matrices: return sizeof(Matrix);
    default: return 8;
  }
}

void put_value(Values values, std::uint32_t rank, std::uint64_t i, std::byte* to) {
  const auto mixed = static_cast<std::uint32_t>((rank + 1) * 1000003U + i * 7919U);
  switch (values) {
    case Values::i32_sum: return put(to, mixed);
    case Values::i64_greatest: return put(to, (std::int64_t{mixed} << 20) - (std::int64_t{1} << 50));
    case Values::u8_xor: return put(to, static_cast<std::uint8_t>(mixed >> 7));
    case Values::f64_sum: return put(to, static_cast<double>(mixed));
    case Values::matrices: return put(to, Matrix{mixed, rank + 1, static_cast<std::uint32_t>(i), 3 * mixed + 1});
  }
}

void combine(Values values, std::byte* a, const std::byte* b) {
  switch (values) {
    case Values::i32_sum: return put(a, get<std::uint32_t>(a) + get<std::uint32_t>(b));
    case Values::i64_greatest: return put(a, std::max(get<std::int64_t>(a), get<std::int64_t>(b)));
    case Values::u8_xor: return put(a, *a ^ *b);
    case Values::f64_sum: return put(a, get<double>(a) + get<double>(b));
    case Values::matrices: return put(a, product(get<Matrix>(a), get<Matrix>(b)));
  }
}

runtime::Operator operator_of(Values values) {
  using runtime::Element, runtime::Operation;
  switch (values) {
    case Values::i32_sum: return runtime::operator_of(Element::i32, Operation::sum);
    case Values::i64_greatest: return runtime::operator_of(Element::i64, Operation::greatest);
    case Values::u8_xor: return runtime::operator_of(Element::u8, Operation::bxor);
    case Values::f64_sum: return runtime::operator_of(Element::f64, Operation::sum);
    case Values::matrices: break;
  }
  return {multiply<false>, multiply<true>, nullptr, nullptr, sizeof(Matrix)};
}

}  // namespace isthmus::test

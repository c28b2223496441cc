#include "runtime/collectives/operators.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

namespace isthmus::runtime {
namespace {

/// inout = f(first, second) element by element; bytes may lie anywhere. All predefined operators commute, so that one
/// loop does for both orders; of a sum of NaNs it does not matter which one comes out.
template <class T, class F>
void loop(const std::byte* in, std::byte* inout, std::size_t bytes, const void*) {
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
    T a, b;
    std::memcpy(&a, in + i * sizeof(T), sizeof(T));
    std::memcpy(&b, inout + i * sizeof(T), sizeof(T));
    b = F::of(a, b);
    std::memcpy(inout + i * sizeof(T), &b, sizeof(T));
  }
}

/// Integers wrap round, as those of all MPI libraries do.
template <class T>
auto wide(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(x);
  else return x;
}
struct Sum {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(wide(a) + wide(b));
  }
};
struct Product {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(wide(a) * wide(b));
  }
};
struct Least {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct Land {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a != T{} && b != T{});
  }
};
struct Lor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a != T{} || b != T{});
  }
};
struct Lxor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != T{}) != (b != T{}));
  }
};
struct Band {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Bor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Bxor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

template <class T>
Combine combine_of(Operation operation) {
  constexpr bool whole = std::is_integral_v<T>, ordered = std::is_arithmetic_v<T>;
  switch (operation) {
    case Operation::sum: return loop<T, Sum>;
    case Operation::product: return loop<T, Product>;
    default: break;
  }
  if constexpr (ordered) {
    switch (operation) {
      case Operation::least: return loop<T, Least>;
      case Operation::greatest: return loop<T, Greatest>;
      default: break;
    }
  }
  if constexpr (whole) {
    switch (operation) {
      case Operation::land: return loop<T, Land>;
      case Operation::lor: return loop<T, Lor>;
      case Operation::lxor: return loop<T, Lxor>;
      case Operation::band: return loop<T, Band>;
      case Operation::bor: return loop<T, Bor>;
      case Operation::bxor: return loop<T, Bxor>;
      default: break;
    }
  }
  return nullptr;
}

template <class F>
auto with_type(Element element, const F& f) {
  switch (element) {
    case Element::i8: return f(std::int8_t{});
    case Element::i16: return f(std::int16_t{});
    case Element::i32: return f(std::int32_t{});
    case Element::i64: return f(std::int64_t{});
    case Element::u8: return f(std::uint8_t{});
    case Element::u16: return f(std::uint16_t{});
    case Element::u32: return f(std::uint32_t{});
    case Element::u64: return f(std::uint64_t{});
    case Element::f32: return f(float{});
    case Element::f64: return f(double{});
    case Element::c32: return f(std::complex<float>{});
    case Element::c64: break;
  }
  return f(std::complex<double>{});
}

}  // namespace

std::size_t size_of(Element element) {
  return with_type(element, [](auto zero) { return sizeof zero; });
}

Operator operator_of(Element element, Operation operation) {
  const Combine found = with_type(element, [&](auto zero) { return combine_of<decltype(zero)>(operation); });
  return {found, found, nullptr};
}

}  // namespace isthmus::runtime

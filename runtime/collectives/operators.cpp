#include "runtime/collectives/operators.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

namespace isthmus::runtime {
namespace {

/// out = f(in, with) element by element; bytes may lie anywhere. All predefined operators commute, so that one loop
/// does for both orders; of a sum of NaNs it does not matter which one comes out.
template <class T, class F>
inline __attribute__((always_inline)) void combine_all(const std::byte* in, const std::byte* with, std::byte* out,
                                                       std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
    T a, b;
    std::memcpy(&a, in + i * sizeof(T), sizeof(T));
    std::memcpy(&b, with + i * sizeof(T), sizeof(T));
    b = F::of(a, b);
    std::memcpy(out + i * sizeof(T), &b, sizeof(T));
  }
}

template <class T, class F>
void loop(const std::byte* in, std::byte* inout, std::size_t bytes, const void*) {
  combine_all<T, F>(in, inout, inout, bytes);
}
template <class T, class F>
void loop_apart(const std::byte* in, const std::byte* with, std::byte* __restrict out, std::size_t bytes, const void*) {
  combine_all<T, F>(in, with, out, bytes);
}

#ifdef __x86_64__
/// The same for processors with vectors of 32 and of 64 bytes: half and a quarter of the instructions. No product and
/// sum are contracted into one (see CMakeLists.txt), so that results are the same.
#define ISTHMUS_WIDE __attribute__((target("avx2")))
#define ISTHMUS_WIDEST __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
template <class T, class F>
ISTHMUS_WIDE void wide_loop(const std::byte* in, std::byte* inout, std::size_t bytes, const void*) {
  combine_all<T, F>(in, inout, inout, bytes);
}
template <class T, class F>
ISTHMUS_WIDE void wide_loop_apart(const std::byte* in, const std::byte* with, std::byte* __restrict out,
                                  std::size_t bytes, const void*) {
  combine_all<T, F>(in, with, out, bytes);
}
template <class T, class F>
ISTHMUS_WIDEST void widest_loop(const std::byte* in, std::byte* inout, std::size_t bytes, const void*) {
  combine_all<T, F>(in, inout, inout, bytes);
}
template <class T, class F>
ISTHMUS_WIDEST void widest_loop_apart(const std::byte* in, const std::byte* with, std::byte* __restrict out,
                                      std::size_t bytes, const void*) {
  combine_all<T, F>(in, with, out, bytes);
}
#undef ISTHMUS_WIDEST
#undef ISTHMUS_WIDE
#endif

template <class T, class F>
Operator both_of() {
#ifdef __x86_64__
  // Processors with vectors of 64 bytes that lack VBMI2 run slower for a while after they have used them.
  static const bool widest = __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (widest) return {widest_loop<T, F>, widest_loop<T, F>, nullptr, widest_loop_apart<T, F>, sizeof(T)};
  static const bool wide = __builtin_cpu_supports("avx2") != 0;
  if (wide) return {wide_loop<T, F>, wide_loop<T, F>, nullptr, wide_loop_apart<T, F>, sizeof(T)};
#endif
  return {loop<T, F>, loop<T, F>, nullptr, loop_apart<T, F>, sizeof(T)};
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
Operator combine_of(Operation operation) {
  constexpr bool whole = std::is_integral_v<T>, ordered = std::is_arithmetic_v<T>;
  switch (operation) {
    case Operation::sum: return both_of<T, Sum>();
    case Operation::product: return both_of<T, Product>();
    default: break;
  }
  if constexpr (ordered) {
    switch (operation) {
      case Operation::least: return both_of<T, Least>();
      case Operation::greatest: return both_of<T, Greatest>();
      default: break;
    }
  }
  if constexpr (whole) {
    switch (operation) {
      case Operation::land: return both_of<T, Land>();
      case Operation::lor: return both_of<T, Lor>();
      case Operation::lxor: return both_of<T, Lxor>();
      case Operation::band: return both_of<T, Band>();
      case Operation::bor: return both_of<T, Bor>();
      case Operation::bxor: return both_of<T, Bxor>();
      default: break;
    }
  }
  return {};
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
  return with_type(element, [&](auto zero) { return combine_of<decltype(zero)>(operation); });
}

}  // namespace isthmus::runtime

// What the compiler calls where the thread sanitizer is asked for: instead of the sanitizer's library.
#include "hooks.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "model.hpp"

namespace model = isthmus::model;

namespace {

bool is_modelled(const volatile void* address) { return model::in_thread() && model::is_shared(address); }

template <class T, class F>
T changed(volatile T* at, int order, const void* call, const F& next) {
  return static_cast<T>(model::change(
      at, sizeof(T),
      [&](std::uint64_t before, std::uint64_t& after) {
        after = next(static_cast<T>(before));
        return true;
      },
      order, order, call));
}

}  // namespace

extern "C" {

#define CALL __builtin_return_address(0)

#define CHANGE(T, bits, name, value, builtin)                                                                  \
  T __tsan_atomic##bits##_##name(volatile T* at, T given, int order) {                                         \
    if (!is_modelled(at)) return builtin(at, given, __ATOMIC_SEQ_CST);                                         \
    return changed<T>(at, order, CALL, [&]([[maybe_unused]] T before) -> T { return static_cast<T>(value); }); \
  }

#define ATOMICS(T, bits)                                                                                          \
  T __tsan_atomic##bits##_load(const volatile T* at, int order) {                                                 \
    if (!is_modelled(at)) return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                           \
    return static_cast<T>(model::load(at, sizeof(T), order, CALL));                                               \
  }                                                                                                               \
  void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {                                          \
    if (!is_modelled(at)) return __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                   \
    model::store(at, sizeof(T), value, order, CALL);                                                              \
  }                                                                                                               \
  CHANGE(T, bits, exchange, given, __atomic_exchange_n)                                                           \
  CHANGE(T, bits, fetch_add, before + given, __atomic_fetch_add)                                                  \
  CHANGE(T, bits, fetch_sub, before - given, __atomic_fetch_sub)                                                  \
  CHANGE(T, bits, fetch_and, before& given, __atomic_fetch_and)                                                   \
  CHANGE(T, bits, fetch_or, before | given, __atomic_fetch_or)                                                    \
  CHANGE(T, bits, fetch_xor, before ^ given, __atomic_fetch_xor)                                                  \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T given, int order, int other) { \
    if (!is_modelled(at))                                                                                         \
      return __atomic_compare_exchange_n(at, expected, given, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0; \
    const T wanted = *expected;                                                                                   \
    *expected = static_cast<T>(model::change(                                                                     \
        at, sizeof(T),                                                                                            \
        [&](std::uint64_t before, std::uint64_t& after) {                                                         \
          after = given;                                                                                          \
          return static_cast<T>(before) == wanted;                                                                \
        },                                                                                                        \
        order, other, CALL));                                                                                     \
    return *expected == wanted ? 1 : 0;                                                                           \
  }                                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T given, int order, int other) {   \
    if (!is_modelled(at))                                                                                         \
      return __atomic_compare_exchange_n(at, expected, given, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0; \
    const T wanted = *expected;                                                                                   \
    *expected = static_cast<T>(model::change(                                                                     \
        at, sizeof(T),                                                                                            \
        [&](std::uint64_t before, std::uint64_t& after) {                                                         \
          after = given;                                                                                          \
          return static_cast<T>(before) == wanted;                                                                \
        },                                                                                                        \
        order, other, CALL));                                                                                     \
    return *expected == wanted ? 1 : 0;                                                                           \
  }

ATOMICS(std::uint8_t, 8)
ATOMICS(std::uint16_t, 16)
ATOMICS(std::uint32_t, 32)
ATOMICS(std::uint64_t, 64)

void __tsan_atomic_thread_fence(int order) {
  if (model::in_thread()) model::fence(order, CALL);
}
void __tsan_atomic_signal_fence(int) {}

#define PLAIN(size)                                                             \
  void __tsan_read##size(void* at) { model::plain(at, size, false); }           \
  void __tsan_write##size(void* at) { model::plain(at, size, true); }           \
  void __tsan_unaligned_read##size(void* at) { model::plain(at, size, false); } \
  void __tsan_unaligned_write##size(void* at) { model::plain(at, size, true); } \
  void __tsan_volatile_read##size(void* at) { model::plain(at, size, false); }  \
  void __tsan_volatile_write##size(void* at) { model::plain(at, size, true); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void* at, std::size_t size) { model::plain(at, size, false); }
void __tsan_write_range(void* at, std::size_t size) { model::plain(at, size, true); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}

// The linker sends these here (--wrap): the sanitizer does not see what they touch.
void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memset(void*, int, std::size_t);
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  if (model::in_thread()) {
    model::plain(from, bytes, false);
    model::plain(to, bytes, true);
  }
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  if (model::in_thread()) model::plain(to, bytes, true);
  return __real_memset(to, value, bytes);
}

}  // extern "C"

// What a program allocates goes with its run, which may end anywhere.
void* operator new(std::size_t bytes) {
  if (model::shares_what_it_allocates()) return model::allocate(bytes, 16);
  if (void* const made = std::malloc(bytes)) return made;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (model::shares_what_it_allocates()) return model::allocate(bytes, static_cast<std::size_t>(alignment));
  if (void* const made = std::aligned_alloc(static_cast<std::size_t>(alignment), (bytes + 63) / 64 * 64)) return made;
  throw std::bad_alloc();
}
void operator delete(void* at) noexcept {
  if (!model::is_shared(at)) std::free(at);
}
void operator delete(void* at, std::size_t) noexcept { operator delete(at); }
void operator delete(void* at, std::align_val_t) noexcept { operator delete(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { operator delete(at); }

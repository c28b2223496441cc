// Arrays of many megabytes in large pages: a table walk for every few kilobytes costs more than the memory itself where
// access is not sequential, in a virtual machine above all.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace isthmus {

template <class T>
class LargePages {
 public:
  using value_type = T;
  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < threshold) return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
    const std::size_t rounded = (bytes + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, rounded);
    if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    madvise(memory, rounded, MADV_HUGEPAGE);  // a hint: where the system has none, nothing changes
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < threshold) ::operator delete(memory, std::align_val_t{alignof(T)});
    else std::free(memory);
  }
  template <class U>
  bool operator==(const LargePages<U>&) const {
    return true;
  }

 private:
  static constexpr std::size_t page = std::size_t{1} << 21;
  static constexpr std::size_t threshold = 2 * page;
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

/// For arrays that are written as a whole, perhaps by several threads: what resize(count) adds is not set. Where it has
/// to be, resize(count, value) is what to call.
template <class T>
struct UnsetPages : LargePages<T> {
  UnsetPages() = default;
  template <class U>
  UnsetPages(const UnsetPages<U>&) {}
  template <class U>
  void construct(U*) {
    static_assert(std::is_trivially_copyable_v<U> && std::is_trivially_destructible_v<U>);
  }
};

template <class T>
using UnsetVector = std::vector<T, UnsetPages<T>>;

}  // namespace isthmus

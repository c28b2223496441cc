// An array of which only what is used takes memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace isthmus {

/// Elements are made, with their default value, a block at a time when one of the block is first asked for; references
/// to them stay valid.
template <class T>
class SparseArray {
 public:
  /// So many elements of the default value.
  void reset(std::size_t size) {
    blocks_.clear();
    blocks_.resize((size + block - 1) / block);
  }
  T& operator[](std::uint64_t index) {
    std::unique_ptr<T[]>& of = blocks_[index / block];
    if (!of) of = std::make_unique<T[]>(block);
    return of[index % block];
  }

 private:
  static constexpr std::size_t block = 512;
  std::vector<std::unique_ptr<T[]>> blocks_;
};

}  // namespace isthmus

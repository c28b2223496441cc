// Blocks of memory in a space: allocated and given back by any rank that sees the memory. What is known of a block
// stands in the line before it, at the rank whose heap it is; free blocks are listed by classes of their sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/pgas/segments.hpp"

namespace isthmus::runtime {

/// One rank at a time changes a heap. False: another one does.
inline bool try_hold(HeapPlaces& places, std::uint32_t rank) {
  std::uint32_t free = 0;
  return places.holder.compare_exchange_strong(free, rank + 1, std::memory_order_acquire);
}
inline void let_go(HeapPlaces& places) { places.holder.store(0, std::memory_order_release); }

class Heap {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::uint64_t line = 64;

  /// `most` bytes from `memory` on.
  Heap(HeapPlaces& places, std::byte* memory, std::uint64_t most) : places_(places), memory_(memory), most_(most) {}

  /// The offset of so many bytes in the heap, a multiple of 64; `none` if there is no room. `grow` is called with the
  /// bytes up to which the heap is going to be used, before they are touched; where it throws, nothing has changed.
  /// The caller holds the heap.
  std::uint64_t allocate(std::uint64_t bytes, const std::function<void(std::uint64_t)>& grow);
  /// False: there is no such block.
  bool release(std::uint64_t offset);

 private:
  struct Block {
    std::uint64_t mark;
    std::uint64_t size;      ///< with this line
    std::uint64_t previous;  ///< the block before; none: it is the first
    std::uint64_t next_free, previous_free;
  };
  static_assert(sizeof(Block) <= line);

  [[nodiscard]] Block& at(std::uint64_t offset) const { return *reinterpret_cast<Block*>(memory_ + offset); }
  [[nodiscard]] std::uint64_t after(std::uint64_t offset) const { return offset + at(offset).size; }
  std::uint64_t find(std::uint64_t size) const;
  void list(std::uint64_t offset);
  void unlist(std::uint64_t offset);

  HeapPlaces& places_;
  std::byte* memory_;
  std::uint64_t most_;
};

}  // namespace isthmus::runtime

// Short queues of many ranks, each in one piece of memory, which it has only while something is in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "base/pages.hpp"
#include "base/prefetch.hpp"

namespace isthmus::simulate {

/// Pieces of 64 B, 128 B, 256 B, ... Small ones that are given back are given out first, as they are still in the
/// cache.
class Slabs {
 public:
  static constexpr std::size_t least = 64;

  Slabs() = default;
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;
  ~Slabs() {
    while (large_.next != &large_) free_large(large_.next);
  }

  void* take(unsigned power) {
    if (power >= large_from) return take_large(least << power);
    if (std::vector<void*>& free = free_[power]; !free.empty()) {
      void* piece = free.back();
      free.pop_back();
      if (free.size() > ahead) prefetch_line(free[free.size() - 1 - ahead]);
      return piece;
    }
    const std::size_t bytes = least << power;
    if (left_ < bytes) {
      chunk_ = std::min(std::max(2 * chunk_, 2 * bytes), most_chunk);
      chunks_.emplace_back(chunk_ + least);
      at_ = chunks_.back().data();
      at_ += -reinterpret_cast<std::uintptr_t>(at_) % least;
      left_ = chunk_;
    }
    void* piece = at_;
    at_ += bytes;
    left_ -= bytes;
    return piece;
  }
  void give_back(void* piece, unsigned power) {
    if (power >= large_from) free_large(static_cast<Large*>(piece) - 1);
    else free_[power].push_back(piece);
  }

 private:
  /// Before a large piece.
  struct alignas(least) Large {
    Large* previous;
    Large* next;
  };
  static constexpr std::size_t most_chunk = std::size_t{1} << 22;
  // When the queues of all ranks grow together, those of half of the size are asked for by nobody any more: the library
  // joins large ones.
  static constexpr unsigned large_from = 6;

  void* take_large(std::size_t bytes) {
    void* memory = std::aligned_alloc(least, sizeof(Large) + bytes);
    if (memory == nullptr) throw std::bad_alloc();
    auto* large = new (memory) Large{&large_, large_.next};
    large_.next->previous = large;
    large_.next = large;
    return large + 1;
  }
  static void free_large(Large* large) {
    large->previous->next = large->next;
    large->next->previous = large->previous;
    std::free(large);
  }

  static constexpr std::size_t ahead = 6;  // so many that will be asked for are fetched

  std::vector<void*> free_[large_from];
  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
  std::size_t chunk_ = std::size_t{1} << 13;
  std::vector<UnsetVector<std::byte>> chunks_;
  Large large_{&large_, &large_};  // a ring
};

/// First in, first out; or a list in order, when something in the middle is taken.
template <class T>
class Fifo {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= Slabs::least);

 public:
  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] std::uint32_t size() const { return end_ - first_; }
  [[nodiscard]] T& front() const { return data()[first_]; }
  [[nodiscard]] T* begin() const { return data() + first_; }
  [[nodiscard]] T* end() const { return data() + end_; }
  void push(const T& value, Slabs& slabs) {
    if (end_ == capacity()) make_room(slabs);
    data()[end_++] = value;
  }
  /// Makes room for so many in a queue that has never held anything.
  void reserve(std::uint32_t count, Slabs& slabs) {
    unsigned power = 0;
    while ((Slabs::least << power) / sizeof(T) < count) ++power;
    if (count != 0) place_ = reinterpret_cast<std::uintptr_t>(slabs.take(power)) | power;
  }
  void pop(Slabs& slabs) {
    if (++first_ == end_) clear(slabs);
  }
  void erase(T* at, Slabs& slabs) {
    if (at == begin()) return pop(slabs);
    std::memmove(at, at + 1,
                 static_cast<std::size_t>(reinterpret_cast<char*>(end()) - reinterpret_cast<char*>(at + 1)));
    --end_;
  }
  /// There is something in it.
  void clear(Slabs& slabs) {
    slabs.give_back(data(), power());
    place_ = 0;
    first_ = end_ = 0;
  }

 private:
  // The memory begins at a multiple of Slabs::least; the power of two of its length is in the lowest bits.
  static constexpr std::uintptr_t power_mask = Slabs::least - 1;
  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(place_ & ~power_mask); }
  [[nodiscard]] unsigned power() const { return static_cast<unsigned>(place_ & power_mask); }
  [[nodiscard]] std::uint32_t capacity() const {
    return place_ == 0 ? 0 : static_cast<std::uint32_t>((Slabs::least << power()) / sizeof(T));
  }
  void make_room(Slabs& slabs) {
    if (place_ == 0) {
      place_ = reinterpret_cast<std::uintptr_t>(slabs.take(0));
      return;
    }
    const std::uint32_t count = size();
    if (first_ >= count) {
      std::memcpy(data(), begin(), count * sizeof(T));
    } else {
      const unsigned more = power() + 1;
      void* larger = slabs.take(more);
      std::memcpy(larger, begin(), count * sizeof(T));
      slabs.give_back(data(), power());
      place_ = reinterpret_cast<std::uintptr_t>(larger) | more;
    }
    first_ = 0;
    end_ = count;
  }

  std::uintptr_t place_ = 0;
  std::uint32_t first_ = 0, end_ = 0;
};

}  // namespace isthmus::simulate

// Arrays of several dimensions in tiles (isthmus_tiles.h), in C++20.
//
//     tiled_array<double, 2> m(space, {1000, 600}, {64, 64});        // dealt out in turn, or over a grid of ranks
//     for (auto tile : m.tiles())                                     // those of this rank: plain memory
//       for (std::uint64_t i = 0; i < tile.extents[0]; ++i)
//         for (std::uint64_t k = 0; k < tile.extents[1]; ++k) tile({i, k}) = f(tile.first[0] + i, tile.first[1] + k);
//     m[{17, 300}] = 1;                                               // wherever it is
//     m.get({0, 0}, {1000, 1}, column);                               // a box: here a column
#pragma once

#include <isthmus/isthmus_tiles.h>
#include <isthmus/pgas.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <stdexcept>
#include <utility>

namespace isthmus::pgas {

/// All ranks make it and all destroy it, in the same order; the destructor waits for all of them.
template <movable_as_bytes T, std::size_t D>
  requires(D > 0 && D <= ISTHMUS_MOST_TILED)
class tiled_array {
 public:
  using index = std::array<std::uint64_t, D>;

  /// A tile of this rank.
  struct tile {
    index first;    ///< the index of its first element
    index extents;  ///< how many elements of it belong to the array
    index strides;  ///< in elements
    T* data;
    T& operator()(const index& at) const {
      std::uint64_t i = 0;
      for (std::size_t d = 0; d < D; ++d) i += at[d] * strides[d];
      return data[i];
    }
  };

  /// `grid`: ranks along each dimension; zeros: tiles are dealt out in turn. Throws an error where that cannot be, or
  /// where there is no memory.
  tiled_array(isthmus_space* space, const index& extents, const index& its_tile,
              const std::array<std::uint32_t, D>& grid = {})
      : space_(space) {
    const auto* const head = reinterpret_cast<const isthmus_space_head*>(space);
    rank_ = head->rank;
    tiles_.dimensions = D;
    tiles_.ranks = head->ranks;
    for (std::size_t d = 0; d < D; ++d) {
      tiles_.extents[d] = extents[d];
      tiles_.tile[d] = its_tile[d];
      tiles_.grid[d] = grid[d];
    }
    if (isthmus_tiles_right(&tiles_) == 0)
      check(isthmus_refuse("tiled_array: tiles or the grid are not as they have to be"));
    check(isthmus_allocate_all(space, isthmus_tiles_bytes(&tiles_, sizeof(T)), &offset_));
  }
  tiled_array(const tiled_array&) = delete;
  tiled_array& operator=(const tiled_array&) = delete;
  ~tiled_array() {
    // Whoever still reads comes here later.
    if (isthmus_barrier(space_, nullptr) == ISTHMUS_DONE && rank_ == 0) isthmus_release(space_, 0, offset_);
  }

  [[nodiscard]] const isthmus_tiles& layout() const { return tiles_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] global_ptr<T> at(const index& i) const {
    const isthmus_shared place = isthmus_tiles_place(&tiles_, offset_, i.data(), sizeof(T));
    return {space_, place.rank, place.offset};
  }
  [[nodiscard]] std::uint32_t rank_of(const index& i) const { return at(i).rank(); }
  reference<T, global_ptr<T>> operator[](const index& i) const { return *at(i); }

  /// A box of the array, from or to memory in which its elements lie one behind the other.
  void get(const index& first, const index& extents, T* to) const {
    check(isthmus_tiles_get(space_, &tiles_, offset_, sizeof(T), first.data(), extents.data(), to));
  }
  void put(const index& first, const index& extents, const T* from) const {
    check(isthmus_tiles_put(space_, &tiles_, offset_, sizeof(T), first.data(), extents.data(), from));
  }

  /// This rank's tiles.
  [[nodiscard]] auto tiles() const {
    return std::views::iota(std::uint64_t{0}, isthmus_tiles_local(&tiles_, rank_)) |
           std::views::transform([this](std::uint64_t number) { return nth(number); });
  }
  /// This rank's elements: calls what(index, element) for each.
  template <class F>
  void each_of_mine(const F& what) const {
    for (const tile& own : tiles()) {
      index at{};
      for (;;) {
        index global{};
        for (std::size_t d = 0; d < D; ++d) global[d] = own.first[d] + at[d];
        what(global, own(at));
        std::size_t d = D;
        while (d-- > 0 && ++at[d] == own.extents[d]) at[d] = 0;
        if (d == ~std::size_t{0}) break;
      }
    }
  }

 private:
  [[nodiscard]] tile nth(std::uint64_t number) const {
    tile found{};
    isthmus_tiles_nth(&tiles_, rank_, number, found.first.data(), found.extents.data());
    found.strides[D - 1] = 1;
    for (std::size_t d = D - 1; d > 0; --d) found.strides[d - 1] = found.strides[d] * tiles_.tile[d];
    found.data = static_cast<T*>(isthmus_cast(space_, rank_, offset_)) + number * isthmus_tiles_elements(&tiles_);
    return found;
  }

  isthmus_space* space_;
  isthmus_tiles tiles_{};
  std::uint64_t offset_ = 0;
  std::uint32_t rank_ = 0;
};

}  // namespace isthmus::pgas

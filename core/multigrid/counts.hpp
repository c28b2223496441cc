// What the parts of a distributed sparse matrix hold and exchange.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace isthmus::multigrid {

/// A sparse matrix in compressed rows, of which the values do not matter.
template <class Index>
struct Rows {
  std::span<const Index> first;    ///< where each row begins in `columns`, and the end
  std::span<const Index> columns;  ///< of the nonzeros, row by row
};

/// Of every part: its rows and nonzeros, and what it receives before it can multiply the matrix by a vector.
struct Counts {
  std::vector<std::uint64_t> rows, nonzeros;
  std::vector<std::uint64_t> first;     ///< parts + 1: the partners of a part stand from here on
  std::vector<std::uint32_t> from;      ///< who owns what is received, ascending for each part
  std::vector<std::uint64_t> elements;  ///< of the vector, each received once however many rows need it
};

/// Counts of a matrix whose rows, and the elements of the vector that it multiplies, are owned as told: numbers below
/// `parts`, which are checked. Takes a step for every nonzero and memory for a number per row and column.
template <class Index>
Counts count(const Rows<Index>& matrix, std::span<const std::uint32_t> row_owner,
             std::span<const std::uint32_t> column_owner, std::uint32_t parts);

extern template Counts count(const Rows<std::int32_t>&, std::span<const std::uint32_t>, std::span<const std::uint32_t>,
                             std::uint32_t);
extern template Counts count(const Rows<std::int64_t>&, std::span<const std::uint32_t>, std::span<const std::uint32_t>,
                             std::uint32_t);

}  // namespace isthmus::multigrid

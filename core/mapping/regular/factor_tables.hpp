// All ways to write numbers as products of common factors.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::mapping {

/// Row by row: the factor that row i and column j share.
using FactorTable = std::vector<std::uint32_t>;

/// Tables of which row i has the product rows[i] and column j the product columns[j], sparsest first, at most `most` of
/// them; none where the products of all rows and of all columns differ.
std::vector<FactorTable> factor_tables(const std::vector<std::uint32_t>& rows,
                                       const std::vector<std::uint32_t>& columns, std::size_t most);

}  // namespace isthmus::mapping

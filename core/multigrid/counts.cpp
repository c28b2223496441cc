#include "multigrid/counts.hpp"

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"

namespace isthmus::multigrid {
namespace {

void check(std::span<const std::uint32_t> owner, std::uint32_t parts, const char* what) {
  const auto wrong = std::find_if(owner.begin(), owner.end(), [&](std::uint32_t p) { return p >= parts; });
  if (wrong != owner.end())
    throw InvalidInput(message(what, " ", wrong - owner.begin(), " belongs to part ", *wrong, "; there are ", parts));
}

template <class Index>
void check(const Rows<Index>& matrix, std::size_t rows, std::size_t columns) {
  const auto& first = matrix.first;
  if (first.size() != rows + 1)
    throw InvalidInput(message("the matrix has ", first.size() - 1, " rows, and owners of ", rows, " are given"));
  if (first.front() != 0 || static_cast<std::size_t>(first.back()) != matrix.columns.size() ||
      !std::is_sorted(first.begin(), first.end()))
    throw InvalidInput("where rows begin does not ascend from 0 to the number of nonzeros");
  for (const Index column : matrix.columns)
    if (column < 0 || static_cast<std::size_t>(column) >= columns)
      throw InvalidInput(message("a nonzero is in column ", column, ", and owners of ", columns, " are given"));
}

/// Rows in the order of the parts that own them: those of part p begin at first[p].
struct ByPart {
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> row;
};

ByPart by_part(std::span<const std::uint32_t> owner, std::uint32_t parts) {
  ByPart out{std::vector<std::uint64_t>(parts + 1), std::vector<std::uint64_t>(owner.size())};
  for (const std::uint32_t p : owner) ++out.first[p + 1];
  for (std::size_t p = 0; p < parts; ++p) out.first[p + 1] += out.first[p];
  std::vector<std::uint64_t> next(out.first.begin(), out.first.end() - 1);
  for (std::size_t i = 0; i < owner.size(); ++i) out.row[next[owner[i]]++] = i;
  return out;
}

}  // namespace

template <class Index>
Counts count(const Rows<Index>& matrix, std::span<const std::uint32_t> row_owner,
             std::span<const std::uint32_t> column_owner, std::uint32_t parts) {
  check(row_owner, parts, "row");
  check(column_owner, parts, "column");
  check(matrix, row_owner.size(), column_owner.size());
  const ByPart own = by_part(row_owner, parts);
  Counts out{std::vector<std::uint64_t>(parts), std::vector<std::uint64_t>(parts), {0}, {}, {}};
  // The part that has met a column last, plus one; and how much of each owner this part has met.
  std::vector<std::uint32_t> met(column_owner.size());
  std::vector<std::uint64_t> needed(parts);
  std::vector<std::uint32_t> partners;
  for (std::uint32_t p = 0; p < parts; ++p) {
    for (std::uint64_t at = own.first[p]; at < own.first[p + 1]; ++at) {
      const auto begin = static_cast<std::size_t>(matrix.first[own.row[at]]);
      const auto end = static_cast<std::size_t>(matrix.first[own.row[at] + 1]);
      out.nonzeros[p] += end - begin;
      for (std::size_t k = begin; k < end; ++k) {
        const auto column = static_cast<std::size_t>(matrix.columns[k]);
        const std::uint32_t owner = column_owner[column];
        if (owner == p || met[column] == p + 1) continue;
        met[column] = p + 1;
        if (needed[owner]++ == 0) partners.push_back(owner);
      }
    }
    out.rows[p] = own.first[p + 1] - own.first[p];
    std::sort(partners.begin(), partners.end());
    for (const std::uint32_t q : partners) {
      out.from.push_back(q);
      out.elements.push_back(needed[q]);
      needed[q] = 0;
    }
    partners.clear();
    out.first.push_back(out.from.size());
  }
  return out;
}

template Counts count(const Rows<std::int32_t>&, std::span<const std::uint32_t>, std::span<const std::uint32_t>,
                      std::uint32_t);
template Counts count(const Rows<std::int64_t>&, std::span<const std::uint32_t>, std::span<const std::uint32_t>,
                      std::uint32_t);

}  // namespace isthmus::multigrid

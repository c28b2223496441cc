// Blocks of a neighbour exchange that do not lie one after the other: generators know them as if they did, and the
// steps of the program are put where the blocks are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/executor/program.hpp"

namespace isthmus::runtime {

/// Of triples of neighbour, elements to it and elements from it, where a neighbour of -1 stands for none: blocks behind
/// it lie so many elements further on, or back.
class Gaps {
 public:
  /// Throws InvalidInput where a block would lie before its buffer.
  explicit Gaps(std::span<const std::int64_t> triples);

  [[nodiscard]] bool any() const { return any_; }
  /// The triples that name a neighbour.
  [[nodiscard]] std::span<const std::int64_t> triples() const { return triples_; }
  /// Of a program that counts in elements. Throws InvalidInput for a step that is not within one block.
  void apply(Program& program) const;

 private:
  struct Block {
    std::uint64_t closed = 0;  ///< its offset if all lay one after the other
    std::uint64_t at = 0;
    std::uint64_t elements = 0;
  };
  static std::uint64_t place_of(const std::vector<Block>& blocks, std::uint64_t closed, std::uint64_t elements);

  std::vector<std::int64_t> triples_;
  std::vector<Block> sides_[2];  ///< input, output
  bool any_ = false;
};

}  // namespace isthmus::runtime

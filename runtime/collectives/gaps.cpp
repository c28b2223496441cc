#include "runtime/collectives/gaps.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace isthmus::runtime {

Gaps::Gaps(std::span<const std::int64_t> triples) {
  std::int64_t closed[2] = {0, 0};
  std::int64_t at[2] = {0, 0};
  for (std::size_t i = 0; i + 2 < triples.size(); i += 3) {
    const bool gap = triples[i] == -1;
    any_ = any_ || gap;
    if (!gap) triples_.insert(triples_.end(), &triples[i], &triples[i] + 3);
    for (std::size_t side = 0; side < 2; ++side) {
      const std::int64_t elements = triples[i + 1 + side];
      if (!gap && elements > 0) {
        require(at[side] >= 0, "a block of neighbour ", triples[i], " lies ", -at[side], " elements before its buffer");
        sides_[side].push_back({static_cast<std::uint64_t>(closed[side]), static_cast<std::uint64_t>(at[side]),
                                static_cast<std::uint64_t>(elements)});
        closed[side] += elements;
      }
      at[side] += elements;
    }
  }
  // What is left over is refused as it would be without gaps.
  triples_.insert(triples_.end(), triples.end() - static_cast<std::ptrdiff_t>(triples.size() % 3), triples.end());
}

std::uint64_t Gaps::place_of(const std::vector<Block>& blocks, std::uint64_t closed, std::uint64_t elements) {
  const auto behind = std::upper_bound(blocks.begin(), blocks.end(), closed,
                                       [](std::uint64_t offset, const Block& block) { return offset < block.closed; });
  require(behind != blocks.begin() && closed - std::prev(behind)->closed + elements <= std::prev(behind)->elements,
          "neighbor_alltoall: the algorithm takes blocks that lie one after the other; linear takes any");
  return std::prev(behind)->at + (closed - std::prev(behind)->closed);
}

void Gaps::apply(Program& program) const {
  for (Step& step : program.steps) {
    require(step.block == 0, "neighbor_alltoall: the algorithm copies several blocks at once; linear takes any places");
    if (step.kind == schedule::OpKind::calc) continue;
    if (step.from_buffer < 2) step.from = place_of(sides_[step.from_buffer], step.from, step.amount);
    if (step.to_buffer < 2) step.to = place_of(sides_[step.to_buffer], step.to, step.amount);
  }
  for (std::size_t side = 0; side < 2; ++side)
    for (const Block& block : sides_[side])
      program.buffers[side] = std::max(program.buffers[side], block.at + block.elements);
}

}  // namespace isthmus::runtime

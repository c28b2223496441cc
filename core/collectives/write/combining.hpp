// Blocks that travel in several hops, in messages of several blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/write/phases.hpp"

namespace isthmus::collectives {

/// Operations of one rank if all ranks treat their blocks alike: when a block leaves, another one that is as large
/// and has as many hops before it comes in its place from the other side.
///
/// Messages of a phase are exchanged when all of the phase before are. Blocks are sent from where they came in, or
/// packed; they stay there until their last hop and are then moved to their target.
class Combining {
 public:
  struct Block {
    Slice at;      ///< at the start
    Slice target;  ///< of the one that is here in the end
    std::uint64_t bytes;
    std::uint32_t hops;
    std::uint32_t by = no_operation;  ///< what brought it
  };

  Combining(Emitter& out, std::vector<Block> blocks) : out_(out), blocks_(std::move(blocks)), phases_(out) {}

  /// Exchanges the blocks of these numbers, which are in the same order on all ranks.
  void exchange(Rank to, Rank from, const std::vector<std::uint32_t>& numbers) {
    pieces_.clear();
    for (const std::uint32_t n : numbers) pieces_.add(blocks_[n].at, blocks_[n].bytes, blocks_[n].by);
    const std::optional<Slice> target = home(numbers) ? std::optional(blocks_[numbers[0]].target) : std::nullopt;
    auto [place, taken] = phases_.exchange(pieces_, to, from, target);
    for (const std::uint32_t n : numbers) {
      Block& block = blocks_[n];
      block.at = place;
      block.by = taken;
      --block.hops;
      place = place + block.bytes;
    }
  }
  /// Ends a phase.
  void next() { phases_.next(); }
  /// Moves blocks to their targets.
  void finish() {
    pieces_.clear();
    for (const Block& block : blocks_) {
      const bool there = block.at.buffer == block.target.buffer && block.at.offset == block.target.offset;
      if (!there) pieces_.add(block.at, block.bytes, block.by, block.target.offset);
    }
    pieces_.copy(out_, at_output());
  }

 private:
  /// Do these blocks come to their targets, one behind the other?
  [[nodiscard]] bool home(const std::vector<std::uint32_t>& numbers) const {
    std::uint64_t next = numbers.empty() ? 0 : blocks_[numbers[0]].target.offset;
    for (const std::uint32_t n : numbers) {
      const Block& block = blocks_[n];
      if (block.hops != 1 || block.target.offset != next) return false;
      next += block.bytes;
    }
    return !numbers.empty();
  }

  Emitter& out_;
  std::vector<Block> blocks_;
  CopyList pieces_;
  Phases phases_;
};

}  // namespace isthmus::collectives

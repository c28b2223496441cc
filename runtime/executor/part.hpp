// One rank's part of a schedule as bytes: what `isthmus run` writes and a rank maps, and what a library tells of
// itself.
//
// A header, the size of every buffer, the steps as they are in memory, how many operations each waits for, and the
// edges. Numbers are those of the machine: both sides are of one computer, or of computers of one kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/executor/program.hpp"

namespace isthmus::runtime {

struct PartHeader {
  static constexpr std::uint64_t magic = 0x7472617068747369;  ///< "isthpart"
  static constexpr std::uint32_t newest = 1;

  std::uint64_t mark = magic;
  std::uint32_t version = newest;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t buffers = 0;
  std::uint32_t steps = 0;
  std::uint32_t edges = 0;
  std::uint32_t element_bytes = 1;  ///< of reductions: 8: sums of doubles, 1: sums of bytes
  std::uint32_t checksum = 0;       ///< CRC-32 of all that follows the header
};
static_assert(sizeof(PartHeader) == 40);

/// A part that has been read.
struct Part {
  PartHeader header;
  Program program;
};

/// Throws InvalidInput for anything that write_part() does not write: another version, damage, steps that lead outside
/// of their buffers or ranks, dependencies that no execution can satisfy.
Part read_part(std::span<const std::byte> bytes);

std::vector<std::byte> write_part(const Program& program, std::uint32_t rank, std::uint32_t ranks);

}  // namespace isthmus::runtime

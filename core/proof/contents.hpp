// Contents of the buffers of a rank: ranges of bytes and whose contributions are in them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proof/contributions.hpp"

namespace isthmus::proof {

/// So many bytes that hold the contributions of a set of ranks, from byte `origin` of each contribution on.
struct Piece {
  std::uint64_t bytes = 0;
  std::uint64_t origin = 0;
  Contributions::Set set = Contributions::nothing;
};

/// Adds a piece, to the last one where it continues it.
void append(std::vector<Piece>& pieces, const Piece& piece);

/// One buffer of one rank.
class Contents {
 public:
  /// The pieces of [offset, offset + bytes), added to `out`.
  void read(std::uint64_t offset, std::uint64_t bytes, std::vector<Piece>& out) const;
  /// Puts pieces from `offset` on in the place of what was there.
  void write(std::uint64_t offset, std::span<const Piece> pieces);

 private:
  /// Up to the next one; nothing is before the first, and nothing has been written from the last on.
  struct Part {
    std::uint64_t begin;
    std::uint64_t origin;
    Contributions::Set set;
  };
  [[nodiscard]] static bool continues(const Part& before, std::uint64_t begin, std::uint64_t origin,
                                      Contributions::Set set);
  /// The part that `offset` lies in; parts_.size() if it lies before all.
  [[nodiscard]] std::size_t find(std::uint64_t offset) const;

  std::vector<Part> parts_;
  std::vector<Part> fresh_;
};

}  // namespace isthmus::proof

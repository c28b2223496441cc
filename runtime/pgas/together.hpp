// Small puts that are begun while a rank of another node has not answered earlier ones: they wait here and go in one
// letter, with one answer, when this rank looks for what has come, when the letter is full, or before anything else
// goes to that rank. Over TCP a letter costs about as much as it would with hundreds of such puts, and so does its
// answer. The first put, after which nothing is under way, goes at once; so what is not waited for is not late either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/pgas/packing.hpp"

namespace isthmus::runtime {

/// Those to one rank.
class Together {
 public:
  /// Operations, and of each how many answers the puts count for: one of all in a row.
  using Operations = std::vector<std::uint32_t>;

  [[nodiscard]] bool empty() const { return operations_.empty(); }
  /// Whether so many bytes more fit into so much room.
  [[nodiscard]] bool fits(std::size_t bytes, std::size_t room) const {
    return in_words(bytes_.size() + bytes) + 8 * (places_.words().size() + Places::words_of_piece) <= room;
  }
  /// False: the operation counts an answer already, which is that of this put, too.
  bool add(std::uint64_t place, const void* from, std::size_t bytes, std::uint32_t operation);
  /// Of a letter that puts pieces.
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] std::size_t words() const { return places_.words().size(); }
  /// Fills its payload; returns its bytes.
  std::size_t write(std::byte* payload) const;
  /// What the answer is for. Nothing waits then.
  Operations take();

 private:
  static std::size_t in_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

  std::vector<std::byte> bytes_;
  Places places_;
  Operations operations_;
};

}  // namespace isthmus::runtime

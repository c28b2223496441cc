// Accesses to the bytes of a buffer: the last write, and the reads since then.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::proof {

/// One buffer while operations pass by in an order in which each comes after all that it waits for. If every access is
/// ordered after the last write, and every write after the reads since, then no two accesses can meet, of which one
/// writes: order is transitive.
///
/// Operations are numbers. `Ordered` answers whether the first of two is done before the second begins; `surely` is the
/// same, but may miss some.
class Accesses {
 public:
  static constexpr std::uint64_t nobody = 0xFFFFFFFFFFFFFFFF;

  void clear(std::uint64_t bytes) {
    parts_.assign(1, {0, bytes, nobody, none});
    readers_.clear();
  }

  /// Enters one access; calls conflict(other, begin, end) for every earlier one that it may meet.
  template <class Ordered, class Surely, class Conflict>
  void add(std::uint64_t op, std::uint64_t begin, std::uint64_t end, bool writes, const Ordered& ordered,
           const Surely& surely, const Conflict& conflict) {
    if (begin == end) return;
    const std::size_t first = split(begin);
    const std::size_t last = split(end);
    std::uint64_t writer = nobody;
    std::uint32_t list = none;
    for (std::size_t i = first; i < last; ++i) {
      Part& part = parts_[i];
      if (part.writer != nobody && part.writer != writer && part.writer != op && !ordered(part.writer, op)) {
        conflict(part.writer, part.begin, part.end);
      }
      writer = part.writer;
      if (writes) {
        if (part.readers != list) check_readers(part, op, ordered, conflict);
        list = part.readers;
      } else {
        // Whoever comes after this reader comes after those that it comes after.
        std::uint32_t older = part.readers;
        while (older != none && surely(readers_[older].op, op)) older = readers_[older].next;
        if (older != none && readers_[older].op == op) continue;
        readers_.push_back({op, older});
        part.readers = static_cast<std::uint32_t>(readers_.size() - 1);
      }
    }
    if (!writes) return;
    parts_[first].end = end;
    parts_[first].writer = op;
    parts_[first].readers = none;
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                 parts_.begin() + static_cast<std::ptrdiff_t>(last));
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  struct Part {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t writer;
    std::uint32_t readers;  // the last one, in readers_
  };
  struct Reader {
    std::uint64_t op;
    std::uint32_t next;
  };

  /// The number of the part that begins at `at`, made if there is none; the number of parts at the end.
  std::size_t split(std::uint64_t at) {
    std::size_t low = 0, high = parts_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (parts_[middle].end <= at) low = middle + 1;
      else high = middle;
    }
    if (low == parts_.size() || parts_[low].begin == at) return low;
    Part rest = parts_[low];
    rest.begin = at;
    parts_[low].end = at;
    parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(low) + 1, rest);
    return low + 1;
  }

  template <class Ordered, class Conflict>
  void check_readers(const Part& part, std::uint64_t op, const Ordered& ordered, const Conflict& conflict) const {
    for (std::uint32_t r = part.readers; r != none; r = readers_[r].next) {
      if (readers_[r].op != op && !ordered(readers_[r].op, op)) conflict(readers_[r].op, part.begin, part.end);
    }
  }

  std::vector<Part> parts_;
  std::vector<Reader> readers_;
};

}  // namespace isthmus::proof

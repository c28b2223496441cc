// Events that found out others, with what found them out, back to the beginning: the order of simultaneous events where
// the time of an event and of its parent do not tell it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "simulate/engine/mail.hpp"

namespace isthmus::simulate {

class Ancestors {
 public:
  static constexpr Picoseconds none = -1;  ///< as Birth::parent: the beginning

  /// Remembers an event, and returns what its children have as their Birth::parent.
  Picoseconds add(const Birth& birth) {
    if (count_ % at_once == 0) births_.push_back(std::make_unique_for_overwrite<Birth[]>(at_once));
    births_.back()[count_ % at_once] = birth;
    return static_cast<Picoseconds>(count_++);
  }
  /// Less than 0 where `a` was found out before `b`, which is not the same event; 0 if that takes too long to tell.
  int compare(Birth a, Birth b) {
    for (;;) {
      if (a.time != b.time) return a.time < b.time ? -1 : 1;
      if (a.rank == b.rank) return a.number < b.number ? -1 : 1;
      // What is there in the beginning is in the order of ranks.
      if (a.parent == none && b.parent == none) return a.rank < b.rank ? -1 : 1;
      if (a.parent < 0 || b.parent < 0 || ++walked_ > steps_per_event * count_) return 0;
      a = of(a.parent);
      b = of(b.parent);
    }
  }

 private:
  static constexpr std::size_t at_once = 1 << 14;
  // Ranks that have been in step from the beginning on would be compared back to there each time.
  static constexpr std::uint64_t steps_per_event = 4;

  [[nodiscard]] const Birth& of(Picoseconds number) const {
    const auto n = static_cast<std::size_t>(number);
    return births_[n / at_once][n % at_once];
  }

  std::vector<std::unique_ptr<Birth[]>> births_;
  std::uint64_t count_ = 0, walked_ = 0;
};

}  // namespace isthmus::simulate

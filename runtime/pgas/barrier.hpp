// A barrier of flags in shared memory, or of letters that set them, in steps by twice the distance each, in which ranks
// tell each other what number was given. Of two barriers that follow each other, one rank may be in the second while
// another still looks at the first: so there are two sets of flags.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/pgas/far.hpp"
#include "runtime/pgas/segments.hpp"

namespace isthmus::runtime {

class Barrier {
 public:
  /// `far`: null where there are near ranks only.
  Barrier(const Segments& segments, const std::unique_ptr<Far>& far, Rank rank, Rank ranks);

  /// `id`: null if none is given.
  void notify(const std::int64_t* id);
  /// Goes on; whether all have come.
  bool go_on();
  [[nodiscard]] bool is_notified() const { return notified_; }
  /// Whether numbers differed in the barrier that is complete, and which.
  [[nodiscard]] bool differs() const { return numbers_.known == BarrierNumbers::different; }
  [[nodiscard]] const BarrierNumbers& numbers() const { return numbers_; }
  /// The next notify() may come.
  void end() { notified_ = false; }

 private:
  void tell();
  void learn(const BarrierNumbers& theirs);

  const Segments& segments_;
  const std::unique_ptr<Far>& far_;
  Rank rank_, ranks_;
  std::uint32_t rounds_ = 0, round_ = 0;
  std::uint64_t epoch_ = 0;
  BarrierNumbers numbers_{};
  bool notified_ = false;
};

}  // namespace isthmus::runtime

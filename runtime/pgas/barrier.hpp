// A barrier of flags in shared memory, in steps by twice the distance each, in which ranks tell each other what number
// was given. Of two barriers that follow each other, one rank may be in the second while another still looks at the
// first: so there are two sets of flags.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/pgas/segments.hpp"

namespace isthmus::runtime {

class Barrier {
 public:
  explicit Barrier(const Segments& segments, Rank rank, Rank ranks);

  /// `id`: null if none is given.
  void notify(const std::int64_t* id);
  /// Goes on; whether all have come.
  bool go_on();
  [[nodiscard]] bool is_notified() const { return notified_; }
  /// Whether numbers differed in the barrier that is complete.
  [[nodiscard]] bool differs() const { return known_ == different; }
  /// The next notify() may come.
  void end() { notified_ = false; }

 private:
  enum Known : std::uint32_t { nothing, number, different };

  void tell();
  void learn(const BarrierFlag& flag);

  const Segments& segments_;
  Rank rank_, ranks_;
  std::uint32_t rounds_ = 0, round_ = 0;
  std::uint64_t epoch_ = 0;
  std::int64_t id_ = 0;
  std::uint32_t known_ = nothing;
  bool notified_ = false;
};

}  // namespace isthmus::runtime

// The state of a simulation as a list of numbers: equal lists, equal futures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace isthmus::simulate {

/// 128 bits that tell states apart.
struct Digest {
  std::uint64_t a = 0, b = 0;
  bool operator==(const Digest&) const = default;
};

class StateWriter {
 public:
  void number(std::uint64_t value) { numbers_.push_back(value); }
  void number(std::int64_t value) { numbers_.push_back(static_cast<std::uint64_t>(value)); }
  void number(std::uint32_t value) { numbers_.push_back(value); }
  /// A sequence number: only the order of those that are written matters.
  void sequence(std::uint64_t value) {
    sequences_.push_back(numbers_.size());
    numbers_.push_back(value);
  }
  Digest digest() {
    std::vector<std::uint64_t> all;
    all.reserve(sequences_.size());
    for (const std::size_t at : sequences_) all.push_back(numbers_[at]);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const std::size_t at : sequences_)
      numbers_[at] = static_cast<std::uint64_t>(std::lower_bound(all.begin(), all.end(), numbers_[at]) - all.begin());
    Digest d{numbers_.size(), ~numbers_.size()};
    for (const std::uint64_t n : numbers_) {
      d.a = (d.a ^ n) * 0x9e3779b97f4a7c15ULL;
      d.a ^= d.a >> 32;
      d.b = (d.b + n) * 0xbf58476d1ce4e5b9ULL;
      d.b ^= d.b >> 29;
    }
    return d;
  }

 private:
  std::vector<std::uint64_t> numbers_;
  std::vector<std::size_t> sequences_;  // which of them are
};

/// A state after an iteration.
struct Seen {
  std::uint64_t iteration;
  std::uint64_t executed;  ///< operations done
  Digest state;
};

/// State of a simulation that shows whether iterations repeat.
struct Watch {
  std::vector<Seen> sketches;  ///< the last ones
  std::vector<Seen> states;
  std::vector<std::uint32_t> low;  ///< of every rank: operations before it do not wait for others any more
};

/// How far the ranks have come.
struct Reached {
  bool inside = true;      ///< all have begun their loops
  std::uint32_t last = 0;  ///< iteration that one of them has come to
};

}  // namespace isthmus::simulate

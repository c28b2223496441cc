// Whose turn it is at outputs that many want: start-time fair queueing (Goyal, Vin and Cheng, "Start-time fair
// queueing: a scheduling algorithm for integrated services packet switching networks", 1996).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/prefetch.hpp"

namespace isthmus::simulate {

/// An output has a clock that counts bytes: the turn of the packet that went last. A packet's turn is the clock of its
/// coming or the end of the turn of its source's packet before it, whichever is later. Sources that always have a
/// packet there so get the same bytes, however many packets each has on its way. Age since leaving the node does not
/// give that: where all packets of an output wait equally long, a source's share is as large as the buffers behind it.
class FairTurns {
 public:
  struct Output {
    std::uint64_t clock = 0;
    std::uint32_t first = 0;   ///< of its places in the table
    std::uint32_t places = 0;  ///< 2^n, or 0: it has none
  };

  /// The turn of a packet that comes to an output at which it has to wait. Sources have numbers from 1.
  std::uint64_t take(Output& o, std::uint32_t source, std::uint32_t bytes) {
    if (o.places == 0) move(o, 1);
    Turn* turn = &find(o, source);
    // Where none is free the output gets more places, up to a limit beyond which the source furthest behind is
    // forgotten.
    while (turn->source != source && turn->end > o.clock && o.places < most_places) {
      move(o, 2 * o.places);
      turn = &find(o, source);
    }
    const std::uint64_t begin = turn->source == source ? std::max(o.clock, turn->end) : o.clock;
    *turn = {begin + bytes, source};
    return begin;
  }
  /// A packet of `bytes` at most goes in its turn. If it is the last one nothing depends on what was before.
  static void go(Output& o, std::uint64_t turn, std::uint32_t bytes, bool last) {
    o.clock = std::max(o.clock, turn) + (last ? bytes : 0);
  }
  void prefetch(const Output& o, std::uint32_t source) const { prefetch_line(&table_[place(o, source)]); }

  static constexpr std::size_t output_memory = 256;  // with as many sources as are usual

 private:
  struct Turn {
    std::uint64_t end = 0;
    std::uint32_t source = 0;
  };
  using Place = std::array<Turn, 4>;  // a cache line
  static constexpr std::uint32_t most_places = 64;

  static std::uint32_t hash(std::uint32_t source) { return source * 0x9E3779B1 >> 16; }
  static std::size_t place(const Output& o, std::uint32_t source) {
    return std::size_t{o.first} + (hash(source) & (o.places - 1));
  }
  /// The source's turn, or the one of its place that ends first.
  Turn& find(const Output& o, std::uint32_t source) {
    Place& turns = table_[place(o, source)];
    Turn* first = turns.data();
    for (Turn& turn : turns) {
      if (turn.source == source) return turn;
      if (turn.end < first->end) first = &turn;
    }
    return *first;
  }
  /// The output gets that many places, twice those that it has; what is in a place goes to one of two.
  void move(Output& o, std::uint32_t places) {
    std::vector<std::uint32_t>& unused = unused_[places];
    Output to{o.clock, 0, places};
    if (unused.empty()) {
      to.first = static_cast<std::uint32_t>(table_.size());
      table_.resize(table_.size() + places);
    } else {
      to.first = unused.back();
      unused.pop_back();
      std::fill_n(table_.begin() + to.first, places, Place{});
    }
    for (std::uint32_t i = 0; i < o.places; ++i)
      for (std::size_t k = 0; k < Place().size(); ++k) {
        const Turn& turn = table_[o.first + i][k];
        if (turn.source != 0) table_[place(to, turn.source)][k] = turn;
      }
    if (o.places > 0) unused_[o.places].push_back(o.first);
    o = to;
  }

  std::vector<Place> table_ = std::vector<Place>(1);
  std::array<std::vector<std::uint32_t>, most_places + 1> unused_;  // by how many places
};

}  // namespace isthmus::simulate

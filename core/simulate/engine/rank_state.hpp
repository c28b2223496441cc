// Everything of one rank that a simulation in windows comes to again and again, side by side.
#pragma once

#include <cstdint>

#include "simulate/engine/mail.hpp"
#include "simulate/engine/matching.hpp"
#include "simulate/engine/slabs.hpp"
#include "simulate/model/options.hpp"

namespace isthmus::simulate {

/// An operation that waits for its CPU stream or interface.
struct Waiting {
  Picoseconds found, parent;  // see Birth
  std::uint32_t op;           // of its rank
  std::uint32_t number;
};

/// A receive whose message had come before its time.
struct Matched {
  Waiting recv;
  Picoseconds time;
};

/// A receive that no message has.
struct Posted {
  MatchKey key;
  std::uint32_t op;  // of its rank
  std::uint32_t number;
  Picoseconds time;
  Picoseconds found, parent;  // see Birth; parent: Birth::unknown where there are many
};

/// A message that no receive has.
struct Unexpected {
  MatchKey key;
  std::uint32_t op;     // of the rank key.source
  Picoseconds handled;  // when its handling ended
};

/// Everything of a rank. Where it has many receives or messages without each other, they are in Unmatched.
struct alignas(64) RankState {
  Picoseconds cpu = 0, out = 0, in = 0;  // when they are free
  std::uint32_t number = 0;              // of the next event that is found out
  std::uint32_t fresh : 31 = 0;          // the last messages, which have not been sorted
  std::uint32_t many : 1 = 0;            // its receives and messages without each other are in Unmatched
  Fifo<Message> messages;
  Fifo<Waiting> work;   // that needs the CPU only
  Fifo<Waiting> sends;  // that need the interface too
  Fifo<Matched> matched;
  Fifo<Posted> posted;
  Fifo<Unexpected> unexpected;
};
static_assert(sizeof(RankState) == 128);

}  // namespace isthmus::simulate

// Operating system noise: interruptions of the CPU streams, each stream with its own, all from one seed.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/model/options.hpp"

namespace isthmus::simulate {

/// Tells how long work takes that the operating system interrupts. Interruptions of a stream:
/// periodic: `duration` from phase + k period on, k = 0, 1, ..., the phase uniform in [0, period), per stream;
/// exponential: gaps between the end of one and the begin of the next, and durations, exponentially distributed (means
/// period - duration and duration);
/// trace: those of the trace, which repeats, entered at an offset of the stream's own.
class Noise {
 public:
  Noise(const NoiseSpec& spec, std::uint64_t seed, std::size_t streams);

  /// Picoseconds lost if `work` starts at `start` on the stream: every interruption that begins or lasts before the end
  /// of the (prolonged) work delays it. Starts of a stream do not descend.
  Picoseconds lost(std::size_t stream, Picoseconds start, Picoseconds work);

 private:
  struct Interruption {
    Picoseconds begin;
    Picoseconds end;
  };
  /// Interruption number k of the stream.
  [[nodiscard]] Interruption interruption(std::size_t stream, std::uint64_t k) const;
  void advance(std::size_t stream);

  struct Stream {
    std::uint64_t number = 0;  // of the current interruption, the first that ends after the last start
    Interruption current{0, 0};
    Picoseconds phase = 0;
  };
  NoiseSpec spec_;
  std::uint64_t seed_;
  std::vector<Stream> streams_;
};

}  // namespace isthmus::simulate

#include "simulate/engine/noise.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace isthmus::simulate {
namespace {

/// Random bits that depend on nothing but (seed, stream, number): the finaliser of splitmix64 over their mixture.
std::uint64_t bits_of(std::uint64_t seed, std::uint64_t stream, std::uint64_t number) {
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  };
  return mix(mix(mix(seed + 0x9e3779b97f4a7c15ULL) + stream + 0x632be59bd9b4e019ULL) + number);
}

/// Uniform in (0, 1].
double uniform(std::uint64_t bits) { return static_cast<double>((bits >> 11) + 1) * 0x1p-53; }

Picoseconds exponential(double mean, std::uint64_t bits) {
  return static_cast<Picoseconds>(std::llround(-mean * std::log(uniform(bits))));
}

}  // namespace

Noise::Noise(const NoiseSpec& spec, std::uint64_t seed, std::size_t streams)
    : spec_(spec), seed_(seed), streams_(spec.kind == NoiseSpec::Kind::none ? 0 : streams) {
  using Kind = NoiseSpec::Kind;
  if (spec.kind == Kind::none) return;
  if (spec.kind == Kind::trace) {
    require(!spec.starts.empty() && spec.starts.size() == spec.durations.size(),
            "a noise trace needs at least one interruption");
    Picoseconds end = 0;
    for (std::size_t i = 0; i < spec.starts.size(); ++i) {
      require(spec.durations[i] >= 0 && spec.starts[i] >= end, "noise trace: interruption ", i + 1,
              " begins before the previous one ends, or has a negative length");
      end = spec.starts[i] + spec.durations[i];
    }
    require(spec.length > 0 && spec.length >= end,
            "noise trace: its length must be above 0 and cover all interruptions");
  } else {
    require(spec.duration >= 0 && spec.period > spec.duration, "noise: the period (", spec.period,
            " ps) must be more than the duration (", spec.duration, " ps)");
  }
  for (std::size_t s = 0; s < streams; ++s) {
    Stream& stream = streams_[s];
    const double u = uniform(bits_of(seed, s, 0));
    switch (spec.kind) {
      case Kind::periodic: stream.phase = static_cast<Picoseconds>(u * static_cast<double>(spec.period)); break;
      case Kind::trace: {
        stream.phase = static_cast<Picoseconds>(u * static_cast<double>(spec.length));
        break;
      }
      default: break;
    }
    if (spec.kind == Kind::exponential) {
      advance(s);
    } else {
      stream.current = interruption(s, 0);
    }
  }
}

Noise::Interruption Noise::interruption(std::size_t stream, std::uint64_t k) const {
  const Stream& s = streams_[stream];
  if (spec_.kind == NoiseSpec::Kind::periodic) {
    const Picoseconds begin = s.phase + static_cast<Picoseconds>(k) * spec_.period;
    return {begin, begin + spec_.duration};
  }
  // The stream enters the trace at `phase`: what lies before it comes a whole length later.
  const std::size_t n = spec_.starts.size();
  const auto first = static_cast<std::size_t>(std::lower_bound(spec_.starts.begin(), spec_.starts.end(), s.phase) -
                                              spec_.starts.begin());
  const std::uint64_t at = first + k;
  const Picoseconds begin = spec_.starts[at % n] - s.phase + static_cast<Picoseconds>(at / n) * spec_.length;
  return {begin, begin + spec_.durations[at % n]};
}

void Noise::advance(std::size_t stream) {
  Stream& s = streams_[stream];
  ++s.number;
  if (spec_.kind == NoiseSpec::Kind::exponential) {
    const auto gap = static_cast<double>(spec_.period - spec_.duration);
    const Picoseconds begin = s.current.end + exponential(gap, bits_of(seed_, stream, 2 * s.number));
    const auto mean = static_cast<double>(spec_.duration);
    s.current = {begin, begin + exponential(mean, bits_of(seed_, stream, 2 * s.number + 1))};
  } else {
    s.current = interruption(stream, s.number);
  }
}

Picoseconds Noise::lost(std::size_t stream, Picoseconds start, Picoseconds work) {
  if (streams_.empty() || start + work > latest) return 0;  // too long anyway
  Stream& s = streams_[stream];
  if (spec_.kind == NoiseSpec::Kind::periodic && s.current.end <= start) {
    // Skip the periods of an idle stream in one step.
    s.number += static_cast<std::uint64_t>((start - s.current.end) / spec_.period);
    s.current = interruption(stream, s.number);
  }
  while (s.current.end <= start) advance(stream);
  Picoseconds end = start + work;
  while (s.current.begin < end && end <= latest) {
    end += s.current.end - std::max(s.current.begin, start);
    advance(stream);
  }
  return end - start - work;
}

}  // namespace isthmus::simulate

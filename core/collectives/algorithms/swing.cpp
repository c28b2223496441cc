#include <bit>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/even_split.hpp"
#include "collectives/write/folded_sum.hpp"
#include "collectives/write/torus.hpp"

namespace isthmus::collectives::swing {
namespace {

/// One exchange of a part of the vector: along a dimension, so far that distances swing to and fro: 1, -1, 3, -5 ...
/// Strides and extents are powers of two.
struct Step {
  std::uint64_t stride;
  std::uint64_t extent;
  std::uint64_t up;  ///< places of an even coordinate up to its partner, modulo the extent

  [[nodiscard]] Rank partner(Rank place) const {
    const bool even = (place & stride) == 0;
    const std::uint64_t line = stride * (extent - 1);
    const std::uint64_t at = place + stride * (even ? up : extent - up);
    return static_cast<Rank>((place & ~line) | (at & line));
  }
};

/// The way of a part of the vector: exchanges in their order and, for every place, the piece that is its own between
/// the two halves of the algorithm. Pieces are numbered so that what a place gives away is one range.
struct Way {
  std::vector<Step> steps;
  std::vector<Rank> piece;

  void number(Rank place, std::size_t step, Rank first) {
    if (step == steps.size()) {
      piece[place] = first;
      return;
    }
    number(place, step + 1, first);
    number(steps[step].partner(place), step + 1, first + (Rank{1} << (steps.size() - 1 - step)));
  }
};

struct Ways : Plan {
  std::vector<Way> ways;
};

bool powers_of_two(const std::vector<Rank>& dims) {
  for (const Rank extent : dims) {
    if (!std::has_single_bit(extent)) return false;
  }
  return true;
}

/// Exchanges that take the dimensions in turn, from `first` on.
Way way_from(const std::vector<Rank>& dims, std::size_t first, bool mirrored) {
  Way way;
  Rank places = 1;
  for (const Rank extent : dims) places *= extent;
  std::vector<std::uint64_t> strides(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * dims[d + 1];
  std::int64_t distance = 1;
  for (std::uint64_t reach = 1; reach < places; reach *= 2, distance = 1 - 2 * distance) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::size_t d = (first + i) % dims.size();
      if (reach >= dims[d]) continue;
      const std::int64_t extent = dims[d];
      const std::int64_t up = ((mirrored ? -distance : distance) % extent + extent) % extent;
      way.steps.push_back({strides[d], dims[d], static_cast<std::uint64_t>(up)});
    }
  }
  way.piece.resize(places);
  way.number(0, 0, 0);
  return way;
}

/// What a place holds of a part of the vector.
class Range {
 public:
  Range(const Way& way, std::uint64_t offset, std::uint64_t bytes, Rank place)
      : way_(way), offset_(offset), pieces_(bytes, way.piece.size()), place_(place), half_(way.piece.size()) {}
  /// Narrows it to what is kept in the next exchange; given() is the other half then.
  void halve() { half_ /= 2; }
  void widen() { half_ *= 2; }
  [[nodiscard]] Rank partner(std::size_t step) const { return way_.steps[step].partner(place_); }
  [[nodiscard]] std::uint64_t kept() const { return way_.piece[place_] & ~(half_ - 1); }
  [[nodiscard]] std::uint64_t given() const { return kept() ^ half_; }
  [[nodiscard]] std::uint64_t offset(std::uint64_t first) const { return offset_ + pieces_.offset(first); }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t first) const { return pieces_.between(first, first + half_); }

 private:
  const Way& way_;
  std::uint64_t offset_;
  EvenSplit pieces_;
  Rank place_;
  std::uint64_t half_;
};

}  // namespace

std::shared_ptr<const Plan> prepare(const CollectiveCall& call) {
  auto plan = std::make_shared<Ways>();
  std::vector<Rank> dims = plan_torus(call, 1)->dims;
  if (!powers_of_two(dims)) dims = {std::bit_floor(call.ranks)};
  std::erase(dims, Rank{1});
  for (std::size_t first = 0; first < dims.size(); ++first) {
    for (const bool mirrored : {false, true}) plan->ways.push_back(way_from(dims, first, mirrored));
  }
  return plan;
}

void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const std::vector<Way>& ways = static_cast<const Ways&>(*call.plan).ways;
  const PowerOfTwo fold(call.rank, call.ranks);
  Sum sum(call, true);
  const Rank neighbour = fold.neighbour(call.rank);
  if (!begin_folded(rounds, call, sum, fold, neighbour, ReduceOrder::after)) return;
  const EvenSplit parts(call.bytes, std::max<std::size_t>(ways.size(), 1));
  std::vector<Range> ranges;
  for (std::size_t w = 0; w < ways.size(); ++w) ranges.emplace_back(ways[w], parts.offset(w), parts(w), fold.place);
  const std::size_t steps = ways.empty() ? 0 : ways[0].steps.size();
  for (std::size_t step = 0; step < steps; ++step) {
    for (Range& range : ranges) {
      range.halve();
      const Rank peer = fold.rank(range.partner(step));
      rounds.send(peer, range.bytes(range.given()), sum.now() + range.offset(range.given()));
      rounds.recv(peer, range.bytes(range.kept()), sum.incoming() + range.offset(range.kept()));
    }
    rounds.next();
    for (const Range& range : ranges) {
      sum.add_too(rounds, range.offset(range.kept()), range.bytes(range.kept()), ReduceOrder::after);
    }
    sum.begin();
    rounds.next();
  }
  for (std::size_t step = steps; step-- > 0;) {
    for (Range& range : ranges) {
      const Rank peer = fold.rank(range.partner(step));
      rounds.send(peer, range.bytes(range.kept()), at_output(range.offset(range.kept())));
      rounds.recv(peer, range.bytes(range.given()), at_output(range.offset(range.given())));
      range.widen();
    }
    rounds.next();
  }
  end_folded(rounds, call, sum, fold, neighbour);
}

}  // namespace isthmus::collectives::swing

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/even_split.hpp"
#include "collectives/write/sums.hpp"
#include "collectives/write/torus.hpp"

namespace isthmus::collectives::bucket {
namespace {

/// A dimension of the torus as one rank sees it.
struct Axis {
  std::uint64_t stride;
  std::uint64_t extent;
  std::uint64_t at;
  [[nodiscard]] std::uint64_t line() const { return stride * extent; }
};

/// One part of the vector on its way round the rings of one dimension after the other: all steps of the first half of
/// the algorithm, one at a time; the second half takes them backwards.
class Piece {
 public:
  Piece(const CollectiveCall& call, std::vector<Axis> axes, bool down, std::uint64_t begin, std::uint64_t end)
      : call_(call), axes_(std::move(axes)), down_(down), ranges_{{begin, end}} {
    for (const Axis& axis : axes_) {
      const std::uint64_t offset = ranges_.back().begin;
      const EvenSplit& pieces = pieces_.emplace_back(ranges_.back().size(), axis.extent);
      ranges_.push_back({offset + pieces.offset(axis.at), offset + pieces.offset(axis.at + 1)});
      steps_ += axis.extent - 1;
    }
  }

  struct Bytes {
    std::uint64_t begin;
    std::uint64_t end;
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
  };

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// In step i a sum goes to the next rank, and another one comes from the rank before.
  void go(std::uint64_t step) {
    dimension_ = 0;
    while (step >= axes_[dimension_].extent - 1) step -= axes_[dimension_++].extent - 1;
    step_ = step;
  }
  [[nodiscard]] bool first_dimension() const { return dimension_ == 0; }
  [[nodiscard]] bool first_step() const { return dimension_ == 0 && step_ == 0; }
  [[nodiscard]] Rank next() const { return side(!down_); }
  [[nodiscard]] Rank before() const { return side(down_); }
  /// What is sent in the first half and comes back in the second.
  [[nodiscard]] Bytes sent() const { return piece(step_ + 1); }
  /// What comes in the first half.
  [[nodiscard]] Bytes taken() const { return piece(step_ + 2); }

 private:
  [[nodiscard]] Rank side(bool up) const {
    const Axis& axis = axes_[dimension_];
    if (up) return static_cast<Rank>(call_.rank + axis.stride - (axis.at + 1 == axis.extent ? axis.line() : 0));
    return static_cast<Rank>(call_.rank - axis.stride + (axis.at == 0 ? axis.line() : 0));
  }
  /// Piece of the rank so many steps before.
  [[nodiscard]] Bytes piece(std::uint64_t steps) const {
    const Axis& axis = axes_[dimension_];
    std::uint64_t at = axis.at + (down_ ? steps : 2 * axis.extent - steps);
    while (at >= axis.extent) at -= axis.extent;
    const std::uint64_t offset = ranges_[dimension_].begin;
    const EvenSplit& pieces = pieces_[dimension_];
    return {offset + pieces.offset(at), offset + pieces.offset(at + 1)};
  }

  const CollectiveCall& call_;
  std::vector<Axis> axes_;
  bool down_;
  std::vector<Bytes> ranges_;      // before each dimension, and after the last
  std::vector<EvenSplit> pieces_;  // of the range before each dimension
  std::uint64_t steps_ = 0;
  std::size_t dimension_ = 0;
  std::uint64_t step_ = 0;
};

/// One part for every dimension to begin with and each direction, so that all links are used.
std::vector<Piece> parts_of(const CollectiveCall& call) {
  std::vector<Axis> axes;
  std::uint64_t stride = 1;
  const std::vector<Rank>& dims = torus_of(call).dims;
  for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
    if (dims[d] > 1) axes.push_back({stride, dims[d], call.rank / stride % dims[d]});
  }
  std::vector<Piece> parts;
  const EvenSplit cut(call.bytes, std::max<std::size_t>(2 * axes.size(), 1));
  for (std::size_t p = 0; p < 2 * axes.size(); ++p) {
    std::vector<Axis> turned(axes.begin() + static_cast<std::ptrdiff_t>(p / 2), axes.end());
    turned.insert(turned.end(), axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(p / 2));
    parts.emplace_back(call, std::move(turned), p % 2 != 0, cut.offset(p), cut.offset(p + 1));
  }
  return parts;
}

}  // namespace

void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  std::vector<Piece> parts = parts_of(call);
  if (parts.empty() && !call.in_place) rounds.copy(call.bytes, at_input(), at_output());
  const std::uint64_t steps = parts.empty() ? 0 : parts[0].steps();
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (Piece& part : parts) {
      part.go(step);
      const auto sent = part.sent();
      const auto taken = part.taken();
      rounds.send(part.next(), sent.size(),
                  (part.first_step() && !call.in_place ? at_input() : at_output()) + sent.begin);
      // In the first dimension what comes in is added to for the first time.
      const bool begun = call.in_place || !part.first_dimension();
      rounds.recv(part.before(), taken.size(), (begun ? at_scratch() : at_output()) + taken.begin);
    }
    rounds.next();
    for (const Piece& part : parts) {
      const bool begun = call.in_place || !part.first_dimension();
      const auto taken = part.taken();
      rounds.reduce_too(taken.size(), (begun ? at_scratch() : at_input()) + taken.begin, at_output(taken.begin));
    }
    rounds.next();
  }
  for (std::uint64_t step = steps; step-- > 0;) {
    // Backwards: sums return to where they came from.
    for (Piece& part : parts) {
      part.go(step);
      const auto mine = part.taken();
      const auto missing = part.sent();
      rounds.send(part.before(), mine.size(), at_output(mine.begin));
      rounds.recv(part.next(), missing.size(), at_output(missing.begin));
    }
    rounds.next();
  }
}

}  // namespace isthmus::collectives::bucket

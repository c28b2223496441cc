// A schedule run once, symbolically: on contributions instead of numbers, and without time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "proof/contents.hpp"
#include "proof/contract.hpp"
#include "proof/contributions.hpp"
#include "proof/defects.hpp"
#include "proof/pairs.hpp"
#include "proof/symmetry.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// One execution stands for all: where no two operations race and messages meet whatever the time, each operation finds
/// the same bytes in every order. Sends end only with their receives, the hardest case that MPI allows; if that comes
/// to a halt, the circle is reported, and the rest is run with sends that end at once.
class Execution {
 public:
  /// All references outlive it; every message of `pairs` has its other side.
  Execution(const Schedule& schedule, const Contract& contract, const Pairs& pairs, Defects& defects);

  /// Rank 0 alone, for all ranks: what it receives is what it sends, turned to where the sender is. Says only whether
  /// there are defects; where it does not end, none is added.
  Execution(const Symmetry& symmetry, const Contract& contract, const Pairs& pairs, Defects& defects)
      : Execution(symmetry.first, contract, pairs, defects) {
    symmetry_ = &symmetry;
  }

  /// Runs everything that can run, then looks at what must be there in the end. Does everything end?
  bool run();
  [[nodiscard]] std::uint64_t bytes_checked() const { return bytes_checked_; }
  /// Does it come to its end only where sends do not wait for their receives?
  [[nodiscard]] bool needs_eager() const { return needs_eager_; }

 private:
  struct Op {
    Rank rank;
    std::uint32_t index;
  };
  enum class State : std::uint8_t { waiting, begun, done };

  void prepare();
  void drain();
  void begin(Op op);
  void end(Op op);
  void release(Op op, bool on_start);
  void message_part(Op op);
  [[nodiscard]] Op other_side(Op op) const;
  void rotate(std::vector<Piece>& pieces, Rank by);
  /// `turn`: how many ranks further the sender is, where rank 0 stands for all.
  void transfer(Op by, Slice source, Rank source_rank, Slice target, Rank target_rank, Rank turn = 0);
  void combine(Op op);
  void halt();
  [[nodiscard]] Op waits_for(Op op, std::unordered_map<Rank, std::vector<std::uint32_t>>& blockers) const;
  void check_end();
  void check_synchronisation();

  /// Reads, and reports what nobody has written.
  void read(Op by, Rank rank, const Slice& slice, std::uint64_t bytes, std::vector<Piece>& out);
  void write(Op by, Rank rank, const Slice& slice, std::span<const Piece> pieces);
  Contributions::Set combined(Op op, const Piece& into, const Piece& from, std::uint64_t at);

  [[nodiscard]] std::uint64_t at(Op op) const { return schedule_.op_first[op.rank] + op.index; }
  [[nodiscard]] const Operation& operation(Op op) const { return schedule_.ops[at(op)]; }
  [[nodiscard]] const Slices& slices(Op op) const;
  [[nodiscard]] Contents& buffer(Rank rank, std::uint32_t buffer) {
    return contents_[rank * schedule_.buffers.names.size() + buffer];
  }
  [[nodiscard]] std::string text(Op op) const { return operation_text(schedule_, op.rank, op.index); }
  [[nodiscard]] std::string value_text(const Piece& piece) const;
  template <class Text>
  void report(DefectKind kind, Op op, const Text& text);

  const Schedule& schedule_;
  const Contract& contract_;
  const Pairs& pairs_;
  const Symmetry* symmetry_ = nullptr;
  Defects& defects_;
  Contributions sets_;
  std::vector<Contents> contents_;
  std::vector<std::uint32_t> needs_;  // operations that it still waits for
  std::vector<State> states_;
  std::vector<bool> constant_;                 // of the schedule's buffers
  std::vector<std::uint32_t> buffer_numbers_;  // of the contract's buffers, in the schedule
  std::vector<Contributions::Set> heard_;      // ranks that have begun before it; empty if nobody asks
  std::unordered_map<std::uint64_t, std::vector<Piece>> under_way_;  // of sends that ended before their receives began
  std::vector<Op> ready_;
  std::uint64_t begun_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t bytes_checked_ = 0;
  bool eager_ = false;
  bool needs_eager_ = false;
  std::vector<Piece> pieces_;
  std::vector<Piece> others_;
  std::vector<Piece> result_;
  std::vector<Piece> turned_;
};

}  // namespace isthmus::proof

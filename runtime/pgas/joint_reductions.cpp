// The C interface of collectives that combine the elements of an array of a space.
//
// Every rank combines the elements of each of its blocks. Where each rank has one block, these go through a reduction,
// or a prefix reduction, of one element; otherwise, as blocks are dealt out in turns and the order of ranks is not that
// of blocks, they are gathered and combined in the order of blocks.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "runtime/executor/execution.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/interface/team.hpp"
#include "runtime/pgas/joint_calls.hpp"

namespace isthmus::runtime {
namespace {

/// The elements of an array that a rank has, by blocks.
struct Layout {
  std::uint64_t count, block, ranks;

  /// Blocks of the rank that has most.
  [[nodiscard]] std::uint64_t rounds() const { return (blocks() + ranks - 1) / ranks; }
  [[nodiscard]] std::uint64_t blocks() const { return (count - 1) / block + 1; }
  /// Elements of a block; 0: it does not exist.
  [[nodiscard]] std::uint64_t size(std::uint64_t number) const {
    return number < blocks() ? std::min(block, count - number * block) : 0;
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t round, std::uint64_t rank) const { return round * ranks + rank; }
  /// Elements of memory that every rank has for it.
  [[nodiscard]] std::uint64_t room() const { return rounds() * block; }
  /// One block for each rank.
  [[nodiscard]] bool is_simple() const { return blocks() == ranks; }
};

class Reduction : public Chain {
 public:
  Reduction(const Manner& manner, const isthmus_call& combines, const Layout& layout)
      : Chain(manner.team, 3),
        layout_(layout),
        call_(combines),
        with_(reduction_of(call_)),
        bytes_(element_bytes_of(call_)),
        barrier_(manner.call(ISTHMUS_BARRIER)),
        board_(manner.board),
        enters_(manner.enter == ISTHMUS_SYNC_ALL),
        leaves_(manner.leave == ISTHMUS_SYNC_ALL) {
    // What a rank does last is done before others may leave.
    call_.leave = ISTHMUS_SYNC_DEFAULT;
    partial_.resize(layout.rounds() * bytes_);
    begin_on(board_);
    if (board_ == nullptr) return;
    if (enters_) board_->entered.come(entry_ = board_->entered.next());
    if (leaves_) exit_ = board_->ended.next();
  }

 protected:
  bool is_ready() override {
    if (stage_ == 0) return entry_ == 0 || board_->entered.all(entry_);
    return stage_ < 3 || exit_ == 0 || board_->ended.all(exit_);
  }
  bool next() override {
    switch (stage_++) {
      case 0:
        if (!enters_ || board_ != nullptr) return next();
        begin(barrier_, nullptr, nullptr);
        return true;
      case 1: try { exchange();
        } catch (...) {  // the same on all ranks, whose later collectives do not wait for this one
          if (exit_ != 0) board_->ended.pass(exit_);
          throw;
        }
        return true;
      case 2:
        finish();
        if (!leaves_) return false;
        if (board_ == nullptr) {
          begin(barrier_, nullptr, nullptr);
          return true;
        }
        board_->ended.pass(exit_);
        return true;
      default: return false;
    }
  }
  /// Combines elements of this rank and begins the collective of all ranks, and what is done after it.
  virtual void exchange() = 0;
  virtual void finish() = 0;

  /// inout = inout (+) in, of one element.
  void add(const std::byte* in, std::byte* inout) const { with_.after(in, inout, bytes_, with_.data); }

  /// The elements of each block combined.
  void combine_blocks(const std::byte* elements) {
    for (std::uint64_t k = 0; k < layout_.rounds(); ++k) {
      const std::uint64_t size = layout_.size(layout_.number(k, team().rank));
      if (size == 0) continue;
      const std::byte* const block = elements + k * layout_.block * bytes_;
      std::byte* const sum = partial_.data() + k * bytes_;
      std::memcpy(sum, block, bytes_);
      for (std::uint64_t i = 1; i < size; ++i) add(block + i * bytes_, sum);
    }
  }

  /// What is gathered: those of all ranks, rank by rank.
  [[nodiscard]] const std::byte* gathered(std::uint64_t number) const {
    return all_.data() + ((number % layout_.ranks) * layout_.rounds() + number / layout_.ranks) * bytes_;
  }
  /// A collective of all that is gathered.
  [[nodiscard]] isthmus_call gathers(isthmus_kind kind) const {
    isthmus_call out = call_;
    out.kind = kind;
    out.combine = nullptr;
    out.element = ISTHMUS_U8;
    out.count = partial_.size();
    return out;
  }

  Layout layout_;
  isthmus_call call_;  ///< of one element
  Operator with_;
  std::size_t bytes_;  ///< of an element
  std::vector<std::byte> partial_, all_;

 private:
  isthmus_call barrier_;
  Board* board_;
  std::uint64_t entry_ = 0, exit_ = 0;
  bool enters_, leaves_;
  int stage_ = 0;
};

class ToRoot final : public Reduction {
 public:
  ToRoot(const Manner& manner, const isthmus_call& combines, const Layout& layout, const std::byte* from, std::byte* to)
      : Reduction(manner, combines, layout), from_(from), to_(to) {}

 protected:
  void exchange() override {
    combine_blocks(from_);
    if (is_direct()) return begin(call_, partial_.data(), to_);
    if (team().rank == call_.root) all_.resize(partial_.size() * layout_.ranks);
    begin(gathers(ISTHMUS_GATHER), partial_.data(), all_.data());
  }
  void finish() override {
    if (is_direct() || team().rank != call_.root) return;
    std::memcpy(to_, gathered(0), bytes_);
    for (std::uint64_t b = 1; b < layout_.blocks(); ++b) add(gathered(b), to_);
  }

 private:
  /// Reductions to a root combine in any order.
  [[nodiscard]] bool is_direct() const {
    return layout_.is_simple() && (call_.combine == nullptr || call_.commutes != 0);
  }

  const std::byte* from_;
  std::byte* to_;
};

class Prefix final : public Reduction {
 public:
  Prefix(const Manner& manner, const isthmus_call& combines, const Layout& layout, const std::byte* from, std::byte* to)
      : Reduction(manner, combines, layout), from_(from), to_(to) {}

 protected:
  void exchange() override {
    combine_blocks(from_);
    before_.resize(bytes_);
    if (layout_.is_simple()) return begin(call_, partial_.data(), before_.data());
    all_.resize(partial_.size() * layout_.ranks);
    begin(gathers(ISTHMUS_ALLGATHER), partial_.data(), all_.data());
  }
  void finish() override {
    if (layout_.is_simple()) return scan(0, team().rank > 0);
    std::uint64_t b = 0;
    for (std::uint64_t k = 0; k < layout_.rounds(); ++k) {
      const std::uint64_t mine = layout_.number(k, team().rank);
      if (layout_.size(mine) == 0) return;
      for (; b < mine; ++b) {
        if (b == 0) std::memcpy(before_.data(), gathered(0), bytes_);
        else add(gathered(b), before_.data());
      }
      scan(k, mine > 0);
    }
  }

 private:
  /// A block of this rank, with what stands before it.
  void scan(std::uint64_t k, bool has_before) {
    const std::uint64_t size = layout_.size(layout_.number(k, team().rank));
    const std::uint64_t at = k * layout_.block * bytes_;
    std::vector<std::byte> sum(before_);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::byte* const element = from_ + at + i * bytes_;
      if (i == 0 && !has_before) std::memcpy(sum.data(), element, bytes_);
      else add(element, sum.data());
      std::memcpy(to_ + at + i * bytes_, sum.data(), bytes_);
    }
  }

  const std::byte* from_;
  std::byte* to_;
  std::vector<std::byte> before_;
};

struct Array {
  isthmus_call call;
  Layout layout;
  const std::byte* from;
};

/// Throws InvalidInput.
Array array_of(isthmus_space& space, const char* name, const Manner& manner, const isthmus_reduction* given,
               isthmus_kind kind, std::uint32_t root, std::uint64_t from) {
  const isthmus_reduction reduction = whole(given, "isthmus_reduction");
  require(manner.algorithm == nullptr, name, ": isthmus_manner.algorithm is not for reductions");
  require(root < manner.team.ranks, name, ": root ", root, " does not exist: there are ", manner.team.ranks, " ranks");
  require(reduction.count > 0, name, ": count = 0: must be at least 1");
  require(reduction.element != ISTHMUS_BYTES || reduction.element_bytes > 0, name,
          ": element_bytes = 0: must be given for ISTHMUS_BYTES");
  isthmus_call call = manner.call(kind, 1, root);
  call.enter = ISTHMUS_SYNC_DEFAULT;
  call.element = reduction.element;
  call.operation = reduction.operation;
  call.element_bytes = reduction.element_bytes;
  call.combine = reduction.combine;
  call.data = reduction.data;
  call.commutes = reduction.commutes;
  const std::uint64_t block = reduction.block == 0 ? reduction.count : std::min(reduction.block, reduction.count);
  const Layout layout{reduction.count, block, manner.team.ranks};
  std::uint64_t elements = 0;
  require(!__builtin_mul_overflow(layout.rounds(), block, &elements), name, ": ", reduction.count,
          " elements are outside the space");
  const std::size_t bytes = element_bytes_of(call);
  return {call, layout, reinterpret_cast<const std::byte*>(blocks_at(space, name, from, elements, bytes))};
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_reduce(isthmus_space* space, const isthmus_manner* given, uint32_t root, uint64_t to, uint64_t from,
                   const isthmus_reduction* reduction) {
  return guarded_space(space, [&] {
    constexpr const char* name = "isthmus_reduce";
    const Manner manner = manner_of(*space, name, given);
    const Array array = array_of(*space, name, manner, reduction, ISTHMUS_REDUCE, root, from);
    const std::size_t bytes = element_bytes_of(array.call);
    auto* const result = reinterpret_cast<std::byte*>(blocks_at(*space, name, to, 1, bytes));
    apart(name, to, bytes, from, array.layout.room() * bytes);
    return space->joint.add(std::make_unique<ToRoot>(manner, array.call, array.layout, array.from, result),
                            manner.event);
  });
}

int isthmus_prefix_reduce(isthmus_space* space, const isthmus_manner* given, uint64_t to, uint64_t from,
                          const isthmus_reduction* reduction) {
  return guarded_space(space, [&] {
    constexpr const char* name = "isthmus_prefix_reduce";
    const Manner manner = manner_of(*space, name, given);
    const Array array = array_of(*space, name, manner, reduction, ISTHMUS_EXSCAN, 0, from);
    const std::size_t bytes = element_bytes_of(array.call);
    auto* const results = reinterpret_cast<std::byte*>(blocks_at(*space, name, to, array.layout.room(), bytes));
    if (to != from) apart(name, to, array.layout.room() * bytes, from, array.layout.room() * bytes);
    return space->joint.add(std::make_unique<Prefix>(manner, array.call, array.layout, array.from, results),
                            manner.event);
  });
}

}  // extern "C"

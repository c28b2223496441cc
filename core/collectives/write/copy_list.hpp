// Pieces of memory that are to be put together: few copies for many pieces.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "schedule/collective.hpp"

namespace isthmus::collectives {
using namespace schedule;

inline constexpr std::uint32_t no_operation = 0xFFFFFFFF;

/// Pieces that an operation brings, and which lie equally far from each other both where they are and where they are to
/// be, are one copy: what Bruck's algorithm packs into a message has a piece for every other rank, but a copy for each
/// message that brought some.
class CopyList {
 public:
  /// Adds a piece behind all others. `by`: the operation that brings it, or no_operation.
  void add(Slice at, std::uint64_t bytes, std::uint32_t by) { add(at, bytes, by, bytes_); }
  /// Adds a piece that is to be `to` bytes from the beginning.
  void add(Slice at, std::uint64_t bytes, std::uint32_t by, std::uint64_t to) {
    if (bytes == 0) {
      if (by != no_operation && (empty_.empty() || empty_.back() != by)) empty_.push_back(by);
      return;
    }
    bytes_ += bytes;
    std::uint32_t& copy = last_of(by);
    if (copy < copies_.size() && copies_[copy].by() == by && copies_[copy].extend(at, bytes, to)) return;
    copy = static_cast<std::uint32_t>(copies_.size());
    copies_.emplace_back(at, bytes, by, to);
  }
  /// Adds `count` pieces, each so many bytes further than the one before and to be so many further, modulo 2^64.
  void add_run(Slice at, std::uint64_t bytes, std::uint32_t by, std::uint64_t to, std::uint64_t count,
               std::uint64_t step, std::uint64_t to_step) {
    for (; count > 0; --count, at.offset += step, to += to_step) {
      if (bytes > 0 && last_of(by) < copies_.size()) {
        Copy& copy = copies_[last_of(by)];
        if (copy.by() == by && copy.extend_all(at, bytes, to, count, step, to_step)) {
          bytes_ += bytes * count;
          return;
        }
      }
      add(at, bytes, by, to);
      if (bytes == 0) return;
    }
  }
  void clear() {
    copies_.clear();
    empty_.clear();
    bytes_ = 0;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Writes what sends them to a rank: if there are several, they are copied to `room` first. Returns the send. One of
  /// 0 bytes waits for what brings its pieces too.
  std::uint32_t send(Emitter& out, Rank to, Slice room) const {
    if (!several()) {
      const std::uint32_t sent = out.send(to, bytes_, copies_.empty() ? room : copies_[0].slices(room).from);
      if (!copies_.empty() && copies_[0].by() != no_operation) out.require(sent, copies_[0].by());
      for (const std::uint32_t op : empty_) out.require(sent, op);
      return sent;
    }
    // Emitters number consecutively.
    const std::uint32_t last = copy(out, room);
    const std::uint32_t sent = out.send(to, bytes_, room);
    out.require(sent, last + 1 - static_cast<std::uint32_t>(copies_.size()), last + 1);
    return sent;
  }
  /// Does send() need the room?
  [[nodiscard]] bool several() const { return copies_.size() > 1 || (!copies_.empty() && !copies_[0].whole()); }

  /// Copies all to their places from `to` on; returns the last copy, or no_operation.
  std::uint32_t copy(Emitter& out, Slice to) const {
    std::uint32_t op = no_operation;
    for (const Copy& copy : copies_) {
      op = out.copy(copy.bytes(), copy.slices(to));
      if (copy.by() != no_operation) out.require(op, copy.by());
    }
    return op;
  }

 private:
  /// Blocks of one size, equally far from each other.
  class Copy {
   public:
    Copy(Slice at, std::uint64_t bytes, std::uint32_t by, std::uint64_t to)
        : slices_{at, {at.buffer, 0, to}, 0}, by_(by), bytes_(bytes), block_(bytes), last_{at.offset, to, bytes} {}

    [[nodiscard]] std::uint32_t by() const { return by_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Is it one block?
    [[nodiscard]] bool whole() const { return bytes_ == block_; }
    [[nodiscard]] Slices slices(Slice room) const {
      Slices out = slices_;
      out.to.buffer = room.buffer;
      out.to.offset += room.offset;
      if (!whole()) out.block = block_;
      return out;
    }

    /// Takes a piece in, if it continues the last block or is the next one.
    bool extend(Slice at, std::uint64_t bytes, std::uint64_t to) {
      if (at.buffer != slices_.from.buffer) return false;
      const bool continues = at.offset == last_.from + last_.bytes && to == last_.to + last_.bytes;
      if (continues && (whole() || bytes <= block_ - last_.bytes)) {
        if (whole()) block_ += bytes;
        last_.bytes += bytes;
      } else if (last_.bytes == block_ && bytes <= block_ && (whole() ? begin(at, to) : goes_on(at, to))) {
        last_ = {at.offset, to, bytes};
      } else {
        return false;
      }
      bytes_ += bytes;
      return true;
    }

    /// Takes all of a run in, if all of it goes on as the blocks do that are here, or as a single one does.
    bool extend_all(Slice at, std::uint64_t bytes, std::uint64_t to, std::uint64_t count, std::uint64_t step,
                    std::uint64_t to_step) {
      if (at.buffer != slices_.from.buffer) return false;
      if (whole()) {
        const bool continues = at.offset == last_.from + last_.bytes && to == last_.to + last_.bytes;
        if (!continues || step != bytes || to_step != bytes) return false;
        block_ += bytes * count;
        last_.bytes += bytes * count;
      } else {
        if (last_.bytes != block_ || bytes != block_ || !goes_on(at, to)) return false;
        if (step != from_step_ || to_step != to_step_) return false;
        last_ = {at.offset + (count - 1) * step, to + (count - 1) * to_step, bytes};
      }
      bytes_ += bytes * count;
      return true;
    }

   private:
    /// The second block says how far they are from each other.
    bool begin(Slice at, std::uint64_t to) {
      const std::int32_t from_stride = in_blocks(at.offset - last_.from);
      const std::int32_t to_stride = in_blocks(to - last_.to);
      if (from_stride == 0 || to_stride == 0) return false;
      slices_.from.stride = from_stride;
      slices_.to.stride = to_stride;
      from_step_ = at.offset - last_.from;
      to_step_ = to - last_.to;
      return true;
    }
    [[nodiscard]] bool goes_on(Slice at, std::uint64_t to) const {
      return at.offset == last_.from + from_step_ && to == last_.to + to_step_;
    }
    /// A distance modulo 2^64; 0 where it is no number of blocks.
    [[nodiscard]] std::int32_t in_blocks(std::uint64_t distance) const {
      const bool back = distance >> 63 != 0;
      if (back) distance = 0 - distance;
      const std::uint64_t blocks = distance / block_;
      if (blocks * block_ != distance || blocks > std::numeric_limits<std::int32_t>::max()) return 0;
      return back ? -static_cast<std::int32_t>(blocks) : static_cast<std::int32_t>(blocks);
    }

    struct Block {
      std::uint64_t from;
      std::uint64_t to;
      std::uint64_t bytes;  // so far
    };
    Slices slices_;  // the block is set at the end
    std::uint32_t by_;
    std::uint64_t bytes_;
    std::uint64_t block_;
    std::uint64_t from_step_ = 0;  // bytes, modulo 2^64
    std::uint64_t to_step_ = 0;
    Block last_;
  };

  /// Where the last copy of what an operation brings is, if there is one.
  std::uint32_t& last_of(std::uint32_t by) {
    const std::size_t at = by + std::uint32_t{1};  // no_operation: 0
    if (at >= last_of_.size()) last_of_.resize(at + 1);
    return last_of_[at];
  }

  std::vector<Copy> copies_;
  std::vector<std::uint32_t> last_of_;  // never cleared: who looks checks
  std::vector<std::uint32_t> empty_;    // what brings pieces of 0 bytes
  std::uint64_t bytes_ = 0;
};

}  // namespace isthmus::collectives

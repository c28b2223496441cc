// Pieces of memory that are to lie one behind the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schedule/collective.hpp"

namespace isthmus {

inline constexpr std::uint32_t no_operation = 0xFFFFFFFF;

class Pieces {
 public:
  struct Piece {
    Slice at;
    std::uint64_t bytes;
    std::uint32_t by;  ///< the operation that brings it, or no_operation
  };

  /// Adds a piece behind the last, or makes that one longer where it continues it.
  void add(Slice at, std::uint64_t bytes, std::uint32_t by) {
    if (bytes == 0) {
      if (by != no_operation && (empty_.empty() || empty_.back() != by)) empty_.push_back(by);
      return;
    }
    bytes_ += bytes;
    if (!pieces_.empty()) {
      Piece& last = pieces_.back();
      if (last.by == by && last.at.buffer == at.buffer && last.at.offset + last.bytes == at.offset) {
        last.bytes += bytes;
        return;
      }
    }
    pieces_.push_back({at, bytes, by});
  }
  void clear() {
    pieces_.clear();
    empty_.clear();
    bytes_ = 0;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Writes what sends them to a rank: if there are several, they are copied to `room` first. Returns the send. One of
  /// 0 bytes waits for what brings its pieces too.
  std::uint32_t send(Emitter& out, Rank to, Slice room) const {
    if (pieces_.size() <= 1) {
      const std::uint32_t sent = out.send(to, bytes_, pieces_.empty() ? room : pieces_[0].at);
      if (!pieces_.empty() && pieces_[0].by != no_operation) out.require(sent, pieces_[0].by);
      for (const std::uint32_t op : empty_) out.require(sent, op);
      return sent;
    }
    std::uint32_t first = no_operation;
    std::uint32_t last = 0;
    copy(out, room, [&](std::uint32_t op) {
      first = std::min(first, op);
      last = op;
    });
    const std::uint32_t sent = out.send(to, bytes_, room);
    for (std::uint32_t op = first; op <= last; ++op) out.require(sent, op);
    return sent;
  }
  /// Does send() need the room?
  [[nodiscard]] bool several() const { return pieces_.size() > 1; }

  /// Copies all to `to` and tells the operations. Where nobody asks which parts of buffers they are, pieces that wait
  /// for the same are copied by one operation: it takes as long, and Bruck's algorithm has a piece for every rank.
  template <class Tell>
  void copy(Emitter& out, Slice to, const Tell& tell) const {
    for (const Piece& piece : out.names_buffers() ? pieces_ : together()) {
      const std::uint32_t op = out.copy(piece.bytes, piece.at, to);
      if (piece.by != no_operation) out.require(op, piece.by);
      to = to + piece.bytes;
      tell(op);
    }
  }
  void copy(Emitter& out, Slice to) const {
    copy(out, to, [](std::uint32_t) {});
  }

 private:
  /// A piece for each operation that brings some.
  [[nodiscard]] std::vector<Piece> together() const {
    std::vector<Piece> out;
    for (const Piece& piece : pieces_) {
      auto same = std::find_if(out.rbegin(), out.rend(), [&](const Piece& other) { return other.by == piece.by; });
      if (same == out.rend()) {
        out.push_back(piece);
      } else {
        same->bytes += piece.bytes;
      }
    }
    return out;
  }

  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> empty_;  // what brings pieces of 0 bytes
  std::uint64_t bytes_ = 0;
};

}  // namespace isthmus

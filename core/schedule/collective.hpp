// What a collective's generator gets and what it writes to. A generator answers for one rank at a time, by arithmetic
// on ranks only: it knows neither time nor the other ranks' operations.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "schedule/builder.hpp"
#include "schedule/program.hpp"

namespace isthmus {

/// One rank's view of one collective; see CollectiveKind for bytes and counts.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::barrier;
  Rank rank = 0;   ///< within the communicator
  Rank ranks = 1;  ///< of the communicator
  Rank root = 0;
  std::uint64_t bytes = 0;
  std::span<const std::int64_t> counts;  ///< empty: bytes everywhere
};

/// Writes the operations of one rank of one collective into a RankBuilder: translates ranks of the communicator into
/// ranks of the world, and keeps the collective's messages apart from all others by communicator and tag.
class Emitter {
 public:
  /// `world`: world ranks of the communicator's members; empty means that both are the same.
  Emitter(RankBuilder& out, std::span<const std::uint32_t> world, std::uint32_t comm, std::uint32_t tag,
          std::uint8_t cpu)
      : out_(out), world_(world), comm_(comm), tag_(tag), cpu_(cpu) {}

  std::uint32_t send(Rank to, std::uint64_t bytes) { return message(OpKind::send, to, bytes); }
  std::uint32_t recv(Rank from, std::uint64_t bytes) { return message(OpKind::recv, from, bytes); }
  std::uint32_t copy(std::uint64_t bytes) { return local(OpKind::copy, bytes); }
  std::uint32_t reduce(std::uint64_t bytes) { return local(OpKind::reduce, bytes); }
  void require(std::uint32_t op, std::uint32_t on) { out_.require(op, on); }
  void require_start(std::uint32_t op, std::uint32_t on) { out_.require_start(op, on); }

 private:
  std::uint32_t message(OpKind kind, Rank peer, std::uint64_t bytes) {
    Operation op;
    op.kind = kind;
    op.amount = bytes;
    op.peer = world_.empty() ? peer : world_[peer];
    op.tag = tag_;
    op.comm = comm_;
    op.cpu = cpu_;
    return out_.add(op);
  }
  std::uint32_t local(OpKind kind, std::uint64_t bytes) {
    Operation op;
    op.kind = kind;
    op.amount = bytes;
    op.cpu = cpu_;
    return out_.add(op);
  }

  RankBuilder& out_;
  std::span<const std::uint32_t> world_;
  std::uint32_t comm_;
  std::uint32_t tag_;
  std::uint8_t cpu_;
};

/// Writes the operations of call.rank. Whatever it leaves without a dependant is what the collective ends with;
/// whatever it leaves without a dependency starts with the call.
using Generator = std::function<void(const CollectiveCall& call, Emitter& out)>;

}  // namespace isthmus

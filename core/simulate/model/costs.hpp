// Costs of a message between two ranks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "simulate/model/options.hpp"

namespace isthmus::simulate {

/// Costs of one message.
struct MessageCost {
  Picoseconds wire = 0;              ///< L with the distance
  Picoseconds bytes_G = 0;           ///< (s - 1) G
  Picoseconds bytes_O = 0;           ///< (s - 1) O of the sender
  Picoseconds bytes_O_recv = 0;      ///< of the receiver
  const LevelCost* level = nullptr;  ///< or its piece, with S and per_hop of the level
  bool network = false;              ///< at that level
  [[nodiscard]] Picoseconds send_cpu() const { return level->o_send + bytes_O; }
  /// With Receive::loggopsim.
  [[nodiscard]] Picoseconds recv_all() const {
    return level->o_recv + (bytes_O_recv > bytes_G ? bytes_O_recv : bytes_G);
  }
  [[nodiscard]] Picoseconds recv_cpu() const { return level->o_recv + bytes_O_recv; }
  /// From the first byte at the receiver's interface until its CPU can begin, so that it ends o after the last byte.
  [[nodiscard]] Picoseconds ahead_of_cpu() const { return bytes_G > bytes_O_recv ? bytes_G - bytes_O_recv : 0; }
  [[nodiscard]] Picoseconds gap() const { return level->g + bytes_G; }
};

/// Is a send over without waiting for its receive?
inline bool is_eager(const Operation& send, const MessageCost& cost) {
  return send.mode == static_cast<std::uint8_t>(Protocol::by_size)
             ? send.amount <= cost.level->S
             : send.mode == static_cast<std::uint8_t>(Protocol::eager);
}

/// Throws InvalidInput for times that the simulation does not go to.
inline void require_in_time(Picoseconds time) {
  // A time beyond 64 bits is negative.
  require(time >= 0 && time <= latest, "simulated time goes beyond ", latest / 1'000'000'000'000,
          " s, the longest time it can hold: shorten computations or send fewer bytes");
}

/// a times b; throws InvalidInput where that is too long.
inline Picoseconds product(Picoseconds a, Picoseconds b) {
  Picoseconds result = 0;
  require_in_time(__builtin_mul_overflow(a, b, &result) ? -1 : result);
  return result;
}

/// Longest time of a message, 20 hours: sums of many fit 64 bits.
inline constexpr Picoseconds longest_message = Picoseconds{1} << 56;

/// The bytes after so many at a rate, to the nearest picosecond.
inline Picoseconds bytes_after(std::uint64_t first, std::uint64_t bytes, double rate) {
  if (bytes <= first || rate == 0) return 0;
  const double time = static_cast<double>(bytes - first) * rate;
  require(time < static_cast<double>(longest_message), "a message of ", bytes, " bytes at ", rate / 1e12,
          " s per byte: it may take up to ", longest_message / 1'000'000'000'000, " s");
  return static_cast<Picoseconds>(time + 0.5);
}

/// The piece of a level that holds for messages of so many bytes, or the level itself.
inline const LevelCost& piece_of(const LevelCost& level, std::uint64_t bytes) {
  const auto more = std::ranges::partition_point(level.pieces, [&](const LevelCost& p) { return p.above < bytes; });
  return more == level.pieces.begin() ? level : *(more - 1);
}

/// A level without pieces at which no message takes longer anywhere: the least of every parameter.
inline LevelCost least_of(const LevelCost& level) {
  LevelCost least = level;
  least.pieces.clear();
  least.O_recv = level.O_recv.value_or(level.O);
  for (const LevelCost& p : level.pieces) {
    // The smallest message of the piece has the fewest bytes that cost something, of all but the first.
    const double part = p.above == 1 ? 1 : static_cast<double>(p.above - p.after) / static_cast<double>(p.above - 1);
    least.L = std::min(least.L, p.L);
    least.o_send = std::min(least.o_send, p.o_send);
    least.o_recv = std::min(least.o_recv, p.o_recv);
    least.g = std::min(least.g, p.g);
    least.G = std::min(least.G, part * p.G);
    least.O = std::min(least.O, part * p.O);
    least.O_recv = std::min(*least.O_recv, part * p.O_recv.value_or(p.O));
  }
  return least;
}

/// Picoseconds of a copy or reduction: on the lines between the times that are given; of fewer bytes as of the fewest,
/// of more in proportion.
inline double time_between(const std::vector<WorkTime>& times, std::uint64_t bytes) {
  const auto next = std::ranges::lower_bound(times, bytes, {}, &WorkTime::bytes);
  if (next == times.begin()) return next->time;
  const WorkTime& last = *(next - 1);
  if (next == times.end()) return last.time * (static_cast<double>(bytes) / static_cast<double>(last.bytes));
  const double part = static_cast<double>(bytes - last.bytes) / static_cast<double>(next->bytes - last.bytes);
  return last.time + part * (next->time - last.time);
}

/// CPU time of a calc, copy or reduce.
inline Picoseconds work_of(const Operation& op, const SimulationOptions& options) {
  if (op.kind == OpKind::calc && options.compute_factor == 1) {
    if (op.amount > static_cast<std::uint64_t>(latest)) require_in_time(-1);
    return static_cast<Picoseconds>(op.amount);
  }
  const bool copies = op.kind == OpKind::copy, reduces = !copies && op.kind != OpKind::calc;
  double time = static_cast<double>(op.amount);
  if (copies) {
    time = options.copy_times.empty() ? time * options.copy_rate : time_between(options.copy_times, op.amount);
  } else if (reduces) {
    time = options.reduce_times.empty() ? time * options.reduce_rate : time_between(options.reduce_times, op.amount);
  }
  time *= options.compute_factor;
  if (!(time < static_cast<double>(latest))) require_in_time(-1);
  return static_cast<Picoseconds>(time + 0.5);
}

/// Answers for pairs of ranks; one for each simulation (it remembers the last size of each level).
class Costs {
 public:
  Costs(const LevelCost (&levels_in)[levels], const Places& places) : places_(&places) {
    for (int i = 0; i < levels; ++i) {
      level_[i] = levels_in[i];
      for (LevelCost& piece : level_[i].pieces) {
        piece.S = level_[i].S;
        piece.per_hop = level_[i].per_hop;
      }
      last_[i] = {level_[i].L, 0, 0, 0, &level_[i], i == static_cast<int>(Level::network)};
    }
    if (!is_uniform() && level_[static_cast<int>(Level::network)].per_hop != 0)
      ways_.resize(std::bit_ceil(std::clamp<std::size_t>(4 * places.node.size(), 16, std::size_t{1} << 13)));
  }

  [[nodiscard]] Level level_of(Rank a, Rank b) const {
    if (is_uniform() || places_->node[a] != places_->node[b]) return Level::network;
    return places_->socket[a] == places_->socket[b] ? Level::socket : Level::node;
  }

  /// Are all ranks equally far from each other?
  [[nodiscard]] bool is_uniform() const { return places_->topology == nullptr; }
  /// The largest message, in bytes, that is eager at the level.
  [[nodiscard]] std::uint64_t eager(Level level) const { return level_[static_cast<int>(level)].S; }

  /// of() where all ranks are equally far from each other.
  const MessageCost& uniform(std::uint64_t bytes) { return sized(static_cast<int>(Level::network), bytes); }

  /// The reference holds until the next call.
  const MessageCost& of(Rank from, Rank to, std::uint64_t bytes) {
    return is_uniform() ? uniform(bytes) : placed(from, to, bytes);
  }

 private:
  MessageCost& sized(int at, std::uint64_t bytes) {
    MessageCost& last = last_[at];
    if (bytes != bytes_[at]) {
      bytes_[at] = bytes;
      const LevelCost& c = level_[at].pieces.empty() ? level_[at] : piece_of(level_[at], bytes);
      last.level = &c;
      last.wire = c.L;
      last.bytes_G = bytes_after(c.after, bytes, c.G);
      last.bytes_O = bytes_after(c.after, bytes, c.O);
      last.bytes_O_recv = c.O_recv ? bytes_after(c.after, bytes, *c.O_recv) : last.bytes_O;
    }
    return last;
  }
  const MessageCost& placed(Rank from, Rank to, std::uint64_t bytes) {
    const auto at = static_cast<int>(level_of(from, to));
    MessageCost& last = sized(at, bytes);
    if (const LevelCost& level = *last.level; last.network && level.per_hop != 0)
      last.wire = level.L + further_on(places_->node[from], places_->node[to], level.per_hop);
    return last;
  }
  /// Latency of the links beyond the first. A message is asked for several times, and most pairs have many.
  Picoseconds further_on(Vertex from, Vertex to, Picoseconds per_hop) {
    const std::uint64_t pair = std::uint64_t{from} << 32 | to;
    Way& way = ways_[pair * 0x9E3779B97F4A7C15 >> 40 & (ways_.size() - 1)];
    if (way.pair == pair) return way.further;
    const std::uint32_t hops = places_->topology->route_length(from, to);
    const Picoseconds further = product(hops > 0 ? hops - 1 : 0, per_hop);
    if (further > longest_parameter) require_in_time(-1);
    way = {pair, further};
    return further;
  }

  struct Way {  // between two nodes
    std::uint64_t pair = ~std::uint64_t{0};
    Picoseconds further = 0;
  };

  LevelCost level_[levels];
  MessageCost last_[levels];          // of the last size at each level
  std::uint64_t bytes_[levels] = {};  // that size
  const Places* places_;
  std::vector<Way> ways_;  // those asked for lately, each at one place
};

}  // namespace isthmus::simulate

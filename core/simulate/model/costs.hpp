// What a message costs between two ranks.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "simulate/model/options.hpp"

namespace isthmus::simulate {

/// Costs of one message.
struct MessageCost {
  Picoseconds wire = 0;     ///< L with the distance
  Picoseconds bytes_G = 0;  ///< (s - 1) G
  Picoseconds bytes_O = 0;  ///< (s - 1) O
  const LevelCost* level = nullptr;
  [[nodiscard]] Picoseconds send_cpu() const { return level->o_send + bytes_O; }
  /// With Receive::loggopsim.
  [[nodiscard]] Picoseconds recv_all() const { return level->o_recv + (bytes_O > bytes_G ? bytes_O : bytes_G); }
  [[nodiscard]] Picoseconds recv_cpu() const { return level->o_recv + bytes_O; }
  /// From the first byte at the receiver's interface until its CPU can begin, so that it ends o after the last byte.
  [[nodiscard]] Picoseconds ahead_of_cpu() const { return bytes_G > bytes_O ? bytes_G - bytes_O : 0; }
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
  // What has gone beyond 64 bits is negative.
  require(time >= 0 && time <= latest, "simulated time goes beyond ", latest / 1'000'000'000'000,
          " s: allowed are times up to that; shorter computations and fewer bytes take less");
}

/// a times b; throws InvalidInput where that is too long.
inline Picoseconds product(Picoseconds a, Picoseconds b) {
  Picoseconds result = 0;
  require_in_time(__builtin_mul_overflow(a, b, &result) ? -1 : result);
  return result;
}

/// Longest time of a message, 20 hours: sums of many fit 64 bits.
inline constexpr Picoseconds longest_message = Picoseconds{1} << 56;

/// (s - 1) bytes at a rate, to the nearest picosecond.
inline Picoseconds bytes_after_first(std::uint64_t bytes, double rate) {
  if (bytes <= 1 || rate == 0) return 0;
  const double time = static_cast<double>(bytes - 1) * rate;
  require(time < static_cast<double>(longest_message), "a message of ", bytes, " bytes at ", rate / 1e12,
          " s per byte: it may take up to ", longest_message / 1'000'000'000'000, " s");
  return static_cast<Picoseconds>(time + 0.5);
}

/// CPU time of a calc, copy or reduce.
inline Picoseconds work_of(const Operation& op, const SimulationOptions& options) {
  if (op.kind == OpKind::calc && options.compute_factor == 1) {
    if (op.amount > static_cast<std::uint64_t>(latest)) require_in_time(-1);
    return static_cast<Picoseconds>(op.amount);
  }
  const double rate = (op.kind == OpKind::calc   ? 1
                       : op.kind == OpKind::copy ? options.copy_rate
                                                 : options.reduce_rate) *
                      options.compute_factor;
  const double time = static_cast<double>(op.amount) * rate;
  if (!(time < static_cast<double>(latest))) require_in_time(-1);
  return static_cast<Picoseconds>(time + 0.5);
}

/// Answers for pairs of ranks; one for each simulation (it remembers the last size of each level).
class Costs {
 public:
  Costs(const LevelCost (&levels_in)[levels], const Places& places) : places_(&places) {
    for (int i = 0; i < levels; ++i) {
      level_[i] = levels_in[i];
      last_[i] = {level_[i].L, 0, 0, &level_[i]};
    }
  }

  [[nodiscard]] Level level_of(Rank a, Rank b) const {
    if (is_uniform() || places_->node[a] != places_->node[b]) return Level::network;
    return places_->socket[a] == places_->socket[b] ? Level::socket : Level::node;
  }

  /// Are all ranks equally far from each other?
  [[nodiscard]] bool is_uniform() const { return places_->topology == nullptr; }
  /// The largest message, in bytes, that is eager at the level.
  [[nodiscard]] std::uint64_t eager(Level level) const { return level_[static_cast<int>(level)].S; }

  [[nodiscard]] bool is_network(const MessageCost& cost) const {
    return cost.level == &level_[static_cast<int>(Level::network)];
  }

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
      last.bytes_G = bytes_after_first(bytes, level_[at].G);
      last.bytes_O = bytes_after_first(bytes, level_[at].O);
    }
    return last;
  }
  const MessageCost& placed(Rank from, Rank to, std::uint64_t bytes) {
    const auto at = static_cast<int>(level_of(from, to));
    const LevelCost& level = level_[at];
    MessageCost& last = sized(at, bytes);
    if (at == static_cast<int>(Level::network) && level.per_hop != 0) {
      const std::uint32_t hops = places_->topology->route_length(places_->node[from], places_->node[to]);
      const Picoseconds further = product(hops > 0 ? hops - 1 : 0, level.per_hop);
      if (further > longest_parameter) require_in_time(-1);
      last.wire = level.L + further;
    }
    return last;
  }

  LevelCost level_[levels];
  MessageCost last_[levels];          // of the last size at each level
  std::uint64_t bytes_[levels] = {};  // that size
  const Places* places_;
};

}  // namespace isthmus::simulate

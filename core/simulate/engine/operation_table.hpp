// Operations by what they do rather than one by one: most schedules repeat a few sizes and tags, and an event that says
// which of them it is needs no look at its operation, far away in memory.
#pragma once

#include <cstdint>
#include <memory>

#include "schedule/schedule.hpp"
#include "simulate/engine/event_queue.hpp"

namespace isthmus::simulate {
using namespace schedule;

class OperationTable {
 public:
  explicit OperationTable(const Schedule& schedule) : ops_(schedule.ops.data()), known_(new Operation[size]()) {
    for (std::size_t i = 0; i < size; ++i) known_[i].mode = vacant;
  }

  /// The part of the operation that its events carry.
  std::uint64_t what(std::uint64_t op) {
    const Operation& o = ops_[op];
    if (!alike(known_[last_], o) && !find(o)) return op;
    return op | static_cast<std::uint64_t>(last_) << Event::op_bits;
  }
  /// The operation of an event, but for its peer and its dependencies.
  [[nodiscard]] const Operation& of(const Event& event) const { return of(event.subject()); }
  [[nodiscard]] const Operation& of(std::uint64_t what) const {
    const std::uint64_t known = what >> Event::op_bits;
    return known != 0 ? known_[known] : ops_[what & ((std::uint64_t{1} << Event::op_bits) - 1)];
  }

 private:
  static constexpr std::uint32_t size = 4096;
  static constexpr std::uint8_t vacant = 255;

  static bool alike(const Operation& a, const Operation& b) {
    return a.amount == b.amount && a.tag == b.tag && a.comm == b.comm && a.kind == b.kind && a.cpu == b.cpu &&
           a.nic == b.nic && a.mode == b.mode;
  }
  /// False where another operation has taken the place.
  bool find(const Operation& o) {
    std::uint64_t h = (o.amount ^ std::uint64_t{o.tag} << 32 ^ o.comm) * 0x9e3779b97f4a7c15ULL;
    h = (h ^ h >> 32 ^ static_cast<std::uint8_t>(o.kind) ^ std::uint64_t{o.cpu} << 8 ^ std::uint64_t{o.nic} << 16) *
        0xbf58476d1ce4e5b9ULL;
    const auto at = static_cast<std::uint32_t>(h >> 52);
    if (at == 0) return false;  // 0 stands for "look at the operation"
    if (known_[at].mode == vacant) known_[at] = o;
    if (!alike(known_[at], o)) return false;
    last_ = at;
    return true;
  }

  const Operation* ops_;
  std::unique_ptr<Operation[]> known_;
  std::uint32_t last_ = 0;
};

}  // namespace isthmus::simulate

// Which router of which group the global links of a dragonfly join.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/divider.hpp"

namespace isthmus::topology {

/// How the global ports of a group are assigned to the other groups (Camarero, Vallejo and Beivide, "Topological
/// characterization of Hamming and dragonfly networks and its implications on routing", 2014).
enum class Arrangement : std::uint8_t {
  absolute,  ///< port s of group g leads to group s, or s + 1 from g on
  relative,  ///< port s of group g leads to group g + 1 + s (modulo groups)
};

Arrangement arrangement_from(std::string_view name);
std::string name_of(Arrangement arrangement);

/// Every group has `copies` links to each of the g - 1 others. Its used ports are numbered 0 .. ports() - 1, copy c of
/// slot s being port c (g - 1) + s, and spread evenly, in order, over the group's `carriers` (routers of a dragonfly,
/// spines of a dragonfly+): port q is on carrier floor(q * carriers / ports()). Both ends of a link have the same copy.
class GlobalLinks {
 public:
  GlobalLinks() = default;
  /// copies = 0: as many as `carriers * ports_per_carrier` ports allow. Throws InvalidInput, naming `kind`.
  GlobalLinks(const std::string& kind, Arrangement arrangement, std::uint32_t groups, std::uint32_t carriers,
              std::uint32_t ports_per_carrier, std::uint32_t copies);

  [[nodiscard]] Arrangement arrangement() const { return arrangement_; }
  [[nodiscard]] std::uint32_t groups() const { return groups_; }
  [[nodiscard]] std::uint32_t copies() const { return copies_; }
  [[nodiscard]] std::uint32_t carriers() const { return carriers_; }
  [[nodiscard]] const Divider& port_divider() const { return ports_; }
  [[nodiscard]] std::uint32_t ports() const { return ports_.divisor() * (groups_ > 1); }

  /// Slot of `group` that leads to `other`.
  [[nodiscard]] std::uint32_t slot(std::uint32_t group, std::uint32_t other) const {
    if (arrangement_ == Arrangement::absolute) return other - (other > group);
    return other > group ? other - group - 1 : other + groups_ - group - 1;
  }
  [[nodiscard]] std::uint32_t target(std::uint32_t group, std::uint32_t slot) const {
    if (arrangement_ == Arrangement::absolute) return slot + (slot >= group);
    const std::uint32_t sum = group + 1 + slot;
    return sum >= groups_ ? sum - groups_ : sum;
  }
  [[nodiscard]] std::uint32_t port(std::uint32_t slot, std::uint32_t copy) const {
    return copy * others_.divisor() + slot;
  }
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t port) const { return others_.remainder(port); }
  [[nodiscard]] std::uint32_t copy_of(std::uint32_t port) const { return others_.quotient(port); }
  [[nodiscard]] std::uint32_t carrier(std::uint32_t port) const { return ports_.quotient(port * carriers_); }
  /// First port of a carrier; the carrier's ports end where the next one's begin.
  [[nodiscard]] std::uint32_t first_port(std::uint32_t carrier) const {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(carrier) * ports() + carriers_ - 1) / carriers_);
  }
  /// Most ports that one carrier has.
  [[nodiscard]] std::uint32_t most_ports() const { return most_ports_; }
  /// Most carriers from one port to the next.
  [[nodiscard]] std::uint32_t carriers_between() const { return carriers_between_; }
  /// The port at the other end of `group`'s `port`.
  [[nodiscard]] std::uint32_t peer_port(std::uint32_t group, std::uint32_t port_number) const {
    return port(slot(target(group, slot_of(port_number)), group), copy_of(port_number));
  }
  /// Copies [first, second) of the links to a slot that are on a carrier.
  struct Range {
    std::uint32_t first;
    std::uint32_t last;
  };
  [[nodiscard]] Range copies_on(std::uint32_t carrier, std::uint32_t slot) const {
    // Copies c with begin <= c (g - 1) + slot < end.
    const std::uint32_t begin = first_port(carrier);
    const std::uint32_t end = first_port(carrier + 1);
    const auto count_below = [&](std::uint32_t bound) {
      return bound <= slot ? 0 : others_.quotient(bound - slot + others_.divisor() - 1);
    };
    return {count_below(begin), count_below(end)};
  }

 private:
  Arrangement arrangement_ = Arrangement::absolute;
  std::uint32_t groups_ = 1;
  std::uint32_t carriers_ = 1;
  std::uint32_t copies_ = 0;
  std::uint32_t most_ports_ = 0;
  std::uint32_t carriers_between_ = 1;
  Divider others_;
  Divider ports_;
};

}  // namespace isthmus::topology

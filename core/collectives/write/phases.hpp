// Messages of several pieces, phase by phase.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/write/copy_list.hpp"

namespace isthmus::collectives {

/// Operations of one rank if all ranks do the same. Messages of a phase are exchanged when all of the phase before are.
/// Pieces are sent from where they are, or packed; as many bytes come in their stead.
class Phases {
 public:
  struct Arrival {
    Slice at;
    std::uint32_t by;
  };

  explicit Phases(Emitter& out) : out_(out) {}

  /// Begins the next phase, if there is something in this one.
  void next() {
    if (!now_.empty()) before_ = std::exchange(now_, {});
  }
  /// `home`: where what comes is to stay; none: it goes on, and is in scratch until then.
  Arrival exchange(const CopyList& pieces, Rank to, Rank from, std::optional<Slice> home) {
    const std::uint32_t sent = pieces.send(out_, to, at_scratch(room_));
    if (pieces.several()) room_ += pieces.bytes();
    const Slice at = home.value_or(at_scratch(room_));
    if (!home) room_ += pieces.bytes();
    const std::uint32_t taken = out_.recv(from, pieces.bytes(), at);
    for (const std::uint32_t op : before_) {
      out_.require(sent, op);
      out_.require(taken, op);
    }
    now_.push_back(sent);
    now_.push_back(taken);
    return {at, taken};
  }

 private:
  Emitter& out_;
  std::uint64_t room_ = 0;  // scratch used so far
  std::vector<std::uint32_t> before_;
  std::vector<std::uint32_t> now_;
};

}  // namespace isthmus::collectives

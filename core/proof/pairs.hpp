// Which send meets which receive, where that does not depend on time.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "proof/defects.hpp"
#include "proof/local_order.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// The other side of every send and receive.
///
/// Messages of one source, target, tag and communicator meet in the order in which they are posted. Receives from any
/// rank or of any tag are taken for what they must get where only one source and tag is possible.
class Pairs {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  explicit Pairs(const Schedule& schedule);

  /// Enters the messages of one rank, whose order is loaded; ranks come in their order. Adds a defect where messages of
  /// one channel may be posted in another order. Throws Unsupported for a receive that several channels could answer.
  void add(Rank rank, LocalOrder& order, Defects& defects);
  /// Matches, when all ranks are in. Adds a defect for every message without its other side or of another size.
  void match(Defects& defects);

  /// The operation of the peer that a send or receive meets; `none` if it meets none.
  [[nodiscard]] std::uint32_t partner(Rank rank, std::uint32_t op) const {
    return partner_[schedule_.op_first[rank] + op];
  }
  /// The peer of a message, also where a receive names any rank.
  [[nodiscard]] Rank peer(Rank rank, std::uint32_t op) const;
  [[nodiscard]] std::uint64_t messages() const { return messages_; }

 private:
  struct Channel {
    std::uint32_t comm;
    Rank peer;
    std::uint32_t tag;
    auto operator<=>(const Channel&) const = default;
  };
  /// A send or a receive, in the order of its channel.
  struct Side {
    Channel channel;
    std::uint32_t position;
    std::uint32_t op;
    auto operator<=>(const Side&) const = default;
  };

  void check_order(Rank rank, LocalOrder& order, Defects& defects) const;
  [[nodiscard]] bool posted_before(std::span<const Operation> ops, LocalOrder& order, const Side& a,
                                   const Side& b) const;
  [[nodiscard]] Channel resolved(Rank rank, std::uint32_t op, Channel channel);
  void meet(Rank source, const Side& send, Rank target, const Side& recv, Defects& defects);
  void lonely(Rank rank, const Side& side, std::size_t sends, std::size_t recvs, Defects& defects) const;

  const Schedule& schedule_;
  std::vector<std::uint32_t> partner_;
  std::vector<std::uint64_t> first_;  // of the sends to each rank in sent_, and the end
  std::vector<std::uint64_t> next_;
  std::vector<Side> sent_;                                  // the peer of a channel is the source
  std::vector<std::uint64_t> recv_first_{0};                // of the receives of each rank in recvs_
  std::vector<Side> recvs_;                                 // sorted by channel
  std::unordered_map<Rank, std::vector<Channel>> arrives_;  // what is sent to ranks with wildcards
  std::unordered_map<std::uint64_t, Rank> sources_;         // of receives from any rank, by operation
  std::vector<Side> sides_;
  std::uint64_t messages_ = 0;
};

}  // namespace isthmus::proof

#include <bit>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"
#include "collectives/write/copy_list.hpp"
#include "collectives/write/doubling.hpp"
#include "collectives/write/groups.hpp"

namespace isthmus::collectives::hierarchical {
namespace {

/// What the first rank of a group does with the blocks of its members.
class Leader {
 public:
  Leader(const CollectiveCall& call, Emitter& out)
      : call_(call),
        out_(out),
        groups_(groups_of(call)),
        group_(groups_.of(call.rank)),
        own_(groups_.members(group_)) {}

  void work() {
    collect();
    exchange();
    for (std::size_t member = 0; member < own_.size(); ++member) hand_out(member);
  }

 private:
  /// Where the block of the n-th own member for a rank is.
  struct Place {
    Slice at;
    std::uint32_t by;
  };

  Slice room(std::uint64_t blocks) {
    const Slice at = at_scratch(used_);
    used_ += blocks * call_.bytes;
    return at;
  }

  /// All blocks of all members.
  void collect() {
    vectors_.push_back({at_input(), no_operation});
    for (std::size_t member = 1; member < own_.size(); ++member) {
      const Slice at = room(call_.ranks);
      vectors_.push_back({at, out_.recv(own_[member], call_.ranks * call_.bytes, at)});
    }
  }

  /// To the group i further on the blocks of every own member for every one of its members, in this order.
  void exchange() {
    const Rank count = groups_.count();
    came_.assign(count, {});
    std::uint32_t before[2] = {no_operation, no_operation};
    for (Rank i = 1; i < count; ++i) {
      const Rank to = (group_ + std::uint64_t{i}) % count;
      const Rank from = (group_ + std::uint64_t{count} - i) % count;
      CopyList pieces;
      for (const Place& vector : vectors_) {
        for (const Rank rank : groups_.members(to)) pieces.add(vector.at + rank * call_.bytes, call_.bytes, vector.by);
      }
      const Slice packed = pieces.several() ? room(own_.size() * groups_.members(to).size()) : at_input();
      const std::uint32_t sent = pieces.send(out_, groups_.leader(to), packed);
      const Slice at = room(own_.size() * groups_.members(from).size());
      const std::uint64_t bytes = own_.size() * groups_.members(from).size() * call_.bytes;
      const std::uint32_t taken = out_.recv(groups_.leader(from), bytes, at);
      for (const std::uint32_t op : before) {
        if (op == no_operation) continue;
        out_.require(sent, op);
        out_.require(taken, op);
      }
      before[0] = sent;
      before[1] = taken;
      came_[from] = {at, taken};
    }
  }

  /// Everything for one member, in the order of ranks. In place the leader's own block is there.
  void hand_out(std::size_t member) {
    CopyList pieces;
    for (Rank rank = 0; rank < call_.ranks; ++rank) {
      if (rank == call_.rank && member == 0 && call_.in_place) continue;
      const Place from = place_of(rank, member);
      pieces.add(from.at, call_.bytes, from.by, rank * call_.bytes);
    }
    if (member == 0) {
      pieces.copy(out_, at_output());
    } else {
      pieces.send(out_, own_[member], pieces.several() ? room(call_.ranks) : at_input());
    }
  }
  /// Place of the block that any rank has for a member.
  [[nodiscard]] Place place_of(Rank rank, std::size_t member) const {
    const Rank group = groups_.of(rank);
    const std::uint64_t place = groups_.place(rank);
    if (group == group_) return {vectors_[place].at + own_[member] * call_.bytes, vectors_[place].by};
    return {came_[group].at + (place * own_.size() + member) * call_.bytes, came_[group].by};
  }

  const CollectiveCall& call_;
  Emitter& out_;
  const Groups& groups_;
  Rank group_;
  std::span<const Rank> own_;
  std::uint64_t used_ = 0;  // of scratch
  std::vector<Place> vectors_;
  std::vector<Place> came_;  // by group
};

}  // namespace

void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Groups& groups = groups_of(call);
  const Rank group = groups.of(call.rank);
  const auto members = groups.members(group);
  const std::size_t me = groups.place(call.rank);
  Sum sum(call, true);
  // Up and down a binomial tree in the group; the child `bit` further on heads as many places.
  const std::size_t parent = me == 0 ? std::bit_ceil(members.size()) : me & (~me + 1);
  for (std::size_t bit = 1; bit < parent && me + bit < members.size(); bit <<= 1) sum.take(rounds, members[me + bit]);
  if (me == 0) {
    double_sums(rounds, call, sum, PowerOfTwo(group, groups.count()), group, [&](Rank g) { return groups.leader(g); });
  } else {
    rounds.send(members[me - parent], call.bytes, sum.now());
    rounds.next();
    rounds.recv(members[me - parent], call.bytes, at_output());
  }
  rounds.next();
  for (std::size_t bit = parent >> 1; bit != 0; bit >>= 1) {
    if (me + bit < members.size()) rounds.send(members[me + bit], call.bytes, at_output());
  }
}

void alltoall(const CollectiveCall& call, Emitter& out) {
  // Leaders would have to know the counts of others.
  if (!call.counts.empty()) return pairwise::alltoall(call, out);
  const Groups& groups = groups_of(call);
  if (groups.place(call.rank) == 0) {
    Leader(call, out).work();
    return;
  }
  const Rank leader = groups.leader(groups.of(call.rank));
  const std::uint64_t all = call.ranks * call.bytes;
  const std::uint32_t sent = out.send(leader, all, at_input());
  out.require(out.recv(leader, all, at_output()), sent);
}

}  // namespace isthmus::collectives::hierarchical

#include "schedule/communicators.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace isthmus::schedule {

Communicators::Communicators(const Program& program)
    : ranks_(program.ranks),
      first_(program.comm_first),
      members_(program.comm_ranks),
      states_(std::max<std::size_t>(program.comm_first.size(), 2) - 1) {
  const std::size_t listed = first_.empty() ? 0 : first_.size() - 1;
  require(listed < 0x7FFFFFFF, listed, " communicators are too many: at most 2147483646 are allowed");
  require(first_.empty() ? members_.empty() : first_.front() == 0 && first_.back() == members_.size(),
          "comm_first does not lead from 0 to the end of comm_ranks, ", members_.size());
  for (std::size_t c = 0; c < listed; ++c) {
    require(first_[c] <= first_[c + 1], "comm_first falls at communicator ", c);
    require(first_[c + 1] - first_[c] <= ranks_ || c == 0, "communicator ", c, " has ", first_[c + 1] - first_[c],
            " members, the program ", ranks_, " ranks");
  }
  if (listed < 2) return;
  // Memberships sorted by world rank; those of a rank stay in the order of communicators.
  const std::uint64_t start = first_[1];
  mine_first_.assign(std::size_t{ranks_} + 1, 0);
  for (std::uint64_t i = start; i < members_.size(); ++i) {
    require(members_[i] < ranks_, "comm_ranks holds rank ", members_[i], ", but the program has ", ranks_, " ranks");
    ++mine_first_[members_[i] + std::size_t{1}];
  }
  for (std::size_t r = 0; r < ranks_; ++r) mine_first_[r + 1] += mine_first_[r];
  std::vector<std::uint64_t> next(mine_first_.begin(), mine_first_.end() - 1);
  mine_.resize(members_.size() - start);
  for (std::uint32_t c = 1; c < listed; ++c) {
    for (Rank place = 0; place < size(c); ++place) {
      const Rank rank = members_[first_[c] + place];
      std::uint64_t& at = next[rank];
      require(at == mine_first_[rank] || mine_[at - 1].comm != c, "communicator ", c, " has rank ", rank, " twice");
      mine_[at++] = {c, place};
    }
  }
}

void Communicators::enter(Rank rank) {
  rank_ = rank;
  states_[0] = {rank, rank, 0};
  if (mine_first_.empty()) return;
  for (std::uint64_t i = mine_first_[rank]; i < mine_first_[std::size_t{rank} + 1]; ++i) {
    states_[mine_[i].comm] = {rank, mine_[i].place, 0};
  }
}

}  // namespace isthmus::schedule

// Max-min fair rates of all bundles, group by group: a group are those that the same link holds back. Progressive
// filling needs to know of a link how much of it is left and how many flows over it have no rate yet, and a group takes
// its part of every link that its routes cross at once. Bundles are looked at only where they get another bottleneck.
#include <algorithm>

#include "simulate/network/clean.hpp"
#include "simulate/network/fair_share.hpp"

namespace isthmus::simulate {

void FairShare::group_all() {
  groups_.clear();
  groups_.resize(links_.size());
  listed_.resize(route_.size());
  member_.resize(flows_.size());
  crossings_ = idle_ = 0;
  calm_ = 0;
  for (FlowId id = 0; id < flows_.size(); ++id) {
    const Flow& flow = flows_[id];
    if (flow.weight == 0) continue;
    for (const std::uint32_t l : links(id)) {
      groups_[l].weight += flow.weight;
      if (flow.bottleneck == no_link) groups_[l].unheld += flow.weight;
    }
    if (flow.bottleneck != no_link) groups_[flow.bottleneck].members.push_back(id);
  }
  for (std::uint32_t l = 0; l < groups_.size(); ++l) {
    std::vector<FlowId> members;
    members.swap(groups_[l].members);
    for (const FlowId id : members) join_group(id, l);
  }
}

void FairShare::ungroup() {
  std::vector<Group>().swap(groups_);
  wide_ = crowded_ = 0;
  for (std::uint32_t l = 0; l < links_.size(); ++l)
    tight_[l] = links_[l].held > 0 || links_[l].load >= roomy * links_[l].capacity;
}

/// Puts a bundle into the group of a link; its members have been told apart by a Group::looker of theirs.
void FairShare::join_group(FlowId id, std::uint32_t l) {
  const Flow& flow = flows_[id];
  std::vector<Crossing>& crossings = groups_[l].crossings;
  for (std::uint32_t at = flow.first; at < flow.first + flow.length; ++at) {
    Group& crossed = groups_[route_[at]];
    if (crossed.looker != l) {
      crossed.looker = l;
      crossed.listed = static_cast<std::uint32_t>(crossings.size());
      crossed.crossed.push_back({l, crossed.listed});
      crossings.push_back({route_[at], 0});
      ++crossings_;
      ++idle_;
    }
    Crossing& crossing = crossings[crossed.listed];
    if (crossing.weight == 0) --idle_;
    crossing.weight += flow.weight;
    listed_[at] = crossed.listed;
  }
  member_[id] = static_cast<std::uint32_t>(groups_[l].members.size());
  groups_[l].members.push_back(id);
}

void FairShare::leave_group(FlowId id) {
  const Flow& flow = flows_[id];
  Group& group = groups_[flow.bottleneck];
  for (std::uint32_t at = flow.first; at < flow.first + flow.length; ++at) {
    Crossing& crossing = group.crossings[listed_[at]];
    crossing.weight -= flow.weight;
    if (crossing.weight == 0) ++idle_;
  }
  const FlowId last = group.members.back();
  group.members[member_[id]] = last;
  member_[last] = member_[id];
  group.members.pop_back();
}

/// The bundle gets another number of flows; 0 if it goes.
void FairShare::count_weight(FlowId id, std::uint32_t weight) {
  const Flow& flow = flows_[id];
  const std::uint32_t more = weight - flow.weight;  // modulo 2^32, as all sums of it
  const bool held = flow.bottleneck != no_link;
  if (held && weight == 0) leave_group(id);
  for (std::uint32_t at = flow.first; at < flow.first + flow.length; ++at) {
    Group& link = groups_[route_[at]];
    link.weight += more;
    if (!held) link.unheld += more;
    else if (weight > 0) groups_[flow.bottleneck].crossings[listed_[at]].weight += more;
  }
}

/// A bundle that nobody has given a rate yet gets the link for its bottleneck.
void FairShare::move(FlowId id, std::uint32_t l) {
  Flow& flow = flows_[id];
  if (flow.bottleneck == no_link) {
    for (const std::uint32_t m : links(id)) groups_[m].unheld -= flow.weight;
  } else {
    leave_group(id);
    --links_[flow.bottleneck].held;
  }
  flow.bottleneck = l;
  ++links_[l].held;
  join_group(id, l);
}

void FairShare::set_rate(FlowId id, double rate) {
  const double before = flows_[id].rate;
  flows_[id].rate = rate;
  if (above(rate, before) || above(before, rate)) changed_.push_back(id);
}

/// The link holds back all bundles over it that have no rate yet.
void FairShare::hold_back(std::uint32_t l, double share, double level) {
  Group& group = groups_[l];
  Link& link = links_[l];
  // Those of a group whose link is just as full may stay in it: it gets the same level.
  const auto stays = [&](std::uint32_t other) {
    const Link& o = links_[other];
    return groups_[other].fixed ||
           (o.left <= o.count * share * (1 + tolerance) && clean(std::max(o.left, 0.0) / o.count) == level);
  };
  bool all_stay = group.unheld == 0;
  for (const Crossed& c : group.crossed) {
    if (!all_stay) break;
    all_stay = c.group == l || groups_[c.group].crossings[c.at].weight == 0 || stays(c.group);
  }
  const std::size_t before = group.members.size();
  if (!all_stay) {
    for (std::uint32_t i = 0; i < group.crossings.size(); ++i) {
      groups_[group.crossings[i].link].looker = l;
      groups_[group.crossings[i].link].listed = i;
    }
    for (const Passage& p : passages_[l]) {
      const std::uint32_t other = flows_[p.flow].bottleneck;
      if (other != l && (other == no_link || !stays(other))) move(p.flow, l);
    }
    solved_ += group.members.size() - before;
  }
  for (const Crossing& c : group.crossings) {
    if (c.weight == 0) continue;
    Link& crossed = links_[c.link];
    crossed.left -= c.weight * level;
    crossed.count -= c.weight;
    if (crossed.count == 0 && crossed.open != 0) least_.raise(crossed.open - 1, MinTree::nothing);
  }
  least_.raise(link.open - 1, MinTree::nothing);
  group.fixed = true;
  for (std::size_t i = before > 0 && level == link.level ? before : 0; i < group.members.size(); ++i)
    set_rate(group.members[i], level);
  link.level = level;
}

void FairShare::solve_groups() {
  if (crossings_ > 2 * (crossings_ - idle_) + 1024) group_all();
  // Open are links that may fill up before all flows are at their cap: shares only grow.
  least_.clear();
  open_.clear();
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    Link& link = links_[l];
    groups_[l].fixed = false;
    link.left = link.capacity;
    link.count = groups_[l].weight;
    link.open = 0;
    if (link.count == 0 || !(link.capacity / link.count < cap_)) continue;
    open_.push_back(l);
    link.open = static_cast<std::uint32_t>(open_.size());
    least_.push_back(link.capacity / link.count);
  }
  least_.build();
  while (!open_.empty()) {
    const std::size_t lowest = least_.place();
    if (!(least_.value(lowest) < cap_)) break;
    const std::uint32_t l = open_[lowest];
    const double share = std::max(links_[l].left, 0.0) / links_[l].count;
    if (above(share, least_.value(lowest))) least_.raise(lowest, share);
    else hold_back(l, share, clean(share));
  }
  for (const std::uint32_t l : open_) links_[l].open = 0;
  open_.clear();
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    Link& link = links_[l];
    link.load = link.capacity - link.left + (link.count > 0 ? link.count * cap_ : 0.0);
    if (groups_[l].fixed || link.held == 0) continue;
    while (!groups_[l].members.empty()) {
      const FlowId id = groups_[l].members.back();
      leave_group(id);
      flows_[id].bottleneck = no_link;
      for (const std::uint32_t m : links(id)) groups_[m].unheld += flows_[id].weight;
      set_rate(id, cap_);
    }
    link.held = 0;
  }
  for (const FlowId id : fresh_)
    if (flows_[id].weight > 0 && flows_[id].rate == 0) set_rate(id, cap_);
  fresh_.clear();
  // In the time of a rate that is found for its bundle alone: a group's takes a quarter, a crossing a sixteenth.
  solved_ += changed_.size() / 4 + crossings_ / 16;
}

}  // namespace isthmus::simulate

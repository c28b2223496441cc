#include "simulate/network/fair_share.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "simulate/network/clean.hpp"

namespace isthmus::simulate {
FairShare::FairShare(double cap) : cap_(cap > 0 ? cap : std::numeric_limits<double>::infinity()) {}

std::uint32_t FairShare::add_link(double capacity) {
  links_.emplace_back().capacity = capacity;
  passages_.emplace_back();
  tight_.push_back(0);
  is_touched_.push_back(0);
  if (grouped()) groups_.emplace_back();
  return static_cast<std::uint32_t>(links_.size() - 1);
}

std::uint32_t FairShare::take_route(std::uint8_t room) {
  if (!free_[room].empty()) {
    const std::uint32_t first = free_[room].back();
    free_[room].pop_back();
    return first;
  }
  const std::size_t first = route_.size();
  require(first + (std::size_t{1} << room) <= 0xFFFFFFFF, "more than 4 billion links of flows are in use at once");
  route_.resize(first + (std::size_t{1} << room));
  place_.resize(route_.size());
  return static_cast<std::uint32_t>(first);
}

void FairShare::touch(std::uint32_t link) {
  if (is_touched_[link] != 0 || links_[link].held == 0) return;
  is_touched_[link] = 1;
  touched_.push_back(link);
}

FairShare::FlowId FairShare::add(std::span<const std::uint32_t> links, std::uint32_t weight) {
  require(links.size() < (std::size_t{1} << 16), "a route of ", links.size(), " links: fewer than 65536 are allowed");
  FlowId id;
  if (unused_.empty()) {
    id = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
    state_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Flow& flow = flows_[id];
  flow = Flow{};
  state_[id] = State::settled;
  flow.weight = weight;
  flow.length = static_cast<std::uint16_t>(links.size());
  flow.room = static_cast<std::uint8_t>(std::bit_width(std::max<std::size_t>(links.size(), 1) - 1));
  flow.first = take_route(flow.room);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto at = static_cast<std::uint32_t>(flow.first + i);
    std::vector<Passage>& passages = passages_[links[i]];
    route_[at] = links[i];
    place_[at] = static_cast<std::uint32_t>(passages.size());
    passages.push_back({id, at});
  }
  if (!admit(id)) fresh_.push_back(id);
  if (grouped()) {
    member_.resize(flows_.size());
    listed_.resize(route_.size());
    for (const std::uint32_t l : links) {
      groups_[l].weight += weight;
      groups_[l].unheld += weight;
    }
  }
  return id;
}

void FairShare::set_weight(FlowId id, std::uint32_t weight) {
  Flow& flow = flows_[id];
  if (grouped()) count_weight(id, weight);
  for (const std::uint32_t l : links(id)) {
    Link& link = links_[l];
    link.load += (static_cast<double>(weight) - flow.weight) * flow.rate;
    if (above(link.load, link.capacity)) tight_[l] = 1;
    touch(l);
  }
  flow.weight = weight;
  if (weight == 0) detach(id);
  else if (flow.rate > 0) choose(id);
}

void FairShare::detach(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.bottleneck != no_link) --links_[flow.bottleneck].held;
  for (std::uint32_t at = flow.first; at < flow.first + flow.length; ++at) {
    std::vector<Passage>& passages = passages_[route_[at]];
    const Passage last = passages.back();
    passages[place_[at]] = last;
    place_[last.at] = place_[at];
    passages.pop_back();
    if (!passages.empty()) continue;
    links_[route_[at]].load = 0;
    tight_[route_[at]] = 0;
  }
  free_[flow.room].push_back(flow.first);
  flow.length = 0;
  gone_.push_back(id);
}

void FairShare::choose(FlowId id) {
  Flow& flow = flows_[id];
  if (state_[id] != State::settled || flow.weight == 0) return;
  state_[id] = State::chosen;
  flow.rate_before = flow.rate;
  chosen_.push_back(id);
}

void FairShare::choose_all() {
  for (FlowId id = 0; id < flows_.size(); ++id) choose(id);
}

void FairShare::choose_held(std::uint32_t link) {
  for (const Passage& p : passages_[link])
    if (flows_[p.flow].bottleneck == link) choose(p.flow);
}

/// Opens the links that may hold chosen bundles back.
void FairShare::open() {
  for (const std::uint32_t l : open_) links_[l].open = 0;
  open_.clear();
  for (const FlowId id : chosen_) {
    const Flow& flow = flows_[id];
    state_[id] = State::chosen;
    const double all = flow.weight * flow.rate;
    for (const std::uint32_t l : links(id)) {
      if (tight_[l] == 0) continue;
      Link& link = links_[l];
      if (link.open == 0) {
        open_.push_back(l);
        link.open = static_cast<std::uint32_t>(open_.size());
        link.left = link.capacity - link.load;
        link.count = 0;
        link.others = link.held;
        link.next_level = -1;
        link.fastest = 0;
      }
      link.count += flow.weight;
      link.left += all;
    }
    if (flow.bottleneck != no_link) --links_[flow.bottleneck].others;
  }
}

void FairShare::fix(FlowId id, double rate, std::uint32_t bottleneck) {
  Flow& flow = flows_[id];
  const double all = flow.weight * rate, more = all - flow.weight * flow.rate;
  state_[id] = State::fixed;
  flow.rate = rate;
  flow.next_bottleneck = bottleneck;
  for (const std::uint32_t l : links(id)) {
    Link& link = links_[l];
    if (tight_[l] == 0) {
      link.load += more;
      if (more > 0 && above(link.load, link.capacity)) overfull_.push_back(l);
      continue;
    }
    link.left -= all;
    link.count -= flow.weight;
    // Rates are given in ascending order.
    link.fastest = rate;
    if (link.count == 0) least_.raise(link.open - 1, MinTree::nothing);
  }
}

/// Progressive filling of the chosen bundles in what the others leave of the open links.
void FairShare::fill() {
  solved_ += chosen_.size();
  const auto share = [](const Link& l) { return std::max(l.left, 0.0) / l.count; };
  least_.clear();
  for (const std::uint32_t l : open_) least_.push_back(share(links_[l]));
  least_.build();
  std::size_t unfixed = chosen_.size();
  while (unfixed > 0 && !open_.empty()) {
    const std::size_t lowest = least_.place();
    if (!(least_.value(lowest) < cap_)) break;
    const std::uint32_t l = open_[lowest];
    const double s = share(links_[l]);
    // Links fill up more slowly as their flows are held back elsewhere: an old share is too low, if anything.
    if (above(s, least_.value(lowest))) {
      least_.raise(lowest, s);
      continue;
    }
    const double level = clean(s);
    links_[l].next_level = level;
    for (const Passage& p : passages_[l]) {
      if (state_[p.flow] != State::chosen) continue;
      fix(p.flow, level, l);
      --unfixed;
    }
  }
  if (unfixed > 0)
    for (const FlowId id : chosen_)
      if (state_[id] == State::chosen) fix(id, cap_, no_link);
}

/// Chooses those whose rate is not right any more; false if all are.
bool FairShare::spread() {
  const std::size_t before = chosen_.size();
  const bool overfull = !overfull_.empty();
  for (const std::uint32_t l : overfull_) tight_[l] = 1;
  overfull_.clear();
  for (const std::uint32_t l : open_) {
    Link& link = links_[l];
    link.load = link.capacity - link.left;
    // Others that the link held back: is it still full, and are they still among the fastest?
    if (link.others > 0 && (above(link.left, link.capacity * tolerance) || above(link.fastest, link.level)))
      choose_held(l);
    // Others that are faster than those that it holds back now. Where it was a bottleneck none was faster than that.
    if (link.next_level >= 0 && (link.held == 0 || above(link.level, link.next_level)))
      for (const Passage& p : passages_[l])
        if (state_[p.flow] == State::settled && above(flows_[p.flow].rate, link.next_level)) choose(p.flow);
  }
  return overfull || chosen_.size() > before;
}

void FairShare::settle() {
  for (const FlowId id : chosen_) {
    Flow& flow = flows_[id];
    state_[id] = State::settled;
    if (flow.bottleneck != no_link) --links_[flow.bottleneck].held;
    if (flow.next_bottleneck != no_link) {
      ++links_[flow.next_bottleneck].held;
      links_[flow.next_bottleneck].level = flow.rate;
    }
    flow.bottleneck = flow.next_bottleneck;
    if (above(flow.rate, flow.rate_before) || above(flow.rate_before, flow.rate)) changed_.push_back(id);
  }
  for (const std::uint32_t l : open_) {
    Link& link = links_[l];
    link.open = 0;
    if (link.held == 0 && link.load < roomy * link.capacity) tight_[l] = 0;
  }
  open_.clear();
  chosen_.clear();
}

/// Gives a new bundle its cap if all its links have room for that: nobody else is concerned.
bool FairShare::admit(FlowId id) {
  Flow& flow = flows_[id];
  const double all = flow.weight * cap_;
  bool room = true;
  for (const std::uint32_t l : links(id)) {
    if (links_[l].held == 0 && !above(links_[l].load + all, links_[l].capacity)) continue;
    tight_[l] = 1;
    room = false;
  }
  if (!room) return false;
  for (const std::uint32_t l : links(id)) links_[l].load += all;
  flow.rate = cap_;
  flow.bottleneck = no_link;
  return true;
}

/// New rates for the chosen, and for all that have to join them.
void FairShare::rate_chosen() {
  do {
    open();
    fill();
  } while (spread());
}

void FairShare::forget() {
  ISTHMUS_ASSERT(empty());
  for (const std::uint32_t l : touched_) is_touched_[l] = 0;
  touched_.clear();
  fresh_.clear();
  flows_.clear();
  state_.clear();
  unused_.clear();
  gone_.clear();
  chosen_.clear();
  changed_.clear();
  groups_.clear();
  wide_ = crowded_ = 0;
}

void FairShare::solve() {
  changed_.clear();
  unused_.insert(unused_.end(), gone_.begin(), gone_.end());
  gone_.clear();
  if (grouped()) solve_all();
  else solve_chosen();
}

/// All bundles anew, unless nothing has changed.
void FairShare::solve_all() {
  const bool same = touched_.empty() && chosen_.empty() && fresh_.empty();
  for (const std::uint32_t l : touched_) is_touched_[l] = 0;
  touched_.clear();
  for (const FlowId id : chosen_) state_[id] = State::settled;
  chosen_.clear();
  if (same) return;
  solve_groups();
  // Too many crossings were looked at for the few bundles that have changed.
  constexpr std::uint32_t calm = 8, crossings_of_one = 32;
  calm_ = crossings_of_one * changed_.size() < crossings_ ? calm_ + 1 : 0;
  if (calm_ == calm) ungroup();
}

void FairShare::solve_chosen() {
  // Bundles that have gone may have been chosen before.
  std::erase_if(chosen_, [&](FlowId id) { return flows_[id].weight == 0 || state_[id] == State::settled; });
  for (const std::uint32_t l : touched_) {
    is_touched_[l] = 0;
    if (links_[l].held > 0) choose_held(l);
  }
  touched_.clear();
  for (const FlowId id : fresh_) {
    if (flows_[id].weight == 0 || flows_[id].rate > 0 || state_[id] != State::settled) continue;
    choose(id);
    for (const std::uint32_t l : links(id))
      if (links_[l].held > 0) choose_held(l);
  }
  fresh_.clear();
  if (chosen_.empty()) return;
  // Where most changes reach most bundles in the end, taking all at once is cheaper than finding them out; groups are
  // cheaper still where there are many.
  constexpr std::uint32_t stay_wide = 8;
  constexpr std::size_t some = 64, many = 512;
  const std::size_t third = (flows_.size() - unused_.size()) / 3;
  if (wide_ > 0 && --wide_ > 0) {
    choose_all();
    rate_chosen();
  } else {
    const std::size_t few = chosen_.size();
    rate_chosen();
    if (chosen_.size() > 2 * few && chosen_.size() > std::max(some, third)) wide_ = stay_wide;
  }
  crowded_ = chosen_.size() > std::max(many, third) ? crowded_ + 1 : 0;
  settle();
  if (crowded_ == 2) group_all();
}

}  // namespace isthmus::simulate

#include "simulate/fair_share.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace isthmus {
namespace {

// Sums of rates are rounded; what differs by less is the same.
constexpr double tolerance = 1e-9;

bool above(double a, double b) { return a > b * (1 + tolerance); }

/// The number without its last 14 bits: what is the same but for rounding is the same then, whatever was added and
/// subtracted to get there. Flows that are alike stay alike, and rates do not depend on which others were solved too.
double clean(double rate) {
  constexpr std::uint64_t last = 1 << 14;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(rate) + last / 2) & ~(last - 1));
}

}  // namespace

FairShare::FairShare(double cap) : cap_(cap > 0 ? cap : std::numeric_limits<double>::infinity()) {}

std::uint32_t FairShare::add_link(double capacity) {
  links_.emplace_back().capacity = capacity;
  passages_.emplace_back();
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
  if (links_[link].touched) return;
  links_[link].touched = true;
  touched_.push_back(link);
}

FairShare::FlowId FairShare::add(std::span<const std::uint32_t> links, std::uint32_t weight) {
  require(links.size() < (std::size_t{1} << 16), "a route of ", links.size(), " links: fewer than 65536 are allowed");
  FlowId id;
  if (unused_.empty()) {
    id = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Flow& flow = flows_[id];
  flow = Flow{};
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
  fresh_.push_back(id);
  return id;
}

void FairShare::set_weight(FlowId id, std::uint32_t weight) {
  Flow& flow = flows_[id];
  for (const std::uint32_t l : links(id)) {
    Link& link = links_[l];
    link.load += (static_cast<double>(weight) - flow.weight) * flow.rate;
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
    if (passages.empty()) links_[route_[at]].load = 0;
  }
  free_[flow.room].push_back(flow.first);
  flow.length = 0;
  unused_.push_back(id);
}

void FairShare::choose(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.chosen || flow.weight == 0) return;
  flow.chosen = true;
  chosen_.push_back(id);
}

void FairShare::choose_held(std::uint32_t link) {
  for (const Passage& p : passages_[link])
    if (flows_[p.flow].bottleneck == link) choose(p.flow);
}

void FairShare::choose_all() {
  for (FlowId id = 0; id < flows_.size(); ++id) choose(id);
}

void FairShare::fix(FlowId id, double rate, std::uint32_t bottleneck) {
  Flow& flow = flows_[id];
  flow.fixed = true;
  flow.next_rate = rate;
  flow.next_bottleneck = bottleneck;
  const double all = flow.weight * rate;
  for (const std::uint32_t l : links(id)) {
    Link& link = links_[l];
    link.left -= all;
    link.count -= flow.weight;
    // Rates are given in ascending order.
    link.fastest = rate;
  }
}

/// Progressive filling of the chosen bundles in what the others leave of the links.
void FairShare::fill() {
  for (const std::uint32_t l : active_) links_[l].active = false;
  active_.clear();
  solved_ += chosen_.size();
  for (const FlowId id : chosen_) {
    Flow& flow = flows_[id];
    flow.fixed = false;
    const double all = flow.weight * flow.rate;
    for (const std::uint32_t l : links(id)) {
      Link& link = links_[l];
      if (!link.active) {
        active_.push_back(l);
        link.active = true;
        link.count = 0;
        link.left = link.capacity - link.load;
        link.others = link.held;
        link.next_level = -1;
        link.fastest = 0;
      }
      link.count += flow.weight;
      link.left += all;
    }
    if (flow.bottleneck != no_link) --links_[flow.bottleneck].others;
  }
  const auto share = [](const Link& l) { return std::max(l.left, 0.0) / l.count; };
  const auto later = [](const Level& p, const Level& q) {
    return p.share != q.share ? p.share > q.share : p.link > q.link;
  };
  heap_.clear();
  for (const std::uint32_t l : active_)
    if (const double s = share(links_[l]); !above(s, cap_)) heap_.push_back({s, l});
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Level lowest = heap_.back();
    heap_.pop_back();
    Link& link = links_[lowest.link];
    if (link.count == 0) continue;
    const double s = share(link);
    // Links fill up more slowly as their flows are held back elsewhere: an old share is too low, if anything.
    if (above(s, lowest.share)) {
      if (above(s, cap_)) continue;
      heap_.push_back({s, lowest.link});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    if (s >= cap_) break;
    link.next_level = clean(s);
    for (const Passage& p : passages_[lowest.link])
      if (flows_[p.flow].chosen && !flows_[p.flow].fixed) fix(p.flow, link.next_level, lowest.link);
  }
  for (const FlowId id : chosen_)
    if (!flows_[id].fixed) fix(id, cap_, no_link);
}

/// Chooses those whose rate is not right any more; false if there are none.
bool FairShare::spread() {
  const std::size_t before = chosen_.size();
  for (const std::uint32_t l : active_) {
    const Link& link = links_[l];
    // Others that the link held back: is it still full, and are they still among the fastest?
    if (link.others > 0 && (above(link.left, link.capacity * tolerance) || above(link.fastest, link.level)))
      choose_held(l);
    // Others that are faster than those that it holds back now. Where it was a bottleneck none was faster than that.
    if (link.next_level >= 0 && (link.held == 0 || above(link.level, link.next_level)))
      for (const Passage& p : passages_[l])
        if (!flows_[p.flow].chosen && above(flows_[p.flow].rate, link.next_level)) choose(p.flow);
  }
  return chosen_.size() > before;
}

void FairShare::settle() {
  for (const FlowId id : chosen_) {
    Flow& flow = flows_[id];
    flow.chosen = false;
    if (flow.bottleneck != no_link) --links_[flow.bottleneck].held;
    if (flow.next_bottleneck != no_link) {
      ++links_[flow.next_bottleneck].held;
      links_[flow.next_bottleneck].level = flow.next_rate;
    }
    flow.bottleneck = flow.next_bottleneck;
    if (above(flow.next_rate, flow.rate) || above(flow.rate, flow.next_rate)) changed_.push_back(id);
    flow.rate = flow.next_rate;
  }
  for (const std::uint32_t l : active_) {
    links_[l].load = links_[l].capacity - links_[l].left;
    links_[l].active = false;
  }
  active_.clear();
  chosen_.clear();
}

/// Gives a new bundle its cap if all its links have room for that: nobody else is concerned.
bool FairShare::admit(FlowId id) {
  Flow& flow = flows_[id];
  const double all = flow.weight * cap_;
  for (const std::uint32_t l : links(id))
    if (links_[l].held > 0 || above(links_[l].load + all, links_[l].capacity)) return false;
  for (const std::uint32_t l : links(id)) links_[l].load += all;
  flow.rate = cap_;
  flow.bottleneck = no_link;
  changed_.push_back(id);
  return true;
}

void FairShare::forget() {
  ISTHMUS_ASSERT(unused_.size() == flows_.size() && fresh_.empty() && touched_.empty());
  flows_.clear();
  unused_.clear();
  chosen_.clear();
  changed_.clear();
  wide_ = 0;
}

void FairShare::solve() {
  changed_.clear();
  // Bundles that have gone may have been chosen before.
  std::erase_if(chosen_, [&](FlowId id) { return flows_[id].weight == 0 || !flows_[id].chosen; });
  for (const std::uint32_t l : touched_) {
    links_[l].touched = false;
    if (links_[l].held > 0) choose_held(l);
  }
  touched_.clear();
  for (const FlowId id : fresh_) {
    if (flows_[id].weight == 0 || flows_[id].rate > 0 || flows_[id].chosen || admit(id)) continue;
    choose(id);
    for (const std::uint32_t l : links(id))
      if (links_[l].held > 0) choose_held(l);
  }
  fresh_.clear();
  if (chosen_.empty()) return;
  // Where most changes reach most bundles in the end, taking all at once is cheaper than finding them out.
  constexpr std::uint32_t stay_wide = 8;
  if (wide_ > 0 && --wide_ > 0) {
    choose_all();
    fill();
  } else {
    const std::size_t few = chosen_.size();
    do fill();
    while (spread());
    if (chosen_.size() > 2 * few && chosen_.size() > std::max<std::size_t>(64, (flows_.size() - unused_.size()) / 3))
      wide_ = stay_wide;
  }
  settle();
}

}  // namespace isthmus

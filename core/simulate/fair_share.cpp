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

}  // namespace

FairShare::FairShare(double cap) : cap_(cap > 0 ? cap : std::numeric_limits<double>::infinity()) {}

std::uint32_t FairShare::add_link(double capacity) {
  links_.emplace_back().capacity = capacity;
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
    Link& link = links_[links[i]];
    route_[at] = links[i];
    place_[at] = static_cast<std::uint32_t>(link.passages.size());
    link.passages.push_back({id, at});
    touch(links[i]);
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
  else fresh_.push_back(id);
}

void FairShare::detach(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.bottleneck != no_link) --links_[flow.bottleneck].held;
  for (std::uint32_t at = flow.first; at < flow.first + flow.length; ++at) {
    Link& link = links_[route_[at]];
    const Passage last = link.passages.back();
    link.passages[place_[at]] = last;
    place_[last.at] = place_[at];
    link.passages.pop_back();
    if (link.passages.empty()) link.load = 0;
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
  for (const Passage& p : links_[link].passages)
    if (flows_[p.flow].bottleneck == link) choose(p.flow);
}

void FairShare::fix(FlowId id, double rate, std::uint32_t bottleneck) {
  Flow& flow = flows_[id];
  flow.fixed = true;
  flow.next_rate = rate;
  flow.next_bottleneck = bottleneck;
  for (const std::uint32_t l : links(id)) {
    Active& a = active_[links_[l].active - 1];
    a.left -= flow.weight * rate;
    a.count -= flow.weight;
    a.fastest = std::max(a.fastest, rate);
  }
}

void FairShare::fix_rest(double rate) {
  for (const FlowId id : chosen_)
    if (!flows_[id].fixed) fix(id, rate, no_link);
}

/// Progressive filling of the chosen bundles in what the others leave of the links.
void FairShare::fill() {
  for (const Active& a : active_) links_[a.link].active = 0;
  active_.clear();
  solved_ += chosen_.size();
  for (const FlowId id : chosen_) {
    Flow& flow = flows_[id];
    flow.fixed = false;
    for (const std::uint32_t l : links(id)) {
      Link& link = links_[l];
      if (link.active == 0) {
        active_.push_back({l, 0, link.held, link.capacity - link.load});
        link.active = static_cast<std::uint32_t>(active_.size());
      }
      Active& a = active_[link.active - 1];
      a.count += flow.weight;
      a.left += flow.weight * flow.rate;
      if (flow.bottleneck == l) --a.held;
    }
  }
  const auto share = [](const Active& a) { return std::max(a.left, 0.0) / a.count; };
  const auto later = [](const Level& p, const Level& q) {
    return p.share != q.share ? p.share > q.share : p.active > q.active;
  };
  heap_.clear();
  for (std::uint32_t i = 0; i < active_.size(); ++i)
    if (const double s = share(active_[i]); !above(s, cap_)) heap_.push_back({s, i});
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Level lowest = heap_.back();
    heap_.pop_back();
    Active& a = active_[lowest.active];
    if (a.count == 0) continue;
    const double s = share(a);
    // Links fill up more slowly as their flows are held back elsewhere: an old share is too low, if anything.
    if (above(s, lowest.share)) {
      heap_.push_back({s, lowest.active});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    if (s >= cap_) break;
    a.level = s;
    for (const Passage& p : links_[a.link].passages)
      if (flows_[p.flow].chosen && !flows_[p.flow].fixed) fix(p.flow, s, a.link);
  }
  fix_rest(cap_);
}

/// Chooses those whose rate is not right any more; false if there are none.
bool FairShare::spread() {
  const std::size_t before = chosen_.size();
  for (const Active& a : active_) {
    const Link& link = links_[a.link];
    // Others that the link held back: is it still full, and are they still among the fastest?
    if (a.held > 0 && (above(a.left, link.capacity * tolerance) || above(a.fastest, link.level))) choose_held(a.link);
    // Others that are faster than those that it holds back now. Where it was a bottleneck none was faster than that.
    if (a.level >= 0 && (link.held == 0 || above(link.level, a.level)))
      for (const Passage& p : link.passages)
        if (!flows_[p.flow].chosen && above(flows_[p.flow].rate, a.level)) choose(p.flow);
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
  for (const Active& a : active_) {
    links_[a.link].load = links_[a.link].capacity - a.left;
    links_[a.link].active = 0;
  }
  active_.clear();
  chosen_.clear();
}

void FairShare::solve() {
  changed_.clear();
  for (const FlowId id : fresh_) choose(id);
  fresh_.clear();
  for (const std::uint32_t l : touched_) {
    links_[l].touched = false;
    if (links_[l].held > 0) choose_held(l);
  }
  touched_.clear();
  if (chosen_.empty()) return;
  do fill();
  while (spread());
  settle();
}

}  // namespace isthmus

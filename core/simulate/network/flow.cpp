#include "simulate/network/flow.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "simulate/model/costs.hpp"

namespace isthmus::simulate {
namespace {

// A part of the resolution: rates that change so much later change times by less than merging ends does.
constexpr double patience_part = 0.25;

}  // namespace

FlowNetwork::FlowNetwork(const SimulationOptions& options)
    : topology_(options.places.topology),
      router_(*topology_, options.route, options.seed),
      resolution_(options.resolution),
      per_byte_(least_of(options.cost[static_cast<int>(Level::network)]).G),
      nics_(options.places.nics),
      shares_(per_byte_ > 0 ? 1 / per_byte_ : 0),
      traffic_(topology_->links(), options.slices),
      log_routes_(options.detail == Detail::ops),
      index_(topology_->links() + std::size_t{topology_->nodes()} * nics_ * 2) {}

void FlowNetwork::send(const Passage& passage) { starts_.push({passage, order_++}); }

Picoseconds FlowNetwork::next() const {
  Picoseconds time = never;
  if (!starts_.empty()) time = starts_.top().passage.leaves;
  if (!ends_.empty()) time = std::min(time, ends_.front().time);
  return std::min(time, due_);
}

void FlowNetwork::advance(Picoseconds now, std::vector<Passed>& passed) {
  // When rates change anyway, flows that are nearly through leave with those that are: they are told their own time,
  // and the others get the rest of their share a little early.
  while (!ends_.empty() && ends_.front().time - now <= grace(ends_.front().bundle, now))
    take_ended(ends_.front().bundle, now, passed);
  for (; !starts_.empty() && starts_.top().passage.leaves <= now; starts_.pop())
    start(starts_.top().passage, starts_.top().order);
  if (due_ <= now) solve(now);
  for (const FairShare::FlowId id : stale_) {
    Bundle& b = bundles_[id];
    b.stale = false;
    // One that still has to get a rate.
    if (!b.empty && b.rate > 0) set_end(id, end_of(b));
  }
  stale_.clear();
  if (starts_.empty() && shares_.empty()) {
    // Nothing depends on what was before.
    shares_.forget();
    bundles_.clear();
    members_.clear();
    order_ = 0;
    due_ = never;
    solved_at_ = -never;
  }
}

/// Rates have to change because of a message that takes so long. Soon after they have changed, that waits a little:
/// where many messages come and go, they do so together.
void FlowNetwork::request_solve(Picoseconds now, double duration) {
  const auto patience = static_cast<Picoseconds>(std::min(patience_part * resolution_ * duration, 1e18));
  due_ = std::min(due_, std::max(now, solved_at_ + patience));
}

void FlowNetwork::solve(Picoseconds now) {
  due_ = never;
  shares_.solve();
  const std::vector<FairShare::FlowId>& changed = shares_.changed();
  if (!changed.empty()) solved_at_ = now;
  const bool most = changed.size() > ends_.size() / 4;
  for (const FairShare::FlowId id : changed) {
    Bundle& b = bundles_[id];
    bring_up_to(b, id, now);
    b.rate = shares_.rate(id);
    if (most && b.heap != 0) ends_[b.heap - 1].time = end_of(b);
    else mark(id);
  }
  if (most) order_ends();
}

/// When the first message of a bundle is through at its rate.
Picoseconds FlowNetwork::end_of(const Bundle& b) {
  const double left = std::max(b.until - b.work, 0.0) / b.rate;
  // Flows that are slower than this are none: the time would not fit.
  ISTHMUS_ASSERT(left < 9e18);
  const auto whole = static_cast<Picoseconds>(left);
  return b.at + whole + (left - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

/// How long a message takes if those on its links share them evenly.
double FlowNetwork::expected_duration(FairShare::FlowId id, std::uint64_t bytes) const {
  double slowest = 0;
  for (const std::uint32_t l : shares_.links(id))
    slowest = std::max(slowest, static_cast<double>(shares_.bundles(l)) / shares_.capacity(l));
  return slowest * static_cast<double>(bytes);
}

Picoseconds FlowNetwork::grace(FairShare::FlowId id, Picoseconds now) const {
  return static_cast<Picoseconds>(resolution_ * static_cast<double>(now - bundles_[id].began));
}

void FlowNetwork::mark(FairShare::FlowId id) {
  if (bundles_[id].stale) return;
  bundles_[id].stale = true;
  stale_.push_back(id);
}

void FlowNetwork::note_first(FairShare::FlowId id) {
  Bundle& b = bundles_[id];
  b.empty = members_[id].empty();
  if (b.empty) return;
  b.until = members_[id].front().until;
  b.began = members_[id].front().began;
}

void FlowNetwork::bring_up_to(Bundle& b, FairShare::FlowId id, Picoseconds now) {
  if (now == b.at) return;
  const double done = b.rate * static_cast<double>(now - b.at);
  b.work += done;
  if (traffic_.slices() > 0)
    for (const std::uint32_t l : shares_.links(id))
      if (link_of_[l] < topology_->links()) traffic_.add(link_of_[l], done * shares_.weight(id), b.at, now);
  b.at = now;
}

void FlowNetwork::start(const Passage& p, std::uint64_t order) {
  const bool fixed = router_.fixed();
  // One of the interfaces of a node: numbers of nodes are below 2^32, but nodes x interfaces need not be.
  const std::uint64_t out = std::uint64_t{p.from} * nics_ + p.nic_from, in = std::uint64_t{p.to} * nics_ + p.nic_to;
  const std::uint64_t key = out << 32 | in;
  FairShare::FlowId id = FairShare::no_link;
  if (fixed)
    if (const auto found = by_ends_.find(key); found != by_ends_.end()) id = found->second;
  const std::vector<LinkId>* links = nullptr;
  if (id == FairShare::no_link || log_routes_) {
    links = &router_.route(p.from, p.to, [&](LinkId l) {
      return index_[l] == 0 ? 0.0
                            : static_cast<double>(shares_.bundles(index_[l] - 1)) / shares_.capacity(index_[l] - 1);
    });
  }
  if (log_routes_) traffic_.log(p.op, *links);
  if (id == FairShare::no_link) {
    path_.clear();
    if (per_byte_ > 0) path_.push_back(index_of(static_cast<std::uint32_t>(topology_->links() + 2 * out)));
    for (const LinkId l : *links) path_.push_back(index_of(l));
    if (per_byte_ > 0) path_.push_back(index_of(static_cast<std::uint32_t>(topology_->links() + 2 * in + 1)));
    id = shares_.add(path_, 1);
    if (id >= bundles_.size()) {
      bundles_.resize(id + 1);
      members_.resize(id + 1);
    }
    Bundle& b = bundles_[id];
    b.work = 0;
    b.rate = shares_.rate(id);
    b.at = p.leaves;
    b.key = key;
    if (fixed) by_ends_.emplace(key, id);
    if (b.rate == 0) request_solve(p.leaves, expected_duration(id, p.bytes));
  } else {
    bring_up_to(bundles_[id], id, p.leaves);
    shares_.set_weight(id, shares_.weight(id) + 1);
    request_solve(p.leaves, expected_duration(id, p.bytes));
  }
  std::vector<Member>& members = members_[id];
  members.push_back({bundles_[id].work + static_cast<double>(p.bytes), p.message, static_cast<std::uint32_t>(order),
                     p.leaves, p.leaves + p.duration});
  std::push_heap(members.begin(), members.end(), later);
  note_first(id);
  if (traffic_.slices() == 0)
    for (const std::uint32_t l : shares_.links(id))
      if (link_of_[l] < topology_->links()) traffic_.add(link_of_[l], static_cast<double>(p.bytes), p.leaves, p.leaves);
  mark(id);
}

void FlowNetwork::take_ended(FairShare::FlowId id, Picoseconds now, std::vector<Passed>& passed) {
  Bundle& b = bundles_[id];
  bring_up_to(b, id, now);
  const Picoseconds end = std::max(ends_[b.heap - 1].time, now);
  remove_end(id);
  request_solve(now, static_cast<double>(now - b.began));
  std::vector<Member>& members = members_[id];
  const std::size_t before = members.size();
  while (!members.empty() && members.front().until <= b.until) {
    const Member& m = members.front();
    // One that nobody slowed down may still differ by the rounding of its duration.
    const Picoseconds lost = end - m.due;
    passed.push_back({m.message, end, lost > 1 ? lost : 0});
    std::pop_heap(members.begin(), members.end(), later);
    members.pop_back();
  }
  note_first(id);
  shares_.set_weight(id, shares_.weight(id) - static_cast<std::uint32_t>(before - members.size()));
  if (members.empty()) {
    if (router_.fixed()) by_ends_.erase(b.key);
  } else {
    mark(id);
  }
}

std::uint32_t FlowNetwork::index_of(std::uint32_t link) {
  if (index_[link] == 0) {
    const bool interface = link >= topology_->links();
    index_[link] = shares_.add_link(interface ? 1 / per_byte_ : topology_->bandwidth(link) * 1e-12) + 1;
    link_of_.push_back(link);
  }
  return index_[link] - 1;
}

void FlowNetwork::put(std::size_t at, const End& end) {
  ends_[at] = end;
  bundles_[end.bundle].heap = static_cast<std::uint32_t>(at + 1);
}

void FlowNetwork::set_end(FairShare::FlowId id, Picoseconds time) {
  const std::uint32_t place = bundles_[id].heap;
  if (place == 0) {
    ends_.push_back({time, id});
    sift_up(ends_.size() - 1);
    return;
  }
  const std::size_t at = place - 1;
  const bool sooner = time < ends_[at].time;
  ends_[at].time = time;
  if (sooner) sift_up(at);
  else sift_down(at);
}

void FlowNetwork::remove_end(FairShare::FlowId id) {
  const std::size_t at = bundles_[id].heap - 1;
  bundles_[id].heap = 0;
  const End last = ends_.back();
  ends_.pop_back();
  if (at == ends_.size()) return;
  put(at, last);
  sift_up(at);
  sift_down(bundles_[last.bundle].heap - 1);
}

/// Makes a heap of the ends again when many have changed.
void FlowNetwork::order_ends() {
  for (std::size_t at = (ends_.size() + 2) / 4; at-- > 0;) sift_down(at);
}

void FlowNetwork::sift_up(std::size_t at) {
  const End end = ends_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 4;
    if (!(end < ends_[parent])) break;
    put(at, ends_[parent]);
    at = parent;
  }
  put(at, end);
}

void FlowNetwork::sift_down(std::size_t at) {
  const End end = ends_[at];
  for (;;) {
    const std::size_t first = 4 * at + 1;
    if (first >= ends_.size()) break;
    std::size_t least = first;
    for (std::size_t c = first + 1; c < std::min(first + 4, ends_.size()); ++c)
      if (ends_[c] < ends_[least]) least = c;
    if (!(ends_[least] < end)) break;
    put(at, ends_[least]);
    at = least;
  }
  put(at, end);
}

}  // namespace isthmus::simulate

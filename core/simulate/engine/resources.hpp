// CPU streams and network interfaces: when each is free, and the events that wait for it.
//
// A blocked event waits at the resource that is busy longest and is looked at again when that is free; among those that
// wait the one with the lowest sequence number is looked at first. Events that need two resources would move to and fro
// between them, all of them each time that one is taken. So of those that need the same two, one leads: it waits at the
// resources while the others stay behind it. This gives the order of a simulator that puts every blocked event back
// into its queue, without moving each of them every time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/pages.hpp"
#include "base/prefetch.hpp"
#include "simulate/engine/event_queue.hpp"
#include "simulate/model/options.hpp"

namespace isthmus::simulate {

struct Resource {
  Picoseconds free = 0;
  std::uint32_t queue = 0;   ///< of waiting events; 0: none waits
  std::uint32_t convoy = 0;  ///< first of those of a CPU stream; 0: there is none
};

/// Waiting events, lowest sequence number first. They nearly always come in this order.
class WaitQueue {
 public:
  [[nodiscard]] bool empty() const { return head_ == in_order_.size() && heap_.empty(); }
  [[nodiscard]] std::uint64_t lowest() const {
    std::uint64_t low = ~std::uint64_t{0};
    if (head_ < in_order_.size()) low = in_order_[head_].sequence();
    if (!heap_.empty()) low = std::min(low, heap_.front().sequence());
    return low;
  }
  /// The one that is next; there must be one.
  [[nodiscard]] const Event& first() const {
    if (head_ < in_order_.size() && (heap_.empty() || in_order_[head_].sequence() < heap_.front().sequence()))
      return in_order_[head_];
    return heap_.front();
  }
  void prefetch_first() const { prefetch_line(in_order_.data() + head_); }
  void push(const Event& event) {
    if (head_ == in_order_.size() || in_order_.back().sequence() < event.sequence()) {
      in_order_.push_back(event);
    } else {
      heap_.push_back(event);
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }
  Event pop() {
    if (head_ < in_order_.size() && (heap_.empty() || in_order_[head_].sequence() < heap_.front().sequence())) {
      const Event event = in_order_[head_++];
      if (head_ == in_order_.size()) {
        in_order_.clear();
        head_ = 0;
      } else if (head_ >= 64 && 2 * head_ >= in_order_.size()) {
        in_order_.erase(in_order_.begin(), in_order_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
      }
      return event;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }
  template <class Visitor>
  void visit(Visitor&& visitor) const {
    for (std::size_t i = head_; i < in_order_.size(); ++i) visitor(in_order_[i]);
    for (const Event& e : heap_) visitor(e);
  }

 private:
  static bool later(const Event& a, const Event& b) { return a.sequence() > b.sequence(); }
  std::vector<Event> in_order_;
  std::size_t head_ = 0;
  std::vector<Event> heap_;
};

/// Events that need the same CPU stream and the same side of an interface.
struct Convoy {
  std::uint32_t interface;
  std::uint32_t next = 0;  ///< of the stream
  std::uint32_t leaders = 0;
  std::uint64_t leader = 0;  ///< sequence number of one of them; events with higher numbers go behind
  WaitQueue behind;
};

/// All resources of a simulation: of every rank its CPU streams, then its interfaces, each with a sending and a
/// receiving side; where ranks share the interfaces of nodes, those of every node after them.
class Resources {
 public:
  Resources(Rank ranks, std::uint32_t cpus, std::uint32_t nics, const Places& places);

  [[nodiscard]] std::uint32_t cpu(Rank rank, std::uint8_t stream) const { return rank * stride_ + stream; }
  /// The sending side; the receiving side is the one after it.
  [[nodiscard]] std::uint32_t nic(Rank rank, std::uint8_t nic, bool network) const {
    if (!shared_ || !network) return rank * stride_ + cpus_ + 2 * nic;
    return node_first_ + 2 * (node_slot_[rank] * places_->nics + (places_->nic[rank] + nic) % places_->nics);
  }
  [[nodiscard]] std::uint32_t cpus() const { return cpus_; }
  [[nodiscard]] std::size_t size() const { return resources_.size(); }

  Resource& operator[](std::uint32_t index) { return resources_[index]; }
  const Resource& operator[](std::uint32_t index) const { return resources_[index]; }

  /// Lets an event wait until the resource is free, but not before `earliest`.
  void wait(std::uint32_t index, const Event& event, EventQueue& queue, Picoseconds earliest = 0) {
    Resource& r = resources_[index];
    if (r.queue == 0) r.queue = take_queue();
    WaitQueue& waiting = queues_[r.queue];
    const bool first = waiting.empty() || event.sequence() < waiting.lowest();
    waiting.push(event);
    if (first) {
      wake(index, event.sequence(), std::max(r.free, earliest), queue);
      announced_ = index;
    }
  }
  /// Lets an event wait that needs both resources and has found one of them busy.
  void wait(std::uint32_t stream, std::uint32_t interface, Event event, EventQueue& queue, Picoseconds earliest = 0) {
    if (!event.leading()) {
      Convoy& convoy = convoy_of(stream, interface);
      if (convoy.leaders > 0 && event.sequence() > convoy.leader) return convoy.behind.push(event);
      ++convoy.leaders;
      convoy.leader = event.sequence();
      event.lead();
    }
    const bool at_stream = resources_[stream].free >= resources_[interface].free;
    wait(at_stream ? stream : interface, event, queue, earliest);
  }
  /// The event has got both, or needs them no longer; true if another one leads now instead.
  bool follow(std::uint32_t stream, std::uint32_t interface, const Event& event, Event& next, EventQueue& queue,
              Picoseconds now) {
    if (!event.leading()) return false;
    std::uint32_t* at = &resources_[stream].convoy;
    while (convoys_[*at].interface != interface) at = &convoys_[*at].next;
    Convoy& convoy = convoys_[*at];
    --convoy.leaders;
    convoy.leader = ~std::uint64_t{0};
    if (!convoy.behind.empty()) {
      next = convoy.behind.pop();
      wait(stream, interface, next, queue, now);
      return true;
    }
    if (convoy.leaders == 0) {
      unused_convoys_.push_back(std::exchange(*at, convoy.next));
    }
    return false;
  }
  /// The event that the wake announces, once the resource is free and if the event still is the first that waits.
  bool woken(const Event& wake_up, Event& event, EventQueue& queue) {
    Resource& r = resources_[wake_up.rank];
    if (r.queue == 0 || queues_[r.queue].lowest() != wake_up.sequence()) return false;
    if (r.free > wake_up.time) {
      wake(wake_up.rank, wake_up.sequence(), r.free, queue);
      return false;
    }
    event = queues_[r.queue].pop();
    announced_ = nothing;
    return true;
  }
  /// After a woken event has been dealt with: the next one's turn, unless it has come meanwhile and been announced.
  void wake_next(std::uint32_t index, Picoseconds now, EventQueue& queue) {
    Resource& r = resources_[index];
    WaitQueue& waiting = queues_[r.queue];
    if (waiting.empty()) {
      unused_.push_back(r.queue);
      r.queue = 0;
    } else if (announced_ != index) {
      wake(index, waiting.lowest(), std::max(now, r.free), queue);
    }
  }
  /// The event that waits for the resource first, or nullptr.
  [[nodiscard]] const Event* first_waiting(std::uint32_t index) const {
    const std::uint32_t queue = resources_[index].queue;
    return queue == 0 || queues_[queue].empty() ? nullptr : &queues_[queue].first();
  }
  void prefetch_first(std::uint32_t index) const { queues_[resources_[index].queue].prefetch_first(); }
  [[nodiscard]] bool shared() const { return shared_; }
  [[nodiscard]] bool is_cpu(std::uint32_t index) const { return index < own_ && index % stride_ < cpus_; }
  /// Does anything wait for it?
  [[nodiscard]] bool occupied(std::uint32_t index) const {
    return resources_[index].queue != 0 || (is_cpu(index) && resources_[index].convoy != 0);
  }
  /// Calls event(e) for what waits for the resource, then convoy(c) for each of its convoys, by interface.
  template <class EventVisitor, class ConvoyVisitor>
  void visit(std::uint32_t index, EventVisitor&& event, ConvoyVisitor&& convoy) const {
    if (resources_[index].queue != 0) queues_[resources_[index].queue].visit(event);
    std::vector<std::uint32_t> all;
    for (std::uint32_t at = resources_[index].convoy; at != 0; at = convoys_[at].next) all.push_back(at);
    std::sort(all.begin(), all.end(),
              [&](std::uint32_t a, std::uint32_t b) { return convoys_[a].interface < convoys_[b].interface; });
    for (const std::uint32_t at : all) convoy(convoys_[at]);
  }

 private:
  static void wake(std::uint32_t index, std::uint64_t sequence, Picoseconds time, EventQueue& queue) {
    queue.push_again({time, Event::make_order(sequence, EventType::wake), index, 0, 0});
  }
  Convoy& convoy_of(std::uint32_t stream, std::uint32_t interface) {
    std::uint32_t& first = resources_[stream].convoy;
    for (std::uint32_t at = first; at != 0; at = convoys_[at].next)
      if (convoys_[at].interface == interface) return convoys_[at];
    std::uint32_t index;
    if (unused_convoys_.empty()) {
      index = static_cast<std::uint32_t>(convoys_.size());
      convoys_.emplace_back();
    } else {
      index = unused_convoys_.back();
      unused_convoys_.pop_back();
    }
    Convoy& convoy = convoys_[index];
    convoy.interface = interface;
    convoy.next = first;
    first = index;
    return convoy;
  }
  std::uint32_t take_queue() {
    if (unused_.empty()) {
      queues_.emplace_back();
      return static_cast<std::uint32_t>(queues_.size() - 1);
    }
    const std::uint32_t index = unused_.back();
    unused_.pop_back();
    return index;
  }

  std::uint32_t cpus_;
  std::uint32_t stride_;
  std::uint64_t own_ = 0;  // resources of ranks
  bool shared_;
  const Places* places_;
  std::uint32_t node_first_ = 0;
  std::vector<std::uint32_t> node_slot_;  // of every rank: its node, numbered densely
  LargeVector<Resource> resources_;
  std::vector<WaitQueue> queues_{1};  // [0] is unused
  std::vector<std::uint32_t> unused_;
  static constexpr std::uint32_t nothing = 0xFFFFFFFF;
  std::uint32_t announced_ = nothing;  // the resource that something has begun to wait for since the last woken event
  std::vector<Convoy> convoys_{1};     // [0] is unused
  std::vector<std::uint32_t> unused_convoys_;
};

}  // namespace isthmus::simulate

// Max-min fair rates of flows that share links, kept up to date while flows come and go.
//
// A rate is max-min fair if every flow is at its cap or has a bottleneck: a link that is full and on which no flow is
// faster (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2). There is exactly one such allocation. After a
// change the flows of the links that the change touches are solved anew, the others keeping theirs; then those whose
// condition no longer holds join, until it holds for all. Where most join each time, all are solved anew, by groups of
// those with the same bottleneck: fair_share_groups.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pages.hpp"
#include "simulate/network/min_tree.hpp"

namespace isthmus::simulate {

class FairShare {
 public:
  using FlowId = std::uint32_t;
  static constexpr std::uint32_t no_link = 0xFFFFFFFF;

  /// `cap` of every flow, in the unit of capacities, say bytes per picosecond; 0: none.
  explicit FairShare(double cap);

  /// A new link; returns its number, counted from 0.
  std::uint32_t add_link(double capacity);
  /// A new bundle of `weight` flows along the same links (each at most once). If all of them have room for its cap it
  /// gets that at once, otherwise its rate is 0 until solve().
  FlowId add(std::span<const std::uint32_t> links, std::uint32_t weight);
  /// Another number of flows in the bundle; 0 removes it.
  void set_weight(FlowId flow, std::uint32_t weight);
  /// Are all bundles removed?
  [[nodiscard]] bool empty() const { return unused_.size() + gone_.size() == flows_.size(); }
  /// Forgets all bundles when all are removed: those to come are numbered and solved as the first were.
  void forget();
  /// Brings the rates up to date. Bundles whose rate has changed are in changed() until the next call.
  void solve();
  [[nodiscard]] const std::vector<FlowId>& changed() const { return changed_; }

  /// Rate of each flow of the bundle.
  [[nodiscard]] double rate(FlowId flow) const { return flows_[flow].rate; }
  [[nodiscard]] std::uint32_t weight(FlowId flow) const { return flows_[flow].weight; }
  /// The link that holds the bundle back; no_link: its cap.
  [[nodiscard]] std::uint32_t bottleneck(FlowId flow) const { return flows_[flow].bottleneck; }
  [[nodiscard]] std::span<const std::uint32_t> links(FlowId flow) const {
    return {route_.data() + flows_[flow].first, flows_[flow].length};
  }
  [[nodiscard]] double capacity(std::uint32_t link) const { return links_[link].capacity; }
  /// Sum of the rates on a link, and bundles on it.
  [[nodiscard]] double load(std::uint32_t link) const { return links_[link].load; }
  [[nodiscard]] std::size_t bundles(std::uint32_t link) const { return passages_[link].size(); }
  /// Numbers of bundles are below this.
  [[nodiscard]] std::size_t size() const { return flows_.size(); }
  /// Bundles that were given a rate, over all calls of solve(): its work. Those that get it as a group count less.
  [[nodiscard]] std::uint64_t solved() const { return solved_; }

 private:
  struct Flow {
    double rate = 0;
    double rate_before = 0;  // the last solve()
    std::uint32_t weight = 0;
    std::uint32_t bottleneck = no_link;
    std::uint32_t next_bottleneck = no_link;
    std::uint32_t first = 0;  // of its links in route_
    std::uint16_t length = 0;
    std::uint8_t room = 0;  // 1 << room places
  };
  enum class State : std::uint8_t { settled, chosen, fixed };  // solved anew; and has its rate
  struct Passage {                                             // of a bundle over a link
    FlowId flow;
    std::uint32_t at;  // in route_
  };
  struct alignas(64) Link {  // a cache line
    double capacity = 0;
    double load = 0;
    double level = 0;  // rate of the bundles whose bottleneck it is
    // While it is open, one of those on which chosen bundles may have to be held back:
    double left = 0;           // capacity for flows without a rate
    double next_level = -1;    // rate at which it has become a bottleneck
    double fastest = 0;        // rate of the chosen
    std::uint32_t count = 0;   // flows without a rate
    std::uint32_t others = 0;  // bundles that it held back and that are not chosen
    std::uint32_t held = 0;    // bundles whose bottleneck it is
    std::uint32_t open = 0;    // its place in open_, from 1
  };

  std::uint32_t take_route(std::uint8_t room);
  void touch(std::uint32_t link);
  void detach(FlowId flow);
  void choose(FlowId flow);
  void choose_held(std::uint32_t link);
  void choose_all();
  void open();
  void fill();
  void fix(FlowId flow, double rate, std::uint32_t bottleneck);
  bool spread();
  void rate_chosen();
  void solve_chosen();
  void settle();
  bool admit(FlowId flow);

  // All bundles anew, group by group (fair_share_groups.cpp).
  struct Crossing {  // of a group over a link
    std::uint32_t link;
    std::uint32_t weight;  // flows; may be 0
  };
  struct Crossed {  // the other way round: by which group, and where that lists the link
    std::uint32_t group;
    std::uint32_t at;
  };
  struct Group {                      // bundles whose bottleneck a link is, and what is known of the link itself
    std::vector<Crossing> crossings;  // of their routes
    std::vector<Crossed> crossed;     // by which groups the link is
    std::vector<FlowId> members;
    std::uint32_t weight = 0;        // flows over the link
    std::uint32_t unheld = 0;        // of them, those that no link holds back
    std::uint32_t listed = 0;        // place in some other group's crossings, if that was looked up last
    std::uint32_t looker = no_link;  // which group that was
    bool fixed = false;
  };
  [[nodiscard]] bool grouped() const { return !groups_.empty(); }
  void group_all();
  void ungroup();
  void count_weight(FlowId flow, std::uint32_t weight);
  void solve_all();
  void solve_groups();
  void hold_back(std::uint32_t link, double share, double level);
  void move(FlowId flow, std::uint32_t link);
  void join_group(FlowId flow, std::uint32_t link);
  void leave_group(FlowId flow);
  void set_rate(FlowId flow, double rate);

  double cap_;
  std::vector<Flow> flows_;
  std::vector<State> state_;  // of flows
  std::vector<FlowId> unused_;
  std::vector<FlowId> gone_;  // since the last solve(): their numbers may be among the chosen
  std::vector<Link> links_;
  std::vector<std::vector<Passage>> passages_;  // of every link
  LargeVector<std::uint32_t> route_;            // links of the bundles
  LargeVector<std::uint32_t> place_;            // of the same: index into its passages_
  std::vector<std::uint32_t> free_[17];         // of route_, by room

  std::vector<std::uint32_t> touched_;  // links whose flows have come, gone or changed in number
  std::vector<FlowId> fresh_;           // bundles that have no rate yet, or another weight
  std::vector<FlowId> chosen_;
  std::vector<std::uint8_t> is_touched_;  // of every link
  std::vector<std::uint8_t> tight_;       // of every link: it may be a bottleneck; others are looked at afterwards only
  std::vector<std::uint32_t> open_;       // links
  std::vector<std::uint32_t> overfull_;
  MinTree least_;  // shares of open_
  std::vector<FlowId> changed_;
  std::uint64_t solved_ = 0;
  std::uint32_t wide_ = 0;                // solve()s to come that start with all bundles
  std::uint32_t crowded_ = 0;             // solve()s in turn that chose most of many
  std::vector<Group> groups_;             // of every link; empty: bundles are chosen one by one
  LargeVector<std::uint32_t> listed_;     // of links in route_: place in the crossings of the bundle's group
  std::vector<std::uint32_t> member_;     // of bundles: place in the members of their group
  std::size_t crossings_ = 0, idle_ = 0;  // of all groups; without flows
  std::uint32_t calm_ = 0;                // solve()s in turn that changed few bundles
};

}  // namespace isthmus::simulate

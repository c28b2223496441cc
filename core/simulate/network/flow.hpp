// Messages as fluids that share links, injection and ejection max-min fairly.
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulate/network/fair_share.hpp"
#include "simulate/network/network.hpp"
#include "simulate/network/router.hpp"

namespace isthmus::simulate {

class FlowNetwork final : public Network {
 public:
  explicit FlowNetwork(const SimulationOptions& options);

  void send(const Passage& passage) override;
  [[nodiscard]] Picoseconds next() const override;
  void advance(Picoseconds now, std::vector<Passed>& passed) override;
  [[nodiscard]] Traffic take_traffic() override { return std::move(traffic_); }
  [[nodiscard]] const Traffic& traffic() const override { return traffic_; }
  /// Rates that were given.
  [[nodiscard]] std::uint64_t steps() const override { return shares_.solved(); }
  /// Nothing: it begins anew when it is empty.
  void write(Picoseconds, StateWriter&) const override {}

 private:
  /// Messages on the same links. Each gets the same rate, so that one sum says how far all of them are: a message that
  /// started at `work` is through when that has grown by its bytes.
  struct Member {
    double until;  // work of the bundle when it is through
    std::uint32_t message;
    std::uint32_t order;  // of its coming
    Picoseconds began;
    Picoseconds due;  // when it would have been through alone
  };
  struct alignas(64) Bundle {  // what a change of rates looks at: a cache line
    double work = 0;           // bytes of each message since the bundle began, at `at`
    double rate = 0;
    Picoseconds at = 0;
    double until = 0;       // of the first member
    Picoseconds began = 0;  // the same
    std::uint64_t key = 0;
    std::uint32_t heap = 0;  // place in ends_, from 1
    bool stale = false;      // its end must be computed again
    bool empty = true;       // no members
  };
  struct Start {
    Passage passage;
    std::uint64_t order;
    bool operator>(const Start& o) const {
      return passage.leaves != o.passage.leaves ? passage.leaves > o.passage.leaves : order > o.order;
    }
  };
  struct End {
    Picoseconds time;
    FairShare::FlowId bundle;
    bool operator<(const End& o) const { return time != o.time ? time < o.time : bundle < o.bundle; }
  };

  static bool later(const Member& a, const Member& b) {
    return a.until != b.until ? a.until > b.until : a.order > b.order;
  }

  void start(const Passage& passage, std::uint64_t order);
  [[nodiscard]] Picoseconds grace(FairShare::FlowId id, Picoseconds now) const;
  void take_ended(FairShare::FlowId id, Picoseconds now, std::vector<Passed>& passed);
  void request_solve(Picoseconds now, double duration);
  void solve(Picoseconds now);
  [[nodiscard]] double expected_duration(FairShare::FlowId id, std::uint64_t bytes) const;
  void bring_up_to(Bundle& bundle, FairShare::FlowId id, Picoseconds now);
  void mark(FairShare::FlowId id);
  void note_first(FairShare::FlowId id);
  [[nodiscard]] static Picoseconds end_of(const Bundle& bundle);
  std::uint32_t index_of(std::uint32_t link);

  // A heap of ends whose entries know their places, so that rates can change.
  void set_end(FairShare::FlowId id, Picoseconds time);
  void remove_end(FairShare::FlowId id);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  void put(std::size_t at, const End& end);
  void order_ends();

  const Topology* topology_;
  Router router_;
  double resolution_;
  double per_byte_;  // picoseconds of an interface; 0: no limit
  std::uint32_t nics_;
  FairShare shares_;
  Traffic traffic_;
  bool log_routes_;
  std::vector<std::uint32_t> index_;  // of every link of the topology, then of every interface out and in: number + 1
  std::vector<LinkId> link_of_;       // the other way round; numbers beyond the topology's are interfaces
  std::vector<Bundle> bundles_;
  std::vector<std::vector<Member>> members_;  // of bundles; heaps, the first to end first
  std::unordered_map<std::uint64_t, FairShare::FlowId> by_ends_;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  std::vector<End> ends_;
  std::vector<FairShare::FlowId> stale_;
  std::vector<std::uint32_t> path_;
  std::uint64_t order_ = 0;
  Picoseconds due_ = never;         // when rates have to be solved anew
  Picoseconds solved_at_ = -never;  // when they have changed
};

}  // namespace isthmus::simulate

// The parts of the simulator against slow and obvious ones: the queue of events, matching, waiting for resources,
// noise.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <list>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "random_schedules.hpp"
#include "schedule/builder.hpp"
#include "simulate/engine/event_queue.hpp"
#include "simulate/engine/matching.hpp"
#include "simulate/engine/noise.hpp"
#include "simulate/engine/resources.hpp"

namespace isthmus::test {
using namespace schedule;
using namespace simulate;
namespace {

Event event_at(std::int64_t time, std::uint64_t order) {
  Event event{};
  event.time = time;
  event.order = order;
  return event;
}

// -- queue of events --------------------------------------------------------------------------------------------------

/// How far ahead of now an event comes.
std::int64_t distance(Random& random, int shape) {
  switch (shape) {
    case 0:  // few different times
      return static_cast<std::int64_t>(below(random, 3));
    case 1:  // some of every size
      return once_in(random, 3) ? 0 : static_cast<std::int64_t>(random() >> (20 + below(random, 44)));
    default: return once_in(random, 2) ? 0 : static_cast<std::int64_t>(below(random, 1000));
  }
}

void run_queue(Random& random, int shape, int steps, std::size_t most) {
  constexpr std::int64_t end = std::int64_t{1} << 61;
  EventQueue queue;
  std::set<std::pair<std::int64_t, std::uint64_t>> expected;
  std::vector<std::uint64_t> old;  // numbers that may be used again
  std::uint64_t number = 0;
  std::int64_t now = 0;
  bool filling = true;
  std::uint64_t again_now = 0;
  for (int step = 0; step < steps; ++step) {
    if (expected.size() >= most) filling = false;
    if (expected.empty()) filling = true;
    if (below(random, 3) < (filling ? 2U : 1U)) {
      const std::int64_t time = std::min(end, now + distance(random, shape));
      const std::uint64_t what = below(random, 4);
      if (what == 0 && !old.empty()) {
        const std::size_t at = below(random, old.size());
        std::swap(old[at], old.back());
        queue.push_again(event_at(time, old.back()));
        expected.emplace(time, old.back());
        old.pop_back();
        again_now += time == now;
      } else if (what == 1) {
        // A number that has just been given out.
        queue.push_again(event_at(time, number));
        expected.emplace(time, number++);
      } else {
        if (once_in(random, 5)) old.push_back(number++);
        queue.push(event_at(time, number));
        expected.emplace(time, number++);
      }
      continue;
    }
    Event event{};
    const bool any = queue.pop(event);
    REQUIRE(any == !expected.empty());
    if (!any) continue;
    REQUIRE(std::pair(event.time, event.order) == *expected.begin());
    expected.erase(expected.begin());
    now = event.time;
    if (once_in(random, 2)) old.push_back(event.order);
    for (const std::size_t ahead : {0, 1, 5})
      if (const Event* peeked = queue.peek(ahead)) REQUIRE(expected.count({peeked->time, peeked->order}) == 1);
  }
  Event event{};
  while (queue.pop(event)) {
    REQUIRE(!expected.empty());
    REQUIRE(std::pair(event.time, event.order) == *expected.begin());
    expected.erase(expected.begin());
  }
  CHECK(expected.empty());
  CHECK(again_now > 0);
}

// -- matching ---------------------------------------------------------------------------------------------------------

struct Receive {
  MatchKey key;
  std::uint64_t op;
  std::int64_t time;
  std::uint64_t order;
};
struct Message {
  MatchKey key;
  std::uint64_t op;
};

bool accepts(const MatchKey& recv, const MatchKey& message) {
  return recv.comm == message.comm && (recv.source == any_rank || recv.source == message.source) &&
         (recv.tag == any_tag || recv.tag == message.tag);
}

/// Ranks whose receives have wildcards of all combinations of shapes: bit 0 any source, bit 1 any tag, bit 2 both.
Schedule all_shapes() {
  ScheduleBuilder builder;
  for (unsigned shapes = 0; shapes < 8; ++shapes) {
    RankBuilder rank;
    Operation recv;
    recv.kind = OpKind::recv;
    rank.add(recv);
    for (unsigned shape = 0; shape < 3; ++shape) {
      if ((shapes >> shape & 1) == 0) continue;
      recv.peer = shape == 1 ? 0 : any_rank;
      recv.tag = shape == 0 ? 0 : any_tag;
      rank.add(recv);
    }
    builder.append(rank);
  }
  return builder.build();
}

struct Traffic {
  std::uint64_t sources, tags, comms;
  int steps;
  int deep;  ///< so many more receives than messages, and then so many more messages than receives
};

class MatchingCheck {
 public:
  MatchingCheck(Random& random, const Traffic& traffic)
      : random_(random), traffic_(traffic), schedule_(all_shapes()), matching_(schedule_, true) {}

  void run() {
    for (int step = 0; step < traffic_.steps; ++step) {
      const int phase = step / traffic_.deep % 4;
      const bool receive = phase == 1 || phase == 2 ? once_in(random_, 4) : !once_in(random_, 4);
      const auto rank = static_cast<Rank>(below(random_, 8));
      if (receive) post(rank);
      else arrive(rank);
      if (step % 997 == 0) check_remaining();
    }
    check_remaining();
    CHECK(met_ > static_cast<std::size_t>(traffic_.steps) / 10);
  }

 private:
  MatchKey message_key() {
    return {static_cast<std::uint32_t>(below(random_, traffic_.sources)),
            static_cast<std::uint32_t>(below(random_, traffic_.tags)),
            static_cast<std::uint32_t>(below(random_, traffic_.comms))};
  }
  void post(Rank rank) {
    MatchKey key = message_key();
    const auto shape = static_cast<unsigned>(below(random_, 12));
    if (shape < 3 && (rank >> shape & 1) != 0) {
      if (shape != 1) key.source = any_rank;
      if (shape != 0) key.tag = any_tag;
    }
    // Posted in the order of (time, number), as the simulator does.
    if (once_in(random_, 2)) time_ += 1;
    number_ += 1 + below(random_, 3);
    const std::uint64_t order = static_cast<std::uint64_t>(time_ % 2) << 40 | number_;  // across times in any order
    const std::uint64_t op = next_op_++;
    auto& waiting = waiting_[rank];
    const auto expected =
        std::find_if(waiting.begin(), waiting.end(), [&](const Message& m) { return accepts(key, m.key); });
    const std::uint32_t found = matching_.take_waiting(rank, key);
    REQUIRE((found == Matching::none) == (expected == waiting.end()));
    if (found == Matching::none) {
      matching_.post(rank, key, op, time_, order);
      posted_[rank].push_back({key, op, time_, order});
      return;
    }
    const Match& m = matching_[found];
    REQUIRE(m.op == expected->op);
    CHECK(m.source == expected->key.source);
    CHECK(m.time == static_cast<std::int64_t>(m.op) + 1);
    CHECK(m.order == m.op + 2);
    matching_.release(found);
    waiting.erase(expected);
    ++met_;
  }
  void arrive(Rank rank) {
    const MatchKey key = message_key();
    const std::uint64_t op = next_op_++;
    auto& posted = posted_[rank];
    const auto expected =
        std::find_if(posted.begin(), posted.end(), [&](const Receive& r) { return accepts(r.key, key); });
    const std::uint32_t found = matching_.take_posted(rank, key);
    REQUIRE((found == Matching::none) == (expected == posted.end()));
    if (found == Matching::none) {
      const auto time = static_cast<std::int64_t>(op);
      matching_.wait(rank, key, key.source, op, time + 1, time + 2, op % 2 == 0);
      waiting_[rank].push_back({key, op});
      return;
    }
    const Match& m = matching_[found];
    REQUIRE(m.op == expected->op);
    CHECK(m.time == expected->time);
    CHECK(m.order == expected->order);
    matching_.release(found);
    posted.erase(expected);
    ++met_;
  }
  void check_remaining() const {
    std::multiset<std::pair<Rank, std::uint64_t>> receives, messages;
    matching_.remaining([&](Rank r, const Match& m) { receives.emplace(r, m.op); },
                        [&](Rank r, const Match& m) {
                          CHECK(m.rendezvous == (m.op % 2 == 0));
                          messages.emplace(r, m.op);
                        });
    for (Rank r = 0; r < 8; ++r) {
      for (const Receive& e : posted_[r]) REQUIRE(receives.erase({r, e.op}) == 1);
      for (const Message& e : waiting_[r]) REQUIRE(messages.erase({r, e.op}) == 1);
    }
    CHECK(receives.empty());
    CHECK(messages.empty());
  }

  Random& random_;
  Traffic traffic_;
  Schedule schedule_;
  Matching matching_;
  std::array<std::list<Receive>, 8> posted_;
  std::array<std::list<Message>, 8> waiting_;
  std::int64_t time_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t next_op_ = 0;
  std::size_t met_ = 0;
};

// -- resources --------------------------------------------------------------------------------------------------------

/// Jobs that need one or two resources, occupy each for a time of their own, and keep a third from being free before.
struct Job {
  std::int64_t time;
  std::uint32_t first, second, third;
  std::int64_t first_for, second_for;
};
using Served = std::vector<std::pair<std::int64_t, std::uint64_t>>;  // when, which

template <class Free>
void serve(const Job& job, std::int64_t now, Free free) {
  free(job.first) = now + job.first_for;
  free(job.second) = std::max(free(job.second), now + job.second_for);
  free(job.third) = std::max(free(job.third), now);
}

Served served_by_resources(const std::vector<Job>& jobs, Rank ranks) {
  Places places;
  Resources resources(ranks, 1, 1, places);
  EventQueue queue;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Event event = event_at(jobs[i].time, Event::make_order(i, EventType::operation));
    event.what = i;
    queue.push(event);
  }
  Served served;
  const auto look = [&](const Event& event, std::int64_t now) {
    const Job& job = jobs[event.subject()];
    const bool two = job.first != job.second;
    if (std::max(resources[job.first].free, resources[job.second].free) > now) {
      if (two) resources.wait(job.first, job.second, event, queue);
      else resources.wait(job.first, event, queue);
      return;
    }
    served.emplace_back(now, event.subject());
    serve(job, now, [&](std::uint32_t r) -> std::int64_t& { return resources[r].free; });
    Event next{};
    if (two) resources.follow(job.first, job.second, event, next, queue, now);
  };
  Event event{}, waiting{};
  while (queue.pop(event)) {
    if (event.type() != EventType::wake) {
      look(event, event.time);
    } else if (resources.woken(event, waiting, queue)) {
      look(waiting, event.time);
      resources.wake_next(event.rank, event.time, queue);
    }
  }
  return served;
}

Served served_naively(const std::vector<Job>& jobs, std::size_t resources) {
  std::vector<std::int64_t> free(resources, 0);
  std::set<std::pair<std::int64_t, std::uint64_t>> queue;
  for (std::size_t i = 0; i < jobs.size(); ++i) queue.emplace(jobs[i].time, i);
  Served served;
  while (!queue.empty()) {
    const auto [now, i] = *queue.begin();
    queue.erase(queue.begin());
    const std::int64_t until = std::max(free[jobs[i].first], free[jobs[i].second]);
    if (until > now) {
      queue.emplace(until, i);
      continue;
    }
    served.emplace_back(now, i);
    serve(jobs[i], now, [&](std::uint32_t r) -> std::int64_t& { return free[r]; });
  }
  return served;
}

// -- noise ------------------------------------------------------------------------------------------------------------

using Interruptions = std::vector<std::pair<Picoseconds, Picoseconds>>;  // begin, length

/// Interruptions of a stream as work that starts at 0 feels them, each from a generator of its own. Those that follow
/// each other without a pause count as one.
Interruptions felt(const NoiseSpec& spec, std::uint64_t seed, std::size_t stream, std::size_t count, Picoseconds far) {
  Interruptions all;
  Picoseconds before = 0;
  const auto lost = [&](Picoseconds work) { return Noise(spec, seed, stream + 1).lost(stream, 0, work); };
  Picoseconds work = 0;
  while (all.size() < count) {
    // The least work that loses more.
    Picoseconds low = work, high = work + far;
    REQUIRE(lost(high) > before);
    while (high - low > 1) {
      const Picoseconds middle = low + (high - low) / 2;
      (lost(middle) > before ? high : low) = middle;
    }
    work = high;
    const Picoseconds length = lost(work) - before;
    all.emplace_back(work - 1 + before, length);
    before += length;
  }
  return all;
}

Picoseconds lost_slowly(const Interruptions& all, Picoseconds start, Picoseconds work) {
  Picoseconds end = start + work;
  for (const auto& [begin, length] : all)
    if (begin + length > start && begin < end) end += begin + length - std::max(begin, start);
  return end - start - work;
}

void check_noise(Random& random, const NoiseSpec& spec, Picoseconds far) {
  constexpr std::size_t count = 60;
  for (std::size_t stream = 0; stream < 3; ++stream) {
    const Interruptions all = felt(spec, 7, stream, count, far);
    const Picoseconds last = all.back().first;
    Picoseconds total = 0;
    for (int round = 0; round < 20; ++round) {
      Noise noise(spec, 7, 3);
      Picoseconds start = 0;
      while (true) {
        start += static_cast<Picoseconds>(below(random, 3) * below(random, static_cast<std::uint64_t>(far)));
        const auto work = static_cast<Picoseconds>(below(random, 2) * below(random, static_cast<std::uint64_t>(far)));
        const Picoseconds expected = lost_slowly(all, start, work);
        if (start + work + expected >= last) break;
        REQUIRE(noise.lost(stream, start, work) == expected);
        // Other streams' calls change nothing.
        (void)noise.lost((stream + 1) % 3, start, work);
        total += expected;
        start += work + expected;
      }
    }
    CHECK(total > 0);
  }
}

NoiseSpec interrupted(NoiseSpec::Kind kind, Picoseconds period, Picoseconds duration) {
  NoiseSpec spec;
  spec.kind = kind;
  spec.period = period;
  spec.duration = duration;
  return spec;
}

NoiseSpec traced() {
  NoiseSpec spec;
  spec.kind = NoiseSpec::Kind::trace;
  spec.starts = {10, 100, 135, 400};
  spec.durations = {7, 30, 11, 60};
  spec.length = 500;
  return spec;
}

}  // namespace

TEST_CASE("the queue of events gives them in the order of time and number") {
  Random random(1);
  for (int shape = 0; shape < 3; ++shape) {
    CAPTURE(shape);
    for (int round = 0; round < 40; ++round) run_queue(random, shape, 2000, 20);
    run_queue(random, shape, 40000, 5000);
  }
}

TEST_CASE("the queue of events keeps order when a bucket has given its memory back") {
  EventQueue queue;
  // More events of several times than a bucket keeps room for.
  constexpr std::uint64_t n = 100000;
  for (std::uint64_t i = 0; i < n; ++i)
    queue.push(event_at((std::int64_t{1} << 60) + static_cast<std::int64_t>(i * 7919 % 64), i));
  std::pair<std::int64_t, std::uint64_t> last{-1, 0};
  std::uint64_t count = 0;
  bool ascending = true;
  for (Event event{}; queue.pop(event); ++count) {
    ascending = ascending && last < std::pair(event.time, event.order);
    last = {event.time, event.order};
  }
  CHECK(ascending);
  CHECK(count == n);
}

TEST_CASE("matching finds what a search through lists finds") {
  Random random(2);
  SUBCASE("few keys") { MatchingCheck(random, {2, 2, 2, 20000, 100}).run(); }
  SUBCASE("a dozen keys: chains become tables") { MatchingCheck(random, {4, 2, 2, 20000, 400}).run(); }
  SUBCASE("hundreds of keys") { MatchingCheck(random, {40, 3, 2, 20000, 3000}).run(); }
  SUBCASE("thousands of keys") { MatchingCheck(random, {1500, 2, 1, 30000, 15000}).run(); }
  SUBCASE("one key, thousands deep") { MatchingCheck(random, {1, 1, 1, 20000, 5000}).run(); }
}

TEST_CASE("of receives with wildcards the one that was posted first takes the message") {
  // Their numbers are not in this order where ranks have several CPU streams.
  const Schedule schedule = all_shapes();
  for (const bool wild_first : {false, true}) {
    Matching matching(schedule, true);
    const MatchKey exact{3, 5, 0}, wild{any_rank, 5, 0};
    matching.post(7, wild_first ? wild : exact, 1, 10, 99);
    matching.post(7, wild_first ? exact : wild, 2, 20, 98);
    CHECK(matching[matching.take_posted(7, exact)].op == 1);
    CHECK(matching[matching.take_posted(7, exact)].op == 2);
    CHECK(matching.take_posted(7, exact) == Matching::none);
  }
}

TEST_CASE("waiting events leave in the order of their numbers") {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    WaitQueue queue;
    std::set<std::uint64_t> expected;
    std::uint64_t next = 1000;
    for (int step = 0; step < 1000; ++step) {
      if (below(random, 5) < (step < 500 ? 3U : 2U)) {
        const std::uint64_t number = once_in(random, 4) ? below(random, next) : next++;
        if (!expected.insert(number).second) continue;
        queue.push(event_at(0, Event::make_order(number, EventType::operation)));
      } else if (!expected.empty()) {
        REQUIRE(queue.lowest() == *expected.begin());
        REQUIRE(queue.first().sequence() == *expected.begin());
        REQUIRE(queue.pop().sequence() == *expected.begin());
        expected.erase(expected.begin());
      }
      REQUIRE(queue.empty() == expected.empty());
    }
  }
}

TEST_CASE("resources serve as if every blocked event came again when they are free") {
  Random random(4);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const auto ranks = static_cast<Rank>(1 + below(random, 3));
    const std::uint32_t n = ranks * 3;
    std::vector<Job> jobs(1 + below(random, 60));
    const std::uint64_t spread = 1 + below(random, 100);
    for (Job& job : jobs) {
      job.time = static_cast<std::int64_t>(below(random, spread));
      job.first = static_cast<std::uint32_t>(below(random, n));
      job.second = once_in(random, 2) ? job.first : static_cast<std::uint32_t>(below(random, n));
      job.third = once_in(random, 3) ? static_cast<std::uint32_t>(below(random, n)) : job.first;
      job.first_for = static_cast<std::int64_t>(below(random, 6));
      job.second_for = static_cast<std::int64_t>(below(random, 6));
    }
    const Served served = served_by_resources(jobs, ranks);
    CHECK(served.size() == jobs.size());
    CHECK(served == served_naively(jobs, n));
  }
}

TEST_CASE("noise delays work as its interruptions, taken one after the other, do") {
  Random random(5);
  SUBCASE("periodic") { check_noise(random, interrupted(NoiseSpec::Kind::periodic, 1000, 100), 1100); }
  SUBCASE("periodic, mostly interrupted") { check_noise(random, interrupted(NoiseSpec::Kind::periodic, 100, 97), 250); }
  SUBCASE("exponential") { check_noise(random, interrupted(NoiseSpec::Kind::exponential, 1000, 100), 40000); }
  SUBCASE("exponential, half interrupted") {
    check_noise(random, interrupted(NoiseSpec::Kind::exponential, 100, 50), 4000);
  }
  SUBCASE("trace") { check_noise(random, traced(), 600); }
}

TEST_CASE("periodic noise has its period and length, and a phase of each stream's own") {
  const NoiseSpec spec = interrupted(NoiseSpec::Kind::periodic, 1000, 100);
  std::set<Picoseconds> phases;
  double sum = 0;
  constexpr std::size_t streams = 200;
  for (std::size_t stream = 0; stream < streams; ++stream) {
    const Interruptions all = felt(spec, 3, stream, 4, 1100);
    CHECK(all[0].first <= 1000);
    for (std::size_t k = 0; k < all.size(); ++k) {
      CHECK(all[k].second == 100);
      CHECK(all[k].first == all[0].first + static_cast<Picoseconds>(k) * 1000);
    }
    phases.insert(all[0].first);
    sum += static_cast<double>(all[0].first);
  }
  CHECK(phases.size() > 160);
  CHECK(sum / streams == doctest::Approx(500).epsilon(0.1));
  CHECK(felt(spec, 3, 0, 1, 1100) != felt(spec, 4, 0, 1, 1100));
}

TEST_CASE("a trace of noise repeats from where each stream enters it") {
  const NoiseSpec spec = traced();
  std::set<Picoseconds> entries;
  for (std::size_t stream = 0; stream < 50; ++stream) {
    const Interruptions all = felt(spec, 3, stream, 9, 600);
    const auto first = static_cast<std::size_t>(std::find(spec.durations.begin(), spec.durations.end(), all[0].second) -
                                                spec.durations.begin());
    REQUIRE(first < spec.starts.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::size_t at = first + k;
      CHECK(all[k].second == spec.durations[at % 4]);
      CHECK(all[k].first - all[0].first ==
            spec.starts[at % 4] - spec.starts[first] + static_cast<Picoseconds>(at / 4) * spec.length);
    }
    // Nothing of the trace between the entry and its first interruption was left out.
    CHECK(all[0].first <= spec.starts[first] - (first > 0 ? spec.starts[first - 1] : spec.starts[3] - spec.length));
    entries.insert(all[0].first);
  }
  CHECK(entries.size() > 20);
}

TEST_CASE("exponential noise has the means that were asked for, on streams that know nothing of each other") {
  constexpr Picoseconds period = 100'000, duration = 20'000;
  constexpr std::size_t streams = 4;
  constexpr int slots = 40000;
  Noise noise(interrupted(NoiseSpec::Kind::exponential, period, duration), 11, streams);
  std::array<Picoseconds, streams> now{};
  std::array<std::vector<double>, streams> losses;
  double longer = 0, count = 0, sum = 0;
  for (int i = 0; i < slots; ++i)
    for (std::size_t s = 0; s < streams; ++s) {
      const Picoseconds lost = noise.lost(s, now[s], 1000);
      now[s] += 1000 + lost;
      losses[s].push_back(static_cast<double>(lost));
      sum += static_cast<double>(lost);
      if (lost == 0) continue;
      ++count;
      longer += lost > duration;
    }
  // Work between interruptions takes 80 us in the mean: 2000 interruptions. Few slots of 1 ns have two.
  CHECK(count == doctest::Approx(2000).epsilon(0.06));
  CHECK(sum / count == doctest::Approx(duration).epsilon(0.06));
  CHECK(longer / count == doctest::Approx(std::exp(-1.0)).epsilon(0.08));
  for (std::size_t s = 1; s < streams; ++s) {
    double xy = 0, xx = 0, yy = 0;
    for (int i = 0; i < slots; ++i) {
      const double x = losses[s - 1][i], y = losses[s][i];
      xy += x * y;
      xx += x * x;
      yy += y * y;
    }
    CHECK(std::abs(xy / std::sqrt(xx * yy)) < 0.05);
  }
}

TEST_CASE("noise that makes no sense is rejected") {
  const auto make = [](const NoiseSpec& spec) { Noise(spec, 0, 1); };
  CHECK_THROWS_AS(make(interrupted(NoiseSpec::Kind::periodic, 10, 10)), InvalidInput);
  CHECK_THROWS_AS(make(interrupted(NoiseSpec::Kind::exponential, 10, -1)), InvalidInput);
  NoiseSpec spec = traced();
  spec.starts[2] = 120;
  CHECK_THROWS_AS(make(spec), InvalidInput);
  spec = traced();
  spec.length = 459;
  CHECK_THROWS_AS(make(spec), InvalidInput);
  spec = traced();
  spec.starts.clear();
  CHECK_THROWS_AS(make(spec), InvalidInput);
  spec = traced();
  CHECK_NOTHROW(make(spec));
}

}  // namespace isthmus::test

// Remote procedure calls and futures, each rank a thread, on one node or on several.
#include <doctest/doctest.h>
#include <isthmus/rpc.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pgas_ranks.hpp"

namespace isthmus::test {
namespace {

using pgas::future;
using pgas::global_ptr;
using pgas::per_rank;
using pgas::promise;
using pgas::remote_calls;
using pgas::remote_error;

struct Point {
  double x;
  std::int16_t y;
};

std::int64_t weighted(std::int64_t a, std::int64_t b) { return 3 * a - b; }
std::string reversed(const std::string& text) { return {text.rbegin(), text.rend()}; }

/// What a function throws, in its words.
template <class E, class F>
std::string words_of(const F& work) {
  try {
    work();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// As on_ranks(), with calls between the ranks and a small queue, so that long payloads go in parts.
void with_calls(const Shape& shape, const std::function<void(Rank&, remote_calls&)>& work) {
  isthmus_space_options options{};
  options.queue = 16 << 10;
  on_ranks(
      shape,
      [&](Rank& own) {
        remote_calls on(own.space);
        work(own, on);
      },
      options);
}

}  // namespace

TEST_CASE("a call takes and gives values of all kinds and any size") {
  for (const Shape& shape : shapes()) {
    with_calls(shape, [](Rank& own, remote_calls& on) {
      for (std::uint32_t other = 0; other < own.ranks; ++other) {
        for (const std::size_t size : {0U, 1U, 100U, 3000U, 30001U}) {
          std::vector<std::uint32_t> numbers(size);
          std::iota(numbers.begin(), numbers.end(), own.rank);
          const auto more = on.rpc(
              other,
              [](remote_calls& here, std::vector<std::uint32_t> values) {
                for (auto& value : values) value += here.rank();
                return values;
              },
              numbers);
          for (auto& value : numbers) value += other;
          own.expect(more.wait() == numbers, "a vector of " + std::to_string(size));
          std::string text(size, 'a');
          if (size > 0) text.back() = 'b';
          own.expect(on.rpc(other, reversed, text).wait() == reversed(text), "a string");
        }
        own.expect(on.rpc(other, weighted, 5, own.rank).wait() == 15 - std::int64_t{own.rank}, "a function");
        own.expect(on.rpc(other, &reversed, "literal").wait() == "laretil", "a literal");
        const auto nested = std::vector{std::pair{std::string("ab"), std::vector<bool>{true, false, true}}};
        own.expect(
            on.rpc(
                  other, [](const decltype(nested)& v) { return std::tuple(v[0].first, v[0].second, 7); }, nested)
                    .wait() == std::tuple(std::string("ab"), std::vector<bool>{true, false, true}, 7),
            "pairs and tuples");
        const Point point{0.5, -7};
        const double scale = own.rank + 1;
        const auto scaled = [scale](Point p, std::int64_t (*f)(std::int64_t, std::int64_t)) {
          return Point{p.x * scale, static_cast<std::int16_t>(f(p.y, 1))};
        };
        const Point moved = on.rpc(other, scaled, point, weighted).wait();
        own.expect(moved.x == 0.5 * scale && moved.y == -22, "what a lambda captures, and a function as argument");
        on.rpc(other, [] {}).wait();
      }
    });
  }
}

TEST_CASE("calls send calls, and none is lost when all ranks send to all") {
  for (const Shape& shape : shapes()) {
    with_calls(shape, [](Rank& own, remote_calls& on) {
      // A walk over random ranks, whose end goes back all the way.
      struct walk {
        future<std::uint64_t> operator()(remote_calls& here, std::uint64_t seed, std::uint32_t steps) const {
          if (steps == 0) return future<std::uint64_t>::made(seed);
          const std::uint64_t next = seed * 6364136223846793005U + 1442695040888963407U;
          return here.rpc(static_cast<std::uint32_t>(next >> 33) % here.ranks(), *this, next, steps - 1);
        }
      };
      std::uint64_t end = own.rank;
      for (int i = 0; i < 40; ++i) end = end * 6364136223846793005U + 1442695040888963407U;
      own.expect(walk{}(on, own.rank, 40).wait() == end, "a walk");

      // Every call sends two, down to the leaves; long ones among them.
      per_rank<std::uint64_t> leaves(on, 0);
      struct grow {
        void operator()(remote_calls& here, per_rank<std::uint64_t>& counted, std::uint32_t depth,
                        const std::string& ballast) const {
          if (depth == 0) ++*counted;
          else
            for (const std::uint32_t k : {1U, 2U})
              here.rpc_ff((here.rank() + k) % here.ranks(), *this, counted, depth - 1, ballast);
        }
      };
      constexpr std::uint32_t depth = 6;
      for (std::uint32_t r = 0; r < own.ranks; ++r)
        on.rpc_ff(r, grow{}, leaves, depth, std::string(r % 2 == 0 ? 10 : 6000, 'x'));
      on.finish();
      std::uint64_t all = 0;
      for (std::uint32_t r = 0; r < own.ranks; ++r)
        all += on.rpc(r, [](per_rank<std::uint64_t>& counted) { return *counted; }, leaves).wait();
      own.expect(all == std::uint64_t{own.ranks} * own.ranks << depth, "leaves");
      on.barrier();

      per_rank<std::vector<std::uint32_t>> last(on, own.ranks, 0U);
      for (std::uint32_t i = 1; i <= 3000; ++i)
        on.rpc_ff((own.rank + i) % own.ranks,
                  [](per_rank<std::vector<std::uint32_t>>& seen, std::uint32_t from, std::uint32_t number) {
                    if (number <= (*seen)[from]) throw std::logic_error("a call overtook another one");
                    (*seen)[from] = number;
                  },
                  last, own.rank, i);
      on.finish();
      for (std::uint32_t r = 0; r < own.ranks; ++r) own.expect((*last)[r] + own.ranks > 3000, "the last call");
    });
  }
}

TEST_CASE("futures are continued, combined, and fail") {
  for (const Shape& shape : {Shape{1}, Shape{3}, Shape{3, 2}}) {
    with_calls(shape, [](Rank& own, remote_calls& on) {
      const std::uint32_t next = (own.rank + 1) % own.ranks;
      const promise<int> begin(&on);
      future<int> chain = begin.get_future();
      for (int i = 0; i < 100000; ++i) chain = chain.then([](int x) { return x + 1; });
      own.expect(!chain.ready(), "before");
      begin.set(5);
      own.expect(chain.ready() && chain.wait() == 100005, "a long chain");
      own.expect(words_of<std::logic_error>([&] { begin.set(6); }) == "promise: it has a value already", "set twice");
      own.expect(on.rpc(
                       next, [](int x) { return x; }, 4)
                         .then([&on, next](int x) { return on.rpc(next, [](int y) { return y * y; }, x); })
                         .then([](int x) { return std::to_string(x); })
                         .wait() == "16",
                 "a future of a future");

      const auto both = pgas::when_all(on.rpc(next, [] { return std::string("a"); }), on.rpc(next, [] {}), chain);
      own.expect(std::get<0>(both.wait()) == "a" && std::get<2>(both.wait()) == 100005, "all of several types");
      std::vector<future<std::uint32_t>> many;
      many.reserve(5000);
      for (std::uint32_t i = 0; i < 5000; ++i)
        many.push_back(on.rpc(i % own.ranks, [](std::uint32_t x) { return x; }, i));
      const std::vector<std::uint32_t> found = pgas::when_all(std::move(many)).wait();
      for (std::uint32_t i = 0; i < 5000; ++i) own.expect(found[i] == i, "all of many");
      pgas::when_all(std::vector<future<void>>{}).wait();
      own.expect(pgas::when_all().ready(), "all of none");

      const auto fails = [](int) -> int { throw std::out_of_range("far out"); };
      const auto failed = on.rpc(next, fails, 1);
      own.expect(words_of<remote_error>([&] { failed.wait(); }) == "far out", "thrown there");
      bool ran = false;
      const auto after = pgas::when_all(failed, chain).then([&](const auto&) { ran = true; });
      own.expect(words_of<remote_error>([&] { after.wait(); }) == "far out" && !ran, "a failure goes on");
      own.expect(words_of<std::runtime_error>(
                     [&] { chain.then([](int) -> int { throw std::runtime_error("mine"); }).wait(); }) == "mine",
                 "thrown by a continuation");
      const auto lost = [&] {
        const promise<int> given_up(&on);
        return given_up.get_future();
      }();
      own.expect(words_of<std::logic_error>([&] { lost.wait(); }) == "promise: it was destroyed before it had a value",
                 "a promise that is not kept");
      const auto words = on.rpc(next, [](remote_calls& here) {
                             return words_of<std::logic_error>([&] { here.rpc(0, [] {}).wait(); });
                           }).wait();
      own.expect(words == "wait: not within a remote procedure call: return a future", "waits in a call");
      const promise<void> alone;
      own.expect(words_of<std::logic_error>([&] { alone.get_future().wait(); }) ==
                     "future: nobody is going to give it a value",
                 "of no promise");
      on.finish();

      // What nobody waits for is thrown where it ran, and nothing behind it is lost.
      per_rank<int> count(on, 0);
      for (int i = 0; i < 10; ++i)
        on.rpc_ff(
            next,
            [](per_rank<int>& c, int k) {
              ++*c;
              if (k == 3) throw std::runtime_error("third");
            },
            count, i);
      own.expect(words_of<std::runtime_error>([&] { on.finish(); }) == "third", "thrown here");
      own.expect(*count == 10, "calls behind it");
    });
  }
}

TEST_CASE("puts, gets and atomic operations have futures, and functions run where an element is") {
  for (const Shape& shape : shapes()) {
    with_calls(shape, [](Rank& own, remote_calls& on) {
      constexpr std::uint32_t count = 300;
      pgas::shared_array<std::uint64_t> array(own.space, std::uint64_t{count} * own.ranks, 7);
      pgas::shared_array<double> sums(own.space, own.ranks);
      for (auto [i, x] : array.mine()) x = 0;
      for (auto [i, x] : sums.mine()) x = 0;
      on.barrier();
      std::vector<future<void>> puts;
      for (std::uint64_t i = own.rank; i < array.size(); i += own.ranks)
        puts.push_back(on.put((&array[i]).global(), 5 * i));
      pgas::when_all(std::move(puts)).wait();
      on.barrier();
      std::vector<future<std::uint64_t>> gets;
      for (std::uint64_t i = 0; i < array.size(); ++i) gets.push_back(on.get((&array[i]).global()));
      const auto all = pgas::when_all(std::move(gets)).wait();
      for (std::uint64_t i = 0; i < array.size(); ++i) own.expect(all[i] == 5 * i, "got");
      std::vector<std::uint64_t> block(7);
      on.get((&array[0]).global(), block.data(), 7).then([&] { own.expect(block[6] == 30, "a block"); }).wait();
      on.barrier();
      // Large enough that it is not copied before it goes.
      constexpr std::uint64_t many = 5000;
      pgas::shared_array<std::uint64_t> rows(own.space, many * own.ranks, many);
      std::vector<std::uint64_t> row(many, own.rank);
      const std::uint32_t next = (own.rank + 1) % own.ranks;
      const auto steps = on.put_in_steps((&rows[many * next]).global(), row.data(), many);
      steps.local.wait();
      std::fill(row.begin(), row.end(), 77);
      steps.done.wait();
      on.barrier();
      const std::uint64_t before_this = (own.rank + own.ranks - 1) % own.ranks;
      own.expect(std::count(rows.data(), rows.data() + many, before_this) == many, "a row");
      on.barrier();

      std::vector<future<std::uint64_t>> before;
      std::vector<future<double>> halves;
      for (std::uint32_t i = 0; i < 200; ++i) {
        before.push_back(on.atomic((&array[i]).global(), ISTHMUS_ATOMIC_ADD, 1U));
        halves.push_back(on.atomic((&sums[i % own.ranks]).global(), ISTHMUS_ATOMIC_ADD, 0.5));
      }
      for (std::uint32_t i = 0; i < 200; ++i) {
        const std::uint64_t b = before[i].wait();
        own.expect(b >= 5 * i && b < 5 * i + own.ranks, "before");
      }
      pgas::when_all(halves).wait();
      on.barrier();
      double all_halves = 0;
      for (std::uint32_t r = 0; r < own.ranks; ++r) all_halves += sums[r];
      own.expect(all_halves == 100.0 * own.ranks && array[199] == 5 * 199 + own.ranks, "sums");
      on.barrier();
      const auto wrong = on.atomic(global_ptr<std::uint64_t>(own.space, own.ranks - 1, std::uint64_t{1} << 60),
                                   ISTHMUS_ATOMIC_ADD, 1U);
      own.expect(!words_of<remote_error>([&] { wrong.wait(); }).empty(), "outside");
    });
  }
}

TEST_CASE("a function that runs where an element is has it for itself") {
  for (const Shape& shape : shapes()) {
    with_calls(shape, [](Rank& own, remote_calls& on) {
      pgas::shared_array<double> array(own.space, 10);
      for (auto [i, x] : array.mine()) x = 1;
      on.barrier();
      for (int i = 0; i < 500; ++i)
        on.apply_ff((&array[i % 10]).global(), [](double& x, double factor) { x = x * factor + 1; }, i % 10);
      const global_ptr<double> first = (&array[0]).global();
      const auto at = on.apply(first, [](double& x, global_ptr<double> p) { return p.local() == &x; }, first);
      own.expect(at.wait(), "a global pointer as argument");
      on.finish();
      for (auto [i, x] : array.mine()) {
        double expected = 1;
        for (std::uint32_t k = 0; k < 50 * own.ranks; ++k) expected = expected * static_cast<double>(i) + 1;
        own.expect(x == expected, "element " + std::to_string(i));
      }
    });
  }
}

}  // namespace isthmus::test

// The queue lock, the holder of a heap, and signals.
#include "runtime/pgas/heap.hpp"
#include "runtime/pgas/queue_lock.hpp"
#include "runtime/pgas/signals.hpp"

#include "parts.hpp"

namespace isthmus::model {
namespace {

using runtime::LockNode;
using runtime::LockWord;

struct Shared {
  LockWord word = 0;
  LockNode nodes[4] = {};
  runtime::HeapPlaces heap = {};
  alignas(64) std::uint64_t signal = 0;
  alignas(64) std::uint64_t data[4] = {};
};
Shared* shared = nullptr;

/// All memory is near: a word is the number of a node plus 1.
struct Ways {
  [[nodiscard]] LockWord exchange(LockWord next) const { return runtime::exchange(shared->word, next); }
  [[nodiscard]] LockWord exchange_if(LockWord expected, LockWord next) const {
    return runtime::exchange_if(shared->word, expected, next);
  }
  void tell(LockWord node, std::atomic<LockWord> LockNode::* part, LockWord value) const {
    runtime::tell(shared->nodes[node - 1].*part, value);
  }
  template <class F>
  void wait_until(const F& is_so) const {
    await(is_so);
  }
};

Program program_of(std::uint32_t threads, const std::function<void(std::uint32_t)>& work, std::function<void()> end) {
  Program program;
  program.begin = [] { shared = &make_shared<Shared>(); };
  for (std::uint32_t t = 0; t < threads; ++t) program.threads.emplace_back([=] { work(t); });
  program.end = std::move(end);
  return program;
}

/// Each adds to a plain number so many times; `tries`: the last one only where it gets the lock at once.
Program locks(std::uint32_t threads, int times, bool tries) {
  return program_of(
      threads,
      [=](std::uint32_t t) {
        for (int i = 0; i < times; ++i) {
          const bool waits = !tries || t + 1 < threads;
          if (!take_lock(Ways(), shared->nodes[t], t + 1, waits)) continue;
          ++shared->data[0];
          if (waits) ++shared->data[1];
          leave_lock(Ways(), shared->nodes[t], t + 1);
        }
      },
      [=] {
        const std::uint64_t sure = (tries ? threads - 1 : threads) * static_cast<std::uint64_t>(times);
        check(shared->data[1] == sure && shared->data[0] >= sure, "an addition is lost");
        check(shared->word == 0, "somebody has the lock");
      });
}

Program heaps(std::uint32_t threads) {
  return program_of(
      threads,
      [](std::uint32_t t) {
        await([t] { return try_hold(shared->heap, t); });
        ++shared->heap.top;
        let_go(shared->heap);
      },
      [=] { check(shared->heap.top == threads, "two at once"); });
}

/// One rank waits for what the others say; then for what the first one says again.
Program signals() {
  return program_of(
      3,
      [](std::uint32_t t) {
        if (t < 2) {
          shared->data[t] = t + 1;
          runtime::add_to_signal(shared->signal, 1);
          return;
        }
        await([] { return runtime::has_come(shared->signal, 2); });
        check(shared->data[0] == 1 && shared->data[1] == 2, "what the signal says is not there");
        runtime::take_from_signal(shared->signal, 2);
      },
      [] { check(shared->signal == 0, "a signal is lost"); });
}

}  // namespace

Part locks() {
  return {"locks",
          {locks(2, 2, false), locks(3, 1, false), locks(2, 2, true), locks(3, 1, true), heaps(3), signals()},
          {"runtime/pgas/queue_lock.hpp", "runtime/pgas/heap.hpp", "runtime/pgas/signals.hpp"},
          {{"ways.wait_until([&] { return (next =", Weakening::acquire,
            "the exchange that failed has acquired it; kept for words at other nodes, whose way is up to MPI"}},
          {}};
}

}  // namespace isthmus::model

// The model checker itself: classical litmus programs, whose outcomes under the orders of C++ are known.
#include <atomic>
#include <string>
#include <vector>

#include "model.hpp"
#include "tests.hpp"

namespace isthmus::model {
namespace {

using Order = std::memory_order;
constexpr Order rlx = std::memory_order_relaxed, acq = std::memory_order_acquire, rel = std::memory_order_release,
                sc = std::memory_order_seq_cst;

struct Shared {
  std::atomic<int> x{0}, y{0};
  int data = 0;
  int r[4] = {};  // what is found; each by one thread
};

struct Classic {
  const char* name;
  std::vector<std::function<void(Shared&)>> bodies;
  int found;  ///< so many of r make an outcome, then x and y if `at_end`
  bool at_end;
  std::set<std::string> outcomes;
};

std::set<std::string> outcomes_of(const Classic& classic) {
  Shared* shared = nullptr;
  Program program;
  program.begin = [&] { shared = &make_shared<Shared>(); };
  for (const auto& body : classic.bodies) program.threads.emplace_back([&] { body(*shared); });
  program.end = [&] {
    std::string words;
    for (int i = 0; i < classic.found; ++i) words += std::to_string(shared->r[i]);
    if (classic.at_end) words += std::to_string(shared->x.load()) + std::to_string(shared->y.load());
    outcome(words);
  };
  const Found found = explore(program);
  return found.error.empty() ? found.outcomes : std::set<std::string>{found.error};
}

Classic message_passing(const char* name, Order store, Order load, std::set<std::string> all) {
  return {name,
          {[=](Shared& s) {
             s.x.store(1, rlx);
             s.y.store(1, store);
           },
           [=](Shared& s) {
             s.r[0] = s.y.load(load);
             s.r[1] = s.x.load(rlx);
           }},
          2,
          false,
          std::move(all)};
}

Classic message_passing_by_fences(const char* name, Order before, Order after, std::set<std::string> all) {
  return {name,
          {[=](Shared& s) {
             s.x.store(1, rlx);
             std::atomic_thread_fence(before);
             s.y.store(1, rlx);
           },
           [=](Shared& s) {
             s.r[0] = s.y.load(rlx);
             std::atomic_thread_fence(after);
             s.r[1] = s.x.load(rlx);
           }},
          2,
          false,
          std::move(all)};
}

Classic store_buffering(const char* name, Order store, Order load, bool fence, std::set<std::string> all) {
  return {name,
          {[=](Shared& s) {
             s.x.store(1, store);
             if (fence) std::atomic_thread_fence(sc);
             s.r[0] = s.y.load(load);
           },
           [=](Shared& s) {
             s.y.store(1, store);
             if (fence) std::atomic_thread_fence(sc);
             s.r[1] = s.x.load(load);
           }},
          2,
          false,
          std::move(all)};
}

Classic load_buffering(const char* name, Order load, Order store) {
  return {name,
          {[=](Shared& s) {
             s.r[0] = s.x.load(load);
             s.y.store(1, store);
           },
           [=](Shared& s) {
             s.r[1] = s.y.load(load);
             s.x.store(1, store);
           }},
          2,
          false,
          {"00", "01", "10"}};
}

Classic independent_reads(const char* name, Order store, Order load, bool fence, bool weak) {
  Classic classic{name,
                  {[=](Shared& s) { s.x.store(1, store); }, [=](Shared& s) { s.y.store(1, store); },
                   [=](Shared& s) {
                     s.r[0] = s.x.load(load);
                     if (fence) std::atomic_thread_fence(sc);
                     s.r[1] = s.y.load(load);
                   },
                   [=](Shared& s) {
                     s.r[2] = s.y.load(load);
                     if (fence) std::atomic_thread_fence(sc);
                     s.r[3] = s.x.load(load);
                   }},
                  4,
                  false,
                  {}};
  for (int i = 0; i < 16; ++i) {
    std::string words;
    for (int bit = 3; bit >= 0; --bit) words += std::to_string(i >> bit & 1);
    if (weak || words != "1010") classic.outcomes.insert(words);
  }
  return classic;
}

Classic two_writes(const char* name, Order store, bool fence, bool weak) {
  Classic classic{name,
                  {[=](Shared& s) {
                     s.x.store(1, store);
                     if (fence) std::atomic_thread_fence(sc);
                     s.y.store(2, store);
                   },
                   [=](Shared& s) {
                     s.y.store(1, store);
                     if (fence) std::atomic_thread_fence(sc);
                     s.x.store(2, store);
                   }},
                  0,
                  true,
                  {"12", "21", "22"}};
  if (weak) classic.outcomes.insert("11");
  return classic;
}

Classic causality(const char* name, Order store, Order load, bool weak) {
  Classic classic{name,
                  {[=](Shared& s) { s.x.store(1, store); },
                   [=](Shared& s) {
                     s.r[0] = s.x.load(load);
                     s.y.store(1, store);
                   },
                   [=](Shared& s) {
                     s.r[1] = s.y.load(load);
                     s.r[2] = s.x.load(rlx);
                   }},
                  3,
                  false,
                  {"000", "001", "010", "011", "100", "101", "111"}};
  if (weak) classic.outcomes.insert("110");
  return classic;
}

const std::vector<Classic>& classics() {
  const std::set<std::string> three{"00", "01", "11"}, all{"00", "01", "10", "11"}, no_00{"01", "10", "11"};
  static const std::vector<Classic> made{
      message_passing("message passing, relaxed", rlx, rlx, all),
      message_passing("message passing, release and relaxed", rel, rlx, all),
      message_passing("message passing, relaxed and acquire", rlx, acq, all),
      message_passing("message passing, release and acquire", rel, acq, three),
      message_passing("message passing, consistent", sc, sc, three),
      message_passing_by_fences("message passing by fences", rel, acq, three),
      message_passing_by_fences("message passing, a fence for the store alone", rel, rel, all),
      message_passing_by_fences("message passing, a fence for the load alone", acq, acq, all),
      store_buffering("store buffering, relaxed", rlx, rlx, false, all),
      store_buffering("store buffering, release and acquire", rel, acq, false, all),
      store_buffering("store buffering, consistent", sc, sc, false, no_00),
      store_buffering("store buffering, consistent stores", sc, acq, false, all),
      store_buffering("store buffering, consistent loads", rel, sc, false, all),
      store_buffering("store buffering by fences", rlx, rlx, true, no_00),
      load_buffering("load buffering, relaxed", rlx, rlx),
      load_buffering("load buffering, release and acquire", acq, rel),
      independent_reads("independent reads, relaxed", rlx, rlx, false, true),
      independent_reads("independent reads, release and acquire", rel, acq, false, true),
      independent_reads("independent reads, consistent", sc, sc, false, false),
      independent_reads("independent reads, fences", rlx, rlx, true, false),
      two_writes("two writes, relaxed", rlx, false, true),
      two_writes("two writes, release", rel, false, true),
      two_writes("two writes, consistent", sc, false, false),
      two_writes("two writes, fences", rlx, true, false),
      causality("causality, relaxed", rlx, rlx, true),
      causality("causality, release and acquire", rel, acq, false),
      causality("causality, release and relaxed", rel, rlx, true),
      {"coherence of reads",
       {[](Shared& s) { s.x.store(1, rlx); }, [](Shared& s) { s.x.store(2, rlx); },
        [](Shared& s) {
          s.r[0] = s.x.load(rlx);
          s.r[1] = s.x.load(rlx);
        },
        [](Shared& s) {
          s.r[2] = s.x.load(rlx);
          s.r[3] = s.x.load(rlx);
        }},
       4,
       false,
       // Not those that go back to 0, nor those in which two threads see two orders.
       {"0000", "0001", "0002", "0011", "0012", "0021", "0022", "0100", "0101", "0102", "0111", "0112",
        "0121", "0122", "0200", "0201", "0202", "0211", "0212", "0221", "0222", "1100", "1101", "1102",
        "1111", "1112", "1121", "1122", "1200", "1201", "1202", "1211", "1212", "1222", "2100", "2101",
        "2102", "2111", "2121", "2122", "2200", "2201", "2202", "2211", "2212", "2221", "2222"}},
      {"coherence of a write after a read",
       {[](Shared& s) {
          s.r[0] = s.x.load(rlx);
          s.x.store(1, rlx);
        },
        [](Shared& s) { s.x.store(2, rlx); }},
       1,
       true,
       {"010", "020", "210"}},
      {"two changes lose nothing",
       {[](Shared& s) { s.r[0] = s.x.fetch_add(1, rlx); }, [](Shared& s) { s.r[1] = s.x.fetch_add(1, rlx); }},
       2,
       true,
       {"0120", "1020"}},
      {"of two comparisons one holds",
       {[](Shared& s) {
          int zero = 0;
          s.r[0] = s.x.compare_exchange_strong(zero, 1, rlx) ? 1 : 0;
        },
        [](Shared& s) {
          int zero = 0;
          s.r[1] = s.x.compare_exchange_strong(zero, 2, rlx) ? 1 : 0;
        }},
       2,
       true,
       {"1010", "0120"}},
      {"a release sequence goes on through a change",
       {[](Shared& s) {
          s.data = 1;
          s.x.store(1, rel);
        },
        [](Shared& s) { s.x.fetch_add(1, rlx); },
        [](Shared& s) {
          s.r[0] = s.x.load(acq);
          if (s.r[0] == 2) s.r[1] = s.y.load(rlx);
        }},
       2,
       false,
       {"00", "10", "20"}},
      {"a waiting thread finds data",
       {[](Shared& s) {
          s.data = 7;
          s.x.store(1, rel);
        },
        [](Shared& s) {
          await([&] { return s.x.load(acq) == 1; });
          s.r[0] = s.data;
        }},
       1,
       false,
       {"7"}},
      {"a data race",
       {[](Shared& s) {
          s.data = 7;
          s.x.store(1, rlx);
        },
        [](Shared& s) {
          if (s.x.load(acq) == 1) s.r[0] = s.data;
        }},
       1,
       false,
       {"data race with thread 0 (thread 1)"}},
      {"a race of a plain store with an atomic one",
       {[](Shared& s) { s.x.store(1, rlx); }, [](Shared& s) { *reinterpret_cast<volatile int*>(&s.x) = 3; }},
       1,
       false,
       {"data race with thread 0 (thread 1)", "data race with thread 1 (thread 0)"}},
      {"waiting in vain",
       {[](Shared& s) { await([&] { return s.x.load(acq) == 1; }); }, [](Shared& s) { s.y.store(1, rel); }},
       1,
       false,
       {"all threads wait (thread 1)", "all threads wait (thread 0)"}},
  };
  return made;
}

}  // namespace

int classics_wrong() {
  int wrong = 0;
  for (const Classic& classic : classics()) {
    const std::set<std::string> found = outcomes_of(classic);
    const std::set<std::string>& wanted = classic.outcomes;
    const auto is_error = [](const std::set<std::string>& all) {
      return all.size() == 1 && all.begin()->find(' ') != std::string::npos;
    };
    if (found == wanted || (is_error(found) && wanted.contains(*found.begin()))) continue;
    ++wrong;
    say(std::string(classic.name) + ":");
    for (const std::string& one : found)
      if (!wanted.contains(one)) say("  not known: " + one);
    for (const std::string& one : wanted)
      if (!found.contains(one)) say("  not found: " + one);
  }
  say(std::to_string(classics().size()) + " classics, " + std::to_string(wrong) + " wrong");
  return wrong;
}

}  // namespace isthmus::model

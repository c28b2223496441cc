// The partitioned global address space of the C interface, each rank a thread, on one node or on several:
// memory, one-sided transfers, atomic operations, active messages, barriers, signals, locks.
#include <doctest/doctest.h>
#include <isthmus/isthmus_pgas.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pgas_ranks.hpp"
#include "runtime/pgas/heap.hpp"
#include "sample.hpp"

namespace isthmus::test {

using runtime::Heap;

TEST_CASE("blocks of a heap do not overlap, and become one again") {
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 20; ++turn) {
    constexpr std::uint64_t most = 1 << 18;
    std::vector<std::byte> memory(most + 64);
    std::byte* const first = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
    runtime::HeapPlaces places{};
    Heap heap(places, first, most);
    std::uint64_t grown = 0;
    const auto grow = [&](std::uint64_t top) { grown = std::max(grown, top); };
    std::map<std::uint64_t, std::uint64_t> blocks;  // offset, bytes
    for (int step = 0; step < 3000; ++step) {
      if (random() % 5 < 3) {
        const std::uint64_t bytes = random() % (random() % 8 == 0 ? 20000 : 300);
        const std::uint64_t offset = heap.allocate(bytes, grow);
        if (offset == Heap::none) continue;
        REQUIRE(offset % 64 == 0);
        REQUIRE(offset + bytes <= grown);
        REQUIRE(grown <= most);
        const auto next = blocks.upper_bound(offset);
        if (next != blocks.end()) REQUIRE(offset + bytes + 64 <= next->first);
        if (next != blocks.begin()) REQUIRE(std::prev(next)->first + std::prev(next)->second <= offset - 64);
        blocks[offset] = bytes;
        std::memset(first + offset, static_cast<int>(random()), bytes);
      } else if (!blocks.empty()) {
        const auto chosen = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
        REQUIRE(heap.release(chosen->first));
        REQUIRE_FALSE(heap.release(chosen->first));
        blocks.erase(chosen);
      }
    }
    for (const auto& [offset, bytes] : blocks) REQUIRE(heap.release(offset));
    CHECK(places.top == 0);
    CHECK(std::all_of(places.free.begin(), places.free.end(), [](std::uint64_t list) { return list == 0; }));
    CHECK(heap.allocate(most - 64, grow) == 64);
    CHECK(heap.allocate(0, grow) == Heap::none);
  }
}

TEST_CASE("what is put is there after a barrier, and what is got is what was put") {
  for (const Shape& ranks : shapes()) {
    on_ranks(ranks, [](Rank& own) {
      // Every rank writes pieces of its own third of the table of each rank, which knows what must be there.
      constexpr std::uint64_t part = 30000;
      std::uint64_t table = 0;
      own.done(isthmus_allocate_all(own.space, part * own.ranks, &table), "allocate");
      own.done(isthmus_set(own.space, own.rank, table, 0, part * own.ranks), "set");
      own.barrier();
      std::vector<std::vector<unsigned char>> expected(own.ranks, std::vector<unsigned char>(part));
      for (int i = 0; i < 300; ++i) {
        const auto to = static_cast<std::uint32_t>(own.below(own.ranks));
        const std::uint64_t bytes = own.below(own.below(4) == 0 ? 9000 : 40), at = own.below(part - bytes);
        std::vector<unsigned char> piece(bytes);
        for (auto& byte : piece) byte = static_cast<unsigned char>(own.random());
        own.done(isthmus_put(own.space, to, table + own.rank * part + at, piece.data(), bytes), "put");
        std::copy(piece.begin(), piece.end(), expected[to].begin() + static_cast<std::ptrdiff_t>(at));
      }
      own.barrier();
      for (std::uint32_t from = 0; from < own.ranks; ++from) {
        std::vector<unsigned char> found(part);
        own.done(isthmus_get(own.space, found.data(), from, table + own.rank * part, part), "get");
        own.expect(found == expected[from], "the part of rank " + std::to_string(from));
        const auto* const cast = static_cast<unsigned char*>(isthmus_cast(own.space, from, table + own.rank * part));
        own.expect((cast != nullptr) == own.shares(from), "cast");
        if (cast == nullptr) continue;
        own.expect(std::equal(found.begin(), found.end(), cast), "cast");
        std::uint32_t rank = 99;
        std::uint64_t offset = 0;
        own.done(isthmus_place_of_pointer(own.space, cast + 5, &rank, &offset), "place of a pointer");
        own.expect(rank == from && offset == table + own.rank * part + 5, "place of a pointer");
      }
      own.barrier();
      if (own.rank == own.ranks - 1) own.done(isthmus_release(own.space, 0, table), "release");
    });
  }
}

TEST_CASE("more long puts and gets than may be under way at once come where they belong") {
  // Between nodes that send in pieces: those of an odd number of ranks.
  for (const Shape& ranks : {Shape{3, 1}, Shape{5, 2}}) {
    on_ranks(ranks, [](Rank& own) {
      constexpr std::uint64_t block = 250'000, blocks = 4;
      std::uint64_t table = 0;
      own.done(isthmus_allocate_all(own.space, block * blocks * own.ranks, &table), "allocate");
      const auto filled = [&](std::uint32_t from, std::uint32_t to, std::uint64_t k) {
        return std::vector<unsigned char>(block, static_cast<unsigned char>(1 + from * 41 + to * 7 + k));
      };
      std::vector<std::vector<unsigned char>> sent, got;
      for (std::uint64_t k = 0; k < blocks; ++k) {
        for (std::uint32_t to = 0; to < own.ranks; ++to) {
          const std::vector<unsigned char>& one = sent.emplace_back(filled(own.rank, to, k));
          // Now and then a short one, which must not overtake what is to the same rank and waits.
          const std::uint64_t at = table + (own.rank * blocks + k) * block;
          own.done(isthmus_begin_put(own.space, to, at, one.data(), k % 3 == 0 ? 100 : block, nullptr), "put");
        }
      }
      own.done(isthmus_wait_all(own.space), "wait");
      own.barrier();
      for (std::uint64_t k = 0; k < blocks; ++k) {
        for (std::uint32_t from = 0; from < own.ranks; ++from) {
          const std::uint64_t bytes = k % 3 == 0 ? 100 : block;
          std::vector<unsigned char>& one = got.emplace_back(bytes);
          const std::uint64_t at = table + (from * blocks + k) * block;
          own.done(isthmus_begin_get(own.space, one.data(), (own.rank + 1) % own.ranks, at, bytes, nullptr), "get");
        }
      }
      own.done(isthmus_wait_all(own.space), "wait");
      for (std::uint64_t i = 0; i < got.size(); ++i) {
        const auto from = static_cast<std::uint32_t>(i % own.ranks);
        const std::vector<unsigned char> expected = filled(from, (own.rank + 1) % own.ranks, i / own.ranks);
        own.expect(std::equal(got[i].begin(), got[i].end(), expected.begin()),
                   "a block of rank " + std::to_string(from));
      }
      own.barrier();
    });
  }
}

TEST_CASE("memory is allocated by all, by one for all, by one for itself, and released by anybody") {
  for (const Shape& ranks : shapes()) {
    on_ranks(ranks, [](Rank& own) {
      constexpr std::uint32_t count = 50;
      std::uint64_t board = 0;  // of every rank: what it has allocated
      own.done(isthmus_allocate_all(own.space, 2 * count * sizeof board, &board), "board");
      std::array<std::uint64_t, 2 * count> mine{};
      for (std::uint32_t i = 0; i < count; ++i) {
        own.done(isthmus_allocate_global(own.space, own.below(3000), &mine[i]), "global");
        own.done(isthmus_allocate(own.space, own.below(3000), &mine[count + i]), "local");
        // Symmetric memory belongs to its allocator on all ranks.
        for (std::uint32_t r = 0; r < own.ranks; ++r)
          own.done(isthmus_put(own.space, r, mine[i], &own.rank, sizeof own.rank), "mark");
        own.done(isthmus_put(own.space, own.rank, mine[count + i], &own.rank, sizeof own.rank), "mark");
      }
      own.done(isthmus_put(own.space, own.rank, board, mine.data(), sizeof mine), "write down");
      own.barrier();
      const std::uint32_t other = (own.rank + 1) % own.ranks;
      std::array<std::uint64_t, 2 * count> its{};
      own.done(isthmus_get(own.space, its.data(), other, board, sizeof its), "read");
      for (std::uint32_t i = 0; i < 2 * count; ++i) {
        std::uint32_t mark = 99;
        own.done(isthmus_get(own.space, &mark, other, its[i], sizeof mark), "mark of another");
        own.expect(mark == other, "somebody else wrote there");
      }
      own.barrier();
      for (const std::uint64_t offset : its) own.done(isthmus_release(own.space, other, offset), "release");
      own.barrier();
      own.expect(isthmus_release(own.space, other, its[0]) == ISTHMUS_INVALID, "twice");
      own.barrier();
      if (own.rank == 0) own.done(isthmus_release(own.space, 0, board), "release");
      own.barrier();
      std::uint64_t whole = 0;
      if (own.rank == 0) own.done(isthmus_allocate_global(own.space, (16 << 20) - 64, &whole), "all of it");
      own.expect(isthmus_allocate_all(own.space, 64, &whole) == (own.rank < own.ranks ? ISTHMUS_MEMORY : 0),
                 "too much");
    });
  }
}

namespace {

template <class T>
void atomic_sums(Rank& own, isthmus_element element, std::uint64_t place) {
  constexpr int times = 500;
  for (int i = 1; i <= times; ++i) {
    const T add = static_cast<T>(i % 7);
    T before{};
    own.done(isthmus_atomic(own.space, static_cast<std::uint32_t>(own.below(own.ranks)), place, element,
                            ISTHMUS_ATOMIC_ADD, &add, nullptr, i % 2 == 0 ? &before : nullptr),
             "add");
    const T limit = static_cast<T>(own.rank * 10000 + static_cast<std::uint32_t>(i));
    own.done(isthmus_atomic(own.space, 0, place + 8, element, ISTHMUS_ATOMIC_MAX, &limit, nullptr, nullptr), "max");
    own.done(isthmus_atomic(own.space, 0, place + 16, element, ISTHMUS_ATOMIC_MIN, &limit, nullptr, nullptr), "min");
    // A counter by comparison.
    for (T seen{};;) {
      own.done(isthmus_atomic(own.space, 0, place + 24, element, ISTHMUS_ATOMIC_READ, nullptr, nullptr, &seen), "read");
      const T next = seen + 1;
      T found{};
      own.done(isthmus_atomic(own.space, 0, place + 24, element, ISTHMUS_ATOMIC_SWAP_IF, &next, &seen, &found), "if");
      if (found == seen || !own.wrong.empty()) break;
    }
  }
  own.barrier();
  if (own.rank == 0) {
    T sum{}, most{}, least{}, counted{}, old{};
    for (std::uint32_t r = 0; r < own.ranks; ++r) {
      T part{};
      own.done(isthmus_get(own.space, &part, r, place, sizeof part), "get");
      sum += part;
    }
    int once = 0;
    for (int i = 1; i <= times; ++i) once += i % 7;
    own.expect(sum == static_cast<T>(once * static_cast<int>(own.ranks)), "sum");
    isthmus_get(own.space, &most, 0, place + 8, sizeof most);
    isthmus_get(own.space, &least, 0, place + 16, sizeof least);
    isthmus_get(own.space, &counted, 0, place + 24, sizeof counted);
    own.expect(most == static_cast<T>((own.ranks - 1) * 10000 + times), "max");
    own.expect(least == T{}, "min");
    own.expect(counted == static_cast<T>(times * static_cast<int>(own.ranks)), "counter");
    const T swapped = 77;
    own.done(isthmus_atomic(own.space, 0, place, element, ISTHMUS_ATOMIC_SWAP, &swapped, nullptr, &old), "swap");
  }
  own.barrier();
}

}  // namespace

TEST_CASE("atomic operations of all ranks on the same elements lose nothing") {
  for (const Shape& ranks : shapes()) {
    on_ranks(ranks, [](Rank& own) {
      std::uint64_t table = 0;
      own.done(isthmus_allocate_all(own.space, 6 * 32, &table), "allocate");
      own.done(isthmus_set(own.space, own.rank, table, 0, std::size_t{6} * 32), "set");
      own.barrier();
      atomic_sums<std::int32_t>(own, ISTHMUS_I32, table);
      atomic_sums<std::int64_t>(own, ISTHMUS_I64, table + 32);
      atomic_sums<std::uint32_t>(own, ISTHMUS_U32, table + 64);
      atomic_sums<std::uint64_t>(own, ISTHMUS_U64, table + 96);
      atomic_sums<float>(own, ISTHMUS_F32, table + 128);
      atomic_sums<double>(own, ISTHMUS_F64, table + 160);
      // Every rank sets, flips and clears a bit of its own.
      const std::uint64_t bit = std::uint64_t{1} << own.rank, others = ~bit;
      own.done(isthmus_set(own.space, own.rank, table, 0, 8), "set");
      own.barrier();
      for (int i = 0; i < 101; ++i)
        isthmus_atomic(own.space, 0, table, ISTHMUS_U64, ISTHMUS_ATOMIC_XOR, &bit, nullptr, nullptr);
      std::uint64_t seen = 0;
      isthmus_atomic(own.space, 0, table, ISTHMUS_U64, ISTHMUS_ATOMIC_AND, &others, nullptr, &seen);
      own.expect((seen & bit) != 0, "xor");
      isthmus_atomic(own.space, 0, table, ISTHMUS_U64, ISTHMUS_ATOMIC_OR, &bit, nullptr, &seen);
      own.expect((seen & bit) == 0, "and");
      own.barrier();
      isthmus_get(own.space, &seen, 0, table, 8);
      own.expect(seen == (std::uint64_t{1} << own.ranks) - 1, "or");
    });
  }
}

namespace {

/// What a rank has got.
struct Post {
  Rank* own = nullptr;
  std::uint64_t requests = 0, replies = 0, sum = 0;
  std::vector<std::uint64_t> last;  // of each rank: the number of its last request
  std::uint64_t landing = 0;
};

unsigned char byte_of(std::uint64_t seed, std::size_t i) { return static_cast<unsigned char>(seed * 31 + i * 7 + 1); }

bool is_payload(const void* payload, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (static_cast<const unsigned char*>(payload)[i] != byte_of(seed, i)) return false;
  return true;
}

enum : std::uint32_t { ask = 3, answer = 250, ask_to = 9 };

void on_request(isthmus_token* token, const std::uint64_t* arguments, std::uint32_t count, void* payload,
                std::size_t bytes, void* data) {
  Post& post = *static_cast<Post*>(data);
  Rank& own = *post.own;
  const std::uint32_t from = isthmus_token_rank(token);
  own.expect(isthmus_token_space(token) == own.space, "space of a token");
  own.expect(count >= 2 && arguments[1] == bytes, "arguments");
  own.expect(arguments[0] == post.last[from] + 1, "requests of a rank come in their order");
  for (std::uint32_t i = 2; i < count; ++i) own.expect(arguments[i] == arguments[0] + i, "argument");
  own.expect(is_payload(payload, bytes, arguments[0]), "payload");
  own.expect(isthmus_poll(own.space) == ISTHMUS_INVALID, "a handler may not poll");
  post.last[from] = arguments[0];
  ++post.requests;
  if (arguments[0] % 3 == 0) return;
  // A third of the replies bring everything back.
  const std::uint64_t back[2] = {arguments[0], arguments[0] % 3 == 1 ? bytes : 0};
  own.done(isthmus_reply(token, answer, back, 2, payload, back[1]), "reply");
  own.expect(isthmus_reply(token, answer, back, 2, nullptr, 0) == ISTHMUS_INVALID, "a second reply");
}

void on_reply(isthmus_token* token, const std::uint64_t* arguments, std::uint32_t, void* payload, std::size_t bytes,
              void* data) {
  Post& post = *static_cast<Post*>(data);
  ++post.replies;
  post.own->expect(arguments[1] == bytes, "bytes of a reply");
  post.own->expect(is_payload(payload, bytes, arguments[0]), "payload of a reply");
  post.own->expect(isthmus_reply(token, answer, arguments, 2, nullptr, 0) == ISTHMUS_INVALID, "a reply to a reply");
}

void on_request_to(isthmus_token* token, const std::uint64_t* arguments, std::uint32_t, void* payload,
                   std::size_t bytes, void* data) {
  Post& post = *static_cast<Post*>(data);
  Rank& own = *post.own;
  own.expect(payload == isthmus_cast(own.space, own.rank, arguments[1]), "place of a payload");
  for (std::size_t i = 0; i < bytes; i += 97)
    own.expect(static_cast<unsigned char*>(payload)[i] == byte_of(arguments[0], i), "payload in the space");
  ++post.requests;
  const std::uint64_t back[2] = {arguments[0], bytes};
  own.done(isthmus_reply_to(token, answer, back, 2, payload, bytes, arguments[1]), "reply with a place");
}

}  // namespace

TEST_CASE("active messages come once, whole, in their order, however small the queues") {
  for (const Shape& ranks : shapes()) {
    for (const std::uint64_t queue : {16 << 10, 256 << 10}) {
      isthmus_space_options options{};
      options.queue = queue;
      on_ranks(
          ranks,
          [](Rank& own) {
            Post post{&own, 0, 0, 0, std::vector<std::uint64_t>(own.ranks), 0};
            own.done(isthmus_handle(own.space, ask, on_request, &post), "handle");
            own.done(isthmus_handle(own.space, answer, on_reply, &post), "handle");
            own.barrier();
            const std::size_t most = isthmus_most_payload(own.space);
            std::vector<std::uint64_t> numbers(own.ranks);
            std::uint64_t replies = 0;
            const std::uint64_t count = 600;
            for (std::uint64_t i = 0; i < count; ++i) {
              const auto to = static_cast<std::uint32_t>(own.below(own.ranks));
              const std::uint64_t number = ++numbers[to];
              const std::size_t bytes = own.below(6) == 0 ? own.below(most + 1) : own.below(100);
              std::array<std::uint64_t, ISTHMUS_MOST_ARGUMENTS> arguments{number, bytes};
              const auto arguments_count = static_cast<std::uint32_t>(2 + own.below(ISTHMUS_MOST_ARGUMENTS - 1));
              for (std::uint32_t k = 2; k < arguments_count; ++k) arguments[k] = number + k;
              if (number % 3 != 0) ++replies;
              if (i % 4 == 0) {
                void* room = nullptr;
                own.done(isthmus_prepare(own.space, to, std::min(most, bytes + own.below(50)), &room), "prepare");
                own.expect(isthmus_poll(own.space) == ISTHMUS_INVALID, "nothing between prepare and commit");
                for (std::size_t k = 0; k < bytes; ++k) static_cast<unsigned char*>(room)[k] = byte_of(number, k);
                own.done(isthmus_commit(own.space, ask, arguments.data(), arguments_count, bytes), "commit");
              } else {
                std::vector<unsigned char> payload(bytes);
                for (std::size_t k = 0; k < bytes; ++k) payload[k] = byte_of(number, k);
                own.done(isthmus_request(own.space, to, ask, arguments.data(), arguments_count, payload.data(), bytes),
                         "request");
              }
            }
            own.poll_until([&] { return post.replies >= replies; });
            std::uint64_t board = 0;
            own.done(isthmus_allocate_all(own.space, 8 * own.ranks, &board), "allocate");
            for (std::uint32_t r = 0; r < own.ranks; ++r)
              isthmus_put(own.space, r, board + 8 * own.rank, &numbers[r], sizeof(std::uint64_t));
            own.barrier();
            for (std::uint32_t r = 0; r < own.ranks; ++r) {
              std::uint64_t sent = 0;
              isthmus_get(own.space, &sent, own.rank, board + 8 * r, sizeof sent);
              own.poll_until([&] { return post.last[r] >= sent; });
            }
            own.barrier();
          },
          options);
    }
  }
}

TEST_CASE("large payloads land in the space") {
  for (const Shape& ranks : shapes()) {
    on_ranks(ranks, [](Rank& own) {
      constexpr std::uint64_t most = 300000;
      Post post{&own, 0, 0, 0, {}, 0};
      own.done(isthmus_handle(own.space, ask_to, on_request_to, &post), "handle");
      own.done(isthmus_handle(own.space, answer, on_reply, &post), "handle");
      std::uint64_t landing = 0;
      own.done(isthmus_allocate_all(own.space, most * own.ranks, &landing), "allocate");
      own.barrier();
      std::vector<unsigned char> payload(most);
      std::uint64_t sent = 0;
      for (std::uint64_t i = 0; i < 20; ++i) {
        const std::uint32_t to = (own.rank + static_cast<std::uint32_t>(i)) % own.ranks;
        const std::size_t bytes = own.below(most + 1);
        const std::uint64_t place = landing + most * own.rank;
        for (std::size_t k = 0; k < bytes; ++k) payload[k] = byte_of(i, k);
        const std::uint64_t arguments[2] = {i, place};
        own.done(isthmus_request_to(own.space, to, ask_to, arguments, 2, payload.data(), bytes, place), "request");
        ++sent;
        own.poll_until([&] { return post.replies >= sent; });
      }
      own.barrier();
    });
  }
}

TEST_CASE("a barrier holds all ranks, in two steps, and numbers that differ are seen by all") {
  for (const Shape& ranks : std::vector<Shape>{1, 2, 3, 5, 8, 16, {3, 1}, {5, 2}}) {
    on_ranks(ranks, [](Rank& own) {
      std::uint64_t places = 0;
      own.done(isthmus_allocate_all(own.space, 16, &places), "allocate");
      own.done(isthmus_set(own.space, own.rank, places, 0, 16), "set");
      own.barrier();
      own.expect(isthmus_await(own.space) == ISTHMUS_INVALID, "await without notify");
      for (std::int64_t turn = 1; turn <= 200; ++turn) {
        own.done(isthmus_put(own.space, own.rank, places + 8 * (turn % 2), &turn, sizeof turn), "put");
        const bool differs = turn % 10 == 0 && own.ranks > 1, some = turn % 3 == 0;
        const std::int64_t id = differs && own.rank == own.ranks - 1 ? -turn : turn;
        const bool gives = differs || !some || own.rank % 2 == 0;
        own.done(isthmus_notify(own.space, gives ? &id : nullptr), "notify");
        own.expect(isthmus_notify(own.space, nullptr) == ISTHMUS_INVALID, "notify twice");
        int status = ISTHMUS_IN_PROGRESS;
        if (own.below(2) == 0) status = isthmus_await(own.space);
        while (status == ISTHMUS_IN_PROGRESS) {
          status = isthmus_try_await(own.space);
          std::this_thread::yield();
        }
        own.expect(status == (differs ? ISTHMUS_INVALID : ISTHMUS_DONE), "status of turn " + std::to_string(turn));
        for (std::uint32_t r = 0; r < own.ranks; ++r) {
          std::int64_t seen = 0;
          own.done(isthmus_get(own.space, &seen, r, places + 8 * (turn % 2), sizeof seen), "get");
          own.expect(seen == turn, "what was put before the barrier");
        }
        own.barrier();
      }
    });
  }
}

TEST_CASE("a lock is had by one rank at a time, many of them at once") {
  for (const Shape& ranks : shapes()) {
    on_ranks(ranks, [](Rank& own) {
      constexpr std::uint32_t locks = 5;
      std::array<isthmus_mutex, locks> mutexes{};
      for (isthmus_mutex& mutex : mutexes) own.done(isthmus_mutex_make_all(own.space, &mutex), "make");
      std::uint64_t counters = 0;
      own.done(isthmus_allocate_all(own.space, 8 * locks, &counters), "allocate");
      own.done(isthmus_set(own.space, own.rank, counters, 0, std::size_t{8} * locks), "set");
      own.barrier();
      std::array<std::uint64_t, locks> added{};
      for (int i = 0; i < 400; ++i) {
        // In ascending order, so that nobody waits in a circle.
        for (std::uint32_t k = 0; k < locks; ++k) {
          if (own.below(2) == 0) continue;
          if (own.below(2) == 0) {
            own.done(isthmus_lock(own.space, mutexes[k]), "lock");
          } else if (isthmus_try_lock(own.space, mutexes[k]) != ISTHMUS_DONE) {
            continue;
          }
          ++added[k];
          std::uint64_t value = 0;
          isthmus_get(own.space, &value, 0, counters + 8 * k, sizeof value);
          ++value;
          isthmus_put(own.space, 0, counters + 8 * k, &value, sizeof value);
          if (own.below(2) == 0) {
            own.expect(isthmus_lock(own.space, mutexes[k]) == ISTHMUS_INVALID, "lock twice");
            own.expect(isthmus_try_lock(own.space, mutexes[k]) == ISTHMUS_IN_PROGRESS, "try twice");
          }
          own.done(isthmus_unlock(own.space, mutexes[k]), "unlock");
        }
      }
      std::uint64_t board = 0;
      own.done(isthmus_allocate_all(own.space, sizeof added, &board), "board");
      isthmus_put(own.space, own.rank, board, added.data(), sizeof added);
      own.barrier();
      for (std::uint32_t k = 0; k < locks; ++k) {
        std::uint64_t value = 0, sum = 0;
        isthmus_get(own.space, &value, 0, counters + 8 * k, sizeof value);
        for (std::uint32_t r = 0; r < own.ranks; ++r) {
          std::uint64_t one = 0;
          isthmus_get(own.space, &one, r, board + 8 * k, sizeof one);
          sum += one;
        }
        own.expect(value == sum, "the sum under lock " + std::to_string(k));
      }
      own.expect(isthmus_unlock(own.space, mutexes[0]) == ISTHMUS_INVALID, "unlock what one does not have");
      own.barrier();
      if (own.rank == 0)
        for (const isthmus_mutex mutex : mutexes) own.done(isthmus_mutex_free(own.space, mutex), "free");
    });
  }
}

TEST_CASE("bytes come before their signal") {
  for (const Shape& ranks : shapes()) {
    on_ranks(ranks, [](Rank& own) {
      constexpr std::size_t bytes = 5000;
      constexpr std::uint64_t slots = 4, turns = 300;
      // A ring: each rank writes to the next one, which tells it when a slot is free again.
      std::uint64_t memory = 0, full = 0, empty = 0;
      own.done(isthmus_allocate_all(own.space, slots * bytes, &memory), "allocate");
      own.done(isthmus_allocate_all(own.space, 8, &full), "allocate");
      own.done(isthmus_allocate_all(own.space, 8, &empty), "allocate");
      const std::uint64_t none = 0;
      isthmus_put(own.space, own.rank, full, &none, 8);
      isthmus_put(own.space, own.rank, empty, &slots, 8);
      own.barrier();
      const std::uint32_t next = (own.rank + 1) % own.ranks, before = (own.rank + own.ranks - 1) % own.ranks;
      std::vector<unsigned char> piece(bytes);
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        own.done(isthmus_wait_signal(own.space, empty, 1), "wait for room");
        std::fill(piece.begin(), piece.end(), static_cast<unsigned char>(turn + own.rank));
        const std::uint64_t at = memory + turn % slots * bytes;
        own.done(isthmus_put_signal(own.space, next, at, piece.data(), bytes, full, 1), "put");
        own.done(isthmus_wait_signal(own.space, full, 1), "wait");
        const auto* const got = static_cast<unsigned char*>(isthmus_cast(own.space, own.rank, at));
        own.expect(std::all_of(got, got + bytes,
                               [&](unsigned char byte) { return byte == static_cast<unsigned char>(turn + before); }),
                   "bytes of turn " + std::to_string(turn));
        own.done(isthmus_put_signal(own.space, before, 0, nullptr, 0, empty, 1), "give back");
      }
      own.barrier();
    });
  }
}

TEST_CASE("wrong calls are errors that say what is wrong, and nothing is lost") {
  on_ranks(2, [](Rank& own) {
    std::uint64_t value = 0;
    const auto refused = [&](int status, const std::string& words) {
      own.expect(status == ISTHMUS_INVALID && isthmus_last_error() == words, "expected: " + words);
    };
    refused(isthmus_put(own.space, 2, 0, &value, 8), "isthmus_put: rank 2 does not exist: there are 2 ranks");
    refused(isthmus_get(own.space, &value, 1, 20971520, 8),
            "isthmus_get: 8 bytes at offset 20971520 of rank 1 are outside the space: offsets are below 20971520");
    refused(isthmus_set(own.space, 0, ~std::uint64_t{0}, 0, 8),
            "isthmus_set: 8 bytes at offset 18446744073709551615 of rank 0 are outside the space: offsets are below "
            "20971520");
    refused(isthmus_atomic(own.space, 0, 4, ISTHMUS_I64, ISTHMUS_ATOMIC_ADD, &value, nullptr, nullptr),
            "isthmus_atomic: offset 4 is not a multiple of 8");
    refused(isthmus_atomic(own.space, 0, 8, ISTHMUS_I16, ISTHMUS_ATOMIC_ADD, &value, nullptr, nullptr),
            "isthmus_atomic: element 1: must be an integer or a floating-point number of 4 or 8 bytes");
    refused(isthmus_atomic(own.space, 0, 8, ISTHMUS_F64, ISTHMUS_ATOMIC_XOR, &value, nullptr, nullptr),
            "isthmus_atomic: operator 5 for floating-point numbers");
    refused(isthmus_handle(own.space, 256, nullptr, nullptr), "isthmus_handle: handler 256: must be below 256");
    refused(isthmus_request(own.space, 0, 300, nullptr, 0, nullptr, 0),
            "isthmus_request: handler 300: must be below 256");
    refused(isthmus_request(own.space, 0, 1, &value, 17, nullptr, 0), "isthmus_request: 17 arguments: at most 16");
    refused(isthmus_request(own.space, 0, 1, nullptr, 0, &value, std::size_t{1} << 20),
            "isthmus_request: a payload of 1048576 bytes: at most " + std::to_string(isthmus_most_payload(own.space)));
    refused(isthmus_commit(own.space, 1, nullptr, 0, 0), "isthmus_commit: there was no isthmus_prepare()");
    refused(isthmus_release(own.space, 1, 64 * 1000),
            "isthmus_release: nothing is allocated at offset 64000 of rank 1");
    own.barrier();
    if (own.rank == 1) own.done(isthmus_request(own.space, 0, 77, nullptr, 0, nullptr, 0), "request");
    while (own.rank == 0) {
      const int status = isthmus_poll(own.space);
      if (status == ISTHMUS_DONE) continue;
      refused(status, "isthmus_poll: rank 1 sends a message for handler 77, which rank 0 has not given");
      break;
    }
    own.barrier();
    std::uint64_t offset = 0;
    const int status = isthmus_allocate_all(own.space, own.rank == 0 ? 8 : 16, &offset);
    refused(status, "isthmus_allocate_all: rank 1 allocates 16 bytes where rank 0 allocates 8");
    own.barrier();
  });
}

}  // namespace isthmus::test

// What is said of puts: here, when memory may be overwritten, and there, when all bytes have come.
#include <doctest/doctest.h>
#include <isthmus/isthmus_pgas.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "pgas_ranks.hpp"

namespace isthmus::test {
namespace {

constexpr std::uint64_t part = 60000;  // of the memory of a rank, for each of several puts that are under way at once
constexpr std::uint32_t at_once = 3;

/// What a rank puts in a turn, as the rank that it puts to knows, too.
struct Plan {
  enum class Kind { block, box, vector, indexed, message };
  Kind kind{};
  isthmus_local local{};
  isthmus_notice notice{};
  bool has_event = false;
  std::vector<isthmus_piece> pieces;  // offsets from the beginning of the part
  std::vector<unsigned char> bytes;

  Plan(std::uint32_t rank, std::uint32_t turn, std::uint32_t which) {
    std::mt19937_64 random(rank * 1000003ULL + turn * 101ULL + which);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    kind = static_cast<Kind>(below(5));
    local = static_cast<isthmus_local>(below(3));
    notice = static_cast<isthmus_notice>(below(3));
    has_event = below(3) > 0;
    // Some are too large for one message of the library, some are nothing at all.
    const std::size_t count = kind == Kind::block || kind == Kind::message ? 1 : below(12);
    const std::size_t room = count == 0 ? 1 : part / 2 / count;
    const std::size_t each = below(3) == 0 ? below(room) : below(std::min<std::size_t>(room, 200));
    const std::size_t gap = below(50);
    std::uint64_t offset = below(100);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = kind == Kind::vector ? below(each + 1) : each;
      pieces.push_back({offset, size});
      offset += kind == Kind::vector ? size + below(50) : each + gap;
    }
    std::uint64_t all = 0;
    for (const isthmus_piece& piece : pieces) all += piece.bytes;
    for (std::uint64_t i = 0; i < all; ++i) bytes.push_back(static_cast<unsigned char>(random()));
  }

  int begin(const Rank& own, std::uint32_t to, std::uint64_t place, const isthmus_completion& how,
            std::uint64_t argument) const {
    const std::int64_t stride = pieces.size() < 2 ? 1 : static_cast<std::int64_t>(pieces[1].offset - pieces[0].offset);
    const std::size_t count = pieces.size(), each = count == 0 ? 0 : pieces[0].bytes;
    void* const from = const_cast<unsigned char*>(bytes.data());
    const isthmus_block block{from, bytes.size()};
    const auto packed = static_cast<std::int64_t>(each);
    switch (kind) {
      case Kind::block: return isthmus_begin_put_with(own.space, to, place + pieces[0].offset, from, each, &how);
      case Kind::box:
        return isthmus_begin_put_strided_with(own.space, to, count == 0 ? place : place + pieces[0].offset, &stride,
                                              from == nullptr ? &block : from, &packed, each, &count, 1, &how);
      case Kind::vector: {
        std::vector<isthmus_piece> there = pieces;
        for (isthmus_piece& piece : there) piece.offset += place;
        return isthmus_begin_put_vector_with(own.space, to, there.data(), count, &block, 1, &how);
      }
      case Kind::indexed: {
        std::vector<std::uint64_t> there;
        for (const isthmus_piece& piece : pieces) there.push_back(place + piece.offset);
        return isthmus_begin_put_indexed_with(own.space, to, there.data(), count, each, &block.pointer,
                                              bytes.empty() ? 0 : 1, bytes.size(), &how);
      }
      case Kind::message:
        return isthmus_begin_request_to(own.space, to, 0, &argument, 1, from, each, place + pieces[0].offset,
                                        how.local == ISTHMUS_LOCAL_EVENT ? how.local_event : how.event);
    }
    return ISTHMUS_INVALID;
  }
  [[nodiscard]] bool is_message() const { return kind == Kind::message || notice == ISTHMUS_NOTICE_MESSAGE; }
  /// Whether it is in the memory of this rank, at the beginning of the part.
  [[nodiscard]] bool is_at(const unsigned char* memory) const {
    const unsigned char* next = bytes.data();
    return std::all_of(pieces.begin(), pieces.end(), [&](const isthmus_piece& piece) {
      const bool same = std::equal(next, next + piece.bytes, memory + piece.offset);
      next += piece.bytes;
      return same;
    });
  }
};

/// Where this rank's memory is, and what its handler has found.
struct Seen {
  Rank* own;
  std::uint64_t place;
  std::uint32_t from;
  std::vector<std::uint64_t> arguments;
};

void look(isthmus_token* token, const std::uint64_t* arguments, std::uint32_t count, void*, std::size_t, void* data) {
  Seen& seen = *static_cast<Seen*>(data);
  const auto turn = static_cast<std::uint32_t>(arguments[0] >> 32), which = static_cast<std::uint32_t>(arguments[0]);
  const auto* const memory =
      static_cast<unsigned char*>(isthmus_cast(seen.own->space, seen.own->rank, seen.place + which * part));
  seen.own->expect(count == 1 && isthmus_token_rank(token) == seen.from, "who sends it");
  seen.own->expect(Plan(seen.from, turn, which).is_at(memory), "a message comes before its bytes");
  seen.arguments.push_back(arguments[0]);
}

void ring(Rank& own, std::uint32_t turns) {
  const std::uint32_t next = (own.rank + 1) % own.ranks, before = (own.rank + own.ranks - 1) % own.ranks;
  std::uint64_t place = 0, signals = 0;
  own.done(isthmus_allocate_all(own.space, at_once * part, &place), "allocate");
  own.done(isthmus_allocate_all(own.space, at_once * 8, &signals), "allocate");
  own.done(isthmus_set(own.space, own.rank, signals, 0, at_once * 8), "set");
  Seen seen{&own, place, before, {}};
  own.done(isthmus_handle(own.space, 0, look, &seen), "handle");
  own.barrier();
  for (std::uint32_t turn = 0; turn < turns && own.wrong.empty(); ++turn) {
    std::vector<Plan> puts;
    std::vector<isthmus_event> events(at_once, 77), local(at_once, 77);
    for (std::uint32_t k = 0; k < at_once; ++k) {
      Plan& put = puts.emplace_back(own.rank, turn, k);
      const std::uint64_t argument = std::uint64_t{turn} << 32 | k;
      isthmus_completion how{};
      how.size = sizeof how;
      how.event = put.has_event ? &events[k] : nullptr;
      how.local = put.local;
      how.notice = put.notice;
      how.local_event = &local[k];
      how.signal = signals + 8 * k;
      how.add = 3;
      how.count = 1;
      how.arguments = &argument;
      own.done(put.begin(own, next, place + k * part, how, argument), "begin " + std::to_string(turn));
      if (put.local == ISTHMUS_LOCAL_NOW && put.kind != Plan::Kind::message)
        std::fill(put.bytes.begin(), put.bytes.end(), 0xEE);
    }
    for (std::uint32_t k = 0; k < at_once; ++k) {
      Plan& put = puts[k];
      const bool message = put.kind == Plan::Kind::message;
      if (put.local == ISTHMUS_LOCAL_EVENT) {
        own.done(isthmus_wait_event(own.space, &local[k]), "wait");
        std::fill(put.bytes.begin(), put.bytes.end(), 0xEE);
      }
      if (put.has_event && !(message && put.local == ISTHMUS_LOCAL_EVENT)) {
        int status = ISTHMUS_IN_PROGRESS;
        while (status == ISTHMUS_IN_PROGRESS) status = isthmus_test_event(own.space, &events[k]);
        own.done(status, "test");
        own.expect(events[k] == 0, "an event that is done");
        std::fill(put.bytes.begin(), put.bytes.end(), 0xEE);
      }
    }
    std::size_t messages = 0;
    for (std::uint32_t k = 0; k < at_once; ++k) {
      const Plan put(before, turn, k);
      if (put.kind != Plan::Kind::message && put.notice == ISTHMUS_NOTICE_SIGNAL) {
        own.done(isthmus_wait_signal(own.space, signals + 8 * k, 3), "signal");
        own.expect(put.is_at(static_cast<unsigned char*>(isthmus_cast(own.space, own.rank, place + k * part))),
                   "a signal comes before its bytes");
      }
      messages += put.is_message() ? 1 : 0;
    }
    own.poll_until([&] { return seen.arguments.size() >= messages; });
    std::sort(seen.arguments.begin(), seen.arguments.end());
    for (std::uint32_t k = 0, i = 0; k < at_once; ++k)
      if (Plan(before, turn, k).is_message())
        own.expect(seen.arguments[i++] == (std::uint64_t{turn} << 32 | k), "every message once");
    own.expect(seen.arguments.size() == messages, "no message more");
    seen.arguments.clear();
    own.done(isthmus_wait_all(own.space), "all");
    own.barrier();
    for (std::uint32_t k = 0; k < at_once; ++k)
      own.expect(
          Plan(before, turn, k).is_at(static_cast<unsigned char*>(isthmus_cast(own.space, own.rank, place + k * part))),
          "bytes of turn " + std::to_string(turn));
    own.barrier();
  }
  std::vector<std::uint64_t> counts(at_once);
  own.done(isthmus_get(own.space, counts.data(), own.rank, signals, 8 * at_once), "get");
  own.expect(counts == std::vector<std::uint64_t>(at_once), "nothing is added more than once");
  own.barrier();
}

}  // namespace

TEST_CASE("puts say when memory may be overwritten, and who they go to hears when all bytes are there") {
  for (const Shape& shape : shapes()) on_ranks(shape, [&](Rank& own) { ring(own, shape.per_node == 0 ? 150 : 60); });
}

TEST_CASE("wrong completions are refused before anything is moved") {
  for (const Shape shape : {Shape(2), Shape(2, 1)}) {
    on_ranks(shape, [](Rank& own) {
      std::uint64_t place = 0;
      own.done(isthmus_allocate_all(own.space, 64, &place), "allocate");
      own.done(isthmus_set(own.space, own.rank, place, 5, 64), "set");
      own.barrier();
      const std::uint32_t other = 1 - own.rank;
      const std::uint64_t value = 0;
      isthmus_event event = 0;
      const auto refused = [&](const isthmus_completion& how, const std::string& words) {
        const std::int64_t stride = 8;
        const std::size_t two = 2;
        const int put = isthmus_begin_put_with(own.space, other, place, &value, 8, &how);
        own.expect(put == ISTHMUS_INVALID && isthmus_last_error() == "isthmus_begin_put_with: " + words, words);
        const int box =
            isthmus_begin_put_strided_with(own.space, other, place, &stride, &value, &stride, 4, &two, 1, &how);
        own.expect(box == ISTHMUS_INVALID && isthmus_last_error() == "isthmus_begin_put_strided_with: " + words, words);
      };
      const auto with = [&](const auto& change) {
        isthmus_completion how{};
        how.size = sizeof how;
        how.event = &event;
        change(how);
        return how;
      };
      refused(with([](auto& how) { how.local = static_cast<isthmus_local>(3); }),
              "isthmus_completion.local = 3: must be one of isthmus_local");
      refused(with([](auto& how) { how.local = ISTHMUS_LOCAL_EVENT; }), "isthmus_completion.local_event is NULL");
      refused(with([](auto& how) { how.notice = static_cast<isthmus_notice>(9); }),
              "isthmus_completion.notice = 9: must be one of isthmus_notice");
      refused(with([](auto& how) {
                how.notice = ISTHMUS_NOTICE_SIGNAL;
                how.signal = 12;
              }),
              "the signal at offset 12 is not at a multiple of 8");
      refused(with([](auto& how) {
                how.notice = ISTHMUS_NOTICE_SIGNAL;
                how.signal = std::uint64_t{1} << 50;
              }),
              "8 bytes at offset 1125899906842624 of rank " + std::to_string(other) +
                  " are outside the space: offsets are below 20971520");
      refused(with([](auto& how) {
                how.notice = ISTHMUS_NOTICE_MESSAGE;
                how.handler = 256;
              }),
              "handler 256: must be below 256");
      refused(with([&](auto& how) {
                how.notice = ISTHMUS_NOTICE_MESSAGE;
                how.count = 17;
                how.arguments = &value;
              }),
              "17 arguments: at most 16");
      refused(with([&](auto& how) {
                how.notice = ISTHMUS_NOTICE_MESSAGE;
                how.count = 1;
              }),
              "isthmus_completion.arguments is NULL");
      own.barrier();
      const auto* const memory = static_cast<unsigned char*>(isthmus_cast(own.space, own.rank, place));
      own.expect(std::all_of(memory, memory + 64, [](unsigned char byte) { return byte == 5; }), "nothing was moved");
      own.barrier();
    });
  }
}

}  // namespace isthmus::test

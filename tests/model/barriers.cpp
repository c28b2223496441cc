// Barriers of flags between ranks that share memory.
#include "runtime/pgas/barrier.hpp"
#include "runtime/pgas/meeting.hpp"

#include "near_ranks.hpp"
#include "parts.hpp"

namespace isthmus::model {
namespace {

using runtime::Barrier;
using runtime::Meeting;

struct Shared {
  NearRanks ranks;
  Barrier* barriers[4];
  Meeting* meetings[4];
  runtime::MeetingFlag* flags[4];
  std::uint64_t* data;
};
Shared shared;

void meet(Barrier& barrier, const std::int64_t* id) {
  barrier.notify(id);
  await([&] { return barrier.go_on(); });
  barrier.end();
}

/// So many barriers one after the other: before each of them a rank writes what all read after it.
Program barriers(std::uint32_t ranks, std::uint64_t times) {
  Program program;
  program.begin = [=] {
    shared.ranks = near_ranks(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r)
      shared.barriers[r] =
          new (allocate(sizeof(Barrier))) Barrier(*shared.ranks.segments, *shared.ranks.no_far, r, ranks);
    shared.data = static_cast<std::uint64_t*>(allocate(8 * ranks * times));
  };
  for (std::uint32_t r = 0; r < ranks; ++r)
    program.threads.emplace_back([=] {
      Barrier& own = *shared.barriers[r];
      for (std::uint64_t time = 0; time < times; ++time) {
        shared.data[time * ranks + r] = time + r + 1;
        // Ranks give a number now and then; in the last one two that differ.
        const std::int64_t id = time + 1 == times ? static_cast<std::int64_t>(r) : 5;
        meet(own, (r + time) % 2 == 0 || time + 1 == times ? &id : nullptr);
        check(own.differs() == (time + 1 == times && ranks > 1), "numbers");
        for (std::uint32_t other = 0; other < ranks; ++other)
          check(shared.data[time * ranks + other] == time + other + 1, "somebody has not come");
      }
    });
  return program;
}

/// The same by flags that rise, with two numbers on the way at once; `in_turn`: or one.
Program meetings(std::uint32_t ranks, std::uint64_t times, bool in_turn) {
  Program program;
  program.begin = [=] {
    for (std::uint32_t r = 0; r < ranks; ++r)
      shared.flags[r] = static_cast<runtime::MeetingFlag*>(allocate(4 * sizeof(runtime::MeetingFlag)));
    for (std::uint32_t r = 0; r < ranks; ++r)
      shared.meetings[r] = new (allocate(sizeof(Meeting))) Meeting(std::span(shared.flags, ranks), r);
    shared.data = static_cast<std::uint64_t*>(allocate(8 * ranks * times));
  };
  for (std::uint32_t r = 0; r < ranks; ++r)
    program.threads.emplace_back([=] {
      Meeting& own = *shared.meetings[r];
      const auto come = [&](std::uint64_t time) {
        shared.data[time * ranks + r] = time + r + 1;
        own.come(own.next());
      };
      const auto met = [&](std::uint64_t time) {
        await([&] { return own.all(time + 1); });
        for (std::uint32_t other = 0; other < ranks; ++other)
          check(shared.data[time * ranks + other] == time + other + 1, "somebody has not come");
      };
      for (std::uint64_t time = 0; time < times; ++time) {
        come(time);
        if (in_turn || time > 0) met(in_turn ? time : time - 1);
      }
      if (!in_turn) met(times - 1);
    });
  return program;
}

}  // namespace

Part meetings() {
  return {"meetings",
          {meetings(2, 2, true), meetings(2, 2, false), meetings(3, 2, false)},
          {"runtime/pgas/meeting.cpp"},
          {},
          {meetings(2, 3, true), meetings(2, 3, false), meetings(3, 2, true)}};
}

Part barriers() {
  return {
      "barriers", {barriers(2, 4), barriers(3, 3), barriers(4, 2)}, {"runtime/pgas/barrier.cpp"}, {}, {barriers(2, 9)}};
}

}  // namespace isthmus::model

// Ranks that leave a space while others wait for them.
#include "pgas_ranks.hpp"

namespace isthmus::test {
namespace {

TEST_CASE("a rank that leaves the space while others wait for it in a collective is named") {
  const std::vector<const char*> algorithms = {nullptr, "linear,access=put", "linear,access=get"};
  for (const std::uint32_t ranks : {2U, 3U, 5U})
    for (const isthmus_sync sync : {ISTHMUS_SYNC_ALL, ISTHMUS_SYNC_MY})
      for (const char* const algorithm : algorithms)
        for (const int how : {0, 1, 2})
          on_ranks(ranks, [&](Rank& own) {
            std::uint64_t place = 0;
            own.done(isthmus_allocate_all(own.space, 4096, &place), "allocate");
            isthmus_manner manner{};
            manner.size = sizeof manner;
            manner.enter = manner.leave = sync;
            manner.algorithm = algorithm;
            // What all begin comes to its end, also where a rank has begun the next one.
            own.done(isthmus_gather_all(own.space, &manner, place, place + 2048, 8), "all of them");
            if (own.rank + 1 == own.ranks) return;  // leaves
            isthmus_event event = 0;
            if (how > 0) manner.event = &event;
            int status = how == 2 ? isthmus_gather(own.space, &manner, 0, place + 64, place, 8)
                                  : isthmus_exchange_all(own.space, &manner, place + 64, place, 8);
            if (how > 0 && status == ISTHMUS_DONE && event != 0) {
              if (own.rank == 0) status = isthmus_wait_event(own.space, &event);
              else
                while ((status = isthmus_test_event(own.space, &event)) == ISTHMUS_IN_PROGRESS)
                  std::this_thread::yield();
            }
            // Of a gather the others may be through.
            if (how == 2 && own.rank != 0 && status == ISTHMUS_DONE) return;
            own.expect(status == ISTHMUS_FAILED, "an error");
            const std::string words = isthmus_last_error();
            const std::string left = "rank " + std::to_string(own.ranks - 1) +
                                     " of the team has left the space: rank " + std::to_string(own.rank) +
                                     " waits for it in a collective";
            own.expect(words.starts_with("isthmus_") && words.ends_with(": " + left), "words");
          });
}

TEST_CASE("a collective that all ranks have begun ends, though one of them leaves before the next") {
  on_ranks(3, [](Rank& own) {
    std::uint64_t place = 0;
    own.done(isthmus_allocate_all(own.space, 4096, &place), "allocate");
    isthmus_event events[2] = {};
    isthmus_manner manner{};
    manner.size = sizeof manner;
    manner.enter = manner.leave = ISTHMUS_SYNC_MY;
    if (own.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (int i = 0; i < (own.rank == 0 ? 2 : 1); ++i) {
      manner.event = &events[i];
      own.done(isthmus_gather_all(own.space, &manner, place + 1024 * (i + 1), place, 8), "begin");
    }
    if (own.rank == 2) return;  // leaves, and goes on with what it has begun
    own.done(isthmus_wait_event(own.space, &events[0]), "that of all");
    if (own.rank == 0) own.expect(isthmus_wait_event(own.space, &events[1]) == ISTHMUS_FAILED, "an error");
  });
}

}  // namespace
}  // namespace isthmus::test

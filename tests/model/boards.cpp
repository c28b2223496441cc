// Words and scratch of collectives that ranks carry out by puts, in a ring so small that places are used again at once.
#include "runtime/pgas/board_words.hpp"

#include "parts.hpp"

namespace isthmus::model {
namespace {

using runtime::BoardPlaces;
using runtime::BoardWords;

struct Shared {
  std::byte* begins[3];
  BoardWords* words[3];
};
Shared shared;

/// What a rank has in the scratch of a collective, for each other rank.
std::uint64_t& slot(std::uint32_t of, std::uint32_t from, std::uint32_t rank, const BoardWords::Places& places) {
  return reinterpret_cast<std::uint64_t*>(shared.begins[of] + (places.scratch - shared.begins[rank]))[from];
}

/// So many collectives, in each of which every rank puts into the scratch of the next one, or of all, and tells it;
/// `under_way`: so many are begun before the first one is waited for.
Program boards(std::uint32_t ranks, std::uint64_t times, std::uint32_t lines, std::uint64_t under_way, bool to_all) {
  Program program;
  program.begin = [=] {
    for (std::uint32_t r = 0; r < ranks; ++r) shared.begins[r] = static_cast<std::byte*>(allocate(sizeof(BoardPlaces)));
    for (std::uint32_t r = 0; r < ranks; ++r) {
      std::vector<std::byte*> begins(shared.begins, shared.begins + ranks);
      std::vector<BoardPlaces*> places;
      for (std::byte* const one : begins) places.push_back(reinterpret_cast<BoardPlaces*>(one));
      shared.words[r] = new (allocate(sizeof(BoardWords))) BoardWords(begins, places, r, lines, lines);
    }
  };
  for (std::uint32_t r = 0; r < ranks; ++r)
    program.threads.emplace_back([=] {
      BoardWords& own = *shared.words[r];
      BoardWords::Places places[4];
      const std::uint32_t most = to_all ? ranks - 1 : 1;
      const auto value = [=](std::uint64_t time, std::uint32_t from) { return 10 * time + from + 1; };
      const auto begin = [&](std::uint64_t time) {
        BoardWords::Places& place = places[time % 4] = own.take(ranks, 8 * ranks);
        await([&] { return own.are_free(place); });
        for (std::uint32_t d = 1; d <= most; ++d) {
          const std::uint32_t to = (r + d) % ranks;
          slot(to, r, r, place) = value(time, r);
          own.tell(to, place, r);
        }
      };
      const auto end = [&](std::uint64_t time) {
        const BoardWords::Places& place = places[time % 4];
        for (std::uint32_t d = 1; d <= most; ++d) {
          const std::uint32_t from = (r + ranks - d) % ranks;
          await([&] { return BoardWords::hears(place, from); });
          check(slot(r, from, r, place) == value(time, from), "what another one put is not there");
        }
        own.give_back(place);
      };
      for (std::uint64_t time = 0; time < times; ++time) {
        begin(time);
        if (time + 1 >= under_way) end(time + 1 - under_way);
      }
      for (std::uint64_t time = times + 1 - under_way; time < times; ++time) end(time);
    });
  return program;
}

}  // namespace

Part boards() {
  return {"boards",
          {boards(2, 3, 1, 1, false), boards(2, 3, 2, 2, false), boards(3, 2, 1, 1, false)},
          {"runtime/pgas/board_words.cpp", "runtime/pgas/board_words.hpp"},
          {},
          {boards(2, 5, 2, 2, false), boards(3, 2, 1, 1, true)}};
}

}  // namespace isthmus::model

// Teams of some of the ranks of a team, and the C interface to them.
//
// Messages of groups are told apart by a number, which has to be another one for each group to which two ranks belong
// together. Where the program gives none, the ranks of the group agree on the least that none of them has used: they
// say so to each other as a group whose number is always the same. That is enough, as two ranks make the groups that
// they share in the same order, and messages between them keep theirs.
#include "runtime/interface/groups.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/interface/team.hpp"

namespace isthmus::runtime {
namespace {

constexpr std::uint32_t agreed = first_agreed, meeting = 0xFFFFFFFF;

void gather_by(isthmus_team* team, const char* algorithm, const void* mine, void* all, std::size_t bytes) {
  isthmus_call call{};
  call.size = sizeof call;
  call.kind = ISTHMUS_ALLGATHER;
  call.element = ISTHMUS_BYTES;
  call.element_bytes = static_cast<std::uint32_t>(bytes);
  call.count = 1;
  call.algorithm = algorithm;
  if (isthmus_run(team, &call, mine, all) < 0) throw TransportError(isthmus_last_error());
}

/// The group with a number that its ranks agree on, `least` being the largest one that any of them wants.
isthmus_team* with_number(const isthmus_team& team, std::span<const std::uint32_t> members, std::uint32_t least) {
  const Hold hold(team.progress);
  require(least < meeting - agreed, "this job has made ", least, " groups: there are no more numbers");
  auto* const made = new isthmus_team(team, members, agreed + least);
  *team.next_number = std::max(*team.next_number, least + 1);
  return made;
}

isthmus_team* agree_on_number(const isthmus_team& team, std::span<const std::uint32_t> members) {
  std::vector<std::uint32_t> wanted(members.size());
  isthmus_team all(team, members, meeting);
  // By name: whatever table a rank uses, or tunes.
  gather_by(&all, "ring", &*team.next_number, wanted.data(), sizeof wanted[0]);
  return with_number(team, members, *std::ranges::max_element(wanted));
}

}  // namespace

void gather_all(isthmus_team* team, const void* mine, void* all, std::size_t bytes) {
  gather_by(team, nullptr, mine, all, bytes);
}

}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_group(const isthmus_team* team, const uint32_t* members, uint32_t ranks, uint32_t number,
                  isthmus_team** group) {
  return guarded([&] {
    require(team != nullptr && members != nullptr && group != nullptr, "team, members or group is NULL");
    require(number < agreed, "number = ", number, ": must be below ", agreed);
    if (number == 0) {
      *group = agree_on_number(*team, {members, ranks});
      return ISTHMUS_DONE;
    }
    const Hold hold(team->progress);
    *group = new isthmus_team(*team, {members, ranks}, number);
    return ISTHMUS_DONE;
  });
}

int isthmus_split(isthmus_team* team, int64_t colour, int64_t key, isthmus_team** part) {
  return guarded([&] {
    require(team != nullptr && part != nullptr, "team or part is NULL");
    struct Card {
      std::int64_t colour, key;
      std::uint64_t wanted;
    };
    const Card mine{colour, key, *team->next_number};
    std::vector<Card> cards(team->ranks);
    gather_all(team, &mine, cards.data(), sizeof mine);
    *part = nullptr;
    if (colour < 0) return ISTHMUS_DONE;
    std::vector<std::uint32_t> members;
    std::uint64_t least = 0;
    for (std::uint32_t r = 0; r < cards.size(); ++r) {
      if (cards[r].colour != colour) continue;
      members.push_back(r);
      least = std::max(least, cards[r].wanted);
    }
    std::ranges::stable_sort(members, {}, [&](std::uint32_t r) { return cards[r].key; });
    *part = with_number(*team, members, static_cast<std::uint32_t>(least));
    return ISTHMUS_DONE;
  });
}

int isthmus_translate(const isthmus_team* team, uint32_t rank, const isthmus_team* other, uint32_t* found) {
  return guarded([&] {
    require(team != nullptr && other != nullptr && found != nullptr, "team, other or found is NULL");
    require(rank < team->ranks, "rank ", rank, " does not exist: there are ", team->ranks, " ranks");
    require(&team->transport == &other->transport, "the teams are of two jobs");
    *found = other->find_member(team->member(rank));
    return ISTHMUS_DONE;
  });
}

}  // extern "C"

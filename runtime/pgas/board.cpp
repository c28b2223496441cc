#include "runtime/pgas/board.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "runtime/choice/choice.hpp"
#include "runtime/choice/chooser.hpp"
#include "runtime/interface/recent.hpp"
#include "runtime/interface/team.hpp"
#include "runtime/pgas/direct.hpp"

namespace isthmus::runtime {
namespace {

template <class T, class F>
auto of_each(const std::vector<T>& items, const F& f) {
  std::vector<decltype(f(items[0]))> out;
  for (const T& one : items) out.push_back(f(one));
  return out;
}

/// Where nobody says; `asks`: a rank has to hear first that another one has entered. Then a message that it takes by
/// itself comes sooner, unless it is large. Of one rank's large blocks all others take theirs at the same time. The
/// sizes are those of two ranks of bench/pgas.py.
Access usual_access(const isthmus_call& call, bool asks) {
  switch (call.kind) {
    case ISTHMUS_BCAST:
    case ISTHMUS_SCATTER:
      return call.count >= (asks ? 8192 : 4096) ? Access::get : asks ? Access::message : Access::put;
    case ISTHMUS_GATHER: return asks && call.count < 8192 ? Access::message : Access::put;
    case ISTHMUS_ALLTOALL: return asks && call.count < 1024 ? Access::message : Access::put;
    default: return asks ? Access::message : Access::put;
  }
}

/// An algorithm as a table writes it, without what is said of synchronisation and accesses.
std::string without_flavours(const std::string& algorithm) {
  std::string out;
  for (std::size_t at = 0; at <= algorithm.size();) {
    const std::size_t end = std::min(algorithm.find(',', at), algorithm.size());
    const std::string part = algorithm.substr(at, end - at);
    const std::size_t first = part.find_first_not_of(' ');
    if (first == part.npos || (part.compare(first, 5, "sync=") != 0 && part.compare(first, 7, "access=") != 0))
      out += (at == 0 ? "" : ",") + part;
    at = end + 1;
  }
  return out;
}

bool serves(const Recipe& recipe, const isthmus_call& call, std::uint32_t decisions) {
  const isthmus_call& own = recipe.call;
  return own.kind == call.kind && own.count == call.count && own.root == call.root && own.enter == call.enter &&
         own.leave == call.leave && (own.apart != 0) == (call.apart != 0) &&
         (call.algorithm == nullptr ? recipe.algorithm.empty() && recipe.decisions == decisions
                                    : recipe.algorithm == call.algorithm);
}

}  // namespace

Recipe::~Recipe() = default;

Board::Board(const Segments& segments, isthmus_team& team, const std::vector<Rank>& in_space, std::uint32_t number)
    : places_(of_each(in_space, [&](Rank r) { return &segments.board(r, number); })),
      entered_flags_(of_each(places_, [](BoardPlaces* one) -> MeetingFlag* { return one->entered; })),
      ended_flags_(of_each(places_, [](BoardPlaces* one) -> MeetingFlag* { return one->ended; })),
      words(of_each(in_space, [&](Rank r) { return segments.begin(r); }), places_, team.rank),
      entered(entered_flags_, team.rank),
      ended(ended_flags_, team.rank) {}

Board::~Board() = default;

Recipe& Board::find(isthmus_team& team, const isthmus_call& call) {
  const auto suits = [&](const Recipe& one) { return serves(one, call, team.decisions()); };
  if (Recipe* const found = find_recent(recipes_, suits)) return *found;
  auto made = std::make_unique<Recipe>();
  made->call = call;
  made->algorithm = call.algorithm == nullptr ? "" : call.algorithm;
  made->decisions = team.decisions();
  plan(team, *made);
  return add_recent(recipes_, std::move(made), most_recipes, [](const Recipe& one) { return !one.is_used(); });
}

void Board::plan(isthmus_team& team, Recipe& recipe) {
  const bool by_table = recipe.algorithm.empty();
  const std::string text = by_table ? team.decided(recipe.call) : recipe.algorithm;
  const std::string why = plan_as(recipe, text);
  if (!by_table || why.empty()) return;
  team.refuse(recipe.call, text, why);
  plan_as(recipe, "");
}

std::string Board::plan_as(Recipe& recipe, const std::string& text) {
  const isthmus_call& call = recipe.call;
  const auto kind = static_cast<schedule::CollectiveKind>(call.kind);
  const Choice given = text.empty() ? Choice{} : read_choice(text);
  recipe.enters = call.enter == ISTHMUS_SYNC_ALL || given.enter_all || kind == schedule::CollectiveKind::barrier;
  recipe.leaves = call.leave == ISTHMUS_SYNC_ALL || given.leave_all;
  recipe.by = without_flavours(text);
  if (kind == schedule::CollectiveKind::barrier) {
    recipe.leaves = false;  // one meeting is all of it
    return "";
  }
  const bool asks = !recipe.enters && call.enter != ISTHMUS_SYNC_NONE;
  Access access = given.access;
  if (access == Access::any) access = usual_access(call, asks);
  const bool gathers_all = kind == schedule::CollectiveKind::allgather;
  const bool in_pairs = gathers_all || kind == schedule::CollectiveKind::alltoall;
  if (access == Access::message) return "";
  const Rank most = in_pairs ? most_in_pairs : most_ranks;
  if (ranks() > most) return given.access == Access::any ? "" : message("by accesses at most ", most, " ranks");
  const schedule::Access by = access == Access::put ? schedule::Access::put : schedule::Access::get;
  // A linear gather-all goes through rank 0, which would copy everything to all others.
  const std::string usual = gathers_all ? usual_choice(kind, ranks(), call.count) : "linear";
  const std::string why = plan_by(recipe, text.empty() ? usual : recipe.by, by);
  return given.access == Access::any ? "" : why;
}

std::string Board::plan_by(Recipe& recipe, const std::string& algorithm, schedule::Access access) {
  const isthmus_call& call = recipe.call;
  schedule::CollectiveCall asked;
  asked.kind = static_cast<schedule::CollectiveKind>(call.kind);
  asked.rank = rank();
  asked.ranks = ranks();
  asked.root = call.root;
  asked.bytes = call.count;
  asked.in_place = false;
  Directly how;
  how.access = access;
  how.ask = !recipe.enters && call.enter != ISTHMUS_SYNC_NONE;
  how.tell = !recipe.leaves && call.leave != ISTHMUS_SYNC_NONE;
  how.apart = call.apart != 0;
  try {
    const Choice choice = read_choice(algorithm);
    DirectProgram made;
    if (call.count > 0) made = direct_program(asked, algorithm_of(asked.kind, choice, 1), how);
    if (made.words > words.most_words() || made.scratch > words.most_scratch())
      return message("it needs ", made.words, " words and ", made.scratch, " bytes of scratch, there are ",
                     words.most_words(), " and ", words.most_scratch());
    recipe.direct = std::move(made);
    return "";
  } catch (const InvalidInput& error) {  // by messages, which say the same where it is no matter of accesses
    return error.what();
  }
}

Direct& Board::take(Recipe& recipe) {
  if (recipe.idle.empty()) {
    recipe.all.push_back(std::make_unique<Direct>(*this, recipe));
    recipe.idle.reserve(recipe.all.size());
    return *recipe.all.back();
  }
  Direct& found = *recipe.idle.back();
  recipe.idle.pop_back();
  return found;
}

std::optional<Rank> Board::who_left(std::uint64_t number) const {
  for (Rank r = 0; r < ranks(); ++r) {
    const std::uint64_t last = places_[r]->last.load(std::memory_order_acquire);
    if (last != 0 && last - 1 < number) return r;
  }
  return std::nullopt;
}

}  // namespace isthmus::runtime

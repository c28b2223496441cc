#include "runtime/interface/team.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "runtime/choice/choice.hpp"
#include "runtime/collectives/collective_program.hpp"
#include "runtime/collectives/operators.hpp"
#include "runtime/executor/shorten.hpp"
#include "runtime/interface/recent.hpp"
#include "runtime/interface/status.hpp"
#include "schedule/names.hpp"

namespace isthmus::runtime {

using schedule::CollectiveKind;

bool reduces(isthmus_kind kind) {
  switch (kind) {
    case ISTHMUS_REDUCE:
    case ISTHMUS_ALLREDUCE:
    case ISTHMUS_REDUCE_SCATTER:
    case ISTHMUS_SCAN:
    case ISTHMUS_EXSCAN: return true;
    default: return false;
  }
}

std::size_t element_bytes_of(const isthmus_call& call) {
  for (const isthmus_sync sync : {call.enter, call.leave})
    require(sync >= ISTHMUS_SYNC_DEFAULT && sync <= ISTHMUS_SYNC_ALL, "enter or leave ", static_cast<int>(sync),
            " is none of the modes of synchronisation");
  require(call.apart == 0 || call.kind == ISTHMUS_BCAST, "apart: of bcast only");
  require(call.kind >= ISTHMUS_BARRIER && call.kind <= ISTHMUS_NEIGHBOR_ALLTOALL, "kind ", static_cast<int>(call.kind),
          " is none of the collectives");
  require(call.element >= ISTHMUS_I8 && call.element <= ISTHMUS_BYTES, "element ", static_cast<int>(call.element),
          " is none of the types");
  if (call.element != ISTHMUS_BYTES) return size_of(static_cast<Element>(call.element));
  require(call.element_bytes > 0, "element_bytes = 0: must be given for ISTHMUS_BYTES");
  return call.element_bytes;
}

namespace {

/// The user's operator on bytes; `data` is the call.
template <bool after>
void combine_by_user(const std::byte* in, std::byte* inout, std::size_t bytes, const void* data) {
  const auto& call = *static_cast<const isthmus_call*>(data);
  const std::size_t elements = bytes / element_bytes_of(call);
  if (after) call.combine(inout, in, inout, elements, call.data);
  else call.combine(in, inout, inout, elements, call.data);
}

}  // namespace

Operator reduction_of(const isthmus_call& kept) {
  if (!reduces(kept.kind)) return {};
  if (kept.combine != nullptr)
    return {combine_by_user<false>, combine_by_user<true>, &kept, nullptr, element_bytes_of(kept)};
  require(kept.element != ISTHMUS_BYTES, "elements of ISTHMUS_BYTES are reduced with `combine` only");
  require(kept.operation >= ISTHMUS_SUM && kept.operation <= ISTHMUS_BXOR, "operation ",
          static_cast<int>(kept.operation), " is none of the operators");
  const Operator found = operator_of(static_cast<Element>(kept.element), static_cast<Operation>(kept.operation));
  require(found.before != nullptr, "operation ", static_cast<int>(kept.operation),
          " is not defined for elements of type ", static_cast<int>(kept.element));
  return found;
}

namespace {

bool is_in_order(const isthmus_call& call) {
  return reduces(call.kind) && call.combine != nullptr && call.commutes == 0;
}

Sync sync_of(isthmus_sync sync) {
  return sync == ISTHMUS_SYNC_ALL ? Sync::all : sync == ISTHMUS_SYNC_NONE ? Sync::none : Sync::my;
}

/// The bytes by which an algorithm is chosen: those that `isthmus tune` means, see schedule::Counts.
std::uint64_t deciding_bytes(const isthmus_call& call, std::size_t element_bytes, std::uint64_t ranks) {
  switch (call.kind) {
    case ISTHMUS_BARRIER: return 0;
    case ISTHMUS_GATHER:
    case ISTHMUS_ALLGATHER:
    case ISTHMUS_SCATTER:
    case ISTHMUS_REDUCE_SCATTER: {
      if (call.counts_length == 0) break;
      std::uint64_t elements = 0;
      for (std::size_t i = 0; i < call.counts_length; ++i) elements += static_cast<std::uint64_t>(call.counts[i]);
      return elements * element_bytes / ranks;
    }
    default: break;
  }
  return call.count * element_bytes;
}

/// Algorithms that know groups of ranks take the nodes, where there are several and one of them has several ranks.
Choice in_nodes(CollectiveKind kind, Choice choice, const std::vector<Rank>& nodes) {
  Rank several = 0;
  for (Rank r = 0; r < nodes.size(); ++r) several += nodes[r] == r ? 1 : 0;
  if (several <= 1 || several == nodes.size()) return choice;
  const auto is_groups = [](const auto& given) { return given.first == "groups"; };
  const auto takes_groups = [](const collectives::OptionInfo& option) { return option.name == "groups"; };
  const auto known = collectives::algorithm_info(kind, choice.name).options;
  if (std::any_of(known.begin(), known.end(), takes_groups) &&
      std::none_of(choice.options.begin(), choice.options.end(), is_groups))
    choice.options.emplace_back("groups", std::vector<std::uint64_t>(nodes.begin(), nodes.end()));
  return choice;
}

}  // namespace

bool Cached::serves(const isthmus_call& other, std::size_t other_element_bytes, std::uint32_t tables) const {
  return call.kind == other.kind && call.count == other.count && element_bytes == other_element_bytes &&
         call.root == other.root && (call.in_place != 0) == (other.in_place != 0) &&
         (call.combine != nullptr && call.commutes == 0) == (other.combine != nullptr && other.commutes == 0) &&
         call.enter == other.enter && call.leave == other.leave && (call.apart != 0) == (other.apart != 0) &&
         (other.algorithm == nullptr ? algorithm.empty() && by_table == tables : algorithm == other.algorithm) &&
         std::equal(counts.begin(), counts.end(), other.counts, other.counts + other.counts_length);
}

int told(isthmus_operation& operation, int status) {
  if (status == ISTHMUS_IN_PROGRESS) return status;
  operation.under_way = false;
  if (status == ISTHMUS_FAILED) failed(status, operation.team.transport.failure());
  if (status == ISTHMUS_INVALID) failed(status, operation.refused);
  if (!operation.persistent) operation.team.give_back(operation);
  return status;
}

}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

isthmus_team::isthmus_team(const isthmus_team& whole, std::span<const std::uint32_t> of_whole, std::uint32_t its_number)
    : transport_owner(whole.transport_owner),
      transport(*transport_owner),
      nodes(whole.nodes),
      rank(0),
      ranks(static_cast<Rank>(of_whole.size())),
      concurrent(whole.concurrent),
      checks(whole.checks),
      progress(whole.progress),
      beside(whole.beside),
      next_number(whole.next_number),
      number(its_number),
      most(whole.most),
      tell(whole.tell),
      chooser(whole.chooser, ranks) {
  // What was learned since, not all ranks of the group need know.
  began_with = whole.began_with;
  online = whole.online;
  online_file = whole.online_file;
  chooser.learn(began_with);
  require(its_number != 0, "number = 0: must be at least 1");
  std::vector<bool> seen(whole.ranks);
  bool within = false;
  members.reserve(of_whole.size());
  for (const std::uint32_t member : of_whole) {
    require(member < whole.ranks, "member ", member, " does not exist: there are ", whole.ranks, " ranks");
    require(!seen[member], "member ", member, " is given twice");
    seen[member] = true;
    if (member == whole.rank) {
      rank = static_cast<Rank>(members.size());
      within = true;
    }
    members.push_back(whole.members.empty() ? member : whole.members[member]);
  }
  require(within, "rank ", whole.rank, " is none of the members");
}

std::uint32_t isthmus_team::find_member(Rank of_transport) const {
  if (members.empty()) return of_transport;
  const auto at = std::ranges::find(members, of_transport);
  return at == members.end() ? ISTHMUS_NO_RANK : static_cast<std::uint32_t>(at - members.begin());
}

Cached& isthmus_team::find(const isthmus_call& call) {
  const std::size_t element_bytes = element_bytes_of(call);
  const auto serves = [&](const Cached& one) { return one.serves(call, element_bytes, tables); };
  if (Cached* const found = find_recent(cache, serves)) return *found;
  auto made = std::make_unique<Cached>();
  made->call = call;
  made->element_bytes = element_bytes;
  made->algorithm = call.algorithm == nullptr ? "" : call.algorithm;
  made->by_table = tables;
  made->counts.assign(call.counts, call.counts + call.counts_length);
  require(call.root < ranks, "root ", call.root, " does not exist: there are ", ranks, " ranks");
  plan(*made);
  return add_recent(cache, std::move(made), most,
                    [](const Cached& one) { return one.idle.size() == one.operations.size(); });
}

/// The schedule by an algorithm as tables write it.
Program isthmus_team::program_by(const Cached& made, const std::string& algorithm) {
  schedule::CollectiveCall asked;
  asked.kind = static_cast<CollectiveKind>(made.call.kind);
  asked.rank = rank;
  asked.ranks = ranks;
  asked.world = members;
  asked.root = made.call.root;
  asked.bytes = made.call.count;
  asked.counts = made.counts;
  asked.in_place = made.call.in_place != 0;
  const Choice choice = in_nodes(asked.kind, read_choice(algorithm), *nodes);
  const bool enter = made.call.enter == ISTHMUS_SYNC_ALL || choice.enter_all;
  const bool leave = made.call.leave == ISTHMUS_SYNC_ALL || choice.leave_all;
  Around around;
  around.apart = made.call.apart != 0;
  schedule::Algorithm barrier;
  if ((enter || leave) && asked.kind != CollectiveKind::barrier) {
    const Choice usual = read_choice(chooser.candidates({CollectiveKind::barrier, 0, false, is_apart()}).front().text);
    barrier = algorithm_of(CollectiveKind::barrier, in_nodes(CollectiveKind::barrier, usual, *nodes), 1);
    if (enter) around.before = &barrier;
    if (leave) around.after = &barrier;
  }
  return collective_program(asked, algorithm_of(asked.kind, choice, made.element_bytes), made.element_bytes, number,
                            around);
}

/// Whether each of its ranks is on a node of its own.
bool isthmus_team::is_apart() const {
  std::vector<Rank> where;
  for (Rank r = 0; r < ranks && !nodes->empty(); ++r) where.push_back((*nodes)[member(r)]);
  std::ranges::sort(where);
  return !where.empty() && std::ranges::adjacent_find(where) == where.end();
}

std::optional<std::uint32_t> isthmus_team::agreed_number() const {
  return number < first_agreed ? std::nullopt : std::optional(number - first_agreed);
}

Question isthmus_team::question(const isthmus_call& call) const {
  std::optional<Mode> mode;
  if (call.enter != ISTHMUS_SYNC_DEFAULT || call.leave != ISTHMUS_SYNC_DEFAULT)
    mode = Mode{sync_of(call.enter), sync_of(call.leave)};
  return {static_cast<CollectiveKind>(call.kind), deciding_bytes(call, element_bytes_of(call), ranks),
          is_in_order(call), is_apart(), mode};
}

std::string isthmus_team::decided(const isthmus_call& call) {
  const Question question = this->question(call);
  const Candidate first = chooser.candidates(question).front();
  if (!first.of_user) return "";
  Cached tried;
  tried.call = call;
  tried.element_bytes = element_bytes_of(call);
  tried.counts.assign(call.counts, call.counts + call.counts_length);
  try {
    program_by(tried, first.text);
    return first.text;
  } catch (const InvalidInput& error) {
    chooser.refused(question, first, error.what());
    return "";
  }
}

/// The algorithm that the call names, or the best one that can carry it out.
void isthmus_team::plan(Cached& made) {
  const isthmus_call& call = made.call;
  const auto kind = static_cast<CollectiveKind>(call.kind);
  const auto build = [&](const std::string& text) {
    made.program = program_by(made, text);
    shorten(made.program);
    made.taken = text;
  };
  const bool in_order = is_in_order(call);
  if (call.algorithm != nullptr) {
    require(!in_order || keeps_order(kind, read_choice(call.algorithm)), schedule::name_of(kind), " by '",
            call.algorithm, "' changes the order of operands, which an operator that does not commute forbids");
    return build(call.algorithm);
  }
  const Question question = this->question(call);
  made.left_open = chooser.is_left_open(question);
  made.untried = online && call.combine == nullptr && kind != CollectiveKind::neighbor_alltoall &&
                 chooser.learned().find(kind, ranks, question.bytes) == nullptr;
  std::vector<Candidate> candidates = chooser.candidates(question);
  // The messages of neighbours may suit an algorithm on one rank and not on another: all take the same.
  if (kind == CollectiveKind::neighbor_alltoall) candidates.resize(1);
  std::string why;
  for (const Candidate& candidate : candidates) {
    try {
      build(candidate.text);
      if (!why.empty() && candidates.front().of_user) chooser.refused(question, candidates.front(), why);
      return;
    } catch (const InvalidInput& error) {
      if (&candidate == &candidates.back()) throw;
      if (why.empty()) why = error.what();
    }
  }
}

void isthmus_team::use(const DecisionTable* table, const std::string& name) {
  ++tables;
  if (table == nullptr) chooser.use_standard();
  else chooser.use(*table, name);
}

void isthmus_team::start_online(const Online& decisions, const std::string& to) {
  ++tables;
  online = true;
  online_file = to;
  began_with = decisions;
  chooser.learn(decisions);
}

void isthmus_team::learn(const isthmus_call& call, DecisionPoint decision) {
  ++tables;
  decision.bytes = deciding_bytes(call, element_bytes_of(call), ranks);
  chooser.learn(static_cast<CollectiveKind>(call.kind), decision);
  if (rank == 0 && !online_file.empty())
    add_to_table(online_file, static_cast<CollectiveKind>(call.kind), ranks, decision);
}

std::vector<std::string> isthmus_team::algorithms(const isthmus_call& call) {
  const auto kind = static_cast<schedule::CollectiveKind>(call.kind);
  std::vector<std::string> found{find(call).taken};
  // What suits the messages of one rank may not suit those of another.
  if (kind == schedule::CollectiveKind::neighbor_alltoall) return found;
  for (const std::string& name : collectives::algorithms(kind)) {
    if (name == found.front()) continue;
    isthmus_call asked = call;
    asked.algorithm = name.c_str();
    try {
      find(asked);
      found.push_back(name);
    } catch (const InvalidInput&) {
      continue;
    }
  }
  return found;
}

int isthmus_team::asked(const isthmus_call& call) {
  if (!online || call.algorithm != nullptr || !find(call).untried) return 0;
  return ++untried[{call.kind, first_of_class(deciding_bytes(call, element_bytes_of(call), ranks))}];
}

isthmus_operation& isthmus_team::take(const isthmus_call& call) {
  Cached& plan = find(call);
  if (plan.idle.empty()) {
    plan.operations.push_back(std::make_unique<isthmus_operation>(*this, plan, plan.program.buffers[2]));
    plan.idle.reserve(plan.operations.size());
    plan.idle.push_back(plan.operations.back().get());
  }
  isthmus_operation& operation = *plan.idle.back();
  const isthmus_call& kept = operation.call;  // of an earlier start, if there was one
  const bool combines_the_same = operation.combines.before != nullptr && kept.combine == nullptr &&
                                 call.combine == nullptr && kept.element == call.element &&
                                 kept.operation == call.operation;
  if (!combines_the_same) operation.combines = {};  // also if the call is refused
  operation.call = call;
  if (!combines_the_same) operation.combines = reduction_of(operation.call);
  operation.persistent = false;
  plan.idle.pop_back();
  return operation;
}

void isthmus_team::give_back(isthmus_operation& operation) {
  if (operation.loaded == nullptr) operation.plan.idle.push_back(&operation);
  else std::erase_if(loaded, [&](const auto& one) { return one.get() == operation.loaded; });
}

int isthmus_team::start(isthmus_operation& operation, const void* input, void* output, const void* caller) {
  if (operation.loaded != nullptr) return start(*operation.loaded);
  const std::array<const void*, 2> given{input, output};
  for (std::size_t i = 0; i < given.size(); ++i)
    require(given[i] != nullptr || operation.plan.program.buffers[i] == 0, i == 0 ? "input" : "output",
            " is NULL: this rank has ", operation.plan.program.buffers[i], " bytes there");
  const std::uint64_t name = operation.call.name;
  require(name <= UINT32_MAX, "name ", name, ": must be below 2^32");
  operation.under_way = true;
  operation.refused.clear();
  if (name != 0) start_in(operation, static_cast<std::uint32_t>(name), input, output, true);
  else if (checks) checks->begin(operation, input, output, ++calls, place_of(caller));
  else start_in(operation, context++, input, output);
  return state(operation);
}

void isthmus_team::start_in(isthmus_operation& operation, std::uint32_t its_context, const void* input, void* output,
                            bool named) {
  // Buffers of input are only read, but for reduce_scatter in place, whose input the user lets change.
  std::byte* const buffers[] = {static_cast<std::byte*>(const_cast<void*>(input)), static_cast<std::byte*>(output),
                                operation.scratch.data()};
  operation.execution.start(transport, its_context, buffers, operation.combines, false, number == 0 && !named, named);
}

int isthmus_team::state(isthmus_operation& operation) {
  if (operation.looked_at) return ISTHMUS_IN_PROGRESS;
  if (!operation.refused.empty()) return ISTHMUS_INVALID;
  const Status now = operation.execution.status();
  if (tell != nullptr && !told && !transport.notice().empty()) {
    told = true;
    tell(transport.notice().c_str());
  }
  if (now == Status::in_progress) return ISTHMUS_IN_PROGRESS;
  return now == Status::done ? ISTHMUS_DONE : ISTHMUS_FAILED;
}

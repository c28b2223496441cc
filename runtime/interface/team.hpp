// What the handles of the C interface stand for: a team with its transport and its cache of schedules, and operations.
//
// To begin a collective whose schedule is cached costs the comparison of its call with those that came last, and
// start(): nothing is allocated once as many of them have been under way at once as will be.
#pragma once

#include <isthmus/isthmus.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/choice/chooser.hpp"
#include "runtime/executor/execution.hpp"
#include "runtime/executor/part.hpp"
#include "runtime/executor/program.hpp"
#include "runtime/interface/check.hpp"
#include "runtime/interface/joining.hpp"
#include "runtime/progress/progress.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

/// Whether it combines elements.
bool reduces(isthmus_kind kind);
/// Throws InvalidInput.
std::size_t element_bytes_of(const isthmus_call& call);
/// The operator of a call, which lives as long. Throws InvalidInput.
Operator reduction_of(const isthmus_call& kept);

/// A call whose schedule is kept; only what the schedule depends on counts.
struct Cached {
  isthmus_call call;
  std::size_t element_bytes;
  std::string algorithm;       ///< as it was given; empty: by the table
  std::uint32_t by_table = 0;  ///< which one: their number
  bool left_open = false;      ///< the table leaves the decision to the MPI library
  bool untried = false;        ///< to be tuned where that is wanted
  std::string taken;           ///< the algorithm
  std::vector<std::int64_t> counts;
  Program program;
  std::vector<std::unique_ptr<isthmus_operation>> operations;
  std::vector<isthmus_operation*> idle;  ///< of them

  [[nodiscard]] bool serves(const isthmus_call& other, std::size_t other_element_bytes, std::uint32_t tables) const;
};

struct Loaded;

/// The least number of a group whose ranks agreed on it.
inline constexpr std::uint32_t first_agreed = 0x80000000;

/// What a call returns that may end an operation, which is given back where it does.
int told(isthmus_operation& operation, int status);

}  // namespace isthmus::runtime

struct isthmus_operation {
  isthmus_operation(isthmus_team& its_team, isthmus::runtime::Cached& its_plan, std::size_t scratch_bytes)
      : team(its_team), plan(its_plan), execution(its_plan.program), scratch(scratch_bytes) {}

  isthmus_team& team;
  isthmus::runtime::Cached& plan;
  isthmus::runtime::Execution execution;
  std::vector<std::byte> scratch;
  isthmus_call call{};  ///< its operator
  isthmus::runtime::Operator combines;
  isthmus::runtime::Loaded* loaded = nullptr;  ///< whose it is; null for a collective
  bool persistent = false;
  bool under_way = false;  ///< started, and its caller has not been told that it is done
  bool looked_at = false;  ///< by the checking mode, before it begins
  std::string refused;     ///< why the checking mode did not let it begin
};

/// The operation of a part, with its buffers.
struct isthmus::runtime::Loaded {
  Loaded(isthmus_team& team, Part part);

  Cached plan;
  isthmus_operation operation;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> buffers;
};

struct isthmus_team {
  isthmus_team(isthmus::runtime::Joined joined, std::size_t most_cached, void (*its_say)(const char*))
      : transport_owner(std::move(joined.transport)),
        transport(*transport_owner),
        nodes(std::make_shared<std::vector<isthmus::runtime::Rank>>(std::move(joined.nodes))),
        rank(transport.rank()),
        ranks(transport.ranks()),
        concurrent(joined.concurrent),
        most(most_cached),
        tell(its_say),
        chooser(ranks, [its_say](const std::string& sentence) {
          if (its_say != nullptr) its_say(sentence.c_str());
        }) {}
  /// Some of the ranks of another team, in this order, by its transport. Throws InvalidInput.
  isthmus_team(const isthmus_team& whole, std::span<const std::uint32_t> of_whole, std::uint32_t its_number);

  /// An operation that is not under way. Throws InvalidInput.
  isthmus_operation& take(const isthmus_call& call);
  void give_back(isthmus_operation& operation);
  /// `caller`: an address there, for the checking mode.
  int start(isthmus_operation& operation, const void* input, void* output, const void* caller);
  void start_in(isthmus_operation& operation, std::uint32_t its_context, const void* input, void* output,
                bool named = false);
  std::uint32_t next_context() { return context++; }
  /// Nothing begins in this context.
  void leave_out(std::uint32_t its_context) {
    if (number == 0) transport.retire(its_context);
  }
  int state(isthmus_operation& operation);
  /// Whether messages had come or gone.
  bool go_on() {
    const bool any = isthmus::runtime::progress(transport);
    if (checks) checks->go_on();
    for (const std::function<void()>& one : *beside) one();
    return any;
  }
  /// The schedule of a call. Throws InvalidInput.
  isthmus::runtime::Cached& find(const isthmus_call& call);
  /// The algorithm that a call takes, then the others that can carry it out, in the order of the registry.
  std::vector<std::string> algorithms(const isthmus_call& call);
  /// Calls without an algorithm are decided by this table from now on; null: by the one of the library.
  void use(const isthmus::runtime::DecisionTable* table, const std::string& name);
  /// Decisions of runs; `to`: where rank 0 of this team, and those of its groups, write them.
  void start_online(const isthmus::runtime::Online& decisions, const std::string& to);
  [[nodiscard]] bool is_online() const { return online; }
  void learn(const isthmus_call& call, isthmus::runtime::DecisionPoint decision);
  /// See isthmus_untried(). Throws InvalidInput.
  int asked(const isthmus_call& call);
  void say(const std::string& sentence) const {
    if (tell != nullptr) tell(sentence.c_str());
  }

  /// An operation of a part, which has buffers of its own. Throws InvalidInput.
  isthmus_operation& load(std::span<const std::byte> part);
  /// The part of this rank in the schedule of a call. Throws InvalidInput.
  std::vector<std::byte> describe(const isthmus_call& call);

  /// What the transport calls a rank of this team.
  [[nodiscard]] isthmus::runtime::Rank member(isthmus::runtime::Rank of_team) const {
    return members.empty() ? of_team : members[of_team];
  }
  /// The rank that the transport calls so; ISTHMUS_NO_RANK where it is none of this team.
  [[nodiscard]] std::uint32_t find_member(isthmus::runtime::Rank of_transport) const;

  /// Of a group whose ranks agreed on its number: which it is.
  [[nodiscard]] std::optional<std::uint32_t> agreed_number() const;

  /// What the user's table says of a call; empty: nothing, or nothing that could be carried out, which is told.
  [[nodiscard]] std::string decided(const isthmus_call& call);
  /// Says why what it said cannot be done.
  void refuse(const isthmus_call& call, const std::string& algorithm, const std::string& why) {
    chooser.refused(question(call), {algorithm, true}, why);
  }
  /// Another number whenever that may have changed.
  [[nodiscard]] std::uint32_t decisions() const { return tables; }

  std::string listed;  ///< what isthmus_algorithms() said last
  std::shared_ptr<isthmus::runtime::Transport> transport_owner;
  isthmus::runtime::Transport& transport;
  std::shared_ptr<const std::vector<isthmus::runtime::Rank>> nodes;  ///< of ranks of the transport, see Joined
  isthmus::runtime::Rank rank, ranks;
  bool concurrent;                                       ///< see Joined
  std::shared_ptr<isthmus::runtime::Checks> checks;      ///< in the checking mode
  std::shared_ptr<isthmus::runtime::Progress> progress;  ///< where a thread goes on
  /// What else goes on in calls of the team and its groups.
  std::shared_ptr<std::list<std::function<void()>>> beside = std::make_shared<std::list<std::function<void()>>>();
  /// The least number that no group of this rank has which agreed on one.
  std::shared_ptr<std::uint32_t> next_number = std::make_shared<std::uint32_t>(0);

 private:
  void plan(isthmus::runtime::Cached& made);
  [[nodiscard]] isthmus::runtime::Question question(const isthmus_call& call) const;
  [[nodiscard]] bool is_apart() const;
  isthmus::runtime::Program program_by(const isthmus::runtime::Cached& made, const std::string& algorithm);
  int start(isthmus::runtime::Loaded& operation);

  std::vector<isthmus::runtime::Rank> members;  // ranks of the transport; empty: the same numbers
  std::uint32_t number = 0;                     // by which messages of groups are told apart
  std::size_t most;
  std::vector<std::unique_ptr<isthmus::runtime::Cached>> cache;  // the last one used first
  std::vector<std::unique_ptr<isthmus::runtime::Loaded>> loaded;
  std::uint32_t context = 0;
  std::uint64_t calls = 0;
  void (*tell)(const char*);
  bool told = false;
  isthmus::runtime::Chooser chooser;
  std::uint32_t tables = 0;  // that were used so far
  bool online = false;
  isthmus::runtime::Online began_with;  // decisions of runs that all ranks know
  std::string online_file;
  std::map<std::pair<isthmus_kind, std::uint64_t>, int> untried;  // by collective and class: how often asked
};

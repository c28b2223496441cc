// The C interface of collectives that move blocks of a space.
#include "runtime/pgas/joint_calls.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/interface/team.hpp"

namespace isthmus::runtime {

isthmus_call Manner::call(isthmus_kind kind, std::uint64_t bytes, std::uint32_t root) const {
  isthmus_call out{};
  out.size = sizeof out;
  out.kind = kind;
  out.element = ISTHMUS_U8;
  out.root = root;
  out.count = bytes;
  out.algorithm = algorithm;
  out.enter = enter;
  out.leave = leave;
  return out;
}

Manner manner_of(isthmus_space& space, const char* name, const isthmus_manner* given) {
  space.outside(name);
  isthmus_manner usual{};
  usual.size = sizeof usual;
  const isthmus_manner manner = given == nullptr ? usual : whole(given, "isthmus_manner");
  isthmus_team& team = manner.team == nullptr ? space.team : *manner.team;
  require(&team.transport == &space.team.transport, name, ": the team is of another job than the space");
  Board* board = nullptr;
  try {
    board = space.board_of(team);
  } catch (const InvalidInput& error) {
    throw InvalidInput(message(name, ": ", error.what()));
  }
  for (Rank r = 0; board == nullptr && &team != &space.team && r < team.ranks; ++r)
    require(space.team.find_member(team.member(r)) != ISTHMUS_NO_RANK, name, ": rank ", r,
            " of the team is not in the space");
  const auto or_all = [](isthmus_sync sync) { return sync == ISTHMUS_SYNC_DEFAULT ? ISTHMUS_SYNC_ALL : sync; };
  return {team, board, or_all(manner.enter), or_all(manner.leave), manner.algorithm, manner.event};
}

char* blocks_at(isthmus_space& space, const char* name, std::uint64_t offset, std::uint64_t blocks,
                std::uint64_t bytes) {
  std::uint64_t all = 0;
  require(!__builtin_mul_overflow(blocks, bytes, &all), name, ": ", blocks, " blocks of ", bytes,
          " bytes are outside the space");
  return space.near(name, space.head.rank, offset, all);
}

void apart(const char* name, std::uint64_t to, std::uint64_t to_bytes, std::uint64_t from, std::uint64_t from_bytes) {
  require(to_bytes == 0 || from_bytes == 0 || to + to_bytes <= from || from + from_bytes <= to, name, ": bytes [", from,
          ", ", from + from_bytes, ") are read and bytes [", to, ", ", to + to_bytes, ") written, which overlap");
}

namespace {

/// A collective whose ranks share memory, or the messages of which are between meetings in flags: a rank begins it when
/// all have entered, and ends it when all have ended it, as far as the recipe says.
class Near final : public Chain {
 public:
  Near(const Manner& manner, Recipe& recipe, const isthmus_call& call, const void* input, void* output)
      : Chain(manner.team, recipe.direct || call.kind == ISTHMUS_BARRIER ? 0 : 1),
        board_(*manner.board),
        recipe_(recipe),
        call_(call),
        input_(input),
        output_(output) {
    begin_on(&board_);
    if (recipe.enters) board_.entered.come(entry_ = board_.entered.next());
    if (recipe.leaves) exit_ = board_.ended.next();
    call_.enter = call_.leave = ISTHMUS_SYNC_DEFAULT;
    // Also where a table said so: it did for the mode of the whole, of which the flags are a part.
    if (!recipe.by.empty()) call_.algorithm = recipe.by.c_str();
    if (recipe.direct) reserved_ = &reserve(board_, recipe);
    ++recipe.users;
  }
  ~Near() override { --recipe_.users; }

 protected:
  bool is_ready() override {
    if (!began_) return entry_ == 0 || board_.entered.all(entry_);
    if (exit_ == 0) return true;
    if (!ended_) board_.ended.pass(exit_);
    ended_ = true;
    return board_.ended.all(exit_);
  }
  bool next() override {
    if (began_ || call_.kind == ISTHMUS_BARRIER) return false;
    began_ = true;
    try {
      if (reserved_ != nullptr) begin(*reserved_, input_, output_);
      else begin(call_, input_, output_);
    } catch (...) {  // the same on all ranks, whose later collectives do not wait for this one
      if (exit_ != 0) board_.ended.pass(exit_);
      throw;
    }
    return true;
  }

 private:
  Board& board_;
  Recipe& recipe_;
  Direct* reserved_ = nullptr;
  isthmus_call call_;
  const void* input_;
  void* output_;
  std::uint64_t entry_ = 0, exit_ = 0;
  bool began_ = false, ended_ = false;
};

int run(isthmus_space& space, const Manner& manner, const isthmus_call& call, const void* input, void* output,
        const void* caller) {
  Recipe* const recipe = manner.board == nullptr ? nullptr : &manner.board->find(manner.team, call);
  if (recipe != nullptr && (recipe->direct || recipe->enters || recipe->leaves)) {
    if (manner.event != nullptr)
      return space.joint.add(std::make_unique<Near>(manner, *recipe, call, input, output), manner.event);
    Near near(manner, *recipe, call, input, output);
    return space.joint.wait(near);
  }
  isthmus_operation& taken = manner.team.take(call);
  try {
    manner.team.start(taken, input, output, caller);
  } catch (...) {
    manner.team.give_back(taken);
    throw;
  }
  const std::uint64_t number = manner.board == nullptr ? 0 : manner.board->begin_one();
  return space.joint.add(taken, manner.board, number, manner.event);
}

/// Of blocks: how many there are at `to` and at `from`.
int transfer(isthmus_space* space, const char* name, const isthmus_manner* given, isthmus_kind kind, bool many_to,
             bool many_from, std::uint32_t root, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
             const void* caller) {
  return guarded_space(
      space,
      [&] {
        const Manner manner = manner_of(*space, name, given);
        const std::uint64_t ranks = manner.team.ranks;
        require(root < ranks, name, ": root ", root, " does not exist: there are ", ranks, " ranks");
        char* const output = blocks_at(*space, name, to, many_to ? ranks : 1, bytes);
        const char* const input = blocks_at(*space, name, from, many_from ? ranks : 1, bytes);
        isthmus_call call = manner.call(kind, bytes, root);
        if (kind == ISTHMUS_BCAST && to == from) return run(*space, manner, call, nullptr, output, caller);
        apart(name, to, (many_to ? ranks : 1) * bytes, from, (many_from ? ranks : 1) * bytes);
        call.apart = kind == ISTHMUS_BCAST ? 1 : 0;
        return run(*space, manner, call, input, output, caller);
      },
      name);
}

/// Who sends to whom is told to all; then every rank sends one block and gets one.
class Permutation final : public Chain {
 public:
  Permutation(const Manner& manner, const char* input, char* output, std::uint64_t bytes, std::uint32_t next)
      : Chain(manner.team, 2),
        names_(manner.call(ISTHMUS_ALLGATHER)),
        moves_(manner.call(ISTHMUS_NEIGHBOR_ALLTOALL)),
        input_(input),
        output_(output),
        bytes_(static_cast<std::int64_t>(bytes)),
        next_(next),
        all_(manner.team.ranks) {
    names_.algorithm = nullptr;  // that of the manner moves blocks
    names_.element = ISTHMUS_U32;
    names_.count = 1;
    // Nobody has all names before all have entered.
    names_.enter = names_.leave = moves_.enter = ISTHMUS_SYNC_DEFAULT;
    begin_on(manner.board);
  }

 protected:
  bool next() override {
    if (stage_ == 2) return false;
    if (stage_++ == 0) begin(names_, &next_, all_.data());
    else move();
    return true;
  }

 private:
  void move() {
    const auto ranks = static_cast<std::uint32_t>(all_.size());
    std::vector<std::uint32_t> from(ranks, ISTHMUS_NO_RANK);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      require(all_[r] < ranks, "isthmus_permute: rank ", r, " sends to rank ", all_[r], ": there are ", ranks,
              " ranks");
      require(from[all_[r]] == ISTHMUS_NO_RANK, "isthmus_permute: ranks ", from[all_[r]], " and ", r, " send to rank ",
              all_[r]);
      from[all_[r]] = r;
    }
    const std::int64_t source = from[team().rank], target = next_;
    if (source == target) counts_ = {target, bytes_, bytes_};
    else counts_ = {target, bytes_, 0, source, 0, bytes_};
    moves_.counts = counts_.data();
    moves_.counts_length = counts_.size();
    begin(moves_, input_, output_);
  }

  isthmus_call names_, moves_;
  const char* input_;
  char* output_;
  std::int64_t bytes_;
  std::uint32_t next_;
  std::vector<std::uint32_t> all_;
  std::vector<std::int64_t> counts_;
  int stage_ = 0;
};

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_barrier_of(isthmus_space* space, const isthmus_manner* given) {
  const void* const caller = __builtin_return_address(0);
  return guarded_space(space, [&] {
    const Manner manner = manner_of(*space, "isthmus_barrier_of", given);
    return run(*space, manner, manner.call(ISTHMUS_BARRIER), nullptr, nullptr, caller);
  });
}

int isthmus_broadcast(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint32_t root, uint64_t from,
                      uint64_t bytes) {
  return transfer(space, "isthmus_broadcast", manner, ISTHMUS_BCAST, false, false, root, to, from, bytes,
                  __builtin_return_address(0));
}

int isthmus_scatter(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint32_t root, uint64_t from,
                    uint64_t bytes) {
  return transfer(space, "isthmus_scatter", manner, ISTHMUS_SCATTER, false, true, root, to, from, bytes,
                  __builtin_return_address(0));
}

int isthmus_gather(isthmus_space* space, const isthmus_manner* manner, uint32_t root, uint64_t to, uint64_t from,
                   uint64_t bytes) {
  return transfer(space, "isthmus_gather", manner, ISTHMUS_GATHER, true, false, root, to, from, bytes,
                  __builtin_return_address(0));
}

int isthmus_gather_all(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from, uint64_t bytes) {
  return transfer(space, "isthmus_gather_all", manner, ISTHMUS_ALLGATHER, true, false, 0, to, from, bytes,
                  __builtin_return_address(0));
}

int isthmus_exchange_all(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                         uint64_t bytes) {
  return transfer(space, "isthmus_exchange_all", manner, ISTHMUS_ALLTOALL, true, true, 0, to, from, bytes,
                  __builtin_return_address(0));
}

int isthmus_permute(isthmus_space* space, const isthmus_manner* given, uint64_t to, uint64_t from, uint64_t bytes,
                    uint32_t next) {
  return guarded_space(space, [&] {
    const Manner manner = manner_of(*space, "isthmus_permute", given);
    char* const output = blocks_at(*space, "isthmus_permute", to, 1, bytes);
    const char* const input = blocks_at(*space, "isthmus_permute", from, 1, bytes);
    apart("isthmus_permute", to, bytes, from, bytes);
    return space->joint.add(std::make_unique<Permutation>(manner, input, output, bytes, next), manner.event);
  });
}

}  // extern "C"

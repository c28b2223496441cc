// What the handle of the C interface of a space stands for.
//
// A put, a get, or a cast is done in the header, with the bounds of the offset compared, where memory is shared; of
// ranks that share none see far.hpp. Of an active message see inbox.hpp; a look for messages reads two lines, which
// stay in the cache while nothing comes, and the wire where there are far ranks.
#pragma once

#include <isthmus/isthmus_pgas.h>

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "runtime/executor/execution.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/interface/team.hpp"
#include "runtime/pgas/barrier.hpp"
#include "runtime/pgas/board.hpp"
#include "runtime/pgas/far.hpp"
#include "runtime/pgas/heap.hpp"
#include "runtime/pgas/inbox.hpp"
#include "runtime/pgas/joint.hpp"
#include "runtime/pgas/segments.hpp"
#include "runtime/progress/progress.hpp"

/// A message that is handled.
struct isthmus_token {
  isthmus_space& space;
  std::uint32_t from;
  bool may_reply;
  bool replied = false;
};

struct isthmus_space {
  /// `packed`: see Far.
  isthmus_space(isthmus_team& its_team, const isthmus::runtime::SegmentSizes& wished, std::uint64_t packed);
  ~isthmus_space();
  isthmus_space(const isthmus_space&) = delete;
  isthmus_space& operator=(const isthmus_space&) = delete;

  /// From now on messages are handled in calls of the team, too. With its lock.
  void start();

  // What programs see: first.
  isthmus_space_head head{};

  struct Handler {
    isthmus_handler run = nullptr;
    void* data = nullptr;
  };
  using Content = isthmus::runtime::Content;

  /// Sends, waiting for room. Throws InvalidInput, Failed.
  void request(std::uint32_t rank, const Content& content);
  /// The same; what says that the payload may be overwritten, see Far::begin_send().
  isthmus_event begin_request(std::uint32_t rank, const Content& content, bool implicit);
  /// Throws InvalidInput.
  void check(const char* call, std::uint32_t rank, const Content& content) const;
  void reply(isthmus_token& token, const Content& content);
  void prepare(std::uint32_t rank, std::size_t bytes, void** room);
  void commit(const Content& content);
  [[nodiscard]] std::size_t most_payload() const;
  /// Whether this thread runs a handler: another one may do so meanwhile, where a thread goes on with the team.
  [[nodiscard]] bool handling() const;
  /// Handles what has come; whether anything had. `looks`: at the wire, too.
  bool poll(bool looks = true);
  /// The same, and goes on with collectives where any are under way beside the space.
  bool go_on() {
    if (team.transport.under_way() > 1) isthmus::runtime::progress(team.transport);
    if (joint.has_chains()) joint.go_on();
    return poll();
  }

  /// Handles messages until it is so. Throws Failed where a rank died.
  template <class F>
  void wait_until(const F& is_so) {
    std::uint32_t looks = 0;
    while (!is_so()) {
      if (handling() ? far != nullptr && far->go_on() : go_on()) looks = 0;
      else idle(++looks);
    }
  }
  /// Now and then looks whether all ranks live. Throws Failed.
  void watch(std::uint32_t looks);
  /// Waits in vain, and watches.
  void idle(std::uint32_t looks);

  /// The memory of so many bytes there; null where it is far. Throws InvalidInput.
  [[nodiscard]] char* near(const char* call, std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes) const;
  /// Not in a handler. Throws InvalidInput.
  void outside(const char* call) const;

  std::uint64_t allocate_global(std::uint64_t bytes);
  std::uint64_t allocate_local(std::uint64_t bytes);
  std::uint64_t allocate_all(std::uint64_t bytes);
  void release(std::uint32_t rank, std::uint64_t offset);
  /// For a far rank: 0, a number of the system, or what far.hpp says.
  std::int32_t allocate_for_another(std::uint64_t bytes, std::uint64_t& offset);
  std::int32_t release_for_another(std::uint64_t offset);

  /// A node of this rank that no lock uses.
  std::uint32_t free_node();

  isthmus_team& team;
  isthmus::runtime::Segments segments;
  std::unique_ptr<isthmus::runtime::Far> far;  ///< null where all ranks share memory
  isthmus::runtime::Barrier barrier;
  isthmus::runtime::Joint joint;
  /// For collectives of a team whose ranks are all near; null: they go by messages. Throws InvalidInput where one of
  /// its ranks is not in the space.
  isthmus::runtime::Board* board_of(isthmus_team& of);
  /// Tells those who wait for this rank in a collective that it begins no more.
  void end_collectives();
  std::array<Handler, ISTHMUS_MOST_HANDLERS> handlers{};

  struct Held {
    isthmus_mutex mutex;
    std::uint32_t node;
  };
  std::vector<Held> held;
  bool region = false;       ///< one is open
  std::uint32_t tested = 0;  ///< tests of events and polls in vain

 private:
  struct Prepared {
    isthmus::runtime::ActiveMessage* message = nullptr;
    std::uint32_t rank = 0;
    std::size_t room = 0;
    std::uint64_t lines = 0;
    std::unique_ptr<std::byte[]> far;  ///< what is filled for a far rank
    [[nodiscard]] bool is_open() const { return message != nullptr || far != nullptr; }
  };

  isthmus::runtime::ActiveMessage& room(std::uint32_t rank, bool is_reply, std::uint64_t lines);
  void fill(isthmus::runtime::ActiveMessage& message, std::uint64_t lines, const Content& content) const;
  void send(std::uint32_t rank, bool is_reply, const Content& content);
  bool handle(isthmus::runtime::Inbox& inbox, bool may_reply);
  bool handle_far(bool looks);
  [[noreturn]] void refuse(std::uint32_t from, std::uint32_t handler) const;
  void reach_far(std::uint64_t packed);
  std::uint64_t allocate_symmetric(std::uint64_t bytes);

  struct Looked {
    bool at = false;
    std::unique_ptr<isthmus::runtime::Board> board;
  };

  bool started_ = false;
  std::array<Looked, isthmus::runtime::Segments::boards> boards_;
  std::list<std::function<void()>>::iterator beside_;
  std::vector<char*> memory_;
  std::vector<isthmus::runtime::Inbox> requests_, replies_;  // of all ranks
  Prepared prepared_;
};

namespace isthmus::runtime {

/// A rank has died.
class Failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a program hands over. Throws InvalidInput.
Content content_of(std::uint32_t handler, const std::uint64_t* arguments, std::uint32_t count, const void* payload,
                   std::size_t bytes);
/// The same with a payload that belongs into the space.
Content content_to(std::uint32_t handler, const std::uint64_t* arguments, std::uint32_t count, const void* payload,
                   std::size_t bytes, std::uint64_t offset);

/// As guarded(), with the lock of the team where it has a thread. `call`: the function of the interface, for the words
/// of what fails.
template <class F>
int guarded_space(isthmus_space* space, const F& work, const char* call = __builtin_FUNCTION()) {
  const int status = guarded([&]() -> int {
    require(space != nullptr, "space is NULL");
    try {
      if (space->handling()) return work();  // whoever handles has the lock
      const Hold hold(space->team.progress);
      return work();
    } catch (const Failed& error) {
      return failed(ISTHMUS_FAILED, error.what());
    }
  });
  return status < 0 ? of_call(status, call) : status;
}

}  // namespace isthmus::runtime

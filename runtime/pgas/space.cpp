#include "runtime/pgas/space.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/transport/ring_transport.hpp"

namespace isthmus::runtime {
namespace {

/// A handler of it runs on this thread.
thread_local const isthmus_space* handled = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// One rank at a time changes a heap.
class HeldHeap : public Heap {
 public:
  HeldHeap(isthmus_space& space, std::uint32_t rank, bool local)
      : Heap(places(space, rank, local), space.segments.memory(rank) + (local ? space.segments.sizes().symmetric : 0),
             local ? space.segments.sizes().local : space.segments.sizes().symmetric),
        holder_(places(space, rank, local).holder) {
    space.wait_until([&] {
      std::uint32_t free = 0;
      return holder_.compare_exchange_strong(free, space.head.rank + 1, std::memory_order_acquire);
    });
  }
  ~HeldHeap() { holder_.store(0, std::memory_order_release); }

 private:
  static HeapPlaces& places(isthmus_space& space, std::uint32_t rank, bool local) {
    Control& control = space.segments.control(rank);
    return local ? control.local : control.symmetric;
  }

  std::atomic<std::uint32_t>& holder_;
};

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

isthmus_space::isthmus_space(isthmus_team& its_team, const SegmentSizes& sizes)
    : team(its_team), segments(&its_team, sizes), barrier(segments, its_team.rank, its_team.ranks) {
  const std::uint64_t lines = sizes.queue / sizeof(ActiveMessage);
  memory_.resize(team.ranks);
  requests_.resize(team.ranks);
  replies_.resize(team.ranks);
  for (Rank r = 0; r < team.ranks; ++r) {
    Control& control = segments.control(r);
    memory_[r] = reinterpret_cast<char*>(segments.memory(r));
    requests_[r].open(control.requests, segments.requests(r), lines);
    replies_[r].open(control.replies, segments.replies(r), lines);
  }
  head = {memory_.data(), sizes.symmetric + sizes.local, team.rank, team.ranks};
}

isthmus_space::~isthmus_space() {
  if (!started_) return;
  team.beside->erase(beside_);
  team.transport.execution_ended();
}

void isthmus_space::start() {
  beside_ = team.beside->insert(team.beside->end(), [this] {
    if (!handling()) poll();
  });
  team.transport.execution_began();  // a thread that goes on looks for messages at any time
  started_ = true;
}

void isthmus_space::idle(std::uint32_t looks) {
  constexpr std::uint32_t patience = 2000, watch = 1024;
  if (looks % watch == 0) {
    if (auto* const rings = dynamic_cast<RingTransport*>(&team.transport); rings != nullptr) rings->watch();
    if (!team.transport.failure().empty()) throw Failed(team.transport.failure());
  }
  if (looks > patience) ::sched_yield();
}

char* isthmus_space::near(const char* call, std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes) const {
  require(rank < head.ranks, call, ": rank ", rank, " does not exist: there are ", head.ranks, " ranks");
  require(bytes <= head.extent && offset <= head.extent - bytes, call, ": ", bytes, " bytes at offset ", offset,
          " of rank ", rank, " are outside the space: offsets are below ", head.extent);
  return head.memory[rank] + offset;
}

bool isthmus_space::handling() const { return handled == this; }

void isthmus_space::outside(const char* call) const {
  require(!handling(), call, ": a handler may reply only");
  require(prepared_.message == nullptr, call, ": between isthmus_prepare() and isthmus_commit()");
}

// -- memory

std::uint64_t isthmus_space::allocate_global(std::uint64_t bytes) {
  HeldHeap heap(*this, 0, false);
  const std::uint64_t offset = heap.allocate(bytes, [&](std::uint64_t top) {
    for (Rank r = 0; r < head.ranks; ++r)
      if (const int error = segments.take_pages(r, false, top); error != 0)
        throw TransportError(
            message("no memory of ", bytes, " bytes for rank ", r, ": ", std::string(std::strerror(error))));
  });
  if (offset == Heap::none) throw std::bad_alloc();
  return offset;
}

std::uint64_t isthmus_space::allocate_local(std::uint64_t bytes) {
  HeldHeap heap(*this, head.rank, true);
  const std::uint64_t offset = heap.allocate(bytes, [&](std::uint64_t top) {
    if (const int error = segments.take_pages(head.rank, true, top); error != 0)
      throw TransportError(message("no memory of ", bytes, " bytes: ", std::string(std::strerror(error))));
  });
  if (offset == Heap::none) throw std::bad_alloc();
  return segments.sizes().symmetric + offset;
}

std::uint64_t isthmus_space::allocate_all(std::uint64_t bytes) {
  // Rank 0 allocates for all. What went wrong goes the same way, so that all ranks say it.
  struct Said {
    std::uint64_t bytes;
    std::uint64_t offset;
    std::int32_t status;
    char words[160];
  } mine{bytes, 0, 0, {}};
  if (head.rank == 0) {
    mine.status = guarded([&]() -> int {
      mine.offset = allocate_global(bytes);
      return ISTHMUS_DONE;
    });
    if (mine.status < 0) std::string(isthmus_last_error()).copy(mine.words, sizeof mine.words - 1);
  }
  std::vector<Said> all(head.ranks);
  gather_all(&team, &mine, all.data(), sizeof mine);
  const auto other = std::find_if(all.begin(), all.end(), [&](const Said& said) { return said.bytes != all[0].bytes; });
  if (other != all.end()) {
    if (head.rank == 0 && mine.status == 0) release(0, mine.offset);
    throw InvalidInput(message("rank ", other - all.begin(), " allocates ", other->bytes,
                               " bytes where rank 0 allocates ", all[0].bytes));
  }
  if (all[0].status == ISTHMUS_MEMORY) throw std::bad_alloc();
  if (all[0].status < 0) throw TransportError(all[0].words);
  return all[0].offset;
}

void isthmus_space::release(std::uint32_t rank, std::uint64_t offset) {
  const std::uint64_t symmetric = segments.sizes().symmetric;
  const bool local = offset >= symmetric;
  static_cast<void>(near("isthmus_release", rank, offset, 0));
  HeldHeap heap(*this, local ? rank : 0, local);
  require(heap.release(local ? offset - symmetric : offset), "isthmus_release: nothing is allocated at offset ", offset,
          " of rank ", rank);
}

// -- active messages

std::size_t isthmus_space::most_payload() const {
  const std::uint64_t lines = segments.sizes().queue / sizeof(ActiveMessage);
  return Inbox::most(lines) * sizeof(ActiveMessage) - ActiveMessage::payload_at(ISTHMUS_MOST_ARGUMENTS);
}

void isthmus_space::check(const char* call, std::uint32_t rank, const Content& content) const {
  require(rank < head.ranks, call, ": rank ", rank, " does not exist: there are ", head.ranks, " ranks");
  require(content.handler < ISTHMUS_MOST_HANDLERS, call, ": handler ", content.handler, ": must be below ",
          ISTHMUS_MOST_HANDLERS);
  require(content.count <= ISTHMUS_MOST_ARGUMENTS, call, ": ", content.count, " arguments: at most ",
          ISTHMUS_MOST_ARGUMENTS);
  require(content.in_space || content.bytes <= most_payload(), call, ": a payload of ", content.bytes,
          " bytes: at most ", most_payload());
}

ActiveMessage& isthmus_space::room(std::uint32_t rank, bool is_reply, std::uint64_t lines) {
  Inbox& inbox = (is_reply ? replies_ : requests_)[rank];
  ActiveMessage* found = inbox.room(lines);
  for (std::uint32_t looks = 1; found == nullptr; ++looks) {
    // Who replies takes replies only: so replies always find room in the end, and with them requests.
    const bool any = is_reply ? handle(replies_[head.rank], false) : poll();
    if (!any) idle(looks);
    found = inbox.room(lines);
  }
  return *found;
}

void isthmus_space::fill(ActiveMessage& message, std::uint64_t lines, const Content& content) const {
  message.handler = static_cast<std::uint16_t>(content.handler);
  message.count = static_cast<std::uint16_t>(content.count);
  message.from = head.rank;
  message.spared = static_cast<std::uint16_t>(content.spared);
  message.in_space = content.in_space ? 1 : 0;
  message.bytes = content.bytes;
  message.offset = content.offset;
  if (content.count > 0) std::memcpy(message.arguments, content.arguments, content.count * sizeof *content.arguments);
  Inbox::pass(message, lines);
}

void isthmus_space::send(std::uint32_t rank, bool is_reply, const Content& content) {
  if (content.in_space && content.bytes > 0)
    std::memcpy(near("payload", rank, content.offset, content.bytes), content.payload, content.bytes);
  const std::uint64_t lines = ActiveMessage::lines_for(content.count, content.in_space ? 0 : content.bytes);
  ActiveMessage& message = room(rank, is_reply, lines);
  message.count = static_cast<std::uint16_t>(content.count);
  if (!content.in_space && content.bytes > 0) std::memcpy(message.payload(), content.payload, content.bytes);
  fill(message, lines, content);
}

void isthmus_space::request(std::uint32_t rank, const Content& content) {
  outside("isthmus_request");
  check("isthmus_request", rank, content);
  send(rank, false, content);
}

void isthmus_space::reply(isthmus_token& token, const Content& content) {
  require(token.may_reply, "isthmus_reply: only the handler of a request may reply");
  require(!token.replied, "isthmus_reply: the request was replied to before");
  check("isthmus_reply", token.from, content);
  token.replied = true;
  send(token.from, true, content);
}

void isthmus_space::prepare(std::uint32_t rank, std::size_t bytes, void** found) {
  outside("isthmus_prepare");
  check("isthmus_prepare", rank, {0, nullptr, ISTHMUS_MOST_ARGUMENTS, nullptr, bytes});
  // How many arguments there will be is not known: as if there were most.
  const std::uint64_t lines = ActiveMessage::lines_for(ISTHMUS_MOST_ARGUMENTS, bytes);
  ActiveMessage& message = room(rank, false, lines);
  message.count = ISTHMUS_MOST_ARGUMENTS;
  prepared_ = {&message, rank, bytes, lines};
  *found = message.payload();
}

void isthmus_space::commit(const Content& content) {
  require(prepared_.message != nullptr, "isthmus_commit: there was no isthmus_prepare()");
  check("isthmus_commit", prepared_.rank, content);
  require(content.bytes <= prepared_.room, "isthmus_commit: ", content.bytes, " bytes: there is room for ",
          prepared_.room);
  // Arguments that are not given are there and not counted, so that the payload is where it was filled in.
  std::array<std::uint64_t, ISTHMUS_MOST_ARGUMENTS> arguments{};
  std::copy_n(content.arguments, content.count, arguments.begin());
  ActiveMessage& message = *prepared_.message;
  Content whole = content;
  whole.arguments = arguments.data();
  whole.count = ISTHMUS_MOST_ARGUMENTS;
  whole.spared = ISTHMUS_MOST_ARGUMENTS - content.count;
  prepared_.message = nullptr;
  fill(message, prepared_.lines, whole);
}

bool isthmus_space::handle(Inbox& inbox, bool may_reply) {
  constexpr int most = 64;  // then the caller looks at what it waits for
  int count = 0;
  for (ActiveMessage* next = inbox.look(); next != nullptr && count < most; next = inbox.look(), ++count) {
    ActiveMessage& message = *next;
    const Handler& handler = handlers[message.handler];
    if (handler.run == nullptr) {
      const Rank from = message.from;
      const std::uint32_t number = message.handler;
      inbox.give_back(message);
      throw InvalidInput(isthmus::message("rank ", from, " sends a message for handler ", number, ", which rank ",
                                          head.rank, " has not given"));
    }
    isthmus_token token{*this, message.from, may_reply};
    void* const payload =
        message.in_space != 0 ? head.memory[head.rank] + message.offset : static_cast<void*>(message.payload());
    const isthmus_space* const before = handled;
    handled = this;
    handler.run(&token, message.arguments, static_cast<std::uint32_t>(message.count - message.spared), payload,
                message.bytes, handler.data);
    handled = before;
    inbox.give_back(message);
  }
  return count > 0;
}

bool isthmus_space::poll() {
  const bool replies = handle(replies_[head.rank], false);
  return handle(requests_[head.rank], true) || replies;
}

std::uint32_t isthmus_space::free_node() {
  for (std::uint32_t node = 0; node < Control::most_locks; ++node)
    if (std::none_of(held.begin(), held.end(), [&](const Held& one) { return one.node == node; })) return node;
  throw Unsupported(message("rank ", head.rank, " has ", held.size(), " locks: at most ", Control::most_locks,
                            " at once, give one back first"));
}

#include "runtime/pgas/space.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/transport/nodes/nodes.hpp"

namespace isthmus::runtime {
namespace {

/// A handler of it runs on this thread.
thread_local const isthmus_space* handled = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// By rank, whether it shares memory with this one.
std::vector<bool> near_ranks(const isthmus_team& team) {
  std::vector<bool> near(team.ranks, dynamic_cast<const MpiTransport*>(&team.transport) == nullptr);
  near[team.rank] = true;
  if (dynamic_cast<const NodesTransport*>(&team.transport) == nullptr) return near;
  const std::vector<Rank>& nodes = *team.nodes;
  for (Rank r = 0; r < team.ranks; ++r) near[r] = nodes[team.member(r)] == nodes[team.member(team.rank)];
  return near;
}

/// What the ranks of a team say, by rank.
template <class T>
std::vector<T> gathered(isthmus_team& team, const T& mine) {
  std::vector<T> all(team.ranks);
  gather_all(&team, &mine, all.data(), sizeof mine);
  return all;
}

/// One rank at a time changes a heap.
class HeldHeap : public Heap {
 public:
  /// Of a near rank; without waiting it may not be held.
  HeldHeap(isthmus_space& space, std::uint32_t rank, bool local, bool waits = true)
      : Heap(places(space, rank, local), space.segments.memory(rank) + (local ? space.segments.sizes().symmetric : 0),
             local ? space.segments.sizes().local : space.segments.sizes().symmetric),
        held_(places(space, rank, local)) {
    const auto hold = [&] { return is_held_ = try_hold(held_, space.head.rank); };
    if (waits) space.wait_until(hold);
    else hold();
  }
  ~HeldHeap() {
    if (is_held_) let_go(held_);
  }
  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  static HeapPlaces& places(isthmus_space& space, std::uint32_t rank, bool local) {
    Control& control = space.segments.control(rank);
    return local ? control.local : control.symmetric;
  }

  HeapPlaces& held_;
  bool is_held_ = false;
};

[[noreturn]] void no_room(std::uint64_t bytes, Rank rank, const char* kind, std::uint64_t most) {
  throw NoMemory(message("no room for ", bytes, " bytes for rank ", rank, ": a rank may have ", most, " bytes of ",
                         kind, " memory, see ISTHMUS_SEGMENT and isthmus_space_options.", kind));
}

/// A block of symmetric memory, with pages for rank 0 alone: 0, a number of the system, or Far::refused.
std::int32_t allocate_from(Heap& heap, isthmus_space& space, std::uint64_t bytes, std::uint64_t& offset) {
  struct NoPages {
    int error;
  };
  try {
    offset = heap.allocate(bytes, [&](std::uint64_t top) {
      if (const int error = space.segments.take_pages(0, false, top); error != 0) throw NoPages{error};
    });
  } catch (const NoPages& none) {
    return none.error;
  }
  return offset == Heap::none ? Far::refused : 0;
}

}  // namespace

Content content_of(std::uint32_t handler, const std::uint64_t* arguments, std::uint32_t count, const void* payload,
                   std::size_t bytes) {
  require(count == 0 || arguments != nullptr, "arguments is NULL");
  require(bytes == 0 || payload != nullptr, "payload is NULL");
  return {handler, arguments, count, payload, bytes};
}

Content content_to(std::uint32_t handler, const std::uint64_t* arguments, std::uint32_t count, const void* payload,
                   std::size_t bytes, std::uint64_t offset) {
  Content content = content_of(handler, arguments, count, payload, bytes);
  content.in_space = true;
  content.offset = offset;
  return content;
}

}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

isthmus_space::isthmus_space(isthmus_team& its_team, const SegmentSizes& wished, std::uint64_t packed)
    : team(its_team),
      segments(&its_team, wished, near_ranks(its_team)),
      barrier(segments, far, its_team.rank, its_team.ranks) {
  const SegmentSizes& sizes = segments.sizes();
  const std::uint64_t lines = sizes.queue / sizeof(ActiveMessage);
  memory_.resize(team.ranks);
  requests_.resize(team.ranks);
  replies_.resize(team.ranks);
  for (Rank r = 0; r < team.ranks; ++r) {
    if (!segments.is_near(r)) continue;
    Control& control = segments.control(r);
    memory_[r] = reinterpret_cast<char*>(segments.memory(r));
    requests_[r].open(control.requests, segments.requests(r), lines);
    replies_[r].open(control.replies, segments.replies(r), lines);
  }
  head = {memory_.data(), sizes.symmetric + sizes.local, team.rank, team.ranks, 0, memory_.data()};
  reach_far(packed);
  head.far = far == nullptr ? 0 : 1;
}

/// All ranks of the team reach each other when it returns.
void isthmus_space::reach_far(std::uint64_t packed) {
  const bool has_far = std::find(memory_.begin(), memory_.end(), nullptr) != memory_.end();
  std::uint32_t next = 0;
  const std::vector<std::uint8_t> any = gathered(team, static_cast<std::uint8_t>(has_far ? 1 : 0));
  if (std::find(any.begin(), any.end(), 1) == any.end()) return;
  Post* post = nullptr;
  {
    const Hold hold(team.progress);
    post = Post::of(team.transport);
    next = post->next();
  }
  const std::vector<std::uint32_t> numbers = gathered(team, next);
  {
    const Hold hold(team.progress);
    far = std::make_unique<Far>(*this, *post, *std::max_element(numbers.begin(), numbers.end()), packed);
  }
  gathered(team, next);
  far->use(Windows::of(*this, post->wire()));
}

isthmus_space::~isthmus_space() {
  joint = Joint();  // chains that nobody waited for use recipes of boards
  far = nullptr;
  if (!started_) return;
  team.beside->erase(beside_);
  team.transport.execution_ended();
}

void isthmus_space::start() {
  // Where all messages go over the wire, whoever goes on with the team has just looked at it.
  const bool looks = dynamic_cast<MpiTransport*>(&team.transport) == nullptr;
  beside_ = team.beside->insert(team.beside->end(), [this, looks] {
    if (handling()) return;
    poll(looks);
    joint.go_on();
  });
  team.transport.execution_began();  // a thread that goes on looks for messages at any time
  started_ = true;
}

void isthmus_space::watch(std::uint32_t looks) {
  if (looks % 1024 != 0) return;
  team.transport.watch();
  if (!team.transport.failure().empty()) throw Failed(team.transport.failure());
}

void isthmus_space::idle(std::uint32_t looks) {
  const std::uint32_t patience = team.transport.looks();
  watch(looks);
  // Windows of MPI may need looks here, so most of them are no calls of the system.
  const bool may_yield = far == nullptr || team.transport.takes_turns() || looks % 4 == 0;
  if (may_yield && looks >= (far == nullptr ? patience : patience / 8)) ::sched_yield();
}

char* isthmus_space::near(const char* call, std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes) const {
  require(rank < head.ranks, call, ": rank ", rank, " does not exist: there are ", head.ranks, " ranks");
  require(bytes <= head.extent && offset <= head.extent - bytes, call, ": ", bytes, " bytes at offset ", offset,
          " of rank ", rank, " are outside the space: offsets are below ", head.extent);
  return memory_[rank] == nullptr ? nullptr : memory_[rank] + offset;
}

bool isthmus_space::handling() const { return handled == this; }

void isthmus_space::outside(const char* call) const {
  require(!handling(), call, ": a handler may reply only");
  require(!prepared_.is_open(), call, ": between isthmus_prepare() and isthmus_commit()");
}

// -- memory

/// Rank 0 knows which symmetric memory is taken.
std::uint64_t isthmus_space::allocate_symmetric(std::uint64_t bytes) {
  std::uint64_t offset = 0;
  std::int32_t status = Far::busy;
  if (segments.is_near(0)) {
    HeldHeap heap(*this, 0, false);
    status = allocate_from(heap, *this, bytes, offset);
  }
  while (status == Far::busy) {
    status = far->allocate(bytes, offset);
    if (status == Far::busy) go_on();
  }
  if (status == Far::refused) no_room(bytes, head.rank, "symmetric", segments.sizes().symmetric);
  if (status != 0) throw TransportError(message("no memory of ", bytes, " bytes for rank 0: ", words_of(status)));
  return offset;
}

std::uint64_t isthmus_space::allocate_global(std::uint64_t bytes) {
  const std::uint64_t offset = allocate_symmetric(bytes);
  const auto refuse = [&](Rank rank, std::int32_t error) {
    release(0, offset);
    throw TransportError(message("no memory of ", bytes, " bytes for rank ", rank, ": ", words_of(error)));
  };
  const std::uint64_t end = offset + bytes;
  for (Rank r = 1; r < head.ranks; ++r)
    if (segments.is_near(r))
      if (const int error = segments.take_pages(r, false, end); error != 0) refuse(r, error);
  Rank without = 0;
  if (far != nullptr)
    if (const std::int32_t error = far->take_pages(end, without); error != 0) refuse(without, error);
  return offset;
}

std::int32_t isthmus_space::allocate_for_another(std::uint64_t bytes, std::uint64_t& offset) {
  HeldHeap heap(*this, head.rank, false, false);
  return heap.is_held() ? allocate_from(heap, *this, bytes, offset) : Far::busy;
}

std::uint64_t isthmus_space::allocate_local(std::uint64_t bytes) {
  HeldHeap heap(*this, head.rank, true);
  const std::uint64_t offset = heap.allocate(bytes, [&](std::uint64_t top) {
    if (const int error = segments.take_pages(head.rank, true, top); error != 0)
      throw TransportError(message("no memory of ", bytes, " bytes for rank ", head.rank, ": ", words_of(error)));
  });
  if (offset == Heap::none) no_room(bytes, head.rank, "local", segments.sizes().local);
  return segments.sizes().symmetric + offset;
}

std::uint64_t isthmus_space::allocate_all(std::uint64_t bytes) {
  // Rank 0 allocates for all. What went wrong goes the same way, so that all ranks say it.
  struct Said {
    std::uint64_t bytes;
    std::uint64_t offset;
    std::int32_t status;
    char words[200];
  } mine{bytes, 0, 0, {}};
  if (head.rank == 0) {
    mine.status = guarded([&]() -> int {
      const Hold hold(team.progress);
      mine.offset = allocate_global(bytes);
      return ISTHMUS_DONE;
    });
    if (mine.status < 0) std::string(isthmus_last_error()).copy(mine.words, sizeof mine.words - 1);
  }
  std::vector<Said> all(head.ranks);
  gather_all(&team, &mine, all.data(), sizeof mine);
  const auto other = std::find_if(all.begin(), all.end(), [&](const Said& said) { return said.bytes != all[0].bytes; });
  if (other != all.end()) {
    if (head.rank == 0 && mine.status == 0) {
      const Hold hold(team.progress);
      release(0, mine.offset);
    }
    throw InvalidInput(message("rank ", other - all.begin(), " allocates ", other->bytes,
                               " bytes where rank 0 allocates ", all[0].bytes));
  }
  if (all[0].status == ISTHMUS_MEMORY) throw NoMemory(all[0].words);
  if (all[0].status < 0) throw TransportError(all[0].words);
  return all[0].offset;
}

void isthmus_space::release(std::uint32_t rank, std::uint64_t offset) {
  const std::uint64_t symmetric = segments.sizes().symmetric;
  const bool local = offset >= symmetric;
  static_cast<void>(near("isthmus_release", rank, offset, 0));
  const Rank owner = local ? rank : 0;
  std::int32_t status = Far::busy;
  if (segments.is_near(owner)) {
    HeldHeap heap(*this, owner, local);
    status = heap.release(local ? offset - symmetric : offset) ? 0 : Far::refused;
  }
  while (status == Far::busy) {
    status = far->release(owner, offset);
    if (status == Far::busy) go_on();
  }
  require(status == 0, "isthmus_release: nothing is allocated at offset ", offset, " of rank ", rank);
}

std::int32_t isthmus_space::release_for_another(std::uint64_t offset) {
  const std::uint64_t symmetric = segments.sizes().symmetric;
  const bool local = offset >= symmetric;
  HeldHeap heap(*this, head.rank, local, false);
  if (!heap.is_held()) return Far::busy;
  return heap.release(local ? offset - symmetric : offset) ? 0 : Far::refused;
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
    bool any = is_reply ? handle(replies_[head.rank], false) : poll();
    if (is_reply && far != nullptr) any |= far->go_on();
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
  char* const landing = content.in_space ? near("payload", rank, content.offset, content.bytes) : nullptr;
  if (!segments.is_near(rank)) return far->send(rank, is_reply, content);
  if (content.in_space && content.bytes > 0) std::memcpy(landing, content.payload, content.bytes);
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

isthmus_event isthmus_space::begin_request(std::uint32_t rank, const Content& content, bool implicit) {
  outside("isthmus_begin_request_to");
  check("isthmus_begin_request_to", rank, content);
  if (near("payload", rank, content.offset, content.bytes) == nullptr)
    return far->begin_send(rank, false, content, implicit);
  send(rank, false, content);
  return 0;
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
  if (!segments.is_near(rank)) {
    prepared_ = {nullptr, rank, bytes, 0, std::make_unique<std::byte[]>(bytes)};
    *found = prepared_.far.get();
    return;
  }
  // How many arguments there will be is not known: as if there were most.
  const std::uint64_t lines = ActiveMessage::lines_for(ISTHMUS_MOST_ARGUMENTS, bytes);
  ActiveMessage& message = room(rank, false, lines);
  message.count = ISTHMUS_MOST_ARGUMENTS;
  prepared_ = {&message, rank, bytes, lines, nullptr};
  *found = message.payload();
}

void isthmus_space::commit(const Content& content) {
  require(prepared_.is_open(), "isthmus_commit: there was no isthmus_prepare()");
  check("isthmus_commit", prepared_.rank, content);
  require(content.bytes <= prepared_.room, "isthmus_commit: ", content.bytes, " bytes: there is room for ",
          prepared_.room);
  if (const std::unique_ptr<std::byte[]> filled = std::move(prepared_.far); filled != nullptr) {
    Content filled_in = content;
    filled_in.payload = filled.get();
    return far->send(prepared_.rank, false, filled_in);
  }
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
      refuse(from, number);
    }
    isthmus_token token{*this, message.from, may_reply};
    void* const payload =
        message.in_space != 0 ? memory_[head.rank] + message.offset : static_cast<void*>(message.payload());
    const isthmus_space* const before = handled;
    handled = this;
    handler.run(&token, message.arguments, static_cast<std::uint32_t>(message.count - message.spared), payload,
                message.bytes, handler.data);
    handled = before;
    inbox.give_back(message);
  }
  return count > 0;
}

bool isthmus_space::handle_far(bool looks) {
  bool any = far->go_on(looks);
  for (Far::Message* next = far->next(); next != nullptr; next = far->next(), any = true) {
    Letter& letter = *next->letter;
    const Handler& handler = handlers[letter.handler];
    if (handler.run == nullptr) {
      const Rank from = letter.from;
      const std::uint32_t number = letter.handler;
      far->handles(*next);
      far->pop();
      refuse(from, number);
    }
    isthmus_token token{*this, letter.from, letter.what == Letter::What::request};
    far->handles(*next);
    const isthmus_space* const before = handled;
    handled = this;
    handler.run(&token, letter.arguments(), letter.count, next->payload, letter.bytes, handler.data);
    handled = before;
    far->pop();
  }
  return any;
}

void isthmus_space::refuse(std::uint32_t from, std::uint32_t number) const {
  throw InvalidInput(
      message("rank ", from, " sends a message for handler ", number, ", which rank ", head.rank, " has not given"));
}

bool isthmus_space::poll(bool looks) {
  bool any = handle(replies_[head.rank], false);
  any |= handle(requests_[head.rank], true);
  if (far != nullptr) any |= handle_far(looks);
  return any;
}

// -- collectives

Board* isthmus_space::board_of(isthmus_team& of) {
  // A group that its ranks agreed on has a number that none of them has for another one.
  const std::optional<std::uint32_t> agreed = &of == &team ? std::optional<std::uint32_t>(0) : of.agreed_number();
  if (of.checks || !agreed.has_value()) return nullptr;
  const std::uint32_t number = &of == &team ? 0 : *agreed + 1;
  if (number >= boards_.size()) return nullptr;
  Looked& found = boards_[number];
  if (found.at) return found.board.get();
  std::vector<Rank> in_space(of.ranks);
  bool near = true;
  for (Rank r = 0; r < of.ranks; ++r) {
    in_space[r] = team.find_member(of.member(r));
    require(in_space[r] != ISTHMUS_NO_RANK, "rank ", r, " of the team is not in the space");
    near &= segments.is_near(in_space[r]);
  }
  if (near) found.board = std::make_unique<Board>(segments, of, in_space, number);
  found.at = true;
  return found.board.get();
}

void isthmus_space::end_collectives() {
  for (std::uint32_t number = 0; number < boards_.size(); ++number) {
    const Board* const board = boards_[number].board.get();
    segments.board(head.rank, number).last.store(board == nullptr ? 1 : board->begun() + 1, std::memory_order_release);
  }
}

std::uint32_t isthmus_space::free_node() {
  for (std::uint32_t node = 0; node < Control::most_locks; ++node)
    if (std::none_of(held.begin(), held.end(), [&](const Held& one) { return one.node == node; })) return node;
  throw Unsupported(message("rank ", head.rank, " has ", held.size(), " locks: at most ", Control::most_locks,
                            " at once, give one back first"));
}

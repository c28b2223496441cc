#include "runtime/transport/ofi/wire.hpp"

#ifdef ISTHMUS_FABRIC
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <utility>

#include "runtime/transport/ofi/fabric.hpp"

namespace isthmus::runtime {
namespace {

/// What a rank says of itself to the others.
struct Card {
  std::uint64_t place = 0;
  std::uint64_t process = 0;
  std::uint64_t most = 0;
  std::uint32_t name_bytes = 0, unused = 0;
  char host[64] = {};
  char provider[64] = {};
  char refused[240] = {};  // why it cannot
  char name[256] = {};
};

template <std::size_t N>
void put_in(char (&into)[N], const std::string& words) {
  words.copy(into, N - 1);
}

/// Behind the isthmus_wire of a rank.
class OfiWire {
 public:
  OfiWire(std::unique_ptr<Rendezvous> rendezvous, std::unique_ptr<Fabric> fabric, std::vector<Card> cards, Rank rank)
      : rendezvous_(std::move(rendezvous)), fabric_(std::move(fabric)), cards_(std::move(cards)), rank_(rank) {
    std::vector<std::string> names;
    for (const Card& card : cards_) names.emplace_back(card.name, card.name_bytes);
    peers_ = fabric_->reach(names);
    waiting_.resize(cards_.size());
  }

  int send(Rank to, std::uint32_t tag, const void* bytes, std::uint64_t count, std::uint64_t token);
  int receive(Rank from, std::uint32_t tag, void* bytes, std::uint64_t count, std::uint64_t token);
  std::int64_t poll(const isthmus_wire_end** ended);
  [[nodiscard]] const char* error() const { return words_.c_str(); }
  void close(bool failed);

 private:
  /// Under way; the provider writes into the first member.
  struct Operation {
    fi_context2 context;
    std::uint64_t token = 0;
    bool receives = false;
  };
  /// Not taken by the provider yet.
  struct Waiting {
    Operation* operation = nullptr;
    std::uint64_t tag = 0, ignored = 0;
    void* bytes = nullptr;
    std::uint64_t count = 0;
  };

  Operation& make(std::uint64_t token, bool receives);
  std::int64_t offer(Rank to, const Waiting& one);
  std::int64_t begin(Rank to, const Waiting& one);
  std::int64_t go_on();
  std::int64_t look();
  std::int64_t read_error();
  std::int64_t fails(const std::string& what, std::int64_t error);

  static constexpr std::uint32_t seldom = 256;

  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<Fabric> fabric_;
  std::vector<Card> cards_;
  Rank rank_;
  std::vector<fi_addr_t> peers_;
  std::deque<Operation> operations_;
  std::vector<Operation*> spare_;
  std::vector<std::deque<Waiting>> waiting_;  // by receiver
  std::deque<Waiting> unposted_;              // receives
  std::size_t waits_ = 0, sending_ = 0;
  std::vector<isthmus_wire_end> ended_;
  std::uint32_t idle_ = 0;
  std::string words_;
};

OfiWire::Operation& OfiWire::make(std::uint64_t token, bool receives) {
  if (spare_.empty()) spare_.push_back(&operations_.emplace_back());
  Operation& made = *spare_.back();
  spare_.pop_back();
  made.token = token;
  made.receives = receives;
  if (!receives) ++sending_;
  return made;
}

std::int64_t OfiWire::fails(const std::string& what, std::int64_t error) {
  words_ = what + ": " + Fabric::words_of(error);
  return -1;
}

std::int64_t OfiWire::offer(Rank to, const Waiting& one) {
  if (one.operation->receives)
    return fi_trecv(fabric_->endpoint(), one.bytes, one.count, nullptr, FI_ADDR_UNSPEC, one.tag, one.ignored,
                    &one.operation->context);
  return fi_tsend(fabric_->endpoint(), one.bytes, one.count, nullptr, peers_[to], one.tag, &one.operation->context);
}

/// Behind what waits already, so that messages keep their order.
std::int64_t OfiWire::begin(Rank to, const Waiting& one) {
  std::deque<Waiting>& before = one.operation->receives ? unposted_ : waiting_[to];
  const std::int64_t status = before.empty() ? offer(to, one) : -FI_EAGAIN;
  if (status == 0) return 0;
  if (status != -FI_EAGAIN) return fails(one.operation->receives ? "fi_trecv" : "fi_tsend", status);
  before.push_back(one);
  ++waits_;
  return 0;
}

// Tags: that of the wire below, the sender above.
int OfiWire::send(Rank to, std::uint32_t tag, const void* bytes, std::uint64_t count, std::uint64_t token) {
  void* const from = const_cast<void*>(bytes);  // only read
  const std::uint64_t whole = std::uint64_t{rank_} << 32 | tag;
  return static_cast<int>(begin(to, {&make(token, false), whole, 0, from, count}));
}

int OfiWire::receive(Rank from, std::uint32_t tag, void* bytes, std::uint64_t count, std::uint64_t token) {
  const bool any = from == ISTHMUS_WIRE_ANY;
  const std::uint64_t whole = (any ? 0 : std::uint64_t{from} << 32) | tag;
  const std::uint64_t ignored = any ? 0xFFFFFFFF00000000U : 0;
  return static_cast<int>(begin(0, {&make(token, true), whole, ignored, bytes, count}));
}

std::int64_t OfiWire::go_on() {
  const auto drain = [&](Rank to, std::deque<Waiting>& queue) -> std::int64_t {
    while (!queue.empty()) {
      const std::int64_t status = offer(to, queue.front());
      if (status == -FI_EAGAIN) return 0;
      if (status != 0) return fails(queue.front().operation->receives ? "fi_trecv" : "fi_tsend", status);
      queue.pop_front();
      --waits_;
    }
    return 0;
  };
  std::int64_t status = drain(0, unposted_);
  for (Rank to = 0; to < waiting_.size() && status == 0; ++to) status = drain(to, waiting_[to]);
  return status;
}

std::int64_t OfiWire::read_error() {
  fi_cq_err_entry entry{};
  const ssize_t got = fi_cq_readerr(fabric_->queue(), &entry, 0);
  if (got < 0) return got == -FI_EAGAIN ? 0 : fails("fi_cq_readerr", got);
  auto* const operation = static_cast<Operation*>(entry.op_context);
  if (operation == nullptr || entry.err == FI_ECANCELED) return 0;
  if (operation->receives && entry.err == FI_ETRUNC) {
    ended_.push_back({operation->token, ISTHMUS_WIRE_MORE});
    spare_.push_back(operation);
    return 0;
  }
  return fails(operation->receives ? "a message did not come" : "a message did not go", entry.err);
}

std::int64_t OfiWire::look() {
  std::array<fi_cq_tagged_entry, 32> entries{};
  const ssize_t count = fi_cq_read(fabric_->queue(), entries.data(), entries.size());
  if (count == -FI_EAGAIN) return 0;
  if (count == -FI_EAVAIL) return read_error();
  if (count < 0) return fails("fi_cq_read", count);
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_tagged_entry& entry = entries[static_cast<std::size_t>(i)];
    auto* const operation = static_cast<Operation*>(entry.op_context);
    ended_.push_back({operation->token, operation->receives ? entry.len : 0});
    if (!operation->receives) --sending_;
    spare_.push_back(operation);
  }
  return 0;
}

std::int64_t OfiWire::poll(const isthmus_wire_end** ended) {
  ended_.clear();
  std::int64_t status = look();
  if (status == 0 && waits_ > 0) status = go_on();
  // A message that fails may be all that is seen of a rank that has died.
  if (status < 0 || (ended_.empty() && ++idle_ % seldom == 0)) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(status < 0 ? 200 : 0);
    Rank lost = rendezvous_->lost();
    while (lost == Rendezvous::nobody && std::chrono::steady_clock::now() < deadline) {
      ::usleep(1000);
      lost = rendezvous_->lost();
    }
    if (lost != Rendezvous::nobody) {
      const Card& card = cards_[lost];
      words_ =
          "rank " + std::to_string(lost) + " died (process " + std::to_string(card.process) + " of " + card.host + ")";
      return -2;
    }
  }
  *ended = ended_.data();
  return status < 0 ? status : static_cast<std::int64_t>(ended_.size());
}

/// What has been sent arrives before the endpoints are closed: all ranks wait for all.
void OfiWire::close(bool failed) {
  const auto begin = std::chrono::steady_clock::now();
  const auto late = [&](std::chrono::milliseconds most) { return std::chrono::steady_clock::now() - begin > most; };
  using namespace std::chrono_literals;
  bool fine = true;
  const auto turn = [&] {
    ended_.clear();
    fine = fine && look() == 0 && (waits_ == 0 || go_on() == 0);
  };
  while (fine && sending_ > 0 && !(failed && late(100ms)) && rendezvous_->lost() == Rendezvous::nobody) turn();
  while (!failed && !rendezvous_->leave()) {
    turn();
    if (late(1ms)) ::usleep(200);
  }
}

OfiWire& wire_of(void* data) { return *static_cast<OfiWire*>(data); }

void fill(isthmus_wire& wire, OfiWire* made, Rank rank, Rank ranks, std::uint64_t most) {
  wire = {};
  wire.size = sizeof wire;
  wire.rank = rank;
  wire.ranks = ranks;
  wire.tags = 32768;
  wire.concurrent = 1;
  wire.most = most;
  wire.data = made;
  wire.send = [](void* data, std::uint32_t to, std::uint32_t tag, const void* bytes, std::uint64_t count,
                 std::uint64_t token) { return wire_of(data).send(to, tag, bytes, count, token); };
  wire.receive = [](void* data, std::uint32_t from, std::uint32_t tag, void* bytes, std::uint64_t count,
                    std::uint64_t token) { return wire_of(data).receive(from, tag, bytes, count, token); };
  wire.poll = [](void* data, const isthmus_wire_end** ended) { return wire_of(data).poll(ended); };
  wire.error = [](void* data) { return wire_of(data).error(); };
  wire.close = [](void* data, int failed) {
    wire_of(data).close(failed != 0);
    delete &wire_of(data);
  };
  wire.name = "libfabric";
}

/// Why they cannot go on, the same on all ranks.
std::string obstacle(const std::vector<Card>& cards) {
  for (Rank r = 0; r < cards.size(); ++r) {
    const std::string who = "rank " + std::to_string(r);
    if (cards[r].refused[0] != '\0') return who + ": " + cards[r].refused;
    if (std::strcmp(cards[r].provider, cards[0].provider) != 0)
      return who + " has provider " + cards[r].provider + ", rank 0 " + cards[0].provider +
             ": name one of libfabric's that all have by ISTHMUS_FABRIC";
  }
  return {};
}

}  // namespace

OfiJob ofi_wire(std::unique_ptr<Rendezvous> rendezvous, Rank rank, Rank ranks, const std::string& provider,
                std::uint64_t place) {
  Card own;
  std::unique_ptr<Fabric> fabric;
  own.place = place;
  own.process = static_cast<std::uint64_t>(::getpid());
  ::gethostname(own.host, sizeof own.host - 1);
  try {
    fabric = std::make_unique<Fabric>(provider, rendezvous->own_address());
    const std::string name = fabric->name();
    own.most = fabric->most();
    own.name_bytes = static_cast<std::uint32_t>(name.size());
    name.copy(own.name, sizeof own.name);
    put_in(own.provider, fabric->provider());
  } catch (const TransportError& error) {
    put_in(own.refused, error.what());
  }
  const std::vector<std::string> said = rendezvous->exchange({reinterpret_cast<const char*>(&own), sizeof own});
  std::vector<Card> cards(said.size());
  for (std::size_t r = 0; r < said.size(); ++r) std::memcpy(&cards[r], said[r].data(), sizeof(Card));
  if (const std::string refused = obstacle(cards); !refused.empty()) throw TransportError(refused);
  OfiJob job;
  job.provider = own.provider;
  std::uint64_t most = own.most;
  for (const Card& card : cards) {
    most = std::min(most, card.most);
    const auto same = [&](const Card& other) {
      return other.place == card.place && std::strcmp(other.host, card.host) == 0;
    };
    job.nodes.push_back(static_cast<Rank>(std::find_if(cards.begin(), cards.end(), same) - cards.begin()));
  }
  auto made = std::make_unique<OfiWire>(std::move(rendezvous), std::move(fabric), std::move(cards), rank);
  fill(job.wire, made.release(), rank, ranks, most);
  return job;
}

}  // namespace isthmus::runtime
#else

namespace isthmus::runtime {

OfiJob ofi_wire(std::unique_ptr<Rendezvous>, Rank, Rank, const std::string&, std::uint64_t) {
  throw TransportError(
      "transport ofi: this libisthmus was built without the headers of libfabric (Debian: "
      "libfabric-dev)");
}

}  // namespace isthmus::runtime
#endif

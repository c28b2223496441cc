// Messages through rings in memory: what threads of a process and processes of a node have in common. Small messages
// are copied into the ring and out of it. Of larger ones the receiver takes the bytes from where they are: one copy;
// where that is not allowed, or slower, the sender passes them piece by piece through the ring of bytes, and both copy
// at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/transport/copying.hpp"
#include "runtime/transport/ended.hpp"
#include "runtime/transport/faster.hpp"
#include "runtime/transport/in_place.hpp"
#include "runtime/transport/mailbox.hpp"
#include "runtime/transport/queue.hpp"
#include "runtime/transport/ring.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

class RingTransport : public Transport {
 public:
  /// `bulk`: bytes of a ring of bytes, a power of two from 1024 on; a quarter of it is the most that goes at once.
  /// `pieces`: whether larger messages go piece by piece even where their bytes could be fetched. `asks`: whether
  /// smaller ones may be fetched where that is better, if the sender waits anyway.
  RingTransport(Rank rank, Rank ranks, std::size_t bulk, Pieces pieces = Pieces::never, bool asks = false)
      : rank_(rank), bulk_(bulk), pieces_(pieces), asks_(asks), peers_(ranks) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] Rank ranks() const override { return static_cast<Rank>(peers_.size()); }
  bool send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) override;
  bool recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) override;
  std::size_t poll(Token* ended, std::size_t most) override;

 protected:
  enum class Fetched { done, refused, failed };

  /// The ring from one rank to another; made when it is first asked for. Null after a failure.
  virtual Ring* ring(Rank from, Rank to) = 0;
  /// Memory of the ring of bytes from one rank to another; the same.
  virtual std::byte* bulk_ring(Rank from, Rank to) = 0;
  /// Copies bytes that are where another rank said; `refused`: it has to send them.
  virtual Fetched fetch(Rank from, std::uint64_t address, std::byte* to, std::size_t count) = 0;
  /// What a rank is called in messages, where these are some ranks of a larger job.
  [[nodiscard]] virtual Rank name_of(Rank rank) const { return rank; }
  [[nodiscard]] std::string words_of(Rank rank) const { return std::to_string(name_of(rank)); }

  /// The peers of whom something is expected.
  [[nodiscard]] const std::vector<Rank>& expected() const { return active_; }

 private:
  /// A parcel that found no free cell or no room.
  struct Late {
    Parcel parcel = Parcel::none;
    Key key;
    const std::byte* bytes = nullptr;
    std::size_t count = 0;
    std::uint32_t number = 0;
    Token token;
  };
  /// A large message that goes piece by piece: to be sent, or to be received.
  struct Outgoing {
    std::uint32_t number = 0;
    std::size_t done = 0;
  };
  struct Incoming {
    Posted receive;
    std::size_t done = 0;
    std::uint64_t since = 0;  ///< nanoseconds; 0: not timed
  };
  struct Large {
    Token token;
    const std::byte* bytes = nullptr;
    std::size_t count = 0;
  };
  struct Peer {
    RingOut out;
    RingIn in;
    BulkRing bulk_out, bulk_in;
    Mailbox box;
    Queue<Late> late;
    Queue<Outgoing> outgoing;
    Queue<Incoming> incoming;
    InPlace in_place;
    Copying copying;
    std::uint32_t owed = 0;  ///< large messages that it has not taken yet
    bool listed = false;     ///< in active_
  };

  bool open(Peer& peer, Rank rank);
  bool open_bulk(BulkRing& ring, Rank from, Rank to);
  void activate(Rank rank);
  /// Whether something is to come from it.
  [[nodiscard]] static bool expects(Peer& peer) { return peer.owed > 0 || !peer.incoming.empty() || peer.box.awaits(); }
  [[nodiscard]] static bool is_active(Peer& peer) { return expects(peer) || !peer.late.empty(); }
  /// Whether a message that would go through the ring of bytes is one that may stay where it is.
  [[nodiscard]] bool may_stay(Rank peer, std::size_t count) const {
    return count > InPlace::least && count <= BulkRing::most(bulk_) && asks_ && peer != rank_ && exchanges();
  }
  void ask(Peer& peer, std::uint32_t kind, bool stayed);
  void ask_for_none();
  bool put(Rank to, Peer& peer, const Late& parcel);
  /// Copies into the ring of bytes; true if past the caches.
  bool copy_in(Peer& peer, const Late& parcel, std::byte* room);
  void copy_out(Peer& peer, const Cell& cell, const Posted& receive, std::size_t offset);
  void put_or_wait(Rank to, Peer& peer, const Late& parcel);
  void flush(Rank to, Peer& peer);
  void send_pieces(Rank to, Peer& peer);
  void take(Rank from, Peer& peer, const Cell& cell);
  void take_piece(Rank from, Peer& peer, const Cell& cell);
  /// What is first in the ring, with all its bytes: into a receive, or into memory of its own. False after a failure.
  bool deliver_first(Rank from, Peer& peer, const Cell& cell, const Posted& receive);
  bool keep_first(Rank from, Peer& peer, const Cell& cell);
  bool fits(Rank from, const Posted& receive, std::size_t count);
  static void deliver(const Posted& receive, const std::byte* bytes, std::size_t offset, std::size_t count);
  Fetched fetch_all(Rank from, const Posted& receive, std::uint64_t address);
  bool receive(Rank from, Peer& peer, const Posted& receive, std::uint64_t address, std::uint32_t number);
  void settle(Peer& peer, std::uint32_t number);

  Rank rank_;
  std::size_t bulk_;
  Pieces pieces_;
  bool asks_;
  Faster faster_;
  std::vector<Peer> peers_;
  std::vector<Rank> active_;          // peers of whom something is expected
  std::vector<Large> large_;          // by number: messages that wait until they have been taken
  std::vector<std::uint32_t> spare_;  // numbers that are free
  Ended ended_;
  std::vector<std::byte> part_;  // of a message that is taken as it comes
  std::uint32_t idle_ = 0;       // calls of poll() since something has come
};

}  // namespace isthmus::runtime

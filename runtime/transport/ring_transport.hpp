// Messages through rings in memory: what threads of a process and processes of a node have in common. Small messages
// are copied into the ring and out of it; of larger ones the receiver takes the bytes from where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/transport/mailbox.hpp"
#include "runtime/transport/ring.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

class RingTransport : public Transport {
 public:
  RingTransport(Rank rank, Rank ranks) : rank_(rank), peers_(ranks) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] Rank ranks() const override { return static_cast<Rank>(peers_.size()); }
  bool send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) override;
  bool recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) override;
  std::size_t poll(Token* ended, std::size_t most) override;

 protected:
  /// The ring from one rank to another; made when it is first asked for.
  virtual Ring& ring(Rank from, Rank to) = 0;
  /// Copies bytes that are where another rank said.
  virtual bool fetch(Rank from, std::uint64_t address, std::byte* to, std::size_t count) = 0;

 private:
  /// A parcel that found no free slot.
  struct Late {
    Parcel parcel;
    Key key;
    const std::byte* bytes;
    std::size_t count;
    std::uint64_t number;
    Token token;
  };
  struct Peer {
    RingOut out;
    RingIn in;
    Mailbox box;
    std::deque<Late> late;
    std::uint32_t owed = 0;  ///< large messages that it has not taken yet
    bool listed = false;     ///< in active_
  };

  Peer& peer(Rank rank);
  void activate(Rank rank);
  [[nodiscard]] bool is_active(const Peer& peer) const {
    return peer.owed > 0 || !peer.late.empty() || peer.box.awaits();
  }
  bool put(Peer& peer, const Late& parcel);
  void flush(Peer& peer);
  void take(Rank from, Peer& peer, Slot& slot);
  void deliver(Rank from, Peer& peer, const Posted& receive, const Early& message, const std::byte* bytes);
  void settle(Peer& peer, std::uint64_t number);

  Rank rank_;
  std::vector<Peer> peers_;
  std::vector<Rank> active_;          // peers of whom something is expected
  std::vector<Token> large_;          // by number: who waits until a message has been taken
  std::vector<std::uint64_t> spare_;  // numbers that are free
  std::vector<Token> ended_;
  std::size_t told_ = 0;  // of ended_
};

}  // namespace isthmus::runtime

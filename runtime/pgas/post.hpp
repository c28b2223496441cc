// Letters of all spaces of a transport that sends over MPI.
//
// From one rank to another letters are taken in the order in which they were sent. What a letter asks for needs credit:
// a rank has so many letters at another one that have not been carried out, so that what nobody has looked at yet stays
// bounded; the answers need none, as there are no more of them. Credit comes back with whatever goes the other way, or
// by itself. Bytes that are too many for a letter go by themselves, from where they are to where they belong: those
// that are put with one tag, those that are got with another, and as both sides begin them in the same order, they
// meet. Over a slow network up to 1 MiB go in pieces that MPI sends unasked. A few leave at once and others wait for
// them; their letters do not, so that the other rank mostly has begun to receive them by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "runtime/pgas/letter.hpp"
#include "runtime/pgas/packing.hpp"
#include "runtime/transport/mpi/mpi.hpp"

namespace isthmus::runtime {

/// Bytes that go by themselves, as their space knows them.
struct Bulk {
  std::uint32_t pieces = 0;  ///< that have not ended
  std::uint32_t space = 0;
  std::uint32_t what = 0, peer = 0;
  std::uint64_t number = 0;
  std::uint64_t notice = 0;
  std::uint64_t leaves = 0;  ///< bytes that are sent in pieces
  Rank to = 0;
};

class Post final : public MpiTransport::Listener {
 public:
  enum Tag : std::uint32_t { letters, puts, gets };

  /// A space.
  class Receiver {
   public:
    Receiver() = default;
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;
    virtual ~Receiver() = default;
    /// False: it keeps the letter, and gives it back by its number.
    virtual bool take(Letter& letter, std::uint32_t number) = 0;
    virtual void ended(const Bulk& bulk) = 0;
  };

  explicit Post(MpiTransport& far);
  /// That of a transport; null where all ranks share memory. Throws TransportError.
  static Post* of(Transport& transport);

  /// What letters go over.
  [[nodiscard]] MpiTransport& wire() const { return far_; }
  /// No space here has this number or a higher one.
  [[nodiscard]] std::uint32_t next() const { return static_cast<std::uint32_t>(receivers_.size()); }
  void enter(std::uint32_t number, Receiver& receiver);
  void leave(std::uint32_t number) { receivers_[number] = nullptr; }

  /// Whether a letter that asks for something may go there now.
  [[nodiscard]] bool has_credit(Rank to) const { return peers_[to].credit > 0; }
  /// Whether nothing that this rank asked for there has not been carried out.
  [[nodiscard]] bool is_idle(Rank to) const { return peers_[to].credit == most_credit; }
  /// What a letter carries beside its head.
  [[nodiscard]] std::size_t most() const { return room_ - sizeof(Letter); }
  /// What to pack into letters.
  [[nodiscard]] Way way() const;
  /// A letter to fill, all zero, and its way; `bytes`: after its head.
  Letter& fresh();
  void send(Rank to, Letter& letter, std::size_t bytes);
  void send_bulk(Rank to, Tag tag, const std::byte* bytes, std::size_t count, Bulk bulk);
  void receive_bulk(Rank from, Tag tag, std::byte* bytes, std::size_t count, Bulk bulk);
  /// An active message is going to be handled.
  void owe(const Letter& request) { ++peers_[request.origin].owed; }
  void give_back(std::uint32_t number);

  /// Takes what has come; `looks`: at the wire, too. Whether anything had.
  bool go_on(bool looks = true);
  /// Whether all that this rank sent has gone.
  [[nodiscard]] bool is_still() const { return going_ == 0; }
  void await(Rank rank) { awaits_ = rank; }

  void ended(std::uint64_t token) override;
  [[nodiscard]] Rank awaits() const override { return awaits_; }

 private:
  enum class Kind : std::uint64_t { in, out, bulk };
  /// Bytes that wait until others have gone.
  struct Held {
    const std::byte* bytes;
    std::size_t count;
    Tag tag;
    std::uint32_t number;  ///< of `bulks_`
  };
  struct Peer {
    std::uint32_t sent = 0, taken = 0;  ///< letters
    std::uint32_t credit = most_credit;
    std::uint32_t owed = 0;
    std::uint64_t leaving = 0;  ///< of `leaving_`
  };

  static std::uint64_t token(Kind kind, std::uint64_t number) {
    return static_cast<std::uint64_t>(kind) << 56 | number;
  }
  [[nodiscard]] Letter& letter(std::uint32_t number) const {
    return *reinterpret_cast<Letter*>(buffers_[number].get());
  }
  std::uint32_t buffer();
  void listen();
  bool came(std::uint32_t number);
  void take(std::uint32_t number);
  std::uint32_t keep(Bulk bulk, std::size_t count);
  void let_go(Rank to);
  void begin(Rank to, const Held& one);

  static constexpr std::uint32_t most_credit = 64, listeners = 8;
  static constexpr std::size_t usual_room = 8192;
  /// Bytes in pieces that are under way to all ranks, beside one such to each: where all ranks send all they have to
  /// all others, switches have no room for it and lose packets.
  static constexpr std::uint64_t most_leaving = 768 << 10;

  MpiTransport& far_;
  std::size_t room_;
  std::vector<Peer> peers_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::vector<std::uint32_t> spare_;    // of them
  std::vector<std::uint32_t> arrived_;  // in the order in which they ended
  std::vector<std::uint32_t> early_;    // one before them has not arrived
  std::uint32_t listening_ = 0, filled_ = 0, going_ = 0;
  std::deque<Bulk> bulks_;
  std::vector<std::uint32_t> spare_bulks_, finished_;
  std::uint64_t leaving_ = 0;              // bytes in pieces that are under way
  std::map<Rank, std::deque<Held>> held_;  // to whom any are
  std::vector<Receiver*> receivers_;
  Rank awaits_ = MpiTransport::nobody;
};

}  // namespace isthmus::runtime

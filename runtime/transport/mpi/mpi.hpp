// Messages over an MPI library, through the functions of an isthmus_wire: between ranks that share no memory. What is
// said of MPI here holds of libfabric too, where the wire is that of ofi/.
//
// What an operation costs: one MPI_Isend or MPI_Irecv of the bytes where they are, no header and no copy of ours, and
// its part of one MPI_Testsome over all that is under way; a line of cache of ours. Nothing is allocated once as many
// messages have been under way at once as will be.
//
// How messages meet. A key has 96 bits, but MPI promises 32,767 tags only. Three ways, chosen by the key alone, so that
// both sides take the same one:
//
// - Messages of comm 0 and tag 0, those of collectives, take the MPI tag `context` modulo the number of tags. With one
//   context they are sent and received in the same order, which MPI keeps for messages of one sender with one tag. Two
//   contexts share a tag if they lie `window` apart; so a message waits here until its context is less than `window`
//   beyond the first one that this rank has not ended. Then all messages of the earlier context have been sent before
//   the first one of the later, and all have been received before the first receive of the later: they cannot be taken
//   for each other. Whatever the earlier one waits for was begun before the later one by every rank, so nothing waits
//   in a circle.
// - Those of comm 0 with a name have a tag of their own each, where there are enough: messages of one name are sent and
//   received in the same order, too.
// - All others go in one stream from rank to rank with a tag of its own: a header with the key, then the bytes. The
//   receiver takes them in the order in which they were sent; those that nobody waits for yet are kept in memory.
//
// A message above `most` bytes is several of MPI, with the same tag one after the other. So is one of up to 1 MiB where
// the wire has a `piece`, which MPI libraries send without asking the receiver first: nobody would answer as long as
// the program computes. The receiver of longer ones is asked, as what comes before a receive has begun lies in the
// memory of its MPI library. One tag is that of alarms: a rank that fails says so to all others, who fail with the same
// words. Beyond it are tags of a listener, who sends and receives messages by itself: those of a space.
#pragma once

#include <isthmus/isthmus.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/ended.hpp"
#include "runtime/transport/mailbox.hpp"
#include "runtime/transport/mpi/forecast.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

class MpiTransport final : public Transport {
 public:
  /// Takes the wire over.
  explicit MpiTransport(const isthmus_wire& wire);
  ~MpiTransport() override;

  [[nodiscard]] Rank rank() const override { return wire_.rank; }
  [[nodiscard]] Rank ranks() const override { return wire_.ranks; }
  bool send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) override;
  bool recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) override;
  std::size_t poll(Token* ended, std::size_t most) override;
  [[nodiscard]] std::chrono::nanoseconds quiet_for() override;

  /// Whether poll() would do anything but hear alarms.
  [[nodiscard]] bool is_busy() const { return under_way_ > 0 || !ended_.empty(); }

  /// Sends and receives by itself, with tags of its own.
  class Listener {
   public:
    Listener() = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    virtual ~Listener() = default;
    /// A message of its own has gone or come, in a look at the wire. Nothing may be begun here.
    virtual void ended(std::uint64_t token) = 0;
    /// A rank of which it waits for something, or `nobody`.
    [[nodiscard]] virtual Rank awaits() const = 0;
  };
  static constexpr Rank nobody = ~Rank{0};
  static constexpr std::uint32_t listener_tags = 3;
  [[nodiscard]] Listener* listener() const { return listener_.get(); }
  /// Lives as long as the wire is open. Throws TransportError where the wire has too few tags.
  void listen(std::unique_ptr<Listener> listener);
  /// For the listener: `tag` below listener_tags, at most `most()` bytes; `from` may be ISTHMUS_WIRE_ANY; the uppermost
  /// bit of tokens is not used.
  void listener_sends(Rank to, std::uint32_t tag, const std::byte* bytes, std::size_t count, std::uint64_t token);
  void listener_receives(Rank from, std::uint32_t tag, std::byte* bytes, std::size_t count, std::uint64_t token);
  [[nodiscard]] std::uint64_t most() const { return wire_.most; }
  /// Looks at the wire; what has ended for others is given by the next poll().
  void look();
  /// How long to wait for a message while nothing comes; zero: for ever.
  void give_up_after(std::chrono::milliseconds silence) { silence_ = silence; }
  /// Fails, and says so to all other ranks.
  void raise(const std::string& words);
  /// What messages go over.
  [[nodiscard]] const char* over() const { return wire_.name == nullptr ? "MPI" : wire_.name; }
  /// Whether it is known that messages go over a network, which sends long ones unasked.
  [[nodiscard]] bool is_network() const { return wire_.piece != 0 || wire_.name != nullptr; }
  /// A message of so many bytes is several of MPI of so many.
  [[nodiscard]] std::uint64_t piece_of(std::uint64_t count) const {
    const bool cut = wire_.piece != 0 && count <= std::min(most_unasked, most_unexpected / wire_.ranks);
    return cut ? std::min(wire_.most, wire_.piece) : wire_.most;
  }
  using Transport::note;
  /// For windows, see window.hpp.
  [[nodiscard]] const isthmus_wire& wire() const { return wire_; }
  void fail_for_wire(std::int64_t status = -1);

 private:
  enum class What : std::uint8_t { free, send, recv, header_out, bytes_out, header_in, bytes_in, early_in, alarm };

  /// What goes before the bytes of a message of the stream.
  struct Header {
    Key key;
    std::uint64_t count = 0;
  };
  /// Under way; several pieces if it is long.
  struct Message {
    What what = What::free;
    Rank peer = 0;
    Token token;
    std::uint64_t count = 0, got = 0;
    std::uint64_t piece = 0;  ///< bytes of each of its pieces but the last
    std::uint64_t pieces = 0, ended = 0;
    std::chrono::steady_clock::time_point begun;
    Header header;

    [[nodiscard]] bool sends() const {
      return what == What::send || what == What::header_out || what == What::bytes_out;
    }
    std::vector<std::byte> early;
  };
  /// Not begun yet, as its context is too far ahead.
  struct Held {
    bool sends = false;
    Rank peer = 0;
    std::uint32_t context = 0;
    std::byte* bytes = nullptr;
    std::size_t count = 0;
    Token token;
  };
  /// The stream from one rank.
  struct Stream {
    Mailbox box;
    bool reads = false;  ///< a header or bytes of it are being received
  };

  void retired(std::uint32_t context) override;
  [[nodiscard]] bool may_begin(std::uint32_t context) const {
    return static_cast<std::int32_t>(context - oldest_) < static_cast<std::int32_t>(window_);
  }
  /// Of a name that has a tag; false: it has none.
  bool begin_named(What what, Rank peer, const Key& key, std::byte* bytes, std::size_t count, Token token);
  void begin_direct(const Held& message);
  void begin(std::uint64_t number, std::uint32_t tag, std::byte* bytes);
  std::uint64_t make(What what, Rank peer, std::uint64_t count, Token token);
  void release(std::uint64_t number);
  void ended(const isthmus_wire_end& end);
  void complete(std::uint64_t number);
  Stream& stream_of(Rank from);
  void read_header(Rank from, Stream& stream);
  void header_came(std::uint64_t number);
  void early_came(std::uint64_t number);
  void hear_alarms();
  void watch_silence(bool idle);
  [[nodiscard]] std::string differ(const Message& message, std::uint64_t sent) const;

  static constexpr std::uint32_t most_window = 1 << 15;
  static constexpr std::uint64_t of_listener = std::uint64_t{1} << 63;  ///< in tokens
  /// What is cut into pieces, and what all ranks together may send to one that does not expect it.
  static constexpr std::uint64_t most_unasked = 1 << 20, most_unexpected = 1 << 26;

  isthmus_wire wire_;
  std::chrono::milliseconds silence_{};
  std::uint32_t window_;      // tags from 0 on are those of contexts; then that of the stream, then that of alarms
  std::uint32_t oldest_ = 0;  // the first context that has not ended
  std::vector<bool> past_;    // of those after it, by number modulo window: has it ended?
  std::vector<std::uint32_t> far_past_;  // those beyond the window that have ended, as they had no messages
  std::vector<Held> held_;
  std::deque<Message> messages_;                  // MPI knows where headers lie
  std::vector<std::uint64_t> spare_;              // numbers of messages_ that are free
  std::vector<std::unique_ptr<Stream>> streams_;  // by rank; empty until there is one
  Ended ended_;
  Forecast sent_, received_;
  bool foresees_ = false;      // whether somebody asks; before, no clock is read
  std::size_t under_way_ = 0;  // messages, without the alarm that is waited for
  std::uint32_t idle_ = 0;     // calls of poll() since something has come
  std::chrono::steady_clock::time_point looked_{};
  std::chrono::steady_clock::duration silent_{};
  char heard_[256] = {}, raise_[256] = {};
  bool raised_ = false;
  std::unique_ptr<Listener> listener_;
};

}  // namespace isthmus::runtime

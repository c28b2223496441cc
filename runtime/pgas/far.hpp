// What a space does with the memory of ranks with which this one shares none: it asks them for it, and does what they
// ask for (see post.hpp), or reads and writes it through windows (see windows.hpp).
//
// Whatever changes memory is done when the other rank has said so: then whoever is told of it afterwards, in whatever
// way, finds the bytes.
#pragma once

#include <isthmus/isthmus_pgas.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/pgas/packing.hpp"
#include "runtime/pgas/post.hpp"
#include "runtime/pgas/together.hpp"
#include "runtime/pgas/windows.hpp"

namespace isthmus::runtime {

struct BarrierNumbers;
struct Control;

/// What an active message carries.
struct Content {
  std::uint32_t handler;
  const std::uint64_t* arguments;
  std::uint32_t count;
  const void* payload;
  std::size_t bytes;
  bool in_space = false;
  std::uint64_t offset = 0;
  std::uint32_t spared = 0;  ///< arguments at the end that are not given
  std::uint64_t notice = 0;  ///< of the parts that it comes after, see Parts
};

class Far final : public Post::Receiver {
 public:
  /// An active message that has come.
  struct Message {
    std::uint32_t number = 0;  ///< of its letter
    Letter* letter = nullptr;
    std::byte* payload = nullptr;
    bool is_whole = true;
    std::unique_ptr<std::byte[]> own;  ///< a payload that came by itself
  };
  /// What allocate() and release() say beside 0 and the numbers of the system.
  static constexpr std::int32_t busy = -1, refused = -2;

  /// `number`: see Post::next(); `packed`: the longest piece that is, where 0 is not given.
  Far(isthmus_space& space, Post& post, std::uint32_t number, std::uint64_t packed);
  ~Far() override { post_.leave(number_); }
  void use(std::unique_ptr<Windows> windows) { windows_ = std::move(windows); }

  /// These wait until it is done; offsets are inside the space. They throw Failed.
  void put(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes);
  void get(Rank rank, std::uint64_t offset, void* to, std::size_t bytes);
  /// The same of an element, which is read and written whole: by that rank, as MPI does not promise it of windows.
  void write(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes);
  void read(Rank rank, std::uint64_t offset, void* to, std::size_t bytes);
  /// These wait only until there is credit; `implicit`: counted by the region that is open, or by the space, and the
  /// event is 0.
  isthmus_event begin_put(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, bool implicit);
  isthmus_event begin_get(Rank rank, std::uint64_t offset, void* to, std::size_t bytes, bool implicit);
  /// An operation with any number of parts is made first. `local`: memory of this rank has an operation of its own;
  /// `told`: signal_after() or a message follows.
  Parts begin_parts(bool implicit, bool local = false, bool told = false);
  void put_part(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, const Parts& parts);
  void get_part(Rank rank, std::uint64_t offset, void* to, std::size_t bytes, const Parts& parts);
  /// What is waited for.
  [[nodiscard]] isthmus_event event_of_parts(const Parts& parts) const {
    return parts.implicit ? 0 : event_of(parts.number);
  }
  /// Of parts with one: waits until memory of this rank may be overwritten; or what says so, 0: it may.
  void end_local(const Parts& parts, Rank rank) { end(parts.local, rank); }
  isthmus_event event_of_local(const Parts& parts);
  /// When all parts are there, adds to a signal.
  void signal_after(Rank rank, std::uint64_t signal, std::uint64_t add, const Parts& parts);
  void wait(isthmus_event event, Rank rank);
  /// For Packing: bytes of a letter, the longest piece that is packed, a letter to fill, and the places of this rank
  /// that belong to one that gets.
  [[nodiscard]] std::size_t room() const { return way_.room; }
  [[nodiscard]] std::uint64_t packed() const { return way_.longest; }
  Letter& ask_for_pieces(Rank rank, bool puts, const Parts& parts);
  std::uint64_t keep_places(std::vector<std::uint64_t>&& words);
  void send_pieces(Rank rank, Letter& letter, std::size_t bytes) { send(rank, letter, bytes); }
  bool is_done(isthmus_event event);
  /// Forgets one that is done.
  void forget(isthmus_event event);
  void open_region();
  isthmus_event close_region();
  /// Whether all is done that no region counts.
  bool is_implicit_done() { return is_settled(operations_[0]); }
  void set(Rank rank, std::uint64_t offset, int value, std::size_t bytes);
  isthmus_event begin_set(Rank rank, std::uint64_t offset, int value, std::size_t bytes, bool implicit);
  void put_signal(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, std::uint64_t signal,
                  std::uint64_t add);
  /// Bits of the operands and of what was there before; by the processor of that rank.
  std::uint64_t atomic(Rank rank, std::uint64_t offset, isthmus_element element, isthmus_atomic_operator with,
                       std::uint64_t operand, std::uint64_t expected);
  /// Whether programs change elements through windows, also those of this rank.
  [[nodiscard]] bool changes_by_windows() const { return windows_ != nullptr && windows_->use().atomics; }
  [[nodiscard]] bool changes_by_windows_alone() const { return changes_by_windows() && windows_->use().alone; }
  /// The same as atomic(), by whatever programs change elements.
  std::uint64_t amend(Rank rank, std::uint64_t offset, isthmus_element element, isthmus_atomic_operator with,
                      std::uint64_t operand, std::uint64_t expected);
  std::int32_t allocate(std::uint64_t bytes, std::uint64_t& offset);
  std::int32_t release(Rank rank, std::uint64_t offset);
  /// Sees to it that symmetric memory up to there has pages on all ranks that are far; the first that has none, and
  /// what its system says.
  std::int32_t take_pages(std::uint64_t end, Rank& without);

  /// These do not wait.
  void tell(Rank rank, std::uint64_t epoch, std::uint32_t round, const BarrierNumbers& numbers);
  void store(Rank rank, std::uint64_t offset, std::uint64_t value);

  void send(Rank rank, bool is_reply, const Content& content) {
    if (const isthmus_event event = begin_send(rank, is_reply, content, false); event != 0) wait(event, rank);
  }
  /// `implicit` as of begin_put(): its payload may be overwritten.
  isthmus_event begin_send(Rank rank, bool is_reply, const Content& content, bool implicit);
  /// The next active message, if all of it is there.
  [[nodiscard]] Message* next() {
    return messages_.empty() || !messages_.front().is_whole ? nullptr : &messages_.front();
  }
  void handles(const Message& message) {
    if (message.letter->asks()) post_.owe(*message.letter);
  }
  void pop();

  bool go_on(bool looks = true) {
    if (!waiting_.empty()) send_waiting();
    return post_.go_on(looks);
  }
  [[nodiscard]] bool is_still() const { return waiting_.empty() && post_.is_still(); }

  bool take(Letter& letter, std::uint32_t number) override;
  void ended(const Bulk& bulk) override;

 private:
  static constexpr std::uint32_t most_uses = 0x7FFFFFFF;  // bit 63 of an event is Joint's
  enum Purpose : std::uint32_t { operation, operation_and_local, put_here, payload_here, nothing };
  struct Operation {
    std::uint32_t left = 0;  ///< what has to come before it is done
    std::int32_t status = 0;
    std::uint64_t value = 0;
    std::uint32_t uses = 0;  ///< of its number, which events tell apart
    bool windows = false;    ///< some of it went through them and has not been flushed
    bool local = false;      ///< and of these only memory of this rank counts
  };
  /// Parts of one that came by themselves, and who is told when they are there.
  struct Arriving {
    std::uint32_t left = 0;
    bool is_asked = false;  ///< to tell
    bool is_message = false;
    std::uint64_t message = 0;  ///< number of an active message, as of `popped_`
    Letter letter{};            ///< or one that adds to a signal
  };

  /// Whether all of it is done; flushes windows once the rest is.
  bool is_settled(Operation& one);
  /// What is waited for later, and at once.
  [[nodiscard]] bool through_windows(std::size_t bytes) const;
  [[nodiscard]] bool waits_through_windows(std::size_t bytes) const;
  void go_on_seldom();
  /// What waits to go together with others: to a rank, once there is credit; to all ranks for which there is.
  void send_waiting(Rank rank);
  void send_waiting();
  bool send_together(Rank rank);
  void several_are_done(std::uint64_t number);
  void put_with_others(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, std::uint32_t number);
  void ask_to_put(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, const Parts& parts);
  void ask_to_get(Rank rank, std::uint64_t offset, void* to, std::size_t bytes, std::uint32_t number);
  std::uint32_t begin(std::uint32_t parts);
  /// An operation of so many parts, by itself or with others.
  std::uint32_t begin(std::uint32_t parts, bool implicit);
  [[nodiscard]] isthmus_event event_of(std::uint32_t number) const;
  Operation end(std::uint32_t number, Rank rank);
  /// Waits until it may be sent.
  Letter& ask(Rank rank, Letter::What what, std::uint64_t number);
  Letter& fresh(Letter::What what);
  void send(Rank rank, Letter& letter, std::size_t bytes = 0);
  void answer(const Letter& asked, std::int32_t status, std::uint64_t value);
  void keep(Letter& letter, std::uint32_t number);
  /// What it waits for; null: nothing.
  Arriving* arriving(const Letter& letter, std::uint64_t notice);
  void arrived(Rank from, std::uint64_t notice);
  void add_signal(const Letter& letter);
  [[nodiscard]] std::byte* own(std::uint64_t offset) const;

  isthmus_space& space_;
  Post& post_;
  std::uint32_t number_;
  std::deque<Operation> operations_;  // the first one counts what is implicit
  std::uint32_t region_ = 0;          // the one that counts it meanwhile
  std::vector<std::uint32_t> spare_;  // of them
  std::deque<Message> messages_;
  std::uint64_t popped_ = 0;
  Way way_;
  std::vector<std::vector<std::uint64_t>> kept_;  // where the pieces of answers belong
  std::vector<std::uint64_t> spare_kept_;
  std::vector<Together> together_;             // by rank
  std::vector<Rank> waiting_;                  // of which there are some
  std::vector<Together::Operations> several_;  // of letters that have not been answered
  std::vector<std::uint64_t> spare_several_;
  std::unique_ptr<Windows> windows_;
  std::vector<unsigned char> filled_;  // what set() puts through them
  std::uint64_t notices_ = 0;          // of parts that others are told of
  std::map<std::pair<Rank, std::uint64_t>, Arriving> arriving_;
  std::uint32_t through_ = 0;         // transfers, to see when to look for others
  std::vector<std::uint64_t> pages_;  // by rank: up to where symmetric memory is known to have them
};

}  // namespace isthmus::runtime

// The one interface of all means of sending. A transport knows ranks, keys and bytes; it knows nothing of schedules.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace isthmus::runtime {

/// A transport could not be set up: the system refused something, or other ranks did not come.
class TransportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Rank = std::uint32_t;

/// By what messages between two ranks meet: the n-th one sent with a key is the n-th one received with it.
struct Key {
  std::uint32_t context = 0;  ///< of what runs at the same time, each has its own; they count up from 0 on all ranks
  std::uint32_t comm = 0;
  std::uint32_t tag = 0;

  /// A bit of tags that no program has: `context` is the name of what may begin in another order on other ranks.
  static constexpr std::uint32_t named = 1u << 31;

  bool operator==(const Key&) const = default;
};

/// Takes bytes of a message where they arrived, from `offset` of it on; they come in their order.
using Take = void (*)(void* owner, std::uint32_t step, const std::byte* bytes, std::size_t offset, std::size_t count);

/// Who asked for a message, and for which of its steps.
struct Token {
  void* owner = nullptr;
  std::uint32_t step = 0;
  bool awaited = true;  ///< of a receive: something can leave when it has ended
  /// Of a receive: given bytes that would have to be copied to where they are wanted otherwise. A transport that has
  /// them there already does not call it.
  Take take = nullptr;
};

/// Messages between the ranks of a job, as one of them sees it. One thread at a time may call it. Nothing here throws;
/// after a failure every call returns at once, and failure() says what it was.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual Rank ranks() const = 0;

  /// Begins to send. True if the bytes may be overwritten at once; otherwise poll() gives the token when they may.
  virtual bool send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) = 0;
  /// Begins to receive a message of exactly so many bytes. True if it is there; otherwise poll() gives the token.
  virtual bool recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) = 0;
  /// Goes on with what has begun, and writes the tokens of what ended; returns their number.
  virtual std::size_t poll(Token* ended, std::size_t most) = 0;

  /// Nothing has come for a while: are the others still there?
  virtual void watch() {}
  /// How long poll() will probably have nothing to do that others wait for; zero: that is not known.
  [[nodiscard]] virtual std::chrono::nanoseconds quiet_for() { return {}; }

  /// After so many looks in a row that found nothing, one that waits gives its processor to others at each look: soon
  /// where ranks of the node share processors, as what it waits for comes from those; otherwise late, as giving it up
  /// takes longer than most messages.
  [[nodiscard]] std::uint32_t looks() const { return looks_; }
  void take_turns() { looks_ = 1; }
  [[nodiscard]] bool takes_turns() const { return looks_ == 1; }

  /// Whether the caller does nothing else until what it begins now has ended, and whether that is an exchange.
  void wait_for(bool waits) { kind_.waits = waits; }
  void exchange(bool exchanges) { kind_.exchanges = exchanges; }
  /// That is said to another transport, of which this one is a part.
  void follow(const Transport& whole) { kind_of_ = &whole.kind_; }

  /// Nothing is sent or received with this context any more, by this rank.
  void retire(std::uint32_t context) {
    if (counts_contexts_) retired(context);
  }

  /// Executions that have begun and not ended, which say so.
  [[nodiscard]] std::uint32_t under_way() const { return under_way_; }
  void execution_began() { ++under_way_; }
  void execution_ended() { --under_way_; }

  /// Empty as long as all is well.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// What was begun can never end, and may lead to memory that is going to be freed: nothing is done any more.
  void give_up(const std::string& words) { fail(words); }
  /// Empty, or a line that users may want to know.
  [[nodiscard]] virtual const std::string& notice() const { return notice_; }

 protected:
  /// Whether messages that begin now are those of an exchange, and whether the caller waits for them.
  [[nodiscard]] bool exchanges() const { return kind_of_->exchanges; }
  [[nodiscard]] bool waits() const { return kind_of_->waits; }
  void fail(std::string words) {
    if (failure_.empty()) failure_ = std::move(words);
  }
  void note(std::string words) {
    if (notice_.empty()) notice_ = std::move(words);
  }
  /// From now on retired() is called.
  void count_contexts() { counts_contexts_ = true; }

 private:
  virtual void retired(std::uint32_t) {}

  std::string failure_, notice_;
  struct Kind {
    bool waits = false, exchanges = false;
  } kind_;
  const Kind* kind_of_ = &kind_;
  bool counts_contexts_ = false;
  std::uint16_t looks_ = 2000;
  std::uint32_t under_way_ = 0;
};

}  // namespace isthmus::runtime

// A program that is being carried out.
//
// What an operation costs: its step (a line of cache), its number in the list of ready ones, and for each dependant its
// edge and its counter. Nothing is allocated, locked or looked up by hash; start() copies the counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/executor/program.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

/// inout = in (+) inout for so many bytes, which are whole elements.
using Combine = void (*)(const std::byte* in, std::byte* inout, std::size_t bytes, const void* data);

/// out = in (+) with; `out` is none of the other two.
using CombineApart = void (*)(const std::byte* in, const std::byte* with, std::byte* out, std::size_t bytes,
                              const void* data);

/// The operator of reductions. Where the order of operands matters, `after` and `before` differ.
struct Operator {
  Combine before = nullptr;  ///< inout = in (+) inout
  Combine after = nullptr;   ///< inout = inout (+) in
  const void* data = nullptr;
  CombineApart apart = nullptr;  ///< of operators whose operands may change places; may be absent
  std::size_t element = 0;       ///< bytes that belong together; 0: all of them
};

/// When each step began and ended, in nanoseconds of the steady clock, which processes of a node share.
struct Trace {
  std::int64_t* begins = nullptr;
  std::int64_t* ends = nullptr;
};

enum class Status { done, in_progress, failed };

/// May be started again when it is done, with other buffers. Program and transport outlive it.
class Execution {
 public:
  explicit Execution(const Program& program);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Begins; `buffers`: where each buffer of the program is. `context` tells its messages from those of others that go
  /// on between the same ranks, and is the same on all ranks. Computation is waited for if `computes`. `counted`: the
  /// context is one of those that Key says; otherwise another comm than 0, or `named`, tells its messages apart.
  Status start(Transport& transport, std::uint32_t context, std::span<std::byte* const> buffers, const Operator& op,
               bool computes = false, bool counted = true, bool named = false);
  /// For puts and gets: where the memory of each peer begins that has the buffers of this rank at the same distance
  /// from its beginning, `own`.
  void reach(std::byte* const* peers, const std::byte* own) {
    peers_ = peers;
    own_ = own;
  }
  /// From the next start on, times are written there; without arrays they are not.
  void trace(const Trace& where) { trace_ = where; }
  /// A step of its own has ended, see Transport::poll().
  void ended(std::uint32_t step) { finish(step); }
  /// Carries out whatever can be.
  Status go_on();
  [[nodiscard]] Status status() const;

 private:
  void begin(std::uint32_t step);
  void finish(std::uint32_t step);
  void leave();
  void release(std::uint32_t step, bool on_start);
  void copy(const Step& step) const;
  void put(const Step& step) const;
  void get(const Step& step) const;
  void combine(const Step& step) const;
  void combine(const Step& step, const std::byte* from, std::size_t offset, std::size_t bytes) const;
  static void take(void* self, std::uint32_t step, const std::byte* bytes, std::size_t offset, std::size_t count);
  [[nodiscard]] std::byte* at(std::uint8_t buffer, std::uint64_t offset) const {
    return buffer == Program::no_buffer ? nullptr : buffers_[buffer] + offset;
  }
  /// The same place of a peer.
  [[nodiscard]] std::byte* at(std::uint32_t peer, std::uint8_t buffer, std::uint64_t offset) const {
    return peers_[peer] + (at(buffer, offset) - own_);
  }

  /// Of a reduction that has been done as its message arrived.
  static constexpr std::uint32_t done_early = 0x80000000;

  const Program& program_;
  std::vector<std::uint32_t> needs_;
  std::vector<bool> awaited_;         // of a receive: whether another step than a reduction or a copy waits for it
  bool exchanges_;                    // with a rank to which it sends and from which it receives
  std::vector<std::uint32_t> ready_;  // every step once, in the order in which they became ready
  std::size_t next_ = 0, end_ = 0;    // of ready_
  std::size_t left_ = 0;              // steps that have not ended
  Transport* transport_ = nullptr;
  std::uint32_t context_ = 0;
  std::uint32_t named_ = 0;  // bits of tags that no program has
  std::byte* buffers_[Program::no_buffer] = {};
  std::byte* const* peers_ = nullptr;
  const std::byte* own_ = nullptr;
  Operator operator_;
  bool computes_ = false, counted_ = true;
  Trace trace_;
};

/// Goes on with all executions that were started on a transport, until nothing can be done at once; true if something
/// was.
bool progress(Transport& transport);

}  // namespace isthmus::runtime

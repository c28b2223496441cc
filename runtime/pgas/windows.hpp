// The memory of a space through windows of MPI, for ranks that share none with each other, where that is better than
// to ask them for it (far.hpp).
//
// What a window is good for depends on the MPI library and on what lies between the ranks, so it is tried when the
// space is made, by two ranks. One computes, and says so in memory that the other one reads through a window: what
// is done before it has stopped was done without it. Such windows are used for all that a message would wait for
// the other rank. Others, which need it as messages do, are used for what is waited for at once, where that takes less
// time: the wait is MPI's, in which this rank handles nothing but MPI does go on, and so does the other rank whenever
// it waits. What is small and waited for later goes through windows that need nobody, unless messages that are under
// way together take less.
//
// Atomic operations of MPI are atomic among themselves only, so all ranks of a space have to do them alike, also on
// their own memory: they are used where no ranks of the space share memory.
//
// A library that takes all pages of a window when it is made, as for network cards, would take all that the space may
// ever need: there messages go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/transport/mpi/window.hpp"

struct isthmus_space;

namespace isthmus::runtime {

class Windows {
 public:
  /// What goes through them.
  struct Use {
    bool transfers = false;  ///< blocking ones
    bool alone = false;      ///< without the other rank: then also those that are waited for later,
    bool begun = false;      ///< and of these the small ones
    bool atomics = false;
  };

  /// Collective; null: nothing does. Throws InvalidInput, the same on all ranks.
  static std::unique_ptr<Windows> of(isthmus_space& space, MpiTransport& far);

  [[nodiscard]] const Use& use() const { return use_; }
  /// Done after settle(). These throw Failed.
  void put(Rank rank, std::uint64_t at, const void* from, std::uint64_t bytes);
  void get(Rank rank, std::uint64_t at, void* to, std::uint64_t bytes);
  void flush(Rank rank);
  /// Flushes all ranks to which anything has been begun since.
  void settle();
  /// Of these, memory of this rank may be overwritten.
  void settle_here();
  /// For those that are begun.
  void mark(Rank rank);
  std::uint64_t change(Rank rank, std::uint64_t at, std::uint32_t element, std::uint32_t operation,
                       std::uint64_t operand, std::uint64_t expected);

 private:
  Windows(MpiTransport& far, std::unique_ptr<Window> window, Use use, Rank ranks)
      : far_(far), window_(std::move(window)), use_(use), is_marked_(ranks) {}
  void check() const;

  MpiTransport& far_;
  std::unique_ptr<Window> window_;
  Use use_;
  std::vector<Rank> marked_;
  std::vector<bool> is_marked_;  // by rank
};

}  // namespace isthmus::runtime

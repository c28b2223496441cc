// The shared memory of the ranks of a job on one node. Its name is gone as soon as all ranks are attached, so that
// nothing is left behind however they end. That a rank lives is a lock on a byte of the file, which the kernel takes
// away with the process, also where its parent does not look after it or its number means nothing here (containers).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/transport/faster.hpp"
#include "runtime/transport/processors.hpp"
#include "runtime/transport/ring.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

struct ShmOptions {
  std::string job;  ///< letters, digits, `-`, `_` and `.`: the same on all ranks, another one for every job
  Rank rank = 0;
  Rank ranks = 1;
  std::chrono::milliseconds patience{60000};  ///< how long to wait for the others to start
  std::size_t bulk = 0;                       ///< bytes of a ring of bytes, a power of two; 0: by the number of ranks
  bool one_copy = true;                       ///< read large messages from the memory of their senders where allowed
  bool reserve = false;                       ///< all of the memory at once, as far as that is not much
  std::vector<Rank> names;                    ///< what the ranks are called in messages; empty: their numbers
  Pieces pieces = Pieces::where_faster;       ///< send them piece by piece all the same
};

/// Of one rank, in the shared memory.
struct alignas(64) ShmRank {
  enum State : std::uint32_t { absent = 0, present = 1, left = 2 };

  std::atomic<std::uint32_t> state;
  std::int32_t process;
  std::uint64_t probe;        ///< where its own copy of `probe_value` is
  std::uint64_t probe_value;  ///< by which others see that they read the right process
  Processors processors;      ///< that it may use, as of its start
};

class ShmSegment {
 public:
  /// Makes the memory or attaches to it, and waits for the others. Throws TransportError.
  explicit ShmSegment(const ShmOptions& options);
  ~ShmSegment();
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;

  [[nodiscard]] std::size_t bulk() const { return bulk_; }
  [[nodiscard]] const ShmRank& of(Rank rank) const;
  [[nodiscard]] bool take_turns() const;  ///< there are more ranks than processors for them
  /// The ring from one rank to another, with memory beneath it; null if there is none left: errno says why.
  Ring* ring(Rank from, Rank to);
  std::byte* bulk_ring(Rank from, Rank to);
  /// Whether the process of a rank that is attached is still there.
  [[nodiscard]] bool is_alive(Rank rank) const;
  /// The rank that was found dead first: by this call, if none was before.
  Rank report_dead(Rank rank);
  /// The same, without a report; `ranks` if none was.
  [[nodiscard]] Rank dead() const;

 private:
  struct Head;

  void open(const ShmOptions& options);
  bool try_open(const ShmOptions& options);
  void attach(const ShmOptions& options);
  void wait_for_others(const ShmOptions& options);
  void lock(Rank rank);
  void close();
  std::byte* part(std::size_t offset, std::size_t bytes);

  Rank rank_, ranks_;
  std::size_t bulk_;
  std::size_t head_bytes_, ring_bytes_, bulk_bytes_;
  std::string name_;
  int file_ = -1;
  std::size_t size_ = 0;
  std::byte* memory_ = nullptr;
  Head* head_ = nullptr;
  std::uint64_t probe_ = 0;
};

}  // namespace isthmus::runtime

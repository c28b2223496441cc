// What isthmus_mpi.h gives over an MPI library, in memory between threads: messages of one sender with one tag match
// receives in their order, and nothing else may be relied upon. They end in any order, and some of them late.
#pragma once

#include <isthmus/isthmus.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/rng.hpp"

namespace isthmus::test {

class MemoryWires {
 public:
  /// `tags`: how many there are; `most`: bytes of a message. An odd seed has messages cut into pieces.
  MemoryWires(std::uint32_t ranks, std::uint32_t tags, std::uint64_t most, std::uint64_t seed);

  /// The wire of a rank; one thread at a time uses it.
  isthmus_wire of(std::uint32_t rank);
  /// Messages that nobody has received.
  [[nodiscard]] std::size_t left() const;
  /// From now on a rank cannot reach the others.
  void cut(std::uint32_t rank) { ends_[rank].cut = true; }

 private:
  struct Message {
    std::uint32_t peer = 0;
    std::uint32_t tag = 0;
    std::byte* memory = nullptr;
    std::uint64_t count = 0;
    std::uint64_t token = 0;
    bool waits = false;            ///< its sender is told when it is received
    std::vector<std::byte> bytes;  ///< that were sent
  };
  struct End {
    MemoryWires* all = nullptr;
    std::uint32_t rank = 0;
    std::vector<Message> sent, posted;  ///< to this rank, and what it waits for
    std::vector<isthmus_wire_end> ended, told;
    Rng random{0};
    bool cut = false;
  };

  static int send(void* data, std::uint32_t to, std::uint32_t tag, const void* bytes, std::uint64_t count,
                  std::uint64_t token);
  static int receive(void* data, std::uint32_t from, std::uint32_t tag, void* bytes, std::uint64_t count,
                     std::uint64_t token);
  static std::int64_t poll(void* data, const isthmus_wire_end** ended);
  void match(End& receiver, const Message& posted, const Message& sent);

  mutable std::mutex lock_;
  std::uint32_t tags_;
  std::uint64_t most_, piece_;
  std::vector<End> ends_;
};

}  // namespace isthmus::test

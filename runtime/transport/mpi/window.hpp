// Memory of some ranks that these read and write by themselves, through the windows of a wire: those of MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/transport/mpi/mpi.hpp"

namespace isthmus::runtime {

class Window {
 public:
  /// Whether the wire has windows.
  static bool can_be(const MpiTransport& far) { return far.wire().open_window != nullptr; }
  /// Whether they have atomic operations.
  static bool can_change(const MpiTransport& far) { return far.wire().change != nullptr; }
  /// All `members` together, with memory of their own; null: it cannot be had.
  static std::unique_ptr<Window> open(MpiTransport& far, const std::vector<Rank>& members, std::byte* memory,
                                      std::uint64_t bytes);
  /// All members together, unless the transport has failed.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// `rank`: its place among the members. These two are done after the next flush() of it.
  void put(Rank rank, std::uint64_t at, const void* from, std::uint64_t bytes);
  void get(Rank rank, std::uint64_t at, void* to, std::uint64_t bytes);
  void flush(Rank rank) { check(far_.wire().flush(window_, rank)); }
  /// Memory of this rank may be overwritten.
  void flush_local(Rank rank) {
    const isthmus_wire& wire = far_.wire();
    check((wire.flush_local == nullptr ? wire.flush : wire.flush_local)(window_, rank));
  }
  /// Bits of the operands and of what was there before.
  std::uint64_t change(Rank rank, std::uint64_t at, std::uint32_t element, std::uint32_t operation,
                       std::uint64_t operand, std::uint64_t expected);

 private:
  Window(MpiTransport& far, void* window) : far_(far), window_(window) {}
  /// The transport fails where it is below 0.
  void check(int status) const {
    if (status < 0) far_.fail_for_wire();
  }

  MpiTransport& far_;
  void* window_;
};

}  // namespace isthmus::runtime

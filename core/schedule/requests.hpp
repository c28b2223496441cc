// The open requests of one rank: a small hash table, since request numbers may be any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace isthmus::schedule {

class OpenRequests {
 public:
  OpenRequests() : slots_(smallest) {}
  /// Forgets all; memory follows the last rank's needs.
  void clear();
  /// `request` (not 0) is complete when `ops` are done. False if it is open already.
  bool open(std::uint32_t request, std::span<const std::uint32_t> ops);
  /// Calls add(op) for every operation that it waits for and closes it. False if it is not open.
  template <class Add>
  bool close(std::uint32_t request, Add&& add) {
    const std::size_t at = find(request);
    if (slots_[at].request != request) return false;
    visit(slots_[at], add);
    erase(at);
    return true;
  }
  /// Like close(), for all open requests.
  template <class Add>
  void close_all(Add&& add) {
    for (Slot& slot : slots_) {
      if (slot.request != 0) visit(slot, add);
    }
    clear();
  }

 private:
  static constexpr std::size_t smallest = 64;
  struct Slot {
    std::uint32_t request = 0;  // 0: free
    std::uint32_t ops = 0;      // how many it waits for
    std::uint32_t first = 0;    // the only one, or the first of several in lists_
  };
  template <class Add>
  void visit(const Slot& slot, Add& add) const {
    if (slot.ops == 1) {
      add(slot.first);
      return;
    }
    for (std::uint32_t i = 0; i < slot.ops; ++i) add(lists_[slot.first + i]);
  }
  [[nodiscard]] std::size_t home(std::uint32_t request) const {
    return (request * std::uint64_t{0x9E3779B97F4A7C15} >> 32) & (slots_.size() - 1);
  }
  /// Its slot, or the free one where it would go.
  [[nodiscard]] std::size_t find(std::uint32_t request) const;
  void erase(std::size_t at);
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, at most half taken; linear probing
  std::size_t taken_ = 0;
  std::vector<std::uint32_t> lists_;
};

}  // namespace isthmus::schedule

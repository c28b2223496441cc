// Messages on their way from one window of time to the next, sorted by the block of ranks that they go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/prefetch.hpp"
#include "schedule/schedule.hpp"
#include "simulate/model/options.hpp"

namespace isthmus::simulate {
using namespace schedule;

/// The place of an event in the order in which events are found out: what the sequence numbers of one queue would tell.
struct Birth {
  static constexpr Picoseconds unknown = -2;  ///< as parent

  Picoseconds time;      ///< of what found it out; -1: the beginning
  Picoseconds parent;    ///< and when that had been found out itself; or its number among the Ancestors
  Rank rank;             ///< where
  std::uint32_t number;  ///< counted there
};

struct Message {
  Birth birth;         ///< when it is sent
  Picoseconds lands;   ///< so much of it is there that the CPU can handle it; before that is known, its arrival
  std::uint64_t what;  ///< the send, see OperationTable
};
static_assert(sizeof(Message) == 40);

class Mail {
 public:
  struct Letter {
    Message message;
    Rank to;
  };

  explicit Mail(std::size_t blocks) : written_(blocks), sent_(blocks) {}

  /// What has been written is to be taken from now on; all that was sent before has been.
  void send() { written_.swap(sent_); }
  void write(std::size_t block, const Message& message, Rank to) {
    Sheet*& sheet = written_[block];
    if (sheet == nullptr || sheet->count == Sheet::most) {
      Sheet* next = take();
      next->next = sheet;
      next->count = 0;
      sheet = next;
    }
    sheet->letters[sheet->count++] = {message, to};
  }
  [[nodiscard]] bool has(std::size_t block) const { return sent_[block] != nullptr; }
  /// Takes all that has been sent to a block: deliver(letter), in no particular order; prefetch(letter) some before it.
  template <class Prefetch, class Deliver>
  void take_all(std::size_t block, Prefetch&& prefetch, Deliver&& deliver) {
    Sheet* sheet = std::exchange(sent_[block], nullptr);
    while (sheet != nullptr) {
      const Sheet* after = sheet->next;
      if (after != nullptr && after->next != nullptr) prefetch_line(after->next);
      for (std::uint32_t i = 0; i < sheet->count; ++i) {
        const std::uint32_t later = i + ahead;
        if (later < sheet->count) prefetch(sheet->letters[later]);
        else if (after != nullptr && later - sheet->count < after->count)
          prefetch(after->letters[later - sheet->count]);
        deliver(sheet->letters[i]);
      }
      Sheet* next = sheet->next;
      sheet->next = free_;
      free_ = sheet;
      sheet = next;
    }
  }

 private:
  struct Sheet {
    static constexpr std::uint32_t most = 21;
    Sheet* next;
    std::uint32_t count;
    Letter letters[most];
  };
  static constexpr std::size_t sheets_at_once = 64;
  static constexpr std::uint32_t ahead = 8;

  Sheet* take() {
    if (free_ == nullptr) {
      more_.push_back(std::make_unique_for_overwrite<Sheet[]>(sheets_at_once));
      for (std::size_t i = 0; i < sheets_at_once; ++i) {
        more_.back()[i].next = free_;
        free_ = &more_.back()[i];
      }
    }
    return std::exchange(free_, free_->next);
  }

  std::vector<Sheet*> written_, sent_;  // of each block
  Sheet* free_ = nullptr;
  std::vector<std::unique_ptr<Sheet[]>> more_;
};

}  // namespace isthmus::simulate

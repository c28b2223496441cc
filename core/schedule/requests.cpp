#include "schedule/requests.hpp"

#include <utility>

namespace isthmus::schedule {

void OpenRequests::clear() {
  if (taken_ != 0) {
    // A rank with very many requests must not make all later ones wipe a large table.
    std::size_t size = slots_.size();
    while (size > smallest && taken_ < size / 8) size /= 2;
    if (size < slots_.size()) slots_ = std::vector<Slot>(size);
    else slots_.assign(size, Slot{});
  }
  taken_ = 0;
  lists_.clear();
}

std::size_t OpenRequests::find(std::uint32_t request) const {
  std::size_t at = home(request);
  while (slots_[at].request != 0 && slots_[at].request != request) at = (at + 1) & (slots_.size() - 1);
  return at;
}

bool OpenRequests::open(std::uint32_t request, std::span<const std::uint32_t> ops) {
  if (2 * (taken_ + 1) > slots_.size()) grow();
  Slot& slot = slots_[find(request)];
  if (slot.request == request) return false;
  slot = {request, static_cast<std::uint32_t>(ops.size()), 0};
  if (ops.size() == 1) {
    slot.first = ops[0];
  } else {
    slot.first = static_cast<std::uint32_t>(lists_.size());
    lists_.insert(lists_.end(), ops.begin(), ops.end());
  }
  ++taken_;
  return true;
}

void OpenRequests::erase(std::size_t hole) {
  // Whatever was pushed past the hole moves back into it.
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = (hole + 1) & mask; slots_[at].request != 0; at = (at + 1) & mask) {
    const std::size_t pushed = (at - home(slots_[at].request)) & mask;
    if (pushed >= ((at - hole) & mask)) {
      slots_[hole] = slots_[at];
      hole = at;
    }
  }
  slots_[hole] = {};
  if (--taken_ == 0) lists_.clear();
}

void OpenRequests::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  for (const Slot& slot : old) {
    if (slot.request != 0) slots_[find(slot.request)] = slot;
  }
}

}  // namespace isthmus::schedule

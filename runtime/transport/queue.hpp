// First in, first out, in memory that is kept: once it is large enough nothing is allocated any more.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace isthmus::runtime {

template <class T>
class Queue {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  T& front() { return items_[first_]; }
  void push(T item) {
    if (count_ == items_.size()) grow();
    items_[(first_ + count_++) & (items_.size() - 1)] = std::move(item);
  }
  void pop() {
    first_ = (first_ + 1) & (items_.size() - 1);
    --count_;
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 8 : 2 * items_.size());  // a power of two
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(items_[(first_ + i) & (items_.size() - 1)]);
    items_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> items_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace isthmus::runtime

// A point in a rank's program: what the next operation waits for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/builder.hpp"

namespace isthmus::schedule {

class Point {
 public:
  void clear() { after({}); }
  /// The next operation waits for these only, which wait for all that this point waited for.
  void after(std::span<const std::uint32_t> ops) { set(done_, started_, ops); }
  void after_start(std::span<const std::uint32_t> ops) { set(started_, done_, ops); }
  /// It also waits until `op` is done.
  void add(std::uint32_t op) {
    done_.push_back(op);
    sorted_ = false;
  }
  /// Makes operations wait as the point says.
  void attach(RankBuilder& out, std::span<const std::uint32_t> ops) {
    if (!sorted_) sort();
    const std::size_t prerequisites = done_.size() + started_.size();
    if (prerequisites * ops.size() > prerequisites + ops.size()) {
      const std::uint32_t join = out.add(Operation{});
      attach(out, join);
      after({&join, 1});
    }
    for (const std::uint32_t op : ops) attach(out, op);
  }

 private:
  void set(std::vector<std::uint32_t>& to, std::vector<std::uint32_t>& other, std::span<const std::uint32_t> ops) {
    other.clear();
    to.assign(ops.begin(), ops.end());
    sorted_ = true;
  }
  void attach(RankBuilder& out, std::uint32_t op) const {
    for (const std::uint32_t on : done_) out.require(op, on);
    for (const std::uint32_t on : started_) out.require_start(op, on);
  }
  void sort() {
    std::sort(done_.begin(), done_.end());
    done_.erase(std::unique(done_.begin(), done_.end()), done_.end());
    // A finished operation has started.
    std::erase_if(started_, [&](std::uint32_t op) { return std::binary_search(done_.begin(), done_.end(), op); });
    sorted_ = true;
  }

  std::vector<std::uint32_t> done_;
  std::vector<std::uint32_t> started_;
  bool sorted_ = true;
};

}  // namespace isthmus::schedule

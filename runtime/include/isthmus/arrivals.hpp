// What has come for the remote procedure calls of a rank and has not run: taken in on any thread, run on that of the
// program. See rpc.hpp.
#ifndef ISTHMUS_ARRIVALS_HPP
#define ISTHMUS_ARRIVALS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace isthmus::pgas::detail {

/// A message; its bytes follow it, or are in memory of their own.
struct arrival {
  std::uint64_t head, offset, module;
  std::byte* own;
  std::size_t bytes;
  std::uint32_t from;
  [[nodiscard]] std::size_t size() const { return sizeof(arrival) + (own == nullptr ? (bytes + 7) / 8 * 8 : 0); }
};

class arrivals {
 public:
  explicit arrivals(std::uint32_t ranks) : arriving_(ranks) {}

  /// A message with all its bytes.
  void take(const arrival& one, const std::byte* payload) {
    const std::lock_guard lock(mutex_);
    keep(one, payload);
  }
  /// The next part, of so many bytes, of a message whose `one.bytes` come in several.
  void take_part(arrival one, const std::byte* payload, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    parts& from = arriving_[one.from];
    if (from.bytes == nullptr) from.bytes = std::make_unique_for_overwrite<std::byte[]>(one.bytes);
    std::memcpy(from.bytes.get() + from.there, payload, bytes);
    if ((from.there += bytes) < one.bytes) return;
    from.there = 0;
    one.own = from.bytes.release();
    keep(one, nullptr);
  }

  /// Lets next() give what has come until now, where it has given all before.
  void turn() {
    if (at_ < running_.size() || !any_came_.load(std::memory_order_acquire)) return;
    running_.clear();
    at_ = 0;
    const std::lock_guard lock(mutex_);
    running_.swap(came_);
    any_came_.store(false, std::memory_order_relaxed);
  }
  /// False: there is none. Its bytes stay until turn(); memory of its own is the caller's.
  bool next(arrival& one, const std::byte*& bytes) {
    if (at_ == running_.size()) return false;
    std::memcpy(&one, running_.data() + at_, sizeof one);
    bytes = one.own != nullptr ? one.own : running_.data() + at_ + sizeof one;
    at_ += one.size();
    return true;
  }

 private:
  struct parts {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t there = 0;
  };

  void keep(const arrival& one, const std::byte* payload) {
    const std::size_t at = came_.size();
    came_.resize(at + one.size());
    std::memcpy(came_.data() + at, &one, sizeof one);
    if (payload != nullptr && one.bytes > 0) std::memcpy(came_.data() + at + sizeof one, payload, one.bytes);
    any_came_.store(true, std::memory_order_release);
  }

  std::vector<std::byte> running_;
  std::size_t at_ = 0;

  std::mutex mutex_;
  std::vector<std::byte> came_;
  std::vector<parts> arriving_;  // by rank
  std::atomic<bool> any_came_ = false;
};

}  // namespace isthmus::pgas::detail
#endif

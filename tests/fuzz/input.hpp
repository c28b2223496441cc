// Bytes of the fuzzer as numbers and arrays; what is missing at the end is 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace isthmus {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  template <class T>
  T number() {
    static_assert(std::is_trivially_copyable_v<T>);
    T out{};
    const std::size_t size = std::min(sizeof(T), rest_.size());
    std::memcpy(static_cast<void*>(&out), rest_.data(), size);
    rest_ = rest_.subspan(size);
    return out;
  }
  /// At most as many as bytes are left for.
  template <class T>
  std::vector<T> numbers(std::size_t count) {
    std::vector<T> out(std::min(count, rest_.size() / sizeof(T) + 1));
    for (T& x : out) x = number<T>();
    return out;
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace isthmus

// The tokens of messages that have ended, until poll() has given them away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

class Ended {
 public:
  [[nodiscard]] bool empty() const { return told_ == tokens_.size(); }
  void push_back(const Token& token) { tokens_.push_back(token); }
  /// Gives away the first ones, in their order; returns their number.
  std::size_t give(Token* to, std::size_t most) {
    const std::size_t count = std::min(most, tokens_.size() - told_);
    std::copy_n(tokens_.begin() + static_cast<std::ptrdiff_t>(told_), count, to);
    told_ += count;
    if (empty()) {
      tokens_.clear();
      told_ = 0;
    }
    return count;
  }

 private:
  std::vector<Token> tokens_;
  std::size_t told_ = 0;
};

}  // namespace isthmus::runtime

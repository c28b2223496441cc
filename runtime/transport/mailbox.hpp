// Messages from one peer that have met no receive, and receives that have met no message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

/// A receive that waits.
struct Posted {
  Key key;
  std::byte* bytes = nullptr;
  std::size_t count = 0;
  Token token;
};

/// A message that waits; its bytes are here, or at `address` of its sender.
struct Early {
  Key key;
  std::size_t count = 0;
  std::uint64_t address = 0;
  std::uint32_t number = 0;
  bool here = false;
  std::vector<std::byte> bytes;
};

/// Both lists are short, and what is wanted is mostly first.
class Mailbox {
 public:
  void post(const Posted& receive) { posted_.push_back(receive); }
  /// Keeps a message; `bytes`: its bytes, null if they are at the sender.
  void keep(Early message, const std::byte* bytes) {
    message.here = bytes != nullptr;
    if (message.here) {
      if (!spare_.empty()) {
        message.bytes = std::move(spare_.back());
        spare_.pop_back();
      }
      message.bytes.assign(bytes, bytes + message.count);
    }
    early_.push_back(std::move(message));
  }
  /// Gives back the memory of a message that take_early() gave.
  void recycle(Early& message) {
    if (message.here && spare_.size() < most_spare) spare_.push_back(std::move(message.bytes));
  }

  /// Takes the first receive with this key.
  bool take_posted(const Key& key, Posted& found) { return take(posted_, key, found); }
  bool take_early(const Key& key, Early& found) { return take(early_, key, found); }
  [[nodiscard]] bool awaits() const { return !posted_.empty(); }

 private:
  static constexpr std::size_t most_spare = 16;

  template <class T>
  static bool take(std::vector<T>& list, const Key& key, T& found) {
    for (auto at = list.begin(); at != list.end(); ++at) {
      if (at->key == key) {
        found = std::move(*at);
        list.erase(at);
        return true;
      }
    }
    return false;
  }

  std::vector<Posted> posted_;
  std::vector<Early> early_;
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace isthmus::runtime

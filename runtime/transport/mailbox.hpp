// Messages from one peer that have met no receive, and receives that have met no message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  std::uint64_t number = 0;
  std::unique_ptr<std::byte[]> bytes;  ///< null: at the sender
};

/// Both lists are short, and what is wanted is mostly first.
class Mailbox {
 public:
  void post(const Posted& receive) { posted_.push_back(receive); }
  void keep(Early message) { early_.push_back(std::move(message)); }

  /// Takes the first receive with this key.
  bool take_posted(const Key& key, Posted& found) { return take(posted_, key, found); }
  bool take_early(const Key& key, Early& found) { return take(early_, key, found); }
  [[nodiscard]] bool awaits() const { return !posted_.empty(); }

 private:
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
};

}  // namespace isthmus::runtime

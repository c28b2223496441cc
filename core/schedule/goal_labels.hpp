// Labels of one rank of a GOAL text. Nearly all files call them l1, l2, …: these are looked up by their number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace isthmus::schedule {

/// From labels to operations; the texts of the labels stay the caller's.
class GoalLabels {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  /// The operation of a label, or none.
  [[nodiscard]] std::uint32_t find(std::string_view label) const {
    const std::uint32_t number = number_of(label);
    if (number < used_ && numbered_[number] != none) return numbered_[number];
    return entries_.empty() ? none : named(label);
  }

  /// False if the label exists already.
  bool define(std::string_view label, std::uint32_t op) {
    if (find(label) != none) return false;
    const std::uint32_t number = number_of(label);
    // Memory follows the operations, whatever the numbers are.
    if (number != none && number <= 2 * std::uint64_t{op} + 64) {
      if (number >= numbered_.size()) numbered_.resize(2 * std::size_t{number} + 64, none);
      numbered_[number] = op;
      used_ = std::max(used_, number + 1);
    } else {
      insert(label, op);
    }
    return true;
  }

  /// Forgets all labels, in time proportional to their number.
  void clear() {
    std::fill_n(numbered_.begin(), used_, none);
    used_ = 0;
    if (entries_.empty()) return;
    slots_.assign(std::bit_ceil(4 * entries_.size()), 0);
    entries_.clear();
  }

 private:
  struct Entry {
    std::string_view label;
    std::size_t hash;
    std::uint32_t op;
  };

  /// 17 of l17; none for others, and for numbers that are written otherwise or have more than nine digits.
  static std::uint32_t number_of(std::string_view label) {
    if (label.size() < 2 || label.size() > 10 || label[0] != 'l') return none;
    if (label[1] == '0' && label.size() > 2) return none;
    std::uint32_t number = 0;
    for (std::size_t i = 1; i < label.size(); ++i) {
      const auto digit = static_cast<std::uint32_t>(label[i]) - '0';
      if (digit > 9) return none;
      number = 10 * number + digit;
    }
    return number;
  }

  [[nodiscard]] std::uint32_t named(std::string_view label) const {
    const std::size_t hash = std::hash<std::string_view>{}(label);
    for (std::size_t at = hash & (slots_.size() - 1); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      const Entry& e = entries_[slots_[at] - 1];
      if (e.hash == hash && e.label == label) return e.op;
    }
    return none;
  }

  void insert(std::string_view label, std::uint32_t op) {
    entries_.push_back({label, std::hash<std::string_view>{}(label), op});
    if (2 * entries_.size() > slots_.size()) {
      slots_.assign(std::bit_ceil(4 * entries_.size() + 16), 0);
      for (std::size_t i = 0; i < entries_.size(); ++i) place(i);
    } else {
      place(entries_.size() - 1);
    }
  }

  void place(std::size_t entry) {
    std::size_t at = entries_[entry].hash & (slots_.size() - 1);
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<std::uint32_t>(entry + 1);
  }

  std::vector<std::uint32_t> numbered_;  // the operation of l<index>, or none
  std::uint32_t used_ = 0;               // of numbered_
  std::vector<Entry> entries_;           // all other labels
  std::vector<std::uint32_t> slots_;     // hash table of 1 + index of the entry; 0: free
};

}  // namespace isthmus::schedule

// The checking mode: before a call begins, ranks tell each other what they call, by collectives of their own. What does
// not match is refused on all ranks in the same words; the call is not begun, and the team stays of use.
//
// A call goes through three collectives of its team: everybody's signature; where blocks differ, the bytes that each
// rank sends to, or expects of, every other one; and what was found.
#pragma once

#include <isthmus/isthmus.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace isthmus::runtime {

/// What a rank calls, as the others are told.
struct Signature {
  std::uint64_t block = 0;      ///< bytes, where all blocks are equal
  std::uint64_t algorithm = 0;  ///< hash
  std::uint32_t kind = 0, element = 0, element_bytes = 0, operation = 0, root = 0;
  std::uint32_t by_user = 0;  ///< the operator: 0 predefined, 1 not commutative, 2 commutative
  std::uint32_t differ = 0;   ///< blocks do
  std::uint32_t enter = 0, leave = 0;
  std::array<char, 100> place{};
};

/// Bytes that a rank sends to another, which expects others.
struct Difference {
  std::uint64_t sender = none, receiver = 0, sent = 0, expected = 0;
  static constexpr std::uint64_t none = ~std::uint64_t{0};
};

/// A call that is looked at before it begins.
class Checked {
 public:
  Checked(isthmus_operation& operation, const void* input, void* output, std::uint64_t number,
          const std::string& place);

  /// Goes on as far as can be; true when the call has begun or was refused.
  bool go_on();

 private:
  enum class Stage { signatures, amounts, verdicts };

  void begin(Stage stage, isthmus_kind kind, std::size_t bytes, const void* input, void* output);
  void begin_call();
  void leave_out(std::size_t end);
  void compare_signatures();
  void begin_amounts();
  void find_difference();
  void look_at_verdicts();
  void refuse(const std::string& words);
  [[nodiscard]] std::string words_of(const Signature& signature) const;
  [[nodiscard]] std::string place_of(std::size_t rank) const;

  isthmus_operation& operation_;
  const void* input_;
  void* output_;
  std::uint64_t number_;
  std::array<std::uint32_t, 4> contexts_{};  // of the three collectives and of the call
  Stage stage_ = Stage::signatures;
  bool ended_ = false;
  isthmus_operation* own_ = nullptr;  // of the stage
  Signature mine_;
  Difference found_;
  std::vector<Signature> all_;
  std::vector<std::uint64_t> sent_, expected_, told_;
  std::vector<Difference> verdicts_;
};

/// The calls of a team and its groups that are being looked at.
class Checks {
 public:
  void begin(isthmus_operation& operation, const void* input, void* output, std::uint64_t number,
             const std::string& place);
  void go_on();

 private:
  std::vector<std::unique_ptr<Checked>> under_way_;
};

/// Where an address is in the program, such as "app+0x11c3" or "app+0x11c3 (solve)".
std::string place_of(const void* address);

}  // namespace isthmus::runtime

// Defects that a proof finds, and their words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// Kinds of defects.
enum class DefectKind : std::uint8_t {
  unwritten = 1,    ///< bytes are read that nobody has written
  twice,            ///< a contribution is counted twice
  offset,           ///< bytes of different places of the vector are combined
  order,            ///< operands stand in the wrong order, or would need another bracket
  result,           ///< a buffer does not hold in the end what it must
  constant,         ///< a buffer that must not change is written
  race,             ///< two operations use the same bytes at the same time, and one writes
  unmatched,        ///< a message without its other side
  size,             ///< a send and its receive differ in size
  timing,           ///< which message a receive takes depends on time
  deadlock,         ///< operations wait for each other
  synchronisation,  ///< a rank may leave before another has come, or memory be used then
};

/// One defect: the rank and its operation where it shows (or all ones: in the end, of no operation).
struct Defect {
  static constexpr std::uint32_t no_operation = 0xFFFFFFFF;
  DefectKind kind = DefectKind::result;
  Rank rank = 0;
  std::uint32_t op = no_operation;
  std::string text;  ///< a sentence that names all of it
};

/// The name of a kind of defect.
const char* name_of(DefectKind kind);

/// The first defects, and how many there are.
class Defects {
 public:
  explicit Defects(std::size_t most) : most_(most) {}
  /// Is a text still worth writing?
  [[nodiscard]] bool room() const { return list_.size() < most_; }
  void add(Defect defect) {
    ++count_;
    if (room()) list_.push_back(std::move(defect));
  }
  /// Before all others, whether there is room or not: for what matters most.
  void add_first(Defect defect) {
    ++count_;
    list_.insert(list_.begin(), std::move(defect));
    if (list_.size() > most_) list_.pop_back();
  }
  /// One more of which nobody will read.
  void count() { ++count_; }
  [[nodiscard]] std::uint64_t size() const { return count_; }
  [[nodiscard]] std::vector<Defect> take() { return std::move(list_); }

 private:
  std::size_t most_;
  std::uint64_t count_ = 0;
  std::vector<Defect> list_;
};

/// "rank 3, operation 12 (recv 100 B from rank 2, tag 0)".
std::string operation_text(const Schedule& schedule, Rank rank, std::uint32_t op);
/// "output [100, 200)".
std::string bytes_text(const Schedule& schedule, std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes);

}  // namespace isthmus::proof

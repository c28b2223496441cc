#include <charconv>
#include <cstring>
#include <string_view>

#include "schedule/goal_text.hpp"

namespace isthmus {
namespace {

/// Collects text and hands it on in large pieces.
class Pieces {
 public:
  explicit Pieces(const GoalSink& sink) : sink_(sink), buffer_(1 << 16), at_(buffer_.data()) {}

  /// To be called before every line: a line is shorter than `longest_line`.
  void start_line() {
    if (static_cast<std::size_t>(buffer_.data() + buffer_.size() - at_) < longest_line) flush();
  }
  Pieces& operator<<(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  Pieces& operator<<(std::uint64_t number) {
    at_ = std::to_chars(at_, at_ + 20, number).ptr;
    return *this;
  }
  void flush() {
    sink_({buffer_.data(), static_cast<std::size_t>(at_ - buffer_.data())});
    at_ = buffer_.data();
  }

 private:
  static constexpr std::size_t longest_line = 256;
  const GoalSink& sink_;
  std::vector<char> buffer_;
  char* at_;
};

void write(Pieces& out, std::uint64_t label, const Operation& op) {
  out << "l" << label;
  if (op.kind == OpKind::calc) {
    out << ": calc " << op.amount;
  } else {
    out << (op.kind == OpKind::send ? ": send " : ": recv ") << op.amount
        << (op.kind == OpKind::send ? "b to " : "b from ");
    if (op.peer == any_rank) out << "-1";
    else out << op.peer;
    out << " tag ";
    if (op.tag == any_tag && op.kind == OpKind::recv) out << "-1";
    else out << op.tag;
  }
  if (op.cpu != 0) out << " cpu " << op.cpu;
  if (op.nic != 0 && op.kind != OpKind::calc) out << " nic " << op.nic;
  out << "\n";
}

}  // namespace

void write_goal_text(const Schedule& schedule, const GoalWriting& writing, const GoalSink& sink) {
  const GoalOperations operations(schedule, writing);
  Pieces out(sink);
  out << "num_ranks " << schedule.ranks << "\n";
  for (Rank r = 0; r < schedule.ranks; ++r) {
    out.start_line();
    out << "\nrank " << r << " {\n";
    const std::uint32_t n = schedule.ops_in(r);
    for (std::uint32_t i = 0; i < n; ++i) {
      out.start_line();
      write(out, std::uint64_t{i} + 1, operations.translate(schedule.ops_of(r)[i]));
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      for (const Edge edge : schedule.dependants(r, i)) {
        out.start_line();
        out << "l" << std::uint64_t{edge.to()} + 1 << (edge.on_start() ? " irequires l" : " requires l")
            << std::uint64_t{i} + 1 << "\n";
      }
    }
    out.start_line();
    out << "}\n";
  }
  out.flush();
}

}  // namespace isthmus

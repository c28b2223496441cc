#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/interruption.hpp"
#include "schedule/goal_text.hpp"

namespace isthmus::schedule {
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
  static constexpr std::size_t longest_line = 512;
  const GoalSink& sink_;
  std::vector<char> buffer_;
  char* at_;
};

void write(Pieces& out, std::uint64_t label, const Operation& op) {
  const bool calc = op.kind == OpKind::calc, message = op.kind == OpKind::send || op.kind == OpKind::recv;
  const bool from = op.kind == OpKind::recv || op.kind == OpKind::get;
  out << "l" << label << ": " << name_of(op.kind) << " " << op.amount;
  if (!calc) out << "b";
  if (message || op.kind == OpKind::put || op.kind == OpKind::get) {
    out << (from ? " from " : " to ");
    if (op.peer == any_rank) out << "-1";
    else out << op.peer;
  }
  if (message) {
    out << " tag ";
    if (op.tag == any_tag && op.kind == OpKind::recv) out << "-1";
    else out << op.tag;
  }
  if (op.cpu != 0) out << " cpu " << op.cpu;
  if (op.nic != 0 && !calc && op.kind != OpKind::copy && op.kind != OpKind::reduce) out << " nic " << op.nic;
}

void write(Pieces& out, const Buffers& buffers, const Operation& op, const Slices& slices) {
  const bool blocks = slices.block != 0;
  const auto side = [&](std::string_view word, const Slice& slice) {
    if (slice.buffer == Slice::none) return;
    out << word << buffers.names[slice.buffer];
    if (slice.offset != 0) out << "+" << slice.offset;
    if (!blocks) return;
    out << (slice.stride < 0 ? " every -" : " every ")
        << static_cast<std::uint64_t>(std::abs(std::int64_t{slice.stride}));
  };
  if (blocks) out << " blocks " << slices.block << "b";
  side(" at ", slices.from);
  side(" into ", slices.to);
  if (op.kind == OpKind::reduce && op.mode != 0) out << " first";
  if (op.kind == OpKind::send && op.mode != 0) {
    out << (op.mode == static_cast<std::uint8_t>(Protocol::eager) ? " eager" : " rendezvous");
  }
}

/// Names as labels are: others could not be read back.
void check_names(const Buffers& buffers) {
  for (const std::string& name : buffers.names) {
    const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    bool plain = !name.empty() && name.size() <= 60 && word(name[0]);
    for (const char c : name) plain = plain && (word(c) || (c >= '0' && c <= '9') || c == '_');
    if (!plain) {
      throw Unsupported(message("buffer '", name, "': GOAL text has names of at most 60 letters, digits and _ only"));
    }
  }
}

}  // namespace

void write_goal_text(const Schedule& schedule, const GoalWriting& writing, const GoalSink& sink) {
  const bool buffers = !schedule.slices.empty() && !writing.picoseconds_per_byte;
  const GoalOperations operations(schedule, writing, buffers);
  if (buffers) check_names(schedule.buffers);
  Pieces out(sink);
  out << "num_ranks " << schedule.ranks << "\n";
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    out.start_line();
    out << "\nrank " << r << " {\n";
    for (std::size_t b = 0; buffers && b < schedule.buffers.names.size(); ++b) {
      out.start_line();
      out << "buffer " << schedule.buffers.names[b] << " "
          << schedule.buffers.bytes[std::size_t{r} * schedule.buffers.names.size() + b] << "\n";
    }
    const std::uint32_t n = schedule.ops_in(r);
    for (std::uint32_t i = 0; i < n; ++i) {
      out.start_line();
      const Operation op = operations.translate(schedule.ops_of(r)[i]);
      write(out, std::uint64_t{i} + 1, op);
      if (buffers) write(out, schedule.buffers, op, schedule.slices[schedule.op_first[r] + i]);
      out << "\n";
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

}  // namespace isthmus::schedule

#include "schedule/goal_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/interruption.hpp"
#include "schedule/builder.hpp"
#include "schedule/goal_labels.hpp"

namespace isthmus::schedule {
namespace {

constexpr std::uint64_t no_limit = 0xFFFFFFFFFFFFFFFF;

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Whether a character may stand in a label.
constexpr auto in_label = [] {
  std::array<bool, 256> table{};
  for (int c = 0; c < 128; ++c) {
    table[static_cast<std::size_t>(c)] = is_letter(static_cast<char>(c)) || is_digit(static_cast<char>(c)) || c == '_';
  }
  return table;
}();

/// Words, numbers, blanks and comments.
class Scanner {
 public:
  explicit Scanner(std::span<const char> text) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] bool at(char c) const { return at_ != end_ && *at_ == c; }
  [[nodiscard]] bool at_letter() const { return at_ != end_ && is_letter(*at_); }
  [[nodiscard]] bool at_digit() const { return at_ != end_ && is_digit(*at_); }
  [[nodiscard]] const char* position() const { return at_; }
  [[nodiscard]] std::size_t consumed() const { return static_cast<std::size_t>(at_ - begin_); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }

  /// Skips blanks and comments within a line; a comment in /* */ may reach over its end.
  void skip_blanks() {
    while (at_ != end_) {
      if (is_blank(*at_)) ++at_;
      else if (*at_ != '/' || !skip_comment()) return;
    }
  }
  /// Skips blanks, comments and ends of lines.
  void skip_lines() {
    for (skip_blanks(); at('\n'); skip_blanks()) ++at_;
  }

  bool accept(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  /// A word of the language; what follows need not be separate ("8b to 1" may be "8bto1").
  bool accept(std::string_view word) {
    if (!looks_at(word)) return false;
    at_ += word.size();
    return true;
  }
  [[nodiscard]] bool looks_at(std::string_view word) const {
    return std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word);
  }
  /// A label or word, as long as it reaches; empty if there is none.
  std::string_view word() {
    const char* first = at_;
    if (at_letter()) {
      do ++at_;
      while (at_ != end_ && in_label[static_cast<unsigned char>(*at_)]);
    }
    return {first, static_cast<std::size_t>(at_ - first)};
  }
  std::uint64_t number(std::string_view field, std::string_view what, std::uint64_t most) {
    const char* first = at_;
    std::uint64_t value = 0;
    bool small = true;
    for (; at_ != end_ && is_digit(*at_); ++at_) {
      const auto digit = static_cast<std::uint64_t>(*at_ - '0');
      small = small && value <= (no_limit - digit) / 10;
      value = 10 * value + digit;
    }
    if (at_ == first) expected(field, what);
    if (!small || value > most) {
      at_ = first;
      fail(first, field, message(std::string(what), " must be 0 to ", most, ", not ", got()));
    }
    return value;
  }

  /// The line of `where` is counted only now: nobody reads it unless something is wrong.
  [[noreturn]] void fail(const char* where, std::string_view field, const std::string& what) const {
    throw GoalError(1 + static_cast<std::uint64_t>(std::count(begin_, where, '\n')), std::string(field), what);
  }
  [[noreturn]] void expected(std::string_view field, std::string_view what) const {
    fail(at_, field, message("expected ", std::string(what), ", not ", got()));
  }

 private:
  bool skip_comment() {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (rest.starts_with("//")) {
      at_ += std::min(rest.find('\n'), rest.size());
      return true;
    }
    if (!rest.starts_with("/*")) return false;
    const std::size_t close = rest.find("*/", 2);
    if (close == std::string_view::npos) fail(at_, "/*", "the comment has no end '*/'");
    at_ += close + 2;
    return true;
  }

  /// What stands here, for a message: up to the next blank, printable.
  [[nodiscard]] std::string got() const {
    if (at_ == end_) return "the end of the file";
    if (*at_ == '\n') return "the end of the line";
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out = "'";
    for (const char* c = at_; c != end_ && *c != '\n' && !is_blank(*c); ++c) {
      if (c - at_ == 30) return out + "...'";
      const auto byte = static_cast<unsigned char>(*c);
      if (byte >= 0x20 && byte < 0x7F) out += *c;
      else out.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
    }
    return out + "'";
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

class Reader {
 public:
  Reader(std::span<const char> text, std::uint64_t unit) : in_(text), unit_(unit), most_time_(max_amount / unit) {}

  Schedule read() {
    in_.skip_lines();
    if (!in_.accept("num_ranks")) in_.expected("", "'num_ranks' and the number of ranks");
    in_.skip_blanks();
    const char* where = in_.position();
    ranks_ = static_cast<Rank>(in_.number("num_ranks", "the number of ranks", any_rank - 1));
    if (ranks_ == 0) in_.fail(where, "num_ranks", "a schedule has at least 1 rank, not 0");
    for (in_.skip_lines(); !in_.at_end(); in_.skip_lines()) block();
    if (next_ < ranks_) {
      in_.fail(in_.position(), "num_ranks",
               message("there are ", ranks_, " ranks, but the file ends after ", next_, " of them"));
    }
    Buffers buffers;
    buffers.names = buffer_names_;
    buffers.bytes.resize(buffer_names_.size() * std::size_t{ranks_});
    for (const Size& size : buffer_sizes_) {
      buffers.bytes[std::size_t{size.rank} * buffer_names_.size() + size.buffer] = size.bytes;
    }
    builder_.set_buffers(std::move(buffers));
    return builder_.build();
  }

 private:
  void block() {
    const char* where = in_.position();
    if (!in_.accept("rank")) in_.expected("", next_ < ranks_ ? "'rank'" : "the end of the file after the last rank");
    in_.skip_blanks();
    const std::uint64_t number = in_.number("rank", "the number of the rank", no_limit);
    if (number >= ranks_) {
      in_.fail(where, message("rank ", number), message("num_ranks is ", ranks_, ": ranks are 0 to ", ranks_ - 1));
    }
    name_ = message("rank ", number);
    if (number != next_) {
      in_.fail(where, name_,
               message(next_ < ranks_ ? message("rank ", next_, " must stand here: ") : "",
                       "ranks are in order, each once"));
    }
    in_.skip_lines();
    if (!in_.accept('{')) in_.expected(name_, "'{'");
    for (in_.skip_lines(); !in_.accept('}'); in_.skip_lines()) {
      if (in_.at_end()) in_.fail(where, name_, "it has no closing '}'");
      if ((++statements_ & 0xFF) == 0) interruption_point();
      statement();
    }
    for (const Pending& p : pending_) {
      depend(resolved(p.op), resolved(p.on), p.op, p.start);
    }
    make_room();
    builder_.append(rank_);
    rank_buffers_ = buffer_sizes_.size();
    labels_.clear();
    pending_.clear();
    ++next_;
  }

  /// Memory for all ranks, as far as those read so far tell: growing step by step would copy the schedule often.
  void make_room() {
    ops_ += rank_.size();
    edges_ += dependencies_;
    dependencies_ = 0;
    if (ops_ <= room_ops_ && edges_ <= room_edges_) return;
    const double rest = static_cast<double>(in_.size() - in_.consumed());
    // At least a fourth more, so that the number of steps stays small; at most eight times as much, and what the rest
    // of the text could hold.
    const auto room = [&](std::uint64_t have, double shortest) {
      const double scaled =
          static_cast<double>(have) * 1.02 * static_cast<double>(in_.size()) / static_cast<double>(in_.consumed());
      const auto low = 1.25 * static_cast<double>(have), high = 8.0 * static_cast<double>(have);
      return static_cast<std::uint64_t>(
                 std::min(std::clamp(scaled, low, high), static_cast<double>(have) + rest / shortest)) +
             1;
    };
    room_ops_ = std::max(room_ops_, room(ops_, 7));         // "calc 0\n"
    room_edges_ = std::max(room_edges_, room(edges_, 11));  // "arequiresb\n"
    builder_.reserve(room_ops_, room_edges_);
  }

  void statement() {
    const std::string_view first = in_.word();
    if (first.empty()) in_.expected(name_, "an operation, a label or '}'");
    if (first == "send") return operation(OpKind::send, {});
    if (first == "recv") return operation(OpKind::recv, {});
    if (first == "calc") return operation(OpKind::calc, {});
    if (const OpKind kind = named(first); kind != OpKind{}) {
      // GOAL does not know these words: labels may be called so.
      in_.skip_blanks();
      if (in_.at_digit()) return operation(kind, {});
    }
    if (first == "buffer") {
      in_.skip_blanks();
      if (in_.at_letter() && !in_.looks_at("requires") && !in_.looks_at("irequires")) return buffer();
    }
    if (first == "rank") in_.fail(first.data(), name_, "another rank begins before its closing '}'");
    in_.skip_blanks();
    if (in_.accept(':')) {
      in_.skip_blanks();
      if (in_.accept("send")) return operation(OpKind::send, first);
      if (in_.accept("recv")) return operation(OpKind::recv, first);
      if (in_.accept("calc")) return operation(OpKind::calc, first);
      for (const OpKind kind : {OpKind::copy, OpKind::reduce, OpKind::put, OpKind::get}) {
        if (in_.accept(name_of(kind))) return operation(kind, first);
      }
      in_.expected(first, "'send', 'recv', 'calc', 'copy', 'reduce', 'put' or 'get'");
    }
    const bool start = in_.accept("irequires");
    if (!start && !in_.accept("requires")) in_.expected(first, "':', 'requires' or 'irequires'");
    in_.skip_blanks();
    const std::string_view second = in_.word();
    if (second.empty()) in_.expected(first, "the label that it requires");
    end_of_line(first);
    ++dependencies_;
    const std::uint32_t op = labels_.find(first), on = labels_.find(second);
    if (op == GoalLabels::none || on == GoalLabels::none) pending_.push_back({first, second, start});
    else depend(op, on, first, start);
  }

  /// copy, reduce, put and get are ours.
  static OpKind named(std::string_view word) {
    for (const OpKind kind : {OpKind::copy, OpKind::reduce, OpKind::put, OpKind::get}) {
      if (word == name_of(kind)) return kind;
    }
    return OpKind{};
  }

  /// buffer NAME BYTES: one of this rank.
  void buffer() {
    const std::string_view name = in_.word();
    in_.skip_blanks();
    const std::uint64_t bytes = in_.number("buffer", "the number of bytes", max_amount);
    end_of_line("buffer");
    const auto number =
        static_cast<std::uint32_t>(std::find(buffer_names_.begin(), buffer_names_.end(), name) - buffer_names_.begin());
    if (number == buffer_names_.size()) buffer_names_.emplace_back(name);
    for (std::size_t i = rank_buffers_; i < buffer_sizes_.size(); ++i) {
      if (buffer_sizes_[i].buffer == number) in_.fail(name.data(), name, "the rank has this buffer already");
    }
    buffer_sizes_.push_back({next_, number, bytes});
  }

  void operation(OpKind kind, std::string_view label) {
    const std::string_view name = name_of(kind);
    Operation op;
    op.kind = kind;
    in_.skip_blanks();
    if (kind == OpKind::calc) {
      op.amount = in_.number(name, "the time", most_time_) * unit_;
    } else {
      op.amount = in_.number(name, "the number of bytes", max_amount);
      in_.skip_blanks();
      if (!in_.accept('b')) in_.expected(name, "'b' after the number of bytes");
      if (kind != OpKind::copy && kind != OpKind::reduce) op.peer = peer(kind, name);
    }
    Slices slices;
    options(op, slices, name);
    if (slices.block == 0 && (slices.from.stride != 0 || slices.to.stride != 0)) in_.expected(name, "'blocks'");
    end_of_line(name);
    if (rank_.size() == max_rank_ops)
      in_.fail(in_.position(), name_, message("more than ", max_rank_ops, " operations"));
    const bool bare = slices.from.buffer == Slice::none && slices.to.buffer == Slice::none;
    const std::uint32_t index = bare ? rank_.add(op) : rank_.add(op, slices);
    if (!label.empty() && !labels_.define(label, index))
      in_.fail(label.data(), label, "the rank has this label already");
  }

  Rank peer(OpKind kind, std::string_view name) {
    const bool to = kind == OpKind::send || kind == OpKind::put;
    const std::string_view way = to ? "to" : "from";
    in_.skip_blanks();
    if (!in_.accept(way)) in_.expected(name, to ? "'to'" : "'from'");
    in_.skip_blanks();
    if (kind == OpKind::recv && in_.accept("-1")) return any_rank;
    const char* what = kind == OpKind::recv ? "the rank (or -1)" : "the rank";
    return static_cast<Rank>(in_.number(way, what, ranks_ - 1));
  }

  void options(Operation& op, Slices& slices, std::string_view name) {
    bool tag = false, cpu = false, nic = false, mode = false, at = false, into = false, blocks = false;
    const auto once = [&](bool& seen, std::string_view option) {
      if (seen) in_.fail(in_.position(), name, message("'", std::string(option), "' is given twice"));
      seen = true;
      in_.skip_blanks();
    };
    const bool sends = op.kind == OpKind::send, recvs = op.kind == OpKind::recv, calc = op.kind == OpKind::calc;
    const bool copies = op.kind == OpKind::copy, local = copies || op.kind == OpKind::reduce;
    for (in_.skip_blanks(); in_.at_letter(); in_.skip_blanks()) {
      if ((sends || recvs) && in_.accept("tag")) {
        once(tag, "tag");
        if (recvs && in_.accept("-1")) op.tag = any_tag;
        else op.tag = static_cast<std::uint32_t>(in_.number("tag", recvs ? "the tag (or -1)" : "the tag", any_tag - 1));
      } else if (in_.accept("cpu")) {
        once(cpu, "cpu");
        op.cpu = static_cast<std::uint8_t>(in_.number("cpu", "the number of the CPU", 255));
      } else if (!calc && !local && in_.accept("nic")) {
        once(nic, "nic");
        op.nic = static_cast<std::uint8_t>(in_.number("nic", "the number of the network interface", 255));
      } else if (copies && in_.accept("blocks")) {
        once(blocks, "blocks");
        slices.block = in_.number("blocks", "the number of bytes", max_amount);
        if (!in_.accept('b')) in_.expected("blocks", "'b' after the number of bytes");
      } else if (!calc && !recvs && in_.accept("at")) {
        once(at, "at");
        slices.from = slice("at", copies);
      } else if (!calc && !sends && in_.accept("into")) {
        once(into, "into");
        slices.to = slice("into", copies);
      } else if (op.kind == OpKind::reduce && in_.accept("first")) {
        once(mode, "first");
        op.mode = static_cast<std::uint8_t>(ReduceOrder::before);
      } else if (sends && in_.accept("eager")) {
        once(mode, "eager or rendezvous");
        op.mode = static_cast<std::uint8_t>(Protocol::eager);
      } else if (sends && in_.accept("rendezvous")) {
        once(mode, "eager or rendezvous");
        op.mode = static_cast<std::uint8_t>(Protocol::rendezvous);
      } else {
        in_.expected(name,
                     calc || local ? "'cpu' or the end of the line" : "'tag', 'cpu', 'nic' or the end of the line");
      }
    }
  }

  /// NAME or NAME+OFFSET; of a copy with "every N" behind it, the stride of its blocks.
  Slice slice(std::string_view side, bool copies) {
    const std::string_view name = in_.word();
    if (name.empty()) in_.expected(side, "the name of a buffer");
    const auto found = std::find(buffer_names_.begin(), buffer_names_.end(), name);
    if (found == buffer_names_.end()) in_.fail(name.data(), name, "no buffer has this name yet: 'buffer NAME BYTES'");
    Slice out;
    out.buffer = static_cast<std::uint32_t>(found - buffer_names_.begin());
    if (in_.accept('+')) out.offset = in_.number(side, "the offset", max_amount);
    in_.skip_blanks();
    if (copies && in_.accept("every")) {
      in_.skip_blanks();
      const std::int32_t sign = in_.accept('-') ? -1 : 1;
      out.stride = sign * static_cast<std::int32_t>(in_.number("every", "the number of blocks", 0x7FFFFFFF));
    }
    return out;
  }

  void end_of_line(std::string_view field) {
    in_.skip_blanks();
    if (!in_.accept('\n') && !in_.at_end()) in_.expected(field, "the end of the line");
  }

  [[nodiscard]] std::uint32_t resolved(std::string_view label) const {
    const std::uint32_t op = labels_.find(label);
    if (op == GoalLabels::none) in_.fail(label.data(), label, message("no operation of ", name_, " has this label"));
    return op;
  }

  void depend(std::uint32_t op, std::uint32_t on, std::string_view where, bool start) {
    if (op == on) in_.fail(where.data(), where, "an operation cannot require itself");
    if (start) rank_.require_start(op, on);
    else rank_.require(op, on);
  }

  /// A dependency that names a label before the line that has it.
  struct Pending {
    std::string_view op;
    std::string_view on;
    bool start;
  };

  Scanner in_;
  std::uint64_t unit_;
  std::uint64_t most_time_;  // in units
  Rank ranks_ = 0;
  Rank next_ = 0;     // the rank that must come now
  std::string name_;  // of the rank being read
  RankBuilder rank_;
  GoalLabels labels_;
  std::vector<Pending> pending_;
  struct Size {
    Rank rank;
    std::uint32_t buffer;
    std::uint64_t bytes;
  };
  std::vector<std::string> buffer_names_;
  std::vector<Size> buffer_sizes_;
  std::uint64_t statements_ = 0;
  std::size_t rank_buffers_ = 0;  // the first of buffer_sizes_ that is of the rank being read
  ScheduleBuilder builder_;
  std::uint64_t ops_ = 0;
  std::uint64_t edges_ = 0;
  std::uint64_t dependencies_ = 0;  // of the rank being read
  std::uint64_t room_ops_ = 0;
  std::uint64_t room_edges_ = 0;
};

}  // namespace

Schedule parse_goal_text(std::span<const char> text, std::uint64_t unit) {
  require(unit >= 1, "the unit of a GOAL file must be at least 1 ps");
  return Reader(text, unit).read();
}

}  // namespace isthmus::schedule

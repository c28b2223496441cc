#include "runtime/choice/decisions.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include "schedule/names.hpp"

namespace isthmus::runtime {
namespace {

using schedule::CollectiveKind;

constexpr std::string_view head = "isthmus decisions 1";
constexpr std::string_view head_of_modes = "isthmus decisions 2";  // rows may name a mode of synchronisation
constexpr std::array<std::string_view, 9> about_keys = {"machine", "placement", "model",  "isthmus", "date",
                                                        "note",    "library",   "source", "sync"};

std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return out + (text.size() > 60 ? "...'" : "'");
}

std::uint64_t whole(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  require(error == std::errc{} && end == word.data() + word.size() && value >> 63 == 0, shown(word),
          ": expected a whole number from 0");
  return value;
}

std::optional<double> seconds(std::string_view word) {
  if (word == "-") return {};
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  require(error == std::errc{} && end == word.data() + word.size() && std::isfinite(value) && !std::signbit(value),
          shown(word), ": expected seconds from 0, or -");
  return value;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

std::string unescaped(std::string_view word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '\\') {
      out += word[i];
      continue;
    }
    const char kind = i + 1 < word.size() ? word[++i] : '?';
    if (kind == 's' || kind == '\\') {
      out += kind == 's' ? ' ' : '\\';
      continue;
    }
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 0;
    std::uint32_t code = 0;
    const char* const begin = word.data() + i + 1;
    const char* const end = begin + std::min(digits, word.size() - i - 1);
    require(digits > 0 && end == begin + digits && std::from_chars(begin, end, code, 16).ptr == end, shown(word),
            ": a backslash must be followed by s, a backslash, xHH or uHHHH");
    append_utf8(out, code);
    i += digits;
  }
  return out;
}

/// Blanks, backslashes and control characters; what is beyond ASCII stays.
std::string escaped(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == ' ') out += "\\s";
    else if (c == '\\') out += "\\\\";
    else if (code < 32 || code == 127) out += std::string{'\\', 'x', digits[code >> 4], digits[code & 15]};
    else out += c;
  }
  return out;
}

std::string in_seconds(const std::optional<double>& time) {
  if (!time) return "-";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, *time).ptr};
}

/// Reads lines; `number` is that of the line that is looked at.
class Reader {
 public:
  explicit Reader(DecisionTable& table) : table_(table) {}

  void read(std::string_view text) {
    for (number = 1; !text.empty() || number == 1; ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    end_row();
    check_algorithms();
  }

  std::size_t number = 1;

 private:
  void line(std::string_view text) {
    if (number == 1) {
      has_modes_ = text == head_of_modes;
      require(text == head || has_modes_, "is ", shown(text), ": this library reads '", std::string(head), "' and '",
              std::string(head_of_modes), "'");
      return;
    }
    if (text.empty()) return;
    words_.clear();
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      words_.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    const std::string_view what = words_[0];
    if (what == "about") about();
    else if (what == "for") begin_row();
    else if (what == "point") point();
    else if (what == "rule") rule();
    else throw InvalidInput(message(shown(what), ": must be about, for, point or rule"));
  }

  void count(std::size_t needed) const {
    require(words_.size() == needed && std::ranges::none_of(words_, [](auto word) { return word.empty(); }),
            words_.size(), " words: a line ", std::string(words_[0]), " must have ", needed, ", with single blanks");
  }

  void about() {
    end_row();
    count(3);
    const std::string key(words_[1]), value = unescaped(words_[2]);
    std::string allowed;
    for (const std::string_view one : about_keys) allowed += std::string(allowed.empty() ? "" : ", ").append(one);
    require(std::ranges::find(about_keys, key) != about_keys.end(), "about ", shown(key), ": must be one of ", allowed);
    require(key != "source" || value == "model" || value == "measured" || value == "online", "source ", shown(value),
            ": must be one of model, measured, online");
    require(table_.about.emplace(key, value).second, "about ", key, " is given twice");
  }

  void begin_row() {
    end_row();
    mode_.reset();
    if (has_modes_ && words_.size() == 5) {
      try {
        mode_ = read_mode(words_[4]);
      } catch (const InvalidInput& error) {
        throw InvalidInput(message("mode ", shown(words_[4]), ": ", error.what()));
      }
      words_.pop_back();
    }
    count(4);
    kind_ = schedule::collective_kind(std::string(words_[1]));
    row_.ranks = whole(words_[2]);
    require(row_.ranks > 0, "a row of 0 ranks: expected a number from 1");
    require(words_[3] == "tuned" || words_[3] == "from", shown(words_[3]), ": must be tuned or from");
    row_.tuned = words_[3] == "tuned";
    const auto& before = table_.rows(kind_, mode_);
    require(before.empty() || before.back().ranks < row_.ranks, schedule::name_of(kind_), ": expected rows of ranks ",
            "that ascend, got ", row_.ranks, " behind ", before.empty() ? 0 : before.back().ranks);
    row_line_ = number;
  }

  void point() {
    require(row_line_ > 0, "a point before any row: a line for must come first");
    require(row_.rules.empty(), "a point follows a rule: points must come first");
    count(9);
    DecisionPoint p;
    p.bytes = whole(words_[1]);
    require(row_.points.empty() || row_.points.back().bytes < p.bytes, "the point of ", p.bytes,
            " bytes: expected sizes that ascend");
    p.algorithm = algorithm(words_[2]);
    p.seconds = seconds(words_[3]);
    if (words_[4] != "-") p.runner_up = algorithm(words_[4]);
    p.runner_up_seconds = seconds(words_[5]);
    p.bound = seconds(words_[6]);
    const auto low = seconds(words_[7]), high = seconds(words_[8]);
    require(low.has_value() == high.has_value(), "one end of an interval: expected two or none");
    if (low) {
      require(*low <= *high, "the interval is ", *low, " to ", *high, ": expected seconds that ascend");
      p.interval = {*low, *high};
    }
    row_.points.push_back(std::move(p));
  }

  void rule() {
    require(row_line_ > 0, "a rule before any row: a line for must come first");
    count(3);
    Decision found{whole(words_[1]), algorithm(words_[2])};
    if (row_.rules.empty()) require(found.bytes == 0, "the first rule is from ", found.bytes, " bytes: must be from 0");
    else
      require(row_.rules.back().bytes < found.bytes, "a rule from ", found.bytes, " bytes behind one from ",
              row_.rules.back().bytes, ": expected sizes that ascend");
    row_.rules.push_back(std::move(found));
  }

  std::string algorithm(std::string_view word) {
    std::string text = unescaped(word);
    named_.push_back({number, kind_, text});
    return text;
  }

  void end_row() {
    if (row_line_ == 0) return;
    if (row_.rules.empty()) {
      number = row_line_;
      throw InvalidInput("the row has no rules: expected at least one");
    }
    table_.put(kind_, std::move(row_), mode_);
    row_ = {};
    row_line_ = 0;
  }

  /// Those of other libraries need not be ours.
  void check_algorithms() {
    if (table_.is_of_another_library()) return;
    for (const Named& one : named_) {
      number = one.line;
      if (one.text != left_open) algorithm_of(one.kind, read_choice(one.text), 1);
    }
  }

  struct Named {
    std::size_t line;
    CollectiveKind kind;
    std::string text;
  };

  DecisionTable& table_;
  std::vector<std::string_view> words_;
  std::vector<Named> named_;
  CollectiveKind kind_ = CollectiveKind::barrier;
  bool has_modes_ = false;
  std::optional<Mode> mode_;
  DecisionRow row_;
  std::size_t row_line_ = 0;  // 0: no row has begun
};

}  // namespace

DecisionTable DecisionTable::parse(std::string_view text, const std::string& file) {
  DecisionTable out;
  Reader reader(out);
  try {
    reader.read(text);
  } catch (const InvalidInput& error) {
    throw TableError(message(file, ":", reader.number, ": ", error.what()));
  }
  return out;
}

std::string DecisionTable::text_of(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char piece[4096];
  ssize_t got = file < 0 ? -1 : 1;
  while (file >= 0 && (got = ::read(file, piece, sizeof piece)) != 0) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  }
  const int error = errno;
  if (file >= 0) ::close(file);
  if (got < 0) throw TableError(path + ": " + std::strerror(error));
  return text;
}

bool DecisionTable::is_of_another_library() const {
  const auto library = about.find("library");
  return library != about.end() && !library->second.starts_with("isthmus");
}

const DecisionRow* DecisionTable::row(CollectiveKind kind, std::uint64_t ranks, std::optional<Mode> mode) const {
  const std::vector<DecisionRow>& all = rows(kind, mode);
  if (all.empty()) return nullptr;
  const auto behind = std::ranges::upper_bound(all, ranks, {}, &DecisionRow::ranks);
  return behind == all.begin() ? &all.front() : &*std::prev(behind);
}

const Decision& DecisionTable::lookup(const DecisionRow& row, std::uint64_t bytes) {
  return *std::prev(std::ranges::upper_bound(row.rules, bytes, {}, &Decision::bytes));
}

void DecisionTable::put(CollectiveKind kind, DecisionRow row, std::optional<Mode> mode) {
  std::vector<DecisionRow>& all = rows_[place(kind, mode)];
  const auto at = std::ranges::lower_bound(all, row.ranks, {}, &DecisionRow::ranks);
  if (at != all.end() && at->ranks == row.ranks) *at = std::move(row);
  else all.insert(at, std::move(row));
}

std::string DecisionTable::text() const {
  std::vector<std::optional<Mode>> all_modes{std::nullopt};
  for (const Sync enter : {Sync::none, Sync::my, Sync::all})
    for (const Sync leave : {Sync::none, Sync::my, Sync::all}) all_modes.emplace_back(Mode{enter, leave});
  bool has_modes = false;
  for (std::size_t i = 0; i < rows_.size(); ++i) has_modes |= i % (1 + modes) != 0 && !rows_[i].empty();
  std::string out = message(std::string(has_modes ? head_of_modes : head), "\n");
  for (const std::string_view key : about_keys) {
    const auto found = about.find(std::string(key));
    if (found != about.end() && !found->second.empty())
      out += message("about ", found->first, " ", escaped(found->second), "\n");
  }
  for (std::uint8_t k = 1; k < kinds; ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    for (const std::optional<Mode> mode : all_modes)
      for (const DecisionRow& row : rows(kind, mode)) {
        out += message("for ", schedule::name_of(kind), " ", row.ranks, row.tuned ? " tuned" : " from",
                       mode ? " " + words_of(*mode) : "", "\n");
        for (const DecisionPoint& p : row.points) {
          out += message("point ", p.bytes, " ", escaped(p.algorithm), " ", in_seconds(p.seconds), " ",
                         p.runner_up.empty() ? "-" : escaped(p.runner_up), " ", in_seconds(p.runner_up_seconds), " ",
                         in_seconds(p.bound));
          for (const bool low : {true, false})
            out += message(" ", p.interval ? in_seconds(low ? p.interval->first : p.interval->second) : "-");
          out += '\n';
        }
        for (const Decision& rule : row.rules) out += message("rule ", rule.bytes, " ", escaped(rule.algorithm), "\n");
      }
  }
  return out;
}

}  // namespace isthmus::runtime

#include "runtime/choice/choice.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "base/error.hpp"

namespace isthmus::runtime {
namespace {

constexpr std::array<std::string_view, 3> sync_words = {"none", "my", "all"};  // as Sync numbers them

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("_ .+-").find(c) != std::string_view::npos;
  };
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, fits);
}

std::string_view stripped(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// What stands before `mark`; `text` keeps what is behind it.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return before;
}

template <class T>
bool reads(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

std::vector<std::uint64_t> values_of(std::string_view option, std::string_view text) {
  if (is_one_of(option, {"latency", "overhead", "gap"})) {
    double seconds = 0;
    require(reads(text, seconds) && seconds >= 0 && seconds < 9e6, "option ", std::string(option), " = ",
            std::string(text), ": must be seconds from 0");
    return {static_cast<std::uint64_t>(std::llround(seconds * 1e12))};
  }
  std::vector<std::uint64_t> out;
  std::string_view rest = text;
  do {
    std::uint64_t value = 0;
    require(rest.back() != 'x' && reads(cut(rest, 'x'), value) && value >> 63 == 0, "option ", std::string(option),
            " = ", std::string(text), ": must be a whole number, or several joined by x");
    out.push_back(value);
  } while (!rest.empty());
  return out;
}

}  // namespace

Mode read_mode(std::string_view text) {
  std::string_view rest = text;
  const bool pair = text.find('-') != text.npos;
  const std::string_view enter = cut(rest, '-'), leave = pair ? rest : enter;
  Mode out;
  for (const bool first : {true, false}) {
    const auto at = std::ranges::find(sync_words, first ? enter : leave);
    require(at != sync_words.end(), "must be none, my, all, or two of them joined by -");
    (first ? out.enter : out.leave) = static_cast<Sync>(at - sync_words.begin());
  }
  return out;
}

std::string words_of(Mode mode) {
  const auto word = [](Sync sync) { return std::string(sync_words[static_cast<std::size_t>(sync)]); };
  return mode.enter == mode.leave ? word(mode.enter) : word(mode.enter) + "-" + word(mode.leave);
}

Choice read_choice(std::string_view text) {
  const std::string whole(text);
  Choice out;
  out.name = stripped(cut(text, ','));
  require(is_name(out.name), "algorithm '", whole, "': expected a name of letters, digits and _");
  require(whole.back() != ',', "algorithm '", whole, "': option '' is not a new NAME=VALUE");
  std::vector<std::string_view> seen;
  while (!text.empty()) {
    std::string_view value = stripped(cut(text, ','));
    const std::string part(value);
    const std::string_view key = cut(value, '=');
    require(!key.empty() && !value.empty() && std::ranges::find(seen, key) == seen.end(), "algorithm '", whole,
            "': option '", part, "' is not a new NAME=VALUE");
    seen.push_back(key);
    if (key == "protocol") continue;
    if (key == "access") {
      require(is_one_of(value, {"message", "put", "get"}), "algorithm '", whole, "': option '", part,
              "': must be message, put or get");
      out.access = value == "put" ? Access::put : value == "get" ? Access::get : Access::message;
      continue;
    }
    if (key == "sync") {
      try {
        const Mode mode = read_mode(value);
        out.enter_all = mode.enter == Sync::all;
        out.leave_all = mode.leave == Sync::all;
      } catch (const InvalidInput& error) {
        throw InvalidInput(message("algorithm '", whole, "': option '", part, "': ", error.what()));
      }
      continue;
    }
    out.options.emplace_back(key, values_of(key, value));
  }
  return out;
}

schedule::Algorithm algorithm_of(schedule::CollectiveKind kind, const Choice& choice, std::uint64_t element_bytes) {
  schedule::Algorithm found = collectives::find_algorithm(kind, choice.name, choice.options);
  std::uint64_t& segment = found.options.segment;
  if (segment > 0) segment = std::max<std::uint64_t>(segment / element_bytes, 1);
  return found;
}

bool keeps_order(schedule::CollectiveKind kind, const Choice& choice) {
  const std::string name = choice.name.empty() ? collectives::algorithms(kind).front() : choice.name;
  return collectives::operand_order(kind, name) == collectives::OperandOrder::ranks;
}

}  // namespace isthmus::runtime

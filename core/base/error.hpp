// The error policy of the core: callers' mistakes are exceptions of one of these three types; our own mistakes are
// assertions (assert.hpp). Nothing in the core prints.
#pragma once

#include <charconv>
#include <stdexcept>
#include <string>

namespace isthmus {

/// A caller's argument is wrong or the request is infeasible: the message says what, what was got and what is allowed.
class InvalidInput : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The request is valid but this object cannot serve it: the message names the alternative.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {
inline std::string text(const std::string& s) { return s; }
inline std::string text(const char* s) { return s; }
inline std::string text(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}
inline std::string text(char c) { return std::string(1, c); }
template <class T>
std::string text(const T& value) {
  return std::to_string(value);
}
}  // namespace detail

/// Concatenates its arguments into one message (GCC 12 has no <format>).
template <class... Args>
std::string message(const Args&... args) {
  std::string out;
  (out.append(detail::text(args)), ...);
  return out;
}

/// Throws InvalidInput with the concatenated message unless `condition` holds.
template <class... Args>
void require(bool condition, const Args&... args) {
  if (!condition) throw InvalidInput(message(args...));
}

}  // namespace isthmus

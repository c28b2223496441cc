// Names of enumerations for Python.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace isthmus::bindings {

template <class T>
struct Name {
  std::string_view name;
  T value;
};

/// The value of a name; InvalidInput for a name that is not in the table. `what`: what is named.
template <class T, std::size_t count>
T named(const char* what, const std::string& name, const Name<T> (&table)[count]) {
  std::string allowed;
  for (const Name<T>& row : table) {
    if (row.name == name) return row.value;
    allowed += allowed.empty() ? "" : ", ";
    allowed += row.name;
  }
  throw InvalidInput(message(what, " '", name, "': must be one of ", allowed));
}

}  // namespace isthmus::bindings

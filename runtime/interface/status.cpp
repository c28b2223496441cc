#include "runtime/interface/status.hpp"

#include <string>

namespace isthmus::runtime {
namespace {

thread_local std::string last_error;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

int failed(int status, std::string_view words) {
  try {
    last_error = words;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

}  // namespace isthmus::runtime

extern "C" const char* isthmus_last_error(void) { return isthmus::runtime::last_error.c_str(); }

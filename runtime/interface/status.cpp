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

int of_call(int status, std::string_view call) {
  constexpr std::string_view part = "_elsewhere";
  const bool told = status == ISTHMUS_FAILED || status == ISTHMUS_SYSTEM || status == ISTHMUS_MEMORY ||
                    (status == ISTHMUS_INVALID && last_error.starts_with("rank "));
  if (!told || call.empty() || last_error.starts_with("isthmus_")) return status;
  if (call.ends_with(part)) call.remove_suffix(part.size());
  try {
    last_error.insert(0, ": ").insert(0, call);
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

}  // namespace isthmus::runtime

extern "C" const char* isthmus_last_error(void) { return isthmus::runtime::last_error.c_str(); }

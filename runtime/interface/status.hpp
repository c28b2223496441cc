// The border of the C interface: exceptions become a status and words, structures of callers become whole ones.
#pragma once

#include <isthmus/isthmus.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

/// Keeps the words for isthmus_last_error(); returns the status.
int failed(int status, std::string_view words);
/// The same status. Words that tell of ranks, memory or the system get the name of the call before them, unless a call
/// is named already; `call` may be that of its part in the library, `..._elsewhere`.
int of_call(int status, std::string_view call);

/// There is no room for what is asked for, in these words.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::string words) : words_(std::move(words)) {}
  [[nodiscard]] const char* what() const noexcept override { return words_.c_str(); }

 private:
  std::string words_;
};

/// What `work` returns, or the status of the exception that it ends with.
template <class F>
int guarded(const F& work) {
  try {
    return work();
  } catch (const InvalidInput& error) {
    return failed(ISTHMUS_INVALID, error.what());
  } catch (const Unsupported& error) {
    return failed(ISTHMUS_UNSUPPORTED, error.what());
  } catch (const TransportError& error) {
    return failed(ISTHMUS_SYSTEM, error.what());
  } catch (const NoMemory& error) {
    return failed(ISTHMUS_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return failed(ISTHMUS_MEMORY, "not enough memory");
  } catch (const std::exception& error) {
    return failed(ISTHMUS_SYSTEM, error.what());
  }
}

/// A structure of the caller, which may be that of an earlier version and then is shorter.
template <class T>
T whole(const T* given, const char* name) {
  require(given != nullptr, name, " is NULL");
  require(given->size >= sizeof given->size && given->size <= 4096, name, ".size = ", given->size, ": must be sizeof(",
          name, ")");
  if (given->size == sizeof(T)) return *given;
  T out{};
  std::memcpy(&out, given, std::min(given->size, sizeof out));
  return out;
}

}  // namespace isthmus::runtime

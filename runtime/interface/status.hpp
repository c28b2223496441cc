// Where exceptions become a status and words: no exception leaves the C interface.
#pragma once

#include <isthmus/isthmus.h>

#include <exception>
#include <new>
#include <string_view>

#include "base/error.hpp"
#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {

/// Keeps the words for isthmus_last_error(); returns the status.
int failed(int status, std::string_view words);

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
  } catch (const std::bad_alloc&) {
    return failed(ISTHMUS_MEMORY, "not enough memory");
  } catch (const std::exception& error) {
    return failed(ISTHMUS_SYSTEM, error.what());
  }
}

}  // namespace isthmus::runtime

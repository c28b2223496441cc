// Assertions for our own bugs, by cost. Level 0: none; 1: constant-time checks; 2: checks that may cost as much as the
// operation they guard. The build sets ISTHMUS_ASSERT_LEVEL; tests run at 2 and at 0.
#pragma once

#include <cstdio>
#include <cstdlib>

#ifndef ISTHMUS_ASSERT_LEVEL
#define ISTHMUS_ASSERT_LEVEL 0
#endif

namespace isthmus::detail {
[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  // The one place of the core that writes to stderr: the process is about to abort because of a bug of ours.
  std::fprintf(stderr, "%s:%d: isthmus internal error: %s does not hold\n", file, line, condition);
  std::abort();
}
}  // namespace isthmus::detail

#define ISTHMUS_ASSERT_AT(level, condition)                                \
  do {                                                                     \
    if (ISTHMUS_ASSERT_LEVEL >= (level) && !(condition))                   \
      ::isthmus::detail::assertion_failed(#condition, __FILE__, __LINE__); \
  } while (false)

#define ISTHMUS_ASSERT(condition) ISTHMUS_ASSERT_AT(1, condition)
#define ISTHMUS_ASSERT_HEAVY(condition) ISTHMUS_ASSERT_AT(2, condition)

// Strict and relaxed accesses to a space whose memory is shared, and fences, as they are on processors that reorder
// all.
#include <isthmus/isthmus_access.h>

#include <cstdlib>

#include "parts.hpp"

namespace isthmus::model {
namespace {

constexpr isthmus_access relaxed = ISTHMUS_RELAXED, strict = ISTHMUS_STRICT;
constexpr std::uint64_t x = 0, y = 64;

struct Shared {
  isthmus_space_head head{};
  char* memory[1] = {};
  alignas(64) char bytes[128] = {};
  std::uint64_t seen[4][2] = {};
};
Shared* shared = nullptr;

isthmus_space* space() { return reinterpret_cast<isthmus_space*>(&shared->head); }
void write(std::uint64_t place, std::uint64_t value, isthmus_access access) {
  isthmus_write_u64(space(), 0, place, value, access);
}
std::uint64_t read(std::uint64_t place, isthmus_access access) {
  std::uint64_t value = 99;
  isthmus_read_u64(space(), &value, 0, place, access);
  return value;
}
std::uint64_t at_end(std::uint64_t place) { return read(place, relaxed); }

using Work = std::function<void(std::uint64_t* seen)>;

Program program_of(const std::vector<Work>& works, std::function<bool()> forbidden) {
  Program program;
  program.begin = [] {
    shared = &make_shared<Shared>();
    shared->memory[0] = shared->bytes;
    shared->head = {shared->memory, sizeof shared->bytes, 0, 1, 0, shared->memory};
  };
  for (std::size_t t = 0; t < works.size(); ++t) program.threads.emplace_back([=] { works[t](shared->seen[t]); });
  program.end = [=] { check(!forbidden(), "the model forbids it"); };
  return program;
}

Program store_buffering(isthmus_access first, isthmus_access second, bool fences) {
  const auto work = [=](std::uint64_t mine, std::uint64_t other) {
    return [=](std::uint64_t* seen) {
      write(mine, 1, first);
      if (fences) isthmus_fence(space());
      seen[0] = read(other, second);
    };
  };
  return program_of({work(x, y), work(y, x)}, [] { return shared->seen[0][0] == 0 && shared->seen[1][0] == 0; });
}

Program message_passing(isthmus_access data, isthmus_access flag) {
  return program_of({[=](std::uint64_t*) {
                       write(x, 1, data);
                       write(y, 1, flag);
                     },
                     [=](std::uint64_t* seen) {
                       seen[0] = read(y, flag);
                       seen[1] = read(x, data);
                     }},
                    [] { return shared->seen[1][0] == 1 && shared->seen[1][1] == 0; });
}

/// Whoever finds the flag reads blocks of bytes, as plain memory.
Program blocks() {
  return program_of({[](std::uint64_t*) {
                       const std::uint64_t value = 1;
                       isthmus_put(space(), 0, x, &value, sizeof value);
                       write(y, 1, strict);
                     },
                     [](std::uint64_t* seen) {
                       seen[0] = read(y, strict);
                       if (seen[0] == 1) isthmus_get(space(), &seen[1], 0, x, sizeof seen[1]);
                     }},
                    [] { return shared->seen[1][0] == 1 && shared->seen[1][1] == 0; });
}

Program load_buffering() {
  const auto work = [](std::uint64_t from, std::uint64_t to) {
    return [=](std::uint64_t* seen) {
      seen[0] = read(from, strict);
      write(to, 1, strict);
    };
  };
  return program_of({work(x, y), work(y, x)}, [] { return shared->seen[0][0] == 1 && shared->seen[1][0] == 1; });
}

Program independent_reads(isthmus_access second) {
  const auto reads = [=](std::uint64_t one, std::uint64_t other) {
    return [=](std::uint64_t* seen) {
      seen[0] = read(one, strict);
      seen[1] = read(other, second);
    };
  };
  return program_of({[](std::uint64_t*) { write(x, 1, strict); }, [](std::uint64_t*) { write(y, 1, strict); },
                     reads(x, y), reads(y, x)},
                    [] {
                      return shared->seen[2][0] == 1 && shared->seen[2][1] == 0 && shared->seen[3][0] == 1 &&
                             shared->seen[3][1] == 0;
                    });
}

Program causality() {
  return program_of({[](std::uint64_t*) { write(x, 1, strict); },
                     [](std::uint64_t* seen) {
                       seen[0] = read(x, strict);
                       if (seen[0] == 1) write(y, 1, strict);
                     },
                     [](std::uint64_t* seen) {
                       seen[0] = read(y, strict);
                       seen[1] = read(x, relaxed);
                     }},
                    [] { return shared->seen[2][0] == 1 && shared->seen[2][1] == 0; });
}

Program two_writes() {
  const auto work = [](std::uint64_t first, std::uint64_t second) {
    return [=](std::uint64_t*) {
      write(first, 1, strict);
      write(second, 2, strict);
    };
  };
  return program_of({work(x, y), work(y, x)}, [] { return at_end(x) == 1 && at_end(y) == 1; });
}

/// A write, and a read of what another one wrote, in front of two writes that others see in one order.
Program passed_on() {
  return program_of({[](std::uint64_t*) { write(x, 1, strict); },
                     [](std::uint64_t* seen) {
                       seen[0] = read(x, strict);
                       write(y, 1, strict);
                     },
                     [](std::uint64_t* seen) {
                       write(y, 2, strict);
                       seen[0] = read(x, strict);
                     }},
                    [] { return shared->seen[1][0] == 1 && shared->seen[2][0] == 0 && at_end(y) == 2; });
}

Program coherence() {
  return program_of({[](std::uint64_t*) {
                       write(x, 1, relaxed);
                       write(x, 2, relaxed);
                     },
                     [](std::uint64_t* seen) {
                       seen[0] = read(x, relaxed);
                       seen[1] = read(x, relaxed);
                     }},
                    [] { return shared->seen[1][0] > shared->seen[1][1] || at_end(x) != 2; });
}

}  // namespace

Part accesses() {
  return {
      "accesses",
      {store_buffering(strict, strict, false), store_buffering(strict, relaxed, false),
       store_buffering(relaxed, strict, false), store_buffering(relaxed, relaxed, true),
       message_passing(relaxed, strict), message_passing(strict, relaxed), blocks(), load_buffering(),
       independent_reads(strict), independent_reads(relaxed), causality(), two_writes(), passed_on(), coherence()},
      {"isthmus/isthmus_access.h"},
      {{"ISTHMUS_ACCESS(64)", Weakening::acquire, "between fences: for the thread sanitizer, which knows no fences"},
       {"ISTHMUS_ACCESS(64)", Weakening::release, "the same"}},
      {}};
}

}  // namespace isthmus::model

// Never called, as all memory is shared.
extern "C" {
int isthmus_fence_elsewhere(isthmus_space*) { std::abort(); }
int isthmus_read_elsewhere(isthmus_space*, void*, uint32_t, uint64_t, size_t, isthmus_access) { std::abort(); }
int isthmus_write_elsewhere(isthmus_space*, uint32_t, uint64_t, const void*, size_t, isthmus_access) { std::abort(); }
int isthmus_put_elsewhere(isthmus_space*, uint32_t, uint64_t, const void*, size_t) { std::abort(); }
int isthmus_get_elsewhere(isthmus_space*, void*, uint32_t, uint64_t, size_t) { std::abort(); }
}

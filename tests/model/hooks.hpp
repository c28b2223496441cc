// What the calls of the thread sanitizer ask of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace isthmus::model {

/// Whether a thread of a program runs, and whether an address is in memory that threads share.
bool in_thread();
bool is_shared(const volatile void* address);
bool shares_what_it_allocates();

/// What becomes of a value; false: it stays.
using Next = std::function<bool(std::uint64_t before, std::uint64_t& after)>;

/// Operations of the running thread, with the numbers of orders that compilers use; `call`: where they stand.
std::uint64_t load(const volatile void* address, std::size_t size, int order, const void* call);
void store(volatile void* address, std::size_t size, std::uint64_t value, int order, const void* call);
std::uint64_t change(volatile void* address, std::size_t size, const Next& next, int order, int otherwise,
                     const void* call);
void fence(int order, const void* call);
void plain(const volatile void* address, std::size_t size, bool writes);

void next_step();

}  // namespace isthmus::model

#include "runtime/pgas/heap.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::runtime {
namespace {

constexpr std::uint64_t in_use = 0x7573'6564'626C'6F63, unused = 0x6672'6565'626C'6F63;

std::size_t class_of(std::uint64_t size) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(size / Heap::line)) - 1,
                               std::tuple_size_v<decltype(HeapPlaces::free)> - 1);
}

}  // namespace

// Offsets in the lists are larger by 1, as memory is zero at first.

std::uint64_t Heap::find(std::uint64_t size) const {
  // In its own class a block may be too small; in the next ones the first is large enough.
  constexpr int looks = 16;
  std::size_t k = class_of(size);
  std::uint64_t found = places_.free[k];
  for (int i = 0; found != 0 && i < looks; ++i, found = at(found - 1).next_free)
    if (at(found - 1).size >= size) return found - 1;
  while (++k < places_.free.size())
    if (places_.free[k] != 0) return places_.free[k] - 1;
  return none;
}

void Heap::list(std::uint64_t offset) {
  Block& block = at(offset);
  std::uint64_t& first = places_.free[class_of(block.size)];
  block.mark = unused;
  block.previous_free = 0;
  block.next_free = first;
  if (first != 0) at(first - 1).previous_free = offset + 1;
  first = offset + 1;
}

void Heap::unlist(std::uint64_t offset) {
  Block& block = at(offset);
  if (block.next_free != 0) at(block.next_free - 1).previous_free = block.previous_free;
  if (block.previous_free != 0) at(block.previous_free - 1).next_free = block.next_free;
  else places_.free[class_of(block.size)] = block.next_free;
}

std::uint64_t Heap::allocate(std::uint64_t bytes, const std::function<void(std::uint64_t)>& grow) {
  if (bytes > most_) return none;
  const std::uint64_t size = line + std::max(line, (bytes + line - 1) / line * line);
  std::uint64_t found = find(size);
  if (found != none) {
    unlist(found);
    Block& block = at(found);
    if (const std::uint64_t rest = block.size - size; rest >= 2 * line) {
      const std::uint64_t behind = found + size;
      if (after(found) < places_.top) at(after(found)).previous = behind;
      else places_.last = behind;
      at(behind).size = rest;
      at(behind).previous = found;
      block.size = size;
      list(behind);
    }
  } else {
    if (size > most_ - places_.top) return none;
    grow(places_.top + size);
    found = places_.top;
    at(found).size = size;
    at(found).previous = found == 0 ? none : places_.last;
    places_.last = found;
    places_.top += size;
  }
  at(found).mark = in_use;
  return found + line;
}

bool Heap::release(std::uint64_t offset) {
  if (offset % line != 0 || offset < line || offset >= places_.top || at(offset - line).mark != in_use) return false;
  std::uint64_t block = offset - line;
  at(block).mark = unused;
  if (const std::uint64_t next = after(block); next < places_.top && at(next).mark == unused) {
    unlist(next);
    at(block).size += at(next).size;
  }
  if (const std::uint64_t previous = at(block).previous; previous != none && at(previous).mark == unused) {
    unlist(previous);
    at(previous).size += at(block).size;
    block = previous;
  }
  if (after(block) < places_.top) {
    at(after(block)).previous = block;
    list(block);
  } else if (places_.top = block; block != 0) {
    places_.last = at(block).previous;
  }
  return true;
}

}  // namespace isthmus::runtime

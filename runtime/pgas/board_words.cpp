#include "runtime/pgas/board_words.hpp"

#include <algorithm>
#include <utility>

namespace isthmus::runtime {
namespace {

std::uint32_t lines_of(std::uint64_t items, std::uint64_t each) {
  return static_cast<std::uint32_t>((items + each - 1) / each);
}

}  // namespace

std::uint32_t Lines::take(std::uint32_t lines, std::uint64_t number, std::uint64_t& before) {
  if (next_ + lines > count()) next_ = 0;
  const std::uint32_t first = std::exchange(next_, next_ + lines);
  for (std::uint32_t i = first; i < first + lines; ++i) before = std::max(before, std::exchange(last_[i], number));
  return first;
}

BoardWords::BoardWords(std::vector<std::byte*> begins, std::vector<BoardPlaces*> places, Rank rank,
                       std::uint32_t word_lines, std::uint32_t scratch_lines)
    : rank_(rank),
      begins_(std::move(begins)),
      places_(std::move(places)),
      words_(word_lines),
      scratch_(scratch_lines) {}

BoardWords::Places BoardWords::take(std::uint32_t words, std::uint64_t scratch) {
  Places out;
  if (words == 0 && scratch == 0) return out;
  out.number = ++numbers_;
  BoardPlaces& own = *places_[rank_];
  const std::uint32_t first = words_.take(lines_of(words, words_of_line), out.number, out.before);
  const std::uint32_t second = scratch_.take(lines_of(scratch, BoardPlaces::line), out.number, out.before);
  out.words = own.room + first * BoardPlaces::line;
  out.scratch = own.room + (words_.count() + second) * BoardPlaces::line;
  return out;
}

bool BoardWords::are_free(const Places& places) {
  if (places.before <= least_over_) return true;
  std::uint64_t least = ~std::uint64_t{0};
  for (BoardPlaces* const one : places_) least = std::min(least, one->over.load(std::memory_order_acquire));
  least_over_ = least;
  return places.before <= least_over_;
}

void BoardWords::give_back(const Places& places) {
  if (places.number == 0) return;
  over_.pass(places.number);
  places_[rank_]->over.store(over_.reached(), std::memory_order_release);
}

}  // namespace isthmus::runtime

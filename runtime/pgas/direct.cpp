#include "runtime/pgas/direct.hpp"

#include <cstring>

#include "runtime/transport/delay.hpp"

namespace isthmus::runtime {

Direct::Direct(Board& board, Recipe& recipe) : board_(board), recipe_(recipe), execution_(recipe.direct->program) {
  execution_.reach(board.begins(), board.begins()[board.rank()]);
  awaited_.reserve(recipe.direct->words);
}

void Direct::start(const std::byte* input, std::byte* output) {
  input_ = input;
  output_ = output;
  begun_ = false;
}

void Direct::begin() {
  begun_ = true;
  // What is in the input is only read.
  std::byte* const buffers[] = {const_cast<std::byte*>(input_), output_, places_.scratch};
  execution_.start(*this, 0, buffers, {}, false, false);
  if (recipe_.call.apart != 0 && recipe_.call.root == board_.rank() && recipe_.call.count > 0)
    std::memcpy(output_, input_, recipe_.call.count);
}

bool Direct::go_on() {
  if (begun_) {
    progress(*this);
  } else {
    if (!board_.words.are_free(places_)) return false;
    begin();
  }
  if (execution_.status() == Status::in_progress) return false;
  board_.words.give_back(places_);
  return true;
}

bool Direct::send(Rank to, const Key& key, const std::byte*, std::size_t, Token) {
  maybe_delay();
  board_.words.tell(to, places_, key.tag);
  return true;
}

bool Direct::recv(Rank, const Key& key, std::byte*, std::size_t, Token token) {
  maybe_delay();
  if (BoardWords::hears(places_, key.tag)) return true;
  awaited_.push_back({key.tag, token});
  return false;
}

std::size_t Direct::poll(Token* ended, std::size_t most) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < awaited_.size() && found < most;) {
    if (!BoardWords::hears(places_, awaited_[i].word)) {
      ++i;
      continue;
    }
    ended[found++] = awaited_[i].token;
    awaited_[i] = awaited_.back();
    awaited_.pop_back();
  }
  return found;
}

}  // namespace isthmus::runtime

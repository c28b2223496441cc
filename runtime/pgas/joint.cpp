#include "runtime/pgas/joint.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/interface/team.hpp"
#include "runtime/pgas/board.hpp"
#include "runtime/pgas/direct.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {

namespace {

/// Words where a rank has left that others wait for, or nothing.
std::string left(const Board* board, std::uint64_t number) {
  const std::optional<Rank> who = board == nullptr ? std::nullopt : board->who_left(number);
  return !who ? ""
              : message("rank ", *who, " of the team has left the space: rank ", board->rank(),
                        " waits for it in a collective");
}

}  // namespace

Chain::Chain(isthmus_team& team, std::uint32_t most) : team_(team), most_(most) {
  for (std::uint32_t i = 0; i < most; ++i) contexts_[i] = team.next_context();
}

void Chain::begin(const isthmus_call& call, const void* input, void* output) {
  own_ = &team_.take(call);
  team_.start_in(*own_, contexts_[used_++], input, output);
}

Direct& Chain::reserve(Board& board, Recipe& recipe) {
  Direct& direct = board.take(recipe);
  direct.reserve();
  return direct;
}

void Chain::begin(Direct& direct, const void* input, void* output) {
  direct_ = &direct;
  direct.start(static_cast<const std::byte*>(input), static_cast<std::byte*>(output));
}

bool Chain::has_failed() {
  if (team_.transport.failure().empty()) return false;
  end(ISTHMUS_FAILED, team_.transport.failure());
  return true;
}

void Chain::begin_on(Board* board) {
  on_ = board;
  if (board != nullptr) number_ = board->begin_one();
}

void Chain::look_who_left() {
  if (ended_) return;
  const std::string words = left(on_, number_);
  if (words.empty()) return;
  is_lost_ = true;
  end(ISTHMUS_FAILED, words);
}

void Chain::end(int status, const std::string& words) {
  ended_ = true;
  status_ = status;
  words_ = words;
  while (used_ < most_) team_.leave_out(contexts_[used_++]);
}

bool Chain::go_on() {
  while (!ended_) {
    if (own_ != nullptr) {
      const Status now = own_->execution.status();
      if (now == Status::in_progress) return false;
      team_.give_back(*std::exchange(own_, nullptr));
      if (now == Status::failed) {
        end(ISTHMUS_FAILED, team_.transport.failure());
        break;
      }
    }
    if (direct_ != nullptr) {
      if (!direct_->go_on()) return has_failed();
      std::exchange(direct_, nullptr)->give_back();
    }
    if (!is_ready()) return has_failed();
    try {
      if (!next()) end(ISTHMUS_DONE, "");
    } catch (const InvalidInput& error) {
      end(ISTHMUS_INVALID, error.what());
    } catch (const Unsupported& error) {
      end(ISTHMUS_UNSUPPORTED, error.what());
    }
  }
  return true;
}

int Chain::status() { return status_ < 0 ? failed(status_, words_) : status_; }

isthmus_team& Joint::Under::team() const { return chain ? chain->team() : operation->team; }

int Joint::Under::look() {
  if (chain) return chain->go_on() ? chain->status() : int{ISTHMUS_IN_PROGRESS};
  return told(*operation, operation->team.state(*operation));
}

void Joint::look_who_left(Under& under) {
  if (under.chain) return under.chain->look_who_left();
  const std::string words = left(under.on, under.number);
  if (words.empty()) return;
  if (lost_words_.empty()) lost_words_ = words;
  throw Failed(words);
}

// Messages of others may still come to where it waits for them.
void Joint::drop(std::unique_ptr<Chain> chain) {
  if (chain == nullptr || !chain->is_lost()) return;
  if (lost_words_.empty()) lost_words_ = chain->words();
  lost_.push_back(std::move(chain));
}

void Joint::leave(isthmus_team& team) const {
  if (!lost_words_.empty()) team.transport.give_up(lost_words_);
}

void Joint::idle(isthmus_team& team, std::uint32_t& looks) {
  if (team.go_on()) {
    looks = 0;
    return;
  }
  if (is_time_to_watch(++looks)) team.transport.watch();
  if (looks >= team.transport.looks()) ::sched_yield();
}

int Joint::wait(Under& under) {
  if (under.chain) return wait(*under.chain);
  isthmus_team& team = under.team();
  for (std::uint32_t looks = 0;;) {
    const int status = under.look();
    if (status != ISTHMUS_IN_PROGRESS) return status;
    idle(team, looks);
    if (is_time_to_watch(looks)) look_who_left(under);
  }
}

int Joint::wait(Chain& chain) {
  // What came meanwhile and was wrong is said when this rank has done its part, which others count on.
  std::exception_ptr thrown;
  for (std::uint32_t looks = 0;;) {
    // What it waits for may be flags, which cost less to look at than all else that may have come.
    for (int i = 0; i == 0 || (i < 32 && chain.is_between()); ++i) {
      if (!chain.go_on()) continue;
      if (thrown) std::rethrow_exception(thrown);
      return chain.status();
    }
    try {
      idle(chain.team(), looks);
      if (is_time_to_watch(looks)) chain.look_who_left();
    } catch (...) {
      if (!thrown) thrown = std::current_exception();
    }
  }
}

int Joint::add(Under under, isthmus_event* event) {
  if (event == nullptr) {
    const int status = wait(under);
    drop(std::move(under.chain));
    return status;
  }
  if (spare_.empty()) {
    under_way_.push_back(std::make_unique<Under>());
    spare_.push_back(static_cast<std::uint32_t>(under_way_.size() - 1));
  }
  const std::uint32_t number = spare_.back();
  spare_.pop_back();
  Under& place = *under_way_[number];
  place.operation = under.operation;
  place.on = under.on;
  place.number = under.number;
  place.chain = std::move(under.chain);
  if (place.chain) chains_.push_back(place.chain.get());
  *event = mark | static_cast<isthmus_event>(place.uses & 0x7FFFFFFF) << 32 | number;
  return ISTHMUS_DONE;
}

Joint::Under& Joint::of(isthmus_event event) {
  const auto number = static_cast<std::uint32_t>(event);
  const bool known = number < under_way_.size() &&
                     (under_way_[number]->operation != nullptr || under_way_[number]->chain != nullptr) &&
                     (under_way_[number]->uses & 0x7FFFFFFF) == ((event & ~mark) >> 32);
  require(known, "event ", event, ": it was waited for before, or not begun in this space");
  return *under_way_[number];
}

int Joint::end(isthmus_event& event, int status) {
  if (status == ISTHMUS_IN_PROGRESS) return status;
  Under& under = of(event);
  if (under.chain) std::erase(chains_, under.chain.get());
  under.operation = nullptr;
  drop(std::move(under.chain));
  ++under.uses;
  spare_.push_back(static_cast<std::uint32_t>(event));
  event = 0;
  return status;
}

int Joint::test(isthmus_event& event) {
  Under& under = of(event);
  int status = under.look();
  if (status == ISTHMUS_IN_PROGRESS) {
    under.team().go_on();
    if (is_time_to_watch(++tested_)) {
      under.team().transport.watch();
      look_who_left(under);
    }
    status = under.look();
  }
  return end(event, status);
}

int Joint::wait(isthmus_event& event) { return end(event, wait(of(event))); }

void Joint::go_on() {
  for (Chain* const chain : chains_) chain->go_on();
}

}  // namespace isthmus::runtime

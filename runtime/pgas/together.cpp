#include "runtime/pgas/together.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/pgas/far.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {

bool Together::add(std::uint64_t place, const void* from, std::size_t bytes, std::uint32_t operation) {
  const auto* const begin = static_cast<const std::byte*>(from);
  bytes_.insert(bytes_.end(), begin, begin + bytes);
  places_.add(place, bytes);
  if (!operations_.empty() && operations_.back() == operation) return false;
  operations_.push_back(operation);
  return true;
}

std::size_t Together::write(std::byte* payload) const {
  std::memcpy(payload, bytes_.data(), bytes_.size());
  const std::size_t before = in_words(bytes_.size()), places = 8 * places_.words().size();
  std::memcpy(payload + before, places_.words().data(), places);
  return before + places;
}

Together::Operations Together::take() {
  bytes_.clear();
  places_.clear();
  return std::exchange(operations_, {});
}

/// False: there is no credit.
bool Far::send_together(Rank rank) {
  if (!post_.has_credit(space_.team.member(rank))) return false;
  Together& all = together_[rank];
  if (all.empty()) return true;
  Letter& letter = fresh(Letter::What::put_pieces);
  letter.bytes = all.bytes();
  letter.values[0] = all.words();
  const std::size_t bytes = all.write(letter.payload());
  Together::Operations operations = all.take();
  letter.number = operations[0];
  if (operations.size() > 1) {
    if (spare_several_.empty()) {
      spare_several_.push_back(several_.size());
      several_.emplace_back();
    }
    letter.number = spare_several_.back();
    letter.flags = Letter::of_several;
    spare_several_.pop_back();
    several_[letter.number] = std::move(operations);
  }
  send(rank, letter, bytes);
  return true;
}

void Far::several_are_done(std::uint64_t number) {
  for (const std::uint32_t one : several_[number]) --operations_[one].left;
  spare_several_.push_back(number);
}

void Far::send_waiting() {
  std::erase_if(waiting_, [&](Rank rank) { return send_together(rank); });
}

void Far::send_waiting(Rank rank) {
  const Rank to = space_.team.member(rank);
  if (!post_.has_credit(to)) {
    post_.await(to);
    space_.wait_until([&] { return together_[rank].empty() || post_.has_credit(to); });
    post_.await(MpiTransport::nobody);
  }
  send_together(rank);
  std::erase(waiting_, rank);
}

void Far::put_with_others(Rank rank, std::uint64_t offset, const void* from, std::size_t bytes, std::uint32_t number) {
  if (!together_[rank].fits(bytes, way_.room)) send_waiting(rank);
  Together& others = together_[rank];
  if (others.empty()) waiting_.push_back(rank);
  if (others.add(offset, from, bytes, number)) ++operations_[number].left;
}

}  // namespace isthmus::runtime

#include "runtime/pgas/packing.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/pgas/far.hpp"
#include "runtime/pgas/sizes.hpp"

namespace isthmus::runtime {
namespace {

template <std::size_t known, bool packs, class Bytes>
Bytes* copy_listed(const std::uint64_t* places, std::uint64_t count, std::uint64_t size, std::uintptr_t base,
                   Bytes* bytes) {
  const std::size_t each = known == 0 ? size : known;
  for (std::uint64_t i = 0; i < count; ++i, bytes += each) {
    auto* const place = reinterpret_cast<std::byte*>(base + places[i]);
    if constexpr (packs) copy_known<known>(bytes, place, each);
    else copy_known<known>(place, bytes, each);
  }
  return bytes;
}

template <std::size_t known, bool packs, class Bytes>
Bytes* copy_row(std::uint64_t first, std::int64_t stride, std::uint64_t count, std::uint64_t size, std::uintptr_t base,
                Bytes* bytes) {
  const std::size_t each = known == 0 ? size : known;
  auto* place = reinterpret_cast<std::byte*>(base + first);
  for (std::uint64_t i = 0; i < count; ++i, bytes += each, place += stride) {
    if constexpr (packs) copy_known<known>(bytes, place, each);
    else copy_known<known>(place, bytes, each);
  }
  return bytes;
}

std::size_t in_words(std::size_t bytes) { return (bytes + 7) / 8; }

}  // namespace

void Places::add(std::uint64_t place, std::uint64_t bytes) {
  if (!joins(bytes)) {
    last_ = words_.size();
    words_.push_back(bytes);
  }
  words_[last_] += one;
  words_.push_back(place);
}

std::uint64_t* Places::add_list(std::size_t count, std::uint64_t bytes) {
  last_ = words_.size();
  words_.resize(last_ + 1 + count);
  words_[last_] = count << 32 | bytes;
  return &words_[last_ + 1];
}

void Places::add_row(std::uint64_t place, std::int64_t stride, std::uint64_t bytes, std::uint64_t count) {
  last_ = none;
  words_.push_back(in_row | count << 32 | bytes);
  words_.push_back(place);
  words_.push_back(static_cast<std::uint64_t>(stride));
}

template <bool packs, class Bytes>
void Places::copy(const std::uint64_t* words, std::size_t count, std::uintptr_t base, Bytes* bytes) {
  for (std::size_t i = 0; i < count;) {
    const std::uint64_t head = words[i++], pieces = (head & ~in_row) >> 32, size = head & 0xFFFFFFFF;
    if ((head & in_row) != 0) {
      bytes = of_size(size, [&](auto known) {
        return copy_row<decltype(known)::value, packs>(words[i], static_cast<std::int64_t>(words[i + 1]), pieces, size,
                                                       base, bytes);
      });
      i += 2;
    } else {
      bytes = of_size(size, [&](auto known) {
        return copy_listed<decltype(known)::value, packs>(words + i, pieces, size, base, bytes);
      });
      i += pieces;
    }
  }
}

void Places::pack(const std::uint64_t* words, std::size_t count, std::uintptr_t base, std::byte* bytes) {
  copy<true>(words, count, base, bytes);
}

void Places::unpack(const std::uint64_t* words, std::size_t count, std::uintptr_t base, const std::byte* bytes) {
  copy<false>(words, count, base, bytes);
}

Packing::Packing(Far& far, Rank rank, bool puts, const Parts& parts)
    : far_(far), rank_(rank), puts_(puts), parts_(parts), most_(far.room()) {}

/// Bytes that still fit where places take so many words more.
std::size_t Packing::room(std::size_t words) const {
  const std::size_t places = 8 * (there_.words().size() + words);
  if (puts_) {
    const std::size_t taken = places + filled_ + 7;  // places are at a multiple of 8
    return taken > most_ ? 0 : most_ - taken;
  }
  return places > most_ ? 0 : most_ - filled_;
}

bool Packing::takes_many(std::uint64_t bytes) const {
  return bytes <= most_of_many && bytes <= far_.packed() && most_ >= least_room;
}

void Packing::begin() {
  if (letter_ == nullptr) letter_ = &far_.ask_for_pieces(rank_, puts_, parts_);
}

void Packing::piece(std::uint64_t there, char* own, std::uint64_t bytes) {
  if (bytes > far_.packed() || most_ < least_room) {
    end();
    if (puts_) far_.put_part(rank_, there, own, bytes, parts_);
    else far_.get_part(rank_, there, own, bytes, parts_);
    return;
  }
  constexpr std::uint64_t least_part = 256;  // elements are not cut
  while (bytes > 0) {
    const std::uint64_t part = std::min<std::uint64_t>(bytes, room(Places::words_of_piece));
    if (part < bytes && part < least_part) {
      end();
      continue;
    }
    begin();
    if (puts_) copy_piece(letter_->payload() + filled_, own, part);
    else own_.add(reinterpret_cast<std::uintptr_t>(own), part);
    there_.add(there, part);
    filled_ += part;
    there += part;
    own += part;
    bytes -= part;
  }
}

std::size_t Packing::room_for_list(std::uint64_t bytes) const {
  // A record, and a word for each.
  const std::size_t places = 8 * (there_.words().size() + 1), taken = puts_ ? places + filled_ + 7 : filled_;
  if (places >= most_ || taken >= most_) return 0;
  return puts_ ? (most_ - taken) / (8 + bytes) : std::min((most_ - taken) / bytes, (most_ - places) / 8);
}

std::uint64_t* Packing::list(std::size_t count, char* own, std::uint64_t bytes) {
  begin();
  if (puts_) std::memcpy(letter_->payload() + filled_, own, count * bytes);
  else own_.add(reinterpret_cast<std::uintptr_t>(own), count * bytes);
  filled_ += count * bytes;
  return there_.add_list(count, bytes);
}

void Packing::row(std::uint64_t there, std::int64_t there_stride, char* own, std::int64_t own_stride,
                  std::uint64_t bytes, std::uint64_t count) {
  const auto here = reinterpret_cast<std::uintptr_t>(own);
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t part = std::min<std::uint64_t>(count - done, room(Places::words_of_row) / bytes);
    if (part == 0) {
      end();
      continue;
    }
    begin();
    const std::uintptr_t from = here + done * static_cast<std::uint64_t>(own_stride);
    if (puts_)
      of_size(bytes, [&](auto known) {
        return copy_row<decltype(known)::value, true>(from, own_stride, part, bytes, 0, letter_->payload() + filled_);
      });
    else own_.add_row(from, own_stride, bytes, part);
    there_.add_row(there + done * static_cast<std::uint64_t>(there_stride), there_stride, bytes, part);
    filled_ += part * bytes;
    done += part;
  }
}

void Packing::end() {
  if (letter_ == nullptr) return;
  Letter& letter = *std::exchange(letter_, nullptr);
  const std::size_t before = puts_ ? 8 * in_words(filled_) : 0, places = 8 * there_.words().size();
  letter.bytes = filled_;
  letter.values[0] = there_.words().size();
  std::memcpy(letter.payload() + before, there_.words().data(), places);
  if (!puts_) letter.values[1] = far_.keep_places(own_.take());
  far_.send_pieces(rank_, letter, before + places);
  filled_ = 0;
  there_.clear();
  own_.clear();
}

}  // namespace isthmus::runtime

#include "proof/contents.hpp"

#include <algorithm>

namespace isthmus::proof {

void append(std::vector<Piece>& pieces, const Piece& piece) {
  if (piece.bytes == 0) return;
  if (!pieces.empty()) {
    Piece& last = pieces.back();
    const bool written = piece.set > Contributions::unknown;
    if (last.set == piece.set && (!written || last.origin + last.bytes == piece.origin)) {
      last.bytes += piece.bytes;
      return;
    }
  }
  pieces.push_back(piece);
}

bool Contents::continues(const Part& before, std::uint64_t begin, std::uint64_t origin, Contributions::Set set) {
  return before.set == set && (set <= Contributions::unknown || before.origin + (begin - before.begin) == origin);
}

std::size_t Contents::find(std::uint64_t offset) const {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), offset,
                                      [](std::uint64_t at, const Part& part) { return at < part.begin; });
  return after == parts_.begin() ? parts_.size() : static_cast<std::size_t>(after - parts_.begin()) - 1;
}

void Contents::read(std::uint64_t offset, std::uint64_t bytes, std::vector<Piece>& out) const {
  const std::uint64_t end = offset + bytes;
  std::size_t at = find(offset);
  if (at == parts_.size()) {
    at = 0;
    const std::uint64_t first = parts_.empty() ? end : std::min(end, parts_[0].begin);
    append(out, {first - offset, 0, Contributions::nothing});
    offset = first;
  }
  for (; offset < end; ++at) {
    const Part& part = parts_[at];
    const std::uint64_t stop = at + 1 < parts_.size() ? std::min(end, parts_[at + 1].begin) : end;
    append(out, {stop - offset, part.origin + (offset - part.begin), part.set});
    offset = stop;
  }
}

void Contents::write(std::uint64_t offset, std::span<const Piece> pieces) {
  fresh_.clear();
  const auto add = [&](std::uint64_t begin, std::uint64_t origin, Contributions::Set set) {
    if (fresh_.empty() || !continues(fresh_.back(), begin, origin, set)) fresh_.push_back({begin, origin, set});
  };
  // The part before stays up to `offset`; writing starts with it, so that what continues it is added to it.
  const std::size_t before = find(offset);
  std::size_t first = 0;
  if (before != parts_.size()) {
    first = before;
    if (parts_[before].begin == offset && before > 0) first = before - 1;
    if (parts_[first].begin < offset) fresh_.push_back(parts_[first]);
  }
  std::uint64_t end = offset;
  for (const Piece& piece : pieces) {
    if (piece.bytes != 0) add(end, piece.origin, piece.set);
    end += piece.bytes;
  }
  if (end == offset) return;
  // What lies behind goes on as it was.
  const std::size_t last = find(end);
  std::size_t stop = 0;
  if (last == parts_.size()) {
    if (parts_.empty() || parts_[0].begin > end) add(end, 0, Contributions::nothing);
  } else {
    const Part& part = parts_[last];
    add(end, part.origin + (end - part.begin), part.set);
    stop = last + 1;
  }
  const auto at = [&](std::size_t i) { return parts_.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t replaced = std::min(stop - first, fresh_.size());
  std::copy_n(fresh_.begin(), replaced, at(first));
  if (replaced < fresh_.size()) {
    parts_.insert(at(first + replaced), fresh_.begin() + static_cast<std::ptrdiff_t>(replaced), fresh_.end());
  } else {
    parts_.erase(at(first + replaced), at(stop));
  }
}

}  // namespace isthmus::proof

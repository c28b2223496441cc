#include "memory_wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace isthmus::test {

MemoryWires::MemoryWires(std::uint32_t ranks, std::uint32_t tags, std::uint64_t most, std::uint64_t seed)
    : tags_(tags), most_(most), piece_(seed % 2 == 0 ? 0 : 256 + seed % 700), ends_(ranks) {
  for (std::uint32_t r = 0; r < ranks; ++r) {
    ends_[r].all = this;
    ends_[r].rank = r;
    ends_[r].random = Rng(seed + r);
  }
}

isthmus_wire MemoryWires::of(std::uint32_t rank) {
  isthmus_wire wire{};
  wire.size = sizeof wire;
  wire.rank = rank;
  wire.ranks = static_cast<std::uint32_t>(ends_.size());
  wire.tags = tags_;
  wire.most = most_;
  wire.piece = piece_;
  wire.data = &ends_[rank];
  wire.send = send;
  wire.receive = receive;
  wire.poll = poll;
  wire.error = [](void*) { return "the wire is cut"; };
  wire.close = [](void* data, int) {
    End& own = *static_cast<End*>(data);
    const std::scoped_lock guard(own.all->lock_);
    own.posted.clear();
  };
  return wire;
}

std::size_t MemoryWires::left() const {
  const std::scoped_lock guard(lock_);
  std::size_t count = 0;
  for (const End& end : ends_) count += end.sent.size();
  return count;
}

void MemoryWires::match(End& receiver, const Message& posted, const Message& sent) {
  const bool fits = sent.count <= posted.count;
  if (fits && sent.count > 0) std::memcpy(posted.memory, sent.bytes.data(), sent.count);
  receiver.ended.push_back({posted.token, fits ? sent.count : ISTHMUS_WIRE_MORE});
  if (sent.waits) ends_[sent.peer].ended.push_back({sent.token, 0});
}

int MemoryWires::send(void* data, std::uint32_t to, std::uint32_t tag, const void* bytes, std::uint64_t count,
                      std::uint64_t token) {
  End& own = *static_cast<End*>(data);
  MemoryWires& all = *own.all;
  const std::scoped_lock guard(all.lock_);
  if (own.cut || tag >= all.tags_ || count > all.most_) return -1;
  Message sent{own.rank, tag, nullptr, count, token, count > 100, {}};
  const auto* const from = static_cast<const std::byte*>(bytes);
  if (count > 0) sent.bytes.assign(from, from + count);
  if (!sent.waits) own.ended.push_back({token, 0});
  End& other = all.ends_[to];
  const auto found = std::find_if(other.posted.begin(), other.posted.end(), [&](const Message& posted) {
    return posted.tag == tag && (posted.peer == own.rank || posted.peer == ISTHMUS_WIRE_ANY);
  });
  if (found == other.posted.end()) {
    other.sent.push_back(std::move(sent));
    return 0;
  }
  const Message posted = *found;
  other.posted.erase(found);
  all.match(other, posted, sent);
  return 0;
}

int MemoryWires::receive(void* data, std::uint32_t from, std::uint32_t tag, void* bytes, std::uint64_t count,
                         std::uint64_t token) {
  End& own = *static_cast<End*>(data);
  MemoryWires& all = *own.all;
  const std::scoped_lock guard(all.lock_);
  if (tag >= all.tags_ || count > all.most_) return -1;
  const Message posted{from, tag, static_cast<std::byte*>(bytes), count, token, false, {}};
  const auto found = std::find_if(own.sent.begin(), own.sent.end(), [&](const Message& sent) {
    return sent.tag == tag && (from == sent.peer || from == ISTHMUS_WIRE_ANY);
  });
  if (found == own.sent.end()) {
    own.posted.push_back(posted);
    return 0;
  }
  const Message sent = std::move(*found);
  own.sent.erase(found);
  all.match(own, posted, sent);
  return 0;
}

std::int64_t MemoryWires::poll(void* data, const isthmus_wire_end** ended) {
  End& own = *static_cast<End*>(data);
  const std::scoped_lock guard(own.all->lock_);
  own.told.clear();
  for (std::size_t i = 0; i < own.ended.size();) {
    std::swap(own.ended[i], own.ended[i + own.random.below(static_cast<std::uint32_t>(own.ended.size() - i))]);
    if (own.random.below(3) == 0) {
      ++i;
      continue;
    }
    own.told.push_back(own.ended[i]);
    own.ended[i] = own.ended.back();
    own.ended.pop_back();
  }
  *ended = own.told.data();
  return static_cast<std::int64_t>(own.told.size());
}

}  // namespace isthmus::test

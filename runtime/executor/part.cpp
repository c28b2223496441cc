#include "runtime/executor/part.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "schedule/names.hpp"

namespace isthmus::runtime {
namespace {

using schedule::Edge;
using schedule::OpKind;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xEDB88320 ^ (value >> 1) : value >> 1;
    out[i] = value;
  }
  return out;
}

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t value = 0xFFFFFFFF;
  for (const std::byte b : bytes) value = table[(value ^ static_cast<std::uint8_t>(b)) & 0xFF] ^ (value >> 8);
  return ~value;
}

/// Fills a vector from the front of the bytes.
template <class T>
void take(std::span<const std::byte>& bytes, std::vector<T>& out) {
  const std::size_t size = out.size() * sizeof(T);
  if (size > 0) std::memcpy(out.data(), bytes.data(), size);
  bytes = bytes.subspan(size);
}

/// Writes a vector to the front of the bytes.
template <class T>
void give(std::span<std::byte>& bytes, const std::vector<T>& values) {
  const std::size_t size = values.size() * sizeof(T);
  if (size > 0) std::memcpy(bytes.data(), values.data(), size);
  bytes = bytes.subspan(size);
}

/// What follows the header, in bytes.
std::uint64_t size_of_rest(const PartHeader& h) {
  return std::uint64_t{h.buffers} * sizeof(std::uint64_t) +
         std::uint64_t{h.steps} * (sizeof(Step) + sizeof(std::uint32_t)) + std::uint64_t{h.edges} * sizeof(Edge);
}

/// One side of a step lies in its buffer.
void check_side(const Program& p, std::uint32_t index, std::uint8_t buffer, std::uint64_t offset, std::int32_t stride) {
  const Step& step = p.steps[index];
  if (step.amount == 0) return;
  require(buffer != Program::no_buffer, "step ", index, " moves ", step.amount, " bytes but names no buffer");
  require(buffer < p.buffers.size(), "step ", index, " names buffer ", static_cast<int>(buffer), " of ",
          p.buffers.size());
  const std::uint64_t room = p.buffers[buffer];
  bool fits = offset <= room;
  if (fits && step.block == 0) fits = step.amount <= room - offset;
  if (fits && step.block > 0) {
    require(stride != 0, "step ", index, " has blocks at a distance of 0");
    // Of blocks at equal distances the last one lies outermost, or where they go backwards the first and the last.
    const std::uint64_t others = (step.amount - 1) / step.block;
    const std::uint64_t distance = static_cast<std::uint64_t>(std::abs(std::int64_t{stride}));
    std::uint64_t way = 0;
    fits = !__builtin_mul_overflow(distance, step.block, &way) && !__builtin_mul_overflow(way, others, &way);
    if (fits && stride > 0) fits = way <= room - offset && step.amount - others * step.block <= room - offset - way;
    if (fits && stride < 0) fits = way <= offset && std::min(step.amount, step.block) <= room - offset;
  }
  require(fits, "step ", index, " goes beyond buffer ", static_cast<int>(buffer), ", which has ", room, " bytes");
}

void check_step(const Program& p, std::uint32_t index, std::uint32_t ranks) {
  const Step& step = p.steps[index];
  const bool message = step.kind == OpKind::send || step.kind == OpKind::recv;
  require(message || step.kind == OpKind::calc || step.kind == OpKind::copy || step.kind == OpKind::reduce, "step ",
          index, " is of kind ", static_cast<int>(step.kind), ", which cannot be carried out");
  require(!message || step.peer < ranks, "step ", index, " names rank ", step.peer, " of ", ranks);
  require(step.order <= schedule::ReduceOrder::before, "step ", index, " has an unknown order of operands");
  require(step.block == 0 || step.kind == OpKind::copy, "step ", index, " is in blocks: only copies are");
  require(step.pair == 0, "step ", index, " has bytes that are not used: must be 0");
  const bool both = step.kind == OpKind::copy || step.kind == OpKind::reduce;
  if (step.kind == OpKind::send || both) check_side(p, index, step.from_buffer, step.from, step.from_stride);
  if (step.kind == OpKind::recv || both) check_side(p, index, step.to_buffer, step.to, step.to_stride);
}

/// Edges are in order, and every step waits for as many as lead to it; nothing waits for itself.
void check_order(Program& p) {
  const auto steps = static_cast<std::uint32_t>(p.steps.size());
  std::uint32_t before = 0;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::uint32_t first = p.steps[i].first_edge;
    require(first >= before && first <= p.edges.size() && (i > 0 || first == 0), "the edges of step ", i,
            " are out of order");
    before = first;
  }
  std::vector<std::uint32_t> left(steps);
  for (const Edge edge : p.edges) {
    require(edge.to() < steps, "an edge leads to step ", edge.to(), " of ", steps);
    ++left[edge.to()];
  }
  for (std::uint32_t i = 0; i < steps; ++i) {
    require(left[i] == p.needs[i], "step ", i, " waits for ", p.needs[i], " others, and ", left[i], " lead to it");
    if (left[i] == 0) p.first.push_back(i);
  }
  std::vector<std::uint32_t> ready = p.first;
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const std::uint32_t at = ready[next];
    for (std::uint32_t e = p.steps[at].first_edge; e < p.end_of_edges(at); ++e)
      if (--left[p.edges[e].to()] == 0) ready.push_back(p.edges[e].to());
  }
  require(ready.size() == steps, "steps wait for each other in a circle");
}

}  // namespace

Part read_part(std::span<const std::byte> bytes) {
  Part out;
  PartHeader& h = out.header;
  require(bytes.size() >= sizeof h, "the part has ", bytes.size(), " bytes: its header alone has ", sizeof h);
  std::memcpy(&h, bytes.data(), sizeof h);
  require(h.mark == PartHeader::magic, "the bytes are no part of a schedule");
  require(h.version == PartHeader::newest, "the part is of version ", h.version, ": this library reads version ",
          PartHeader::newest);
  bytes = bytes.subspan(sizeof h);
  const std::uint64_t size = size_of_rest(h);
  require(bytes.size() == size, "the part has ", bytes.size(), " bytes after its header, which announces ", size);
  require(checksum_of(bytes) == h.checksum, "the part is damaged: its checksum is wrong");
  require(h.rank < h.ranks, "the part is that of rank ", h.rank, " of ", h.ranks);
  require(h.buffers < Program::no_buffer, "the part has ", h.buffers, " buffers: up to 254 can be carried out");
  require(h.steps <= schedule::max_rank_ops, "the part has ", h.steps, " steps: too many");
  require(h.element_bytes == 1 || h.element_bytes == 8, "the part reduces elements of ", h.element_bytes,
          " bytes: must be 1 or 8");
  Program& p = out.program;
  p.buffers.resize(h.buffers);
  p.steps.resize(h.steps);
  p.needs.resize(h.steps);
  p.edges.resize(h.edges, Edge{0, false});
  take(bytes, p.buffers);
  take(bytes, p.steps);
  take(bytes, p.needs);
  take(bytes, p.edges);
  for (std::uint32_t i = 0; i < h.steps; ++i) {
    check_step(p, i, h.ranks);
    require(p.steps[i].kind != OpKind::reduce || p.steps[i].amount % h.element_bytes == 0, "step ", i, " reduces ",
            p.steps[i].amount, " bytes, which are no whole elements");
  }
  check_order(p);
  return out;
}

std::vector<std::byte> write_part(const Program& program, std::uint32_t rank, std::uint32_t ranks) {
  PartHeader h;
  h.rank = rank;
  h.ranks = ranks;
  h.buffers = static_cast<std::uint32_t>(program.buffers.size());
  h.steps = static_cast<std::uint32_t>(program.steps.size());
  h.edges = static_cast<std::uint32_t>(program.edges.size());
  std::vector<std::byte> out(sizeof h + size_of_rest(h));
  const std::span<std::byte> whole(out);
  std::span<std::byte> rest = whole.subspan(sizeof h);
  give(rest, program.buffers);
  give(rest, program.steps);
  give(rest, program.needs);
  give(rest, program.edges);
  h.checksum = checksum_of(whole.subspan(sizeof h));
  std::memcpy(out.data(), &h, sizeof h);
  return out;
}

}  // namespace isthmus::runtime

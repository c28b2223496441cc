#include "schedule/compose.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "schedule/builder.hpp"

namespace isthmus::schedule {
namespace {

/// Operations of a part on a rank, as numbers of the whole.
struct Ends {
  std::vector<std::uint32_t> entries;  ///< wait for nothing in the part
  std::vector<std::uint32_t> exits;    ///< nothing in the part waits until they are done
};

/// Makes every operation of `ops` wait for every one of `on`, through a calc of 0 ps where that saves edges.
void after(RankBuilder& rank, const std::vector<std::uint32_t>& ops, std::vector<std::uint32_t> on, bool on_start) {
  if (ops.size() > 1 && on.size() > 1) {
    const std::uint32_t middle = rank.add({});
    for (const std::uint32_t o : on) on_start ? rank.require_start(middle, o) : rank.require(middle, o);
    on = {middle};
    on_start = false;
  }
  for (const std::uint32_t op : ops) {
    for (const std::uint32_t o : on) on_start ? rank.require_start(op, o) : rank.require(op, o);
  }
}

std::uint32_t tags_of(const Schedule& s) {
  std::uint32_t most = 0;
  for (const Operation& op : s.ops) {
    if (op.kind != OpKind::send && op.kind != OpKind::recv) continue;
    require(op.tag != any_tag, "together: a receive of any tag could take a message of another part");
    most = std::max(most, op.tag);
  }
  return most;
}

/// Appends a rank's operations of a part with tags and buffers moved up.
Ends append(RankBuilder& rank, const Schedule& s, Rank r, std::uint32_t tags, std::uint32_t buffers,
            bool name_buffers) {
  Ends ends;
  const std::uint32_t first = rank.size();
  const std::span<const Operation> ops = s.ops_of(r);
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    Operation op = ops[i];
    if (op.kind == OpKind::send || op.kind == OpKind::recv) op.tag += tags;
    if (op.needs == 0) ends.entries.push_back(first + i);
    op.needs = 0;
    op.first_edge = 0;
    if (name_buffers) {
      Slices slices;
      if (!s.slices.empty()) slices = s.slices[s.op_first[r] + i];
      for (Slice* slice : {&slices.from, &slices.to}) {
        if (slice->buffer != Slice::none) slice->buffer += buffers;
      }
      rank.add(op, slices);
    } else {
      rank.add(op);
    }
    bool waited = false;
    for (const Edge edge : s.dependants(r, i)) {
      if (edge.on_start()) rank.require_start(first + edge.to(), first + i);
      else rank.require(first + edge.to(), first + i);
      waited |= !edge.on_start();
    }
    if (!waited) ends.exits.push_back(first + i);
  }
  return ends;
}

}  // namespace

Schedule together(std::span<const Schedule* const> parts, std::uint32_t under_way) {
  require(!parts.empty(), "together: give at least one schedule");
  const Rank ranks = parts.front()->ranks;
  std::vector<std::uint32_t> tags, first_buffer;
  std::uint64_t next_tag = 0;
  std::uint32_t next_buffer = 0;
  std::size_t with_buffers = 0;
  bool slices = false;
  for (const Schedule* part : parts) {
    require(part->ranks == ranks, "together: schedules of ", ranks, " and of ", part->ranks, " ranks");
    require(next_tag < any_tag, "together: tags of the parts do not fit 32 bits");
    tags.push_back(static_cast<std::uint32_t>(next_tag));
    next_tag += std::uint64_t{tags_of(*part)} + 1;
    first_buffer.push_back(next_buffer);
    next_buffer += static_cast<std::uint32_t>(part->buffers.names.size());
    with_buffers += part->buffers.names.empty() ? 0 : 1;
    slices |= !part->slices.empty();
  }
  require(next_tag <= any_tag, "together: tags of the parts do not fit 32 bits");
  Buffers buffers;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const std::string& name : parts[i]->buffers.names) {
      buffers.names.push_back(with_buffers > 1 ? message(name, ".", i) : name);
    }
  }
  ScheduleBuilder builder;
  RankBuilder rank;
  for (Rank r = 0; r < ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    std::vector<Ends> done;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      done.push_back(append(rank, *parts[i], r, tags[i], first_buffer[i], slices));
      Ends& now = done.back();
      if (now.entries.empty()) {
        // Nothing to do here: what comes after waits for what came before.
        now.entries = now.exits = {rank.add({})};
      }
      if (i > 0) after(rank, now.entries, done[i - 1].entries, true);
      if (under_way != 0 && i >= under_way) after(rank, now.entries, done[i - under_way].exits, false);
      const std::size_t n = parts[i]->buffers.names.size();
      const auto at = parts[i]->buffers.bytes.begin() + static_cast<std::ptrdiff_t>(r * n);
      buffers.bytes.insert(buffers.bytes.end(), at, at + static_cast<std::ptrdiff_t>(n));
    }
    builder.append(rank);
  }
  builder.set_buffers(std::move(buffers));
  return builder.build();
}

}  // namespace isthmus::schedule

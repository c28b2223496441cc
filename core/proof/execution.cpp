#include "proof/execution.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/interruption.hpp"

namespace isthmus::proof {
namespace {

const Slices no_slices{};

/// From the first to the last byte of all blocks on one side, or a little beyond.
std::pair<std::uint64_t, std::uint64_t> range_of(const Slice& side, std::uint64_t block, std::uint64_t bytes) {
  if (block == 0) return {side.offset, side.offset + bytes};
  const std::uint64_t step = static_cast<std::uint64_t>(std::int64_t{side.stride}) * block;  // modulo 2^64
  const std::uint64_t last = side.offset + (bytes - 1) / block * step;
  return {std::min(side.offset, last), std::max(side.offset, last) + block};
}

/// Do the bytes that a copy reads within a buffer meet those that it writes there?
bool meet(const Slices& slices, std::uint64_t bytes) {
  const auto [from, from_end] = range_of(slices.from, slices.block, bytes);
  const auto [to, to_end] = range_of(slices.to, slices.block, bytes);
  if (from_end <= to || to_end <= from) return false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;  // those of one side do not meet each other
  for (const Slice& side : {slices.from, slices.to}) {
    each_block(side, slices.block, bytes,
               [&](std::uint64_t offset, std::uint64_t length) { parts.emplace_back(offset, offset + length); });
  }
  std::sort(parts.begin(), parts.end());
  return std::adjacent_find(parts.begin(), parts.end(),
                            [](const auto& a, const auto& b) { return b.first < a.second; }) != parts.end();
}

}  // namespace

Execution::Execution(const Schedule& schedule, const Contract& contract, const Pairs& pairs, Defects& defects)
    : schedule_(schedule), contract_(contract), pairs_(pairs), defects_(defects), sets_(contract.ranks) {
  const auto& names = schedule.buffers.names;
  constant_.resize(names.size());
  for (const std::string& name : contract.constant) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) constant_[static_cast<std::size_t>(found - names.begin())] = true;
  }
  for (const std::string& name : contract.buffers) {
    const auto found = std::find(names.begin(), names.end(), name);
    buffer_numbers_.push_back(found == names.end() ? Slice::none : static_cast<std::uint32_t>(found - names.begin()));
  }
  contents_.resize(names.size() * std::size_t{schedule.ranks});
}

const Slices& Execution::slices(Op op) const { return schedule_.slices.empty() ? no_slices : schedule_.slices[at(op)]; }

template <class Text>
void Execution::report(DefectKind kind, Op op, const Text& words) {
  if (defects_.room()) defects_.add({kind, op.rank, op.index, words()});
  else defects_.count();
}

std::string Execution::value_text(const Piece& piece) const {
  if (piece.set == Contributions::nothing) return "nothing written";
  if (piece.set == Contributions::unknown) return sets_.text(piece.set);
  return message("bytes [", piece.origin, ", ", piece.origin + piece.bytes, ") of ", sets_.text(piece.set));
}

bool Execution::run() {
  prepare();
  drain();
  if (done_ < schedule_.ops.size() && symmetry_ == nullptr) halt();
  if (done_ < schedule_.ops.size()) return false;
  check_end();
  if (contract_.synchronizes) check_synchronisation();
  return true;
}

void Execution::prepare() {
  const std::uint64_t n = schedule_.ops.size();
  std::vector<Holding> holdings;
  for (Rank r = 0; r < schedule_.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    holdings.clear();
    contract_.start(r, holdings);
    for (const Holding& h : holdings) {
      if (h.bytes == 0) continue;
      const Piece piece{h.bytes, h.origin, sets_.range(h.ranks)};
      buffer(r, buffer_numbers_[h.buffer]).write(h.offset, {&piece, 1});
    }
  }
  needs_.resize(n);
  states_.assign(n, State::waiting);
  if (contract_.synchronizes) heard_.resize(n);
  for (Rank r = schedule_.ranks; r-- > 0;) {
    if ((r & 0xFF) == 0) interruption_point();
    const auto ops = schedule_.ops_of(r);
    for (std::uint32_t i = static_cast<std::uint32_t>(ops.size()); i-- > 0;) {
      const std::uint64_t index = schedule_.op_first[r] + i;
      needs_[index] = ops[i].needs;
      if (contract_.synchronizes) heard_[index] = sets_.single(r);
      if (ops[i].needs == 0) ready_.push_back({r, i});
    }
  }
}

void Execution::drain() {
  while (!ready_.empty()) {
    if ((++begun_ & 0xFF) == 0) interruption_point();
    const Op op = ready_.back();
    ready_.pop_back();
    begin(op);
  }
}

void Execution::begin(Op op) {
  states_[at(op)] = State::begun;
  release(op, true);
  const Operation& o = operation(op);
  const Slices& s = slices(op);
  switch (o.kind) {
    case OpKind::send:
    case OpKind::recv: return message_part(op);
    case OpKind::copy: transfer(op, s.from, op.rank, s.to, op.rank); break;
    case OpKind::put: transfer(op, s.from, op.rank, s.to, o.peer); break;
    case OpKind::get: transfer(op, s.from, o.peer, s.to, op.rank); break;
    case OpKind::reduce: combine(op); break;
    case OpKind::calc: break;
  }
  end(op);
}

void Execution::end(Op op) {
  states_[at(op)] = State::done;
  ++done_;
  release(op, false);
}

void Execution::release(Op op, bool on_start) {
  for (const Edge edge : schedule_.dependants(op.rank, op.index)) {
    if (edge.on_start() != on_start) continue;
    const Op next{op.rank, edge.to()};
    if (contract_.synchronizes) heard_[at(next)] = sets_.all_of(heard_[at(next)], heard_[at(op)]);
    if (--needs_[at(next)] == 0) ready_.push_back(next);
  }
}

Execution::Op Execution::other_side(Op op) const {
  if (symmetry_ != nullptr) return {0, symmetry_->partners[op.index]};
  return {pairs_.peer(op.rank, op.index), pairs_.partner(op.rank, op.index)};
}

/// What rank 0 holds becomes what rank `by` holds.
void Execution::rotate(std::vector<Piece>& pieces, Rank by) {
  const std::uint64_t all = symmetry_->rotation.origin * contract_.ranks;
  turned_.clear();
  for (Piece piece : pieces) {
    piece.set = sets_.rotated(piece.set, by);
    if (all == 0 || piece.set <= Contributions::unknown) {
      append(turned_, piece);
      continue;
    }
    piece.origin = (piece.origin + by * symmetry_->rotation.origin) % all;
    const std::uint64_t now = std::min(piece.bytes, all - piece.origin);
    append(turned_, {now, piece.origin, piece.set});
    append(turned_, {piece.bytes - now, 0, piece.set});
  }
  pieces.swap(turned_);
}

/// A send or a receive has begun: the message goes when both have.
void Execution::message_part(Op op) {
  const Op other = other_side(op);
  const bool sends = operation(op).kind == OpKind::send;
  const Op send = sends ? op : other, recv = sends ? other : op;
  if (states_[at(other)] == State::waiting) {
    if (sends && (eager_ || operation(op).mode == static_cast<std::uint8_t>(Protocol::eager))) {
      const std::uint64_t bytes = operation(send).amount;
      if (bytes != 0) read(send, send.rank, slices(send).from, bytes, under_way_[at(send)]);
      end(send);
    }
    return;
  }
  if (contract_.synchronizes) {
    const Contributions::Set before = heard_[at(send)];
    const Rank by = symmetry_ == nullptr ? 0 : operation(recv).peer;
    heard_[at(recv)] = sets_.all_of(heard_[at(recv)], sets_.rotated(before, by));
  }
  const auto sent = under_way_.find(at(send));
  if (sent != under_way_.end()) {
    if (symmetry_ != nullptr) rotate(sent->second, operation(recv).peer);
    write(recv, recv.rank, slices(recv).to, sent->second);
    under_way_.erase(sent);
  } else if (states_[at(send)] == State::begun) {
    transfer(send, slices(send).from, send.rank, slices(recv).to, recv.rank,
             symmetry_ == nullptr ? 0 : operation(recv).peer);
  }
  if (states_[at(send)] == State::begun) end(send);
  end(recv);
}

void Execution::transfer(Op by, Slice source, Rank source_rank, Slice target, Rank target_rank, Rank turn) {
  std::uint64_t bytes = operation(by).amount;
  if (bytes == 0) return;
  const std::uint64_t block = slices(by).block;
  if (source_rank == target_rank && turn == 0 && source.buffer == target.buffer &&
      meet({source, target, block}, bytes)) {
    report(DefectKind::race, by, [&] {
      const char* blocks = block == 0 ? "" : " and further blocks";
      return message(text(by), ": it reads ",
                     bytes_text(schedule_, source.buffer, source.offset, block == 0 ? bytes : block), blocks,
                     " and writes ", bytes_text(schedule_, target.buffer, target.offset, block == 0 ? bytes : block),
                     blocks, ", which overlap");
    });
  }
  const auto next = [&](Slice& side) { side.offset += static_cast<std::uint64_t>(std::int64_t{side.stride}) * block; };
  while (bytes != 0) {
    const std::uint64_t now = block == 0 ? bytes : std::min(block, bytes);
    pieces_.clear();
    read(by, source_rank, source, now, pieces_);
    if (turn != 0) rotate(pieces_, turn);
    write(by, target_rank, target, pieces_);
    bytes -= now;
    next(source);
    next(target);
  }
}

void Execution::read(Op by, Rank rank, const Slice& slice, std::uint64_t bytes, std::vector<Piece>& out) {
  buffer(rank, slice.buffer).read(slice.offset, bytes, out);
  std::uint64_t offset = slice.offset;
  for (Piece& piece : out) {
    if (piece.set == Contributions::nothing) {
      report(DefectKind::unwritten, by, [&] {
        return message(text(by), ": it reads ", bytes_text(schedule_, slice.buffer, offset, piece.bytes),
                       rank == by.rank ? "" : message(" of rank ", rank), ", which nothing has written");
      });
      piece.set = Contributions::unknown;
    }
    offset += piece.bytes;
  }
}

void Execution::write(Op by, Rank rank, const Slice& slice, std::span<const Piece> pieces) {
  if (pieces.empty()) return;
  if (constant_[slice.buffer]) {
    report(DefectKind::constant, by, [&] {
      std::uint64_t bytes = 0;
      for (const Piece& piece : pieces) bytes += piece.bytes;
      return message(text(by), ": it writes ", bytes_text(schedule_, slice.buffer, slice.offset, bytes), " of rank ",
                     rank, ", and ", contract_.name, " must not change this buffer");
    });
  }
  buffer(rank, slice.buffer).write(slice.offset, pieces);
}

void Execution::combine(Op op) {
  const Operation& o = operation(op);
  if (o.amount == 0) return;
  const Slices& s = slices(op);
  pieces_.clear();
  others_.clear();
  result_.clear();
  read(op, op.rank, s.to, o.amount, pieces_);
  read(op, op.rank, s.from, o.amount, others_);
  std::size_t i = 0, j = 0;
  std::uint64_t into_used = 0, from_used = 0;
  for (std::uint64_t at_byte = 0; at_byte < o.amount;) {
    const std::uint64_t bytes = std::min(pieces_[i].bytes - into_used, others_[j].bytes - from_used);
    const Piece into{bytes, pieces_[i].origin + into_used, pieces_[i].set};
    const Piece from{bytes, others_[j].origin + from_used, others_[j].set};
    append(result_, {bytes, into.origin, combined(op, into, from, at_byte)});
    at_byte += bytes;
    into_used += bytes;
    from_used += bytes;
    if (into_used == pieces_[i].bytes) ++i, into_used = 0;
    if (from_used == others_[j].bytes) ++j, from_used = 0;
  }
  write(op, op.rank, s.to, result_);
}

Contributions::Set Execution::combined(Op op, const Piece& into, const Piece& from, std::uint64_t at_byte) {
  if (into.set == Contributions::unknown || from.set == Contributions::unknown) return Contributions::unknown;
  const Slices& s = slices(op);
  const auto both = [&] {
    return message(text(op), ": ", bytes_text(schedule_, s.to.buffer, s.to.offset + at_byte, into.bytes), " holds ",
                   value_text(into), ", ", bytes_text(schedule_, s.from.buffer, s.from.offset + at_byte, from.bytes),
                   " holds ", value_text(from), ": ");
  };
  if (into.origin != from.origin) {
    report(DefectKind::offset, op, [&] { return both() + "different parts of the vector are combined"; });
    return Contributions::unknown;
  }
  const bool swapped = operation(op).mode == static_cast<std::uint8_t>(ReduceOrder::before);
  const Contributions::Set left = swapped ? from.set : into.set, right = swapped ? into.set : from.set;
  const Contributions::Set set = contract_.ordered ? sets_.concatenation(left, right) : sets_.sum(left, right);
  if (set != Contributions::nothing) return set;
  const Rank twice = sets_.common(left, right);
  if (twice != any_rank) {
    report(DefectKind::twice, op, [&] { return both() + message("rank ", twice, " is counted twice"); });
  } else {
    report(DefectKind::order, op, [&] {
      return both() + message(sets_.text(right), " would stand right of ", sets_.text(left),
                              ", which is not the order of ranks");
    });
  }
  return Contributions::unknown;
}

/// Nothing can go on: why, and whether it could if sends did not wait.
void Execution::halt() {
  Op at_op{0, 0};
  while (states_[at(at_op)] == State::done) {
    ++at_op.index;
    while (at_op.index == schedule_.ops_in(at_op.rank)) at_op = {at_op.rank + 1, 0};
  }
  // Each waits for another: from anywhere the way ends in a circle.
  std::unordered_map<Rank, std::vector<std::uint32_t>> blockers;
  std::unordered_map<std::uint64_t, std::size_t> place;
  std::vector<Op> way;
  while (place.emplace(at(at_op), way.size()).second) {
    way.push_back(at_op);
    at_op = waits_for(at_op, blockers);
  }
  way.erase(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(place[at(at_op)]));
  const auto smallest = std::min_element(way.begin(), way.end(), [&](Op a, Op b) { return at(a) < at(b); });
  std::rotate(way.begin(), smallest, way.end());
  const std::uint64_t stuck = schedule_.ops.size() - done_;

  eager_ = true;
  for (Rank r = 0; r < schedule_.ranks; ++r) {
    const auto ops = schedule_.ops_of(r);
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const Op op{r, i};
      if (ops[i].kind == OpKind::send && states_[at(op)] == State::begun) message_part(op);
    }
  }
  drain();
  needs_eager_ = done_ == schedule_.ops.size();
  constexpr std::size_t shown = 12;
  std::string circle;
  for (std::size_t i = 0; i < way.size() && i < shown; ++i) circle += text(way[i]) + " waits for ";
  if (way.size() > shown) circle += message("... (", way.size() - shown, " more) waits for ");
  const char* eager = needs_eager_ ? "; it ends only if sends do not wait for their receives (eager protocol)" : "";
  defects_.add_first({DefectKind::deadlock, way[0].rank, way[0].index,
                      message(circle, "the first, and ", stuck, " operations never end", eager)});
}

/// One operation that has to begin or to end before `op` can go on.
Execution::Op Execution::waits_for(Op op, std::unordered_map<Rank, std::vector<std::uint32_t>>& blockers) const {
  if (states_[at(op)] == State::begun) return {pairs_.peer(op.rank, op.index), pairs_.partner(op.rank, op.index)};
  std::vector<std::uint32_t>& of_rank = blockers[op.rank];
  if (of_rank.empty()) {
    const std::uint32_t n = schedule_.ops_in(op.rank);
    of_rank.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      const State state = states_[schedule_.op_first[op.rank] + i];
      for (const Edge edge : schedule_.dependants(op.rank, i)) {
        if (edge.on_start() ? state == State::waiting : state != State::done) of_rank[edge.to()] = i;
      }
    }
  }
  return {op.rank, of_rank[op.index]};
}

void Execution::check_end() {
  std::vector<Holding> holdings;
  std::vector<Piece> found;
  for (Rank r = 0; r < schedule_.ranks; ++r) {
    holdings.clear();
    contract_.end(r, holdings);
    for (const Holding& h : holdings) {
      if (h.bytes == 0) continue;
      const Contributions::Set wanted = sets_.range(h.ranks);
      const std::uint32_t number = buffer_numbers_[h.buffer];
      found.clear();
      buffer(r, number).read(h.offset, h.bytes, found);
      std::uint64_t offset = 0;
      for (const Piece& piece : found) {
        const std::uint64_t origin = h.origin + offset;
        const bool right = piece.set == wanted && piece.origin == origin;
        if (!right && piece.set != Contributions::unknown) {
          report(DefectKind::result, {r, Defect::no_operation}, [&] {
            return message("rank ", r, ", in the end: ", bytes_text(schedule_, number, h.offset + offset, piece.bytes),
                           " holds ", value_text(piece), " instead of ", value_text({piece.bytes, origin, wanted}));
          });
        }
        offset += piece.bytes;
      }
      bytes_checked_ += h.bytes;
    }
  }
}

void Execution::check_synchronisation() {
  const Contributions::Set all = sets_.range({0, contract_.ranks});
  for (Rank r = 0; r < schedule_.ranks; ++r) {
    Contributions::Set heard = sets_.single(r);
    for (std::uint32_t i = 0; i < schedule_.ops_in(r); ++i) heard = sets_.all_of(heard, heard_[at({r, i})]);
    if (heard == all) continue;
    report(DefectKind::synchronisation, {r, Defect::no_operation}, [&] {
      return message("rank ", r, " may leave when it has heard of ", sets_.text(heard),
                     " only, before the others have "
                     "begun");
    });
  }
}

}  // namespace isthmus::proof

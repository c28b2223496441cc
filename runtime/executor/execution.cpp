#include "runtime/executor/execution.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/assert.hpp"
#include "runtime/transport/delay.hpp"

namespace isthmus::runtime {

using schedule::Edge;
using schedule::OpKind;
using schedule::ReduceOrder;

namespace {

std::int64_t nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of each step whether its end lets a message leave or a computation begin, directly or not.
std::vector<bool> awaited_in(const Program& program) {
  const std::size_t count = program.steps.size();
  std::vector<bool> awaited(count), leads(count);
  // Dependants usually come later, so that one walk from the end finds all and a second one that it has.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = count; i-- > 0;) {
      const Step& step = program.steps[i];
      bool found = leads[i] || step.kind == OpKind::send || (step.kind == OpKind::calc && step.amount > 0);
      for (std::uint32_t e = step.first_edge; e < program.end_of_edges(i); ++e) {
        if (!leads[program.edges[e].to()]) continue;
        found = true;
        if (!program.edges[e].on_start()) awaited[i] = true;
      }
      changed = changed || found != leads[i];
      leads[i] = found;
    }
  }
  return awaited;
}

/// Whether a rank sends to this one and receives from it: it will be there, too. A rank within a tree or a chain passes
/// on what it gets, and should not wait for those behind it.
bool exchanges_in(const Program& program) {
  std::vector<std::uint32_t> sent;
  for (const Step& step : program.steps) {
    if (step.kind == OpKind::send) sent.push_back(step.peer);
  }
  std::sort(sent.begin(), sent.end());
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    return step.kind == OpKind::recv && std::binary_search(sent.begin(), sent.end(), step.peer);
  });
}

}  // namespace

Execution::Execution(const Program& program)
    : program_(program),
      needs_(program.needs.size()),
      awaited_(awaited_in(program)),
      exchanges_(exchanges_in(program)),
      ready_(program.needs.size()) {}

Status Execution::start(Transport& transport, std::uint32_t context, std::span<std::byte* const> buffers,
                        const Operator& op, bool computes, bool counted, bool named) {
  transport_ = &transport;
  context_ = context;
  named_ = named ? Key::named : 0;
  operator_ = op;
  computes_ = computes;
  counted_ = counted;
  std::copy(buffers.begin(), buffers.end(), buffers_);
  std::copy(program_.needs.begin(), program_.needs.end(), needs_.begin());
  std::copy(program_.first.begin(), program_.first.end(), ready_.begin());
  next_ = 0;
  end_ = program_.first.size();
  left_ = program_.steps.size();
  // A program of the user may send to a rank before it receives from it, and count on the memory between them.
  transport.exchange(exchanges_ && !computes);
  transport.execution_began();
  if (left_ == 0) leave();
  return go_on();
}

Status Execution::status() const {
  if (left_ == 0) return Status::done;
  return transport_ != nullptr && !transport_->failure().empty() ? Status::failed : Status::in_progress;
}

Status Execution::go_on() {
  while (next_ < end_) begin(ready_[next_++]);
  return status();
}

void Execution::begin(std::uint32_t index) {
  const Step& step = program_.steps[index];
  if (trace_.begins != nullptr) trace_.begins[index] = nanoseconds();
  release(index, true);
  const Key key{context_, step.comm, step.tag | named_};
  switch (step.kind) {
    case OpKind::send:
      if (!transport_->send(step.peer, key, at(step.from_buffer, step.from), step.amount, {this, index, true})) return;
      break;
    case OpKind::recv:
      if (!transport_->recv(step.peer, key, at(step.to_buffer, step.to), step.amount,
                            {this, index, awaited_[index], step.pair == 0 ? nullptr : take}))
        return;
      break;
    case OpKind::put: put(step); break;
    case OpKind::get: get(step); break;
    case OpKind::copy: copy(step); break;
    case OpKind::reduce: combine(step); break;
    default:
      if (computes_ && step.amount > 0) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(step.amount / 1000);
        while (std::chrono::steady_clock::now() < until) continue;
      }
  }
  finish(index);
}

void Execution::finish(std::uint32_t index) {
  if (trace_.ends != nullptr) trace_.ends[index] = nanoseconds();
  release(index, false);
  const Step& step = program_.steps[index];
  const bool took = step.kind == OpKind::recv && step.pair != 0 && needs_[step.pair - 1] == done_early;
  if (--left_ == 0) leave();
  if (!took) return;
  needs_[step.pair - 1] = 0;
  release(step.pair - 1, true);
  finish(step.pair - 1);
}

void Execution::leave() {
  transport_->execution_ended();
  if (counted_) transport_->retire(context_);
}

void Execution::release(std::uint32_t index, bool on_start) {
  const std::uint32_t end = program_.end_of_edges(index);
  for (std::uint32_t e = program_.steps[index].first_edge; e < end; ++e) {
    const Edge edge = program_.edges[e];
    if (edge.on_start() == on_start && --needs_[edge.to()] == 0) ready_[end_++] = edge.to();
  }
}

void Execution::copy(const Step& step) const {
  const std::byte* from = at(step.from_buffer, step.from);
  std::byte* to = at(step.to_buffer, step.to);
  if (step.block == 0) {
    if (step.amount > 0 && from != to) std::memmove(to, from, step.amount);
    return;
  }
  const auto block = static_cast<std::int64_t>(step.block);
  std::uint64_t left = step.amount;
  for (; left > step.block; left -= step.block) {
    std::memcpy(to, from, step.block);
    from += step.from_stride * block;
    to += step.to_stride * block;
  }
  if (left > 0) std::memcpy(to, from, left);
}

void Execution::put(const Step& step) const {
  maybe_delay();
  if (step.amount > 0)
    std::memcpy(at(step.peer, step.to_buffer, step.to), at(step.from_buffer, step.from), step.amount);
}

void Execution::get(const Step& step) const {
  maybe_delay();
  if (step.amount > 0)
    std::memcpy(at(step.to_buffer, step.to), at(step.peer, step.from_buffer, step.from), step.amount);
}

void Execution::combine(const Step& step) const { combine(step, at(step.from_buffer, step.from), 0, step.amount); }

/// So many bytes from `offset` of the reduction on; `from`: of them.
void Execution::combine(const Step& step, const std::byte* from, std::size_t offset, std::size_t bytes) const {
  if (bytes == 0) return;
  std::byte* to = at(step.to_buffer, step.to) + offset;
  if (step.pair != 0) {
    const std::byte* with = at(static_cast<std::uint8_t>(step.pair - 1), step.block) + offset;
    if (operator_.apart != nullptr) return operator_.apart(from, with, to, bytes, operator_.data);
    std::memcpy(to, with, bytes);
  }
  (step.order == ReduceOrder::after ? operator_.after : operator_.before)(from, to, bytes, operator_.data);
}

/// Bytes of a message that a reduction waits for: combined at once where nothing else is missing.
void Execution::take(void* self, std::uint32_t index, const std::byte* bytes, std::size_t offset, std::size_t count) {
  Execution& own = *static_cast<Execution*>(self);
  const Step& step = own.program_.steps[index];
  std::uint32_t& needs = own.needs_[step.pair - 1];
  const std::size_t element = own.operator_.element;
  const bool whole = count == step.amount || (element != 0 && count % element == 0);
  if (offset == 0 && needs == 1 && whole) {
    needs |= done_early;
    if (own.trace_.begins != nullptr) own.trace_.begins[step.pair - 1] = nanoseconds();
  }
  if ((needs & done_early) != 0) own.combine(own.program_.steps[step.pair - 1], bytes, offset, count);
  else std::memcpy(own.at(step.to_buffer, step.to) + offset, bytes, count);
}

bool progress(Transport& transport) {
  Token tokens[32];
  for (bool any = false;; any = true) {
    const std::size_t count = transport.poll(tokens, std::size(tokens));
    for (std::size_t i = 0; i < count; ++i) static_cast<Execution*>(tokens[i].owner)->ended(tokens[i].step);
    for (std::size_t i = 0; i < count; ++i) static_cast<Execution*>(tokens[i].owner)->go_on();
    if (count < std::size(tokens)) return any || count > 0;
  }
}

}  // namespace isthmus::runtime

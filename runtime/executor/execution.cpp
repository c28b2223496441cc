#include "runtime/executor/execution.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/assert.hpp"

namespace isthmus::runtime {

using schedule::Edge;
using schedule::OpKind;
using schedule::ReduceOrder;

namespace {

std::int64_t nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Execution::Execution(const Program& program)
    : program_(program), needs_(program.needs.size()), ready_(program.needs.size()) {}

Status Execution::start(Transport& transport, std::uint32_t context, std::span<std::byte* const> buffers,
                        const Operator& op, bool computes, bool counted) {
  transport_ = &transport;
  context_ = context;
  operator_ = op;
  computes_ = computes;
  counted_ = counted;
  std::copy(buffers.begin(), buffers.end(), buffers_);
  std::copy(program_.needs.begin(), program_.needs.end(), needs_.begin());
  std::copy(program_.first.begin(), program_.first.end(), ready_.begin());
  next_ = 0;
  end_ = program_.first.size();
  left_ = program_.steps.size();
  if (left_ == 0 && counted_) transport.retire(context);
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
  const Key key{context_, step.comm, step.tag};
  switch (step.kind) {
    case OpKind::send:
      if (!transport_->send(step.peer, key, at(step.from_buffer, step.from), step.amount, {this, index})) return;
      break;
    case OpKind::recv:
      if (!transport_->recv(step.peer, key, at(step.to_buffer, step.to), step.amount, {this, index})) return;
      break;
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
  if (--left_ == 0 && counted_) transport_->retire(context_);
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

void Execution::combine(const Step& step) const {
  const std::byte* from = at(step.from_buffer, step.from);
  std::byte* to = at(step.to_buffer, step.to);
  const Combine with = step.order == ReduceOrder::after ? operator_.after : operator_.before;
  if (step.amount > 0) with(from, to, step.amount, operator_.data);
}

void progress(Transport& transport) {
  Token tokens[32];
  for (;;) {
    const std::size_t count = transport.poll(tokens, std::size(tokens));
    for (std::size_t i = 0; i < count; ++i) static_cast<Execution*>(tokens[i].owner)->ended(tokens[i].step);
    for (std::size_t i = 0; i < count; ++i) static_cast<Execution*>(tokens[i].owner)->go_on();
    if (count < std::size(tokens)) return;
  }
}

}  // namespace isthmus::runtime

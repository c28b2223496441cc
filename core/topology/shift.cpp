#include "topology/shift.hpp"

#include <algorithm>

namespace isthmus::topology {

ShiftNetwork::ShiftNetwork(const ShiftParameters& p)
    : RouterTopology(p.kind),
      kautz_(p.kind == "kautz"),
      degree_(p.degree),
      length_(p.length),
      letters_(p.degree + (kautz_ ? 1 : 0)) {
  require(p.degree >= 2 && p.degree <= 1024, kind_, ": d = ", p.degree, "; must be 2 to 1024");
  require(p.length >= 1 && p.length <= 31, kind_, ": k = ", p.length, "; must be 1 to 31");
  std::uint64_t tail = 1;
  powers_.push_back(1);
  for (std::uint32_t i = 0; i < length_; ++i) {
    if (i + 1 < length_) tail *= degree_;
    require(tail * letters_ < (std::uint64_t{1} << 32) && powers_.back() < (std::uint64_t{1} << 52), kind_,
            ": too many vertices for 32-bit ids");
    powers_.push_back(powers_.back() * letters_);
  }
  tail_ = static_cast<std::uint32_t>(tail);
  const std::uint64_t routers = tail * letters_;
  // Every constant word of a de Bruijn graph would link to itself; these words are evenly spaced.
  const std::uint64_t loops = kautz_ ? 0 : degree_;
  if (!kautz_) loop_period_ = degree_ * ((routers - 1) / (degree_ - 1)) + 1;
  dimensions_.push_back({"router", static_cast<std::uint32_t>(routers)});
  classes_.push_back({"shift"});
  set_routers(routers, routers, p.nodes_per_router, routers * degree_ - loops);
  spec_ = message(kind_, ":d=", degree_, ",k=", length_, has_terminals() ? message(",p=", p.nodes_per_router) : "");
}

std::uint64_t ShiftNetwork::word(Vertex r) const {
  if (!kautz_) return r;
  std::uint32_t letter = r / tail_;
  std::uint64_t out = letter;
  std::uint32_t rest = r % tail_;
  std::uint32_t place = tail_;
  for (std::uint32_t i = 1; i < length_; ++i) {
    place /= degree_;
    const std::uint32_t code = rest / place;
    rest -= code * place;
    letter = code < letter ? code : code + 1;
    out = out * letters_ + letter;
  }
  return out;
}

std::uint32_t ShiftNetwork::letter_at_end(Vertex r) const { return static_cast<std::uint32_t>(word(r) % letters_); }

std::string ShiftNetwork::label(Vertex vertex) const {
  require_vertex(vertex);
  const std::uint64_t w = word(router_of(vertex));
  std::string text;
  for (std::uint32_t i = 0; i < length_; ++i) {
    text += message(i && letters_ > 10 ? "." : "", w / powers_[length_ - 1 - i] % letters_);
  }
  return message(vertex < nodes_ ? "node " : "router ", vertex < nodes_ ? vertex : vertex - nodes_, " (", text, ")");
}

Vertex ShiftNetwork::shifted(Vertex r, std::uint32_t code) const {
  const std::uint32_t rest = r % tail_;
  if (!kautz_) return rest * degree_ + code;
  if (length_ == 1) return code < r ? code : code + 1;
  // The second letter becomes the first and is written out; the codes after it stay.
  const std::uint32_t place = tail_ / degree_;
  const std::uint32_t first = r / tail_;
  const std::uint32_t second = rest / place;
  return (second < first ? second : second + 1) * tail_ + rest % place * degree_ + code;
}

LinkId ShiftNetwork::link_number(Vertex r, std::uint32_t code) const {
  const std::uint64_t number = static_cast<std::uint64_t>(r) * degree_ + code;
  if (kautz_) return static_cast<LinkId>(number);
  return static_cast<LinkId>(number - (number + loop_period_ - 1) / loop_period_);
}

Link ShiftNetwork::router_link(LinkId id) const {
  const std::uint64_t number = kautz_ ? id : id + 1 + id / (loop_period_ - 1);
  const auto r = static_cast<Vertex>(number / degree_);
  return {r, shifted(r, static_cast<std::uint32_t>(number % degree_))};
}

void ShiftNetwork::router_out_links(Vertex r, std::vector<LinkId>& out) const {
  for (std::uint32_t code = 0; code < degree_; ++code) {
    if (shifted(r, code) != r) out.push_back(link_number(r, code));
  }
}

std::uint32_t ShiftNetwork::router_distance(Vertex r, Vertex s) const {
  const std::uint64_t a = word(r);
  const std::uint64_t b = word(s);
  std::uint32_t shift = 0;
  while (a % powers_[length_ - shift] != b / powers_[shift]) ++shift;
  return shift;
}

LinkId* ShiftNetwork::write_router_route(Vertex r, Vertex s, std::uint32_t /*salt*/, LinkId* out) const {
  const std::uint64_t b = word(s);
  for (std::uint32_t left = router_distance(r, s); left-- > 0;) {
    const auto letter = static_cast<std::uint32_t>(b / powers_[left] % letters_);
    const std::uint32_t code = kautz_ && letter > letter_at_end(r) ? letter - 1 : letter;
    *out++ = link_number(r, code);
    r = shifted(r, code);
  }
  return out;
}

Estimate ShiftNetwork::router_diameter() const { return {static_cast<double>(length_), true}; }

std::uint32_t ShiftNetwork::virtual_channels(Routing routing) const {
  // One channel per hop: the inner hops are numbered 1 .. length after the terminal link.
  const std::uint32_t inner = length_ + (has_terminals() ? 2 : 0);
  return routing == Routing::valiant ? 2 * inner : inner;
}

template class RouterTopology<ShiftNetwork>;

}  // namespace isthmus::topology

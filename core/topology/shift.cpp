#include "topology/shift.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::topology {
namespace {

/// Routers whose words are kept: 32 MiB.
constexpr std::uint64_t most_words = std::uint64_t{1} << 22;

}  // namespace

ShiftNetwork::ShiftNetwork(const ShiftParameters& p)
    : RouterTopology(p.kind),
      kautz_(p.kind == "kautz"),
      degree_(p.degree),
      length_(p.length),
      letters_(p.degree + (kautz_ ? 1 : 0)),
      bits_(static_cast<std::uint32_t>(std::bit_width(letters_ - 1))) {
  require(p.degree >= 2 && p.degree <= 1024, kind_, ": d = ", p.degree, "; must be 2 to 1024");
  require(p.length >= 1 && p.length <= 31, kind_, ": k = ", p.length, "; must be 1 to 31");
  std::uint64_t tail = 1;
  for (std::uint32_t i = 0; i < length_; ++i) {
    if (i + 1 < length_) tail *= degree_;
    require(tail * letters_ < (std::uint64_t{1} << 32), kind_, ": too many vertices for 32-bit ids");
  }
  tail_ = static_cast<std::uint32_t>(tail);
  const std::uint64_t routers = tail * letters_;
  // Every constant word of a de Bruijn graph would link to itself; these words are evenly spaced.
  const std::uint64_t loops = kautz_ ? 0 : degree_;
  if (!kautz_) loop_period_ = degree_ * ((routers - 1) / (degree_ - 1)) + 1;
  dimensions_.push_back({"router", static_cast<std::uint32_t>(routers)});
  classes_.push_back({"shift"});
  set_routers(routers, routers, p.nodes_per_router, routers * degree_ - loops);
  if (routers <= most_words) spell_all();
  spec_ = message(kind_, ":d=", degree_, ",k=", length_, has_terminals() ? message(",p=", p.nodes_per_router) : "");
}

void ShiftNetwork::spell_all() {
  words_.resize(letters_);
  for (std::uint32_t i = 0; i < letters_; ++i) words_[i] = i;
  for (std::uint32_t length = 1; length < length_; ++length) {
    std::vector<std::uint64_t> longer;
    longer.reserve(words_.size() * degree_);
    for (const std::uint64_t w : words_) {
      for (std::uint32_t code = 0; code < degree_; ++code) longer.push_back(continued(w, code));
    }
    words_ = std::move(longer);
  }
}

std::uint64_t ShiftNetwork::spelled(Vertex r) const {
  std::uint64_t out = r / tail_;
  std::uint32_t rest = r % tail_;
  std::uint32_t place = tail_;
  for (std::uint32_t i = 1; i < length_; ++i) {
    place /= degree_;
    out = continued(out, rest / place);
    rest %= place;
  }
  return out;
}

std::string ShiftNetwork::label(Vertex vertex) const {
  require_vertex(vertex);
  const std::uint64_t w = word(router_of(vertex));
  std::string text;
  for (std::uint32_t i = 0; i < length_; ++i) {
    text += message(i && letters_ > 10 ? "." : "", letter(w, length_ - 1 - i));
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
  // The last letters of the source beside the first ones of the destination, one fewer each time.
  std::uint64_t kept = (std::uint64_t{1} << (length_ * bits_)) - 1;
  while ((a & kept) != b >> (shift * bits_)) {
    kept >>= bits_;
    ++shift;
  }
  return shift;
}

LinkId* ShiftNetwork::write_router_route(Vertex r, Vertex s, std::uint32_t /*salt*/, LinkId* out) const {
  const std::uint64_t b = word(s);
  for (std::uint32_t left = router_distance(r, s); left-- > 0;) {
    const std::uint32_t appended = letter(b, left);
    const std::uint32_t code = kautz_ && appended > letter(word(r), 0) ? appended - 1 : appended;
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

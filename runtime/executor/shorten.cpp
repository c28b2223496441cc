#include "runtime/executor/shorten.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace isthmus::runtime {
namespace {

using schedule::Edge;
using schedule::OpKind;

bool reads(const Step& step) {
  return step.kind == OpKind::send || step.kind == OpKind::copy || step.kind == OpKind::reduce;
}
bool writes(const Step& step) {
  return step.kind == OpKind::recv || step.kind == OpKind::copy || step.kind == OpKind::reduce;
}
bool in_blocks(const Step& step) { return step.kind == OpKind::copy && step.block != 0; }

/// Bytes of a buffer that are a copy of bytes of the input, or all those that are not known to be.
struct Copied {
  std::uint64_t end = 0;
  std::uint64_t source = 0;  ///< offset in the input
  std::uint32_t by = 0;      ///< the copy
};

/// What of a buffer is a copy of the input, by offset.
class Copies {
 public:
  /// The piece that holds all of it; null if there is none.
  const std::pair<const std::uint64_t, Copied>* around(std::uint64_t begin, std::uint64_t bytes) const {
    auto at = pieces_.upper_bound(begin);
    if (at == pieces_.begin()) return nullptr;
    --at;
    return begin + bytes <= at->second.end ? &*at : nullptr;
  }
  template <class F>
  void each(std::uint64_t begin, std::uint64_t end, const F& f) const {
    auto at = pieces_.upper_bound(begin);
    if (at != pieces_.begin() && std::prev(at)->second.end > begin) --at;
    for (; at != pieces_.end() && at->first < end; ++at) f(at->first, at->second);
  }
  void erase(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::pair<std::uint64_t, Copied>> touched;
    each(begin, end, [&](std::uint64_t first, const Copied& piece) { touched.emplace_back(first, piece); });
    for (const auto& [first, piece] : touched) {
      pieces_.erase(first);
      if (first < begin) pieces_[first] = {begin, piece.source, piece.by};
      if (piece.end > end) pieces_[end] = {piece.end, piece.source + (end - first), piece.by};
    }
  }
  void put(std::uint64_t begin, const Copied& piece) {
    if (begin < piece.end) pieces_[begin] = piece;
  }
  void clear() { pieces_.clear(); }

 private:
  std::map<std::uint64_t, Copied> pieces_;
};

constexpr std::uint64_t all = ~std::uint64_t{0};

class Shortening {
 public:
  Shortening(Program& program, const Roles& roles)
      : program_(program), roles_(roles), fate_(program.steps.size()), rewritten_(program.steps.size()) {}

  void run() {
    const auto is_input_written = [&](const Step& s) {
      return writes(s) && s.amount > 0 && s.to_buffer == roles_.input;
    };
    const auto is_copy_of_input = [&](const Step& s) {
      return s.kind == OpKind::copy && s.from_buffer == roles_.input;
    };
    if (std::ranges::any_of(program_.steps, is_copy_of_input) &&
        std::ranges::none_of(program_.steps, is_input_written)) {
      for (const std::uint32_t index : in_order()) step(index);
      leave_out();
    }
    pair_up();
  }

 private:
  enum class Fate : std::uint8_t { open, kept };

  std::vector<std::uint32_t> in_order() const {
    std::vector<std::uint32_t> needs = program_.needs, order = program_.first;
    order.reserve(needs.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t index = order[i];
      for (std::uint32_t e = program_.steps[index].first_edge; e < program_.end_of_edges(index); ++e)
        if (--needs[program_.edges[e].to()] == 0) order.push_back(program_.edges[e].to());
    }
    return order;
  }

  Copies* copies(std::uint8_t buffer) {
    return buffer == roles_.output ? &output_ : buffer == roles_.scratch ? &scratch_ : nullptr;
  }

  /// Somebody reads what the copies wrote there.
  void keep(std::uint8_t buffer, std::uint64_t begin, std::uint64_t end) {
    if (const Copies* found = copies(buffer))
      found->each(begin, end, [&](std::uint64_t, const Copied& piece) { fate_[piece.by] = Fate::kept; });
  }

  /// Where the same bytes are in the input.
  bool find(std::uint8_t buffer, std::uint64_t begin, std::uint64_t bytes, std::uint64_t& source) {
    const Copies* const found = copies(buffer);
    const auto* const piece = found == nullptr || bytes == 0 ? nullptr : found->around(begin, bytes);
    if (piece != nullptr) source = piece->second.source + (begin - piece->first);
    return piece != nullptr;
  }

  void step(std::uint32_t index) {
    Step& s = program_.steps[index];
    if (in_blocks(s)) {
      keep(s.from_buffer, 0, all);
      keep(s.to_buffer, 0, all);
      if (Copies* const found = copies(s.to_buffer)) found->clear();
      return;
    }
    std::uint64_t source = 0;
    if (reads(s)) {
      if (find(s.from_buffer, s.from, s.amount, source)) {
        s.from_buffer = roles_.input;
        s.from = source;
        rewritten_[index] = true;
      } else {
        keep(s.from_buffer, s.from, s.from + s.amount);
      }
    }
    if (s.kind == OpKind::reduce) {
      if (find(s.to_buffer, s.to, s.amount, source)) {
        s.pair = roles_.input + 1U;
        s.block = source;
      } else {
        keep(s.to_buffer, s.to, s.to + s.amount);
      }
    }
    if (!writes(s)) return;
    Copies* const target = copies(s.to_buffer);
    if (target == nullptr) return;
    target->erase(s.to, s.to + s.amount);
    if (s.kind == OpKind::copy && s.from_buffer == roles_.input) target->put(s.to, {s.to + s.amount, s.from, index});
  }

  /// Copies of which nothing is needed at the end, and dependencies on what reads the input alone.
  void leave_out() {
    output_.each(0, all, [&](std::uint64_t, const Copied& piece) { fate_[piece.by] = Fate::kept; });
    const auto count = static_cast<std::uint32_t>(program_.steps.size());
    std::vector<bool> gone(count);
    std::vector<std::uint32_t> needs = program_.needs;
    const auto edges_of = [&](std::uint32_t index, const auto& f) {
      for (std::uint32_t e = program_.steps[index].first_edge; e < program_.end_of_edges(index); ++e)
        f(program_.edges[e]);
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      Step& s = program_.steps[i];
      if (s.kind != OpKind::copy || in_blocks(s) || s.from_buffer != roles_.input || fate_[i] == Fate::kept) continue;
      if (program_.needs[i] > 0) {
        s.amount = 0;  // others are ordered by it
        continue;
      }
      gone[i] = true;
      edges_of(i, [&](const Edge& edge) { --needs[edge.to()]; });
    }
    // A send that waits for nothing and reads the input alone holds up nobody but later messages.
    const auto is_free = [&](std::uint32_t i, const Edge& edge) {
      const OpKind after = program_.steps[edge.to()].kind;
      return rewritten_[i] && program_.steps[i].kind == OpKind::send && free_[i] && after != OpKind::send;
    };
    free_.assign(count, false);
    for (std::uint32_t i = 0; i < count; ++i) free_[i] = !gone[i] && needs[i] == 0;
    for (std::uint32_t i = 0; i < count; ++i)
      edges_of(i, [&](const Edge& edge) {
        if (!gone[i] && is_free(i, edge)) --needs[edge.to()];
      });
    std::vector<std::uint32_t> number(count);
    std::uint32_t left = 0;
    for (std::uint32_t i = 0; i < count; ++i) number[i] = gone[i] ? 0 : left++;
    Program out;
    out.buffers = std::move(program_.buffers);
    out.steps.reserve(left);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (gone[i]) continue;
      out.steps.push_back(program_.steps[i]);
      out.steps.back().first_edge = static_cast<std::uint32_t>(out.edges.size());
      edges_of(i, [&](const Edge& edge) {
        if (!is_free(i, edge)) out.edges.emplace_back(number[edge.to()], edge.on_start());
      });
      out.needs.push_back(needs[i]);
      if (needs[i] == 0) out.first.push_back(number[i]);
    }
    program_ = std::move(out);
  }

  /// Receives into scratch that one reduction alone reads, all of them at once.
  void pair_up() {
    struct Read {
      std::uint64_t begin, end;
      bool by_pair;
    };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::vector<bool> paired(program_.steps.size());
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      const Step& r = program_.steps[i];
      if (r.kind != OpKind::recv || r.to_buffer != roles_.scratch || r.amount == 0) continue;
      std::uint32_t waiting = 0, last = 0;
      for (std::uint32_t e = r.first_edge; e < program_.end_of_edges(i); ++e) {
        if (program_.edges[e].on_start()) continue;
        ++waiting;
        last = program_.edges[e].to();
      }
      if (waiting != 1) continue;
      const Step& x = program_.steps[last];
      if (x.kind != OpKind::reduce || x.from_buffer != r.to_buffer || x.from != r.to || x.amount != r.amount) continue;
      pairs.emplace_back(i, last);
      paired[last] = true;
    }
    if (pairs.empty()) return;
    std::vector<Read> all_reads;
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      const Step& s = program_.steps[i];
      if (in_blocks(s) && s.from_buffer == roles_.scratch) return;  // that may be anywhere
      if (s.amount == 0) continue;
      if (reads(s) && s.from_buffer == roles_.scratch) all_reads.push_back({s.from, s.from + s.amount, paired[i]});
      if (s.kind == OpKind::reduce && s.to_buffer == roles_.scratch && s.pair == 0)
        all_reads.push_back({s.to, s.to + s.amount, false});
    }
    std::ranges::sort(all_reads, {}, &Read::begin);
    // By groups of reads that overlap: those of pairs alone, of the same bytes, are what their receives wrote.
    std::map<std::uint64_t, std::uint64_t> good;
    for (std::size_t i = 0; i < all_reads.size();) {
      const Read& first = all_reads[i];
      std::uint64_t end = first.end;
      bool alike = true;
      for (; i < all_reads.size() && all_reads[i].begin < end; ++i) {
        alike = alike && all_reads[i].by_pair && all_reads[i].begin == first.begin && all_reads[i].end == first.end;
        end = std::max(end, all_reads[i].end);
      }
      if (alike) good.emplace(first.begin, first.end);
    }
    for (const auto& [receive, reduction] : pairs) {
      Step& r = program_.steps[receive];
      if (good.contains(r.to)) r.pair = reduction + 1;
    }
  }

  Program& program_;
  Roles roles_;
  Copies output_, scratch_;
  std::vector<Fate> fate_;
  std::vector<bool> rewritten_, free_;
};

}  // namespace

void shorten(Program& program, const Roles& roles) { Shortening(program, roles).run(); }

}  // namespace isthmus::runtime

#include "mapping/regular/grid_growth.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/interruption.hpp"
#include "base/rng.hpp"
#include "mapping/regular/crosses.hpp"
#include "mapping/regular/patch_join.hpp"

namespace isthmus::mapping {
namespace {

/// What it counts against a cell that a placed vertex beside it is no neighbour.
constexpr double price_of_stranger = 0.5;
/// Where many edges are missing, strangers say less, and growth goes on with who is a little surer.
constexpr double bold_price = 0.25;
constexpr double little = 0.5;

std::vector<Position> steps_of(std::size_t dimensions, bool box) {
  std::vector<Position> out;
  std::size_t all = 1;
  for (std::size_t k = 0; k < dimensions; ++k) all *= 3;
  for (std::size_t i = 0; i < all; ++i) {
    Position p{};
    std::size_t rest = i;
    int sum = 0;
    for (std::size_t k = 0; k < dimensions; ++k, rest /= 3) {
      p[k] = static_cast<std::int32_t>(rest % 3) - 1;
      sum += std::abs(p[k]);
    }
    if (sum == 1 || (box && sum > 0)) out.push_back(p);
  }
  return out;
}

class Growth {
 public:
  Growth(const Csr& graph, const GridGuess& guess, std::uint64_t seed, std::uint64_t& work, std::uint64_t most,
         bool bold)
      : graph_(graph), guess_(guess), work_(work), most_(most), bold_(bold) {
    const std::uint32_t n = graph.vertices();
    out_.dimensions = guess.dimensions;
    out_.steps = steps_of(guess.dimensions, guess.box);
    out_.at.resize(n);
    patch_.assign(n, nothing);
    dirty_.assign(n, false);
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0U);
    Rng rng(n + (seed << 32));
    for (std::uint32_t i = n; i-- > 1;) std::swap(order_[i], order_[rng.below(i + 1)]);
    mark_.assign(n, 0);
  }

  std::optional<GridLayout> run() {
    const std::uint32_t n = graph_.vertices();
    constexpr std::size_t first_patches = 32;  // then it is known whether they grow
    constexpr std::uint32_t least_patch = 32;
    constexpr int most_idle = 32;
    for (int idle = 0;;) {
      const auto begin = beginning();
      if (begin.empty()) break;
      patches_.emplace_back();
      begin_patch(begin);
      spread();
      if (work_ > most_) return std::nullopt;
      const std::size_t size = patches_.back().members.size();
      join_last();
      // What is left when most are in one patch has too few edges to say where it belongs.
      idle = size < least_patch && 2 * patches_[largest()].members.size() > n ? idle + 1 : 0;
      if (idle == most_idle) break;
      const bool now_and_then = std::has_single_bit(patches_.size());
      if (now_and_then) join_all();
      if (work_ > most_) return std::nullopt;
      if (!now_and_then) continue;
      std::uint64_t placed = 0;
      for (const Patch& p : patches_) placed += p.members.size();
      const bool small = placed < std::min<std::uint64_t>(n / 2, least_patch * patches_.size());
      if ((patches_.size() >= first_patches && small) || !consistent()) return std::nullopt;
    }
    join_all();
    if (work_ > most_ || !consistent()) return std::nullopt;
    if (patches_.empty()) return std::nullopt;
    constexpr int most_cuts = 3;
    for (int i = 0; bold_ && i < most_cuts && cut(); ++i) {
      join_all();
      if (work_ > most_) return std::nullopt;
    }
    return finished();
  }

 private:
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  struct Candidate {
    Position at;
    std::uint32_t votes;
    std::uint64_t voters;
  };
  struct Verdict {
    Position at{};
    double score = 0;
    double margin = 0;  ///< over cells that some of the same neighbours speak for
  };

  /// The best beginning of the next few vertices that are nowhere yet; empty when there are no more.
  std::vector<Beginning> beginning() {
    std::vector<Beginning> best;
    constexpr int enough = 64;
    int looked = 0;
    const std::size_t full = 2 * guess_.dimensions + 1;
    while (next_ < order_.size() && (looked < enough || best.empty()) && best.size() < full && work_ <= most_) {
      if ((next_ & 0xFF) == 0) interruption_point();
      const std::uint32_t v = order_[next_++];
      const auto row = graph_.row(v);
      if (patch_[v] != nothing || row.size() > 63) continue;
      ++looked;
      work_ += row.size() * row.size() * 8;
      auto found = guess_.box ? cross_of_box(graph_, v, guess_.dimensions)
                              : cross(row, squares_at(graph_, v), guess_.dimensions);
      // With one opposite at least: from squares alone nothing grows.
      if (found.size() <= guess_.dimensions || found.size() + 1 <= best.size()) continue;
      std::erase_if(found, [&](const Beginning& b) { return patch_[b.vertex] != nothing; });
      found.push_back({v, {}});
      if (found.size() > std::max(best.size(), guess_.dimensions + 1)) best = std::move(found);
    }
    return best;
  }

  void begin_patch(const std::vector<Beginning>& begin) {
    for (auto& vertices : unsure_) vertices.clear();
    current_ = static_cast<std::uint32_t>(patches_.size() - 1);
    for (const Beginning& b : begin) put(b.vertex, b.at);
    for (const Beginning& b : begin) announce(b.vertex);
  }

  void put(std::uint32_t v, const Position& p) {
    out_.at[v] = p;
    patch_[v] = current_;
    patches_[current_].cells.put(p, v);
    patches_[current_].members.push_back(v);
  }

  /// Who may be placed now that v is: its neighbours, and on plain grids those of the vertices beside it.
  void announce(std::uint32_t v) {
    for (const std::uint32_t w : graph_.row(v)) push(w);
    if (guess_.box) return;
    for (const Position& step : out_.steps) {
      const std::uint32_t w = patches_[current_].cells.at(out_.at[v] + step);
      if (w == Cells::nobody) continue;
      for (const std::uint32_t u : graph_.row(w)) push(u);
    }
  }

  void push(std::uint32_t u) {
    if (patch_[u] != nothing) return;
    dirty_[u] = true;
    std::size_t count = 0;
    for (const std::uint32_t w : graph_.row(u)) count += patch_[w] == current_;
    work_ += graph_.row(u).size();
    if (guess_.box && count < 2) return;
    count = std::min(count, ready_.size() - 1);
    ready_[count].vertices.push_back(u);
    highest_ = std::max(highest_, count);
  }

  /// Places all that can be placed from what there is.
  void spread() {
    while (work_ <= most_) {
      if (highest_ > 0) {
        Queue& queue = ready_[highest_];
        if (queue.next == queue.vertices.size()) {
          queue = {};
          --highest_;
          continue;
        }
        const std::uint32_t v = queue.vertices[queue.next++];
        if ((queue.next & 0x3F) == 0) interruption_point();
        if (patch_[v] != nothing || !dirty_[v]) continue;
        dirty_[v] = false;
        const Verdict found = verdict(v);
        if (found.margin >= 1 && found.score > 0) {
          put(v, found.at);
          announce(v);
        } else if (bold_ && found.margin >= little && found.score >= 1) {
          const std::size_t votes = std::min(static_cast<std::size_t>(found.score), unsure_.size() - 1);
          unsure_[votes].push_back(v);
          highest_unsure_ = std::max(highest_unsure_, votes);
        }
        continue;
      }
      if (!place_unsure()) return;
    }
  }

  /// Where nobody is sure: whoever is a little surer of one cell than of others and has most votes for it.
  bool place_unsure() {
    while (highest_unsure_ > 0 && work_ <= most_) {
      auto& vertices = unsure_[highest_unsure_];
      if (vertices.empty()) {
        --highest_unsure_;
        continue;
      }
      const std::uint32_t v = vertices.back();
      vertices.pop_back();
      if (patch_[v] != nothing) continue;
      const Verdict found = verdict(v);
      if (found.margin < little || found.score <= 0) continue;
      put(v, found.at);
      announce(v);
      return true;
    }
    return false;
  }

  Verdict verdict(std::uint32_t v) {
    const Cells& cells = patches_[current_].cells;
    candidates_.clear();
    votes_.clear();
    std::uint64_t voter = 1;
    ++stamp_;
    for (const std::uint32_t w : graph_.row(v)) {
      mark_[w] = stamp_;
      if (patch_[w] != current_) continue;
      for (const Position& step : out_.steps) votes_.push_back({packed(out_.at[w] + step), voter});
      voter <<= 1;
    }
    work_ += votes_.size() * (guess_.box ? 12 : 6);
    std::sort(votes_.begin(), votes_.end());
    for (std::size_t i = 0; i < votes_.size();) {
      Candidate c{unpacked(votes_[i].first), 0, 0};
      const std::uint64_t key = votes_[i].first;
      for (; i < votes_.size() && votes_[i].first == key; ++i) {
        ++c.votes;
        c.voters |= votes_[i].second;
      }
      if (cells.free(c.at)) candidates_.push_back(c);
    }
    if (candidates_.empty()) return {};
    std::uint32_t most = 0;
    for (const Candidate& c : candidates_) most = std::max(most, c.votes);
    // Strangers are counted where they may decide.
    const auto score = [&](const Candidate& c) {
      double strangers = 0;
      for (const Position& step : out_.steps) {
        const std::uint32_t w = cells.at(c.at + step);
        strangers += w != Cells::nobody && mark_[w] != stamp_;
      }
      work_ += out_.steps.size();
      return c.votes - (bold_ ? bold_price : price_of_stranger) * strangers;
    };
    const Candidate* best = nullptr;
    double best_score = 0;
    for (const Candidate& c : candidates_) {
      if (c.votes + 1 < most) continue;
      const double s = score(c);
      if (best == nullptr || s > best_score) {
        best = &c;
        best_score = s;
      }
    }
    double second = 0;
    for (const Candidate& c : candidates_) {
      if (&c == best || (c.voters & best->voters) == 0 || c.votes <= second) continue;
      // Strangers on one side say little where there are few votes: edges may be missing there.
      second = std::max(second, guess_.box ? score(c) : c.votes);
    }
    return {best->at, best_score, (guess_.box ? best_score : best->votes) - second};
  }

  /// Joins the last patch, and what it became part of, with those that they have most edges with, where these tell how.
  void join_last() {
    auto p = static_cast<std::uint32_t>(patches_.size() - 1);
    while (p != nothing && p != largest() && work_ <= most_) p = join_nearest(p);
  }

  /// Tries all of them.
  void join_all() {
    for (bool any = true; any && work_ <= most_;) {
      any = false;
      const std::uint32_t main = largest();
      for (std::uint32_t p = 0; p < patches_.size() && work_ <= most_; ++p) {
        interruption_point();
        if (p != main && !patches_[p].members.empty()) any |= join_nearest(p) != nothing;
      }
    }
  }

  [[nodiscard]] std::uint32_t largest() const {
    std::uint32_t out = 0;
    for (std::uint32_t p = 0; p < patches_.size(); ++p) {
      if (patches_[p].members.size() > patches_[out].members.size()) out = p;
    }
    return out;
  }

  /// The patch of both, after it grew on; nothing where they do not fit together.
  std::uint32_t join_nearest(std::uint32_t p) {
    const std::uint32_t other = nearest_patch(p);
    if (other == nothing) return nothing;
    const bool into = patches_[other].members.size() >= patches_[p].members.size();
    const std::size_t sizes = patches_[other].members.size() + patches_[p].members.size();
    std::size_t& tried = patches_[into ? p : other].tried;
    if (tried == sizes) return nothing;
    tried = sizes;
    if (!join(into ? other : p, into ? p : other)) return nothing;
    spread();
    return into ? other : p;
  }

  /// The patch that shares most edges with this one.
  std::uint32_t nearest_patch(std::uint32_t p) {
    shared_.assign(patches_.size(), 0);
    for (const std::uint32_t v : patches_[p].members) {
      work_ += graph_.row(v).size();
      for (const std::uint32_t w : graph_.row(v)) {
        if (patch_[w] != nothing && patch_[w] != p) ++shared_[patch_[w]];
      }
    }
    const auto most = std::max_element(shared_.begin(), shared_.end());
    return *most == 0 ? nothing : static_cast<std::uint32_t>(most - shared_.begin());
  }

  bool join(std::uint32_t main, std::uint32_t part) {
    std::vector<PatchEdge> edges;
    std::vector<Position> cells;
    for (const std::uint32_t v : patches_[part].members) {
      cells.push_back(out_.at[v]);
      for (const std::uint32_t w : graph_.row(v)) {
        if (patch_[w] == main) edges.push_back({out_.at[w], out_.at[v]});
      }
    }
    const auto motion = find_motion(edges, cells, patches_[main].cells, out_.dimensions, out_.steps, work_);
    if (!motion) return false;
    current_ = main;
    const std::vector<std::uint32_t> members = std::move(patches_[part].members);
    patches_[part] = {};
    std::vector<std::uint32_t> moved;
    for (const std::uint32_t v : members) {
      const Position p = motion->apply(out_.at[v]);
      patch_[v] = nothing;
      if (!patches_[main].cells.free(p)) continue;
      put(v, p);
      moved.push_back(v);
    }
    for (const std::uint32_t v : moved) announce(v);
    for (const std::uint32_t v : members) push(v);
    return true;
  }

  /// The largest patch, and beside it those that are large and not joined; small ones are left to others.
  std::optional<GridLayout> finished() {
    std::sort(patches_.begin(), patches_.end(),
              [](const Patch& a, const Patch& b) { return a.members.size() > b.members.size(); });
    out_.placed.assign(graph_.vertices(), false);
    std::int32_t base = 0;
    std::size_t placed = 0;
    for (std::size_t p = 0; p < patches_.size(); ++p) {
      const auto& members = patches_[p].members;
      if (members.empty() || (p > 0 && members.size() * 50 < patches_[0].members.size())) break;
      // What hangs on the others belongs among them.
      if (p > 0 && edges_to_placed(members) * 50 > members.size()) continue;
      std::int32_t low = out_.at[members[0]][0];
      for (const std::uint32_t v : members) low = std::min(low, out_.at[v][0]);
      std::int32_t high = 0;
      for (const std::uint32_t v : members) {
        if (p > 0) out_.at[v][0] += base - low;
        high = std::max(high, out_.at[v][0]);
        out_.cells.put(out_.at[v], v);
        out_.placed[v] = true;
      }
      base = std::max(base, high + 2);
      placed += members.size();
    }
    if (2 * placed < graph_.vertices()) return std::nullopt;
    return std::move(out_);
  }

  [[nodiscard]] bool is_step(std::uint32_t v, std::uint32_t w) const {
    return std::find(out_.steps.begin(), out_.steps.end(), out_.at[w] - out_.at[v]) != out_.steps.end();
  }

  /// One wrong place shifts all that grew from it. Takes vertices off their places that have edges which are no steps,
  /// and their neighbours; what holds together then by steps are patches, which are joined anew. False where all fits.
  bool cut() {
    const std::uint32_t n = graph_.vertices();
    constexpr std::size_t least_part = 12;
    std::vector<bool> wrong(n, false);
    std::size_t count = 0;
    for (std::uint32_t v = 0; v < n; ++v) {
      if (patch_[v] == nothing) continue;
      work_ += graph_.row(v).size() * 4;
      for (const std::uint32_t w : graph_.row(v)) {
        if (patch_[w] != patch_[v] || is_step(v, w)) continue;
        wrong[v] = true;
        ++count;
        break;
      }
    }
    if (count == 0) return false;
    std::vector<bool> gone = wrong;
    for (std::uint32_t v = 0; v < n; ++v) {
      if (!wrong[v]) continue;
      for (const std::uint32_t w : graph_.row(v)) gone[w] = true;
    }
    std::vector<std::uint32_t> before = patch_;
    std::fill(patch_.begin(), patch_.end(), nothing);
    patches_.clear();
    std::vector<std::uint32_t> members;
    for (std::uint32_t begin = 0; begin < n; ++begin) {
      if (gone[begin] || before[begin] == nothing) continue;
      members.assign(1, begin);
      gone[begin] = true;
      for (std::size_t i = 0; i < members.size(); ++i) {
        for (const std::uint32_t w : graph_.row(members[i])) {
          if (gone[w] || before[w] != before[begin] || !is_step(members[i], w)) continue;
          gone[w] = true;
          members.push_back(w);
        }
      }
      if (members.size() < least_part) continue;
      patches_.emplace_back();
      current_ = static_cast<std::uint32_t>(patches_.size() - 1);
      for (const std::uint32_t v : members) put(v, out_.at[v]);
    }
    for (std::uint32_t p = 0; p < patches_.size() && work_ <= most_; ++p) {
      if (patches_[p].members.size() <= n / 4) continue;
      current_ = p;
      for (auto& vertices : unsure_) vertices.clear();
      for (const std::uint32_t v : std::vector<std::uint32_t>(patches_[p].members)) announce(v);
      spread();
    }
    return !patches_.empty();
  }

  /// Are most edges within patches steps?
  [[nodiscard]] bool consistent() {
    std::uint64_t within = 0;
    std::uint64_t steps = 0;
    for (const Patch& p : patches_) {
      for (const std::uint32_t v : p.members) {
        work_ += graph_.row(v).size();
        for (const std::uint32_t w : graph_.row(v)) {
          if (patch_[w] != patch_[v]) continue;
          ++within;
          const Position step = out_.at[w] - out_.at[v];
          steps += std::find(out_.steps.begin(), out_.steps.end(), step) != out_.steps.end();
        }
      }
    }
    return 10 * steps >= 8 * within;
  }

  [[nodiscard]] std::size_t edges_to_placed(const std::vector<std::uint32_t>& members) const {
    std::size_t count = 0;
    for (const std::uint32_t v : members) {
      for (const std::uint32_t w : graph_.row(v)) count += out_.placed[w];
    }
    return count;
  }

  struct Patch {
    std::vector<std::uint32_t> members;
    Cells cells;
    std::size_t tried = 0;  ///< sizes of both when joining was tried last
  };

  const Csr& graph_;
  GridGuess guess_;
  std::uint64_t& work_;
  std::uint64_t most_;
  bool bold_;
  GridLayout out_;
  std::vector<std::uint32_t> patch_;
  std::vector<bool> dirty_;  ///< something changed round it since it was looked at
  std::vector<std::uint32_t> order_;
  std::size_t next_ = 0;
  std::uint32_t current_ = 0;
  std::vector<Patch> patches_;
  /// First in, first out, so that patches grow round.
  struct Queue {
    std::vector<std::uint32_t> vertices;
    std::size_t next = 0;
  };
  std::array<Queue, 32> ready_;  ///< by number of placed neighbours
  std::size_t highest_ = 0;
  std::array<std::vector<std::uint32_t>, 32> unsure_;  ///< by votes
  std::size_t highest_unsure_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> votes_;  ///< packed cell, bit of the neighbour
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> shared_;
  std::vector<std::uint32_t> mark_;
  std::uint32_t stamp_ = 0;
};
}  // namespace

std::optional<GridLayout> grow_grid(const Csr& graph, const GridGuess& guess, std::uint64_t seed, std::uint64_t& steps,
                                    std::uint64_t most, bool bold) {
  return Growth(graph, guess, seed, steps, most, bold).run();
}

}  // namespace isthmus::mapping

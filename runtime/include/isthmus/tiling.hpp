// How many items one exchange carries (tile), and how many exchanges are under way at once (window): chosen by a model
// of the loop, corrected by the times of its runs. pipeline.hpp has the loop itself.
#ifndef ISTHMUS_TILING_HPP
#define ISTHMUS_TILING_HPP

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus {

/// LogGPS parameters of a message between two ranks, in seconds and seconds per byte.
struct loggp {
  double latency = 0;            ///< L
  double overhead = 0;           ///< o: a processor's time for each message
  double gap = 0;                ///< g: between messages of an interface
  double gap_per_byte = 0;       ///< G
  double overhead_per_byte = 0;  ///< O: a processor's time for each byte, which nothing hides

  [[nodiscard]] bool known() const { return latency > 0 || overhead > 0 || gap > 0 || gap_per_byte > 0; }
  /// From the notation of `isthmus simulate --machine`, such as "loggops:L=5us,o=1us,g=1us,G=8ns,O=0"; what is left out
  /// is 0. Throws std::invalid_argument.
  static loggp parse(std::string_view text);
};

/// A tile factor and a window.
struct tiling {
  std::size_t tile = 0;    ///< items of an exchange
  std::size_t window = 0;  ///< exchanges that are under way while the next tile is produced
  friend bool operator==(const tiling&, const tiling&) = default;
};

/// What a loop does in one run.
struct loop_shape {
  std::size_t items = 0;
  double bytes = 0;          ///< that a rank sends for one item
  std::size_t messages = 1;  ///< that a rank sends in one exchange, of any number of items
  std::size_t most_window = 4;
  std::size_t most_items = 0;  ///< that tile * (window + 1) may be, where slots are limited; 0: any number
};

/// A processor's seconds for one item.
struct item_times {
  double produce = 0, finish = 0;
};

/// Seconds of a run by the model: exchanges go through one interface one after the other, in the order in which they
/// were started, while the processor produces; it ends the oldest one before more than `window` would be under way.
/// tiling{items, 1} is the blocking loop. Hoefler, Lumsdaine, Rehm, "Implementation and performance analysis of
/// non-blocking collective operations for MPI" (2007), has the costs of an exchange; the loop is theirs of 3-D FFTs.
inline double predicted(const loop_shape& loop, const item_times& item, const loggp& costs, tiling t) {
  const auto messages = static_cast<double>(loop.messages);
  double processor = 0, interface = 0;
  std::vector<std::pair<double, double>> under_way;  // when each arrives, and its items: a ring
  under_way.resize(t.window);
  std::size_t oldest = 0, count = 0;
  const auto cpu = [&](double items) {
    return messages * costs.overhead + items * loop.bytes * costs.overhead_per_byte;
  };
  const auto end_oldest = [&] {
    const auto [arrives, items] = under_way[oldest];
    oldest = (oldest + 1) % t.window;
    --count;
    processor = std::max(processor, arrives) + cpu(items);
    return items;
  };
  for (std::size_t first = 0; first < loop.items; first += t.tile) {
    const auto items = static_cast<double>(std::min(t.tile, loop.items - first));
    processor += items * item.produce;
    const double ended = count == t.window ? end_oldest() : 0;
    processor += cpu(items);
    const double busy = std::max(messages * costs.gap, items * loop.bytes * costs.gap_per_byte);
    interface = std::max(processor, interface) + busy;
    under_way[(oldest + count++) % t.window] = {interface + costs.latency, items};
    processor += ended * item.finish;
  }
  while (count > 0) processor += end_oldest() * item.finish;
  return processor;
}

/// Chooses a tiling for each run of a loop. Decisions depend on what it is told alone, so that ranks that are told the
/// same decide alike.
///
/// The first run is tiled by the model, the second one is the blocking loop. Then neighbours of the best tiling so far
/// are tried, as long as all runs together have lost less than a hundredth of their time to the blocking loop. In the
/// end the tiling with the least median is taken, and the blocking loop unless the tiling is faster by 1 %. Both are
/// timed again after 16, 32, 64, ... further runs.
class tiling_choice {
 public:
  tiling_choice(const loop_shape& loop, const loggp& costs) : loop_(loop), costs_(costs) {
    if (loop.items == 0) throw std::invalid_argument("a loop of 0 items");
    if (loop.most_window == 0) throw std::invalid_argument("most_window = 0: must be 1 or more");
  }

  /// Always this one.
  void fix(tiling t) {
    if (t.tile == 0 || t.window == 0) throw std::invalid_argument("tile and window must be 1 or more");
    fixed_ = {std::min(t.tile, loop_.items), t.window};
  }

  [[nodiscard]] tiling blocking() const { return {loop_.items, 1}; }
  [[nodiscard]] bool fixed() const { return fixed_.tile > 0; }
  /// The model wants the time of an item before the next run can be tiled.
  [[nodiscard]] bool wants_item() const { return !fixed() && tried_.empty() && item_.produce + item_.finish == 0; }
  void item_took(const item_times& item) { item_ = item; }

  /// For the next run.
  [[nodiscard]] tiling next() const {
    if (fixed()) return fixed_;
    if (tried_.empty()) return by_model();
    const trial* const whole = find(blocking());
    if (whole == nullptr) return blocking();
    if (settled_) return check_ == 2 ? challenger() : check_ == 1 ? blocking() : best();
    return candidate();
  }

  /// Ranks have to tell each other what the next run took.
  [[nodiscard]] bool asks() const { return !fixed() && (!settled_ || check_ > 0); }

  /// The seconds of a run with next(), those of the slowest rank, and of its items. Only where asks() holds.
  void took(double seconds, const item_times& item) {
    const tiling now = next();
    item_ = item;
    remember(now, seconds);
    if (check_ > 0) {
      --check_;
      return;
    }
    const trial* const whole = find(blocking());
    total_ += seconds;
    if (whole != nullptr) loss_ += seconds - whole->median();
    if (whole != nullptr && next() == best() && find(best())->count >= 2) {
      settled_ = true;
      // What others took once says nothing about later runs.
      tried_ = {*find(challenger()), *whole};
      if (tried_[0].t == tried_[1].t) tried_.pop_back();
    }
  }

  /// A run took place of which nobody was told.
  void passed() {
    if (!settled_ || ++runs_ < pause_) return;
    runs_ = 0;
    pause_ *= 2;
    check_ = 2;
  }

  [[nodiscard]] double model(tiling t) const { return predicted(loop_, item_, corrected(), t); }
  /// Median seconds of the runs with a tiling, or 0 if there were none.
  [[nodiscard]] double measured(tiling t) const {
    const trial* const found = find(t);
    return found == nullptr ? 0 : found->median();
  }
  [[nodiscard]] std::size_t tilings() const { return tried_.size(); }
  [[nodiscard]] bool settled() const { return fixed() || settled_; }
  /// The fastest so far; the blocking loop unless another one is faster by 1 %.
  [[nodiscard]] tiling best() const {
    const trial* least = find(blocking());
    double limit = least == nullptr ? std::numeric_limits<double>::infinity() : 0.99 * least->median();
    for (const trial& one : tried_)
      if (one.median() < limit) {
        limit = one.median();
        least = &one;
      }
    return least == nullptr ? by_model() : least->t;
  }

 private:
  struct trial {
    tiling t;
    std::array<double, 3> seconds{};  // the last ones
    std::size_t count = 0;
    [[nodiscard]] double median() const {
      const std::size_t n = std::min(count, seconds.size());
      std::array<double, 3> sorted = seconds;
      std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
      return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    }
  };

  /// The fastest of those that are not the blocking loop, if there are any.
  [[nodiscard]] tiling challenger() const {
    const trial* least = nullptr;
    for (const trial& one : tried_)
      if (one.t != blocking() && (least == nullptr || one.median() < least->median())) least = &one;
    return least == nullptr ? blocking() : least->t;
  }

  [[nodiscard]] const trial* find(tiling t) const {
    const auto at = std::find_if(tried_.begin(), tried_.end(), [t](const trial& one) { return one.t == t; });
    return at == tried_.end() ? nullptr : &*at;
  }
  void remember(tiling t, double seconds) {
    auto at = std::find_if(tried_.begin(), tried_.end(), [t](const trial& one) { return one.t == t; });
    if (at == tried_.end()) at = tried_.insert(at, trial{t, {}, 0});
    at->seconds[at->count++ % at->seconds.size()] = seconds;
  }

  [[nodiscard]] bool allowed(tiling t) const {
    return t.tile >= 1 && t.tile <= loop_.items && t.window >= 1 && t.window <= loop_.most_window &&
           (t.tile == loop_.items || loop_.most_items == 0 || t.tile * (t.window + 1) <= loop_.most_items);
  }

  /// G such that the blocking loop takes by the model what it took.
  [[nodiscard]] loggp corrected() const {
    loggp out = costs_;
    const trial* const whole = find(blocking());
    const double bytes = static_cast<double>(loop_.items) * loop_.bytes;
    if (whole == nullptr || bytes == 0) return out;
    out.gap_per_byte = 0;
    const double left = whole->median() - predicted(loop_, item_, out, blocking());
    out.gap_per_byte = std::max(0.0, left) / bytes;
    return out;
  }

  [[nodiscard]] tiling by_model() const {
    const loggp costs = corrected();
    tiling least = blocking();
    double seconds = predicted(loop_, item_, costs, least);
    for (std::size_t tiles = 2; tiles <= std::min<std::size_t>(loop_.items, 512); tiles += (tiles + 3) / 4)
      for (std::size_t window = 1; window <= std::min(loop_.most_window, tiles); ++window) {
        const tiling t{(loop_.items + tiles - 1) / tiles, window};
        if (!allowed(t)) continue;
        if (const double s = predicted(loop_, item_, costs, t); s < 0.999 * seconds) {
          seconds = s;
          least = t;
        }
      }
    return least;
  }

  /// What to try next: what has been timed once again, then neighbours; the best where nothing is left.
  [[nodiscard]] tiling candidate() const {
    constexpr std::size_t most_trials = 16;
    const tiling best_one = best();
    if (loss_ > 0.01 * total_) return best_one;
    for (const tiling t : {best_one, blocking()})
      if (find(t)->count < 2) return t;
    if (tried_.size() >= most_trials) return best_one;
    const loggp costs = corrected();
    const double limit = 1.02 * find(blocking())->median();
    tiling next = best_one;
    double seconds = std::numeric_limits<double>::infinity();
    std::vector<tiling> neighbours = {{2 * best_one.tile, best_one.window},
                                      {(best_one.tile + 1) / 2, best_one.window},
                                      {best_one.tile, best_one.window + 1},
                                      {best_one.tile, best_one.window - 1}};
    if (best_one == blocking()) neighbours.push_back(by_model());
    for (tiling t : neighbours) {
      t.tile = std::min(t.tile, loop_.items);
      if (t.tile == loop_.items) t.window = 1;
      if (!allowed(t) || find(t) != nullptr) continue;
      if (const double s = predicted(loop_, item_, costs, t); s < std::min(limit, seconds)) {
        seconds = s;
        next = t;
      }
    }
    return next;
  }

  loop_shape loop_;
  loggp costs_;
  item_times item_;
  tiling fixed_;
  std::vector<trial> tried_;
  double total_ = 0, loss_ = 0;
  bool settled_ = false;
  std::size_t runs_ = 0, pause_ = 16, check_ = 0;  // check_: runs of a check that are left
};

inline loggp loggp::parse(std::string_view text) {
  const std::string given(text);
  if (!text.starts_with("loggops:")) throw std::invalid_argument("'" + given + "': must begin with loggops:");
  text.remove_prefix(8);
  loggp out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    double value = -1;
    std::string_view unit;
    if (equals != std::string_view::npos) {
      const char* const end = part.data() + part.size();
      const auto [behind, error] = std::from_chars(part.data() + equals + 1, end, value);
      if (error != std::errc{}) value = -1;
      unit = {behind, static_cast<std::size_t>(end - behind)};
    }
    const double factor = unit == "s"                                   ? 1
                          : unit == "ms"                                ? 1e-3
                          : unit == "us"                                ? 1e-6
                          : unit == "ns"                                ? 1e-9
                          : unit == "ps"                                ? 1e-12
                          : unit.empty() && (value == 0 || name == "S") ? 1
                                                                        : -1;
    double* const to = name == "L"   ? &out.latency
                       : name == "o" ? &out.overhead
                       : name == "g" ? &out.gap
                       : name == "G" ? &out.gap_per_byte
                       : name == "O" ? &out.overhead_per_byte
                                     : nullptr;
    if (!(value >= 0) || factor < 0 || (to == nullptr && name != "S"))
      throw std::invalid_argument("'" + std::string(part) + "' in '" + given +
                                  "': must be L, o, g, G, O or S, '=', and a time of 0 or more such as 5us");
    if (to != nullptr) *to = value * factor;
  }
  return out;
}

}  // namespace isthmus
#endif

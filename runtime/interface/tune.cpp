#include "runtime/interface/tune.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "runtime/choice/online.hpp"
#include "runtime/interface/team.hpp"
#include "schedule/names.hpp"

namespace isthmus::runtime {
namespace {

using schedule::CollectiveKind;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Three digits.
std::string shown(double value) {
  std::array<char, 32> digits{};
  return {digits.data(),
          std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 3).ptr};
}

/// So many calls at once are timed for the throughput.
constexpr std::size_t window = 4;
/// A timing lasts about so long, or one call.
constexpr double long_enough = 50e-6;
constexpr std::size_t fewest_turns = 5, most_turns = 25;

/// A status below 0 that ends the trials: its words are set.
struct Failed {
  int status;
};
void check(int status) {
  if (status < 0) throw Failed{status};
}

class Trials {
 public:
  Trials(isthmus_team& team, const isthmus_call& call, const isthmus_trial& trial, const void* input,
         const void* output)
      : team_(team), call_(call), trial_(trial) {
    const Cached& plan = team.find(call);
    usual_ = plan.taken;
    const std::array<const void*, 2> given{input, output};
    for (std::size_t i = 0; i < given.size(); ++i)
      require(given[i] != nullptr || plan.program.buffers[i] == 0, i == 0 ? "input" : "output", " is NULL");
    const auto copy = [](const void* from, std::uint64_t bytes) {
      const auto* const first = static_cast<const std::byte*>(from);
      return std::vector<std::byte>(first, first + bytes);
    };
    for (std::size_t i = 0; i < (trial.objective == ISTHMUS_THROUGHPUT ? window : 1); ++i) {
      inputs_.push_back(copy(input, plan.program.buffers[0]));
      outputs_.push_back(copy(output, plan.program.buffers[1]));
    }
    barrier_.size = sum_.size = sizeof(isthmus_call);
    barrier_.kind = ISTHMUS_BARRIER;
    barrier_.algorithm = "dissemination";
    sum_.kind = ISTHMUS_ALLREDUCE;
    sum_.element = ISTHMUS_F64;
    sum_.operation = ISTHMUS_MAX;
    sum_.in_place = 1;
    sum_.algorithm = "recursive_doubling";
  }

  DecisionPoint decide() {
    const auto begin = Clock::now();
    candidates_ = team_.algorithms(call_);
    choose_turns();
    std::vector<double> times(turns_ * contestants());
    for (std::size_t turn = 0; turn < turns_; ++turn)
      for (std::size_t k = 0; k < contestants(); ++k) {
        const std::size_t c = (turn + k) % contestants();
        times[turn * contestants() + c] = timed(c);
      }
    agree(times);
    std::vector<Timed> ours(candidates_.size());
    std::vector<double> theirs;
    for (std::size_t turn = 0; turn < turns_; ++turn) {
      for (std::size_t c = 0; c < ours.size(); ++c) ours[c].seconds.push_back(times[turn * contestants() + c]);
      if (trial_.external != nullptr) theirs.push_back(times[(turn + 1) * contestants() - 1]);
    }
    for (std::size_t c = 0; c < ours.size(); ++c) ours[c].algorithm = candidates_[c];
    DecisionPoint found = winner_of(ours, theirs);
    if (team_.rank == 0)
      team_.say(message("online: ", schedule::name_of(static_cast<CollectiveKind>(call_.kind)), " of ", call_.count,
                        " elements on ", team_.ranks, " ranks by ", found.algorithm, " in ",
                        shown(*found.seconds * 1e6), " us; usual: ", usual_, ", ",
                        shown(median_of(ours[0].seconds).seconds * 1e6), " us; ", tried_, " algorithms in ", turns_,
                        " turns took ", shown(seconds_since(begin) * 1e3), " ms"));
    return found;
  }

 private:
  [[nodiscard]] std::size_t contestants() const { return candidates_.size() + (trial_.external != nullptr ? 1 : 0); }

  /// By a first look at all of them: which are worth it, how many calls a timing has, and how many turns there are.
  void choose_turns() {
    std::vector<double> first(contestants());
    for (std::size_t c = 0; c < first.size(); ++c) {
      timed(c);
      first[c] = timed(c);
    }
    agree(first);
    tried_ = candidates_.size();
    const double external = trial_.external != nullptr ? first.back() : 0;
    const double best = *std::min_element(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(tried_));
    const auto times_of = [&](double one) { return std::clamp(std::ceil(long_enough / one), 1.0, 64.0); };
    calls_ = best > 0 ? static_cast<std::size_t>(times_of(best)) : 1;
    external_calls_ = external > 0 ? static_cast<std::size_t>(times_of(external)) : 1;
    std::vector<std::size_t> order(tried_);
    for (std::size_t c = 0; c < tried_; ++c) order[c] = c;
    std::stable_sort(order.begin() + 1, order.end(), [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
    const double budget = trial_.budget_us == 0 ? 20e-3 : trial_.budget_us * 1e-6;
    std::vector<std::string> kept;
    double turn = external * static_cast<double>(external_calls_);
    for (const std::size_t c : order) {
      const double more = first[c] * static_cast<double>(calls_);
      const bool worth_it = first[c] <= 2 * best && (turn + more) * fewest_turns <= budget;
      if (kept.size() >= 2 && !worth_it) break;
      kept.push_back(candidates_[c]);
      turn += more;
    }
    candidates_ = kept;
    const double turns = turn > 0 ? budget / turn : most_turns;
    turns_ = static_cast<std::size_t>(std::clamp(turns, double{fewest_turns}, double{most_turns}));
  }

  /// Seconds of a call; all ranks begin together.
  double timed(std::size_t contestant) {
    isthmus_call asked = call_;
    asked.name = 0;  // several are under way at once
    const bool ours = contestant < candidates_.size();
    if (ours) asked.algorithm = candidates_[contestant].c_str();
    check(isthmus_run(&team_, &barrier_, nullptr, nullptr));
    if (!ours) {
      const auto begin = Clock::now();
      bool failed = false;
      for (std::size_t i = 0; i < external_calls_; ++i)
        failed = trial_.external(trial_.data, inputs_[0].data(), outputs_[0].data()) < 0 || failed;
      return failed ? std::numeric_limits<double>::infinity()
                    : seconds_since(begin) / static_cast<double>(external_calls_);
    }
    const bool exposed = trial_.objective == ISTHMUS_EXPOSED && trial_.work != nullptr;
    double alone = 0;
    if (exposed) {
      const auto begin = Clock::now();
      trial_.work(trial_.data);
      alone = seconds_since(begin);
      check(isthmus_run(&team_, &barrier_, nullptr, nullptr));
    }
    const auto begin = Clock::now();
    const std::size_t repeats = exposed ? 1 : calls_;
    for (std::size_t i = 0; i < repeats; ++i) {
      std::array<isthmus_operation*, window> begun{};
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        check(isthmus_begin(&team_, &asked, inputs_[k].data(), outputs_[k].data(), &begun[k]));
      if (exposed) trial_.work(trial_.data);
      for (std::size_t k = 0; k < inputs_.size(); ++k) check(isthmus_wait(begun[k]));
    }
    return std::max(seconds_since(begin) - alone, 0.0) / static_cast<double>(repeats * inputs_.size());
  }

  /// The longest time of any rank, on all of them.
  void agree(std::vector<double>& times) {
    sum_.count = times.size();
    check(isthmus_run(&team_, &sum_, nullptr, times.data()));
  }

  isthmus_team& team_;
  isthmus_call call_;
  isthmus_trial trial_;
  std::string usual_;
  std::vector<std::string> candidates_;
  std::size_t tried_ = 0, calls_ = 1, external_calls_ = 1, turns_ = fewest_turns;
  std::vector<std::vector<std::byte>> inputs_, outputs_;
  isthmus_call barrier_{}, sum_{};
};

}  // namespace

int tune(isthmus_team& team, const isthmus_call& call, const isthmus_trial& trial, const void* input,
         const void* output) {
  require(call.algorithm == nullptr, "a call to be tuned names an algorithm: must be NULL");
  require(call.combine == nullptr, "a call with an operator of the user cannot be tuned");
  require(trial.objective <= ISTHMUS_EXPOSED, "objective ", static_cast<int>(trial.objective), " is none of the three");
  require(trial.objective != ISTHMUS_EXPOSED || trial.work != nullptr,
          "work is NULL: must be given for ISTHMUS_EXPOSED");
  try {
    team.learn(call, Trials(team, call, trial, input, output).decide());
  } catch (const Failed& failed) {
    return failed.status;
  }
  return ISTHMUS_DONE;
}

}  // namespace isthmus::runtime

#include "runtime/choice/online.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/choice/chooser.hpp"

namespace isthmus::runtime {

using schedule::CollectiveKind;

Median median_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const auto n = static_cast<double>(seconds.size());
  const std::size_t last = seconds.size() - 1;
  // About 95 % of medians of other samples lie within 1.96 sqrt(n) / 2 places of the middle.
  const double reach = 1.96 * std::sqrt(n) / 2;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor((n - 1) / 2 - reach)));
  const auto high = std::min(last, static_cast<std::size_t>(std::ceil((n - 1) / 2 + reach)));
  return {(seconds[last / 2] + seconds[(last + 1) / 2]) / 2, seconds[low], seconds[high]};
}

DecisionPoint winner_of(const std::vector<Timed>& candidates, const std::vector<double>& external, double loss) {
  std::vector<std::pair<Median, const Timed*>> ours;
  for (const Timed& one : candidates) ours.emplace_back(median_of(one.seconds), &one);
  const auto usual = ours.front();
  const auto shorter = [](const auto& a, const auto& b) { return a.first.seconds < b.first.seconds; };
  std::ranges::stable_sort(ours, shorter);
  const auto best = ours.front().first.high < usual.first.low ? ours.front() : usual;
  DecisionPoint out;
  out.algorithm = best.second->algorithm;
  out.seconds = best.first.seconds;
  out.interval = {best.first.low, best.first.high};
  for (const auto& other : ours) {
    if (other.second == best.second) continue;
    out.runner_up = other.second->algorithm;
    out.runner_up_seconds = other.first.seconds;
    break;
  }
  if (external.empty()) return out;
  const Median theirs = median_of(external);
  if (best.first.seconds <= theirs.seconds * (1 + loss)) return out;
  out.runner_up = out.algorithm;
  out.runner_up_seconds = out.seconds;
  out.algorithm = left_open;
  out.seconds = theirs.seconds;
  out.interval = {theirs.low, theirs.high};
  return out;
}

std::uint64_t first_of_class(std::uint64_t bytes) { return std::bit_floor(bytes); }

Online::Online(const DecisionTable& table) {
  for (std::uint8_t k = 1; k < schedule::collective_kinds; ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    for (const DecisionRow& row : table.rows(kind))
      for (const DecisionPoint& point : row.points)
        if (point.seconds) put(kind, row.ranks, point);
  }
}

const DecisionPoint* Online::find(CollectiveKind kind, std::uint64_t ranks, std::uint64_t bytes) const {
  const auto found = points_.find({kind, ranks, first_of_class(bytes)});
  return found == points_.end() ? nullptr : &found->second;
}

void Online::put(CollectiveKind kind, std::uint64_t ranks, DecisionPoint decision) {
  decision.bytes = first_of_class(decision.bytes);
  points_[{kind, ranks, decision.bytes}] = std::move(decision);
}

DecisionTable Online::table() const {
  DecisionTable out;
  out.about["source"] = "online";
  out.about["sync"] = "barrier";
  // What the table of the library says from `begin` on, up to `end`.
  const auto fill = [](CollectiveKind kind, DecisionRow& row, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> sizes{begin};
    if (const DecisionRow* const standard = standard_table().row(kind, row.ranks))
      for (const Decision& rule : standard->rules)
        if (rule.bytes > begin && rule.bytes < end) sizes.push_back(rule.bytes);
    for (const std::uint64_t bytes : sizes) {
      DecisionPoint point;
      point.bytes = bytes;
      point.algorithm = usual_choice(kind, row.ranks, bytes);
      row.points.push_back(std::move(point));
    }
  };
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  // The end of the class that was timed last, or the beginning.
  const auto end_of = [](const DecisionRow& row) {
    return row.points.empty() ? 0 : std::max<std::uint64_t>(2 * row.points.back().bytes, 1);
  };
  std::map<std::pair<CollectiveKind, std::uint64_t>, DecisionRow> rows;
  for (const auto& [key, point] : points_) {
    const auto& [kind, ranks, bytes] = key;
    DecisionRow& row = rows[{kind, ranks}];
    row.ranks = ranks;
    if (end_of(row) < bytes) fill(kind, row, end_of(row), bytes);
    row.points.push_back(point);
  }
  for (auto& [key, row] : rows) {
    if (row.points.back().bytes < most) fill(key.first, row, end_of(row), most);
    for (const DecisionPoint& point : row.points)
      if (row.rules.empty() || row.rules.back().algorithm != point.algorithm)
        row.rules.push_back({point.bytes, point.algorithm});
    out.put(key.first, std::move(row));
  }
  return out;
}

namespace {

/// Whoever adds to files of a folder waits for who does. Where there are no locks, nobody waits.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    file_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (file_ >= 0 && ::flock(file_, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  int file_;
};

void write_table(const std::string& path, const DecisionTable& table) {
  const std::string made = path + ".new-" + std::to_string(::getpid());
  const std::string text = table.text();
  const int file = ::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  std::size_t done = 0;
  while (file >= 0 && done < text.size()) {
    const ssize_t now = ::write(file, text.data() + done, text.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    done += static_cast<std::size_t>(now);
  }
  int error = errno;
  bool good = file >= 0 && done == text.size();
  if (file >= 0 && ::close(file) != 0) good = false;
  std::error_code moved;
  if (good) std::filesystem::rename(made, path, moved);
  if (moved) error = moved.value();
  good = good && !moved;
  if (good) return;
  if (file >= 0) ::unlink(made.c_str());
  throw TableError(path + ": " + std::strerror(error));
}

}  // namespace

void add_to_table(const std::string& path, CollectiveKind kind, std::uint64_t ranks, DecisionPoint decision) {
  const FolderLock lock(path);
  Online all;
  if (::access(path.c_str(), F_OK) == 0) all = Online(DecisionTable::parse(DecisionTable::text_of(path), path));
  all.put(kind, ranks, std::move(decision));
  write_table(path, all.table());
}

}  // namespace isthmus::runtime

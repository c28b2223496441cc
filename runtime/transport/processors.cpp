#include "runtime/transport/processors.hpp"

#include <algorithm>
#include <fstream>

namespace isthmus::runtime {
namespace {

/// The next word of a file as a number; below 0: it is none, as "max" and -1, which mean that there is no limit.
double number_in(std::istream& file) {
  std::string word;
  if (!(file >> word) || word.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::stod(word);
}

/// Processors of one control group; below 0: no limit.
double limit_of(const std::string& folder) {
  std::ifstream both(folder + "/cpu.max");
  double time = 0, period = 0;
  if (both) {
    time = number_in(both);
    period = number_in(both);
  } else {
    std::ifstream first(folder + "/cpu.cfs_quota_us"), second(folder + "/cpu.cfs_period_us");
    time = number_in(first);
    period = number_in(second);
  }
  return time < 0 || period <= 0 ? -1 : time / period;
}

bool is_within(const cpu_set_t& some, const cpu_set_t& all) {
  cpu_set_t both;
  CPU_AND(&both, &some, &all);
  return CPU_EQUAL(&both, &some) != 0;
}

}  // namespace

std::uint32_t quota_of(const std::string& root, std::string path) {
  double least = -1;
  for (;;) {
    const double limit = limit_of(root + path);
    if (limit >= 0 && (least < 0 || limit < least)) least = limit;
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) break;
    path.resize(slash);
  }
  return least < 0 ? 0 : std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::min(least, 1e6)));
}

Processors own_processors() {
  Processors found{};
  CPU_ZERO(&found.set);
  if (::sched_getaffinity(0, sizeof found.set, &found.set) != 0) CPU_ZERO(&found.set);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" of the second version, "4:cpu,cpuacct:/path" of the first
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    std::uint32_t quota = 0;
    if (kinds == ",,") quota = quota_of("/sys/fs/cgroup", path == "/" ? "" : path);
    else if (kinds.find(",cpu,") != std::string::npos) quota = quota_of("/sys/fs/cgroup/cpu", path == "/" ? "" : path);
    if (quota != 0) found.quota = found.quota == 0 ? quota : std::min(found.quota, quota);
  }
  return found;
}

bool take_turns(const std::vector<Processors>& ranks) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const Processors& one : ranks) {
    if (one.quota != 0 && one.quota < ranks.size()) return true;
    if (CPU_COUNT(&one.set) == 0) return false;
    CPU_OR(&all, &all, &one.set);
  }
  if (static_cast<std::size_t>(CPU_COUNT(&all)) < ranks.size()) return true;
  // Ranks that are bound: more of them on some processors than there are of those. The same set is counted once.
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const cpu_set_t& set = ranks[i].set;
    const auto same = [&](const Processors& one) { return CPU_EQUAL(&one.set, &set) != 0; };
    if (std::any_of(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(i), same)) continue;
    const auto within =
        std::count_if(ranks.begin(), ranks.end(), [&](const Processors& one) { return is_within(one.set, set); });
    if (within > CPU_COUNT(&set)) return true;
  }
  return false;
}

}  // namespace isthmus::runtime

// How many processors the ranks of a node may use, so that one that waits knows whether others need its own.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isthmus::runtime {

/// What a process may use; equal on all sides of a shared memory.
struct Processors {
  cpu_set_t set;        ///< those of its affinity mask; none: the system did not say
  std::uint32_t quota;  ///< as many as its control groups give time for; 0: there is no limit
};

/// Those of this process, as of now.
Processors own_processors();

/// The least whole number of processors, at least 1, that a control group and those above it give time for: `path` of
/// it, beneath `root`, in files of either version of control groups; 0: there is no limit.
std::uint32_t quota_of(const std::string& root, std::string path);

/// Whether ranks have to take turns: some of them may only use processors that are fewer than they are.
bool take_turns(const std::vector<Processors>& ranks);

}  // namespace isthmus::runtime

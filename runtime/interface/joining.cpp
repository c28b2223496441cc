#include "runtime/interface/joining.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "runtime/transport/mpi/mpi.hpp"
#include "runtime/transport/nodes/nodes.hpp"
#include "runtime/transport/shm/shm.hpp"

namespace isthmus::runtime {
namespace {

using std::chrono::milliseconds;

enum class Means : std::uint8_t { both, shm, mpi };

Means means_of(const isthmus_job& job) {
  const char* const given = job.transport != nullptr ? job.transport : std::getenv("ISTHMUS_TRANSPORT");
  const std::string name = given == nullptr ? "" : given;
  require(name.empty() || name == "shm" || name == "mpi",
          job.transport != nullptr ? "isthmus_job.transport" : "ISTHMUS_TRANSPORT", "=", name,
          ": must be shm or mpi, or not be given");
  require(name != "mpi" || job.wire != nullptr, "transport mpi: the ranks have to join by isthmus_join_mpi()");
  return name.empty() ? Means::both : name == "shm" ? Means::shm : Means::mpi;
}

/// Whole seconds or none.
std::uint32_t number_of(const char* variable) {
  const char* const given = std::getenv(variable);
  if (given == nullptr) return 0;
  char* end = nullptr;
  const unsigned long value = std::strtoul(given, &end, 10);
  require(*given >= '0' && *given <= '9' && *end == '\0' && value <= 1'000'000, variable, "=", given,
          ": must be a whole number from 0 to 1000000");
  return static_cast<std::uint32_t>(value);
}

milliseconds silence_of(const isthmus_job& job) {
  return job.silence_ms != 0 ? milliseconds(job.silence_ms) : std::chrono::seconds(number_of("ISTHMUS_SILENCE"));
}

/// A job that runs on one machine may take some of its ranks for a node, to try what more nodes do.
std::vector<Rank> nodes_of(const isthmus_wire& wire) {
  const std::uint32_t pretended = number_of("ISTHMUS_RANKS_PER_NODE");
  std::vector<Rank> nodes(wire.ranks);
  for (Rank r = 0; r < wire.ranks; ++r) {
    nodes[r] = wire.nodes == nullptr ? r : wire.nodes[r];
    if (pretended > 0) nodes[r] = std::max(nodes[r], r - r % pretended);
  }
  return nodes;
}

ShmOptions shm_options(const isthmus_job& job) {
  ShmOptions options;
  options.job = job.name;
  options.rank = job.rank;
  options.ranks = job.ranks;
  if (job.patience_ms != 0) options.patience = milliseconds(job.patience_ms);
  return options;
}

/// Whether all `mates` say yes; the first of them asks the others.
bool all_agree(MpiTransport& far, const std::vector<Rank>& mates, bool yes) {
  const Key asked{0, ~0U, 0}, answered{0, ~0U, 1};
  const auto finish = [&](bool at_once) {
    Token token;
    while (!at_once && far.failure().empty() && far.poll(&token, 1) == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (!far.failure().empty()) throw TransportError(far.failure());
  };
  auto all = static_cast<std::byte>(yes ? 1 : 0);
  if (far.rank() != mates.front()) {
    finish(far.send(mates.front(), asked, &all, 1, {}));
    finish(far.recv(mates.front(), answered, &all, 1, {}));
    return all != std::byte{0};
  }
  for (std::size_t i = 1; i < mates.size(); ++i) {
    std::byte one{};
    finish(far.recv(mates[i], asked, &one, 1, {}));
    all &= one;
  }
  for (std::size_t i = 1; i < mates.size(); ++i) finish(far.send(mates[i], answered, &all, 1, {}));
  return all != std::byte{0};
}

/// The shared memory of a node; null, with the reason, where one of its ranks cannot have it.
std::unique_ptr<ShmTransport> near_transport(const isthmus_job& job, MpiTransport& far, const std::vector<Rank>& mates,
                                             std::string& reason) {
  ShmOptions options = shm_options(job);
  options.job += ".node" + std::to_string(mates.front());
  options.rank = static_cast<Rank>(std::find(mates.begin(), mates.end(), job.rank) - mates.begin());
  options.ranks = static_cast<Rank>(mates.size());
  options.names = mates;
  options.reserve = true;  // that there is too little shows now, when all of them can do without
  std::unique_ptr<ShmTransport> near;
  try {
    near = std::make_unique<ShmTransport>(options);
  } catch (const TransportError& error) {
    reason = error.what();
  }
  if (!all_agree(far, mates, near != nullptr)) near = nullptr;
  return near;
}

Joined join_by_wire(const isthmus_job& job, std::unique_ptr<MpiTransport> far, const std::vector<Rank>& nodes,
                    bool concurrent) {
  const Means means = means_of(job);
  Joined joined;
  joined.nodes = nodes;
  if (means == Means::shm) {
    const auto elsewhere = std::find_if(nodes.begin(), nodes.end(), [&](Rank node) { return node != nodes[0]; });
    if (elsewhere != nodes.end())
      throw Unsupported("rank " + std::to_string(elsewhere - nodes.begin()) +
                        " shares no memory with rank 0: transport shm is for one node, without it MPI takes the rest");
    joined.transport = std::make_unique<ShmTransport>(shm_options(job));
    joined.mates = job.ranks;
    return joined;
  }
  std::vector<Rank> mates;
  for (Rank r = 0; r < job.ranks; ++r)
    if (nodes[r] == nodes[job.rank]) mates.push_back(r);
  joined.mates = static_cast<std::uint32_t>(mates.size());
  joined.concurrent = concurrent;
  if (means == Means::mpi || (mates.size() == 1 && job.ranks > 1)) {
    joined.transport = std::move(far);
    return joined;
  }
  std::string reason;
  auto near = near_transport(job, *far, mates, reason);
  if (near == nullptr) {
    far->note((reason.empty() ? "another rank of this node cannot share memory" : reason) +
              ": messages of this node go over MPI");
    joined.transport = std::move(far);
  } else if (mates.size() == job.ranks) {
    joined.concurrent = true;
    joined.transport = std::move(near);
  } else {
    joined.transport = std::make_unique<NodesTransport>(std::move(far), std::move(near), mates);
  }
  return joined;
}

}  // namespace

std::uint64_t shared_place() {
  struct stat facts = {};
  std::string kernel;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, kernel);
  const bool there = ::stat("/dev/shm", &facts) == 0;
  return std::hash<std::string>{}(kernel + " " + std::to_string(there ? facts.st_dev : 0));
}

Joined join(const isthmus_job& job) {
  std::unique_ptr<MpiTransport> far;
  if (job.wire != nullptr) {
    require(job.wire->size >= offsetof(isthmus_wire, piece), "isthmus_wire.size = ", job.wire->size,
            ": must be sizeof(isthmus_wire)");
    isthmus_wire wire{};
    std::memcpy(&wire, job.wire, std::min(job.wire->size, sizeof wire));
    far = std::make_unique<MpiTransport>(wire);
    far->give_up_after(silence_of(job));
  }
  require(job.name != nullptr, "isthmus_job.name is NULL");
  require(job.ranks > 0, "isthmus_job.ranks = 0: must be at least 1");
  if (far != nullptr) return join_by_wire(job, std::move(far), nodes_of(*job.wire), job.wire->concurrent != 0);
  means_of(job);
  return {std::make_unique<ShmTransport>(shm_options(job)), {}, job.ranks};
}

}  // namespace isthmus::runtime

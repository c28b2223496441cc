#include "runtime/interface/joining.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
#include "runtime/transport/ofi/wire.hpp"
#include "runtime/transport/processors.hpp"
#include "runtime/transport/shm/shm.hpp"

namespace isthmus::runtime {
namespace {

using std::chrono::milliseconds;

/// Shared memory inside nodes, and what goes between them.
struct Means {
  bool shm = true;
  bool mpi = false, ofi = false;
};

Means means_of(const isthmus_job& job) {
  const char* const given = job.transport != nullptr ? job.transport : std::getenv("ISTHMUS_TRANSPORT");
  const std::string name = given == nullptr ? "" : given;
  if (name.empty()) return {true, job.wire != nullptr, false};
  const bool both = name.starts_with("shm+");
  const std::string network = both ? name.substr(4) : name;
  const Means means{both || name == "shm", network == "mpi", network == "ofi"};
  require(means.mpi || means.ofi || name == "shm",
          job.transport != nullptr ? "isthmus_job.transport" : "ISTHMUS_TRANSPORT", "=", name,
          ": must be shm, mpi, ofi, shm+mpi or shm+ofi, or not be given");
  require(!means.mpi || job.wire != nullptr, "transport ", name, ": the ranks have to join by isthmus_join_mpi()");
  return means;
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
std::vector<Rank> divided(std::vector<Rank> nodes) {
  const std::uint32_t pretended = number_of("ISTHMUS_RANKS_PER_NODE");
  for (Rank r = 0; r < nodes.size() && pretended > 0; ++r) nodes[r] = std::max(nodes[r], r - r % pretended);
  return nodes;
}

std::vector<Rank> nodes_of(const isthmus_wire& wire) {
  std::vector<Rank> nodes(wire.ranks);
  for (Rank r = 0; r < wire.ranks; ++r) nodes[r] = wire.nodes == nullptr ? r : wire.nodes[r];
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

/// Waits for a message that has begun, unless it ended at once.
void finish(MpiTransport& far, bool at_once) {
  Token token;
  while (!at_once && far.failure().empty() && far.poll(&token, 1) == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  if (!far.failure().empty()) throw TransportError(far.failure());
}

/// Whether all `mates` say yes; the first of them asks the others.
bool all_agree(MpiTransport& far, const std::vector<Rank>& mates, bool yes) {
  const Key asked{0, ~0U, 0}, answered{0, ~0U, 1};
  auto all = static_cast<std::byte>(yes ? 1 : 0);
  if (far.rank() != mates.front()) {
    finish(far, far.send(mates.front(), asked, &all, 1, {}));
    finish(far, far.recv(mates.front(), answered, &all, 1, {}));
    return all != std::byte{0};
  }
  for (std::size_t i = 1; i < mates.size(); ++i) {
    std::byte one{};
    finish(far, far.recv(mates[i], asked, &one, 1, {}));
    all &= one;
  }
  for (std::size_t i = 1; i < mates.size(); ++i) finish(far, far.send(mates[i], answered, &all, 1, {}));
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

Joined join_by_wire(const isthmus_job& job, const Means& means, std::unique_ptr<MpiTransport> far,
                    const std::vector<Rank>& nodes, bool concurrent) {
  Joined joined;
  joined.nodes = nodes;
  if (!means.mpi && !means.ofi) {
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
  // Without shared memory nobody knows what the others may use: as much as this rank.
  const Processors own = own_processors();
  if (runtime::take_turns(std::vector(mates.size(), own))) far->take_turns();
  if (!means.shm || (mates.size() == 1 && job.ranks > 1)) {
    joined.transport = std::move(far);
    return joined;
  }
  std::string reason;
  auto near = near_transport(job, *far, mates, reason);
  if (near == nullptr) {
    far->note((reason.empty() ? "another rank of this node cannot share memory" : reason) +
              ": messages of this node go over " + far->over());
    joined.transport = std::move(far);
  } else if (mates.size() == job.ranks) {
    joined.concurrent = true;
    joined.transport = std::move(near);
  } else {
    joined.transport = std::make_unique<NodesTransport>(std::move(far), std::move(near), mates);
  }
  return joined;
}

/// An address of this computer that others reach, and, where it has none, the one that it has for itself.
std::string first_address() {
  std::string found = "127.0.0.1";
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = all; one != nullptr && found == "127.0.0.1"; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
      if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_RUNNING) == 0) continue;
      const auto& six = reinterpret_cast<const sockaddr_in6&>(*one->ifa_addr);
      if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) continue;
      std::array<char, NI_MAXHOST> name{};
      const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      if (::getnameinfo(one->ifa_addr, size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) == 0)
        found = family == AF_INET ? name.data() : "[" + std::string(name.data()) + "]";
    }
  }
  ::freeifaddrs(all);
  return found;
}

/// The ranks meet where they are told to, or where rank 0 says over a wire that they have.
std::unique_ptr<Rendezvous> rendezvous_of(const isthmus_job& job, MpiTransport* wire) {
  const char* const given = job.rendezvous != nullptr ? job.rendezvous : std::getenv("ISTHMUS_RENDEZVOUS");
  Rendezvous::Options options{job.rank, job.ranks, given == nullptr ? "" : given, job.name};
  if (job.patience_ms != 0) options.patience = milliseconds(job.patience_ms);
  require(given != nullptr || wire != nullptr || job.ranks == 1,
          "transport ofi: ISTHMUS_RENDEZVOUS=HOST:PORT is not set: where rank 0 listens (isthmus run sets it)");
  if (given != nullptr || job.ranks == 1) {
    if (given == nullptr) options.at = "127.0.0.1:0";
    auto made = std::make_unique<Rendezvous>(options);
    made->meet();
    return made;
  }
  const Key told{0, ~0U, 2};
  std::array<char, 256> at{};
  std::unique_ptr<Rendezvous> made;
  if (job.rank != 0) {
    finish(*wire, wire->recv(0, told, reinterpret_cast<std::byte*>(at.data()), at.size(), {}));
    options.at = at.data();
    if (options.at.find(' ') != std::string::npos) throw TransportError(options.at);
    made = std::make_unique<Rendezvous>(options);
  } else {
    std::string refused;
    options.at = first_address() + ":0";
    try {
      made = std::make_unique<Rendezvous>(options);
      options.at.replace(options.at.rfind(':') + 1, 1, std::to_string(made->port()));
    } catch (const TransportError& error) {
      options.at = refused = error.what();
    }
    options.at.copy(at.data(), at.size() - 1);
    for (Rank r = 1; r < job.ranks; ++r)
      finish(*wire, wire->send(r, told, reinterpret_cast<const std::byte*>(at.data()), at.size(), {}));
    if (!refused.empty()) throw TransportError(refused);
  }
  made->meet();
  return made;
}

/// libfabric in place of the wire, or without one; which ranks are on one node.
std::unique_ptr<MpiTransport> ofi_transport(const isthmus_job& job, std::unique_ptr<MpiTransport> wire,
                                            std::vector<Rank>& nodes) {
  const char* const fabric = job.fabric != nullptr ? job.fabric : std::getenv("ISTHMUS_FABRIC");
  OfiJob made =
      ofi_wire(rendezvous_of(job, wire.get()), job.rank, job.ranks, fabric == nullptr ? "" : fabric, shared_place());
  if (wire == nullptr) nodes = made.nodes;
  return std::make_unique<MpiTransport>(made.wire);
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
  std::vector<Rank> nodes;
  bool concurrent = true;
  if (job.wire != nullptr) {
    require(job.wire->size >= offsetof(isthmus_wire, piece), "isthmus_wire.size = ", job.wire->size,
            ": must be sizeof(isthmus_wire)");
    isthmus_wire wire{};
    std::memcpy(&wire, job.wire, std::min(job.wire->size, sizeof wire));
    far = std::make_unique<MpiTransport>(wire);
    far->give_up_after(silence_of(job));
    nodes = nodes_of(wire);
    concurrent = wire.concurrent != 0;
  }
  require(job.name != nullptr, "isthmus_job.name is NULL");
  require(job.ranks > 0, "isthmus_job.ranks = 0: must be at least 1");
  require(job.rank < job.ranks, "isthmus_job.rank = ", job.rank, ": there are ", job.ranks, " ranks");
  const Means means = means_of(job);
  if (means.ofi) {
    far = ofi_transport(job, std::move(far), nodes);
    far->give_up_after(silence_of(job));
    concurrent = true;
  }
  if (far != nullptr) return join_by_wire(job, means, std::move(far), divided(std::move(nodes)), concurrent);
  return {std::make_unique<ShmTransport>(shm_options(job)), {}, job.ranks};
}

}  // namespace isthmus::runtime

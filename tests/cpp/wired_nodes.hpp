// Ranks as threads on several nodes: memory inside a node, a wire between nodes.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "memory_wire.hpp"
#include "runtime/transport/mpi/mpi.hpp"
#include "runtime/transport/nodes/nodes.hpp"
#include "runtime/transport/threads/threads.hpp"

namespace isthmus::test {

/// The ranks of nodes of so many ranks each.
struct Nodes {
  Nodes(runtime::Rank ranks, runtime::Rank each) : per_node(each) {
    for (runtime::Rank first = 0; first < ranks; first += each) {
      mates.emplace_back();
      for (runtime::Rank r = first; r < std::min(ranks, first + each); ++r) mates.back().push_back(r);
      worlds.push_back(std::make_unique<runtime::ThreadsWorld>(static_cast<runtime::Rank>(mates.back().size())));
    }
  }
  runtime::Rank per_node;
  std::vector<std::vector<runtime::Rank>> mates;
  std::vector<std::unique_ptr<runtime::ThreadsWorld>> worlds;
};

/// Over the wire alone where a node has no second rank.
inline std::unique_ptr<runtime::Transport> transport_of(MemoryWires& wires, Nodes& nodes, runtime::Rank rank,
                                                        std::chrono::milliseconds silence = {}) {
  auto far = std::make_unique<runtime::MpiTransport>(wires.of(rank));
  far->give_up_after(silence);
  if (nodes.per_node == 1) return far;
  const runtime::Rank node = rank / nodes.per_node;
  auto near = std::make_unique<runtime::ThreadsTransport>(*nodes.worlds[node], rank % nodes.per_node);
  return std::make_unique<runtime::NodesTransport>(std::move(far), std::move(near), nodes.mates[node]);
}

}  // namespace isthmus::test

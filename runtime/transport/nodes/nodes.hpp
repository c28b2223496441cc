// Two transports in one: shared memory between ranks of a node, MPI between nodes, chosen for each peer. A message
// costs what it costs there, and a look at the table of the node's ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/mpi/mpi.hpp"
#include "runtime/transport/ring_transport.hpp"

namespace isthmus::runtime {

class NodesTransport final : public Transport {
 public:
  /// `near`: the ranks of `mates`, in their order, which may send messages to each other.
  NodesTransport(std::unique_ptr<MpiTransport> far, std::unique_ptr<RingTransport> near,
                 const std::vector<Rank>& mates);

  [[nodiscard]] Rank rank() const override { return far_->rank(); }
  [[nodiscard]] Rank ranks() const override { return far_->ranks(); }
  bool send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) override;
  bool recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) override;
  std::size_t poll(Token* ended, std::size_t most) override;
  [[nodiscard]] const std::string& notice() const override;
  void watch() override;
  [[nodiscard]] MpiTransport& far() const { return *far_; }

 private:
  static constexpr Rank not_near = ~Rank{0};

  void retired(std::uint32_t context) override { far_->retire(context); }
  void join_failures();

  std::unique_ptr<MpiTransport> far_;
  std::unique_ptr<RingTransport> near_;
  std::vector<Rank> near_rank_;  // by rank: its number in near_
  std::uint32_t turns_ = 0;      // calls of poll()
};

}  // namespace isthmus::runtime

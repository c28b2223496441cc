// libfabric, loaded when it is asked for: its headers call few functions by name, all others through its objects.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace isthmus::runtime {

/// An endpoint that reaches all ranks, without connections of ours, and the queue of what has ended.
class Fabric {
 public:
  /// `provider`: see ofi_wire(); `address`: of this computer, which others reach. Throws TransportError.
  Fabric(const std::string& provider, const std::string& address);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] const std::string& provider() const { return provider_; }
  /// What others need to reach this endpoint.
  [[nodiscard]] std::string name() const;
  /// Numbers of the endpoints with these names.
  [[nodiscard]] std::vector<fi_addr_t> reach(const std::vector<std::string>& names) const;
  [[nodiscard]] fid_ep* endpoint() const { return endpoint_; }
  [[nodiscard]] fid_cq* queue() const { return queue_; }
  [[nodiscard]] std::uint64_t most() const { return most_; }
  /// What the library says of one of its numbers.
  static std::string words_of(std::int64_t error);

 private:
  void open(const std::string& address);
  void close();

  std::string provider_;
  std::uint64_t most_ = 0;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_ep* endpoint_ = nullptr;
};

}  // namespace isthmus::runtime

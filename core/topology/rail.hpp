// Rail-optimised GPU clusters: NVLink domains whose i-th GPUs share the switches of rail i.
#pragma once

#include "base/divider.hpp"
#include "topology/topology.hpp"

namespace isthmus::topology {

struct RailParameters {
  std::uint32_t gpus = 8;  ///< GPUs of an NVLink domain; one rail each
  std::uint32_t domains = 2;
  std::uint32_t unit = 0;      ///< domains that share one leaf switch per rail (a scalable unit); 0: all
  std::uint32_t spines = 0;    ///< spine switches over all leaves; 0: rail-only (Wang et al., "Rail-only", 2023)
  std::uint32_t parallel = 1;  ///< cables between a leaf and a spine
};

/// Nodes are GPUs: gpu + gpus * domain. A GPU is linked to the NVSwitch of its domain and to the leaf of its rail and
/// unit. Minimal routes: inside a domain by NVSwitch; in one unit by the rail, to another rail first by NVLink to the
/// domain's GPU on that rail (what NCCL calls PXN); between units by a spine, destination modulo spines.
class Rail final : public Topology {
 public:
  explicit Rail(const RailParameters& parameters);

  [[nodiscard]] std::string label(Vertex vertex) const override;
  [[nodiscard]] Link link(LinkId id) const override;
  [[nodiscard]] std::uint32_t link_class(LinkId id) const override;
  void out_links(Vertex vertex, std::vector<LinkId>& out) const override;
  [[nodiscard]] std::uint32_t distance(Vertex from, Vertex to) const override;
  [[nodiscard]] Estimate diameter() const override;
  [[nodiscard]] Estimate average_distance() const override;
  LinkId* write_route(Vertex from, Vertex to, LinkId* out) const override;
  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override;
  void channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const override;

 private:
  // Vertices: GPUs, NVSwitches (one per domain), leaves (unit * gpus + rail), spines.
  [[nodiscard]] std::uint32_t domain(Vertex gpu) const { return gpus_.quotient(gpu); }
  [[nodiscard]] std::uint32_t rail(Vertex gpu) const { return gpus_.remainder(gpu); }
  [[nodiscard]] std::uint32_t unit(Vertex gpu) const { return unit_.quotient(domain(gpu)); }
  [[nodiscard]] std::uint32_t leaf(Vertex gpu) const { return unit(gpu) * gpus_.divisor() + rail(gpu); }
  [[nodiscard]] LinkId to_nvswitch(Vertex gpu) const { return gpu; }
  [[nodiscard]] LinkId from_nvswitch(Vertex gpu) const { return nodes_ + gpu; }
  [[nodiscard]] LinkId to_leaf(Vertex gpu) const { return 2 * nodes_ + gpu; }
  [[nodiscard]] LinkId from_leaf(Vertex gpu) const { return 3 * nodes_ + gpu; }
  [[nodiscard]] LinkId first_spine_link() const { return 4 * nodes_; }

  Divider gpus_;
  Divider unit_;
  std::uint32_t domains_;
  std::uint32_t units_;
  std::uint32_t leaves_;
  std::uint32_t spines_;
  std::uint32_t parallel_;
};

}  // namespace isthmus::topology

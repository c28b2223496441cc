#include "topology/nearest_links.hpp"

#include <algorithm>

namespace isthmus::topology {

NearestLinks::NearestLinks(const AllToAll& local, const GlobalLinks& global, std::size_t most_bytes)
    : local_(local),
      global_(global),
      farthest_(static_cast<std::uint32_t>(local.dimensions())),
      words_((global.copies() + 63) / 64) {
  const std::uint32_t slots = global.groups() - 1, places = local.block();
  const double words = static_cast<double>(slots) * places * (farthest_ + 1) * words_;
  if (words * sizeof(std::uint64_t) > static_cast<double>(most_bytes)) return;
  std::vector<std::uint64_t> table(index({0, slots}, 0));
  for (std::uint32_t slot = 0; slot < slots; ++slot)
    for (std::uint32_t copy = 0; copy < global.copies(); ++copy) {
      const std::uint32_t carrier = global.carrier(global.port(slot, copy));
      for (std::uint32_t place = 0; place < places; ++place)
        table[index({place, slot}, local.distance(place, carrier)) + copy / 64] |= std::uint64_t{1} << (copy % 64);
    }
  table_ = std::move(table);
}

std::uint64_t NearestLinks::made(End end, std::uint32_t hops, std::uint32_t word) const {
  std::uint64_t found = 0;
  for (std::uint32_t copy = word * 64; copy < std::min(word * 64 + 64, global_.copies()); ++copy)
    if (local_.distance(end.place, global_.carrier(global_.port(end.slot, copy))) == hops)
      found |= std::uint64_t{1} << (copy % 64);
  return found;
}

}  // namespace isthmus::topology

#include "near_ranks.hpp"

#include <cstdlib>

#include "model.hpp"

namespace isthmus::model {
namespace {

/// Access to a private member: names in an explicit instantiation are not checked.
template <auto member>
struct Opened {
  friend auto& mapped_of(runtime::Segments& segments) { return segments.*member; }
};
auto& mapped_of(runtime::Segments& segments);
template struct Opened<&runtime::Segments::mapped_>;

}  // namespace

NearRanks near_ranks(std::uint32_t ranks) {
  // Without its constructor, which makes files: of its members only the addresses of memory are looked at.
  auto* const segments = static_cast<runtime::Segments*>(allocate(sizeof(runtime::Segments)));
  auto& mapped = mapped_of(*segments);
  using Mapped = std::remove_reference_t<decltype(mapped)>;
  new (&mapped) Mapped(ranks);
  for (auto& one : mapped) one.at = static_cast<std::byte*>(allocate(sizeof(runtime::Control)));
  return {segments, static_cast<std::unique_ptr<runtime::Far>*>(allocate(sizeof(std::unique_ptr<runtime::Far>)))};
}

}  // namespace isthmus::model

namespace isthmus::runtime {

// Never called, as all ranks share memory.
void Far::tell(Rank, std::uint64_t, std::uint32_t, const BarrierNumbers&) { std::abort(); }

}  // namespace isthmus::runtime

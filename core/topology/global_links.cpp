#include "topology/global_links.hpp"

#include "base/error.hpp"

namespace isthmus::topology {

Arrangement arrangement_from(std::string_view name) {
  if (name == "absolute") return Arrangement::absolute;
  if (name == "relative") return Arrangement::relative;
  throw InvalidInput(message("unknown arrangement '", std::string(name), "': must be absolute or relative"));
}

std::string name_of(Arrangement arrangement) { return arrangement == Arrangement::absolute ? "absolute" : "relative"; }

GlobalLinks::GlobalLinks(const std::string& kind, Arrangement arrangement, std::uint32_t groups, std::uint32_t carriers,
                         std::uint32_t ports_per_carrier, std::uint32_t copies)
    : arrangement_(arrangement), groups_(groups), carriers_(carriers), copies_(copies) {
  require(groups >= 1, kind, ": g = 0; must be at least 1");
  if (groups == 1) {
    copies_ = 0;
    return;
  }
  const std::uint64_t available = static_cast<std::uint64_t>(carriers) * ports_per_carrier;
  const std::uint64_t others = groups - 1;
  require(available >= others, kind, ": a group has ", available, " global ports, too few for one link to each of the ",
          others, " other groups (g must be at most ", available + 1, ")");
  const std::uint64_t links = copies == 0 ? available / others : copies;
  const std::uint64_t ports = links * others;  // both below 2^32, or the product is at most `available`
  require(ports <= available, kind, ": links = ", links, " to each of ", others, " groups needs ", ports,
          " global ports, a group has ", available);
  constexpr std::uint64_t most = (std::uint64_t{1} << 32) - 1;
  require(ports <= most / carriers, kind, ": a group has ", ports, " global links; at most ", most / carriers,
          " are possible with ", carriers, " routers");
  copies_ = static_cast<std::uint32_t>(links);
  others_ = Divider(static_cast<std::uint32_t>(others));
  ports_ = Divider(static_cast<std::uint32_t>(ports));
  most_ports_ = static_cast<std::uint32_t>((ports + carriers - 1) / carriers);
  carriers_between_ = static_cast<std::uint32_t>(carriers / ports + 1);
}

}  // namespace isthmus::topology

// What comes with Isthmus: every algorithm with its options and where it is published, the default first.
#include "collectives/algorithms.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/registry.hpp"

namespace isthmus {
namespace {

constexpr const char* johnsson_ho = "Johnsson, Ho, IEEE Trans. Computers 38(9), 1989";
constexpr const char* thakur = "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005";
constexpr const char* pjesivac = "Pjesivac-Grbovic et al., Cluster Computing 10(2), 2007";
constexpr const char* hensgen = "Hensgen, Finkel, Manber, Int. J. Parallel Programming 17(1), 1988";

std::vector<CatalogueEntry> barriers() {
  return {
      {{"dissemination", "in round k every rank tells the one 2^k further", hensgen, {}}, dissemination::barrier},
      {{"binomial", "up a binomial tree to rank 0 and down again", johnsson_ho, {}}, binomial::barrier},
      {{"linear", "all tell rank 0, which tells all", pjesivac, {}}, linear::barrier},
  };
}

std::vector<CatalogueEntry> bcasts() {
  return {
      {{"binomial", "down a binomial tree", johnsson_ho, {}}, binomial::bcast},
      {{"linear", "the root sends to all", pjesivac, {}}, linear::bcast},
      {{"ring", "along the chain of ranks", pjesivac, {}}, ring::bcast},
  };
}

std::vector<CatalogueEntry> reduces() {
  return {
      {{"binomial", "up a binomial tree", johnsson_ho, {}}, binomial::reduce},
      {{"linear", "all send to the root", pjesivac, {}}, linear::reduce},
      {{"ring", "along the chain of ranks", pjesivac, {}}, ring::reduce},
  };
}

std::vector<CatalogueEntry> gathers() {
  return {
      {{"binomial", "up a binomial tree", johnsson_ho, {}}, binomial::gather},
      {{"linear", "all send to the root", pjesivac, {}}, linear::gather},
  };
}

std::vector<CatalogueEntry> scatters() {
  return {
      {{"binomial", "down a binomial tree", johnsson_ho, {}}, binomial::scatter},
      {{"linear", "the root sends to all", pjesivac, {}}, linear::scatter},
  };
}

}  // namespace

std::vector<CatalogueEntry> catalogue(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::barrier: return barriers();
    case CollectiveKind::bcast: return bcasts();
    case CollectiveKind::reduce: return reduces();
    case CollectiveKind::allreduce: return allreduces();
    case CollectiveKind::gather: return gathers();
    case CollectiveKind::allgather: return allgathers();
    case CollectiveKind::scatter: return scatters();
    case CollectiveKind::alltoall: return alltoalls();
    case CollectiveKind::reduce_scatter: return reduce_scatters();
    case CollectiveKind::scan: return scans();
    case CollectiveKind::exscan: return exscans();
    case CollectiveKind::neighbor_alltoall: return neighbor_alltoalls();
  }
  return {};
}

}  // namespace isthmus

// What comes with Isthmus: every algorithm with its options and where it is published, the default first.
#include "collectives/algorithms.hpp"
#include "collectives/registry.hpp"

namespace isthmus {
namespace {

constexpr const char* johnsson_ho = "Johnsson, Ho, IEEE Trans. Computers 38(9), 1989";
constexpr const char* thakur = "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005";
constexpr const char* pjesivac = "Pjesivac-Grbovic et al., Cluster Computing 10(2), 2007";
constexpr const char* chan = "Chan, Heimlich, Purkayastha, van de Geijn, Concurrency and Computation 19(13), 2007";
constexpr const char* bruck = "Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997";
constexpr const char* hensgen = "Hensgen, Finkel, Manber, Int. J. Parallel Programming 17(1), 1988";
constexpr const char* patarasuk = "Patarasuk, Yuan, J. Parallel and Distributed Computing 69(2), 2009";
constexpr const char* hoefler_traeff = "Hoefler, Traeff, HIPS 2009";

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

std::vector<CatalogueEntry> allreduces() {
  return {
      {{"recursive_doubling", "vectors exchanged at distances 1, 2, 4 ...", thakur, {}}, recursive_doubling::allreduce},
      {{"binomial", "up a binomial tree to rank 0 and down again", johnsson_ho, {}}, binomial::allreduce},
      {{"linear", "all send to rank 0, which sends to all", pjesivac, {}}, linear::allreduce},
      {{"ring", "parts reduced once round the circle, then gathered", patarasuk, {}}, ring::allreduce},
  };
}

std::vector<CatalogueEntry> gathers() {
  return {
      {{"binomial", "up a binomial tree", johnsson_ho, {}}, binomial::gather},
      {{"linear", "all send to the root", pjesivac, {}}, linear::gather},
  };
}

std::vector<CatalogueEntry> allgathers() {
  return {
      {{"ring", "blocks handed round the circle", chan, {}}, ring::allgather},
      {{"dissemination", "blocks doubled at distances 1, 2, 4 ..., turned in the end", bruck, {}},
       dissemination::allgather},
      {{"linear", "gathered at rank 0, which sends to all", pjesivac, {}}, linear::allgather},
      {{"recursive_doubling", "blocks doubled by exchanges at distances 1, 2, 4 ...", thakur, {}},
       recursive_doubling::allgather},
  };
}

std::vector<CatalogueEntry> scatters() {
  return {
      {{"binomial", "down a binomial tree", johnsson_ho, {}}, binomial::scatter},
      {{"linear", "the root sends to all", pjesivac, {}}, linear::scatter},
  };
}

std::vector<CatalogueEntry> alltoalls() {
  return {
      {{"pairwise", "in round i to the rank i further on and from the one i before", thakur, {}}, pairwise::alltoall},
      {{"linear", "all at once", pjesivac, {}}, linear::alltoall},
  };
}

std::vector<CatalogueEntry> reduce_scatters() {
  return {
      {{"pairwise", "in round i to the rank i further on and from the one i before", thakur, {}},
       pairwise::reduce_scatter},
      {{"linear", "reduced at rank 0, which scatters", pjesivac, {}}, linear::reduce_scatter},
      {{"ring", "blocks reduced once round the circle", chan, {}}, ring::reduce_scatter},
  };
}

std::vector<CatalogueEntry> scans() {
  return {
      {{"recursive_doubling", "sums exchanged at distances 1, 2, 4 ...", thakur, {}}, recursive_doubling::scan},
      {{"linear", "along the chain of ranks", pjesivac, {}}, linear::scan},
  };
}

std::vector<CatalogueEntry> exscans() {
  return {
      {{"recursive_doubling", "sums exchanged at distances 1, 2, 4 ...", thakur, {}}, recursive_doubling::exscan},
      {{"linear", "along the chain of ranks", pjesivac, {}}, linear::exscan},
  };
}

std::vector<CatalogueEntry> neighbor_alltoalls() {
  return {
      {{"linear", "all at once, no empty messages", hoefler_traeff, {}}, linear::neighbor_alltoall},
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

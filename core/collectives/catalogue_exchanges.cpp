// The catalogue of collectives in which all ranks end with something.
#include "collectives/algorithms.hpp"
#include "collectives/catalogue.hpp"

namespace isthmus {
namespace {

constexpr const char* johnsson_ho = "Johnsson, Ho, IEEE Trans. Computers 38(9), 1989";
constexpr const char* thakur = "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005";
constexpr const char* pjesivac = "Pjesivac-Grbovic et al., Cluster Computing 10(2), 2007";
constexpr const char* chan = "Chan, Heimlich, Purkayastha, van de Geijn, Concurrency and Computation 19(13), 2007";
constexpr const char* bruck_et_al = "Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997";
constexpr const char* patarasuk = "Patarasuk, Yuan, J. Parallel and Distributed Computing 69(2), 2009";
constexpr const char* hoefler_traeff = "Hoefler, Traeff, HIPS 2009";
constexpr const char* of_rabenseifner = "Rabenseifner, ICCS 2004";
constexpr const char* of_traeff = "Traeff, EuroPVM/MPI 2005";
constexpr const char* chen = "Chen, Zhang, Zhang, Yuan, HPC Asia 2005";
constexpr const char* loch = "Loch, Koslovski, SBAC-PAD 2021";

OptionInfo radix(std::uint64_t standard) { return {"radix", standard, 2, "base of the numbers of ranks"}; }

}  // namespace

std::vector<CatalogueEntry> allreduces() {
  return {
      {{"recursive_doubling", "vectors exchanged at distances 1, 2, 4 ...", thakur, {}}, recursive_doubling::allreduce},
      {{"binomial", "up a binomial tree to rank 0 and down again", johnsson_ho, {}}, binomial::allreduce},
      {{"linear", "all send to rank 0, which sends to all", pjesivac, {}}, linear::allreduce},
      {{"ring", "parts reduced once round the circle, then gathered; operands in cyclic order", patarasuk, {}},
       ring::allreduce},
      {{"rabenseifner",
        "halves of vectors exchanged at distances 1, 2, 4 ..., and gathered the same way back",
        of_rabenseifner,
        {}},
       rabenseifner::allreduce},
  };
}

std::vector<CatalogueEntry> allgathers() {
  return {
      {{"ring", "blocks handed round the circle", chan, {}}, ring::allgather},
      {{"dissemination", "blocks doubled at distances 1, 2, 4 ..., turned in the end", bruck_et_al, {}},
       dissemination::allgather},
      {{"linear", "gathered at rank 0, which sends to all", pjesivac, {}}, linear::allgather},
      {{"recursive_doubling", "blocks doubled by exchanges at distances 1, 2, 4 ...", thakur, {}},
       recursive_doubling::allgather},
      {{"bruck", "blocks multiplied by the radix in every round, turned in the end", bruck_et_al, {radix(4)}},
       bruck::allgather},
      {{"neighbor_exchange", "blocks to and fro between pairs of ranks; ring for an odd number of ranks", chen, {}},
       neighbor_exchange::allgather},
      {{"sparbit", "blocks spread at distances ..., 4, 2, 1, each in its place", loch, {}}, sparbit::allgather},
  };
}

std::vector<CatalogueEntry> alltoalls() {
  return {
      {{"pairwise", "in round i to the rank i further on and from the one i before", thakur, {}}, pairwise::alltoall},
      {{"linear",
        "all at once, or so many at a time",
        pjesivac,
        {{"window", 0, 0, "messages under way in each direction; 0: all"}}},
       linear::alltoall},
  };
}

std::vector<CatalogueEntry> reduce_scatters() {
  return {
      {{"pairwise",
        "in round i to the rank i further on and from the one i before; operands in cyclic order",
        thakur,
        {}},
       pairwise::reduce_scatter},
      {{"linear", "reduced at rank 0, which scatters", pjesivac, {}}, linear::reduce_scatter},
      {{"ring", "blocks reduced once round the circle; operands in cyclic order", chan, {}}, ring::reduce_scatter},
      {{"recursive_halving",
        "halves of vectors exchanged at distances ..., 4, 2, 1; operands in any order",
        thakur,
        {}},
       recursive_halving::reduce_scatter},
      {{"butterfly", "halves of vectors exchanged at distances 1, 2, 4 ..., then blocks sent home", of_traeff, {}},
       butterfly::reduce_scatter},
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

}  // namespace isthmus

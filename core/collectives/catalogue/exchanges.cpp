// The catalogue of collectives in which all ranks end with something.
#include <memory>
#include <string>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/catalogue/catalogue.hpp"
#include "collectives/catalogue/references.hpp"
#include "collectives/write/groups.hpp"
#include "collectives/write/torus.hpp"

namespace isthmus::collectives {
namespace {

OptionInfo radix(std::uint64_t standard) { return {"radix", standard, 2, "base of the numbers of ranks"}; }
OptionInfo segment(std::uint64_t standard) { return {"segment", standard, 0, "bytes of a segment; 0: one"}; }
OptionInfo groups() {
  return {"groups", 0, 0,
          "ranks of each group, or the group of every rank; without, about as many groups as ranks in each", true};
}
OptionInfo dims(const char* standard) {
  return {"dims", 0, 1, std::string("extents of the torus; without, ") + standard, true};
}

std::shared_ptr<const Plan> plan_groups(const CollectiveCall& call) { return std::make_shared<Groups>(call); }
/// As equal extents as there are.
std::shared_ptr<const Plan> plan_square(const CollectiveCall& call) { return plan_torus(call, 2); }
std::shared_ptr<const Plan> plan_line(const CollectiveCall& call) { return plan_torus(call, 1); }

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
      {{"recursive_multiplying", "vectors exchanged by ranks that differ in one digit", ruefenacht, {radix(4)}},
       recursive_multiplying::allreduce},
      {{"reduce_bcast", "up a k-nomial tree to rank 0 and down again", johnsson_ho, {radix(4)}},
       reduce_bcast::allreduce},
      {{"segmented_ring",
        "the ring in segments that follow each other; operands in cyclic order",
        patarasuk,
        {segment(65536)}},
       segmented_ring::allreduce},
      {{"double_tree",
        "halves up and down two binary trees, in segments; operands in any order",
        sanders_speck,
        {segment(65536)}},
       double_tree::allreduce},
      {{"swing",
        "halves of vectors exchanged at distances 1, -1, 3, -5 ... of a torus; operands in any order",
        de_sensi,
        {dims("one ring")}},
       swing::allreduce,
       swing::prepare},
      {{"bucket",
        "parts reduced round the rings of each dimension, then gathered; operands in cyclic order",
        jain,
        {dims("two as equal as can be")}},
       bucket::allreduce,
       plan_square},
      {{"hierarchical", "up binomial trees in groups, recursive doubling between them, and down", karonis, {groups()}},
       hierarchical::allreduce,
       plan_groups},
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
      {{"bruck", "blocks combined by digits of the distance; pairwise with counts", bruck_et_al, {radix(2)}},
       bruck::alltoall},
      {{"torus",
        "blocks combined along one dimension after the other; pairwise with counts",
        suh_shin,
        {dims("two as equal as can be")}},
       torus::alltoall,
       plan_square},
      {{"hierarchical",
        "collected and handed out by one rank of each group; pairwise with counts",
        karonis,
        {groups()}},
       hierarchical::alltoall,
       plan_groups},
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
      {{"binomial", "sums of 2, 4, 8 ... ranks go up, sums of all before down", sanders_traeff, {}},
       binomial_scan::scan},
  };
}

std::vector<CatalogueEntry> exscans() {
  return {
      {{"recursive_doubling", "sums exchanged at distances 1, 2, 4 ...", thakur, {}}, recursive_doubling::exscan},
      {{"linear", "along the chain of ranks", pjesivac, {}}, linear::exscan},
      {{"binomial", "sums of 2, 4, 8 ... ranks go up, sums of all before down", sanders_traeff, {}},
       binomial_scan::exscan},
  };
}

std::vector<CatalogueEntry> neighbor_alltoalls() {
  return {
      {{"linear", "all at once, no empty messages", hoefler_traeff, {}}, linear::neighbor_alltoall},
      {{"combining",
        "messages combined along one dimension after the other; the same on all ranks",
        traeff_hunold,
        {dims("one, along which nothing is combined")}},
       combining::neighbor_alltoall,
       plan_line},
  };
}

}  // namespace isthmus::collectives

// What comes with Isthmus: every algorithm with its options and where it is published, the default first.
#include "collectives/catalogue/catalogue.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/catalogue/references.hpp"
#include "collectives/registry.hpp"

namespace isthmus::collectives {
namespace {

OptionInfo radix(std::uint64_t standard, std::uint64_t least, const char* words) {
  return {"radix", standard, least, words};
}
OptionInfo segment(std::uint64_t standard) { return {"segment", standard, 0, "bytes of a segment; 0: the whole"}; }
/// The window of reductions.
OptionInfo window() { return {"window", 2, 0, "receives ahead of the additions, each with its room; 0: all"}; }
std::vector<OptionInfo> logp_times() {
  return {{"latency", 1'000'000, 0, "of a message"},
          {"overhead", 500'000, 0, "of a send and of a receive"},
          {"gap", 500'000, 0, "between two sends of a rank"}};
}
std::vector<OptionInfo> with(std::vector<OptionInfo> options, const OptionInfo& more) {
  options.push_back(more);
  return options;
}
OptionInfo fork_dims() {
  return {"dims", 0, 1, "extents of the grid, the last varying fastest; two nearly equal ones if not given", true};
}

std::vector<CatalogueEntry> barriers() {
  return {
      {{"dissemination",
        "in round k every rank tells the one 2^k further",
        hensgen,
        {radix(2, 2, "base of the distances: radix - 1 messages a round")}},
       nway::dissemination_barrier},
      {{"binomial", "up a binomial tree to rank 0 and down again", johnsson_ho, {}}, binomial::barrier},
      {{"linear", "all tell rank 0, which tells all", pjesivac, {}}, linear::barrier},
      {{"knomial", "up a k-nomial tree to rank 0 and down again", nishtala, {radix(4, 2, "base of the tree")}},
       knomial::barrier},
      {{"kary", "up a complete k-ary tree to rank 0 and down again", nishtala, {radix(2, 1, "children of a rank")}},
       kary::barrier},
      {{"recursive_doubling", "pairs at distances 1, 2, 4 ...", pjesivac, {}}, nway::recursive_doubling_barrier},
      {{"nway",
        "dissemination with n messages a round, n + 1 times as far in the next",
        hoefler_barrier,
        {radix(2, 1, "messages a round")}},
       nway::barrier},
  };
}

std::vector<CatalogueEntry> bcasts() {
  return {
      {{"binomial", "down a binomial tree", johnsson_ho, {}}, binomial::bcast},
      {{"linear", "the root sends to all", pjesivac, {}}, linear::bcast},
      {{"ring", "along the chain of ranks", pjesivac, {}}, ring::bcast},
      {{"knomial", "down a k-nomial tree", nishtala, {radix(4, 2, "base of the tree"), segment(0)}}, knomial::bcast},
      {{"kary", "down a complete k-ary tree", nishtala, {radix(4, 1, "children of a rank"), segment(0)}}, kary::bcast},
      {{"binary", "down a complete binary tree, in segments", pjesivac, {segment(65536)}}, kary::binary_bcast},
      {{"chain",
        "along chains that hang on the root, in segments",
        pjesivac,
        {radix(4, 1, "number of chains"), segment(65536)}},
       chain::bcast},
      {{"pipeline", "along the chain of ranks, in segments", pjesivac, {segment(65536)}}, chain::pipeline_bcast},
      {{"fork",
        "along the first extent of a grid of ranks, from there along the second, and so on",
        nishtala,
        {fork_dims(), segment(0)}},
       fork::bcast,
       fork::prepare},
      {{"optimal", "down the tree that is fastest for given parameters of LogP", karp, with(logp_times(), segment(0))},
       optimal::bcast,
       optimal::prepare},
      {{"split_binary",
        "each half down a binary tree of half of the ranks, in segments, and then to the other half",
        pjesivac,
        {segment(65536)}},
       split_binary::bcast},
      {{"double_tree", "each half down a binary tree of its own, in segments", sanders_speck, {segment(65536)}},
       double_tree::bcast},
      {{"scatter_allgather",
        "parts scattered by a binomial tree, then gathered by all by recursive doubling",
        barnett,
        {}},
       scatter_allgather::bcast},
      {{"scatter_allgather_ring", "parts scattered by a binomial tree, then handed round the circle", barnett, {}},
       scatter_allgather::ring_bcast},
  };
}

std::vector<CatalogueEntry> reduces() {
  return {
      {{"binomial", "up a binomial tree", johnsson_ho, {}}, binomial::reduce},
      {{"linear", "all send to the root", pjesivac, {}}, linear::reduce},
      {{"ring", "along the chain of ranks", pjesivac, {}}, ring::reduce},
      {{"knomial", "up a k-nomial tree", nishtala, {radix(4, 2, "base of the tree"), segment(0), window()}},
       knomial::reduce},
      {{"kary", "up a complete k-ary tree", nishtala, {radix(4, 1, "children of a rank"), segment(0), window()}},
       kary::reduce},
      {{"binary", "up a complete binary tree, in segments", pjesivac, {segment(65536), window()}}, kary::binary_reduce},
      {{"chain",
        "along chains that hang on the root, in segments",
        pjesivac,
        {radix(4, 1, "number of chains"), segment(65536), window()}},
       chain::reduce},
      {{"pipeline", "along the chain of ranks, in segments", pjesivac, {segment(65536), window()}},
       chain::pipeline_reduce},
      {{"fork",
        "along the last extent of a grid of ranks, then along the one before, and so on",
        nishtala,
        {fork_dims(), segment(0), window()}},
       fork::reduce,
       fork::prepare},
      {{"optimal", "up the tree in which a broadcast is fastest for given parameters of LogP", karp,
        with(with(logp_times(), segment(0)), window())},
       optimal::reduce,
       optimal::prepare},
      {{"split_binary",
        "halves exchanged by two halves of the ranks, then up a binary tree of each, in segments",
        pjesivac,
        {segment(65536), window()}},
       split_binary::reduce},
      {{"double_tree", "each half up a binary tree of its own, in segments", sanders_speck, {segment(65536), window()}},
       double_tree::reduce},
      {{"rabenseifner", "halves exchanged and added, then gathered by a binomial tree", of_rabenseifner, {}},
       rabenseifner::reduce},
  };
}

std::vector<CatalogueEntry> gathers() {
  return {
      {{"binomial", "up a binomial tree", johnsson_ho, {}}, binomial::gather},
      {{"linear", "all send to the root", pjesivac, {}}, linear::gather},
      {{"knomial", "up a k-nomial tree", nishtala, {radix(4, 2, "base of the tree")}}, knomial::gather},
      {{"linear_sync",
        "the root asks for blocks, window at a time",
        pjesivac,
        {{"window", 4, 0, "blocks under way; 0: all"}}},
       linear_sync::gather},
  };
}

std::vector<CatalogueEntry> scatters() {
  return {
      {{"binomial", "down a binomial tree", johnsson_ho, {}}, binomial::scatter},
      {{"linear", "the root sends to all", pjesivac, {}}, linear::scatter},
      {{"knomial", "down a k-nomial tree", nishtala, {radix(4, 2, "base of the tree")}}, knomial::scatter},
      {{"linear_sync",
        "the root sends blocks, window at a time, and is told when they are there",
        pjesivac,
        {{"window", 4, 0, "blocks under way; 0: all"}}},
       linear_sync::scatter},
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

}  // namespace isthmus::collectives

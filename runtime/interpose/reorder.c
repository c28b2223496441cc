/* Communicators with a topology whose ranks may be reordered: the first rank asks libisthmus for an order in which
 * neighbours are few hops apart, by the file of places. Where there is a better one than that of the program, the
 * communicator is split by it, and the MPI library attaches the topology to the result without reordering. New rank i
 * has the neighbours that the program names for i. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

/* Arguments of Fortran are handed on as they are. */
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "integers of Fortran are those of C");
enum { MOST_EXCHANGES = 1 << 24 };
/* What becomes of a communicator, the same on all of its ranks. */
enum verdict { REORDERED, GOOD_ALREADY, SAME_RESULTS, UNKNOWN, UNUSABLE, WRONG, FOREIGN, LARGE, NO_MEMORY };
static const char* const reasons[] = {
    [REORDERED] = NULL,
    [GOOD_ALREADY] = "no order was found that has fewer hop-bytes",
    [SAME_RESULTS] = "results are to be those of the MPI library",
    [UNKNOWN] = "the places of the ranks are not known",
    [UNUSABLE] = "the file of places cannot be used",
    [WRONG] = "a wrong argument",
    [FOREIGN] = "ranks of another program",
    [LARGE] = "too many neighbours",
    [NO_MEMORY] = "no memory",
};

static int possible = UNKNOWN; /* or why not: as rank 0 of the world sees it */
static isthmus_places* places;
static bool unusable;

void reorder_begin(void) {
  possible = process.reproducible ? SAME_RESULTS : getenv("ISTHMUS_PLACES") ? REORDERED : UNKNOWN;
  PMPI_Bcast(&possible, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

void reorder_end(void) {
  isthmus_places_free(places);
  places = NULL;
  unusable = false;
}

/* The places of all ranks of the world, read by who needs them first; NULL: they cannot be used, which is said. */
static const isthmus_places* places_of_world(void) {
  if (process.several_threads) lock();
  if (!places && !unusable) {
    unusable = true;
    if (isthmus_places_read(NULL, &places) != ISTHMUS_DONE) {
      say("ranks are not reordered: %s", isthmus_last_error());
    } else if (isthmus_places_ranks(places) != (uint32_t)process.ranks) {
      say("ranks are not reordered: %s has places of %u ranks, and the program has %d", getenv("ISTHMUS_PLACES"),
          isthmus_places_ranks(places), process.ranks);
      isthmus_places_free(places);
      places = NULL;
    } else {
      unusable = false;
    }
  }
  if (process.several_threads) unlock();
  return places;
}

/* What new ranks exchange, at the first rank. */
struct graph {
  uint32_t tasks;
  isthmus_exchange* exchanges;
  size_t count;
};

/* The ranks of a communicator in the world; NULL: there is no memory, or `foreign` is set. */
static uint32_t* members_of_world(MPI_Comm comm, int size, bool* foreign) {
  uint32_t* members = malloc((size_t)size * sizeof *members);
  int* ranks = malloc(2 * (size_t)size * sizeof *ranks);
  if (members && ranks) {
    MPI_Group group, world;
    for (int i = 0; i < size; ++i) ranks[i] = i;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, size, ranks, world, ranks + size);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    for (int i = 0; i < size; ++i) {
      *foreign = *foreign || ranks[size + i] == MPI_UNDEFINED;
      members[i] = (uint32_t)ranks[size + i];
    }
  }
  if (!ranks || *foreign) {
    free(members);
    members = NULL;
  }
  free(ranks);
  return members;
}

/* At the first rank: of every rank its new one, and the new one of the process that had that number. */
static enum verdict find_order(MPI_Comm comm, int size, const struct graph* graph, int (*order)[2], double hops[2]) {
  bool foreign = false;
  uint32_t *members = members_of_world(comm, size, &foreign), *found = malloc((size_t)size * sizeof *found);
  enum verdict verdict = foreign ? FOREIGN : NO_MEMORY;
  if (members && found && order) {
    const isthmus_places* known = places_of_world();
    verdict = UNUSABLE;
    if (known && isthmus_reorder(known, members, (uint32_t)size, graph->tasks, graph->exchanges, graph->count, 0, found,
                                 hops) == ISTHMUS_DONE) {
      verdict = hops[1] < hops[0] ? REORDERED : GOOD_ALREADY;
      for (int i = 0; i < size; ++i) {
        order[i][0] = (int)found[i];
        order[i][1] = (int)found[found[i]];
      }
    } else if (known) {
      say("ranks are not reordered: %s", isthmus_last_error());
    }
  }
  free(members);
  free(found);
  return verdict;
}

/* All ranks: the order is found, told, and made, unless `verdict` says no already. `graph` is of use at the first rank
 * alone. `holder`, where it is wanted: the new rank of the process that had this one's new number. */
static void make_order(struct reordered* r, enum verdict verdict, const struct graph* graph, int* holder) {
  int rank, size, mine[2], told = verdict;
  double hops[2] = {0, 0};
  int(*order)[2] = NULL;
  PMPI_Comm_rank(r->comm, &rank);
  PMPI_Comm_size(r->comm, &size);
  if (verdict == REORDERED) {
    if (rank == 0) {
      order = malloc((size_t)size * sizeof *order);
      told = find_order(r->comm, size, graph, order, hops);
    }
    if (PMPI_Bcast(&told, 1, MPI_INT, 0, r->comm) != MPI_SUCCESS) told = WRONG;
  }
  if (told == REORDERED) {
    MPI_Comm moved;
    PMPI_Scatter(order, 2, MPI_INT, mine, 2, MPI_INT, 0, r->comm);
    if (PMPI_Comm_split(r->comm, 0, mine[0], &moved) == MPI_SUCCESS) {
      r->comm = moved;
      r->own = true;
      r->reorder = 0;
      if (holder) *holder = mine[1];
    }
  }
  if (rank == 0) count_order(r->kind, reasons[told], hops);
  free(order);
}

/* What is to be told to the MPI library if nothing is done. True: an order is to be found for `r->comm`. */
static bool asked(struct reordered* r, const char* kind, MPI_Comm comm, int reorder) {
  int between;
  *r = (struct reordered){.kind = kind, .comm = comm, .reorder = reorder};
  if (!reorder || !taking_on || depth != 1 || comm == MPI_COMM_NULL) return false;
  return PMPI_Comm_test_inter(comm, &between) == MPI_SUCCESS && !between;
}

static void exchange(struct graph* graph, int64_t from, int64_t to, double bytes) {
  graph->exchanges[graph->count++] = (isthmus_exchange){(uint32_t)from, (uint32_t)to, bytes};
}

/* Room for so many exchanges, at the first rank. */
static enum verdict reserve(struct graph* graph, MPI_Comm comm, int64_t tasks, int64_t count) {
  int rank;
  PMPI_Comm_rank(comm, &rank);
  if (possible != REORDERED) return (enum verdict)possible;
  if (count > MOST_EXCHANGES) return LARGE;
  graph->tasks = (uint32_t)tasks;
  graph->exchanges = rank == 0 ? malloc((size_t)(count + 1) * sizeof *graph->exchanges) : NULL;
  return REORDERED;
}

void reorder_cart(struct reordered* r, MPI_Comm comm, int n, const int* dims, const int* periods, int reorder) {
  struct graph graph = {0};
  int size;
  int64_t tasks = 1;
  if (!asked(r, "cart", comm, reorder)) return;
  PMPI_Comm_size(comm, &size);
  for (int k = 0; k < n && tasks > 0; ++k) tasks = dims[k] > 0 && tasks * dims[k] <= size ? tasks * dims[k] : 0;
  enum verdict verdict = n < 1 || tasks < 1 ? WRONG : reserve(&graph, comm, tasks, tasks * n);
  if (graph.exchanges) {
    for (int64_t task = 0, stride = tasks; task < tasks; ++task, stride = tasks) {
      /* The last coordinate varies fastest. */
      for (int k = 0; k < n; ++k) {
        stride /= dims[k];
        const int64_t x = task / stride % dims[k], next = (x + 1) % dims[k];
        if (next > x || periods[k]) exchange(&graph, task, task + (next - x) * stride, 1);
      }
    }
  }
  make_order(r, verdict, &graph, NULL);
  free(graph.exchanges);
}

void reorder_graph(struct reordered* r, MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder) {
  struct graph graph = {0};
  int size;
  if (!asked(r, "graph", comm, reorder)) return;
  PMPI_Comm_size(comm, &size);
  bool good = nodes >= 1 && nodes <= size;
  for (int i = 0; good && i < nodes; ++i) good = index[i] >= (i > 0 ? index[i - 1] : 0);
  for (int e = 0; good && e < index[nodes - 1]; ++e) good = edges[e] >= 0 && edges[e] < nodes;
  enum verdict verdict = good ? reserve(&graph, comm, nodes, index[nodes - 1]) : WRONG;
  if (graph.exchanges)
    for (int i = 0, e = 0; i < nodes; ++i)
      for (; e < index[i]; ++e) exchange(&graph, i, edges[e], 1);
  make_order(r, verdict, &graph, NULL);
  free(graph.exchanges);
}

/* What a rank knows of a distributed graph. */
struct part {
  int (*edges)[3]; /* from, to, weight */
  int64_t count;   /* less than 0: a wrong argument */
  bool weighted;
};

static void add(struct part* part, int size, int from, int to, int weight) {
  if (part->count < 0) return;
  if (from < 0 || from >= size || to < 0 || to >= size || weight < 0) {
    part->count = -1;
    return;
  }
  part->edges[part->count][0] = from;
  part->edges[part->count][1] = to;
  part->edges[part->count++][2] = weight;
}

/* Brings the parts of all ranks together at the first one. */
static enum verdict gather(const struct part* part, MPI_Comm comm, struct graph* graph) {
  int rank, size, verdict = REORDERED;
  const int fits = part->count <= MOST_EXCHANGES;
  int mine[2] = {fits ? (int)part->count : MOST_EXCHANGES + 1, part->weighted};
  int(*all)[2] = NULL, (*edges)[3] = NULL, *counts = NULL, *displs = NULL;
  int64_t total = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  if (rank == 0) {
    all = malloc((size_t)size * sizeof *all);
    counts = malloc((size_t)size * sizeof *counts);
    displs = malloc((size_t)size * sizeof *displs);
    if (!all || !counts || !displs) verdict = NO_MEMORY;
  }
  PMPI_Bcast(&verdict, 1, MPI_INT, 0, comm);
  if (verdict == REORDERED) {
    PMPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, 0, comm);
    if (rank == 0) {
      for (int i = 0; i < size; ++i) {
        if (all[i][0] < 0 || all[i][1] != all[0][1]) verdict = WRONG;
        if (verdict == REORDERED && (total += all[i][0]) > MOST_EXCHANGES) verdict = LARGE;
        counts[i] = 3 * all[i][0];
        displs[i] = i > 0 ? displs[i - 1] + counts[i - 1] : 0;
        if (verdict != REORDERED) break;
      }
    }
    if (rank == 0 && verdict == REORDERED) {
      edges = malloc((size_t)(total + 1) * sizeof *edges);
      graph->exchanges = malloc((size_t)(total + 1) * sizeof *graph->exchanges);
      if (!edges || !graph->exchanges) verdict = NO_MEMORY;
    }
    PMPI_Bcast(&verdict, 1, MPI_INT, 0, comm);
  }
  if (verdict == REORDERED) {
    PMPI_Gatherv(part->edges, 3 * mine[0], MPI_INT, edges, counts, displs, MPI_INT, 0, comm);
    graph->tasks = (uint32_t)size;
    for (int64_t e = 0; rank == 0 && e < total; ++e) exchange(graph, edges[e][0], edges[e][1], edges[e][2]);
  }
  free(all);
  free(counts);
  free(displs);
  free(edges);
  return (enum verdict)verdict;
}

/* Room for the part of a rank; its absence is a wrong argument to all. */
static void part_begin(struct part* part, int64_t most, bool weighted) {
  *part = (struct part){.weighted = weighted};
  if (most >= 0 && most <= MOST_EXCHANGES) part->edges = malloc((size_t)(most + 1) * sizeof *part->edges);
  if (!part->edges) part->count = most > MOST_EXCHANGES ? most : -1;
}

static void order_of_parts(struct reordered* r, struct part* part, int* holder) {
  struct graph graph = {0};
  make_order(r, gather(part, r->comm, &graph), &graph, holder);
  free(graph.exchanges);
  free(part->edges);
}

void reorder_dist_graph(struct reordered* r, MPI_Comm comm, int n, const int* sources, const int* degrees,
                        const int* destinations, const int* weights, bool weighted, int reorder) {
  struct part part;
  int size;
  int64_t edges = 0;
  if (!asked(r, "dist_graph", comm, reorder)) return;
  if (possible != REORDERED) {
    make_order(r, (enum verdict)possible, NULL, NULL);
    return;
  }
  PMPI_Comm_size(comm, &size);
  for (int i = 0; i < n && edges >= 0; ++i) edges = degrees[i] < 0 ? -1 : edges + degrees[i];
  part_begin(&part, n < 0 ? -1 : edges, weighted);
  for (int i = 0, e = 0; part.edges && i < n; ++i)
    for (int j = 0; j < degrees[i]; ++j, ++e) add(&part, size, sources[i], destinations[e], weighted ? weights[e] : 1);
  order_of_parts(r, &part, NULL);
}

/* Copies two lists, or what is sent of them, into one place. */
static int* put(int* to, const int* list, int count) {
  if (count > 0) memcpy(to, list, (size_t)count * sizeof *to);
  return to + count;
}

/* The lists of neighbours go to the process that has the number now. */
static void pass_on(struct reordered* r, const struct part* part, int before, int holder) {
  int counts[2] = {r->ins, r->outs}, got[2];
  const int lists = part->weighted ? 2 : 1;
  const MPI_Comm comm = r->comm;
  PMPI_Sendrecv(counts, 2, MPI_INT, before, 0, got, 2, MPI_INT, holder, 0, comm, MPI_STATUS_IGNORE);
  const int given = lists * (counts[0] + counts[1]), had = lists * (got[0] + got[1]);
  int* sent = malloc((size_t)(given + 1) * sizeof *sent);
  int* in = r->memory = malloc((size_t)(had + 1) * sizeof *in);
  if (!sent || !in) {
    say("no memory for %d neighbours", had);
    PMPI_Abort(comm, 1);
  }
  int* end = put(put(sent, r->sources, r->ins), r->destinations, r->outs);
  if (part->weighted) put(put(end, r->source_weights, r->ins), r->destination_weights, r->outs);
  PMPI_Sendrecv(sent, given, MPI_INT, before, 0, in, had, MPI_INT, holder, 0, comm, MPI_STATUS_IGNORE);
  free(sent);
  r->ins = got[0];
  r->outs = got[1];
  r->sources = in;
  r->destinations = in + got[0];
  if (part->weighted) {
    r->source_weights = in + got[0] + got[1];
    r->destination_weights = r->source_weights + got[0];
  }
}

void reorder_adjacent(struct reordered* r, MPI_Comm comm, int ins, const int* sources, const int* source_weights,
                      int outs, const int* destinations, const int* destination_weights, int weighted, int reorder) {
  struct part part;
  int rank, size, holder;
  const bool wanted = asked(r, "dist_graph_adjacent", comm, reorder);
  r->ins = ins;
  r->sources = sources;
  r->source_weights = source_weights;
  r->outs = outs;
  r->destinations = destinations;
  r->destination_weights = destination_weights;
  if (!wanted) return;
  if (possible != REORDERED) {
    make_order(r, (enum verdict)possible, NULL, NULL);
    return;
  }
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  /* Both sides have weights, or none. */
  part_begin(&part, ins < 0 || weighted == 1 ? -1 : outs, weighted == 2);
  for (int i = 0; part.edges && i < outs; ++i)
    add(&part, size, rank, destinations[i], part.weighted ? destination_weights[i] : 1);
  for (int i = 0; i < ins && part.count >= 0; ++i)
    if (sources[i] < 0 || sources[i] >= size) part.count = -1;
  order_of_parts(r, &part, &holder);
  if (r->own) pass_on(r, &part, rank, holder);
}

void reordered_end(struct reordered* r) {
  if (r->own) PMPI_Comm_free(&r->comm);
  free(r->memory);
}

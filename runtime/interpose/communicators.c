/* Communicators: the group of ranks that carries out the collectives of each, kept as an attribute, so that a handle
 * that is freed and used again can never be mistaken. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

static int keyval = MPI_KEYVAL_INVALID;
/* The number of the next group: larger than those of all groups that this process was in, so that two ranks never
 * belong to two groups of one number. */
static uint32_t next_number = 1;
/* Of the keys of communicators: their number and first rank in 54 bits, above what tells classes of calls apart. */
static const uint64_t WORLD = (uint64_t)1 << 54;
/* What was looked up last. */
static MPI_Comm last_comm;
static struct communicator* last;

static int deleted(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)state;
  last = NULL;
  communicator_drop(value);
  return MPI_SUCCESS;
}

void communicators_begin(void) {
  if (keyval == MPI_KEYVAL_INVALID) PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, NULL);
  last = NULL;
}

void communicators_end(void) {
  const MPI_Comm predefined[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < 2; ++i) {
    int found;
    void* value;
    PMPI_Comm_get_attr(predefined[i], keyval, &value, &found);
    if (found) PMPI_Comm_delete_attr(predefined[i], keyval);
  }
  PMPI_Comm_free_keyval(&keyval);
}

void communicator_drop(struct communicator* c) {
  if (!c || --c->references > 0) return;
  for (int k = 0; k < COLLECTIVES; ++k) {
    for (int s = 0; s <= CLASSES; ++s) {
      tally_free(c->tallies[k][s]);
      series_free(c->series[k][s]);
    }
    prepared_free(c->prepared[k]);
  }
  orders_free(c);
  if (c->own_team) isthmus_leave(c->team);
  free(c->in);
  free(c->out);
  free(c);
}

/* Numbers of the members among the ranks of a whole; NULL: one of them is elsewhere, which all of them see. */
static uint32_t* members_of(MPI_Comm comm, int size, const struct whole* whole) {
  if (!whole->team) return NULL;
  uint32_t* members = malloc((size_t)size * sizeof *members);
  int *of_comm = malloc((size_t)size * sizeof *of_comm), *of_whole = malloc((size_t)size * sizeof *of_whole);
  MPI_Group group;
  bool here = true;
  PMPI_Comm_group(comm, &group);
  for (int i = 0; i < size; ++i) of_comm[i] = i;
  PMPI_Group_translate_ranks(group, size, of_comm, whole->group, of_whole);
  PMPI_Group_free(&group);
  for (int i = 0; i < size; ++i) {
    here = here && of_whole[i] != MPI_UNDEFINED;
    members[i] = (uint32_t)of_whole[i];
  }
  free(of_comm);
  free(of_whole);
  if (here) return members;
  free(members);
  return NULL;
}

/* Whether a rank of a graph names a neighbour twice. Only the two ranks know. */
static void agree_about_neighbours(struct communicator* c, MPI_Comm comm) {
  int topology, twice = 0, any;
  PMPI_Topo_test(comm, &topology);
  if (topology != MPI_GRAPH && topology != MPI_DIST_GRAPH) return;
  communicator_neighbours(c, comm);
  char* seen = calloc(2, (size_t)c->size);
  for (int i = 0; i < c->ins; ++i) twice |= seen[c->in[i]]++;
  for (int i = 0; i < c->outs; ++i) twice |= seen[c->size + c->out[i]]++;
  free(seen);
  twice = twice != 0;
  PMPI_Allreduce(&twice, &any, 1, MPI_INT, MPI_MAX, comm);
  c->twice = any != 0;
}

/* Its group; all of its ranks do this together. */
static void make_group(struct communicator* c, MPI_Comm comm) {
  int between;
  PMPI_Comm_test_inter(comm, &between);
  if (between) {
    c->why = "between two groups of ranks";
    return;
  }
  PMPI_Comm_rank(comm, &c->rank);
  PMPI_Comm_size(comm, &c->size);
  c->why = process.sessions ? "of a session, without MPI_Init" : "no shared memory";
  if (!process.node.team && !process.world.team) return;
  c->why = process.several_nodes && !process.world.team ? "ranks on several nodes" : "ranks of another program";
  const struct whole* whole = &process.node;
  uint32_t* members = members_of(comm, c->size, whole);
  if (!members) members = members_of(comm, c->size, whole = &process.world);
  if (!members) return;
  c->concurrent = whole->concurrent;
  c->compares = process.compares && whole == &process.node && c->size > 1 && agreed_can();
  if (comm == MPI_COMM_WORLD) {
    /* Its messages need no number of a group, which MPI's tags have no room for. */
    c->team = whole->team;
    c->key = WORLD;
    c->may_tune = process.online;
    free(members);
    return;
  }
  uint32_t number = next_number;
  if (c->size > 1) PMPI_Allreduce(&next_number, &number, 1, MPI_UINT32_T, MPI_MAX, comm);
  next_number = number + 1;
  c->key = WORLD | (uint64_t)number << 22 | members[0];
  /* Programs that make ever new communicators would tune for ever. */
  enum { TUNED = 16 };
  c->may_tune = process.online && number <= TUNED;
  if (isthmus_group(whole->team, members, (uint32_t)c->size, number, &c->team) != ISTHMUS_DONE) {
    say("%s", isthmus_last_error());
    PMPI_Abort(comm, 1);
  }
  c->own_team = true;
  free(members);
  agree_about_neighbours(c, comm);
}

struct communicator* communicator_of(MPI_Comm comm, bool may_make) {
  int found;
  void* value;
  if (LIKELY(last != NULL && last_comm == comm)) return last;
  if (comm == MPI_COMM_NULL) return NULL;
  PMPI_Comm_get_attr(comm, keyval, &value, &found);
  if (!found) {
    if (!may_make) return NULL;
    struct communicator* c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->references = 1;
    make_group(c, comm);
    PMPI_Comm_set_attr(comm, keyval, c);
    value = c;
  }
  last_comm = comm;
  return last = value;
}

/* At once, as nonblocking collectives cannot wait until all ranks are there. */
void communicator_made(MPI_Comm comm) {
  if (!taking_on || depth != 0 || comm == MPI_COMM_NULL) return;
  enter();
  communicator_of(comm, true);
  leave();
}

/* Whether a rank of a grid is its neighbour's neighbour to both sides. */
static bool doubled(MPI_Comm comm, int n) {
  int *dims = malloc(3 * (size_t)n * sizeof *dims + 1), doubles = 0;
  PMPI_Cart_get(comm, n, dims, dims + n, dims + 2 * n);
  for (int i = 0; i < n; ++i) doubles |= dims[n + i] && dims[i] <= 2;
  free(dims);
  return doubles;
}

void communicator_neighbours(struct communicator* c, MPI_Comm comm) {
  int topology, n = 0, weighted;
  if (c->neighbours_known) return;
  c->neighbours_known = true;
  PMPI_Topo_test(comm, &topology);
  switch (topology) {
    case MPI_CART:
      PMPI_Cartdim_get(comm, &n);
      c->ins = c->outs = 2 * n;
      c->out = malloc((size_t)(2 * n + 1) * sizeof *c->out);
      for (int i = 0; i < n; ++i) PMPI_Cart_shift(comm, i, 1, &c->out[2 * i], &c->out[2 * i + 1]);
      c->in = malloc((size_t)(2 * n + 1) * sizeof *c->in);
      memcpy(c->in, c->out, (size_t)(2 * n) * sizeof *c->in);
      c->twice = c->both_sides = doubled(comm, n);
      break;
    case MPI_GRAPH:
      PMPI_Graph_neighbors_count(comm, c->rank, &n);
      c->ins = c->outs = n;
      c->in = malloc((size_t)(n + 1) * sizeof *c->in);
      c->out = malloc((size_t)(n + 1) * sizeof *c->out);
      PMPI_Graph_neighbors(comm, c->rank, n, c->in);
      memcpy(c->out, c->in, (size_t)n * sizeof *c->in);
      break;
    case MPI_DIST_GRAPH: {
      PMPI_Dist_graph_neighbors_count(comm, &c->ins, &c->outs, &weighted);
      c->in = malloc((size_t)(c->ins + 1) * sizeof *c->in);
      c->out = malloc((size_t)(c->outs + 1) * sizeof *c->out);
      int* w = malloc((size_t)(c->ins + c->outs + 1) * sizeof *w);
      PMPI_Dist_graph_neighbors(comm, c->ins, c->in, w, c->outs, c->out, w + c->ins);
      free(w);
      break;
    }
    default: c->away = "no topology";
  }
}

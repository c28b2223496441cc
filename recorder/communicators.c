/* Communicators: what a trace needs to know of each, kept as an attribute of the communicator, so that a handle that is
 * freed and used again can never be mistaken. */
#include <string.h>

#include "recorder.h"

/* How many communicators were made for a key: parent, members and how. All members of a communicator have made the same
 * ones with just these members before, so that the numbers agree without a message. */
struct made {
  uint64_t key, count;
};
static struct made* made_table;
static size_t made_slots, made_count;

static int keyval = MPI_KEYVAL_INVALID;
static atomic_ullong freed = 1; /* grows when handles may come to mean something else */

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
  hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
  return hash ^ hash >> 31;
}

static uint64_t made_before(uint64_t key) {
  if (2 * made_count >= made_slots) {
    struct made* old = made_table;
    size_t slots = made_slots;
    made_slots = slots ? 2 * slots : 64;
    made_table = recorder_allocate(made_slots * sizeof *old);
    for (size_t i = 0; i < slots; i++) {
      if (!old[i].count) continue;
      size_t j = old[i].key & (made_slots - 1);
      while (made_table[j].count) j = (j + 1) & (made_slots - 1);
      made_table[j] = old[i];
    }
    recorder_release(old, slots * sizeof *old);
  }
  size_t i = key & (made_slots - 1);
  while (made_table[i].count && made_table[i].key != key) i = (i + 1) & (made_slots - 1);
  made_count += !made_table[i].count;
  made_table[i].key = key;
  return made_table[i].count++;
}

static int deleted(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)state;
  atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
  communicator_drop(value);
  return MPI_SUCCESS;
}

void communicator_keep(struct communicator* c) {
  recorder_lock();
  c->references++;
  recorder_unlock();
}

void communicator_drop(struct communicator* c) {
  if (!c) return;
  recorder_lock();
  bool last = --c->references == 0;
  recorder_unlock();
  if (!last) return;
  recorder_release(c->world, (size_t)(c->remote ? c->remote : c->size) * sizeof *c->world);
  recorder_release(c->in, (size_t)c->ins * sizeof *c->in);
  recorder_release(c->out, (size_t)c->outs * sizeof *c->out);
  recorder_release(c, sizeof *c);
}

/* World ranks of a group's members. */
static int* group_world(MPI_Group group, int size) {
  int* world = recorder_allocate((size_t)size * sizeof *world);
  int* ranks = recorder_allocate((size_t)size * sizeof *ranks);
  for (int i = 0; i < size; i++) ranks[i] = i;
  if (size) PMPI_Group_translate_ranks(group, size, ranks, process.world, world);
  for (int i = 0; i < size; i++)
    if (world[i] < 0) world[i] = TRACE_OUTSIDE;
  recorder_release(ranks, (size_t)size * sizeof *ranks);
  return world;
}

static uint64_t hash_ranks(const int* world, int size) {
  uint64_t hash = (uint64_t)size;
  for (int i = 0; i < size; i++) hash = mix(hash, (uint64_t)(int64_t)world[i]);
  return hash;
}

/* Dimensions, extents and whether they are periodic; the number of numbers. */
static int cartesian(MPI_Comm comm, int* numbers, int most) {
  int dims = 0, coordinates[64];
  PMPI_Cartdim_get(comm, &dims);
  if (dims > 64 || 1 + 2 * dims > most) return 0;
  numbers[0] = dims;
  if (dims) PMPI_Cart_get(comm, dims, numbers + 1, numbers + 1 + dims, coordinates);
  return 1 + 2 * dims;
}

static void write_comm(const struct communicator* c, const int* local, const int* remote, const int* more,
                       int numbers) {
  bool members = c->rank == 0;
  int locals = members ? c->size : 0, remotes = members ? c->remote : 0;
  struct trace_comm* record =
      record_reserve(TRACE_COMM, sizeof *record + 4 * (size_t)(locals + remotes + (numbers ? numbers : 0)));
  if (!record) return;
  record->id = c->id;
  record->parent = c->parent;
  record->ranks = (uint32_t)locals;
  record->remote = (uint32_t)remotes;
  record->rank = c->rank;
  record->topology = (uint32_t)c->topology;
  int32_t* at = (int32_t*)(record + 1);
  memset(at, 0, 8 * (size_t)record->head.words - sizeof *record);
  if (locals) memcpy(at, local, 4 * (size_t)locals);
  if (remotes) memcpy(at + locals, remote, 4 * (size_t)remotes);
  if (numbers) memcpy(at + locals + remotes, more, 4 * (size_t)numbers);
  record_commit(here->header->last_ns);
}

static int topology_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &topology);
  return topology == MPI_CART ? 1 : topology == MPI_GRAPH ? 2 : topology == MPI_DIST_GRAPH ? 3 : 0;
}

/* id 0: to be found out. */
static struct communicator* describe(MPI_Comm comm, uint64_t id, uint64_t parent, uint64_t salt) {
  struct communicator* c = recorder_allocate(sizeof *c);
  int inter = 0, more[129], numbers = 0;
  MPI_Group group, remote_group;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_group(comm, &group);
  PMPI_Group_size(group, &c->size);
  PMPI_Group_rank(group, &c->rank);
  int *local = group_world(group, c->size), *remote = NULL;
  uint64_t members = hash_ranks(local, c->size);
  PMPI_Group_free(&group);
  if (inter) {
    PMPI_Comm_remote_group(comm, &remote_group);
    PMPI_Group_size(remote_group, &c->remote);
    remote = group_world(remote_group, c->remote);
    uint64_t others = hash_ranks(remote, c->remote);
    PMPI_Group_free(&remote_group);
    /* Equal on both sides, whose parents may differ. */
    members = members < others ? mix(mix(7, members), others) : mix(mix(7, others), members);
  } else {
    c->topology = topology_of(comm);
    if (c->topology == 1) numbers = cartesian(comm, more, 129);
  }
  c->parent = parent;
  c->references = 1;
  if (id) {
    c->id = id;
  } else {
    uint64_t key = mix(mix(members, inter ? 0 : parent), salt);
    recorder_lock();
    c->id = mix(key, made_before(key)) | 1ull << 63; /* never the id of a world or of MPI_COMM_SELF */
    recorder_unlock();
  }
  write_comm(c, local, remote, more, numbers);
  int *peers = inter ? remote : local, size = inter ? c->remote : c->size;
  bool same = true;
  for (int i = 0; i < size && same; i++) same = peers[i] == i;
  c->world = same ? NULL : peers;
  if (same) recorder_release(peers, (size_t)size * sizeof *peers);
  if (inter) recorder_release(local, (size_t)c->size * sizeof *local);
  return c;
}

void communicators_begin(void) {
  if (keyval == MPI_KEYVAL_INVALID) PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, NULL);
  if (process.has_world) communicator_attach(MPI_COMM_WORLD, describe(MPI_COMM_WORLD, 1, 0, 0));
}

void communicators_end(void) {
  /* Before the last of MPI goes: attributes that are left would be deleted by a library that does not expect it. */
  atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
  if (keyval != MPI_KEYVAL_INVALID) PMPI_Comm_free_keyval(&keyval);
  keyval = MPI_KEYVAL_INVALID;
}

void communicator_attach(MPI_Comm comm, struct communicator* c) { PMPI_Comm_set_attr(comm, keyval, c); }

struct communicator* communicator_made(MPI_Comm comm, uint64_t parent, uint64_t salt) {
  if (comm == MPI_COMM_NULL) return NULL;
  struct communicator* c = describe(comm, 0, parent, salt);
  communicator_attach(comm, c);
  return c;
}

struct communicator* communicator_promised(MPI_Comm parent) { return describe(parent, 0, communicator_id(parent), 2); }

struct communicator* communicator_of(MPI_Comm comm) {
  static _Thread_local struct {
    uint64_t handle, epoch;
    struct communicator* c;
  } cache[8], *slot;
  uint64_t handle = HANDLE(comm);
  uint64_t epoch = atomic_load_explicit(&freed, memory_order_relaxed);
  slot = &cache[(handle ^ handle >> 4 ^ handle >> 9) % 8];
  if (LIKELY(slot->handle == handle && slot->epoch == epoch && slot->c)) return slot->c;
  if (comm == MPI_COMM_NULL) return NULL;
  struct communicator* c = NULL;
  int found = 0;
  PMPI_Comm_get_attr(comm, keyval, &c, &found);
  if (!found) {
    /* MPI_COMM_SELF, or made by something that is not seen here. */
    if (comm == MPI_COMM_SELF) {
      c = describe(comm, 2 + (uint64_t)process.rank, 0, 0);
      communicator_attach(comm, c);
    } else {
      c = communicator_made(comm, 0, 1);
    }
  }
  slot->handle = handle;
  slot->epoch = epoch;
  slot->c = c;
  return c;
}

uint64_t communicator_id(MPI_Comm comm) {
  struct communicator* c = communicator_of(comm);
  return c ? c->id : 0;
}

int communicator_world(const struct communicator* c, int peer) {
  if (peer < 0 || !c) return peer;
  if (peer >= (c->remote ? c->remote : c->size)) return TRACE_NONE;
  return c->world ? c->world[peer] : peer;
}

static void write_created(const struct call* call, struct trace_created created) {
  struct trace_created* record = record_call(call, FORM_COMM, 1, sizeof *record);
  if (!record) return;
  *record = created;
  record_commit(call->end);
}

void record_comm_made(const struct call* call, MPI_Comm parent, MPI_Comm comm, uint64_t salt) {
  uint64_t from = communicator_id(parent);
  struct communicator* c = communicator_made(comm, from, salt);
  write_created(call, (struct trace_created){.id = c ? c->id : 0, .parent = from});
}

void record_comm_idup(const struct call* call, MPI_Comm parent, struct handles comm, uint64_t request) {
  struct request* r = request_add(request, REQUEST_OTHER);
  r->comm = communicator_promised(parent);
  r->promised = 1;
  r->place = comm;
  write_created(call, (struct trace_created){.id = r->comm->id, .parent = r->comm->parent, .request = r->serial});
}

void record_comm_freed(const struct call* call, uint64_t id) {
  write_created(call, (struct trace_created){.id = id, .parent = id, .freed = 1});
}

/* Requests of nonblocking and persistent collectives. What the program gets is a persistent request of the MPI library
 * that is never started: a handle that no other request has, that goes through Fortran and back, and that the library
 * takes for an inactive one wherever it stands among requests of its own. A table says which of them are ours. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

int requests_live, requests_busy;
static int holding; /* types or operators that the program may free */

static struct request** table; /* open addressing by handle */
static size_t slots;
static struct request* spare;

static uint64_t number_of(MPI_Request handle) {
  return sizeof handle == 4 ? (uint64_t)(uint32_t)(uintptr_t)handle : (uint64_t)(uintptr_t)handle;
}

static size_t slot_of(MPI_Request handle) {
  return (size_t)(number_of(handle) * 0x9E3779B97F4A7C15u >> 32) & (slots - 1);
}

struct request* request_find(MPI_Request handle) {
  if (slots == 0 || handle == MPI_REQUEST_NULL) return NULL;
  for (size_t i = slot_of(handle); table[i]; i = (i + 1) & (slots - 1))
    if (table[i]->handle == handle) return table[i];
  return NULL;
}

static void insert(struct request* r) {
  size_t i = slot_of(r->handle);
  while (table[i]) i = (i + 1) & (slots - 1);
  table[i] = r;
}

static void add(struct request* r) {
  if (2 * (size_t)++requests_live > slots) {
    struct request** old = table;
    const size_t before = slots;
    slots = before ? 2 * before : 256;
    table = calloc(slots, sizeof *table);
    if (!table) abort();
    for (size_t i = 0; i < before; ++i)
      if (old[i]) insert(old[i]);
    free(old);
  }
  insert(r);
}

static void take_out(struct request* r) {
  size_t hole = slot_of(r->handle);
  while (table[hole] != r) hole = (hole + 1) & (slots - 1);
  for (size_t i = hole;;) {
    i = (i + 1) & (slots - 1);
    if (!table[i]) break;
    const size_t wants = slot_of(table[i]->handle);
    if (((i - wants) & (slots - 1)) < ((i - hole) & (slots - 1))) continue;
    table[hole] = table[i];
    hole = i;
  }
  table[hole] = NULL;
  --requests_live;
}

static struct request* new_request(void) {
  struct request* r = spare;
  if (r) {
    spare = r->next;
  } else {
    r = calloc(1, sizeof *r);
    if (!r) abort();
    PMPI_Recv_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, process.own, &r->handle);
  }
  r->persistent = r->active = r->done = r->freed = r->holds = false;
  r->error = MPI_SUCCESS;
  r->call.packed = r->call.pending = NULL;
  return r;
}

/* ---- what the program frees while collectives still use it ---- */
static struct {
  MPI_Datatype type;
  MPI_Op op;
}* later;
static size_t later_count, later_room;

static bool put_off(MPI_Datatype type, MPI_Op op) {
  if (holding == 0) return false;
  if (later_count == later_room) {
    later_room = later_room ? 2 * later_room : 16;
    later = realloc(later, later_room * sizeof *later);
    if (!later) abort();
  }
  later[later_count].type = type;
  later[later_count++].op = op;
  return true;
}

bool type_put_off(MPI_Datatype* type) {
  if (*type == MPI_DATATYPE_NULL || !put_off(*type, MPI_OP_NULL)) return false;
  *type = MPI_DATATYPE_NULL;
  return true;
}

bool op_put_off(MPI_Op* op) {
  if (*op == MPI_OP_NULL || !put_off(MPI_DATATYPE_NULL, *op)) return false;
  *op = MPI_OP_NULL;
  return true;
}

static void free_put_off(void) {
  while (later_count > 0) {
    --later_count;
    if (later[later_count].op != MPI_OP_NULL) PMPI_Op_free(&later[later_count].op);
    else PMPI_Type_free(&later[later_count].type);
  }
}

static void release(struct request* r) {
  take_out(r);
  call_release(&r->call);
  arguments_release(&r->arguments, r->comm);
  communicator_drop(r->comm);
  r->next = spare;
  spare = r;
  if (r->holds && --holding == 0) free_put_off();
}

/* ---- a collective that is under way ---- */
static int begin_call(struct request* r) {
  struct call* call = &r->call;
  if (!call_prepare(call, &r->arguments, r->comm, &r->reduction)) {
    say("not enough memory for a collective");
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
  prepared_keep(r->comm, &r->arguments, call);
  return isthmus_begin(r->comm->team, &call->call, call->input, call->output, &r->operation);
}

static int begin(struct request* r, const struct prepared* p) {
  r->call.to.blocks = 0;
  const int status = p ? prepared_begin(p, r->comm, &r->arguments, &r->operation) : begin_call(r);
  r->active = true;
  r->done = false;
  r->error = MPI_SUCCESS;
  ++requests_busy;
  if (status == ISTHMUS_IN_PROGRESS) return MPI_SUCCESS;
  --requests_busy;
  r->done = true;
  return r->error = collective_failed(r->arguments.comm, status);
}

bool request_test(struct request* r) {
  if (!r->active || r->done) return true;
  const int status = isthmus_test(r->operation);
  if (status == ISTHMUS_IN_PROGRESS) return false;
  r->done = true;
  --requests_busy;
  if (status == ISTHMUS_DONE) call_finish(&r->call);
  else r->error = collective_failed(r->arguments.comm, status);
  call_release(&r->call);
  r->call.packed = r->call.pending = NULL;
  if (r->freed) release(r);
  return true;
}

int request_end(struct request* r, MPI_Request* handle) {
  const int error = r->error;
  r->active = r->done = false;
  if (!r->persistent) {
    *handle = MPI_REQUEST_NULL;
    release(r);
  }
  return error;
}

void request_free(struct request* r) {
  if (r->active && !r->done) r->freed = true;
  else release(r);
}

static int start(struct request* r, const struct prepared* p) {
  const enum collective kind = r->arguments.kind;
  int64_t own;
  const int error = begin(r, p);
  if (p) {
    count_taken(kind, p->size_class, p->own);
  } else {
    const int64_t agreed = call_size(&r->arguments, r->comm, &own);
    count_taken(kind, agreed < 0 ? NO_CLASS : class_of(agreed), own);
  }
  return error;
}

int request_start(struct request* r) { return start(r, prepared_call(r->comm, &r->arguments)); }

bool collective_start(const struct arguments* a, bool persistent, MPI_Request* handle, int* error) {
  enter();
  struct communicator* c = communicator_of(a->comm, false);
  /* A persistent one is prepared again when it is started. */
  const struct prepared* p = c && !persistent ? prepared_call(c, a) : NULL;
  struct reduction reduction = {.by_mpi = false};
  const char* why = p ? NULL : c ? call_refused(a, c, &reduction) : "no group of its ranks was made";
  /* Who waits within the MPI library could not go on with it. */
  if (c && !why && !c->concurrent) why = "does not wait, on several nodes without MPI_THREAD_MULTIPLE";
  if (why) {
    count_left(a->kind, NO_CLASS, 0, why);
    leave();
    depth++;
    return false;
  }
  struct request* r = new_request();
  r->comm = c;
  c->references++;
  r->persistent = persistent;
  r->arguments = *a;
  if (!p) {
    r->reduction = reduction;
    /* Types of reductions stay as they are: operators are called with them. */
    arguments_keep(&r->arguments, c);
    r->holds = r->reduction.by_mpi;
    holding += r->holds;
  }
  add(r);
  *handle = r->handle;
  *error = persistent ? MPI_SUCCESS : start(r, p);
  leave();
  return true;
}

void requests_end(void) {
  for (size_t i = 0; i < slots; ++i)
    if (table[i]) PMPI_Request_free(&table[i]->handle);
  for (struct request* r = spare; r; r = r->next) PMPI_Request_free(&r->handle);
  requests_live = requests_busy = 0;
  slots = 0;
}

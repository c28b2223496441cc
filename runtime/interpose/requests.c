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
  r->persistent = r->active = r->done = r->freed = r->holds = r->by_theirs = false;
  r->theirs = MPI_REQUEST_NULL;
  r->series = NULL;
  r->number = 0;
  r->algorithm = NULL;
  r->sample.series = NULL;
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
    handle_freed();
    if (later[later_count].op != MPI_OP_NULL) PMPI_Op_free(&later[later_count].op);
    else PMPI_Type_free(&later[later_count].type);
  }
}

static void release(struct request* r) {
  take_out(r);
  sample_drop(&r->sample);
  if (r->persistent) series_free(r->series);
  free(r->algorithm);
  if (r->theirs != MPI_REQUEST_NULL) PMPI_Request_free(&r->theirs);
  call_release(&r->call);
  arguments_release(&r->arguments, r->comm);
  communicator_drop(r->comm);
  r->next = spare;
  spare = r;
  if (r->holds && --holding == 0) free_put_off();
}

/* ---- a collective that is under way ---- */
/* Whether a call that does not wait has a copy of a type, which no later one can have. */
static bool copies_types(const struct arguments* a) {
  const MPI_Datatype types[] = {a->stype, a->rtype};
  for (int i = 0; i < 2 && !reduces(a->kind); ++i)
    if (types[i] != MPI_DATATYPE_NULL && !type_of(types[i]).named) return true;
  return false;
}

static int begin_call(struct request* r) {
  struct call* call = &r->call;
  if (!call_prepare(call, &r->arguments, r->comm, &r->reduction)) {
    say("not enough memory for a collective");
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
  const bool ordered = process.reproducible && reduces(r->arguments.kind);
  if (!call->call.combine && !ordered && (r->persistent || !copies_types(&r->arguments)))
    prepared_keep(r->comm, &r->arguments, call);
  call->call.name = r->number;
  if (r->algorithm) call->call.algorithm = r->algorithm;
  return isthmus_begin(r->comm->team, &call->call, call->input, call->output, &r->operation);
}

static int begin(struct request* r, const struct prepared* p) {
  r->call.to.blocks = 0;
  const int status = p ? prepared_begin(p, r, &r->operation) : begin_call(r);
  r->active = true;
  r->done = false;
  r->error = MPI_SUCCESS;
  ++requests_busy;
  if (status == ISTHMUS_IN_PROGRESS) return MPI_SUCCESS;
  --requests_busy;
  r->done = true;
  return r->error = collective_failed(r->arguments.comm, status);
}

static bool test_theirs(struct request* r) {
  int flag = 0;
  r->error = PMPI_Test(&r->theirs, &flag, MPI_STATUS_IGNORE);
  r->done = flag || r->error != MPI_SUCCESS;
  return r->done;
}

void request_wait_alone(struct request* r) {
  if (!r->active || r->done || !r->by_theirs) return;
  r->error = PMPI_Wait(&r->theirs, MPI_STATUS_IGNORE);
  r->done = true;
}

bool request_test(struct request* r) {
  if (!r->active || r->done) return true;
  if (r->by_theirs) return test_theirs(r);
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
  sample_end(&r->sample);
  r->active = r->done = false;
  if (!r->persistent) {
    *handle = MPI_REQUEST_NULL;
    release(r);
  }
  return error;
}

void request_free(struct request* r) {
  if (r->active && !r->done && !r->by_theirs) r->freed = true;
  else release(r);
}

/* The class of a call, and its bytes. */
static int class_of_call(const struct prepared* p, const struct arguments* a, const struct communicator* c,
                         int64_t* own) {
  if (p) return *own = p->own, p->size_class;
  const int64_t agreed = call_size(a, c, own);
  return agreed < 0 ? NO_CLASS : class_of(agreed);
}

/* What calls of the MPI library's operators need lasts no longer than a call that waits. */
static const struct prepared* prepared_apart(struct communicator* c, const struct arguments* a) {
  const struct prepared* p = prepared_call(c, a);
  return p && !p->call.combine ? p : NULL;
}

static int start(struct request* r, const struct prepared* p, int size_class, int64_t own, bool timed) {
  const uint64_t from = timed ? now_ns() : 0;
  const int error = begin(r, p);
  if (timed) sample_begin(&r->sample, r->series, OURS, now_ns() - from);
  count_taken(r->persistent ? PERSISTENT : NONBLOCKING, r->arguments.kind, size_class, own);
  return error;
}

static void count_theirs(enum form form, enum collective kind, int size_class, int64_t own, bool timed) {
  count_left(form, kind, size_class, own, timed ? "compared" : "the MPI library's own is faster");
}

static int start_theirs(struct request* r, bool timed) {
  const uint64_t from = timed ? now_ns() : 0;
  r->error = PMPI_Start(&r->theirs);
  r->active = r->by_theirs = true;
  r->done = r->error != MPI_SUCCESS;
  if (timed) sample_begin(&r->sample, r->series, THEIRS, now_ns() - from);
  return r->error;
}

int request_start(struct request* r) {
  const struct prepared* p = prepared_apart(r->comm, &r->arguments);
  bool timed = false;
  int64_t own;
  const int size_class = class_of_call(p, &r->arguments, r->comm, &own);
  if (r->series && series_turn(r->series, &timed) == THEIRS) {
    count_theirs(PERSISTENT, r->arguments.kind, size_class, own, timed);
    return start_theirs(r, timed);
  }
  r->by_theirs = false;
  return start(r, p, size_class, own, timed);
}

/* The MPI library is called now; `r` stands for what it gives. */
static bool left(struct started* started, struct request* r, bool timed) {
  started->request = r;
  started->timed = timed;
  leave();
  depth++;
  started->begin = timed ? now_ns() : 0;
  return false;
}

static struct request* request_for(const struct arguments* a, struct communicator* c, enum form form) {
  struct request* r = new_request();
  r->comm = c;
  c->references++;
  r->persistent = form == PERSISTENT;
  r->arguments = *a;
  add(r);
  return r;
}

/* Ranks that start in another order than each other may have learned different things until then. */
static void keep_algorithm(struct request* r) {
  struct call call;
  const char* found;
  if (!call_prepare(&call, &r->arguments, r->comm, &r->reduction)) return;
  if (!call.call.algorithm && isthmus_choice(r->comm->team, &call.call, &found) == ISTHMUS_DONE &&
      strcmp(found, "library") != 0)
    r->algorithm = strdup(found);
  call_release(&call);
}

bool collective_start(const struct arguments* a, enum form form, MPI_Request* handle, struct started* started) {
  enter();
  struct communicator* c = communicator_of(a->comm, false);
  /* A persistent one is prepared again when it is started. */
  const bool ordered = process.reproducible && reduces(a->kind);
  const struct prepared* p = c && form == NONBLOCKING && !ordered ? prepared_apart(c, a) : NULL;
  struct reduction reduction = {.by_mpi = false};
  const char* why = p ? NULL : c ? call_refused(a, c, &reduction) : "no group of its ranks was made";
  /* Who waits within the MPI library could not go on with it. */
  if (c && !why && ordered && c->size > 1 && !reduction.exact && (c->size > 2 || reduction.of_program))
    why = "does not wait, in the order of the MPI library";
  if (c && !why && !c->concurrent) why = "does not wait, on several nodes without MPI_THREAD_MULTIPLE";
  if (c && form == PERSISTENT) ++c->persistent;
  if (why) {
    count_left(form, a->kind, NO_CLASS, 0, why);
    return left(started, NULL, false);
  }
  int64_t own;
  const int size_class = class_of_call(p, a, c, &own);
  /* Each persistent one is compared by itself, which gives starts away: of many only the first ones are. */
  enum { COMPARED = 32 };
  const bool compares =
      c->compares && call_comparable(a->kind, c) && (form == NONBLOCKING || c->persistent <= COMPARED);
  struct series* series = !compares             ? NULL
                          : form == NONBLOCKING ? series_of(c, a->kind, size_class)
                                                : series_alone(c, c->persistent, a->kind, size_class);
  bool timed = false;
  if (series && form == NONBLOCKING && series_turn(series, &timed) == THEIRS) {
    count_theirs(form, a->kind, size_class, own, timed);
    struct request* r = timed ? request_for(a, c, form) : NULL;
    if (r) r->series = series;
    return left(started, r, timed);
  }
  struct request* r = request_for(a, c, form);
  r->series = series;
  if (form == PERSISTENT) r->number = c->persistent;
  if (!p) {
    r->reduction = reduction;
    /* Types of reductions stay as they are: operators are called with them. */
    arguments_keep(&r->arguments, c);
    r->holds = r->reduction.by_mpi;
    holding += r->holds;
  }
  if (form == PERSISTENT && process.online) keep_algorithm(r);
  if (series && form == PERSISTENT) return left(started, r, false);
  *handle = r->handle;
  started->error = form == PERSISTENT ? MPI_SUCCESS : start(r, p, size_class, own, timed);
  leave();
  return true;
}

void collective_started(struct started* started, MPI_Request* handle) {
  const uint64_t ns = started->timed ? now_ns() - started->begin : 0;
  depth--;
  struct request* r = started->request;
  if (LIKELY(!r)) return;
  enter();
  if (started->error != MPI_SUCCESS) {
    release(r);
  } else {
    r->theirs = *handle;
    *handle = r->handle;
    if (!r->persistent) {
      r->active = r->by_theirs = true;
      sample_begin(&r->sample, r->series, THEIRS, ns);
    }
  }
  leave();
}

void requests_end(void) {
  for (size_t i = 0; i < slots; ++i)
    if (table[i]) {
      if (table[i]->theirs != MPI_REQUEST_NULL && !table[i]->active) PMPI_Request_free(&table[i]->theirs);
      PMPI_Request_free(&table[i]->handle);
    }
  for (struct request* r = spare; r; r = r->next) PMPI_Request_free(&r->handle);
  requests_live = requests_busy = 0;
  slots = 0;
}

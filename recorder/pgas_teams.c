/* Teams and spaces of libisthmus, and what is the same in all wrappers of its functions. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pgas.h"

_Thread_local struct pgas_call* pgas_running;

void* pgas_next(unsigned function) {
#define SYMBOL(symbol, shown) "isthmus_" #symbol,
  static const char* const symbols[] = {"", PGAS_FUNCTIONS(SYMBOL)};
  static void* found[PGAS_END];
  void* next = __atomic_load_n(&found[function], __ATOMIC_RELAXED);
  if (LIKELY(next)) return next;
  next = dlsym(RTLD_NEXT, symbols[function]);
  if (!next) {
    fprintf(stderr, "isthmus: the program's libisthmus has no %s()\n", symbols[function]);
    abort();
  }
  __atomic_store_n(&found[function], next, __ATOMIC_RELAXED);
  return next;
}

/* ---- calls ---- */

void pgas_call_begin(struct pgas_call* c, unsigned function, const void* address, const void* frame) {
  c->form = FORM_PLAIN;
  c->late = false;
  c->opened = 0;
  c->outer = pgas_running;
  pgas_running = c;
  call_begin(&c->call, pgas_before + function, address, frame);
}

void pgas_call_end(struct pgas_call* c, int status) {
  pgas_running = c->outer;
  call_end(&c->call, status < 0 ? status : 0);
}

void pgas_call_leave(struct pgas_call* c) {
  pgas_running = c->outer;
  call_leave(&c->call);
}

/* The thread that goes on with the teams of libisthmus calls itself so before anything else (runtime/progress): of what
 * it does only handlers are the program's, and not the calls of MPI by which the library sends. */
EXPORT int pthread_setname_np(pthread_t thread, const char* name) {
  static int (*_Atomic next)(pthread_t, const char*);
  if (!atomic_load(&next))
    atomic_store(&next, (int (*)(pthread_t, const char*))(uintptr_t)dlsym(RTLD_NEXT, "pthread_setname_np"));
  if (strcmp(name, "isthmus") == 0 && pthread_equal(thread, pthread_self())) depth = 1;
  return atomic_load(&next)(thread, name);
}

static void set_request(struct pgas_call* c, uint32_t serial) {
  struct trace_message* const messages = c->what;
  switch (c->form) {
    case FORM_RMA: ((struct trace_rma*)c->what)->request = serial; break;
    case FORM_COLLECTIVE: ((struct trace_collective*)c->what)->request = serial; break;
    default:
      for (unsigned i = 0; c->waits && i < c->n; i++) messages[i].request = serial;
  }
}

static void write_described(const struct pgas_call* c) {
  void* const record = record_call(&c->call, c->form, c->form == FORM_RMA ? 0 : c->n, c->size);
  if (!record) return;
  memcpy(record, c->what, c->size);
  record_commit(c->call.end);
}

bool pgas_open(struct pgas_call* c) {
  if (c->form == FORM_PLAIN || c->late || c->opened) return false;
  c->opened = request_serial();
  set_request(c, c->opened);
  switch (c->form) {
    case FORM_RMA: ((struct trace_rma*)c->what)->derived ^= TRACE_DONE_AT_ONCE | TRACE_BEGUN; break;
    case FORM_COLLECTIVE: ((struct trace_collective*)c->what)->flags |= TRACE_ONE_MORE; break;
    default: ((struct trace_message*)c->what)->derived |= TRACE_BEGUN;
  }
  write_described(c);
  return true;
}

void pgas_record(struct pgas_call* c, uint64_t key) {
  const bool failed = c->call.error != 0;
  if (!c->opened) {
    if (failed || c->form == FORM_PLAIN) {
      record_plain(&c->call);
      return;
    }
    if (key) set_request(c, request_add(key, REQUEST_OTHER)->serial);
    write_described(c);
    return;
  }
  const bool goes_on = key && !failed;
  if (goes_on) request_add_as(key, REQUEST_OTHER, c->opened);
  const uint32_t n = c->waits && !goes_on;
  struct trace_done* const record = record_call(&c->call, FORM_DONE, n, n * sizeof *record);
  if (!record) return;
  if (n) *record = (struct trace_done){.request = c->opened, .flags = failed ? TRACE_FREED : 0};
  record_commit(c->call.end);
}

/* ---- teams ---- */

static struct team* _Atomic teams;
static struct space* _Atomic spaces;
static isthmus_team* world; /* the first team that was joined, where there is no MPI */

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
  hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
  return hash ^ hash >> 31;
}

/* The same on all members, and never that of another communicator: those with just these members, made from the same
 * parent in the same way, are counted. */
static uint64_t identity(const struct members* m, uint64_t salt) {
  static struct made {
    uint64_t key, count;
    struct made* next;
  }* first;
  uint64_t key = mix(mix((uint64_t)m->size, m->parent), salt);
  for (int i = 0; i < m->size; i++) key = mix(key, (uint64_t)(int64_t)m->world[i]);
  recorder_lock();
  struct made* made = first;
  while (made && made->key != key) made = made->next;
  if (!made) {
    made = recorder_allocate(sizeof *made);
    *made = (struct made){key, 0, first};
    first = made;
  }
  const uint64_t count = made->count++;
  recorder_unlock();
  return mix(mix(key, count), 0x1547) | 1ull << 63;
}

static void write_members(const struct members* m) {
  const size_t members = m->rank == 0 ? (size_t)m->size : 0;
  struct trace_comm* record = record_reserve(TRACE_COMM, sizeof *record + 4 * members);
  if (!record) return;
  const struct trace_head head = record->head;
  *record =
      (struct trace_comm){.head = head, .id = m->id, .parent = m->parent, .ranks = (uint32_t)members, .rank = m->rank};
  int32_t* const at = (int32_t*)(record + 1);
  memset(at, 0, 8 * (size_t)head.words - sizeof *record);
  if (members) memcpy(at, m->world, 4 * members);
  record_commit(here->header->last_ns);
}

static struct team* team_known(const isthmus_team* handle) {
  for (struct team* team = atomic_load(&teams); team; team = team->next)
    if (team->handle == handle) return team;
  return NULL;
}

/* Ranks of the world are asked for: all ranks are in this. */
static void ask_world(isthmus_team* handle, int* ranks) {
  const uint32_t own = (uint32_t)process.rank;
  const isthmus_call call = {
      .size = sizeof call, .kind = ISTHMUS_ALLGATHER, .element = ISTHMUS_U32, .count = 1, .algorithm = "ring"};
  if (NEXT(run)(handle, &call, &own, ranks) < 0)
    for (uint32_t i = 0; i < isthmus_ranks(handle); i++) ranks[i] = TRACE_OUTSIDE;
}

static struct team* team_add(isthmus_team* handle, const struct team* parent, bool joined) {
  struct team* team = recorder_allocate(sizeof *team);
  struct members* m = &team->members;
  m->size = (int)isthmus_ranks(handle);
  m->rank = (int)isthmus_rank(handle);
  m->world = recorder_allocate((size_t)m->size * sizeof *m->world);
  for (int i = 0; i < m->size; i++) {
    uint32_t found = (uint32_t)i;
    m->world[i] = i;
    if (!parent || !parent->handle) continue;
    if (isthmus_translate(handle, (uint32_t)i, parent->handle, &found) < 0 || found == ISTHMUS_NO_RANK)
      m->world[i] = TRACE_OUTSIDE;
    else m->world[i] = parent->members.world[found];
  }
  if (joined && handle != world) ask_world(handle, m->world);
  m->parent = parent ? parent->members.id : 0;
  m->id = handle == world ? 1 : identity(m, 0x7EA);
  write_members(m);
  team->handle = handle;
  recorder_lock();
  /* A handle that was left may come again. */
  struct team* old = team_known(handle);
  if (old) old->handle = NULL;
  team->next = atomic_load(&teams);
  atomic_store(&teams, team);
  recorder_unlock();
  return team;
}

struct team* team_of(const isthmus_team* handle) {
  struct team* team = team_known(handle);
  if (team) return team;
  /* Made where nothing was seen: a part of the first one. */
  struct team* first = atomic_load(&teams);
  while (first && first->next) first = first->next;
  return team_add((isthmus_team*)(uintptr_t)handle, first, false);
}

/* All of them are in the call. */
static void together(struct pgas_call* c, struct trace_collective* joint, const struct members* m) {
  joins(c, joint, COLLECTIVE_OTHER, m, TRACE_NONE, 0, 0, 0);
}
static const struct members* members_of(const isthmus_space* handle) {
  const struct space* space = space_of(handle);
  return space ? &space->members : NULL;
}

EXPORT int isthmus_join(const isthmus_job* job, isthmus_team** team) {
  const int64_t begin = clock_now();
  if (depth == 0 && pgas_begin && !atomic_load(&recorder_on)) {
    depth = 1;
    const int status = NEXT(join)(job, team);
    if (status >= 0 && !world) {
      world = *team;
      if (pgas_begin((int)isthmus_rank(world), (int)isthmus_ranks(world), begin, clock_now()))
        team_add(world, NULL, true);
    }
    depth = 0;
    return status;
  }
  CALL(join, job, team);
  if (status >= 0) team_add(*team, NULL, true);
  record_plain(&c.call);
  return status;
}

EXPORT int isthmus_leave(isthmus_team* team) {
  if (recording()) {
    struct team* known = team_known(team);
    if (known) known->handle = NULL;
  }
  if (team && team == world && recording() && pgas_end) {
    pgas_end(clock_now());
    const int status = NEXT(leave)(team);
    pgas_ended();
    return status;
  }
  CALL(leave, team);
  record_plain(&c.call);
  return status;
}

EXPORT int isthmus_group(const isthmus_team* team, const uint32_t* members, uint32_t ranks, uint32_t number,
                         isthmus_team** group) {
  CALL(group, team, members, ranks, number, group);
  record_plain(&c.call);
  if (status >= 0) team_add(*group, team_of(team), false);
  return status;
}

EXPORT int isthmus_split(isthmus_team* team, int64_t colour, int64_t key, isthmus_team** part) {
  struct trace_collective joint;
  CALL_OF(split, together(&c, &joint, team ? &team_of(team)->members : NULL), team, colour, key, part);
  pgas_record(&c, 0);
  if (status >= 0 && *part) team_add(*part, team_of(team), false);
  return status;
}

/* ---- spaces ---- */

struct space* space_of(const isthmus_space* handle) {
  static _Thread_local struct space* last;
  if (LIKELY(last && last->handle == handle)) return last;
  struct space* space = atomic_load(&spaces);
  while (space && space->handle != handle) space = space->next;
  if (space) last = space;
  return space;
}

const struct members* manner_members(const isthmus_space* space, const isthmus_manner* manner) {
  const struct space* s = space_of(space);
  if (manner && manner->team) return &team_of(manner->team)->members;
  return s ? &s->team->members : NULL;
}

uint64_t manner_key(isthmus_space* space, const isthmus_manner* manner) {
  return manner && manner->event && *manner->event ? event_key(space, *manner->event) : 0;
}

/* Its id is that of its team's k-th space. */
static struct space* space_begin(isthmus_team* team) {
  if (!team) return NULL;
  struct space* space = recorder_allocate(sizeof *space);
  space->team = team_of(team);
  space->members = space->team->members;
  space->members.parent = space->team->members.id;
  space->members.id = identity(&space->members, 0x5BACE);
  return space;
}

EXPORT int isthmus_space_make(isthmus_team* team, const isthmus_space_options* options, isthmus_space** made) {
  static atomic_uint numbers;
  struct space* space = NULL;
  struct trace_collective joint;
  CALL_OF(space_make, space = space_begin(team);
          together(&c, &joint, space ? &space->members : NULL), team, options, made);
  if (space && (status >= 0 || c.opened)) write_members(&space->members);
  pgas_record(&c, 0);
  if (!space || status < 0) {
    recorder_release(space, sizeof *space);
    return status;
  }
  space->number = atomic_fetch_add(&numbers, 1) + 1;
  space->handle = *made;
  isthmus_space_head* const head = (isthmus_space_head*)*made;
  space->closed = recorder_allocate(head->ranks * sizeof *space->closed);
  head->memory = space->closed;
  recorder_lock();
  space->next = atomic_load(&spaces);
  atomic_store(&spaces, space);
  recorder_unlock();
  return status;
}

EXPORT int isthmus_space_leave(isthmus_space* handle) {
  struct space* space = recording() ? space_of(handle) : NULL;
  struct trace_collective joint;
  CALL_OF(space_leave, together(&c, &joint, space ? &space->members : NULL), handle);
  pgas_record(&c, 0);
  if (space) space->handle = NULL;
  return status;
}

/* ---- memory ---- */

EXPORT int isthmus_allocate_all(isthmus_space* space, uint64_t bytes, uint64_t* offset) {
  struct trace_collective joint;
  CALL_OF(allocate_all, together(&c, &joint, members_of(space)), space, bytes, offset);
  pgas_record(&c, 0);
  return status;
}
EXPORT int isthmus_domain_make(isthmus_space* space, isthmus_element element, uint32_t operations,
                               isthmus_domain** domain) {
  struct trace_collective joint;
  CALL_OF(domain_make, together(&c, &joint, members_of(space)), space, element, operations, domain);
  pgas_record(&c, 0);
  return status;
}
EXPORT int isthmus_domain_free(isthmus_domain* domain) {
  struct trace_collective joint;
  CALL_OF(domain_free, domain ? together(&c, &joint, members_of(isthmus_domain_space(domain))) : (void)0, domain);
  pgas_record(&c, 0);
  return status;
}
EXPORT int isthmus_mutex_make_all(isthmus_space* space, isthmus_mutex* mutex) {
  struct trace_collective joint;
  CALL_OF(mutex_make_all, together(&c, &joint, members_of(space)), space, mutex);
  pgas_record(&c, 0);
  return status;
}
#define RECORD_PLAIN(name, declared, ...) \
  EXPORT int isthmus_##name declared {    \
    CALL(name, __VA_ARGS__);              \
    record_plain(&c.call);                \
    return status;                        \
  }
RECORD_PLAIN(allocate_global, (isthmus_space * space, uint64_t bytes, uint64_t* offset), space, bytes, offset)
RECORD_PLAIN(allocate, (isthmus_space * space, uint64_t bytes, uint64_t* offset), space, bytes, offset)
RECORD_PLAIN(release, (isthmus_space * space, uint32_t rank, uint64_t offset), space, rank, offset)
RECORD_PLAIN(mutex_make, (isthmus_space * space, isthmus_mutex* mutex), space, mutex)
RECORD_PLAIN(mutex_free, (isthmus_space * space, isthmus_mutex mutex), space, mutex)

/* Wrappers of libisthmus: one-sided communication, active messages, barriers and collectives of its spaces. They are
 * put before the library's functions as those of MPI are. What a program does in the header without a call comes here
 * too: a space that is recorded shows the program no memory, but for casts (isthmus_space_head).
 *
 * What becomes of each call:
 *   put, get, atomic, lock    FORM_RMA on the window of the space, done when the call ends
 *   begin_put, begin_get      FORM_RMA with a request, where it is not done at once
 *   begin_put_with            the same, or, where the other rank is told, messages as of request and put_signal
 *   request, reply            a message with the number of its handler as tag; its receive is where the handler runs,
 *                             which ends the call that ran it, and another one begins behind it
 *   put_signal, wait_signal   messages, as many as are added and taken, with the place of the signal as tag
 *   barriers, collectives     FORM_COLLECTIVE
 *
 * A call that waits may run handlers. What it tells other ranks before it waits stands in the recording before what its
 * handlers do, for they may have heard of it when they sent what is handled: before the first handler the call is
 * recorded as begun, with a request, and where it ends, as done. Both count as one call.
 */
#ifndef ISTHMUS_RECORDER_PGAS_H
#define ISTHMUS_RECORDER_PGAS_H

#include <isthmus/isthmus_access.h>
#include <isthmus/isthmus_pgas.h>

#include "recorder.h"

/* Called as they are; most programs have no libisthmus at all. */
#pragma weak isthmus_rank
#pragma weak isthmus_ranks
#pragma weak isthmus_translate
#pragma weak isthmus_token_rank
#pragma weak isthmus_token_space
#pragma weak isthmus_domain_space
#pragma weak isthmus_domain_element

/* Symbol without isthmus_, and what it is called. */
#define PGAS_FUNCTIONS(F)                             \
  F(join, "join")                                     \
  F(leave, "leave")                                   \
  F(group, "group")                                   \
  F(split, "split")                                   \
  F(run, "run")                                       \
  F(begin, "begin")                                   \
  F(test, "test")                                     \
  F(wait, "wait")                                     \
  F(space_make, "space_make")                         \
  F(space_leave, "space_leave")                       \
  F(allocate_all, "allocate_all")                     \
  F(allocate_global, "allocate_global")               \
  F(allocate, "allocate")                             \
  F(release, "release")                               \
  F(put_elsewhere, "put")                             \
  F(get_elsewhere, "get")                             \
  F(set_elsewhere, "set")                             \
  F(put_strided, "put_strided")                       \
  F(get_strided, "get_strided")                       \
  F(put_vector, "put_vector")                         \
  F(get_vector, "get_vector")                         \
  F(put_indexed, "put_indexed")                       \
  F(get_indexed, "get_indexed")                       \
  F(begin_put_elsewhere, "begin_put")                 \
  F(begin_get_elsewhere, "begin_get")                 \
  F(begin_set, "begin_set")                           \
  F(begin_put_strided, "begin_put_strided")           \
  F(begin_get_strided, "begin_get_strided")           \
  F(begin_put_vector, "begin_put_vector")             \
  F(begin_get_vector, "begin_get_vector")             \
  F(begin_put_indexed, "begin_put_indexed")           \
  F(begin_get_indexed, "begin_get_indexed")           \
  F(begin_put_with, "begin_put_with")                 \
  F(begin_put_strided_with, "begin_put_strided_with") \
  F(begin_put_vector_with, "begin_put_vector_with")   \
  F(begin_put_indexed_with, "begin_put_indexed_with") \
  F(test_event, "test_event")                         \
  F(wait_event, "wait_event")                         \
  F(wait_all, "wait_all")                             \
  F(close_region, "close_region")                     \
  F(fence_elsewhere, "fence")                         \
  F(read_elsewhere, "read")                           \
  F(write_elsewhere, "write")                         \
  F(atomic, "atomic")                                 \
  F(domain_make, "domain_make")                       \
  F(domain_free, "domain_free")                       \
  F(domain_change, "domain_change")                   \
  F(handle, "handle")                                 \
  F(request, "request")                               \
  F(request_to, "request_to")                         \
  F(begin_request_to, "begin_request_to")             \
  F(prepare, "prepare")                               \
  F(commit, "commit")                                 \
  F(reply, "reply")                                   \
  F(reply_to, "reply_to")                             \
  F(poll, "poll")                                     \
  F(notify, "notify")                                 \
  F(await, "await")                                   \
  F(try_await, "try_await")                           \
  F(barrier, "barrier")                               \
  F(put_signal, "put_signal")                         \
  F(wait_signal, "wait_signal")                       \
  F(mutex_make_all, "mutex_make_all")                 \
  F(mutex_make, "mutex_make")                         \
  F(mutex_free, "mutex_free")                         \
  F(lock, "lock")                                     \
  F(try_lock, "try_lock")                             \
  F(unlock, "unlock")                                 \
  F(barrier_of, "barrier_of")                         \
  F(broadcast, "broadcast")                           \
  F(scatter, "scatter")                               \
  F(gather, "gather")                                 \
  F(gather_all, "gather_all")                         \
  F(exchange_all, "exchange_all")                     \
  F(permute, "permute")                               \
  F(reduce, "reduce")                                 \
  F(prefix_reduce, "prefix_reduce")                   \
  F(handled, "handler")

#define PGAS_ENUM(symbol, shown) PGAS_##symbol,
enum { PGAS_NONE, PGAS_FUNCTIONS(PGAS_ENUM) PGAS_END };
enum { PGAS_COUNT = PGAS_END - 1 };
extern const unsigned pgas_before; /* of the numbers of functions: those of MPI */

/* ---- alone/alone.c; in programs that use MPI, MPI_Init and MPI_Finalize do this ---- */
bool pgas_begin(int rank, int ranks, int64_t begin, int64_t end) __attribute__((weak));
void pgas_end(int64_t begin) __attribute__((weak));
void pgas_ended(void) __attribute__((weak));

/* ---- pgas_teams.c ---- */
/* The library's own function. */
void* pgas_next(unsigned function);
#define NEXT(name) ((__typeof__(&isthmus_##name))(uintptr_t)pgas_next(PGAS_##name))

/* A team, or a space, as a communicator. */
struct members {
  uint64_t id, parent;
  int rank, size;
  int* world; /* ranks of the world */
};
struct team {
  const isthmus_team* handle;
  struct members members;
  struct team* next;
};
struct team* team_of(const isthmus_team* team);

struct space;
struct handler {
  isthmus_handler run;
  void* data;
  struct space* space;
  uint32_t number;
};
struct space {
  isthmus_space* handle;
  struct team* team;
  struct members members; /* those of its team, under another id: its window */
  uint32_t number;
  uint32_t prepared; /* rank of isthmus_prepare() */
  uint32_t barrier;  /* serial of the barrier that it was notified of */
  uint32_t began;    /* without an event, since they were waited for */
  char** closed;     /* memory of no rank */
  struct handler handlers[ISTHMUS_MOST_HANDLERS];
  struct space* next;
};
struct space* space_of(const isthmus_space* space);
/* Who takes part in a collective; the request of its event, 0: it is done. */
const struct members* manner_members(const isthmus_space* space, const isthmus_manner* manner);
uint64_t manner_key(isthmus_space* space, const isthmus_manner* manner);

/* ---- a call of the library ---- */
struct pgas_call {
  struct call call;
  /* What is recorded of it, known before it is made; FORM_PLAIN: nothing that others may have heard of before it ends.
   * `size` bytes at `what`: n struct trace_message, a struct trace_collective, or a struct trace_rma. */
  uint16_t form;
  uint16_t n;
  uint32_t size;
  void* what;
  bool late;       /* others hear of it behind the last handler */
  bool waits;      /* it ends when others have done their part */
  uint32_t opened; /* serial of its request, where it is recorded as begun */
  struct pgas_call* outer;
};
extern _Thread_local struct pgas_call* pgas_running __attribute__((tls_model("initial-exec")));
void pgas_call_begin(struct pgas_call* c, unsigned function, const void* address, const void* frame);
void pgas_call_end(struct pgas_call* c, int status);
void pgas_call_leave(struct pgas_call* c);
/* In a wrapper: calls the library's function; `status` is its result, `c` the call. `described` says what will be
 * recorded of it. */
#define CALL_OF(name, described, ...)                                                        \
  if (!recording()) return NEXT(name)(__VA_ARGS__);                                          \
  struct pgas_call c __attribute__((cleanup(pgas_call_leave)));                              \
  pgas_call_begin(&c, PGAS_##name, __builtin_return_address(0), __builtin_frame_address(0)); \
  described;                                                                                 \
  const int status = NEXT(name)(__VA_ARGS__);                                                \
  pgas_call_end(&c, status)
#define CALL(name, ...) CALL_OF(name, (void)0, __VA_ARGS__)

static inline void pgas_describe(struct pgas_call* c, uint16_t form, uint16_t n, void* what, size_t size) {
  c->form = form;
  c->n = n;
  c->what = what;
  c->size = (uint32_t)size;
  c->waits = form != FORM_MESSAGE;
}
/* Before a handler: the call is recorded as begun; false: it was before, or is not. */
bool pgas_open(struct pgas_call* c);
/* What was described, or that it is done. key: of the request of what goes on, 0: nothing does. */
void pgas_record(struct pgas_call* c, uint64_t key);

uint64_t event_key(isthmus_space* space, uint64_t event);
void record_event_done(const struct call* call, uint64_t key);

/* ---- pgas_messages.c ---- */
/* A put of which the other rank is told: messages, as put_signal. */
void record_told(struct pgas_call* c, isthmus_space* handle, uint32_t rank, uint64_t bytes,
                 const isthmus_completion* completion);

/* ---- pgas_collectives.c ---- */
/* Describes the call; without members, nothing. */
void joins(struct pgas_call* c, struct trace_collective* joint, int kind, const struct members* members, int64_t root,
           uint64_t bytes, uint64_t sent, uint64_t received);

#endif

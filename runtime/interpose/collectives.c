/* A blocking collective: who carries it out, and how it is done. */
#include <stdlib.h>

#include "interpose.h"

int collective_failed(MPI_Comm comm, int status) {
  say("%s", isthmus_last_error());
  (void)status;
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

static int wait_for(isthmus_operation* operation, int status, MPI_Comm comm) {
  for (unsigned looks = 0; status == ISTHMUS_IN_PROGRESS; ++looks) {
    status = isthmus_test(operation);
    if (status == ISTHMUS_IN_PROGRESS) go_on(looks);
  }
  return status == ISTHMUS_DONE ? MPI_SUCCESS : collective_failed(comm, status);
}

int collective_wait(const struct communicator* c, const struct call* call, MPI_Comm comm) {
  isthmus_operation* operation;
  const int status = isthmus_begin(c->team, &call->call, call->input, call->output, &operation);
  return wait_for(operation, status, comm);
}

int collective_meet(const struct communicator* c, MPI_Comm comm) {
  const isthmus_call barrier = {.size = sizeof barrier, .kind = ISTHMUS_BARRIER};
  isthmus_operation* operation;
  const int status = isthmus_begin(c->team, &barrier, NULL, NULL, &operation);
  return wait_for(operation, status, comm);
}

/* Algorithms are tried where a call has come often, but before it is compared with the MPI library's own. All ranks are
 * there first: from then on nobody waits for what this rank began with the MPI library. */
static int tune(struct communicator* c, const isthmus_call* call, const void* input, const void* output,
                MPI_Comm comm) {
  enum { OFTEN = 12 };
  const int asked = isthmus_untried(c->team, call);
  if (asked < 0) return collective_failed(comm, asked);
  if (asked != OFTEN) return MPI_SUCCESS;
  const int error = collective_meet(c, comm);
  if (error != MPI_SUCCESS) return error;
  const int status = isthmus_tune(c->team, call, NULL, input, output);
  prepared_renew(c);
  return status == ISTHMUS_DONE ? MPI_SUCCESS : collective_failed(comm, status);
}

static int carry_out(const struct arguments* a, struct communicator* c, const struct reduction* reduction,
                     const char* algorithm) {
  struct call call;
  if (!call_prepare(&call, a, c, reduction)) {
    say("not enough memory for a collective");
    PMPI_Abort(a->comm, 1);
  }
  if (algorithm) call.call.algorithm = algorithm;
  prepared_keep(c, a, &call);
  int error = c->may_tune ? tune(c, &call.call, call.input, call.output, a->comm) : MPI_SUCCESS;
  if (error == MPI_SUCCESS) error = collective_wait(c, &call, a->comm);
  if (error == MPI_SUCCESS) call_finish(&call);
  call_release(&call);
  return error;
}

/* Looks without giving time to others, as go_on() does not at first. */
static uint32_t looks_alone(void) {
  enum { MOST = 60 };
  if (requests_busy > 0 || process.several_threads) return 0;
  return process.looks < MOST ? process.looks - 1 : MOST;
}

static int carry_out_prepared(struct prepared* p, const struct arguments* a, struct communicator* c) {
  if (c->may_tune) {
    const int error = tune(c, &p->call, prepared_buffer(p->input, a), prepared_buffer(p->output, a), a->comm);
    if (error != MPI_SUCCESS) return error;
  }
  ++p->in_use;
  const int status = prepared_carry_out(p, c, a, looks_alone());
  const int error = LIKELY(status == ISTHMUS_DONE) ? MPI_SUCCESS : wait_for(p->operation, status, a->comm);
  --p->in_use;
  return error;
}

/* The MPI library's turn. */
static bool left(struct turn* turn) {
  turn->aside = aside_begin();
  depth++;
  return false;
}

bool collective_run(const struct arguments* a, struct turn* turn) {
  struct reduction reduction;
  const char* algorithm = NULL;
  int64_t own = 0;
  turn->tally = NULL;
  enter();
  struct communicator* c = communicator_of(a->comm, true);
  struct prepared* p = c ? prepared_call(c, a) : NULL;
  const char* why = p ? NULL : c ? call_refused(a, c, &reduction) : "a wrong argument";
  if (!p && !why && process.reproducible && reduces(a->kind)) why = order_of(a, c, &reduction, &algorithm);
  if (why) {
    count_left(BLOCKING, a->kind, NO_CLASS, 0, why);
    leave();
    return left(turn);
  }
  const int64_t agreed = p ? 0 : call_size(a, c, &own);
  const int size_class = p ? p->size_class : agreed < 0 ? NO_CLASS : class_of(agreed);
  if (p) own = p->own;
  bool timed = false;
  if (process.compares && c->size > 1 && call_comparable(a->kind, c)) {
    struct tally* tally = tally_of(c, a->kind, size_class);
    const struct tally_turn next = tally_turn(tally);
    timed = next.timed;
    if (next.decides) tally_decide(tally, a->comm);
    if (timed) turn->tally = tally;
    if (next.who == THEIRS) {
      count_left(BLOCKING, a->kind, size_class, own, next.compared ? "compared" : "the MPI library's own is faster");
      leave();
      turn->begin = timed ? now_ns() : 0;
      return left(turn);
    }
  }
  if (timed) turn->begin = now_ns();
  turn->error = p ? carry_out_prepared(p, a, c) : carry_out(a, c, &reduction, algorithm);
  if (timed) tally_time(turn->tally, OURS, now_ns() - turn->begin);
  count_taken(BLOCKING, a->kind, size_class, own);
  leave();
  return true;
}

void collective_ran(struct turn* turn) {
  depth--;
  aside_end(turn->aside);
  if (turn->tally && turn->error == MPI_SUCCESS) {
    enter();
    tally_time(turn->tally, THEIRS, now_ns() - turn->begin);
    leave();
  }
}

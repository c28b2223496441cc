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

static int carry_out(const struct arguments* a, struct communicator* c, const struct reduction* reduction) {
  isthmus_operation* operation;
  struct call call;
  if (!call_prepare(&call, a, c, reduction)) {
    say("not enough memory for a collective");
    PMPI_Abort(a->comm, 1);
  }
  prepared_keep(c, a, &call);
  const int status = isthmus_begin(c->team, &call.call, call.input, call.output, &operation);
  const int error = wait_for(operation, status, a->comm);
  if (error == MPI_SUCCESS) call_finish(&call);
  call_release(&call);
  return error;
}

static int carry_out_prepared(const struct prepared* p, const struct arguments* a, struct communicator* c) {
  isthmus_operation* operation;
  const int status = prepared_begin(p, c, a, &operation);
  return wait_for(operation, status, a->comm);
}

/* The MPI library's turn. */
static bool left(struct turn* turn) {
  turn->aside = aside_begin();
  depth++;
  return false;
}

bool collective_run(const struct arguments* a, struct turn* turn) {
  struct reduction reduction;
  int64_t own = 0;
  turn->tally = NULL;
  enter();
  struct communicator* c = communicator_of(a->comm, true);
  const struct prepared* p = c ? prepared_call(c, a) : NULL;
  const char* why = p ? NULL : c ? call_refused(a, c, &reduction) : "a wrong argument";
  if (why) {
    count_left(a->kind, NO_CLASS, 0, why);
    leave();
    return left(turn);
  }
  const int64_t agreed = p ? 0 : call_size(a, c, &own);
  const int size_class = p ? p->size_class : agreed < 0 ? NO_CLASS : class_of(agreed);
  if (p) own = p->own;
  bool timed = false;
  if (process.compares && c->size > 1) {
    struct tally* tally = tally_of(c, a->kind, size_class);
    const enum turn_of who = tally_turn(tally, &timed);
    if (timed) {
      tally_decide(tally, a->comm);
      turn->tally = tally;
    }
    if (who == THEIRS) {
      count_left(a->kind, size_class, own, timed ? "compared" : "the MPI library's own is faster");
      leave();
      turn->begin = timed ? now_ns() : 0;
      return left(turn);
    }
  }
  if (timed) turn->begin = now_ns();
  turn->error = p ? carry_out_prepared(p, a, c) : carry_out(a, c, &reduction);
  if (timed) tally_time(turn->tally, OURS, now_ns() - turn->begin);
  count_taken(a->kind, size_class, own);
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

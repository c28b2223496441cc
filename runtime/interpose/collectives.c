/* A blocking collective: who carries it out, and how it is done. */
#include <stdlib.h>

#include "interpose.h"

int collective_failed(MPI_Comm comm, int status) {
  say("%s", isthmus_last_error());
  (void)status;
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

static int carry_out(struct call* call, MPI_Comm comm) {
  isthmus_operation* operation;
  int status = isthmus_begin(call->comm->team, &call->call, call->input, call->output, &operation);
  for (unsigned looks = 0; status == ISTHMUS_IN_PROGRESS; ++looks) {
    status = isthmus_test(operation);
    if (status == ISTHMUS_IN_PROGRESS) go_on(looks);
  }
  if (status != ISTHMUS_DONE) return collective_failed(comm, status);
  call_finish(call);
  return MPI_SUCCESS;
}

/* The MPI library's turn. */
static bool left(struct turn* turn) {
  turn->aside = aside_begin();
  depth++;
  return false;
}

bool collective_run(const struct arguments* a, struct turn* turn) {
  struct reduction reduction;
  struct call call;
  int64_t own = 0;
  turn->tally = NULL;
  enter();
  struct communicator* c = communicator_of(a->comm, true);
  const char* why = c ? call_refused(a, c, &reduction) : "a wrong argument";
  if (why) {
    count_left(a->kind, NO_CLASS, 0, why);
    leave();
    return left(turn);
  }
  const int64_t agreed = call_size(a, c, &own);
  const int size_class = agreed < 0 ? NO_CLASS : class_of(agreed);
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
  if (!call_prepare(&call, a, c, &reduction)) {
    say("not enough memory for a collective");
    PMPI_Abort(a->comm, 1);
  }
  turn->error = carry_out(&call, a->comm);
  call_release(&call);
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

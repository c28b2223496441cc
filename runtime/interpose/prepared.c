/* The last call of each kind on a communicator: programs make the same calls again and again, with other buffers. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

const struct prepared* prepared_call(const struct communicator* c, const struct arguments* a) {
  const struct prepared* p = c->prepared[a->kind];
  if (!p || !c->team) return NULL;
  const bool alike = p->scount == a->scount && p->rcount == a->rcount && p->stype == a->stype && p->rtype == a->rtype &&
                     p->op == a->op && p->root == a->root && p->sent_in_place == (a->sbuf == MPI_IN_PLACE) &&
                     p->received_in_place == (a->rbuf == MPI_IN_PLACE);
  return LIKELY(alike) ? p : NULL;
}

void* prepared_buffer(enum buffer which, const struct arguments* a) {
  return which == NO_BUFFER ? NULL : which == SENT ? (void*)a->sbuf : a->rbuf;
}

int prepared_begin(const struct prepared* p, const struct communicator* c, const struct arguments* a,
                   isthmus_operation** operation) {
  return isthmus_begin(c->team, &p->call, prepared_buffer(p->input, a), prepared_buffer(p->output, a), operation);
}

/* Predefined types alone mean the same for ever. What means nothing in a call may be no type at all. */
static bool is_of_predefined_types(const struct communicator* c, const struct arguments* a) {
  if (reduces(a->kind)) return type_of(a->stype).named;
  return (!call_gives(a, c) || type_of(a->stype).named) && (!call_gets(a, c) || type_of(a->rtype).named);
}

/* Whether a buffer of the call is one of the arguments; which one must be seen. */
static bool is_argument(const void* buffer, const struct arguments* a, enum buffer* which) {
  *which = !buffer ? NO_BUFFER : buffer == a->sbuf ? SENT : RECEIVED;
  return !buffer || ((buffer == a->sbuf) != (buffer == a->rbuf));
}

void prepared_keep(struct communicator* c, const struct arguments* a, const struct call* call) {
  struct prepared made = {.scount = a->scount,
                          .rcount = a->rcount,
                          .stype = a->stype,
                          .rtype = a->rtype,
                          .op = a->op,
                          .root = a->root,
                          .sent_in_place = a->sbuf == MPI_IN_PLACE,
                          .received_in_place = a->rbuf == MPI_IN_PLACE,
                          .call = call->call};
  const bool arrays = a->scounts.at || a->rcounts.at || a->stypes.at || a->rtypes.at;
  if (arrays || call->packed || call->pending || call->reduction.by_mpi || !is_of_predefined_types(c, a)) return;
  if (!is_argument(call->input, a, &made.input) || !is_argument(call->output, a, &made.output)) return;
  const int64_t agreed = call_size(a, c, &made.own);
  made.size_class = agreed < 0 ? NO_CLASS : class_of(agreed);
  const size_t bytes = call->call.counts_length * sizeof *call->call.counts;
  int64_t* counts = NULL;
  struct prepared* p = malloc(sizeof *p);
  if (!p || (bytes && !(counts = malloc(bytes)))) return free(p);
  made.call.counts = bytes ? memcpy(counts, call->call.counts, bytes) : NULL;
  prepared_free(c->prepared[a->kind]);
  *p = made;
  c->prepared[a->kind] = p;
}

void prepared_free(struct prepared* p) {
  if (!p) return;
  free((void*)p->call.counts);
  free(p);
}

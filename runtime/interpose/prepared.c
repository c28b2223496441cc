/* The last calls of each kind on a communicator: programs make the same calls again and again, with other buffers. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

enum { MOST = 8 }; /* of a kind */

uint32_t handles_freed;

static void arrays_of(const struct arguments* a, struct ints arrays[ARRAYS]) {
  const struct ints all[ARRAYS] = {a->scounts, a->sdispls, a->rcounts, a->rdispls};
  memcpy(arrays, all, sizeof all);
}

static bool arrays_alike(const struct prepared* p, const struct arguments* a) {
  struct ints given[ARRAYS];
  arrays_of(a, given);
  for (int i = 0; i < ARRAYS; ++i) {
    const struct ints kept = p->arrays[i];
    if (!kept.at) continue;
    if (kept.width != given[i].width || memcmp(kept.at, given[i].at, p->lengths[i] * kept.width) != 0) return false;
  }
  return true;
}

static bool alike(const struct prepared* p, const struct arguments* a) {
  return p->scount == a->scount && p->rcount == a->rcount && (p->any_stype || p->stype == a->stype) &&
         (p->any_rtype || p->rtype == a->rtype) && p->op == a->op && p->root == a->root &&
         p->sent_in_place == (a->sbuf == MPI_IN_PLACE) && p->received_in_place == (a->rbuf == MPI_IN_PLACE) &&
         (!p->with_arrays || arrays_alike(p, a));
}

static void drop_operation(struct prepared* p) {
  if (p->operation) isthmus_free(p->operation);
  p->operation = NULL;
}

static void release(struct prepared* p) {
  drop_operation(p);
  for (int i = 0; i < ARRAYS; ++i) free((void*)p->arrays[i].at);
  free((void*)p->call.counts);
  free(p);
}

struct prepared* prepared_call(struct communicator* c, const struct arguments* a) {
  struct prepared** const first = &c->prepared[a->kind];
  struct prepared** at = first;
  if (!*at || !c->team) return NULL;
  while (*at && !alike(*at, a)) at = &(*at)->next;
  struct prepared* p = *at;
  if (!p) return NULL;
  if (at != first) {
    *at = p->next;
    p->next = *first;
    *first = p;
  }
  /* Handles of the program mean the same until it frees some. */
  if (LIKELY(p->for_ever || p->freed == handles_freed)) return p;
  if (p->in_use == 0) {
    *first = p->next;
    release(p);
  }
  return NULL;
}

void* prepared_buffer(struct place place, const struct arguments* a) {
  switch (place.buffer) {
    case SENT: return (char*)a->sbuf + place.at;
    case RECEIVED: return (char*)a->rbuf + place.at;
    default: return NULL;
  }
}

int prepared_begin(const struct prepared* p, const struct request* r, isthmus_operation** operation) {
  const struct arguments* const a = &r->arguments;
  const isthmus_call* begun = &p->call;
  isthmus_call named;
  if (r->number != 0) {
    named = p->call;
    named.name = r->number;
    if (r->algorithm) named.algorithm = r->algorithm;
    begun = &named;
  }
  return isthmus_begin(r->comm->team, begun, prepared_buffer(p->input, a), prepared_buffer(p->output, a), operation);
}

int prepared_carry_out(struct prepared* p, const struct communicator* c, const struct arguments* a, uint32_t looks) {
  if (UNLIKELY(!p->operation)) {
    const int status = isthmus_make(c->team, &p->call, &p->operation);
    if (status != ISTHMUS_DONE) return status;
  }
  return isthmus_start_and_look(p->operation, prepared_buffer(p->input, a), prepared_buffer(p->output, a), looks);
}

void prepared_renew(struct communicator* c) {
  for (int k = 0; k < COLLECTIVES; ++k)
    for (struct prepared* p = c->prepared[k]; p; p = p->next)
      if (p->in_use == 0) drop_operation(p);
}

/* What means nothing in a call may be no type at all. */
static bool is_for_ever(const struct communicator* c, const struct arguments* a, const struct reduction* reduction) {
  if (reduces(a->kind)) return type_of(a->stype).named && !reduction->of_program;
  return (!call_gives(a, c) || type_of(a->stype).named) && (!call_gets(a, c) || type_of(a->rtype).named);
}

/* Where a buffer of the call lies in the arguments, which must be seen. With arrays it is not at the beginning, but
 * those of the kind are known: the input is what is sent, the output what is received. */
static bool is_argument(const void* buffer, enum buffer usual, bool with_arrays, const struct arguments* a,
                        struct place* place) {
  *place = (struct place){NO_BUFFER, 0};
  if (!buffer) return true;
  if (!with_arrays) {
    place->buffer = buffer == a->sbuf ? SENT : RECEIVED;
    return (buffer == a->sbuf) != (buffer == a->rbuf);
  }
  const void* const base = usual == SENT ? a->sbuf : a->rbuf;
  *place = (struct place){usual, (const char*)buffer - (const char*)base};
  return base != MPI_IN_PLACE;
}

/* Copies of the arrays that mean something; false: there is no memory. */
static bool keep_arrays(struct prepared* p, const struct communicator* c, const struct arguments* a) {
  const bool sent = call_gives(a, c), received = reduces(a->kind) || call_gets(a, c);
  struct ints given[ARRAYS];
  arrays_of(a, given);
  for (int i = 0; i < ARRAYS; ++i) {
    if (!given[i].at || !(i < 2 ? sent : received)) continue;
    const int neighbours = i < 2 ? c->outs : c->ins;
    p->lengths[i] = (size_t)(a->kind >= NEIGHBOR_ALLGATHER ? neighbours : c->size);
    void* copy = malloc(p->lengths[i] * given[i].width + 1);
    if (!copy) return false;
    p->arrays[i] = (struct ints){memcpy(copy, given[i].at, p->lengths[i] * given[i].width), .width = given[i].width};
  }
  return true;
}

static void drop_last(struct prepared** at) {
  int kept = 0;
  for (; *at; at = &(*at)->next) {
    if (++kept < MOST || (*at)->in_use > 0) continue;
    struct prepared* p = *at;
    *at = p->next;
    return release(p);
  }
}

void prepared_keep(struct communicator* c, const struct arguments* a, const struct call* call) {
  if (a->stypes.at || a->rtypes.at || call->packed || call->pending) return;
  const bool with_arrays = a->scounts.at || a->rcounts.at;
  struct place input, output;
  if (!is_argument(call->input, SENT, with_arrays, a, &input)) return;
  if (!is_argument(call->output, RECEIVED, with_arrays, a, &output)) return;
  struct prepared* p = calloc(1, sizeof *p);
  const size_t bytes = call->call.counts_length * sizeof *call->call.counts;
  int64_t* counts = bytes ? malloc(bytes) : NULL;
  if (!p || (bytes && !counts)) {
    free(counts);
    return free(p);
  }
  *p = (struct prepared){.scount = a->scount,
                         .rcount = a->rcount,
                         .stype = a->stype,
                         .rtype = a->rtype,
                         .op = a->op,
                         .root = a->root,
                         .sent_in_place = a->sbuf == MPI_IN_PLACE,
                         .received_in_place = a->rbuf == MPI_IN_PLACE,
                         .with_arrays = with_arrays,
                         .any_stype = !reduces(a->kind) && !call_gives(a, c),
                         .any_rtype = !reduces(a->kind) && !call_gets(a, c),
                         .input = input,
                         .output = output,
                         .reduction = call->reduction,
                         .call = call->call,
                         .for_ever = is_for_ever(c, a, &call->reduction),
                         .freed = handles_freed};
  p->call.counts = bytes ? memcpy(counts, call->call.counts, bytes) : NULL;
  if (p->call.combine) p->call.data = &p->reduction;
  const int64_t agreed = call_size(a, c, &p->own);
  p->size_class = agreed < 0 ? NO_CLASS : class_of(agreed);
  if (!keep_arrays(p, c, a)) return release(p);
  drop_last(&c->prepared[a->kind]);
  p->next = c->prepared[a->kind];
  c->prepared[a->kind] = p;
}

void prepared_free(struct prepared* p) {
  while (p) {
    struct prepared* next = p->next;
    release(p);
    p = next;
  }
}

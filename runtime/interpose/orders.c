/* The order in which the MPI library combines numbers, for runs that are to give what they give without Isthmus. At the
 * first call of its kind the library and Isthmus carry out the same reductions of made-up numbers, on which every order
 * leaves its mark; an algorithm is taken whose results are the library's to the last bit. Where there is none, such
 * calls stay with the MPI library. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

struct order {
  enum collective kind;
  int64_t elements;
  uint64_t blocks; /* of a reduce_scatter, in short */
  MPI_Datatype type;
  MPI_Op op;
  int root;
  char* algorithm; /* NULL: none of ours has it */
  struct order* next;
};

enum { MOST = 64 }; /* algorithms */

/* Of a number made as below two orders leave the same bits in at most two of three cases: one element is wrongly found
 * to agree in all of these trials once in two million times, of several elements far less often. */
static int trials_of(int64_t elements) { return 12 + (int)(24 / elements); }

static uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/* Of a rank. In half of the sums two ranks have large numbers that cancel each other: what is added between them is
 * lost (Xie et al., "FPRev: Revealing the Order of Floating-Point Summation", 2024). */
static long double number(uint64_t trial, int64_t element, int rank, int ranks, bool sums) {
  const uint64_t at = mixed(trial << 48 ^ (uint64_t)element), own = mixed(at ^ mixed((uint64_t)rank + 1));
  if (!sums) return 0.75L + ldexpl((long double)(own >> 11), -54);
  if (at & 1) {
    const int plus = (int)((at >> 1) % (uint64_t)ranks), minus = (int)((at >> 24) % (uint64_t)(ranks - 1));
    const long double large = ldexpl(1, 80);
    if (rank == plus) return large;
    if (rank == minus + (minus >= plus)) return -large;
  }
  const long double value = 1 + ldexpl((long double)(own >> 11), -53);
  return ldexpl(own & 1 ? -value : value, (int)(own >> 1 & 7) - 4);
}

static void fill(void* to, int64_t elements, const struct reduction* r, uint64_t trial, int rank, int ranks) {
  const bool sums = r->operation == ISTHMUS_SUM;
  const int type = r->type.element, parts = type == ISTHMUS_C32 || type == ISTHMUS_C64 ? 2 : 1;
  for (int64_t i = 0; i < elements * parts; ++i) {
    const long double x = number(trial, i, rank, ranks, sums);
    if (type == ISTHMUS_F32 || type == ISTHMUS_C32) ((float*)to)[i] = (float)x;
    else if (type == ISTHMUS_F64 || type == ISTHMUS_C64) ((double*)to)[i] = (double)x;
    else ((long double*)to)[i] = x;
  }
}

static int theirs(const struct arguments* a, const void* in, void* out, const int* blocks) {
  switch (a->kind) {
    case REDUCE: return PMPI_Reduce(in, out, (int)a->scount, a->stype, a->op, a->root, a->comm);
    case ALLREDUCE: return PMPI_Allreduce(in, out, (int)a->scount, a->stype, a->op, a->comm);
    case SCAN: return PMPI_Scan(in, out, (int)a->scount, a->stype, a->op, a->comm);
    case EXSCAN: return PMPI_Exscan(in, out, (int)a->scount, a->stype, a->op, a->comm);
    case REDUCE_SCATTER: return PMPI_Reduce_scatter(in, out, blocks, a->stype, a->op, a->comm);
    default: return PMPI_Reduce_scatter_block(in, out, (int)a->rcount, a->stype, a->op, a->comm);
  }
}

static bool ours(const struct arguments* a, struct communicator* c, const struct reduction* r, const char* algorithm) {
  struct call call;
  if (!call_prepare(&call, a, c, r)) return false;
  call.call.algorithm = algorithm;
  const int error = collective_wait(c, &call, a->comm);
  if (error == MPI_SUCCESS) call_finish(&call);
  call_release(&call);
  return error == MPI_SUCCESS;
}

/* The number of the first algorithm that gives what the MPI library gives; -1: none does. */
static int first_of(const struct arguments* a, struct communicator* c, const struct reduction* r, int64_t elements,
                    const int* blocks, char* memory, char* const* names, int count) {
  const int64_t bytes = elements * r->type.extent;
  char *in = memory, *one = memory + bytes, *other = one + bytes;
  struct arguments b = *a;
  b.sbuf = in;
  b.rbuf = other;
  uint64_t tried = count < MOST ? (1ull << count) - 1 : UINT64_MAX, good = tried;
  const bool gets = a->kind != REDUCE || c->rank == a->root;
  memset(in, 0, (size_t)bytes);
  const int trials = trials_of(elements);
  for (int trial = 0; trial < trials && tried; ++trial) {
    fill(in, elements, r, (uint64_t)trial, c->rank, c->size);
    memset(one, 0, (size_t)bytes);
    if (theirs(a, in, one, blocks) != MPI_SUCCESS) good = 0;
    for (int i = 0; i < count; ++i) {
      if (!(tried >> i & 1)) continue;
      memset(other, 0, (size_t)bytes);
      if (!ours(&b, c, r, names[i]) || (gets && memcmp(one, other, (size_t)bytes) != 0)) good &= ~(1ull << i);
    }
    /* Most are wrong at once. In between all ranks go on with the same ones, whether they are good or not. */
    uint64_t all;
    if (trial != 0 && trial != 3 && trial != trials - 1) continue;
    PMPI_Allreduce(&good, &all, 1, MPI_UINT64_T, MPI_BAND, a->comm);
    good = tried = all;
  }
  return good ? __builtin_ctzll(good) : -1;
}

/* Those that can carry out the call; `text` holds them. */
static int candidates(const struct arguments* a, struct communicator* c, const struct reduction* r, char** text,
                      char** names) {
  struct call call;
  const char* found;
  int count = 0;
  *text = NULL;
  if (!call_prepare(&call, a, c, r)) return 0;
  if (isthmus_algorithms(c->team, &call.call, &found) == ISTHMUS_DONE && (*text = strdup(found)))
    for (char* name = strtok(*text, " "); name && count < MOST; name = strtok(NULL, " ")) names[count++] = name;
  call_release(&call);
  return count;
}

/* All ranks are there first: from then on nobody waits for what this rank began with the MPI library. */
static char* algorithm_of(const struct arguments* a, struct communicator* c, const struct reduction* r,
                          int64_t elements) {
  int* blocks = a->kind == REDUCE_SCATTER ? malloc((size_t)c->size * sizeof *blocks) : NULL;
  char *memory = malloc(3 * (size_t)(elements * r->type.extent)), *text, *names[MOST], *found = NULL;
  for (int i = 0; blocks && i < c->size; ++i) blocks[i] = (int)int_at(a->rcounts, i);
  int mine = 0, all = 0;
  if (collective_meet(c, a->comm) != MPI_SUCCESS) goto done;
  mine = memory && (blocks || a->kind != REDUCE_SCATTER) ? candidates(a, c, r, &text, names) : 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, a->comm);
  if (all > 0) {
    const int first = first_of(a, c, r, elements, blocks, memory, names, mine);
    if (first >= 0) found = strdup(names[first]);
  }
  if (mine > 0) free(text);
done:
  free(memory);
  free(blocks);
  return found;
}

const char* order_of(const struct arguments* a, struct communicator* c, const struct reduction* r,
                     const char** algorithm) {
  static const char* const none = "no algorithm of ours combines in the order of the MPI library";
  *algorithm = NULL;
  if (c->size == 1 || r->exact) return NULL;
  if (r->of_program) return "an operator of the program, whose order may count";
  /* Of two operands there is one order. */
  if (c->size == 2) return NULL;
  int64_t elements = a->scount;
  uint64_t blocks = 0;
  if (a->kind == REDUCE_SCATTER_BLOCK) elements = a->rcount * c->size;
  if (a->kind == REDUCE_SCATTER) {
    elements = 0;
    for (int i = 0; i < c->size; ++i) {
      elements += int_at(a->rcounts, i);
      blocks = mixed(blocks ^ (uint64_t)int_at(a->rcounts, i));
    }
  }
  if (elements == 0) return NULL;
  if (elements > INT_MAX) return none;
  const int root = a->kind == REDUCE ? a->root : 0;
  struct order** at = &c->orders[mixed((uint64_t)elements ^ (uint64_t)root << 32) % ORDERS];
  for (struct order* o = *at; o; o = o->next)
    if (o->kind == a->kind && o->elements == elements && o->blocks == blocks && o->type == a->stype && o->op == a->op &&
        o->root == root) {
      *algorithm = o->algorithm;
      return o->algorithm ? NULL : none;
    }
  struct order* made = malloc(sizeof *made);
  if (!made) abort();
  *made = (struct order){.kind = a->kind,
                         .elements = elements,
                         .blocks = blocks,
                         .type = a->stype,
                         .op = a->op,
                         .root = root,
                         .algorithm = algorithm_of(a, c, r, elements),
                         .next = *at};
  *at = made;
  *algorithm = made->algorithm;
  return made->algorithm ? NULL : none;
}

void orders_free(struct communicator* c) {
  for (int i = 0; i < ORDERS; ++i)
    while (c->orders[i]) {
      struct order* o = c->orders[i];
      c->orders[i] = o->next;
      free(o->algorithm);
      free(o);
    }
}

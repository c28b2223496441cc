#include "steps.h"

#include <stdlib.h>
#include <string.h>

/* What one rank sends to another. */
struct piece {
  int source, target, count;
};
struct pieces {
  struct piece* at;
  int count;
};

/* Moves between buffers. */
struct move {
  int from, to, count;
};
struct moves {
  struct move* at;
  int count;
};

/* The nodes of a group: members of node i are member[first[i]] to member[first[i + 1]]. */
struct nodes {
  int count, mine, *index, *first, *member; /* index: of the node of each rank */
};

struct steps {
  struct exchange *near, *far, *handed; /* step by step */
  /* From `out`: to step 1 and 2; from what came by step 1: to step 2 and `in`; by step 2: to step 3 and `in`; by 3. */
  struct moves give, keep, pass, direct, hand, own, last;
};

static void* room(size_t count, size_t size) {
  void* const found = calloc(count ? count : 1, size);
  if (!found) abort();
  return found;
}

static void move(struct moves* moves, int from, int to, int count) {
  /* Room doubles whenever the number is a power of two. */
  if (!(moves->count & (moves->count - 1))) {
    moves->at = realloc(moves->at, ((size_t)moves->count * 2 + 1) * sizeof *moves->at);
    if (!moves->at) abort();
  }
  moves->at[moves->count++] = (struct move){from, to, count};
}

static void carry_out(const struct moves* moves, const HYPRE_Real* from, HYPRE_Real* to) {
  for (int i = 0; i < moves->count; ++i) {
    const struct move* const one = moves->at + i;
    memcpy(to + one->to, from + one->from, (size_t)one->count * sizeof *to);
  }
}

static int by_number(const void* a, const void* b) {
  return (*(const int*)a > *(const int*)b) - (*(const int*)a < *(const int*)b);
}

static int by_ends(const void* a, const void* b) {
  const struct piece *const x = a, *const y = b;
  if (x->source != y->source) return x->source < y->source ? -1 : 1;
  return (x->target > y->target) - (x->target < y->target);
}

static struct nodes nodes_of(const struct group* group) {
  const int ranks = group->ranks;
  struct nodes out = {.index = room((size_t)ranks, sizeof(int)),
                      .first = room((size_t)ranks + 1, sizeof(int)),
                      .member = room((size_t)ranks, sizeof(int))};
  int* const names = room((size_t)ranks, sizeof *names);
  memcpy(names, group->node_of, (size_t)ranks * sizeof *names);
  qsort(names, (size_t)ranks, sizeof *names, by_number);
  for (int i = 0; i < ranks; ++i)
    if (!i || names[i] != names[i - 1]) names[out.count++] = names[i];
  for (int i = 0; i < ranks; ++i) {
    const int* const found = bsearch(group->node_of + i, names, (size_t)out.count, sizeof *names, by_number);
    out.index[i] = (int)(found - names);
    ++out.first[out.index[i] + 1];
  }
  for (int i = 0; i < out.count; ++i) out.first[i + 1] += out.first[i];
  int* const next = names;
  memcpy(next, out.first, (size_t)out.count * sizeof *next);
  for (int i = 0; i < ranks; ++i) out.member[next[out.index[i]]++] = i;
  out.mine = out.index[group->rank];
  free(names);
  return out;
}

/* Which rank of a node deals with what comes from, or goes to, another node. */
static int agent(const struct nodes* nodes, int here, int there) {
  const int first = nodes->first[here];
  return nodes->member[first + there % (nodes->first[here + 1] - first)];
}

/* The pieces of all ranks of a node, by source and target. Collective on the node. */
static struct pieces all_of(MPI_Comm node, struct pieces mine) {
  int ranks;
  MPI_Comm_size(node, &ranks);
  int* const counts = room((size_t)ranks, sizeof *counts);
  int* const first = room((size_t)ranks + 1, sizeof *first);
  const int own = 3 * mine.count;
  MPI_Allgather(&own, 1, MPI_INT, counts, 1, MPI_INT, node);
  for (int i = 0; i < ranks; ++i) first[i + 1] = first[i] + counts[i];
  struct pieces out = {room((size_t)first[ranks], sizeof(int)), first[ranks] / 3};
  MPI_Allgatherv(mine.at, own, MPI_INT, out.at, counts, first, MPI_INT, node);
  qsort(out.at, (size_t)out.count, sizeof *out.at, by_ends);
  free(counts), free(first);
  return out;
}

/* One step under construction: partners and elements of both directions. */
struct plan {
  int *to, *from, sends, receives, out, in;
  HYPRE_Int *sent, *received;
};

static struct plan plan_of(int partners) {
  const size_t most = (size_t)partners;
  return (struct plan){.to = room(most, sizeof(int)),
                       .from = room(most, sizeof(int)),
                       .sent = room(most, sizeof(HYPRE_Int)),
                       .received = room(most, sizeof(HYPRE_Int))};
}

/* Ends the elements for one partner, which began at a position; without any there is no message. */
static void end_send(struct plan* plan, int partner, int begin) {
  if (plan->out == begin) return;
  plan->to[plan->sends] = partner;
  plan->sent[plan->sends++] = plan->out - begin;
}

static void end_receive(struct plan* plan, int partner, int begin) {
  if (plan->in == begin) return;
  plan->from[plan->receives] = partner;
  plan->received[plan->receives++] = plan->in - begin;
}

static struct exchange* made_of(struct plan* plan, struct group* group) {
  struct exchange* const made =
      exchange_make(group, plan->sends, plan->to, plan->sent, plan->receives, plan->from, plan->received, 0);
  free(plan->to), free(plan->from), free(plan->sent), free(plan->received);
  return made;
}

/* Where the elements for, or of, each rank are in a buffer; -1: nowhere. */
static int* places(int ranks, int partners, const int* partner, const HYPRE_Int* count) {
  int* const out = room((size_t)ranks, sizeof *out);
  for (int i = 0; i < ranks; ++i) out[i] = -1;
  for (int i = 0, at = 0; i < partners; at += (int)count[i++]) out[partner[i]] = at;
  return out;
}

static struct pieces pieces_of(int rank, int partners, const int* partner, const HYPRE_Int* count, int outgoing) {
  struct pieces out = {room((size_t)partners, sizeof *out.at), 0};
  for (int i = 0; i < partners; ++i)
    if (count[i])
      out.at[out.count++] =
          outgoing ? (struct piece){rank, partner[i], (int)count[i]} : (struct piece){partner[i], rank, (int)count[i]};
  return out;
}

/* Where a rank of the node hands a piece that leaves it: to its target, or to the agent for the target's node. */
static int taker(const struct nodes* nodes, const struct piece* piece) {
  const int there = nodes->index[piece->target];
  return there == nodes->mine ? piece->target : agent(nodes, nodes->mine, there);
}

/* Who of the node gets a piece that comes from another one. */
static int giver(const struct nodes* nodes, const struct piece* piece) {
  return agent(nodes, nodes->mine, nodes->index[piece->source]);
}

/* Step 1. `at` becomes where each piece lies at this rank: in what came, or, below 0, -1 - place in `out`. */
static void plan_near(struct steps* steps, struct group* group, const struct nodes* nodes, struct pieces leaving,
                      const int* out, const int* in, int* at) {
  const int me = group->rank, first = nodes->first[nodes->mine], end = nodes->first[nodes->mine + 1];
  struct plan plan = plan_of(end - first);
  for (int k = first; k < end; ++k) {
    const int other = nodes->member[k], sent = plan.out, received = plan.in;
    for (int i = 0; i < leaving.count; ++i) {
      const struct piece* const one = leaving.at + i;
      if (one->source == me && taker(nodes, one) == other) {
        if (other == me) {
          at[i] = -1 - out[one->target];
        } else {
          move(&steps->give, out[one->target], plan.out, one->count);
          plan.out += one->count;
        }
      } else if (one->source == other && taker(nodes, one) == me) {
        if (one->target == me) move(&steps->direct, plan.in, in[other], one->count);
        at[i] = plan.in;
        plan.in += one->count;
      }
    }
    end_send(&plan, other, sent);
    end_receive(&plan, other, received);
  }
  steps->near = made_of(&plan, group);
}

/* Step 2: what this rank has for other nodes, and what it gets for its own. `come`: where each piece is then. */
static void plan_far(struct steps* steps, struct group* group, const struct nodes* nodes, struct pieces leaving,
                     const int* at, struct pieces coming, int* come) {
  struct plan plan = plan_of(nodes->count);
  for (int there = 0; there < nodes->count; ++there) {
    if (there == nodes->mine || agent(nodes, nodes->mine, there) != group->rank) continue;
    const int sent = plan.out, received = plan.in, partner = agent(nodes, there, nodes->mine);
    for (int i = 0; i < leaving.count; ++i) {
      if (nodes->index[leaving.at[i].target] != there) continue;
      if (at[i] < 0) move(&steps->keep, -1 - at[i], plan.out, leaving.at[i].count);
      else move(&steps->pass, at[i], plan.out, leaving.at[i].count);
      plan.out += leaving.at[i].count;
    }
    for (int i = 0; i < coming.count; ++i) {
      if (nodes->index[coming.at[i].source] != there) continue;
      come[i] = plan.in;
      plan.in += coming.at[i].count;
    }
    end_send(&plan, partner, sent);
    end_receive(&plan, partner, received);
  }
  steps->far = made_of(&plan, group);
}

/* Step 3: what came for other ranks of the node goes to them. */
static void plan_hand(struct steps* steps, struct group* group, const struct nodes* nodes, struct pieces coming,
                      const int* come, const int* in) {
  const int me = group->rank, first = nodes->first[nodes->mine], end = nodes->first[nodes->mine + 1];
  struct plan plan = plan_of(end - first);
  for (int k = first; k < end; ++k) {
    const int other = nodes->member[k], sent = plan.out, received = plan.in;
    for (int i = 0; i < coming.count; ++i) {
      const struct piece* const one = coming.at + i;
      if (nodes->index[one->source] == nodes->mine) continue;
      if (one->target == other && giver(nodes, one) == me) {
        if (other == me) {
          move(&steps->own, come[i], in[one->source], one->count);
        } else {
          move(&steps->hand, come[i], plan.out, one->count);
          plan.out += one->count;
        }
      } else if (one->target == me && giver(nodes, one) == other) {
        move(&steps->last, plan.in, in[one->source], one->count);
        plan.in += one->count;
      }
    }
    end_send(&plan, other, sent);
    end_receive(&plan, other, received);
  }
  steps->handed = made_of(&plan, group);
}

struct steps* steps_make(struct group* group, int sends, const int* to, const HYPRE_Int* sent, int receives,
                         const int* from, const HYPRE_Int* received) {
  struct nodes nodes = nodes_of(group);
  struct steps* made = NULL;
  if (nodes.count > 1) {
    made = room(1, sizeof *made);
    MPI_Comm node;
    MPI_Comm_split(group->comm, nodes.mine, 0, &node);
    struct pieces mine = pieces_of(group->rank, sends, to, sent, 1);
    const struct pieces leaving = all_of(node, mine);
    free(mine.at);
    mine = pieces_of(group->rank, receives, from, received, 0);
    const struct pieces coming = all_of(node, mine);
    free(mine.at);
    MPI_Comm_free(&node);
    int* const out = places(group->ranks, sends, to, sent);
    int* const in = places(group->ranks, receives, from, received);
    int* const at = room((size_t)leaving.count, sizeof *at);
    int* const come = room((size_t)coming.count, sizeof *come);
    plan_near(made, group, &nodes, leaving, out, in, at);
    plan_far(made, group, &nodes, leaving, at, coming, come);
    plan_hand(made, group, &nodes, coming, come, in);
    free(out), free(in), free(at), free(come), free(leaving.at), free(coming.at);
  }
  free(nodes.index), free(nodes.first), free(nodes.member);
  return made;
}

void steps_begin(struct steps* steps, const HYPRE_Real* out) {
  carry_out(&steps->give, out, steps->near->out);
  exchange_begin(steps->near);
  carry_out(&steps->keep, out, steps->far->out);
  exchange_end(steps->near);
  carry_out(&steps->pass, steps->near->in, steps->far->out);
  exchange_begin(steps->far);
}

void steps_end(struct steps* steps, HYPRE_Real* in) {
  carry_out(&steps->direct, steps->near->in, in);
  exchange_end(steps->far);
  carry_out(&steps->hand, steps->far->in, steps->handed->out);
  exchange_begin(steps->handed);
  carry_out(&steps->own, steps->far->in, in);
  exchange_end(steps->handed);
  carry_out(&steps->last, steps->handed->in, in);
}

void steps_count(const struct steps* steps, long long* messages, long long* bytes, long long* far) {
  *messages = steps->near->messages + steps->far->messages + steps->handed->messages;
  *bytes = steps->near->bytes + steps->far->bytes + steps->handed->bytes;
  *far = steps->far->messages;
}

void steps_free(struct steps* steps) {
  if (!steps) return;
  exchange_free(steps->near), exchange_free(steps->far), exchange_free(steps->handed);
  free(steps->give.at), free(steps->pass.at), free(steps->keep.at), free(steps->direct.at);
  free(steps->hand.at), free(steps->own.at), free(steps->last.at);
  free(steps);
}

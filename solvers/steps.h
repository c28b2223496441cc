/* Exchanges in three steps: the ranks of a node hand what goes to another node to one of them, which sends all of it to
 * one rank there, and that one hands it on (Bienz, Gropp and Olson, "Node aware sparse matrix-vector multiplication",
 * JPDC 2019). */
#ifndef ISTHMUS_STEPS_H
#define ISTHMUS_STEPS_H

#include "exchange.h"

struct steps;

/* As exchange_make; NULL where all ranks of the group are on one node. Collective. */
struct steps* steps_make(struct group* group, int sends, const int* to, const HYPRE_Int* sent, int receives,
                         const int* from, const HYPRE_Int* received);
/* The first step, and the second begins; `out` is needed until the end. */
void steps_begin(struct steps* steps, const HYPRE_Real* out);
void steps_end(struct steps* steps, HYPRE_Real* in);
/* Of one exchange, what this rank sends; `far`: messages to other nodes. */
void steps_count(const struct steps* steps, long long* messages, long long* bytes, long long* far);
void steps_free(struct steps* steps);

#endif

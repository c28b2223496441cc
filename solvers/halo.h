/* Products of hypre's matrices with vectors, by hypre's sequential kernels around our exchanges. */
#ifndef ISTHMUS_HALO_H
#define ISTHMUS_HALO_H

#include <_hypre_parcsr_ls.h>

#include "exchange.h"

/* A matrix with what ranks tell each other before a product with it (forward) or after one with its transpose. */
struct halo {
  hypre_ParCSRMatrix* matrix;
  struct exchange *forward, *back; /* NULL where it is not used */
  const HYPRE_Int* map;            /* own columns that are sent, one partner's after the other's */
  HYPRE_Int sent;
  hypre_Vector* outside; /* elements of others */
};

/* Collective in the group, whose ranks are those of the matrix. `in_steps`: as of exchange_make. */
struct halo* halo_make(hypre_ParCSRMatrix* matrix, struct group* group, int forward, int back, int in_steps);
void halo_free(struct halo* halo);

/* y = alpha A x + beta b; b and y may be the same. */
void halo_product(struct halo* halo, HYPRE_Real alpha, hypre_Vector* x, HYPRE_Real beta, hypre_Vector* b,
                  hypre_Vector* y);
/* y = A^T x */
void halo_transposed(struct halo* halo, hypre_Vector* x, hypre_Vector* y);
/* y = b - the part of A x with elements of others */
void halo_reduce(struct halo* halo, hypre_Vector* x, hypre_Vector* b, hypre_Vector* y);

#endif

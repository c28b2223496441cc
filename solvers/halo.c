#include "halo.h"

#include <stdlib.h>
#include <string.h>

static void part(hypre_ParCSRCommPkg* package, int sends, HYPRE_Int** counts, int** partners) {
  const int number = (int)(sends ? hypre_ParCSRCommPkgNumSends(package) : hypre_ParCSRCommPkgNumRecvs(package));
  *counts = malloc(((size_t)number + 1) * sizeof **counts);
  *partners = malloc(((size_t)number + 1) * sizeof **partners);
  if (!*counts || !*partners) abort();
  for (int i = 0; i < number; ++i) {
    if (sends) {
      (*counts)[i] = hypre_ParCSRCommPkgSendMapStart(package, i + 1) - hypre_ParCSRCommPkgSendMapStart(package, i);
      (*partners)[i] = (int)hypre_ParCSRCommPkgSendProc(package, i);
    } else {
      (*counts)[i] = hypre_ParCSRCommPkgRecvVecStart(package, i + 1) - hypre_ParCSRCommPkgRecvVecStart(package, i);
      (*partners)[i] = (int)hypre_ParCSRCommPkgRecvProc(package, i);
    }
  }
}

struct halo* halo_make(hypre_ParCSRMatrix* matrix, struct group* group, int forward, int back, int in_steps) {
  struct halo* const made = calloc(1, sizeof *made);
  if (!made) abort();
  made->matrix = matrix;
  if (!hypre_ParCSRMatrixCommPkg(matrix)) hypre_MatvecCommPkgCreate(matrix);
  hypre_ParCSRCommPkg* const package = hypre_ParCSRMatrixCommPkg(matrix);
  const int sends = (int)hypre_ParCSRCommPkgNumSends(package), receives = (int)hypre_ParCSRCommPkgNumRecvs(package);
  int *to, *from;
  HYPRE_Int *sent, *received;
  part(package, 1, &sent, &to);
  part(package, 0, &received, &from);
  if (forward) made->forward = exchange_make(group, sends, to, sent, receives, from, received, in_steps);
  if (back) made->back = exchange_make(group, receives, from, received, sends, to, sent, in_steps);
  free(to), free(from), free(sent), free(received);
  made->map = hypre_ParCSRCommPkgSendMapElmts(package);
  made->sent = sends ? hypre_ParCSRCommPkgSendMapStart(package, sends) : 0;
  /* Its data are the buffer of an exchange. */
  made->outside = hypre_SeqVectorCreate(hypre_CSRMatrixNumCols(hypre_ParCSRMatrixOffd(matrix)));
  hypre_VectorOwnsData(made->outside) = 0;
  return made;
}

void halo_free(struct halo* halo) {
  if (!halo) return;
  exchange_free(halo->forward);
  exchange_free(halo->back);
  hypre_SeqVectorDestroy(halo->outside);
  free(halo);
}

static void tell(struct halo* halo, const hypre_Vector* x) {
  for (HYPRE_Int i = 0; i < halo->sent; ++i) halo->forward->out[i] = hypre_VectorData(x)[halo->map[i]];
  exchange_begin(halo->forward);
}

static void add_outside(struct halo* halo, HYPRE_Real alpha, hypre_Vector* y) {
  exchange_end(halo->forward);
  hypre_VectorData(halo->outside) = halo->forward->in;
  if (hypre_VectorSize(halo->outside))
    hypre_CSRMatrixMatvec(alpha, hypre_ParCSRMatrixOffd(halo->matrix), halo->outside, 1, y);
}

void halo_product(struct halo* halo, HYPRE_Real alpha, hypre_Vector* x, HYPRE_Real beta, hypre_Vector* b,
                  hypre_Vector* y) {
  tell(halo, x);
  hypre_CSRMatrixMatvecOutOfPlace(alpha, hypre_ParCSRMatrixDiag(halo->matrix), x, beta, b, y, 0);
  add_outside(halo, alpha, y);
}

void halo_transposed(struct halo* halo, hypre_Vector* x, hypre_Vector* y) {
  hypre_VectorData(halo->outside) = halo->back->out;
  if (hypre_VectorSize(halo->outside))
    hypre_CSRMatrixMatvecT(1, hypre_ParCSRMatrixOffd(halo->matrix), x, 0, halo->outside);
  exchange_begin(halo->back);
  hypre_CSRMatrixMatvecT(1, hypre_ParCSRMatrixDiag(halo->matrix), x, 0, y);
  exchange_end(halo->back);
  for (HYPRE_Int i = 0; i < halo->sent; ++i) hypre_VectorData(y)[halo->map[i]] += halo->back->in[i];
}

void halo_reduce(struct halo* halo, hypre_Vector* x, hypre_Vector* b, hypre_Vector* y) {
  tell(halo, x);
  memcpy(hypre_VectorData(y), hypre_VectorData(b), (size_t)hypre_VectorSize(y) * sizeof(HYPRE_Real));
  add_outside(halo, -1, y);
}

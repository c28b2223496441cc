/* Counts of a hierarchy of hypre, a line per operator and rank:
 *
 *   isthmus hierarchy 1
 *   solver hypre 2.26.0
 *   ranks 64
 *   operator LEVEL A|P|R ROWS COLUMNS
 *   RANK ROWS NONZEROS PARTNER:ELEMENTS ...     what this rank sends before a product with the operator
 *   end
 *
 * R stands only where it is not the transpose of P. */
#include "write.h"

#include <HYPRE_config.h>
#include <_hypre_parcsr_ls.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isthmus_hypre.h"
#include "text.h"

static void write_operator(FILE* stream, int level, char name, hypre_ParCSRMatrix* matrix) {
  const MPI_Comm comm = hypre_ParCSRMatrixComm(matrix);
  int rank;
  MPI_Comm_rank(comm, &rank);
  if (!hypre_ParCSRMatrixCommPkg(matrix)) hypre_MatvecCommPkgCreate(matrix);
  const hypre_ParCSRCommPkg* package = hypre_ParCSRMatrixCommPkg(matrix);
  const hypre_CSRMatrix *own = hypre_ParCSRMatrixDiag(matrix), *rest = hypre_ParCSRMatrixOffd(matrix);
  struct text text = {0};
  if (rank == 0)
    text_add(&text, "operator %d %c %lld %lld\n", level, name, (long long)hypre_ParCSRMatrixGlobalNumRows(matrix),
             (long long)hypre_ParCSRMatrixGlobalNumCols(matrix));
  text_add(&text, "%d %lld %lld", rank, (long long)hypre_CSRMatrixNumRows(own),
           (long long)hypre_CSRMatrixNumNonzeros(own) + (long long)hypre_CSRMatrixNumNonzeros(rest));
  for (int i = 0; i < hypre_ParCSRCommPkgNumSends(package); ++i) {
    const long long elements =
        (long long)hypre_ParCSRCommPkgSendMapStart(package, i + 1) - hypre_ParCSRCommPkgSendMapStart(package, i);
    if (elements) text_add(&text, " %lld:%lld", (long long)hypre_ParCSRCommPkgSendProc(package, i), elements);
  }
  text_add(&text, "\n");
  text_gather(&text, comm, stream);
}

int isthmus_hypre_write_with(HYPRE_Solver solver, const char* path, const char* facts) {
  hypre_ParAMGData* amg = (hypre_ParAMGData*)solver;
  hypre_ParCSRMatrix **a = hypre_ParAMGDataAArray(amg), **p = hypre_ParAMGDataPArray(amg),
                     **r = hypre_ParAMGDataRArray(amg);
  const int levels = hypre_ParAMGDataNumLevels(amg);
  if (!a || levels < 1) return EINVAL;
  const MPI_Comm comm = hypre_ParCSRMatrixComm(a[0]);
  int rank, ranks, status = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  FILE* stream = NULL;
  char* temporary = NULL;
  if (rank == 0) {
    temporary = malloc(strlen(path) + 32);
    if (!temporary) abort();
    sprintf(temporary, "%s.%ld.part", path, (long)getpid());
    stream = fopen(temporary, "w");
    status = stream ? 0 : errno;
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, comm);
  if (!status) {
    if (stream)
      fprintf(stream, "isthmus hierarchy 1\nsolver hypre %s\nranks %d\n%s", HYPRE_RELEASE_VERSION, ranks,
              facts ? facts : "");
    for (int level = 0; level < levels; ++level) {
      write_operator(stream, level, 'A', a[level]);
      if (level == levels - 1) break;
      write_operator(stream, level, 'P', p[level]);
      if (r && r[level] && r[level] != p[level]) write_operator(stream, level, 'R', r[level]);
    }
    if (stream) {
      errno = 0;
      const int written = fprintf(stream, "end\n") > 0 && !fflush(stream) && !ferror(stream);
      if (fclose(stream) || !written || rename(temporary, path)) {
        status = errno ? errno : EIO;
        unlink(temporary);
      }
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, comm);
  }
  free(temporary);
  return status;
}

int isthmus_hypre_write(HYPRE_Solver solver, const char* path) { return isthmus_hypre_write_with(solver, path, NULL); }

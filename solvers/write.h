#ifndef ISTHMUS_WRITE_H
#define ISTHMUS_WRITE_H

#include <HYPRE_parcsr_ls.h>

/* As isthmus_hypre_write; `facts` are further lines of the head, "fact NAME VALUE\n", of rank 0, or NULL. */
int isthmus_hypre_write_with(HYPRE_Solver solver, const char* path, const char* facts);

#endif

/* In place of the header of an MPI, for the recorder of programs that use none: the types that recorder.h names. */
#ifndef ISTHMUS_ALONE_MPI_H
#define ISTHMUS_ALONE_MPI_H

#define MPI_VERSION 0

typedef int MPI_Fint;
typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_File;
typedef int MPI_Group;
typedef int MPI_Op;
typedef int MPI_Request;
typedef int MPI_Status;
typedef int MPI_Win;

enum { MPI_PROC_NULL = -2, MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -1, MPI_ROOT = -3 };

#endif

/* isthmus_mpi.h by the functions of the MPI library itself: those of a program may be ours, or a recorder's. */
#ifndef ISTHMUS_BENEATH_H
#define ISTHMUS_BENEATH_H

#include <mpi.h>

#define MPI_Abort PMPI_Abort
#define MPI_Allgather PMPI_Allgather
#define MPI_Allreduce PMPI_Allreduce
#define MPI_Bcast PMPI_Bcast
#define MPI_Cancel PMPI_Cancel
#define MPI_Comm_dup PMPI_Comm_dup
#define MPI_Comm_free PMPI_Comm_free
#define MPI_Comm_rank PMPI_Comm_rank
#define MPI_Comm_set_errhandler PMPI_Comm_set_errhandler
#define MPI_Comm_size PMPI_Comm_size
#define MPI_Comm_split_type PMPI_Comm_split_type
#define MPI_Error_class PMPI_Error_class
#define MPI_Error_string PMPI_Error_string
#define MPI_Get_count PMPI_Get_count
#define MPI_Irecv PMPI_Irecv
#define MPI_Isend PMPI_Isend
#define MPI_Query_thread PMPI_Query_thread
#define MPI_Request_free PMPI_Request_free
#define MPI_Test PMPI_Test
#define MPI_Testall PMPI_Testall
#define MPI_Testsome PMPI_Testsome
#define MPI_Wtime PMPI_Wtime

#include <isthmus/isthmus_mpi.h>

#undef MPI_Abort
#undef MPI_Allgather
#undef MPI_Allreduce
#undef MPI_Bcast
#undef MPI_Cancel
#undef MPI_Comm_dup
#undef MPI_Comm_free
#undef MPI_Comm_rank
#undef MPI_Comm_set_errhandler
#undef MPI_Comm_size
#undef MPI_Comm_split_type
#undef MPI_Error_class
#undef MPI_Error_string
#undef MPI_Get_count
#undef MPI_Irecv
#undef MPI_Isend
#undef MPI_Query_thread
#undef MPI_Request_free
#undef MPI_Test
#undef MPI_Testall
#undef MPI_Testsome
#undef MPI_Wtime

#endif

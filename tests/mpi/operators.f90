! A reduction by an operator that does not commute between two by operators that do.
subroutine compose(first, then, count, type)
  implicit none
  integer :: count, type, first(count), then(count)
  then(2) = then(1) * first(2) + then(2)
  then(1) = first(1) * then(1)
end subroutine

program main
  use mpi
  implicit none
  external compose
  integer :: ordered, rank, in(2), out(2), ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  in = [2, rank]
  call MPI_Op_create(compose, .false., ordered, ierror)
  call MPI_Allreduce(in, out, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(in, out, 2, MPI_INTEGER, ordered, MPI_COMM_WORLD, ierror)
  call MPI_Reduce(in, out, 2, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
  call MPI_Op_free(ordered, ierror)
  call MPI_Finalize(ierror)
end program

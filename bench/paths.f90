! Times a call of MPI at several depths of the stack, for bench/record.py; prints what paths.c does.
module depths
  use mpi
  implicit none
  integer, parameter :: batches = 301, rounds = 200
contains
  recursive subroutine deep(frames)
    integer, intent(in) :: frames
    double precision :: a, b
    integer :: i, error
    volatile :: a
    a = frames
    if (frames <= 1) then
      do i = 1, rounds
        call MPI_Allreduce(1d0, b, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_SELF, error)
      end do
    else
      call deep(frames - 1)
    end if
    a = a + 1
  end subroutine deep
end module depths

program paths
  use depths
  implicit none
  integer :: error, rank, b, d, i
  integer, parameter :: tried(3) = [5, 15, 40]
  double precision :: times(batches), begin, least
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do d = 1, 3
    do b = 1, batches
      begin = MPI_Wtime()
      call deep(tried(d) - 2) ! the program and what calls it are frames, too
      times(b) = (MPI_Wtime() - begin) / rounds
    end do
    do i = 1, batches / 2 + 1 ! up to the median
      least = minval(times(i:))
      b = minloc(times(i:), 1) + i - 1
      times(b) = times(i)
      times(i) = least
    end do
    if (rank == 0) print '(i0, a, es13.6)', tried(d), ' 1 ', times(batches / 2 + 1)
  end do
  call MPI_Finalize(error)
end program paths

! Heat in a square plate, columns divided among ranks: Fortran 2008 with mpi_f08. Halo columns are contiguous and travel
! by nonblocking messages; every 20 steps the largest change is found over all ranks, in place.
!
! The field begins as a product of sines, an eigenvector of the step: the check is its known decay.
!
! usage: heat [POINTS [STEPS]]
program heat
  use, intrinsic :: iso_fortran_env, only: real64, error_unit, output_unit
  use mpi_f08
  implicit none

  integer, parameter :: dp = real64
  real(dp), parameter :: r = 0.2_dp
  real(dp), allocatable :: old(:, :), new(:, :)
  real(dp) :: angle, change, error, factor, start, seconds
  integer :: points, steps, ranks, rank, left, right, first, own, i, j, step
  logical :: wrong
  character(len=16) :: time
  type(MPI_Comm) :: line
  type(MPI_Request) :: requests(4)

  call MPI_Init()
  start = MPI_Wtime()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.false.], .true., line)
  call MPI_Comm_rank(line, rank)
  call MPI_Cart_shift(line, 0, 1, left, right)
  points = argument(1, 512, ranks)
  steps = argument(2, 200, 0)

  first = start_of(rank)
  own = start_of(rank + 1) - first
  allocate (old(0:points + 1, 0:own + 1), new(0:points + 1, 0:own + 1), source=0.0_dp)
  angle = acos(-1.0_dp)/(points + 1)
  do j = 1, own
    do i = 1, points
      old(i, j) = exact(i, j)
    end do
  end do

  do step = 1, steps
    call MPI_Irecv(old(1:points, 0), points, MPI_DOUBLE_PRECISION, left, 1, line, requests(1))
    call MPI_Irecv(old(1:points, own + 1), points, MPI_DOUBLE_PRECISION, right, 2, line, requests(2))
    call MPI_Isend(old(1:points, own), points, MPI_DOUBLE_PRECISION, right, 1, line, requests(3))
    call MPI_Isend(old(1:points, 1), points, MPI_DOUBLE_PRECISION, left, 2, line, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    do j = 1, own
      do i = 1, points
        new(i, j) = (1 - 4*r)*old(i, j) + r*(old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1))
      end do
    end do
    if (mod(step, 20) == 0) then
      change = maxval(abs(new(1:points, 1:own) - old(1:points, 1:own)))
      call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, line)
    end if
    call swap(old, new)
  end do

  factor = (1 - 4*r + 4*r*cos(angle))**steps
  error = 0
  do j = 1, own
    do i = 1, points
      error = max(error, abs(old(i, j) - factor*exact(i, j)))
    end do
  end do
  seconds = MPI_Wtime() - start
  call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, line)
  call MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, line)
  wrong = .not. error <= 1e-12_dp
  if (rank == 0) then
    if (wrong) then
      write (error_unit, '(a, es9.2, a)') 'wrong: error ', error, ' where 1e-12 is allowed'
    else
      write (time, '(f16.6)') seconds
      print '(a, i0, a, i0, a, i0, a, i0, a, es7.1, 4a)', 'correct: ', points, ' x ', points, ' points on ', ranks, &
        ' ranks, ', steps, ' steps, error ', error, ', ', trim(adjustl(time)), ' s'
    end if
  end if
  call MPI_Comm_free(line)
  call MPI_Finalize()
  if (wrong) stop 1

contains

  ! A whole number from the command line, or its default; every rank reads the same.
  integer function argument(which, default, least)
    integer, intent(in) :: which, default, least
    character(len=32) :: text
    integer :: status, unit
    argument = default
    if (command_argument_count() < which) return
    call get_command_argument(which, text)
    read (text, *, iostat=status) argument
    if (status == 0 .and. argument >= least) return
    unit = error_unit
    if (text == '--help' .or. text == '-h') unit = output_unit
    if (rank == 0) then
      write (unit, '(a)') 'usage: heat [POINTS [STEPS]]: POINTS, default 512, at least the number of ranks; STEPS, ' &
        //'default 200'
    end if
    call MPI_Finalize()
    if (unit == output_unit) stop
    stop 2
  end function argument

  ! Columns before the block of this rank.
  integer function start_of(block)
    integer, intent(in) :: block
    start_of = points/ranks*block + min(block, mod(points, ranks))
  end function start_of

  real(dp) function exact(i, j)
    integer, intent(in) :: i, j
    exact = sin(angle*i)*sin(angle*(first + j))
  end function exact

  subroutine swap(a, b)
    real(dp), allocatable, intent(inout) :: a(:, :), b(:, :)
    real(dp), allocatable :: c(:, :)
    call move_alloc(a, c)
    call move_alloc(b, a)
    call move_alloc(c, b)
  end subroutine swap

end program heat

! Collectives from Fortran: blocking and nonblocking, in place, an operator of the program, arrays with gaps, waits of all
! kinds. -DF08: the module mpi_f08, otherwise the module mpi.
#ifdef F08
#define HANDLE(kind) type(kind)
#define STATUS type(MPI_Status)
#define STATUSES(n) type(MPI_Status), dimension(n)
#else
#define HANDLE(kind) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(n) integer, dimension(MPI_STATUS_SIZE, n)
#endif

module operators
contains
  ! a -> a * 10 + b for digits: not commutative.
  subroutine append(left, right, n, kind)
#ifdef F08
    use mpi_f08
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: left, right
    integer(8), pointer :: l(:), r(:)
#else
    integer(8) :: left(n), right(n)
#endif
    integer :: n
    HANDLE(MPI_Datatype) :: kind
#ifdef F08
    call c_f_pointer(left, l, [n])
    call c_f_pointer(right, r, [n])
    if (kind /= MPI_INTEGER8) stop 3
    r = l * 10_8 ** digits(r) + r
  contains
    elemental integer function digits(x)
      integer(8), intent(in) :: x
#else
    right = left * 10_8 ** width(right) + right
  contains
    elemental integer function width(x)
      integer(8), intent(in) :: x
#endif
      integer(8) :: rest
      integer :: found
      found = 0
      rest = x
      do while (rest > 0)
        rest = rest / 10
        found = found + 1
      end do
#ifdef F08
      digits = found
    end function digits
#else
      width = found
    end function width
#endif
  end subroutine append
end module operators

program taken
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  use operators
  implicit none
  integer, parameter :: n = 500
  integer :: rank, ranks, error, i, index, done, wrong, all, given, got
  integer :: indices(3)
  logical :: flag
  double precision :: mine(n), sum(n)
  integer(8) :: number(4), joined(4), expected
  integer, allocatable :: blocks(:), counts(:), places(:), wide(:)
  complex :: z, total
  HANDLE(MPI_Request) :: requests(3), request
  HANDLE(MPI_Op) :: op
  HANDLE(MPI_Comm) :: half
  STATUS :: one
  STATUSES(3) :: three

  wrong = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  mine = [(dble(rank + i), i = 1, n)]

  call MPI_Allreduce(mine, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call expect(all_close(), 1)
  sum = mine
  call MPI_Allreduce(MPI_IN_PLACE, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call expect(all_close(), 2)
  z = cmplx(rank, -rank)
  call MPI_Allreduce(z, total, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
  call expect(nint(real(total)) == ranks * (ranks - 1) / 2 .and. nint(aimag(total)) == -ranks * (ranks - 1) / 2, 3)
  flag = rank == 0
  call MPI_Bcast(flag, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, error)
  call expect(flag, 4)
  call MPI_Allreduce(rank == 0, flag, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
  call expect(flag .eqv. (ranks == 1), 5)

  call MPI_Op_create(append, .false., op, error)
  number = rank + 1
  call MPI_Allreduce(number, joined, 4, MPI_INTEGER8, op, MPI_COMM_WORLD, error)
  expected = 0
  do i = 1, ranks
    expected = expected * 10 + i
  end do
  call expect(ranks > 9 .or. joined(4) == expected, 6)
  call MPI_Op_free(op, error)

  allocate (blocks(ranks * (ranks + 1) / 2), counts(ranks), places(ranks))
  counts = [(i, i = 1, ranks)]
  places = [(i * (i - 1) / 2, i = 1, ranks)]
  blocks = -1
  call MPI_Allgatherv([(rank, i = 0, rank)], rank + 1, MPI_INTEGER, blocks, counts, places, MPI_INTEGER, MPI_COMM_WORLD, error)
  do i = 1, ranks
    call expect(blocks(i * (i + 1) / 2) == i - 1, 7)
  end do

  ! Beside a message, by every way to wait.
  do i = 1, 6
    given = 100 * rank + i
    got = -1
    sum = 0
    call MPI_Iallreduce(mine, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(1), error)
    call MPI_Irecv(got, 1, MPI_INTEGER, modulo(rank - 1, ranks), i, MPI_COMM_WORLD, requests(2), error)
    call MPI_Isend(given, 1, MPI_INTEGER, modulo(rank + 1, ranks), i, MPI_COMM_WORLD, requests(3), error)
    flag = .false.
    select case (i)
    case (1)
      call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, error)
    case (2)
      call MPI_Wait(requests(1), one, error)
      call MPI_Waitall(3, requests, three, error)
#ifdef F08
      call expect(three(2)%MPI_TAG == i, 8)
#else
      call expect(three(MPI_TAG, 2) == i, 8)
#endif
    case (3)
      do while (.not. flag)
        call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE, error)
      end do
    case (4)
      do done = 1, 3
        call MPI_Waitany(3, requests, index, one, error)
        call expect(index >= 1 .and. index <= 3, 9)
      end do
    case (5)
      all = 0
      do while (all < 3)
        call MPI_Waitsome(3, requests, done, indices, MPI_STATUSES_IGNORE, error)
        all = all + done
      end do
    case default
      do while (.not. flag)
        call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, error)
      end do
      call MPI_Wait(requests(2), one, error)
      call MPI_Wait(requests(3), MPI_STATUS_IGNORE, error)
    end select
    call expect(all_close(), 10 + i)
    call expect(got == 100 * modulo(rank - 1, ranks) + i, 20 + i)
    call expect(requests(1) == MPI_REQUEST_NULL, 30 + i)
  end do

  ! One waits in a call of MPI while the other waits for the collective.
  call MPI_Iallreduce(mine, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, request, error)
  if (rank == 1) call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  if (rank == 1) call MPI_Send(given, 1, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, error)
  if (rank == 0 .and. ranks > 1) call MPI_Recv(got, 1, MPI_INTEGER, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), -rank, half, error)
  if (rank /= 1) call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call expect(all_close(), 40)
  call MPI_Barrier(half, error)
  call MPI_Comm_free(half, error)

#ifdef F08
  ! Every second element, where the library takes arrays as they are.
  if (MPI_SUBARRAYS_SUPPORTED) then
    allocate (wide(2 * n))
    wide = -1
    wide(1:2 * n:2) = rank
    call MPI_Ibcast(wide(1:2 * n:2), n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(minval(wide(1::2)) == ranks - 1 .and. maxval(wide(2::2)) == -1, 41)
  end if
#endif

  call MPI_Reduce(wrong, all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(i0, a)', all, ' wrong'
  call MPI_Finalize(error)
  if (wrong > 0) stop 1

contains
  logical function all_close()
    all_close = maxval(abs(sum - [(dble(ranks * i + ranks * (ranks - 1) / 2), i = 1, n)])) < 1d-9
  end function all_close

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    integer, intent(in) :: what
    if (holds) return
    wrong = wrong + 1
    print '(a, i0, a, i0)', 'rank ', rank, ': wrong at ', what
  end subroutine expect
end program taken

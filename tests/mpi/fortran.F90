! Messages and collectives in Fortran, as mpif.h, as the module mpi and as the module mpi_f08: the kind is given by
! -DINTERFACE_H, -DINTERFACE_MPI or -DINTERFACE_F08.
#ifdef INTERFACE_F08
#define REQUEST_T type(MPI_Request)
#define COMM_T type(MPI_Comm)
#define TYPE_T type(MPI_Datatype)
#define MESSAGE_T type(MPI_Message)
#define WIN_T type(MPI_Win)
#define STATUS_T type(MPI_Status)
#define STATUSES_T(n) type(MPI_Status), dimension(n)
#define SOURCE_OF(s) s%MPI_SOURCE
#define IERR
#else
#define REQUEST_T integer
#define COMM_T integer
#define TYPE_T integer
#define MESSAGE_T integer
#define WIN_T integer
#define STATUS_T integer, dimension(MPI_STATUS_SIZE)
#define STATUSES_T(n) integer, dimension(MPI_STATUS_SIZE, n)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define IERR , ierror
#endif

module known
  implicit none
  integer(8) :: sent_messages(0:63) = 0, sent_bytes(0:63) = 0, received_messages(0:63) = 0, received_bytes(0:63) = 0
  integer :: rank, ranks
contains
  subroutine sent(to, bytes)
    integer, intent(in) :: to, bytes
    sent_messages(to) = sent_messages(to) + 1
    sent_bytes(to) = sent_bytes(to) + bytes
  end subroutine

  subroutine received(from, bytes)
    integer, intent(in) :: from, bytes
    received_messages(from) = received_messages(from) + 1
    received_bytes(from) = received_bytes(from) + bytes
  end subroutine

  subroutine moved(kind, calls, in, out)
    character(len=*), intent(in) :: kind
    integer, intent(in) :: calls, in, out
    print '(a,i0,1x,a,3(1x,i0))', 'collective ', rank, kind, calls, in, out
  end subroutine

  subroutine print_known()
    integer :: i
    do i = 0, ranks - 1
      if (sent_messages(i) > 0) print '(a,4(1x,i0))', 'sent', rank, i, sent_messages(i), sent_bytes(i)
      if (received_messages(i) > 0) print '(a,4(1x,i0))', 'received', rank, i, received_messages(i), received_bytes(i)
    end do
  end subroutine
end module

program main
#ifdef INTERFACE_F08
  use mpi_f08
#endif
#ifdef INTERFACE_MPI
  use mpi
#endif
  use known
  implicit none
#ifdef INTERFACE_H
  include 'mpif.h'
#endif
  integer :: ierror, left, right, i, number, indices(4), first
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  logical :: flag
  integer :: out(100), in(100)
  real(kind=8) :: window(16), values(16)
  REQUEST_T :: requests(4), request
  STATUS_T :: status
  STATUSES_T(4) :: statuses
  COMM_T :: half
  TYPE_T :: column
  MESSAGE_T :: message
  WIN_T :: win

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  out = rank
  values = rank

  ! Statuses that are wanted and that are not; sources that are known only afterwards. Fortran 2008 may leave out ierror.
  do i = 1, 4
    call MPI_Irecv(in(10 * i), 10, MPI_INTEGER, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, requests(i) IERR)
  end do
  do i = 1, 4
    call MPI_Send(out, i, MPI_INTEGER, right, i, MPI_COMM_WORLD IERR)
    call sent(right, 4 * i)
    call received(left, 4 * i)
  end do
  call MPI_Waitsome(4, requests, number, indices, MPI_STATUSES_IGNORE IERR)
  ! (MPICH 4.0 counts indices from 0 with mpi_f08.)
  if (any(indices(1:number) < 0 .or. indices(1:number) > 4)) call MPI_Abort(MPI_COMM_WORLD, 1 IERR)
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE IERR)
  call MPI_Isend(out, 20, MPI_INTEGER, right, 5, MPI_COMM_WORLD, request IERR)
  call MPI_Recv(in, 100, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status IERR)
  if (SOURCE_OF(status) /= left) call MPI_Abort(MPI_COMM_WORLD, 2 IERR)
  if (any(in(1:20) /= left)) call MPI_Abort(MPI_COMM_WORLD, 3 IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call sent(right, 80)
  call received(left, 80)
  call MPI_Irecv(in, 100, MPI_INTEGER, left, 6, MPI_COMM_WORLD, requests(1) IERR)
  call MPI_Isend(out, 30, MPI_INTEGER, right, 6, MPI_COMM_WORLD, requests(2) IERR)
  do
    call MPI_Testall(2, requests, flag, statuses IERR)
    if (flag) exit
  end do
  call sent(right, 120)
  call received(left, 120)
  call MPI_Irecv(in, 100, MPI_INTEGER, left, 7, MPI_COMM_WORLD, requests(1) IERR)
  call MPI_Ssend(out, 1, MPI_INTEGER, right, 7, MPI_COMM_WORLD IERR)
  do
    call MPI_Testany(1, requests, first, flag, MPI_STATUS_IGNORE IERR)
    if (flag) exit
  end do
  if (first < 0 .or. first > 1) call MPI_Abort(MPI_COMM_WORLD, 4 IERR)
  call sent(right, 4)
  call received(left, 4)
  call MPI_Sendrecv(out, 3, MPI_INTEGER, right, 8, in, 100, MPI_INTEGER, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
  call sent(right, 12)
  call received(left, 12)
  call MPI_Send(out, 9, MPI_INTEGER, MPI_PROC_NULL, 9, MPI_COMM_WORLD IERR)

  ! Persistent, derived, probed.
  call MPI_Send_init(out, 7, MPI_INTEGER, right, 10, MPI_COMM_WORLD, requests(1) IERR)
  call MPI_Recv_init(in, 100, MPI_INTEGER, left, 10, MPI_COMM_WORLD, requests(2) IERR)
  do i = 1, 3
    call MPI_Startall(2, requests, ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call sent(right, 28)
    call received(left, 28)
  end do
  call MPI_Request_free(requests(1) IERR)
  call MPI_Request_free(requests(2) IERR)
  call MPI_Type_vector(5, 2, 10, MPI_INTEGER, column IERR)
  call MPI_Type_commit(column IERR)
  call MPI_Isend(out, 1, column, right, 11, MPI_COMM_WORLD, request IERR)
  call MPI_Mprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE IERR)
  call MPI_Mrecv(in, 100, MPI_INTEGER, message, MPI_STATUS_IGNORE IERR)
  call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
  call MPI_Type_free(column IERR)
  call sent(right, 40)
  call received(left, 40)

  ! In place and not, on a communicator of half the ranks.
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half IERR)
  call MPI_Comm_size(half, number IERR)
  in(1) = 1
  call MPI_Allreduce(MPI_IN_PLACE, in, 1, MPI_INTEGER, MPI_SUM, half IERR)
  if (in(1) /= number) call MPI_Abort(MPI_COMM_WORLD, 5 IERR)
  call MPI_Allreduce(out, in, 6, MPI_INTEGER, MPI_SUM, half IERR)
  call moved('allreduce', 2, 28, 28)
  in = 0
  in(rank + 1) = rank + 1
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INTEGER, MPI_COMM_WORLD IERR)
  if (any(in(1:ranks) /= [(i, i = 1, ranks)])) call MPI_Abort(MPI_COMM_WORLD, 6 IERR)
  call moved('allgather', 1, 4, 4 * ranks)
  call MPI_Barrier(half IERR)
  call moved('barrier', 1, 0, 0)
  call MPI_Bcast(in, 10, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
  call moved('bcast', 1, merge(40, 0, rank == 0), merge(0, 40, rank == 0))
  call MPI_Comm_free(half IERR)

  ! One-sided.
  bytes = 128
  call MPI_Win_create(window, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win IERR)
  call MPI_Win_fence(0, win IERR)
  bytes = 0
  call MPI_Put(values, 4, MPI_DOUBLE_PRECISION, right, bytes, 4, MPI_DOUBLE_PRECISION, win IERR)
  call sent(right, 32)
  call MPI_Win_fence(0, win IERR)
  if (any(window(1:4) /= left)) call MPI_Abort(MPI_COMM_WORLD, 7 IERR)
  call MPI_Win_free(win IERR)

  call print_known()
  call MPI_Finalize(ierror)
end program

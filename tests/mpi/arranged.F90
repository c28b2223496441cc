! Communicators with a topology, made with reorder: as arranged.c. -DF08: the module mpi_f08; -DMPIF: mpif.h; otherwise
! the module mpi.
#ifdef F08
#define COMM type(MPI_Comm)
#else
#define COMM integer
#endif

program arranged
#ifdef F08
  use mpi_f08
#elif !defined(MPIF)
  use mpi
#endif
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
  COMM :: made
  integer :: world, ranks, rows, rank, error, checks = 0, wrong = 0, sums(2), before, source(1), degree(1), weighted, i
  integer :: dims(2), at(2), there(2), index(64), edges(128), two(2), ins, outs
  logical :: periods(2), wraps(2)
  integer :: in(2), out(2), inw(2), outw(2)
  character(16) :: text

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, world, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, text)
  read (text, *) rows

  dims = [rows, ranks / rows]
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .true., made, error)
  call tell("cart")
  call MPI_Cart_get(made, 2, there, wraps, at, error)
  call check(all(there == dims) .and. all(wraps .eqv. periods))
  call check(at(1) * dims(2) + at(2) == rank)
  call MPI_Comm_free(made, error)

  do i = 0, ranks - 1
    index(i + 1) = 2 * (i + 1)
    edges(2 * i + 1) = far(i)
    edges(2 * i + 2) = modulo(i - ranks / 2, ranks)
  end do
  call MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, .true., made, error)
  call tell("graph")
  call MPI_Graph_neighbors(made, rank, 2, two, error)
  call check(two(1) == edges(2 * rank + 1) .and. two(2) == edges(2 * rank + 2))
  call MPI_Comm_free(made, error)

  do weighted = 0, 1
    source = modulo(world + 3, ranks)
    degree = degree_of(source(1))
    out = [far(source(1)), modulo(source(1) + 1, ranks)]
    outw = [weight(source(1), out(1)), weight(source(1), out(2))]
    if (weighted == 1) then
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, source, degree, out, outw, MPI_INFO_NULL, .true., made, error)
      call tell("weighted")
    else
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, source, degree, out, MPI_UNWEIGHTED, MPI_INFO_NULL, .true., made, &
                                 error)
      call tell("dist_graph")
    end if
    call neighbours(.false.)
    call MPI_Comm_free(made, error)

    before = modulo(world - 1, ranks)
    in = [modulo(world - ranks / 2, ranks), before]
    out = [far(world), modulo(world + 1, ranks)]
    inw = [weight(in(1), world), weight(in(2), world)]
    outw = [weight(world, out(1)), weight(world, out(2))]
    ins = degree_of(before)
    outs = degree_of(world)
    if (weighted == 1) then
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, in, inw, outs, out, outw, MPI_INFO_NULL, .true., made, &
                                          error)
      call tell("adjacent_weighted")
    else
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, in, MPI_UNWEIGHTED, outs, out, MPI_UNWEIGHTED, &
                                          MPI_INFO_NULL, .true., made, error)
      call tell("adjacent")
    end if
    call neighbours(.true.)
    call MPI_Comm_free(made, error)
  end do

  ! Not asked for: as it was.
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., made, error)
  call MPI_Comm_rank(made, rank, error)
  call check(rank == world)
  call MPI_Comm_free(made, error)

  call MPI_Reduce([checks, wrong], sums, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (world == 0) print "(i0, a, i0, a)", sums(1), " checks, ", sums(2), " wrong"
  call MPI_Finalize(error)
contains
  subroutine check(good)
    logical, intent(in) :: good
    checks = checks + 1
    if (.not. good) wrong = wrong + 1
  end subroutine check

  integer function far(from)
    integer, intent(in) :: from
    far = modulo(from + ranks / 2, ranks)
  end function far

  ! Some ranks have a near neighbour, too.
  integer function degree_of(from)
    integer, intent(in) :: from
    degree_of = merge(1, 2, modulo(from, 3) == 0)
  end function degree_of

  integer function weight(from, to)
    integer, intent(in) :: from, to
    weight = 1 + modulo(from * 7 + to * 3, 5)
  end function weight

  subroutine tell(kind)
    character(*), intent(in) :: kind
    integer :: old(64), i
    call MPI_Comm_rank(made, rank, error)
    call MPI_Gather(world, 1, MPI_INTEGER, old, 1, MPI_INTEGER, 0, made, error)
    if (rank /= 0) return
    do i = 0, ranks - 1
      print "(3a, i0, a, i0)", "order ", kind, " ", i, " ", old(i + 1)
    end do
    flush (6)
  end subroutine tell

  subroutine neighbours(in_order)
    logical, intent(in) :: in_order
    integer :: ni, no
    logical :: has_weights
    call MPI_Dist_graph_neighbors_count(made, ni, no, has_weights, error)
    call check(has_weights .eqv. weighted == 1)
    call check(ni == degree_of(modulo(rank - 1, ranks)) .and. no == degree_of(rank))
    if (ni > 2 .or. no > 2) return
    call MPI_Dist_graph_neighbors(made, ni, in, inw, no, out, outw, error)
    call check(any(out(:no) == far(rank)) .and. any(in(:ni) == modulo(rank - ranks / 2, ranks)))
    if (in_order) call check(out(1) == far(rank))
    if (weighted == 0) return
    call check(outw(1) == weight(rank, out(1)) .and. outw(no) == weight(rank, out(no)))
    call check(inw(1) == weight(in(1), rank) .and. inw(ni) == weight(in(ni), rank))
  end subroutine neighbours
end program arranged

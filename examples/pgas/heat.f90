! Heat in a rod: every rank has a part of it, and writes the ends of its part into the memory of its neighbours.
program heat
  use isthmus_pgas
  implicit none
  integer, parameter :: real8 = c_double
  integer :: n, steps, step, i, first, mine
  integer(c_int32_t) :: rank, ranks
  integer(c_int64_t) :: place, signals
  type(c_ptr) :: team, space
  real(real8), pointer :: u(:) ! element 1 is that of the rank before, the last one that of the rank behind
  real(real8), allocatable :: next(:), whole(:), whole_next(:)
  character(20) :: word
  logical :: right

  n = 120
  steps = 200
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) n
  end if
  call check(isthmus_join(c_null_ptr, team))
  call check(isthmus_space_make(team, c_null_ptr, space))
  rank = isthmus_rank(team)
  ranks = isthmus_ranks(team)
  first = int(int(n, c_int64_t) * rank / ranks)
  mine = int(int(n, c_int64_t) * (rank + 1) / ranks) - first

  call check(isthmus_allocate_all(space, 8_c_int64_t * (n / ranks + 3), place))
  call check(isthmus_allocate_all(space, 16_c_int64_t, signals))
  call check(isthmus_set(space, rank, signals, 0, 16_c_size_t))
  call c_f_pointer(isthmus_cast(space, rank, place), u, [mine + 2])
  allocate (next(mine), whole(0:n + 1), whole_next(n))
  whole = [(start(i, n), i=0, n + 1)]
  u = whole(first:first + mine + 1)
  call check(isthmus_barrier(space))

  do step = 1, steps
    if (rank > 0) call tell(rank - 1, place + 8 * (1 + first - before(rank)), u(2), signals + 8)
    if (rank < ranks - 1) call tell(rank + 1, place, u(mine + 1), signals)
    if (rank > 0) call check(isthmus_wait_signal(space, signals, 1_c_int64_t))
    if (rank < ranks - 1) call check(isthmus_wait_signal(space, signals + 8, 1_c_int64_t))
    next = u(2:mine + 1) + 0.25_real8 * (u(1:mine) - 2 * u(2:mine + 1) + u(3:mine + 2))
    call check(isthmus_barrier(space)) ! nobody needs the old ones any more
    u(2:mine + 1) = next
  end do

  ! The same without others.
  do step = 1, steps
    whole_next = whole(1:n) + 0.25_real8 * (whole(0:n - 1) - 2 * whole(1:n) + whole(2:n + 1))
    whole(1:n) = whole_next
  end do
  right = .not. any(abs(u(2:mine + 1) - whole(first + 1:first + mine)) > 0)
  call check(isthmus_barrier(space))
  if (.not. right) error stop 'wrong'
  if (rank == 0) print '(a,i0,a,i0,a,f0.9)', 'heat of ', n, ' elements on ', ranks, ' ranks: right, the first is ', u(2)
  call check(isthmus_space_leave(space))
  call check(isthmus_leave(team))

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status >= ISTHMUS_DONE) return
    print '(a)', isthmus_last_error()
    error stop 1
  end subroutine

  ! The first element of the rank before.
  integer(c_int64_t) function before(of)
    integer(c_int32_t), intent(in) :: of
    before = int(n, c_int64_t) * (of - 1) / ranks
  end function

  subroutine tell(to, offset, value, signal)
    integer(c_int32_t), intent(in) :: to
    integer(c_int64_t), intent(in) :: offset, signal
    real(real8), intent(in), target :: value
    call check(isthmus_put_signal(space, to, offset, c_loc(value), 8_c_size_t, signal, 1_c_int64_t))
  end subroutine

  real(real8) pure function start(element, elements)
    integer, intent(in) :: element, elements
    start = real(element * (elements + 1 - element), real8)
  end function

end program

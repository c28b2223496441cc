! Every group of functions of the module isthmus_pgas, on any number of ranks.
module handlers
  use isthmus_pgas
  implicit none
  integer(c_int64_t) :: answered = 0
contains
  subroutine asked(token, arguments, count, payload, bytes, data) bind(c)
    type(c_ptr), value :: token
    integer(c_int64_t), intent(in) :: arguments(*)
    integer(c_int32_t), value :: count
    type(c_ptr), value :: payload
    integer(c_size_t), value :: bytes
    type(c_ptr), value :: data
    real(c_double), pointer :: numbers(:)
    integer(c_int64_t), pointer :: sum
    integer(c_int) :: status
    call c_f_pointer(payload, numbers, [bytes/8])
    call c_f_pointer(data, sum)
    sum = sum + arguments(1) + nint(numbers(size(numbers)), c_int64_t) + count
    status = isthmus_reply(token, 2, [2*arguments(1)], 1, c_null_ptr, 0_c_size_t)
    if (status /= ISTHMUS_DONE) error stop 'reply'
  end subroutine

  subroutine answer(token, arguments, count, payload, bytes, data) bind(c)
    type(c_ptr), value :: token
    integer(c_int64_t), intent(in) :: arguments(*)
    integer(c_int32_t), value :: count
    type(c_ptr), value :: payload
    integer(c_size_t), value :: bytes
    type(c_ptr), value :: data
    if (c_associated(payload) .and. bytes > 0 .or. c_associated(data) .or. count /= 1) error stop 'answer'
    answered = arguments(1) + 1000*isthmus_token_rank(token)
  end subroutine
end module

program pgas_fortran
  use handlers
  implicit none
  type(c_ptr) :: team, space
  type(isthmus_space_options), target :: options
  type(isthmus_mutex) :: mutex
  integer(c_int32_t) :: rank, ranks, next, other
  integer(c_int64_t) :: place, counter, found, event
  integer(c_int64_t), target :: one = 1, before = -1, events(3)
  integer(c_int64_t), pointer :: count
  integer :: i, k
  type(isthmus_manner), target :: manner
  type(isthmus_completion) :: completion
  type(c_ptr) :: domain
  type(isthmus_reduction), target :: reduction
  type(c_ptr) :: part
  real(c_double), target :: numbers(100), matrix(6, 5), column(5)
  real(c_double), pointer :: mine(:)
  real(c_float), target :: half = 0.5
  character(:), allocatable :: words

  if (c_sizeof(options) /= options%size) error stop 'size of the options'
  call done(isthmus_join(c_null_ptr, team), 'join')
  options%symmetric = 1048576
  call done(isthmus_space_make(team, c_loc(options), space), 'make')
  rank = isthmus_rank(team)
  ranks = isthmus_ranks(team)
  next = modulo(rank + 1, ranks)
  call holds(c_associated(isthmus_space_team(space), team), 'team')

  ! Memory, put and get, with and without waiting.
  call done(isthmus_allocate_all(space, 800_c_int64_t, place), 'allocate')
  call c_f_pointer(isthmus_cast(space, rank, place), mine, [100])
  call holds(.not. c_associated(isthmus_cast(space, ranks, place)), 'cast of no rank')
  call done(isthmus_place_of_pointer(space, c_loc(mine(3)), other, found), 'place of a pointer')
  call holds(other == rank .and. found == place + 16, 'place of a pointer')
  numbers = [(real(rank*1000 + i, c_double), i=1, 100)]
  call done(isthmus_put(space, next, place, c_loc(numbers), 400_c_size_t), 'put')
  do i = 1, 3
    call done(isthmus_begin_put(space, next, place + 400 + 8*i, c_loc(numbers(51 + i)), 8_c_size_t, c_loc(events(i))), &
              'begin')
    call done(isthmus_wait_event(space, events(i)), 'wait')
  end do
  call done(isthmus_open_region(space), 'open')
  call done(isthmus_begin_put(space, next, place + 432, c_loc(numbers(55)), 368_c_size_t, c_null_ptr), 'begin')
  call done(isthmus_close_region(space, event), 'close')
  do while (isthmus_test_event(space, event) == ISTHMUS_IN_PROGRESS)
  end do
  call done(isthmus_begin_put(space, next, place + 400, c_loc(numbers(51)), 8_c_size_t, c_null_ptr), 'begin')
  call done(isthmus_wait_all(space), 'wait for all')
  call done(isthmus_barrier(space, 7_c_int64_t), 'barrier')
  call holds(all(nint(mine) == [(modulo(rank - 1, ranks)*1000 + i, i=1, 100)]), 'what was put')
  numbers = 0
  call done(isthmus_get(space, c_loc(numbers), next, place, 800_c_size_t), 'get')
  call holds(all(nint(numbers) == [(rank*1000 + i, i=1, 100)]), 'what was got')
  call done(isthmus_barrier(space), 'barrier')

  ! A column of a matrix of the other rank, by strides, and its corners, by lists.
  matrix = reshape([(real(100*rank + i, c_double), i=1, 30)], [6, 5])
  call done(isthmus_put(space, rank, place, c_loc(matrix), 240_c_size_t), 'put')
  call done(isthmus_barrier(space), 'barrier')
  call done(isthmus_get_strided(space, c_loc(column), [8_c_int64_t], next, place + 16, [48_c_int64_t], 8_c_size_t, &
                                [5_c_size_t], 1), 'strided')
  call holds(all(nint(column) == [(100*next + 3 + 6*i, i=0, 4)]), 'a row')
  call done(isthmus_get_indexed(space, [c_loc(column)], 1_c_size_t, 16_c_size_t, next, [place, place + 232], 2_c_size_t, &
                                8_c_size_t), 'indexed')
  call holds(all(nint(column(1:2)) == 100*next + [1, 30]), 'corners')
  call done(isthmus_get_vector(space, [isthmus_block(c_loc(column), 24_c_size_t)], 1_c_size_t, next, &
                               [isthmus_piece(place + 8, 8_c_size_t), isthmus_piece(place + 40, 16_c_size_t)], 2_c_size_t), &
            'vector')
  call holds(all(nint(column(1:3)) == 100*next + [2, 6, 7]), 'pieces')
  call done(isthmus_barrier(space), 'barrier')

  ! Atomic operations and a lock.
  call done(isthmus_allocate_all(space, 64_c_int64_t, counter), 'allocate')
  call done(isthmus_set(space, rank, counter, 0, 64_c_size_t), 'set')
  call done(isthmus_mutex_make_all(space, mutex), 'mutex')
  call done(isthmus_barrier(space), 'barrier')
  do i = 1, 100
    call done(isthmus_atomic(space, 0, counter, ISTHMUS_I64, ISTHMUS_ATOMIC_ADD, c_loc(one), c_null_ptr, c_loc(before)), &
              'atomic')
    call done(isthmus_atomic(space, 0, counter + 8, ISTHMUS_F32, ISTHMUS_ATOMIC_ADD, c_loc(half), c_null_ptr, &
                             c_null_ptr), 'atomic')
    call done(isthmus_lock(space, mutex), 'lock')
    call done(isthmus_get(space, c_loc(before), 0, counter + 16, 8_c_size_t), 'get')
    before = before + 3
    call done(isthmus_put(space, 0, counter + 16, c_loc(before), 8_c_size_t), 'put')
    call done(isthmus_unlock(space, mutex), 'unlock')
  end do
  call done(isthmus_barrier(space), 'barrier')
  call done(isthmus_get(space, c_loc(before), 0, counter, 8_c_size_t), 'get')
  call holds(before == 100*ranks, 'atomic')
  call done(isthmus_get(space, c_loc(half), 0, counter + 8, 4_c_size_t), 'get')
  call holds(nint(half) == 50*ranks, 'atomic of a float')
  call done(isthmus_get(space, c_loc(before), 0, counter + 16, 8_c_size_t), 'get')
  call holds(before == 300*ranks, 'lock')

  ! Messages, with replies; signals.
  call done(isthmus_handle(space, 1, c_funloc(asked), c_loc(said_here())), 'handle')
  call done(isthmus_handle(space, 2, c_funloc(answer), c_null_ptr), 'handle')
  call done(isthmus_barrier(space), 'barrier')
  do k = 1, 10
    answered = 0
    call done(isthmus_request(space, next, 1, [int(k, c_int64_t), 0_c_int64_t], 2, c_loc(numbers), 800_c_size_t), 'request')
    do while (answered == 0)
      call done(isthmus_poll(space), 'poll')
    end do
    call holds(answered == 2*k + 1000*next, 'answer')
  end do
  call done(isthmus_barrier(space), 'barrier')
  count => said_here()
  call holds(count == 55 + 10*(modulo(rank - 1, ranks)*1000 + 100 + 2), 'what was said')
  call done(isthmus_put_signal(space, next, place, c_loc(one), 8_c_size_t, counter + 24, 2_c_int64_t), 'signal')
  call done(isthmus_wait_signal(space, counter + 24, 2_c_int64_t), 'wait for a signal')

  ! A domain of atomic operations.
  call done(isthmus_domain_make(space, ISTHMUS_I64, shiftl(1, ISTHMUS_ATOMIC_ADD), domain), 'domain')
  call holds(isthmus_domain_way(domain, rank) == ISTHMUS_BY_PROCESSOR .and. isthmus_domain_element(domain) == ISTHMUS_I64 &
             .and. c_associated(isthmus_domain_space(domain), space), 'what a domain is')
  call done(isthmus_domain_change(domain, next, counter + 32, ISTHMUS_ATOMIC_ADD, c_loc(one), c_null_ptr, c_loc(before)), 'add')
  call holds(isthmus_domain_change(domain, next, counter + 32, ISTHMUS_ATOMIC_OR, c_loc(one), c_null_ptr, c_null_ptr) &
             == ISTHMUS_INVALID, 'not made for it')
  call done(isthmus_domain_free(domain), 'free')

  ! What is said of a put, here and there.
  if (c_sizeof(completion) /= completion%size) error stop 'size of a completion'
  completion%event = c_loc(events(1))
  completion%local = ISTHMUS_LOCAL_EVENT
  completion%local_event = c_loc(events(2))
  completion%notice = ISTHMUS_NOTICE_SIGNAL
  completion%signal = counter + 24
  completion%add = 3
  numbers = rank
  call done(isthmus_begin_put_with(space, next, place, c_loc(numbers), 80_c_size_t, completion), 'put with')
  call done(isthmus_wait_event(space, events(2)), 'local')
  call done(isthmus_wait_event(space, events(1)), 'event')
  call done(isthmus_begin_put_strided_with(space, next, place + 80, [16_c_int64_t], c_loc(numbers), [8_c_int64_t], &
                                           8_c_size_t, [3_c_size_t], 1, completion), 'strided')
  call done(isthmus_wait_event(space, events(2)), 'local')
  call done(isthmus_wait_event(space, events(1)), 'event')
  call done(isthmus_begin_put_indexed_with(space, next, [place + 160], 1_c_size_t, 16_c_size_t, [c_loc(numbers)], &
                                           1_c_size_t, 16_c_size_t, completion), 'indexed')
  call done(isthmus_wait_event(space, events(2)), 'local')
  call done(isthmus_wait_event(space, events(1)), 'event')
  call done(isthmus_wait_signal(space, counter + 24, 9_c_int64_t), 'signals')
  call holds(all(nint(mine([1, 10, 11, 13, 15, 21, 22])) == modulo(rank - 1, ranks)), 'what was put')
  call done(isthmus_begin_request_to(space, next, 2, [0_c_int64_t], 1, c_loc(numbers), 0_c_size_t, place + 8, &
                                     c_loc(events(1))), 'request to')
  call done(isthmus_wait_event(space, events(1)), 'its payload')

  ! Teams and collectives.
  if (c_sizeof(manner) /= manner%size .or. c_sizeof(reduction) /= reduction%size) error stop 'size of a manner'
  call done(isthmus_barrier(space), 'barrier')
  call done(isthmus_split(team, int(modulo(rank, 2), c_int64_t), int(-rank, c_int64_t), part), 'split')
  call done(isthmus_translate(part, isthmus_rank(part), team, other), 'translate')
  call holds(other == rank, 'a rank of a part')
  mine = rank
  manner%team = part
  reduction%count = isthmus_ranks(part)
  reduction%block = 1
  call done(isthmus_reduce(space, c_loc(manner), 0, place + 80, place, c_loc(reduction)), 'reduce')
  manner%event = c_loc(events)
  call done(isthmus_broadcast(space, c_loc(manner), place + 88, 0, place + 80, 8_c_int64_t), 'broadcast')
  call done(isthmus_wait_event(space, events(1)), 'wait')
  call holds(nint(mine(12)) == sum([(i, i=modulo(rank, 2), ranks - 1, 2)]), 'sum of a part')
  call done(isthmus_leave(part), 'leave a part')

  call holds(isthmus_put(space, ranks, place, c_loc(one), 8_c_size_t) == ISTHMUS_INVALID, 'no such rank')
  words = isthmus_last_error()
  call holds(index(words, 'does not exist') > 0, words)
  call done(isthmus_barrier(space), 'barrier')
  if (rank == 0) call done(isthmus_release(space, 0, place), 'release')
  call done(isthmus_space_leave(space), 'leave')
  call done(isthmus_leave(team), 'leave')
  if (rank == 0) print '(a)', 'all done'

contains

  function said_here() result(place_of)
    integer(c_int64_t), pointer :: place_of
    integer(c_int64_t), target, save :: sum = 0
    place_of => sum
  end function

  subroutine done(status, what)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: what
    if (status == ISTHMUS_DONE) return
    print '(a,a,a)', what, ': ', isthmus_last_error()
    error stop 1
  end subroutine

  subroutine holds(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print '(a,i0,a,a)', 'rank ', rank, ': wrong: ', what
    error stop 1
  end subroutine

end program

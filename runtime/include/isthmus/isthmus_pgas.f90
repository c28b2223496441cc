! The functions of isthmus_pgas.h in Fortran 2008, with the same names, in the same order; what they do is said there.
!
!     use isthmus_pgas
!     status = isthmus_join(c_null_ptr, team)
!     status = isthmus_space_make(team, c_null_ptr, space)
!     status = isthmus_allocate_all(space, 8_c_int64_t * n, table)
!     call c_f_pointer(isthmus_cast(space, isthmus_rank(team), table), mine, [n])
!     status = isthmus_put(space, 1, table, c_loc(value), c_sizeof(value))
!     status = isthmus_barrier(space)
!
! Numbers of ranks begin with 0, offsets count bytes. Memory is given by c_loc() of something that is a target. Modules
! belong to a compiler: compile this file with yours, and link libisthmus.
module isthmus_pgas
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int), parameter :: ISTHMUS_DONE = 0, ISTHMUS_IN_PROGRESS = 1, ISTHMUS_INVALID = -1, &
    ISTHMUS_UNSUPPORTED = -2, ISTHMUS_SYSTEM = -3, ISTHMUS_FAILED = -4, ISTHMUS_MEMORY = -5
  ! isthmus_element
  integer(c_int), parameter :: ISTHMUS_I32 = 2, ISTHMUS_I64 = 3, ISTHMUS_U32 = 6, ISTHMUS_U64 = 7, ISTHMUS_F32 = 8, &
    ISTHMUS_F64 = 9
  ! isthmus_atomic_operator
  integer(c_int), parameter :: ISTHMUS_ATOMIC_ADD = 0, ISTHMUS_ATOMIC_MIN = 1, ISTHMUS_ATOMIC_MAX = 2, &
    ISTHMUS_ATOMIC_AND = 3, ISTHMUS_ATOMIC_OR = 4, ISTHMUS_ATOMIC_XOR = 5, ISTHMUS_ATOMIC_SWAP = 6, &
    ISTHMUS_ATOMIC_SWAP_IF = 7, ISTHMUS_ATOMIC_READ = 8, ISTHMUS_ATOMIC_MULTIPLY = 9, ISTHMUS_ATOMIC_SUBTRACT = 10
  ! isthmus_atomic_way; of ISTHMUS_ATOMIC_SET() see shiftl(1, operation)
  integer(c_int), parameter :: ISTHMUS_BY_PROCESSOR = 0, ISTHMUS_BY_MESSAGE = 1, ISTHMUS_BY_WINDOW = 2
  ! isthmus_operator
  integer(c_int), parameter :: ISTHMUS_SUM = 0, ISTHMUS_PRODUCT = 1, ISTHMUS_MIN = 2, ISTHMUS_MAX = 3
  ! isthmus_local, isthmus_notice
  integer(c_int), parameter :: ISTHMUS_LOCAL_LATER = 0, ISTHMUS_LOCAL_NOW = 1, ISTHMUS_LOCAL_EVENT = 2
  integer(c_int), parameter :: ISTHMUS_NOTICE_NONE = 0, ISTHMUS_NOTICE_SIGNAL = 1, ISTHMUS_NOTICE_MESSAGE = 2
  ! isthmus_sync
  integer(c_int), parameter :: ISTHMUS_SYNC_DEFAULT = 0, ISTHMUS_SYNC_NONE = 1, ISTHMUS_SYNC_MY = 2, ISTHMUS_SYNC_ALL = 3
  integer(c_int), parameter :: ISTHMUS_MOST_HANDLERS = 256, ISTHMUS_MOST_ARGUMENTS = 16

  type, bind(c) :: isthmus_space_options
    integer(c_size_t) :: size = 40 ! of this type
    integer(c_int64_t) :: symmetric = 0, local = 0, queue = 0, packed = 0
  end type

  type, bind(c) :: isthmus_space_head
    type(c_ptr) :: memory
    integer(c_int64_t) :: extent
    integer(c_int32_t) :: rank, ranks, far
    type(c_ptr) :: shared
  end type

  type, bind(c) :: isthmus_piece
    integer(c_int64_t) :: offset
    integer(c_size_t) :: bytes
  end type

  type, bind(c) :: isthmus_block
    type(c_ptr) :: pointer
    integer(c_size_t) :: bytes
  end type

  type, bind(c) :: isthmus_completion
    integer(c_size_t) :: size = 64 ! of this type
    type(c_ptr) :: event = c_null_ptr ! an integer(c_int64_t)
    integer(c_int) :: local = ISTHMUS_LOCAL_LATER, notice = ISTHMUS_NOTICE_NONE
    type(c_ptr) :: local_event = c_null_ptr
    integer(c_int64_t) :: signal = 0, add = 0
    integer(c_int32_t) :: handler = 0, count = 0
    type(c_ptr) :: arguments = c_null_ptr
  end type

  type, bind(c) :: isthmus_mutex
    integer(c_int32_t) :: rank
    integer(c_int64_t) :: offset
  end type

  type, bind(c) :: isthmus_manner
    integer(c_size_t) :: size = 40 ! of this type
    type(c_ptr) :: team = c_null_ptr
    integer(c_int) :: enter = ISTHMUS_SYNC_DEFAULT, leave = ISTHMUS_SYNC_DEFAULT
    type(c_ptr) :: algorithm = c_null_ptr ! a text that ends with c_null_char
    type(c_ptr) :: event = c_null_ptr ! an integer(c_int64_t)
  end type

  type, bind(c) :: isthmus_reduction
    integer(c_size_t) :: size = 64 ! of this type
    integer(c_int) :: element = ISTHMUS_F64, operation = ISTHMUS_SUM
    integer(c_int32_t) :: element_bytes = 0
    type(c_funptr) :: combine = c_null_funptr
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: commutes = 0
    integer(c_int64_t) :: count = 0, block = 0
  end type

  abstract interface
    ! What isthmus_handle() is given the c_funloc() of.
    subroutine isthmus_handler(token, arguments, count, payload, bytes, data) bind(c)
      import :: c_ptr, c_int64_t, c_int32_t, c_size_t
      type(c_ptr), value :: token
      integer(c_int64_t), intent(in) :: arguments(*)
      integer(c_int32_t), value :: count
      type(c_ptr), value :: payload
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: data
    end subroutine
  end interface

  interface
    ! -- joining, see isthmus.h

    function isthmus_join(job, team) bind(c, name='isthmus_join') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: job
      type(c_ptr), intent(out) :: team
      integer(c_int) :: returned
    end function

    function isthmus_leave(team) bind(c, name='isthmus_leave') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: team
      integer(c_int) :: returned
    end function

    function isthmus_rank(team) bind(c, name='isthmus_rank') result(returned)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: team
      integer(c_int32_t) :: returned
    end function

    function isthmus_ranks(team) bind(c, name='isthmus_ranks') result(returned)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: team
      integer(c_int32_t) :: returned
    end function

    function c_last_error() bind(c, name='isthmus_last_error') result(returned)
      import :: c_ptr
      type(c_ptr) :: returned
    end function

    function c_strlen(text) bind(c, name='strlen') result(returned)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: returned
    end function

    ! -- spaces and memory

    function isthmus_space_make(team, options, space) bind(c, name='isthmus_space_make') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: team, options
      type(c_ptr), intent(out) :: space
      integer(c_int) :: returned
    end function

    function isthmus_space_leave(space) bind(c, name='isthmus_space_leave') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: space
      integer(c_int) :: returned
    end function

    function isthmus_space_team(space) bind(c, name='isthmus_space_team') result(returned)
      import :: c_ptr
      type(c_ptr), value :: space
      type(c_ptr) :: returned
    end function

    function isthmus_allocate_all(space, bytes, offset) bind(c, name='isthmus_allocate_all') result(returned)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: space
      integer(c_int64_t), value :: bytes
      integer(c_int64_t), intent(out) :: offset
      integer(c_int) :: returned
    end function

    function isthmus_allocate_global(space, bytes, offset) bind(c, name='isthmus_allocate_global') result(returned)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: space
      integer(c_int64_t), value :: bytes
      integer(c_int64_t), intent(out) :: offset
      integer(c_int) :: returned
    end function

    function isthmus_allocate(space, bytes, offset) bind(c, name='isthmus_allocate') result(returned)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: space
      integer(c_int64_t), value :: bytes
      integer(c_int64_t), intent(out) :: offset
      integer(c_int) :: returned
    end function

    function isthmus_release(space, rank, offset) bind(c, name='isthmus_release') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int) :: returned
    end function

    function isthmus_place_of_pointer(space, pointer, rank, offset) &
      bind(c, name='isthmus_place_of_pointer') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t
      type(c_ptr), value :: space, pointer
      integer(c_int32_t), intent(out) :: rank
      integer(c_int64_t), intent(out) :: offset
      integer(c_int) :: returned
    end function

    ! -- put and get

    function isthmus_put(space, rank, offset, from, bytes) bind(c, name='isthmus_put_elsewhere') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_get(space, to, rank, offset, bytes) bind(c, name='isthmus_get_elsewhere') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space, to
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_set(space, rank, offset, value, bytes) bind(c, name='isthmus_set_elsewhere') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int), value :: value
      integer(c_size_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_put_strided(space, rank, offset, strides, from, from_strides, bytes, extents, dimensions) &
      bind(c, name='isthmus_put_strided') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int64_t), intent(in) :: strides(*)
      type(c_ptr), value :: from
      integer(c_int64_t), intent(in) :: from_strides(*)
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(in) :: extents(*)
      integer(c_int32_t), value :: dimensions
      integer(c_int) :: returned
    end function

    function isthmus_get_strided(space, to, to_strides, rank, offset, strides, bytes, extents, dimensions) &
      bind(c, name='isthmus_get_strided') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space, to
      integer(c_int64_t), intent(in) :: to_strides(*)
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int64_t), intent(in) :: strides(*)
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(in) :: extents(*)
      integer(c_int32_t), value :: dimensions
      integer(c_int) :: returned
    end function

    function isthmus_put_vector(space, rank, to, to_count, from, from_count) &
      bind(c, name='isthmus_put_vector') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_size_t, isthmus_piece, isthmus_block
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      type(isthmus_piece), intent(in) :: to(*)
      integer(c_size_t), value :: to_count
      type(isthmus_block), intent(in) :: from(*)
      integer(c_size_t), value :: from_count
      integer(c_int) :: returned
    end function

    function isthmus_get_vector(space, to, to_count, rank, from, from_count) &
      bind(c, name='isthmus_get_vector') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_size_t, isthmus_piece, isthmus_block
      type(c_ptr), value :: space
      type(isthmus_block), intent(in) :: to(*)
      integer(c_size_t), value :: to_count
      integer(c_int32_t), value :: rank
      type(isthmus_piece), intent(in) :: from(*)
      integer(c_size_t), value :: from_count
      integer(c_int) :: returned
    end function

    function isthmus_put_indexed(space, rank, to, to_count, to_bytes, from, from_count, from_bytes) &
      bind(c, name='isthmus_put_indexed') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: to(*)
      integer(c_size_t), value :: to_count, to_bytes
      type(c_ptr), intent(in) :: from(*)
      integer(c_size_t), value :: from_count, from_bytes
      integer(c_int) :: returned
    end function

    function isthmus_get_indexed(space, to, to_count, to_bytes, rank, from, from_count, from_bytes) &
      bind(c, name='isthmus_get_indexed') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      type(c_ptr), intent(in) :: to(*)
      integer(c_size_t), value :: to_count, to_bytes
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: from(*)
      integer(c_size_t), value :: from_count, from_bytes
      integer(c_int) :: returned
    end function

    ! -- put and get that go on meanwhile; events are 64-bit integers

    function isthmus_refuse(words) bind(c, name='isthmus_refuse') result(returned)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: words(*)
      integer(c_int) :: returned
    end function

    function isthmus_begin_put(space, rank, offset, from, bytes, event) &
      bind(c, name='isthmus_begin_put_elsewhere') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_get(space, to, rank, offset, bytes, event) &
      bind(c, name='isthmus_begin_get_elsewhere') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space, to
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_set(space, rank, offset, value, bytes, event) &
      bind(c, name='isthmus_begin_set') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int), value :: value
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_put_strided(space, rank, offset, strides, from, from_strides, bytes, extents, dimensions, event) &
      bind(c, name='isthmus_begin_put_strided') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int64_t), intent(in) :: strides(*)
      type(c_ptr), value :: from
      integer(c_int64_t), intent(in) :: from_strides(*)
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(in) :: extents(*)
      integer(c_int32_t), value :: dimensions
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_get_strided(space, to, to_strides, rank, offset, strides, bytes, extents, dimensions, event) &
      bind(c, name='isthmus_begin_get_strided') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space, to
      integer(c_int64_t), intent(in) :: to_strides(*)
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int64_t), intent(in) :: strides(*)
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(in) :: extents(*)
      integer(c_int32_t), value :: dimensions
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_put_vector(space, rank, to, to_count, from, from_count, event) &
      bind(c, name='isthmus_begin_put_vector') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_size_t, isthmus_piece, isthmus_block
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      type(isthmus_piece), intent(in) :: to(*)
      integer(c_size_t), value :: to_count
      type(isthmus_block), intent(in) :: from(*)
      integer(c_size_t), value :: from_count
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_get_vector(space, to, to_count, rank, from, from_count, event) &
      bind(c, name='isthmus_begin_get_vector') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_size_t, isthmus_piece, isthmus_block
      type(c_ptr), value :: space
      type(isthmus_block), intent(in) :: to(*)
      integer(c_size_t), value :: to_count
      integer(c_int32_t), value :: rank
      type(isthmus_piece), intent(in) :: from(*)
      integer(c_size_t), value :: from_count
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_put_indexed(space, rank, to, to_count, to_bytes, from, from_count, from_bytes, event) &
      bind(c, name='isthmus_begin_put_indexed') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: to(*)
      integer(c_size_t), value :: to_count, to_bytes
      type(c_ptr), intent(in) :: from(*)
      integer(c_size_t), value :: from_count, from_bytes
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_get_indexed(space, to, to_count, to_bytes, rank, from, from_count, from_bytes, event) &
      bind(c, name='isthmus_begin_get_indexed') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      type(c_ptr), intent(in) :: to(*)
      integer(c_size_t), value :: to_count, to_bytes
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: from(*)
      integer(c_size_t), value :: from_count, from_bytes
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_begin_put_with(space, rank, offset, from, bytes, completion) &
      bind(c, name='isthmus_begin_put_with') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t, isthmus_completion
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
      type(isthmus_completion), intent(in) :: completion
      integer(c_int) :: returned
    end function

    function isthmus_begin_put_strided_with(space, rank, offset, strides, from, from_strides, bytes, extents, dimensions, &
      completion) bind(c, name='isthmus_begin_put_strided_with') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t, isthmus_completion
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int64_t), intent(in) :: strides(*)
      type(c_ptr), value :: from
      integer(c_int64_t), intent(in) :: from_strides(*)
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(in) :: extents(*)
      integer(c_int32_t), value :: dimensions
      type(isthmus_completion), intent(in) :: completion
      integer(c_int) :: returned
    end function

    function isthmus_begin_put_vector_with(space, rank, to, to_count, from, from_count, completion) &
      bind(c, name='isthmus_begin_put_vector_with') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_size_t, isthmus_piece, isthmus_block, isthmus_completion
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      type(isthmus_piece), intent(in) :: to(*)
      integer(c_size_t), value :: to_count
      type(isthmus_block), intent(in) :: from(*)
      integer(c_size_t), value :: from_count
      type(isthmus_completion), intent(in) :: completion
      integer(c_int) :: returned
    end function

    function isthmus_begin_put_indexed_with(space, rank, to, to_count, to_bytes, from, from_count, from_bytes, completion) &
      bind(c, name='isthmus_begin_put_indexed_with') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t, isthmus_completion
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(in) :: to(*)
      integer(c_size_t), value :: to_count, to_bytes
      type(c_ptr), intent(in) :: from(*)
      integer(c_size_t), value :: from_count, from_bytes
      type(isthmus_completion), intent(in) :: completion
      integer(c_int) :: returned
    end function

    function isthmus_test_event(space, event) bind(c, name='isthmus_test_event') result(returned)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: space
      integer(c_int64_t), intent(inout) :: event
      integer(c_int) :: returned
    end function

    function isthmus_wait_event(space, event) bind(c, name='isthmus_wait_event') result(returned)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: space
      integer(c_int64_t), intent(inout) :: event
      integer(c_int) :: returned
    end function

    function isthmus_wait_all(space) bind(c, name='isthmus_wait_all') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: space
      integer(c_int) :: returned
    end function

    function isthmus_open_region(space) bind(c, name='isthmus_open_region') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: space
      integer(c_int) :: returned
    end function

    function isthmus_close_region(space, event) bind(c, name='isthmus_close_region') result(returned)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: space
      integer(c_int64_t), intent(out) :: event
      integer(c_int) :: returned
    end function

    ! -- atomic operations

    function isthmus_atomic(space, rank, offset, element, operation, operand, expected, before) &
      bind(c, name='isthmus_atomic') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int), value :: element, operation
      type(c_ptr), value :: operand, expected, before
      integer(c_int) :: returned
    end function

    ! -- active messages

    function isthmus_domain_make(space, element, operations, domain) bind(c, name='isthmus_domain_make') result(returned)
      import :: c_ptr, c_int, c_int32_t
      type(c_ptr), value :: space
      integer(c_int), value :: element
      integer(c_int32_t), value :: operations
      type(c_ptr), intent(out) :: domain
      integer(c_int) :: returned
    end function

    function isthmus_domain_free(domain) bind(c, name='isthmus_domain_free') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: domain
      integer(c_int) :: returned
    end function

    function isthmus_domain_change(domain, rank, offset, operation, operand, expected, before) &
      bind(c, name='isthmus_domain_change') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t
      type(c_ptr), value :: domain
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      integer(c_int), value :: operation
      type(c_ptr), value :: operand, expected, before
      integer(c_int) :: returned
    end function

    function isthmus_domain_way(domain, rank) bind(c, name='isthmus_domain_way') result(returned)
      import :: c_ptr, c_int, c_int32_t
      type(c_ptr), value :: domain
      integer(c_int32_t), value :: rank
      integer(c_int) :: returned
    end function

    function isthmus_domain_space(domain) bind(c, name='isthmus_domain_space') result(returned)
      import :: c_ptr
      type(c_ptr), value :: domain
      type(c_ptr) :: returned
    end function

    function isthmus_domain_element(domain) bind(c, name='isthmus_domain_element') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: domain
      integer(c_int) :: returned
    end function

    function isthmus_handle(space, number, handler, data) bind(c, name='isthmus_handle') result(returned)
      import :: c_ptr, c_funptr, c_int, c_int32_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: number
      type(c_funptr), value :: handler
      type(c_ptr), value :: data
      integer(c_int) :: returned
    end function

    function isthmus_most_payload(space) bind(c, name='isthmus_most_payload') result(returned)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: space
      integer(c_size_t) :: returned
    end function

    function isthmus_request(space, rank, handler, arguments, count, payload, bytes) &
      bind(c, name='isthmus_request') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank, handler
      integer(c_int64_t), intent(in) :: arguments(*)
      integer(c_int32_t), value :: count
      type(c_ptr), value :: payload
      integer(c_size_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_request_to(space, rank, handler, arguments, count, payload, bytes, offset) &
      bind(c, name='isthmus_request_to') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank, handler
      integer(c_int64_t), intent(in) :: arguments(*)
      integer(c_int32_t), value :: count
      type(c_ptr), value :: payload
      integer(c_size_t), value :: bytes
      integer(c_int64_t), value :: offset
      integer(c_int) :: returned
    end function

    function isthmus_begin_request_to(space, rank, handler, arguments, count, payload, bytes, offset, event) &
      bind(c, name='isthmus_begin_request_to') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank, handler
      integer(c_int64_t), intent(in) :: arguments(*)
      integer(c_int32_t), value :: count
      type(c_ptr), value :: payload
      integer(c_size_t), value :: bytes
      integer(c_int64_t), value :: offset
      type(c_ptr), value :: event
      integer(c_int) :: returned
    end function

    function isthmus_prepare(space, rank, bytes, room) bind(c, name='isthmus_prepare') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(out) :: room
      integer(c_int) :: returned
    end function

    function isthmus_commit(space, handler, arguments, count, bytes) bind(c, name='isthmus_commit') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: handler
      integer(c_int64_t), intent(in) :: arguments(*)
      integer(c_int32_t), value :: count
      integer(c_size_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_reply(token, handler, arguments, count, payload, bytes) &
      bind(c, name='isthmus_reply') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: token
      integer(c_int32_t), value :: handler
      integer(c_int64_t), intent(in) :: arguments(*)
      integer(c_int32_t), value :: count
      type(c_ptr), value :: payload
      integer(c_size_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_reply_to(token, handler, arguments, count, payload, bytes, offset) &
      bind(c, name='isthmus_reply_to') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: token
      integer(c_int32_t), value :: handler
      integer(c_int64_t), intent(in) :: arguments(*)
      integer(c_int32_t), value :: count
      type(c_ptr), value :: payload
      integer(c_size_t), value :: bytes
      integer(c_int64_t), value :: offset
      integer(c_int) :: returned
    end function

    function isthmus_token_rank(token) bind(c, name='isthmus_token_rank') result(returned)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: token
      integer(c_int32_t) :: returned
    end function

    function isthmus_token_space(token) bind(c, name='isthmus_token_space') result(returned)
      import :: c_ptr
      type(c_ptr), value :: token
      type(c_ptr) :: returned
    end function

    function isthmus_poll(space) bind(c, name='isthmus_poll') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: space
      integer(c_int) :: returned
    end function

    ! -- synchronisation

    function c_notify(space, id) bind(c, name='isthmus_notify') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: space, id
      integer(c_int) :: returned
    end function

    function isthmus_await(space) bind(c, name='isthmus_await') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: space
      integer(c_int) :: returned
    end function

    function isthmus_try_await(space) bind(c, name='isthmus_try_await') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: space
      integer(c_int) :: returned
    end function

    function c_barrier(space, id) bind(c, name='isthmus_barrier') result(returned)
      import :: c_ptr, c_int
      type(c_ptr), value :: space, id
      integer(c_int) :: returned
    end function

    function isthmus_put_signal(space, rank, offset, from, bytes, signal, add) &
      bind(c, name='isthmus_put_signal') result(returned)
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_size_t
      type(c_ptr), value :: space
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
      integer(c_int64_t), value :: signal, add
      integer(c_int) :: returned
    end function

    function isthmus_wait_signal(space, signal, take) bind(c, name='isthmus_wait_signal') result(returned)
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), value :: space
      integer(c_int64_t), value :: signal, take
      integer(c_int) :: returned
    end function

    function isthmus_mutex_make_all(space, mutex) bind(c, name='isthmus_mutex_make_all') result(returned)
      import :: c_ptr, c_int, isthmus_mutex
      type(c_ptr), value :: space
      type(isthmus_mutex), intent(out) :: mutex
      integer(c_int) :: returned
    end function

    function isthmus_mutex_make(space, mutex) bind(c, name='isthmus_mutex_make') result(returned)
      import :: c_ptr, c_int, isthmus_mutex
      type(c_ptr), value :: space
      type(isthmus_mutex), intent(out) :: mutex
      integer(c_int) :: returned
    end function

    function isthmus_mutex_free(space, mutex) bind(c, name='isthmus_mutex_free') result(returned)
      import :: c_ptr, c_int, isthmus_mutex
      type(c_ptr), value :: space
      type(isthmus_mutex), value :: mutex
      integer(c_int) :: returned
    end function

    function isthmus_lock(space, mutex) bind(c, name='isthmus_lock') result(returned)
      import :: c_ptr, c_int, isthmus_mutex
      type(c_ptr), value :: space
      type(isthmus_mutex), value :: mutex
      integer(c_int) :: returned
    end function

    function isthmus_try_lock(space, mutex) bind(c, name='isthmus_try_lock') result(returned)
      import :: c_ptr, c_int, isthmus_mutex
      type(c_ptr), value :: space
      type(isthmus_mutex), value :: mutex
      integer(c_int) :: returned
    end function

    function isthmus_unlock(space, mutex) bind(c, name='isthmus_unlock') result(returned)
      import :: c_ptr, c_int, isthmus_mutex
      type(c_ptr), value :: space
      type(isthmus_mutex), value :: mutex
      integer(c_int) :: returned
    end function

    ! -- teams, see isthmus.h

    function isthmus_group(team, members, ranks, number, group) bind(c, name='isthmus_group') &
      result(returned)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: team
      type(c_ptr), value :: members
      integer(c_int32_t), value :: ranks
      integer(c_int32_t), value :: number
      type(c_ptr), intent(out) :: group
      integer(c_int) :: returned
    end function

    function isthmus_split(team, colour, key, part) bind(c, name='isthmus_split') &
      result(returned)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: team
      integer(c_int64_t), value :: colour
      integer(c_int64_t), value :: key
      type(c_ptr), intent(out) :: part
      integer(c_int) :: returned
    end function

    function isthmus_translate(team, rank, other, found) bind(c, name='isthmus_translate') &
      result(returned)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: team
      integer(c_int32_t), value :: rank
      type(c_ptr), value :: other
      integer(c_int32_t), intent(out) :: found
      integer(c_int) :: returned
    end function

    ! -- collectives; a manner and a reduction are given by c_loc()

    function isthmus_barrier_of(space, manner) bind(c, name='isthmus_barrier_of') &
      result(returned)
      import :: c_int, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int) :: returned
    end function

    function isthmus_broadcast(space, manner, to, root, from, bytes) bind(c, name='isthmus_broadcast') &
      result(returned)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int64_t), value :: to
      integer(c_int32_t), value :: root
      integer(c_int64_t), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_scatter(space, manner, to, root, from, bytes) bind(c, name='isthmus_scatter') &
      result(returned)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int64_t), value :: to
      integer(c_int32_t), value :: root
      integer(c_int64_t), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_gather(space, manner, root, to, from, bytes) bind(c, name='isthmus_gather') &
      result(returned)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int32_t), value :: root
      integer(c_int64_t), value :: to
      integer(c_int64_t), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_gather_all(space, manner, to, from, bytes) bind(c, name='isthmus_gather_all') &
      result(returned)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int64_t), value :: to
      integer(c_int64_t), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_exchange_all(space, manner, to, from, bytes) bind(c, name='isthmus_exchange_all') &
      result(returned)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int64_t), value :: to
      integer(c_int64_t), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int) :: returned
    end function

    function isthmus_permute(space, manner, to, from, bytes, next) bind(c, name='isthmus_permute') &
      result(returned)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int64_t), value :: to
      integer(c_int64_t), value :: from
      integer(c_int64_t), value :: bytes
      integer(c_int32_t), value :: next
      integer(c_int) :: returned
    end function

    function isthmus_reduce(space, manner, root, to, from, reduction) bind(c, name='isthmus_reduce') &
      result(returned)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int32_t), value :: root
      integer(c_int64_t), value :: to
      integer(c_int64_t), value :: from
      type(c_ptr), value :: reduction
      integer(c_int) :: returned
    end function

    function isthmus_prefix_reduce(space, manner, to, from, reduction) bind(c, name='isthmus_prefix_reduce') &
      result(returned)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: space
      type(c_ptr), value :: manner
      integer(c_int64_t), value :: to
      integer(c_int64_t), value :: from
      type(c_ptr), value :: reduction
      integer(c_int) :: returned
    end function
  end interface

  private :: c_notify, c_barrier, c_last_error, c_strlen

contains

  ! Words of the last error of this thread.
  function isthmus_last_error() result(words)
    character(:), allocatable :: words
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: text
    integer :: i, length
    text = c_last_error()
    length = int(c_strlen(text))
    call c_f_pointer(text, letters, [length])
    allocate (character(length) :: words)
    do i = 1, length
      words(i:i) = letters(i)
    end do
  end function

  ! A pointer to a place in the space, where its memory is shared with this rank; c_null_ptr where it is not.
  function isthmus_cast(space, rank, offset) result(place)
    type(c_ptr), intent(in) :: space
    integer(c_int32_t), intent(in) :: rank
    integer(c_int64_t), intent(in) :: offset
    type(c_ptr) :: place
    type(isthmus_space_head), pointer :: head
    type(c_ptr), pointer :: memory(:)
    place = c_null_ptr
    call c_f_pointer(space, head)
    if (rank < 0 .or. rank >= head%ranks .or. offset < 0 .or. offset >= head%extent) return
    call c_f_pointer(head%shared, memory, [head%ranks])
    if (.not. c_associated(memory(rank + 1))) return
    place = transfer(transfer(memory(rank + 1), 0_c_intptr_t) + int(offset, c_intptr_t), place)
  end function

  function isthmus_notify(space, id) result(status)
    type(c_ptr), intent(in) :: space
    integer(c_int64_t), intent(in), optional, target :: id
    integer(c_int) :: status
    if (present(id)) then
      status = c_notify(space, c_loc(id))
    else
      status = c_notify(space, c_null_ptr)
    end if
  end function

  function isthmus_barrier(space, id) result(status)
    type(c_ptr), intent(in) :: space
    integer(c_int64_t), intent(in), optional, target :: id
    integer(c_int) :: status
    if (present(id)) then
      status = c_barrier(space, c_loc(id))
    else
      status = c_barrier(space, c_null_ptr)
    end if
  end function

end module

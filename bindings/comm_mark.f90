! SPDX-License-Identifier: MIT
! Marks of a Fortran program, for commprof (docs/guide/marks.md); link comm_mark.c with it.
!
!  use comm_mark
!  type(comm_name) :: step
!  type(comm_region) :: region
!  step = comm_name_of('step')    ! once: a name stays for ever
!  region = comm_begin(step)
!  ...
!  call comm_end(region)      ! of the thread that began it
module comm_mark
  use, intrinsic :: iso_c_binding, only: c_char, c_int32_t, c_int64_t, c_null_ptr, c_ptr
  implicit none
  private
  public :: comm_name, comm_region, comm_name_of, comm_begin, comm_end, comm_start, comm_stop

  type :: comm_name
    private
    type(c_ptr) :: text = c_null_ptr
  end type

  type :: comm_region
    private
    integer(c_int64_t) :: depth = 0
  end type

  interface
    function c_begin(name) bind(c, name='comm_mark_c_begin') result(depth)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: name
      integer(c_int64_t) :: depth
    end function
    subroutine c_end(depth) bind(c, name='comm_mark_c_end')
      import :: c_int64_t
      integer(c_int64_t), value :: depth
    end subroutine
    function c_name(text, n) bind(c, name='comm_mark_c_name') result(name)
      import :: c_char, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int64_t), value :: n
      type(c_ptr) :: name
    end function
    subroutine c_stop(stopped) bind(c, name='comm_mark_c_stop')
      import :: c_int32_t
      integer(c_int32_t), value :: stopped
    end subroutine
  end interface
contains
  function comm_name_of(text) result(name)
    character(len=*), intent(in) :: text
    type(comm_name) :: name

    name%text = c_name(text, int(len(text), c_int64_t))
  end function

  function comm_begin(name) result(region)
    type(comm_name), intent(in) :: name
    type(comm_region) :: region

    region%depth = c_begin(name%text)
  end function

  subroutine comm_end(region)
    type(comm_region), intent(in) :: region

    call c_end(region%depth)
  end subroutine

  ! Of the whole process: nothing is sampled from comm_stop to comm_start.
  subroutine comm_stop()
    call c_stop(1_c_int32_t)
  end subroutine

  subroutine comm_start()
    call c_stop(0_c_int32_t)
  end subroutine
end module

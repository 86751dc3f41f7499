! SPDX-License-Identifier: GPL-2.0-or-later
! What is written in "write" is read in "read".  marked CPU_MS
program marked
  use comm_mark
  implicit none
  integer, parameter :: words = 4096
  integer(8), volatile :: a(words)
  integer(8) :: i, total
  real :: now, until
  character(len=32) :: argument
  type(comm_name) :: write_name, read_name
  type(comm_region) :: region

  call get_command_argument(1, argument)
  read (argument, *) until
  write_name = comm_name_of('write')
  read_name = comm_name_of('read')
  total = 0
  do
    region = comm_begin(write_name)
    do i = 1, words
      a(i) = i
    end do
    call comm_end(region)
    region = comm_begin(read_name)
    do i = 1, words
      total = total + a(i)
    end do
    call comm_end(region)
    call cpu_time(now)
    if (now * 1000 > until) exit
  end do
  if (total == 0) stop 1
end program

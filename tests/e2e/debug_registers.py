#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints how many debug registers a debugger could take now: breakpoints of a thread, as ptrace()
makes them, are opened until the kernel has no more."""
import ctypes
import os
import platform
import struct
import sys

PERF_EVENT_OPEN, TYPE_BREAKPOINT, WRITE, DISABLED, EXCLUDE_KERNEL = 298, 5, 2, 1, 1 << 5
ATTR_BYTES, ALL = 112, 4

if platform.machine() != "x86_64":
    sys.exit("only for x86-64")
libc = ctypes.CDLL(None, use_errno=True)
word = ctypes.c_uint64(0)
# type, size, config, period, sample_type, read_format, flags, wakeup, bp_type, bp_addr, bp_len
attr = struct.pack("=IIQQQQQIIQQ", TYPE_BREAKPOINT, ATTR_BYTES, 0, 1, 0, 0, DISABLED | EXCLUDE_KERNEL,
                   0, WRITE, ctypes.addressof(word), 8)
attr = ctypes.create_string_buffer(attr.ljust(ATTR_BYTES, b"\0"), ATTR_BYTES)
fds = []
while len(fds) < ALL:
    fd = libc.syscall(PERF_EVENT_OPEN, attr, 0, -1, -1, 0)
    if fd < 0:
        break
    fds.append(fd)
print(len(fds))
for fd in fds:
    os.close(fd)

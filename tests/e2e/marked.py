# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written in "write" is read in "read".  marked.py CPU_MS"""
import sys
import time

from comm_mark import region, start, stop

put, get = region("write"), region("read")
data = bytearray(1 << 16)
values = bytes(range(1, 256)) * 257

stop()
start()
try:
    with region("left by an exception"):
        raise ValueError
except ValueError:
    pass
while time.process_time() * 1000 < int(sys.argv[1]):
    with put:
        data[:] = values[:len(data)]
    with get:
        for _ in range(2):
            assert data.count(b"\1") > 0

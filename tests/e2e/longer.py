#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a recording of commd, or a perf.data, so many times as long: its events again and again.

    tests/e2e/longer.py TIMES FROM TO
"""
import struct
import sys

END, EVENTS = 2, range(16, 64)  # kinds of records, libcomm/stream/record_format.h
SAMPLE, ROUND, TIME_AT = 9, 68, 32  # of perf.data; a sample's time is behind identifier, ip, pid and tid


def recording(data):
    """Head and events, each with its time first; no END: it was cut short."""
    at, head, body, places = 24, data[:24], bytearray(), []
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        record = data[at:at + 8 + size]
        at += 8 + size
        if kind in EVENTS:
            places.append(len(body) + 8)
            body += record
        elif kind == END:
            break
        elif places:
            body += record
        else:
            head += record
    return head, body, places


def perfdata(data):
    """Samples of SAMPLES in tests/perfdata.py, whose order rounds tell, as perf writes them."""
    start, size = struct.unpack_from("<QQ", data, 40)
    at, body, places, before = start, bytearray(), [], bytearray()
    while at < start + size:
        kind, _, n = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE:
            places.append(len(body) + TIME_AT)
            body += data[at:at + n]
        elif kind != ROUND:
            before += data[at:at + n]
        at += n
    return start, size, before, body + struct.pack("<IHH", ROUND, 0, 8), places


def repeated(file, body, places, times):
    first, last = (f(struct.unpack_from("<Q", body, place)[0] for place in places) for f in (min, max))
    for _ in range(times):
        file.write(body)
        for place in places:
            struct.pack_into("<Q", body, place, struct.unpack_from("<Q", body, place)[0] + last - first + 1000)


def main():
    times, data = int(sys.argv[1]), open(sys.argv[2], "rb").read()
    with open(sys.argv[3], "wb") as file:
        if data.startswith(b"commrec"):
            head, body, places = recording(data)
            file.write(head)
            repeated(file, body, places, times)
            return
        start, size, before, body, places = perfdata(data)
        file.write(data[:start] + before)
        repeated(file, body, places, times)
        end = file.tell()
        file.write(data[start + size:])
        # What follows the samples is found by the size of these and, in its table, by where it is.
        file.seek(48)
        file.write(struct.pack("<Q", end - start))
        for i in range(sum(bin(b).count("1") for b in data[72:104])):
            at, n = struct.unpack_from("<QQ", data, start + size + 16 * i)
            file.seek(end + 16 * i)
            file.write(struct.pack("<QQ", at + end - start - size, n))


main()

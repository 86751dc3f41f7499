#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of a kernel's log that no run may have.

    splats.py LOG...

On a starved emulator RCU waits longer than it likes for whoever is slow: kmemleak's scan,
a fork.  Such a stall comes with backtraces of all who are to blame.  It is none of ours if
they were printed and no function of the module is in any trace of any of the logs.
Nor is a breakpoint instruction (int3) that a CPU took where memory holds none any more.  The kernel writes int3 where
it turns a tracepoint on or off, and takes it away when each CPU has passed; only an emulated CPU that runs an older
translation takes it later, and the kernel dies of it.  QEMU before 8.1 does so often (fetch.sh), a later one did once.
Exit status 1: there are such lines.
"""
import re
import sys

SPLAT = re.compile(r"BUG:|WARNING:|Oops|general protection|KASAN|KCSAN|UBSAN|possible recursive|INFO: task"
                   r"|rcu.*stall|: [0-9a-f]{4} \[#\d+\]|Kernel panic|lockdep|INFO: trying|sleeping function|unreferenced object|refcount_t")
HARMLESS = re.compile(r"perf: interrupt took too long")
STALL = re.compile(r"rcu.*stall")
TRACE = re.compile(r"Call Trace:|task:\S+ +state:")
INT3 = re.compile(r"int3: 0000 \[#1\]")
CODE = re.compile(r"Code: .*\b([0-9a-f]{2}) <[0-9a-f]{2}>")
PANIC = re.compile(r"Kernel panic")
OURS = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(commprof|standin)")


def stale_int3(lines):
    """Whether the kernel died of an int3 that is not in memory; its code is printed with the byte at RIP in brackets."""
    at = next((i for i, line in enumerate(lines) if INT3.search(line)), None)
    code = at is not None and next((found for found in map(CODE.search, lines[at:]) if found), None)
    return bool(code) and code.group(1) != "cc"


def splats(logs):
    """The lines of several logs of one run, and those that are not ours."""
    lines = [line.rstrip() for log in logs for line in log.splitlines()]
    found = [line for line in lines if SPLAT.search(line) and not HARMLESS.search(line)]
    if stale_int3(lines):
        died = [line for line in found if INT3.search(line) or PANIC.search(line)]
        return [line for line in found if line not in died], died
    stalls = [line for line in found if STALL.search(line)]
    ours = any(OURS.search(line) for line in lines)
    for log in logs:
        said = log.splitlines()
        last = max((i for i, line in enumerate(said) if STALL.search(line)), default=len(said))
        ours |= last < len(said) and not any(TRACE.search(line) for line in said[last:])
    if ours:
        return found, []
    return [line for line in found if line not in stalls], stalls


def main(paths):
    logs = []
    for path in paths:
        try:
            with open(path, errors="replace") as file:
                logs.append(file.read())
        except OSError:
            pass
    found, others = splats(logs)
    for line in found:
        print(line)
    for line in others:
        print(f"not ours: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

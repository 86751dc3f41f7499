#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds an emulator that executes a breakpoint which is not there any more.

    stuck.py MONITOR CONSOLE

The kernel changes its code while it runs: a breakpoint takes the place of an
instruction's first byte until the rest is written.  qemu before 8.1 may keep the
translation of that moment (it reads the code before it watches the page).  With
kprobes in the kernel its CPU then traps for ever: the handler finds no breakpoint
in memory and goes back.  For run.sh, beside qemu: when the console has been silent
for a while, it asks the monitor; if a CPU does not get away from a frame behind
the first byte of an instruction that gets changed, it says so on the console and
ends the VM.
"""
import os
import re
import socket
import sys
import time

SILENT_S = 45
FRAME_WORDS = 160
KERNEL_CS = 0x10
KERNEL_TEXT = range(0xFFFFFFFF80000000, 0xFFFFFFFFC0000000)
# The first bytes of what gets changed: jumps, calls, the nops for them.
CHANGED = {0x0F, 0x66, 0xE8, 0xE9, 0xEB}
LOOKS = 5


class Monitor:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(20)
        self.answer()

    def answer(self):
        text = b""
        while not text.endswith(b"(qemu) "):
            more = self.socket.recv(1 << 16)
            if not more:
                raise EOFError
            text += more
        return text.decode(errors="replace")

    def ask(self, line):
        self.socket.sendall(line.encode() + b"\n")
        return self.answer()


def numbers(text):
    """Of the monitor's dumps of memory: what stands behind "address: "."""
    return [int(n, 16) for line in text.splitlines() if re.match(r"[0-9a-f]{16}: 0x", line)
            for n in line.split()[1:]]


def innermost_frame(words, at):
    """(its address, instruction pointer) of the first frame of an exception in
    the kernel from address at on, or None."""
    for i in range(len(words) - 3):
        ip, cs, sp = words[i], words[i + 1], words[i + 3]
        if ip in KERNEL_TEXT and cs == KERNEL_CS and at + 8 * i < sp < at + (1 << 14):
            return at + 8 * i, ip
    return None


def traps(monitor):
    """The frames of all CPUs that a breakpoint would have made."""
    found = set()
    registers = monitor.ask("info registers -a").split("CPU#")[1:]
    for cpu, text in enumerate(registers):
        said = [re.search(name + r"=([0-9a-f]+)", text) for name in ("RIP", "RSP")]
        if None in said:
            continue # an answer cut short, or of a CPU that is away
        rip, rsp = (int(match[1], 16) for match in said)
        if rip not in KERNEL_TEXT or "HLT=1" in text:
            continue
        monitor.ask(f"cpu {cpu}")
        frame = innermost_frame(numbers(monitor.ask(f"x /{FRAME_WORDS}xg {rsp:#x}")), rsp)
        if frame and numbers(monitor.ask(f"x /1xb {frame[1] - 1:#x}"))[:1] in [[b] for b in CHANGED]:
            found.add((cpu, *frame))
    return found


def stuck(monitor, pause_s=0.5):
    """(CPU, frame, instruction pointer) of one that is, or None."""
    same = traps(monitor)
    for _ in range(LOOKS - 1):
        if not same:
            return None
        time.sleep(pause_s)
        same &= traps(monitor)
    return min(same, default=None)


def main(path, console):
    size, since = -1, time.monotonic()
    while not os.path.exists(path):
        time.sleep(0.1)
    monitor = Monitor(path)
    while True:
        time.sleep(5)
        monitor.ask("info status")
        now = os.path.getsize(console) if os.path.exists(console) else -1
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > SILENT_S:
            found = stuck(monitor)
            if found:
                with open(console, "a") as out:
                    out.write("emulator: CPU %d traps for ever at %#x, where no breakpoint is\n" %
                              (found[0], found[2] - 1))
                monitor.ask("quit")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (EOFError, OSError):
        pass # the VM has ended

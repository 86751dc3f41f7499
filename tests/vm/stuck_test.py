#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stuck.py, given what a monitor said of Debian's 6.1 in that state."""
import unittest

import stuck

FRAME = 0xFFFFC900003DBC48
# The end of a frame of do_int3() in __schedule(), at a jump that was a nop.
STACK = {FRAME - 8: 0xFFFFFFFFFFFFFFFF, FRAME: 0xFFFFFFFF81A10CAD, FRAME + 8: 0x10, FRAME + 16: 0x82,
         FRAME + 24: 0xFFFFC900003DBCA0, FRAME + 32: 0x18}


class Recorded:
    """One CPU is halted, the other runs the handler."""

    def __init__(self, first_byte, sp=FRAME - 0x88):
        self.first_byte = first_byte
        self.sp = sp

    def ask(self, line):
        if line == "info registers -a":
            return ("CPU#0\r\nRSP=ffffffff82a03e48\r\nRIP=ffffffff81a1eb0e CPL=0 HLT=1\r\n"
                    f"CPU#1\r\nRSP={self.sp:x}\r\nRIP=ffffffff81a04ff0 CPL=0 HLT=0\r\n(qemu) ")
        if line == "x /1xb 0xffffffff81a10cac":
            return f"ffffffff81a10cac: {self.first_byte:#04x}\r\n(qemu) "
        if line.startswith("x /160xg "):
            at = int(line.split()[2], 16)
            return line + "".join(f"\r\n{a:x}: {STACK.get(a, 0):#018x} {STACK.get(a + 8, 0):#018x}"
                                  for a in range(at, at + 160 * 8, 16)) + \
                "\r\nffffc900003dc000: Cannot access memory\r\n(qemu) "
        assert line == "cpu 1", line
        return "(qemu) "


class StuckTest(unittest.TestCase):
    def test_found(self):
        self.assertEqual(stuck.stuck(Recorded(0xE9), 0), (1, FRAME, 0xFFFFFFFF81A10CAD))

    def test_a_breakpoint_is_there(self):
        self.assertIsNone(stuck.stuck(Recorded(0xCC), 0))

    def test_another_interrupt(self):
        self.assertIsNone(stuck.stuck(Recorded(0x00), 0))

    def test_no_frame(self):
        self.assertIsNone(stuck.stuck(Recorded(0xE9, FRAME + 16), 0))

    def test_it_goes_on(self):
        class Moves(Recorded):
            def ask(self, line):
                if line == "info registers -a":
                    self.first_byte ^= 0xE9
                return super().ask(line)

        self.assertIsNone(stuck.stuck(Moves(0), 0))

    def test_an_answer_cut_short(self):
        class Short(Recorded):
            def ask(self, line):
                return "CPU#0\r\nRSP=ffffffff82a0(qemu) " if line == "info registers -a" else super().ask(line)

        self.assertIsNone(stuck.stuck(Short(0xE9), 0))


if __name__ == "__main__":
    unittest.main()

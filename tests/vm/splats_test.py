#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""splats.py, given logs with stalls and without."""
import unittest

import splats

STALL = "[  971.1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"
TRACE = ["[  971.2] task:kmemleak        state:R  running task     stack:0     pid:40    ppid:2",
         "[  971.2] Call Trace:", "[  971.2]  <TASK>", "[  971.2]  scan_block+0x9b/0x210", "[  971.2]  </TASK>"]
OURS = "[  971.3]  cp_watch_trap+0x513/0x590 [commprof]"

INT3 = "[  637.62] int3: 0000 [#1] PREEMPT SMP NOPTI"
PANIC = "[  637.64] Kernel panic - not syncing: Fatal exception in interrupt"


def code(byte):
    return f"[  637.63] Code: af b7 6a {byte} <1f> 44 00 00 4c"


def log(*lines):
    return "\n".join(["[    1.0] Linux version 6.1", *lines, "[  980.0] smpboot: CPU 1 is now offline"])


class SplatsTest(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(splats.splats([log(), log("perf: interrupt took too long (3 > 2) WARNING:")]), ([], []))

    def test_a_stall_of_others(self):
        self.assertEqual(splats.splats([log(STALL, *TRACE), log()]), ([], [STALL]))

    def test_our_function_in_its_trace(self):
        self.assertEqual(splats.splats([log(STALL, *TRACE, OURS)]), ([STALL], []))

    def test_our_function_in_another_log(self):
        self.assertEqual(splats.splats([log(STALL, *TRACE), log(OURS)]), ([STALL], []))

    def test_no_trace_at_all(self):
        self.assertEqual(splats.splats([log(STALL)]), ([STALL], []))
        self.assertEqual(splats.splats([log(*TRACE, STALL)]), ([STALL], []))

    def test_another_splat_beside(self):
        bug = "[  971.5] BUG: KASAN: use-after-free in schedule+0x1/0x2"
        self.assertEqual(splats.splats([log(STALL, *TRACE, bug)]), ([bug], [STALL]))

    def test_our_task_hangs(self):
        hung = "[  971.5] INFO: task cptest:205 blocked for more than 120 seconds."
        self.assertEqual(splats.splats([log(hung)]), ([hung], []))

    def test_code_that_is_no_more(self):
        self.assertEqual(splats.splats([log(INT3, code("0f"), PANIC), log()]), ([], [INT3, PANIC]))

    def test_a_breakpoint_in_the_code(self):
        self.assertEqual(splats.splats([log(INT3, code("cc"), PANIC)]), ([INT3, PANIC], []))
        self.assertEqual(splats.splats([log(INT3, PANIC)]), ([INT3, PANIC], []))

    def test_how_else_a_kernel_dies(self):
        for died in ("[  1.5] divide error: 0000 [#1] PREEMPT SMP", PANIC):
            self.assertEqual(splats.splats([log(died, code("0f"))]), ([died], []))

    def test_code_that_is_no_more_excuses_nothing_else(self):
        bug = "[  971.5] BUG: unable to handle page fault"
        self.assertEqual(splats.splats([log(bug, INT3, code("0f"))]), ([bug], [INT3]))


if __name__ == "__main__":
    unittest.main()

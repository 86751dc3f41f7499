#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ktap.py: what is a report, what is not, and what was promised; and that nest.sh
and tests/run.sh speak the same language."""
import os
import subprocess
import tempfile
import unittest

import ktap

HERE = os.path.dirname(os.path.abspath(__file__))

GOOD = """KTAP version 1
1..2
# 3.1 s: watch
    KTAP version 1
    # Subtest: watch
    1..2
    ok 1 watch: the known next writer # 176 hits, 0 wrong
    ok 2 watch: rate # SKIP no clock
ok 1 watch
    KTAP version 1
    1..1
    not ok 1 rate: every error # -2
not ok 2 rate
"""


def faults(text):
    return list(ktap.parse(text).all_faults())


class Reports(unittest.TestCase):
    def test_a_good_one(self):
        report = ktap.parse(GOOD)
        self.assertEqual(faults(GOOD), [])
        self.assertEqual([(t.name, t.ok, t.skipped) for t in report.leaves()],
                         [("watch: the known next writer", True, False), ("watch: rate", True, True),
                          ("rate: every error", False, False)])
        self.assertEqual(next(report.leaves()).text, "176 hits, 0 wrong")

    def test_each_line_that_is_missing(self):
        lines = GOOD.splitlines()
        for i, line in enumerate(lines):
            if line.lstrip().startswith("#"):
                continue
            self.assertTrue(faults("\n".join(lines[:i] + lines[i + 1:])), f"without line {i}: {line}")

    def test_each_place_where_it_ends(self):
        lines = GOOD.splitlines()
        for i in range(len(lines)):
            self.assertTrue(faults("\n".join(lines[:i])), f"the first {i} lines")

    def test_malformed(self):
        for old, new in (("1..2\n#", "1..3\n#"), ("1..2\n#", "1..x\n#"), ("    1..1", "    1..0"),
                         ("ok 2 watch: rate", "ok 3 watch: rate"), ("not ok 2 rate", "ok 2 rate"),
                         ("ok 1 watch\n", "ok watch\n"), ("ok 1 watch\n", "Oops: 0002\n"),
                         ("1..2\n#", "1..2\n1..2\n#")):
            self.assertTrue(faults(GOOD.replace(old, new, 1)), f"{old} -> {new}")


class Promises(unittest.TestCase):
    EXPECTED = """# comment
[always]
load: module
[watch]
watch: the known next writer
6.1: watch: only there
[soak?]
soak: went on
[leaks]
leaks: none
"""

    def absent(self, kernel, parts, *tests):
        return list(ktap.missing(self.EXPECTED, kernel, parts, tests))

    def test_all_of_a_kernel(self):
        self.assertEqual(self.absent("6.12", []), ["load: module", "watch: the known next writer", "leaks: none"])
        self.assertIn("watch: only there", self.absent("6.1", []))

    def test_parts(self):
        self.assertEqual(self.absent("6.12", ["leaks"]), ["load: module", "leaks: none"])
        self.assertEqual(self.absent("6.12", ["soak"]), ["load: module", "soak: went on"])

    def test_what_came(self):
        self.assertEqual(self.absent("6.12", ["watch"], ktap.Test(True, "load: module"),
                                     ktap.Test(False, "watch: the known next writer")), [])

    def test_a_group_that_is_skipped(self):
        self.assertEqual(self.absent("6.12", ["leaks"], ktap.Test(True, "load: module"),
                                     ktap.Test(True, "leaks", "SKIP")), [])
        self.assertEqual(self.absent("6.12", ["leaks"], ktap.Test(True, "load: module"),
                                     ktap.Test(True, "leaks")), ["leaks: none"])


class Others(unittest.TestCase):
    def nest(self, lines):
        return subprocess.run([f"{HERE}/nest.sh", "watch", "1"],
                              input=lines, capture_output=True, text=True, check=True).stdout

    def test_nest(self):
        for lines, ok, n in (("ok a: b # 1\nskip c # why\nnoise\n", True, 2), ("ok a\nnot ok b # 2\n", False, 2),
                             ("", False, 0), ("skip a # why\n", True, 1)):
            text = "KTAP version 1\n1..1\n" + self.nest(lines)
            report = ktap.parse(text)
            self.assertEqual(list(report.all_faults()), [], text)
            self.assertEqual((report.tests[0].ok, len(report.tests[0].inner.tests)), (ok, n), text)

    def run_sh(self, text, status=0):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            with open(program, "w") as file:
                file.write(f"#!/bin/sh\ncat <<'EOF'\n{text}EOF\nexit {status}\n")
            os.chmod(program, 0o755)
            done = subprocess.run([f"{HERE}/../run.sh", os.path.join(folder, "logs"), program],
                                  capture_output=True, text=True, check=False)
            return done.stdout.splitlines()[-1], done.returncode

    def test_run_sh_counts_the_innermost(self):
        self.assertEqual(self.run_sh(GOOD, 1), ("1 passed, 1 failed, 1 skipped", 1))
        good = GOOD.replace("not ok", "ok")
        self.assertEqual(self.run_sh(good), ("2 passed, 0 failed, 1 skipped", 0))

    def test_run_sh_wants_the_plan(self):
        good = GOOD.replace("not ok", "ok")
        for old, new in (("1..2\n#", "#"), ("1..2\n#", "1..3\n#"), ("ok 2 rate\n", "")):
            self.assertEqual(self.run_sh(good.replace(old, new, 1))[1], 1, f"{old} -> {new}")


if __name__ == "__main__":
    unittest.main()

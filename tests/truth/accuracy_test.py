#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""accuracy_report.py and programs.py on rows whose sums are known."""
import math
import os
import sqlite3
import tempfile
import unittest
import xml.dom.minidom
import zlib
from unittest import mock

import accuracy_report as report
import held_out
import more_programs
import programs


def row(kernel, repeat, **more):
    ret = dict.fromkeys(report.HEAD + report.NUMBERS + ["repeat"], "")
    ret.update(kernel=kernel, threads="4", budget="1", seconds="4.0", repeat=str(repeat),
               estimator="hazard", reads="all", edges="0")
    ret.update({k: str(v) for k, v in more.items()})
    return ret


ROWS = [row("ring", i, error=e, log2=-1, recall=1, coverage=c, edges=n, overhead=0.9,
            false_reads=0)
        for i, (e, c, n) in enumerate(((0.5, 1, 2), (0.1, 0.5, 6), (0.2, 0, 2)))]
ROWS += [row("hash", 0, error=0.4, log2=3, recall=0.5, coverage=0, edges=10, false_reads=0.3),
         row("private", 0, false_reads=0.02, overhead=0.9)]

SERVICES = [dict(service="redis", by="role", estimator="hazard", budget="1", bursts="90 80",
                 stated_rows="2 2", stated_common="1", stated_of="2", stated_l1="0.5", first_s="9",
                 all_rows="3 0", all_common="0", all_of="0", all_l1="")]


class AccuracyTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def test_medians(self):
        ring = report.medians(ROWS)[0]
        self.assertEqual((ring["kernel"], ring["error"], ring["repeats"]), ("ring", 0.2, 3))
        self.assertEqual(ring["edges"], 10)
        # Two of two, three of six and none of two held the truth.
        self.assertAlmostEqual(ring["coverage"], 0.5)

    def test_summary_is_of_kernels_that_communicate(self):
        s = report.summary(report.medians(ROWS))
        self.assertEqual((s["kernels"], s["worst_kernel"]), (2, "hash"))
        self.assertAlmostEqual(s["error"], 0.3)
        self.assertAlmostEqual(s["log2"], 2)
        self.assertAlmostEqual(s["recall"], 0.75)
        self.assertAlmostEqual(s["coverage"], 5 / 20)
        self.assertIsNone(report.summary([]))

    def test_halves(self):
        med = report.medians(ROWS)
        with mock.patch.object(report, "fitted", lambda: {"ring"}):
            halves = {name: {r["kernel"] for r in rows}
                      for name, rows in report.halves_of(med, "hazard")}
            text = "\n".join(report.wanted_rows(med, "hazard"))
        self.assertEqual(halves, {"all": {"ring", "hash", "private"}, "fit": {"ring"},
                                  "held out": {"hash", "private"}})
        self.assertIn("kernels not fitted to | 0.87 to 0.93 | 0.00 |", text)

    def test_false_reads_are_of_kernels_that_do_not(self):
        self.assertEqual(report.false_reads(report.medians(ROWS)), 0.02)

    def test_documents(self):
        med = report.medians(ROWS)
        text = report.document(ROWS, [], SERVICES, "hazard", "today")
        self.assertIn("| mean normalised matrix error at 1 % | 0.15 | 0.300 |", text)
        self.assertIn("| private | false 0.02 |", text)
        self.assertIn("| redis | role | hazard | 1 % | 90 80 | 2 2 | 1 of 2 | 0.5 | 9 | 3 0 | - | - |",
                      text)
        svg = xml.dom.minidom.parseString(report.picture(med, "hazard"))
        texts = [t.firstChild.data for t in svg.getElementsByTagName("text")]
        self.assertIn("0.40", texts)
        self.assertNotIn("private", texts)

    def store(self, name, edges, unwritten=0):
        """Edges: (src thread, dst thread, src site, dst site, bytes); thread 1 is main."""
        path = os.path.join(self.dir.name, name)
        con = sqlite3.connect(path)
        con.executescript("""
            CREATE TABLE run(event);
            INSERT INTO run VALUES ('every access');
            CREATE TABLE thread(id, tgid, tid, name, role);
            CREATE TABLE function(id, name, module);
            CREATE TABLE site(id, function);
            CREATE TABLE slice(id, level, unwritten_bytes);
            CREATE TABLE context(id, site);
            CREATE TABLE edge(slice, src_thread, dst_thread, src_context, dst_context, bytes);
            INSERT INTO thread VALUES (1, 7, 7, 'x', 'x'), (2, 7, 8, 'x', 'x'),
                (3, 7, 9, 'y-2', 'y');
            INSERT INTO function VALUES (1, 'put', '/x'), (2, '_dl_fixup', '/ld-linux-x86-64.so.2'),
                (3, '__memcpy_evex_unaligned_erms', '/libc'), (4, 'libz.so.1+0x12', '/lib/libz.so.1');
            INSERT INTO site SELECT 10 + id, id FROM function;
            INSERT INTO context SELECT id, 10 + id FROM function;
            INSERT INTO slice VALUES (1, 0, 0), (2, 1, 0);
            """)
        con.execute("UPDATE slice SET unwritten_bytes = ? WHERE id = 1", (unwritten,))
        con.executemany("INSERT INTO edge VALUES (1, ?, ?, ?, ?, ?)", edges)
        # Rolled up: the same once more.
        con.executemany("INSERT INTO edge VALUES (2, ?, ?, ?, ?, ?)", edges)
        con.commit()
        con.close()
        return path

    def test_names(self):
        for name, module, want in (("[kernel]", "", "[kernel]"), ("[libz.so]", "/a/libz.so", "[libz.so]"),
                                   ("libz.so+0x12", "libz.so", "[libz.so]"), ("0x12", "x", "[x]"),
                                   ("read@@GLIBC_2.2.5", "libc", "read"), ("f", "libz.so", "f"),
                                   ("__memmove_avx_unaligned_erms", "libc", "memcpy")):
            self.assertEqual(programs.function_name(name, module), want)

    def test_programs(self):
        exact = programs.read_store(self.store("e", [
            (1, 2, 1, 3, 30), (1, 3, 1, 3, 30), (2, 3, 1, 4, 40), (2, 2, 1, 1, 99),
            (1, 2, 2, 1, 1000)], 1))
        self.assertEqual(exact["role"], {("main", "worker"): 60, ("worker", "worker"): 40})
        self.assertEqual(exact["function"], {("put", "memcpy"): 60, ("put", "[libz.so.1]"): 40})
        self.assertEqual(exact["all_roles"], {("main", "worker"): 1060, ("worker", "worker"): 40})
        self.assertEqual(exact["named"], {"x (main)": "main", "x": "worker", "y": "worker"})
        self.assertEqual((exact["reads"], exact["crossing"]), (1200, 100))
        same = programs.read_store(self.store("s", [(1, 3, 1, 3, 6), (3, 2, 1, 4, 4)]))
        for by in programs.BY:
            self.assertAlmostEqual(programs.score(same, exact, by)["error"], 0)
        self.assertAlmostEqual(programs.score(same, exact, "role")["true_crossing"], 1 / 12)
        # Own reads: 99 of 1200 here, none there.
        self.assertEqual(programs.score(same, exact, "role")["own"], 0)
        self.assertAlmostEqual(programs.score(same, exact, "role")["log2"], math.log2(12))
        none = programs.read_store(self.store("n", []))
        self.assertEqual(programs.score(none, exact, "role")["error"], 2)
        self.assertIsNone(programs.score(same, none, "role")["error"])

    def test_guesses(self):
        # Three threads read, the third of them hardly.
        exact = programs.read_store(self.store("g", [
            (1, 1, 1, 1, 500), (1, 2, 1, 3, 300), (2, 2, 1, 1, 200), (2, 3, 1, 4, 1)]))
        guess = programs.guesses(exact)
        self.assertEqual(guess["uniform"]["role"], {("main", "worker"): 1, ("worker", "main"): 1})
        uniform = programs.score(guess["uniform"], exact, "role")
        self.assertAlmostEqual(uniform["crossing"], 0.5)
        self.assertAlmostEqual(uniform["error"], 0.5 + (300 / 301 - 0.5) + 1 / 301)
        nothing = programs.score(guess["self"], exact, "role")
        self.assertEqual((nothing["error"], nothing["crossing"], nothing["log2"]), (2, 0, None))
        self.assertAlmostEqual(nothing["own"], 1001 / 700)

    def test_commands_have_a_smaller_one_for_the_exact_run(self):
        with mock.patch.multiple(programs, genome=lambda *_: None, video=lambda path, _: path,
                                 text_file=lambda path, _: path), \
             mock.patch.multiple(held_out, packed=lambda _, path: path, picture=lambda path, _: path,
                                 indexed=lambda *command: command[-1], sequences=lambda path, *_: path), \
             mock.patch.multiple(more_programs, tree=lambda path, _: path, aligned=lambda path, *_: path,
                                 database=lambda path, *_: path):
            sets = [m.commands(self.dir.name) for m in (programs, held_out, more_programs)]
        self.assertGreaterEqual(min(len(s) for s in sets), 11)
        self.assertEqual(len(set().union(*sets)), sum(len(s) for s in sets))
        for command, less in [c for s in sets for c in s.values()]:
            self.assertEqual(command[0], less[0])
            self.assertNotEqual(command, less)

    def test_a_made_picture_is_a_png(self):
        path = held_out.picture(os.path.join(self.dir.name, "p.png"), 40)
        with open(path, "rb") as f:
            data = f.read()
        at = data.index(b"IDAT")
        body = zlib.decompress(data[at + 4:at + 4 + int.from_bytes(data[at - 4:at], "big")])
        self.assertEqual((len(body), set(body[::121])), (40 * 121, {0}))


if __name__ == "__main__":
    unittest.main()

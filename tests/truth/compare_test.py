#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""compare.py against matrices whose distance is known."""
import contextlib
import io
import json
import os
import tempfile
import unittest

import compare

HEAD = ("# kernel=ring threads=3 words=8 compute=0\n# start_ns=1000000000 end_ns=3000000000\n"
        "# total_read_bytes=%d\nsrc_tid,dst_tid,bytes,first_bytes\n")


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def truth(self, rows, total=1000, name="truth.csv"):
        with open(self.path(name), "w") as f:
            f.write(HEAD % total)
            for row in rows:
                f.write("%d,%d,%d,%d\n" % row)
        return self.path(name)

    def report(self, edges, end_ns=3000000000, nodes=None):
        tids = sorted({t for e in edges for t in e[:2]})
        number = {tid: i + 1 for i, tid in enumerate(tids)}
        report = {
            "run": {"id": 1, "source": "perf", "start_ns": 1000000000, "end_ns": end_ns,
                    "overhead_pct": 0.9},
            "nodes": nodes or [{"id": number[t], "kind": "thread", "name": "t%d" % t, "tid": t}
                               for t in tids],
            "edges": [{"from": number[e[0]], "to": number[e[1]], "bytes": e[2],
                       "low": e[3] if len(e) > 3 else e[2], "high": e[4] if len(e) > 4 else e[2],
                       "samples": 9, "resolved": e[5] if len(e) > 5 else True} for e in edges],
            "loss": {},
        }
        with open(self.path("report.json"), "w") as f:
            json.dump(report, f)
        return self.path("report.json")

    def compare(self, edges, rows, total=1000, **more):
        truth, head = compare.read_truth([self.truth(rows, total)])
        return compare.compare(*compare.read_report(self.report(edges, **more)), truth, head)

    def test_perfect(self):
        r = self.compare([(11, 12, 300.0), (12, 13, 100.0), (11, 11, 7.0)],
                         [(11, 12, 300, 300), (12, 13, 100, 50), (13, 13, 900, 0)])
        self.assertAlmostEqual(r["error"], 0)
        self.assertAlmostEqual(r["log2"], 0)
        self.assertEqual(r["recall"], 1)
        self.assertEqual(r["false_est"], 0)
        self.assertEqual(r["coverage"], 1)
        self.assertEqual(r["overhead"], 0.9)

    def test_scale_does_not_matter_to_the_error(self):
        r = self.compare([(11, 12, 1200.0), (12, 13, 400.0)],
                         [(11, 12, 300, 300), (12, 13, 100, 50)])
        self.assertAlmostEqual(r["error"], 0)
        self.assertAlmostEqual(r["log2"], 2)
        self.assertEqual(r["coverage"], 0)
        self.assertEqual(r["cover_share"], 1)

    def test_wrong_shares(self):
        # true 3/4, 1/4; estimated 1/2, 1/2
        r = self.compare([(11, 12, 200.0), (12, 13, 200.0)],
                         [(11, 12, 300, 300), (12, 13, 100, 50)])
        self.assertAlmostEqual(r["error"], 0.5)

    def test_disjoint_and_backwards(self):
        r = self.compare([(12, 11, 100.0)], [(11, 12, 100, 100)])
        self.assertAlmostEqual(r["error"], 2)
        self.assertEqual(r["recall"], 0)
        self.assertEqual(r["false_est"], 1)
        self.assertAlmostEqual(r["false_reads"], 0.1)

    def test_nothing_estimated(self):
        r = self.compare([], [(11, 12, 100, 100)])
        self.assertEqual((r["error"], r["recall"], r["log2"]), (2, 0, None))

    def test_no_communication(self):
        r = self.compare([(11, 12, 10.0)], [(11, 11, 900, 900)])
        self.assertIsNone(r["error"])
        self.assertAlmostEqual(r["false_reads"], 0.01)

    def test_what_barriers_exchange_is_neither_data_nor_false(self):
        truth = {(11, 12): 300, (12, 11): 8, (12, 12): 500}
        sync = {(11, 12): 8, (12, 11): 8}
        head = {"total_read_bytes": "1000"}
        edges = {(11, 12): (300.0, 0, 0, True), (12, 11): (28.0, 0, 0, True)}
        r = compare.compare(edges, {}, truth, head, sync)
        self.assertAlmostEqual(r["false_reads"], 0.02)
        self.assertAlmostEqual(r["false_est"], 20 / 328)
        self.assertAlmostEqual(r["error"], 2 * (28 / 328 - 8 / 308))
        r = compare.compare({(12, 11): (6.0, 0, 0, True)}, {}, truth, head, sync)
        self.assertEqual(r["false_reads"], 0)

    def test_barriers_alone_are_no_communication(self):
        truth = {(11, 12): 8, (12, 12): 992}
        r = compare.compare({(11, 12): (18.0, 0, 0, True)}, {}, truth,
                            {"total_read_bytes": "1000"}, {(11, 12): 8})
        self.assertIsNone(r["error"])
        self.assertAlmostEqual(r["false_reads"], 0.01)

    def test_time_is_taken_into_account(self):
        # The run saw one of the two seconds, so half the bytes are right.
        r = self.compare([(11, 12, 150.0, 100.0, 200.0)], [(11, 12, 300, 300)],
                         end_ns=2000000000)
        self.assertAlmostEqual(r["log2"], 0)
        self.assertEqual(r["coverage"], 1)

    def test_recall_stops_at_ninety_percent(self):
        rows = [(1, 2, 500, 0), (2, 3, 450, 0), (3, 4, 25, 0), (4, 5, 25, 0)]
        r = self.compare([(1, 2, 10.0), (4, 5, 9.0), (2, 3, 1.0)], rows)
        self.assertEqual(r["recall"], 0.5)

    def test_recall_of_equal_edges(self):
        rows = [(i, i + 1, 200 + (i <= 16), 0) for i in range(1, 21)]
        r = self.compare([(i, i + 1, 100.0) for i in range(5, 21)], rows)
        self.assertEqual(r["recall"], 1)

    def test_unresolved_edges_are_not_held_against_the_intervals(self):
        r = self.compare([(11, 12, 300.0, 290.0, 310.0), (12, 13, 5.0, 5.0, 5.0, False)],
                         [(11, 12, 300, 300), (12, 13, 100, 50)])
        self.assertEqual(r["coverage"], 1)

    def test_a_node_without_thread_is_false(self):
        nodes = [{"id": 1, "kind": "other", "name": "(other)"},
                 {"id": 2, "kind": "thread", "name": "x", "tid": 12}]
        r = self.compare([(11, 12, 100.0)], [(11, 12, 100, 100)], nodes=nodes)
        self.assertEqual(r["false_est"], 1)

    def same(self, true, *traced):
        with tempfile.TemporaryDirectory(dir=self.dir.name) as d:
            os.rename(self.truth(true), os.path.join(d, "truth.csv"))
            for i, rows in enumerate(traced):
                os.rename(self.truth(rows), os.path.join(d, "x.%d.threads.csv" % i))
            with contextlib.redirect_stdout(io.StringIO()):
                return compare.same([d])

    def test_baselines(self):
        guess = compare.baselines({(1, 2): 30, (2, 1): 30, (1, 1): 99})
        self.assertAlmostEqual(guess["uniform"]["error"], 0)
        self.assertEqual(guess["self"]["error"], 2)
        # Of six pairs one has all.
        guess = compare.baselines({(1, 2): 60, (3, 3): 5})
        self.assertAlmostEqual(guess["uniform"]["error"], 2 * 5 / 6)
        self.assertIsNone(compare.baselines({(1, 1): 5})["uniform"]["error"])

    def test_same(self):
        self.assertEqual(self.same([(1, 2, 8, 8), (2, 2, 5, 5)], [(1, 2, 8, 8)]), 0)
        self.assertEqual(self.same([(1, 2, 8, 8), (2, 1, 5, 5)], [(1, 2, 8, 8)],
                                   [(2, 1, 5, 5)]), 0)
        self.assertEqual(self.same([(1, 2, 8, 8)], [(1, 2, 8, 0)]), 1)
        self.assertEqual(self.same([(1, 2, 8, 8)], [(1, 2, 8, 8), (3, 2, 8, 8)]), 1)
        self.assertEqual(self.same([(1, 2, 8, 8), (3, 2, 8, 8)], [(1, 2, 8, 8)]), 1)
        self.assertEqual(self.same([(2, 2, 8, 8)]), 1)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""accuracy_report.py and programs.py on rows whose sums are known."""
import json
import os
import tempfile
import unittest
import xml.dom.minidom

import accuracy_report as report
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


class AccuracyTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def write(self, name, report_):
        path = os.path.join(self.dir.name, name)
        with open(path, "w") as f:
            json.dump(report_, f)
        return path

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

    def test_false_reads_are_of_kernels_that_do_not(self):
        self.assertEqual(report.false_reads(report.medians(ROWS)), 0.02)

    def test_documents(self):
        med = report.medians(ROWS)
        text = report.document(med, [], "hazard", "today")
        self.assertIn("| mean normalised matrix error at 1 % | 0.15 | 0.300 |", text)
        self.assertIn("| private | false 0.02 |", text)
        svg = xml.dom.minidom.parseString(report.picture(med, "hazard"))
        texts = [t.firstChild.data for t in svg.getElementsByTagName("text")]
        self.assertIn("0.40", texts)
        self.assertNotIn("private", texts)

    def test_roles(self):
        nodes = [{"id": "a", "name": "x", "tgid": 7, "tid": 7},
                 {"id": "b", "name": "x", "tgid": 7, "tid": 8},
                 {"id": "c", "name": "x", "tgid": 7, "tid": 9}]
        exact = self.write("e", {"nodes": nodes, "run": {}, "edges": [
            {"from": "a", "to": "b", "bytes": 30}, {"from": "a", "to": "c", "bytes": 30},
            {"from": "b", "to": "c", "bytes": 40}, {"from": "b", "to": "b", "bytes": 99}]})
        same = self.write("s", {"nodes": nodes, "run": {}, "edges": [
            {"from": "a", "to": "c", "bytes": 6}, {"from": "c", "to": "b", "bytes": 4}]})
        self.assertEqual(programs.edges_by(exact, "role")[0],
                         {("main", "worker"): 60, ("worker", "worker"): 40})
        self.assertAlmostEqual(programs.score(same, exact, "role")["error"], 0)
        empty = self.write("n", {"nodes": [], "run": {}, "edges": []})
        self.assertEqual(programs.score(empty, exact, "role")["error"], 2)
        self.assertIsNone(programs.score(same, empty, "role")["error"])


if __name__ == "__main__":
    unittest.main()

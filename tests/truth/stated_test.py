#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stated.py on reports and truths whose figures are known."""
import math
import unittest

import programs
import stated
from stated import Row


def report(edges, account=()):
    """edges: (from, to, bytes, share_low, share_high, resolved)."""
    names = sorted({name for e in edges for name in e[:2]})
    return {"nodes": [{"id": "f" + n, "name": n, "module": "/x", "tid": ord(n), "tgid": 97}
                      for n in names],
            "edges": [{"from": "f" + a, "to": "f" + b, "bytes": n, "share_low": low,
                       "share_high": high, "resolved": resolved, "samples": 7}
                      for a, b, n, low, high, resolved in edges],
            "account": [{"part": name, "bytes": share, "share": share, "share_low": low,
                         "share_high": high, "resolved": resolved}
                        for name, share, low, high, resolved in account]}


EDGES = [("a", "b", 60, 0.5, 0.7, True), ("b", "a", 30, 0.25, 0.35, True),
         ("c", "a", 10, 0, 1, False)]


def names(a, b):
    return a["name"], b["name"]


class StatedTest(unittest.TestCase):
    def test_what_is_no_estimator_is_shown_of_the_first_ones_store(self):
        tools = {"commd": "c", "baseline": "b"}
        flags = {est: (stated.replays(tools, est), stated.flags(est))
                 for est in ("nearest", stated.WATCHED)}
        self.assertEqual(flags, {"nearest": (["env", "COMM_BASELINE=nearest", "b"], []),
                                 "watched": (["c"], ["--fresh"])})

    def figures(self, true, edges=EDGES, bursts=None):
        return stated.figures(stated.rows(report(edges), names), true, bursts)

    def test_all_true(self):
        r = self.figures({("a", "b"): 6, ("b", "a"): 3, ("c", "a"): 1})
        self.assertEqual((r["stated"], r["precision"], r["exist"], r["cover"]), (2, 1, 1, 1))
        self.assertAlmostEqual(r["stated_share"], 0.9)
        self.assertAlmostEqual(r["within3"], 1)
        # Half of 0.2 of 0.6, half of 0.1 of 0.3.
        self.assertAlmostEqual(r["width"], 1 / 6)
        self.assertEqual(r["cover_all"], 1)
        self.assertAlmostEqual(r["width_all"], 1 / 6)

    def test_false_ones(self):
        # One is outside of its interval, and what is true of the other is not stated.
        r = self.figures({("a", "b"): 60, ("b", "a"): 2, ("d", "a"): 38})
        self.assertAlmostEqual(r["precision"], 60 / 90)
        self.assertEqual((r["exist"], r["cover"]), (1, 0.5))
        self.assertAlmostEqual(r["stated_share"], 0.62)
        self.assertAlmostEqual(r["cover_all"], 2 / 3)
        self.assertAlmostEqual(r["within3"], 0.6)
        r = self.figures({("a", "b"): 999, ("b", "a"): 1})
        self.assertEqual(r["exist"], 0.5)

    def test_rows_left_out_are_of_the_shares(self):
        # 0.6 (0.5 to 0.7) is too much of what crosses if half of that is in no row.
        true = {("a", "b"): 6, ("b", "a"): 3, ("c", "a"): 1}
        r = stated.figures(stated.rows(report(EDGES), names), true, beside=10)
        self.assertEqual((r["precision"], r["cover"]), (0, 0))
        self.assertAlmostEqual(r["stated_share"], 0.9)

    def test_an_interval_down_to_zero_does_not_make_an_edge_true(self):
        r = self.figures({("x", "y"): 1}, [("a", "b", 1, 0, 1, True)])
        self.assertEqual((r["precision"], r["exist"], r["stated_share"]), (0, 0, 0))

    def test_nothing_crosses(self):
        r = self.figures({})
        self.assertEqual((r["precision"], r["exist"], r["stated_share"]), (0, 0, None))
        r = self.figures({}, [])
        self.assertEqual((r["stated"], r["precision"], r["within3"]), (0, None, None))

    def test_rows_of_one_key(self):
        of = stated.rows(report(EDGES), lambda a, b: b["name"] if b["name"] == "a" else None)
        self.assertEqual(list(of), ["a"])
        self.assertEqual((of["a"].bytes, of["a"].high, of["a"].stated, of["a"].bursts),
                         (40, 1, True, 14))

    def test_guess_states_all(self):
        of = stated.guess({"x": 3, "y": 1})
        self.assertTrue(all(row.stated for row in of.values()))
        self.assertAlmostEqual(of["x"].high / of["x"].low, 3)
        r = stated.figures(of, {"x": 1, "y": 1})
        self.assertAlmostEqual(r["precision"], r["within3"])
        self.assertEqual(stated.figures(stated.guess({}), {"x": 1})["stated_share"], 0)

    def test_floor(self):
        equal = dict.fromkeys(range(100), 5)
        self.assertAlmostEqual(stated.floor(equal, 50) / math.sqrt(200 / (50 * math.pi)), 1, 1)
        self.assertEqual(stated.floor({"x": 5}, 50), 0)
        self.assertIsNone(stated.floor({}, 50))
        self.assertIsNone(self.figures({("a", "b"): 1})["floor"])

    def test_claims(self):
        def of(*account):
            return stated.claims(report([], account), 0.1, 0.8)
        both = [("others", 0.2, 0.15, 0.3, True), ("self", 0.7, 0.65, 0.75, True)]
        self.assertEqual(of(*both), {"claims": 2, "claims_true": 0})
        # What was not seen may have been the thread's own.
        self.assertEqual(of(*both, ("unseen", 0.1, 0, 1, False)), {"claims": 2, "claims_true": 1})
        self.assertEqual(of(("others", 0.1, 0.1, 0.1, False)), {"claims": 0, "claims_true": 0})

    def test_agreement(self):
        one = stated.rows(report(EDGES), names)
        self.assertEqual(stated.agreement(one, one)["stated_l1"], 0)
        other = {("a", "b"): Row(50, stated=True), ("z", "a"): Row(50, stated=True)}
        r = stated.agreement(one, other)
        self.assertEqual((r["stated_rows"], r["stated_common"], r["stated_of"]), ((2, 2), 1, 2))
        self.assertAlmostEqual(r["stated_l1"], 2 / 3 - 1 / 2 + 1 / 3 + 1 / 2)
        self.assertEqual((r["all_rows"], r["all_common"], r["all_of"]), ((3, 2), 1, 3))
        self.assertIsNone(stated.agreement(one, {})["stated_l1"])

    def test_functions_leave_startup_out(self):
        a, b = {"name": "_dl_fixup", "module": "/ld.so"}, {"name": "f", "module": "/x"}
        self.assertIsNone(programs.functions(a, b))
        self.assertEqual(programs.functions(b, a), ("f", "_dl_fixup"))

    def test_functions_that_an_instrumented_program_does_not_count(self):
        lib, own = {"name": "g", "module": "/l/libgomp.so.1.0.0"}, {"name": "f", "module": "/x.soon"}
        for a, b in (lib, own), (own, lib):
            self.assertIsNone(programs.functions(a, b, False))
            self.assertIsNotNone(programs.functions(a, b))
        self.assertEqual(programs.functions(own, own, False), ("f", "f"))


if __name__ == "__main__":
    unittest.main()

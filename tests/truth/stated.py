# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether what a report states is true, for accuracy.py, programs.py and services.py.

A report is what `commctl report --json` prints; the truth is {edge: bytes}
of what really crossed threads.  A row is stated where the report calls it resolved.
Shares are of what crosses, the report's and the truth's: volumes have figures of their own.

  stated       rows that are stated
  precision    of the stated bytes, those on rows whose true share lies in the row's interval
  exist        of the stated rows, those that have 1 % of the truth or more
  stated_share of the true bytes, those on stated rows
  cover        of the stated rows, those whose interval holds the true share; and
  width        half that interval as a part of the estimate, the median
  cover_all    the same two of all rows, stated or not
  width_all
  within3      were all stated to 3 to 1: of all estimated bytes, those on rows within a factor
               of sqrt(3) of the truth.  A guess, which has no intervals, has this for precision.
  floor        error that sampling alone makes: sqrt(2 k / (pi n)) for k equal edges, n bursts
  claims       shares in the account (read from another thread, from the same one) that are
               stated; and
  claims_true  how many of them hold the truth, where what was not seen may be either
"""
import json
import math
import statistics
import subprocess

FIELDS = ["stated", "precision", "exist", "stated_share", "cover", "width", "cover_all",
          "width_all", "within3", "floor", "claims", "claims_true"]
EXIST_SHARE = 0.01
RATIO = 3  # COMM_RESOLVED_RATIO: how wide a stated row's interval may be


ESTIMATOR = "hazard"
# No estimator: what watchpoints saw, which stands beside its edges.
WATCHED = "watched"
# What commd-baseline has in its place: the sampled write that is nearest in address, or the last one of the line.
# They have no intervals, so they count as stating everything.
BASELINES = ["address", "nearest"]


def flags(est):
    return ["--fresh"] if est == WATCHED else []


def replays(tools, est):
    """The command whose replays have what est says; tools has commd and baseline."""
    if est in (ESTIMATOR, WATCHED):
        return [tools["commd"]]
    return ["env", "COMM_BASELINE=" + est, tools["baseline"]]


class Row:
    """One edge of a report, or several that have one key in the truth."""

    def __init__(self, count=0.0, low=0.0, high=0.0, stated=False, bursts=0):
        self.bytes, self.low, self.high = count, low, high
        self.stated, self.bursts = stated, bursts

    def add(self, other):
        self.bytes += other.bytes
        self.low += other.low
        self.high = min(1.0, self.high + other.high)
        self.stated |= other.stated
        self.bursts += other.bursts


def report(commctl, db, *flags):
    """The report with all its rows, parsed; one without rows where there is none."""
    out = subprocess.run([commctl, "report", "--json", "--store", db, *flags],
                         capture_output=True, text=True, check=False).stdout
    return json.loads(out) if out.strip() else {"nodes": [], "edges": []}


def rows(said, key):
    """{key(from, to): Row} of a report; where key(), given two nodes, is None, it is left out."""
    nodes = {node["id"]: node for node in said["nodes"]}
    ret = {}
    for e in said["edges"]:
        k = key(nodes[e["from"]], nodes[e["to"]])
        if k is not None:
            ret.setdefault(k, Row()).add(Row(e["bytes"], e["share_low"], e["share_high"],
                                             e["resolved"], e["samples"]))
    return ret


def guess(pairs):
    """A guess {edge: weight} as rows: all stated, as wide as a stated row may be."""
    total, wide = sum(pairs.values()), math.sqrt(RATIO)
    return {k: Row(n, n / total / wide, n / total * wide, True) for k, n in pairs.items()}


def floor(true, bursts):
    """Expected sum of |error| of the shares when each of n bursts falls on one edge."""
    total = sum(true.values())
    if not total or not bursts:
        return None
    return sum(math.sqrt(2 * n / total * (1 - n / total) / (math.pi * bursts))
               for n in true.values())


def part(of, total):
    return of / total if total else None


def held(rows_of, holds):
    """How many intervals hold the truth, of all, and the median of half their width."""
    if not rows_of:
        return None, None
    n = sum(holds(k, r) for k, r in rows_of.items())
    total = sum(r.bytes for r in rows_of.values())
    widths = [(r.high - r.low) / 2 / (r.bytes / total) for r in rows_of.values() if r.bytes > 0]
    return n / len(rows_of), statistics.median(widths) if widths else None


def figures(said, true, bursts=None, beside=0.0):
    """said: {key: Row}; true: {key: bytes} of the same keys; beside: true bytes whose rows were left
    out, but which the shares of the others are of, too."""
    ret = dict.fromkeys(FIELDS)
    total, est = sum(true.values()), sum(r.bytes for r in said.values())

    def share(key):
        return true.get(key, 0) / total if total else 0.0

    def holds(key, row):
        return row.low <= share(key) * (total / (total + beside) if total else 0) <= row.high

    stated = {k: r for k, r in said.items() if r.stated}
    count = sum(r.bytes for r in stated.values())
    ret["stated"] = len(stated)
    ret["precision"] = part(sum(r.bytes for k, r in stated.items()
                                if holds(k, r) and share(k) > 0), count)
    ret["exist"] = part(sum(share(k) >= EXIST_SHARE for k in stated), len(stated))
    ret["stated_share"] = sum(share(k) for k in stated) if total else None
    ret["cover_all"], ret["width_all"] = held(said, holds)
    ret["cover"] = part(sum(holds(k, r) for k, r in stated.items()), len(stated))
    if stated:
        ret["width"] = statistics.median((r.high - r.low) / 2 * est / r.bytes
                                         for r in stated.values() if r.bytes > 0)
    ret["within3"] = part(sum(r.bytes for k, r in said.items()
                              if share(k) > 0 and
                              abs(math.log(r.bytes / est / share(k))) <= math.log(RATIO) / 2), est)
    ret["floor"] = floor(true, bursts)
    return ret


def claims(said, crossing, own):
    """What the account says of all reads, against the true parts: stated ones, true ones."""
    parts = {p["part"]: p for p in said.get("account", [])}
    unseen = sum(parts[name]["share"] for name in ("unseen", "folded") if name in parts)
    stated = right = 0
    for names, truth in ((("others",), crossing), (("self", "within"), own)):
        of = [parts[name] for name in names if name in parts and parts[name]["bytes"] > 0]
        if len(of) == 1 and of[0]["resolved"]:
            stated += 1
            right += of[0]["share_low"] <= truth <= of[0]["share_high"] + unseen
    return {"claims": stated, "claims_true": right}


def agreement(one, other, top=10):
    """Of two reports of one load, as {key: Row}: how they differ.

    common: of the top rows stated (or of all, where nothing is stated) how many are among the other's top;
    l1: sum of |difference| of the shares, 0..2, a row that the other does not state having none there.
    """
    ret = {}
    for name, want in ("stated", True), ("all", False):
        sides = [{k: r.bytes for k, r in side.items() if r.stated or not want}
                 for side in (one, other)]
        sums = [sum(side.values()) for side in sides]
        first = [set(sorted(side, key=lambda k, side=side: -side[k])[:top]) for side in sides]
        ret[name + "_rows"] = tuple(map(len, sides))
        ret[name + "_common"] = len(first[0] & first[1])
        ret[name + "_of"] = max(map(len, first))
        ret[name + "_l1"] = None
        if all(sums):
            ret[name + "_l1"] = sum(abs(sides[0].get(k, 0) / sums[0] - sides[1].get(k, 0) / sums[1])
                                    for k in set(sides[0]) | set(sides[1]))
    return ret

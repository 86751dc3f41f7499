#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How far an estimated thread matrix is from the true one.

  compare.py REPORT.json TRUTH.csv [--first] [--json]
  compare.py --same DIRECTORY...

REPORT.json is what `commctl report --json --by-thread --min-share 0 --top 0`
prints; TRUTH.csv what truth-kernels or libcomm-exact write.  Only pairs of
different threads count.  --same: in each directory truth.csv must equal the sum
of all *.threads.csv, first reads included.

  error       sum |est - true| after scaling each to one: 0 perfect, 2 disjoint,
              or nothing estimated where there was something
  log2        of estimated over true volume, per second where both say how long
  recall      of the k largest true edges (they hold 90 %, at most 16) found
              among the k largest estimated ones
  false_est   estimated bytes on pairs that exchanged nothing, of all estimated;
              of a pair that shares a barrier and no data, what exceeds the
              barrier's bytes
  false_reads the same, of all that the threads read
  coverage    resolved edges whose interval holds the true bytes
  cover_share the same after scaling the estimate to the true volume
  edges       how many were resolved
  overhead    percent, as the run itself measured it
"""
import csv
import glob
import json
import math
import os
import sys

TOP_SHARE = 0.9
TOP_MAX = 16
TIE = 0.02
FIELDS = ["error", "log2", "recall", "false_est", "false_reads", "coverage", "cover_share",
          "edges", "overhead"]


def read_truth(paths, column="bytes"):
    """{(src, dst): bytes} and the header's values."""
    edges, head = {}, {}
    for path in paths:
        with open(path, newline="") as f:
            lines = f.read().splitlines()
        for line in lines:
            if line.startswith("#"):
                for word in line[1:].split():
                    key, _, value = word.partition("=")
                    head[key] = value
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            key = int(row["src_tid"]), int(row["dst_tid"])
            # What an exact tracer writes does not tell sync_bytes apart.
            edges[key] = edges.get(key, 0) + int(row.get(column) or 0)
    return edges, head


def silent(truth, sync, key):
    """Whether no data went between two threads; barriers and locks may have."""
    return truth.get(key, 0) == sync.get(key, 0)


def off_diagonal(edges):
    return {key: value for key, value in edges.items() if key[0] != key[1] and value}


def read_report(path):
    """{(src, dst): (bytes, low, high, resolved)} and the run."""
    with open(path) as f:
        report = json.load(f)
    tid = {}
    for node in report["nodes"]:
        # "(other)" has no thread; it stays a node of its own.
        tid[node["id"]] = node.get("tid") or "node %s" % node["id"]
    edges = {}
    for e in report["edges"]:
        key = tid[e["from"]], tid[e["to"]]
        old = edges.get(key, (0, 0, 0, False))
        number = float(e["bytes"])
        edges[key] = (old[0] + number, old[1] + float(e.get("low", number)),
                      old[2] + float(e.get("high", number)),
                      old[3] or bool(e.get("resolved", True)))
    return edges, report.get("run", {})


def seconds(head):
    try:
        s = (int(head["end_ns"]) - int(head["start_ns"])) / 1e9
    except (KeyError, TypeError, ValueError):
        return None
    return s if s > 0 else None


def top(edges, k):
    return sorted(edges, key=lambda key: (-edges[key], str(key)))[:k]


def recall(est, true):
    total, held, k = sum(true.values()), 0, 0
    for value in sorted(true.values(), reverse=True):
        if held >= TOP_SHARE * total or k == TOP_MAX:
            break
        held += value
        k += 1
    # Edges that differ by no more than their barriers are equally good: whatever
    # reaches the k-th true size is right.
    least = (1 - TIE) * sorted(true.values(), reverse=True)[k - 1]
    found = sum(1 for key in top(est, k) if true.get(key, 0) >= least)
    return found / k


def compare(report, run, truth, head, sync=None):
    """sync: what part of the truth went through barriers, locks and the like."""
    true, sync = off_diagonal(truth), sync or {}
    edges = {k: v for k, v in report.items() if k[0] != k[1]}
    est = {k: v[0] for k, v in edges.items() if v[0] > 0}
    est_sum, true_sum = sum(est.values()), sum(true.values())
    est_s, true_s = seconds(run), seconds(head)
    # True bytes that fall into the time that was sampled.
    scale = est_s / true_s if est_s and true_s else 1
    ret = dict.fromkeys(FIELDS)
    ret["overhead"] = run.get("overhead_pct")
    wrong = sum(max(0, v - true.get(k, 0) * scale) for k, v in est.items()
                if silent(truth, sync, k))
    ret["false_est"] = wrong / est_sum if est_sum else 0.0
    if int(head.get("total_read_bytes", 0)):
        ret["false_reads"] = wrong / (int(head["total_read_bytes"]) * scale)
    if all(silent(truth, sync, k) for k in true):
        return ret
    if not est_sum:
        ret.update(error=2.0, recall=0.0)
        return ret
    ret["error"] = sum(abs(est.get(k, 0) / est_sum - true.get(k, 0) / true_sum)
                       for k in set(est) | set(true))
    ret["log2"] = math.log2(est_sum / (true_sum * scale))
    ret["recall"] = recall(est, true)
    resolved = {k: v for k, v in edges.items() if v[3]}
    ret["edges"] = len(resolved)
    if resolved:
        def covered(factor):
            return sum(v[1] * factor <= true.get(k, 0) * scale <= v[2] * factor
                       for k, v in resolved.items()) / len(resolved)
        ret["coverage"] = covered(1)
        ret["cover_share"] = covered(true_sum * scale / est_sum)
    return ret


def baselines(truth):
    """What is right without any measurement: errors of two guesses, as compare() names them.

    uniform: each thread reads the same from each other one; self: nothing crosses.
    """
    true = off_diagonal(truth)
    ret = {"uniform": dict.fromkeys(FIELDS), "self": dict.fromkeys(FIELDS)}
    if not true:
        return ret
    threads = sorted({thread for key in truth for thread in key})
    pairs = {(a, b): 1 for a in threads for b in threads if a != b}
    total = sum(true.values())
    ret["uniform"]["error"] = sum(abs(1 / len(pairs) - true.get(k, 0) / total) for k in pairs)
    ret["uniform"]["recall"] = recall(pairs, true)
    ret["self"].update(error=2.0, recall=0.0, false_est=0.0, false_reads=0.0)
    return ret


def same(directories):
    """0 when all have the same pairs, bytes and first bytes."""
    ret = 0
    for directory in directories:
        traced_paths = glob.glob(os.path.join(glob.escape(directory), "*.threads.csv"))
        wrong = [] if traced_paths else ["nothing was traced"]
        for column in "bytes", "first_bytes":
            true = off_diagonal(read_truth([os.path.join(directory, "truth.csv")], column)[0])
            traced = off_diagonal(read_truth(traced_paths, column)[0])
            for key in sorted(set(true) | set(traced)):
                if true.get(key, 0) != traced.get(key, 0):
                    wrong.append("%s %d -> %d: true %d, traced %d" %
                                 (column, *key, true.get(key, 0), traced.get(key, 0)))
        for line in wrong[:4]:
            print("%s: %s" % (os.path.basename(directory), line))
            ret = 1
    return ret


def main(args):
    flags = {a for a in args if a.startswith("--")}
    paths = [a for a in args if not a.startswith("--")]
    if "--help" in flags:
        print(__doc__.strip())
        return 0
    if flags - {"--first", "--json", "--same"}:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if "--same" in flags and paths:
        return same(paths)
    if "--same" in flags or len(paths) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    first = "first_" if "--first" in flags else ""
    truth, head = read_truth([paths[1]], first + "bytes")
    sync = read_truth([paths[1]], "sync_%sbytes" % first)[0]
    result = compare(*read_report(paths[0]), truth, head, sync)
    if "--json" in flags:
        print(json.dumps(result))
    else:
        print(",".join("" if result[f] is None else "%.6g" % result[f] for f in FIELDS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

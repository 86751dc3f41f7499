#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Estimates again what accuracy.py --keep has recorded: after a change of an estimator.

  rescore.py DIR [ESTIMATOR...]

DIR is accuracy.py's (--out).  Prints, for each kernel and program and each estimator
(default: all), error and log2 of what crosses threads, and for programs the part of
own reads found; then means.  Programs are compared by role.  Replays need neither root nor the
target: a minute for all.  The commd is $O's (.output).
"""
import glob
import os
import statistics
import subprocess
import sys
import tempfile

import accuracy
import accuracy_report
import compare
import programs


def replay(commd, recording, est, db):
    programs.remove(db)
    return subprocess.run([commd, "-q", "--source", "replay:" + recording, "--estimator", est,
                           "--store", db], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def kernel(tools, directory, est, db):
    """compare.py's figures of all reads, or None."""
    if not replay(tools["commd"], os.path.join(directory, "run.rec"), est, db):
        return None
    path, truth = db + ".json", os.path.join(directory, "truth.csv")
    with open(path, "w") as f:
        f.write(accuracy.report(tools["commctl"], db, os.devnull, "--by-thread"))
    return compare.compare(*compare.read_report(path), *compare.read_truth([truth]),
                           compare.read_truth([truth], "sync_bytes")[0])


def program(tools, recording, est, db):
    exact = os.path.join(os.path.dirname(recording),
                         os.path.basename(recording).partition(".")[0] + ".exact.db")
    if not replay(tools["commd"], recording, est, db):
        return None
    return programs.score(programs.read_store(db), programs.read_store(exact), "role")


def mean(values):
    values = [abs(v) for v in values if v is not None]
    return "%.3f" % statistics.fmean(values) if values else "-"


def main(args):
    o = os.environ.get("O", ".output")
    tools = {name: os.path.join(o, name) for name in ("commd", "commctl")}
    if not args or args[0].startswith("-"):
        print(__doc__.strip())
        return 0 if args[:1] == ["--help"] else 2
    estimators = args[1:] or accuracy.estimators(tools["commd"])
    parts = (("kernel", kernel, glob.glob(os.path.join(args[0], "recordings", "*"))),
             ("program", program, glob.glob(os.path.join(args[0], "programs", "*.rec"))))
    with tempfile.TemporaryDirectory() as directory:
        for kind, score, paths in parts:
            rows = {est: [] for est in estimators}
            for path in sorted(paths):
                name, cells = os.path.basename(path).removesuffix(".rec"), []
                for est in estimators:
                    f = score(tools, path, est, os.path.join(directory, "x.db"))
                    if f:
                        f["false"] = (f.get("false_reads")
                                      if name.partition(".")[0] in accuracy_report.SILENT else None)
                        rows[est].append(f)
                        cells.append("%s, %s" % (accuracy_report.show(f["error"]),
                                                 accuracy_report.show(f["log2"], 1)))
                    else:
                        cells.append("failed")
                print("%-28s %s" % (name, "  ".join("%-14s" % cell for cell in cells)), flush=True)
            for est in estimators:
                print("%s, %d of kind %s: error %s, abs log2 %s, own %s, false reads %s" %
                      (est, len(rows[est]), kind, mean(f["error"] for f in rows[est]),
                       mean(f["log2"] for f in rows[est]), mean(f.get("own") for f in rows[est]),
                       mean(f["false"] for f in rows[est])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Estimates again what accuracy.py --keep has recorded: after a change of an estimator.

  rescore.py [--attached] DIR

DIR is accuracy.py's (--out).  Prints, for each kernel and program, of the estimator, what windows saw and the baselines, error and log2 of what crosses threads, and of what the report states by
thread and by function (stated.py): rows, precision, share of the truth.  Then means, and
the same of the baselines.  Programs are compared by role.  Replays need neither root nor the
target: two minutes for all.  --attached: as if commd had come after the first quarter of each
program's run, so without what was sampled then, without exec and first writers of pages.  commd, commctl and commd-baseline are $O's (.output).
"""
import glob
import os
import struct
import sys
import tempfile

import accuracy
import accuracy_report
import compare
import programs
import stated

# libcomm/stream/record_format.h
FILE_HEAD, EXEC, TOUCH, SAMPLED = 24, 22, 29, range(16, 20)


def attached(recording, path):
    """Writes to path what a commd would have recorded that came after a quarter of the run."""
    with open(recording, "rb") as f:
        data = f.read()
    at, records = FILE_HEAD, []
    while at < len(data):
        kind, size, time_ns = struct.unpack_from("<IIQ", data, at)
        records.append((kind, time_ns, data[at:at + 8 + size]))
        at += 8 + size
    # The first is RUN, the last END: these have a time, too.
    begin_ns = records[0][1] + (records[-1][1] - records[0][1]) / 4
    with open(path, "wb") as f:
        f.write(data[:FILE_HEAD])
        f.writelines(record for kind, time_ns, record in records
                     if kind not in (EXEC, TOUCH) and (kind not in SAMPLED or time_ns >= begin_ns))


def kernel(tools, directory, est, db):
    """{"thread": figures of compare.py and stated.py, all reads}."""
    path, truth = db + ".json", os.path.join(directory, "truth.csv")
    true, head = compare.read_truth([truth])
    if est not in tools["estimators"]:
        return {"thread": accuracy.guessed(true)[est]}
    accuracy.replay(tools, os.path.join(directory, "run.rec"), est, db, os.devnull)
    with open(path, "w") as f:
        f.write(accuracy.report(tools["commctl"], db, os.devnull, est, "--by-thread"))
    figures = compare.compare(*compare.read_report(path), true, head,
                              compare.read_truth([truth], "sync_bytes")[0])
    if os.path.basename(directory).partition(".")[0] in accuracy_report.SILENT:
        figures["false"] = figures["false_reads"]
    return {"thread": dict(figures, **accuracy.judged(tools["commctl"], db, est, "", true, head))}


def program(tools, recording, est, db):
    """{"role", "function": figures of programs.py and stated.py}."""
    name = os.path.basename(recording).partition(".")[0]
    exact = programs.read_store(os.path.join(os.path.dirname(recording), name + ".exact.db"))
    if est not in tools["estimators"]:
        return {"role": programs.guessed(exact)[est]}
    if tools["attached"]:
        attached(recording, db + ".rec")
        recording = db + ".rec"
    accuracy.replay(tools, recording, est, db, os.devnull)
    seen, judged = programs.read_store(db, est), programs.judged(tools["commctl"], db, est, exact)
    return {by: dict(programs.score(seen, exact, by), **judged[by]) for by in programs.BY}


def cell(by):
    """Error, log2, and of each kind of rows how many are stated, how precise, how much."""
    first = next(iter(by.values()))
    return "%s, %s, %s" % (accuracy_report.show(first["error"]),
                           accuracy_report.show(first["log2"], 1),
                           "; ".join("%s %s %s" % (accuracy_report.show(f["stated"], 0),
                                                   accuracy_report.show(f["precision"]),
                                                   accuracy_report.show(f["stated_share"]))
                                     for f in by.values()))


def main(args):
    o = os.environ.get("O", ".output")
    tools = {name: os.path.join(o, name) for name in ("commd", "commctl")}
    tools["baseline"] = os.path.join(o, "tests/truth/commd-baseline")
    tools["attached"] = args[:1] == ["--attached"]
    args = args[tools["attached"]:]
    if not args or args[0].startswith("-"):
        print(__doc__.strip())
        return 0 if args[:1] == ["--help"] else 2
    tools["estimators"] = accuracy.ESTIMATORS + stated.BASELINES
    parts = (("kernels", kernel, glob.glob(os.path.join(args[0], "recordings", "*"))),
             ("programs", program, glob.glob(os.path.join(args[0], "programs", "*.rec"))))
    table = []
    with tempfile.TemporaryDirectory() as directory:
        for kind, score, paths in parts:
            rows = {}
            for path in sorted(paths):
                cells = []
                for est in tools["estimators"] + ["uniform", "self"]:
                    try:
                        figures = score(tools, path, est, os.path.join(directory, "x.db"))
                    except accuracy.Failed as e:
                        print("%s, %s failed: %s" % (path, est, e))
                        continue
                    for by, f in figures.items():
                        rows.setdefault((by, est), []).append(f)
                    if est in tools["estimators"]:
                        cells.append(cell(figures))
                print("%-28s %s" % (os.path.basename(path).removesuffix(".rec"),
                                    "  ".join("%-44s" % text for text in cells)), flush=True)
            table += [["%s by %s" % (kind, by), est] + accuracy_report.stated_cells(of)
                      for (by, est), of in sorted(rows.items())]
    print("\n".join(accuracy_report.table(["", "estimator"] + accuracy_report.STATED, table, 2)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

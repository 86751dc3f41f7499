#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What each term of the estimator earns: replays what accuracy.py --keep has recorded without it.

  ablate.py [--attached] [--jobs N] [--parameters] DIR [TERM | PARAMETER=VALUE...]

DIR is accuracy.py's (--out).  TERM is of libcomm/estimate/model.h (default: each alone); "a-b" leaves
out both.  PARAMETER is of the same file; --parameters: half and twice each.  Beside them stand the baselines.  A row has, of the recordings that constants were chosen on
and of the others (held out), for kernels by thread and programs by role:

  error   mean normalised error; in brackets, by how much it is more than with all terms, recording by
          recording: the mean and its standard error
  stated  rows that are stated: those that are true
  false   of silent kernels, the worst part of all reads that is put down to another thread
  code    programs: rows by function that are stated: those that are true

--attached: programs as if commd had come after a quarter of the run.  $O (.output) has the programs.
"""
import argparse
import glob
import multiprocessing
import os
import re
import statistics
import sys
import tempfile

import accuracy
import accuracy_report
import rescore
import stated

# As tests/truth/README.md has it; of programs, the eleven of programs.py.
FITTED = {"lbzip2", "minimap2", "pbzip2", "pigz", "povray", "python", "sort", "sqlite", "x264", "xz", "zstd"}
HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "../../libcomm/estimate/model.h")


def terms():
    """{term: what is done without it}."""
    with open(MODEL) as f:
        return dict(re.findall(r'X\((\w+),[\s\\]*"([^"]*)"\)', f.read()))


def parameters():
    """{parameter: value}."""
    with open(MODEL) as f:
        return {name: float(value) for name, value in re.findall(r'X\((\w+), ([\d.]+),[\s\\]*"', f.read())}


def changed(name, value):
    """Half and twice as much; of what is near one, of what is missing to it."""
    near = 0.5 < value < 1
    return ["%s=%g" % (name, 1 - f * (1 - value) if near else f * value) for f in (0.5, 2)]


def score(job):
    """(kind, held out, variant, figures) of one recording without some terms."""
    kind, path, variant, tools = job
    name = os.path.basename(path).partition(".")[0]
    held_out = name not in (FITTED if kind == "program" else accuracy_report.fitted())
    tools = dict(tools, estimators=[variant])
    ret = {}
    with tempfile.TemporaryDirectory() as directory:
        db = os.path.join(directory, "x.db")
        try:
            if kind == "kernel":
                by = rescore.kernel(tools, path, variant, db)["thread"]
                ret["false"] = by.get("false")
            else:
                figures = rescore.program(tools, path, variant, db)
                by, code = figures["role"], figures["function"]
                ret["code"] = code["stated"] or 0
                ret["true code"] = round((code["cover"] or 0) * ret["code"])
        except accuracy.Failed as e:
            print("%s, %s failed: %s" % (path, variant, e), file=sys.stderr)
            return kind, held_out, variant, path, {}
    ret["error"], ret["stated"] = by["error"], by["stated"] or 0
    ret["true"] = round((by["cover"] or 0) * ret["stated"])
    return kind, held_out, variant, path, ret


def more(of, whole):
    """By how much the errors are more than with all terms: mean and standard error."""
    by = [f["error"] - whole[name]["error"] for name, f in of.items()
          if None not in (f.get("error"), whole[name].get("error"))]
    if len(by) < 2:
        return "-"
    return "%+.3f, %.3f" % (statistics.mean(by), statistics.stdev(by) / len(by) ** 0.5)


def rows_of(of, stated_rows, true_rows):
    return "%d: %d" % tuple(sum(f.get(k, 0) for f in of.values()) for k in (stated_rows, true_rows))


def cells(of, whole):
    errors = [f["error"] for f in of.values() if f.get("error") is not None]
    false = [f["false"] for f in of.values() if f.get("false") is not None]
    error = "%.3f" % statistics.mean(errors) if errors else "-"
    return [error if of is whole else "%s (%s)" % (error, more(of, whole)), rows_of(of, "stated", "true"),
            "%.2g" % max(false) if false else rows_of(of, "code", "true code")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    o = os.environ.get("O", ".output")
    parser.add_argument("--attached", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=["kernels", "programs"])
    parser.add_argument("--parameters", action="store_true")
    parser.add_argument("dir")
    parser.add_argument("terms", nargs="*", metavar="TERM")
    args = parser.parse_args()
    known, numbers = terms(), parameters()
    for name in args.terms:
        for term in [name.partition("=")[0]] if "=" in name else name.split("-"):
            there = numbers if "=" in name else known
            if term not in there:
                print("ablate.py: no %s is called '%s'; there are: %s" %
                      ("parameter" if "=" in name else "term", term, ", ".join(there)), file=sys.stderr)
                return 2
    wanted = args.terms or ([] if args.parameters else list(known))
    if args.parameters:
        wanted += [v for name, value in numbers.items() for v in changed(name, value)]
    tools = {"commd": os.path.join(o, "commd"), "commctl": os.path.join(o, "commctl"),
             "baseline": os.path.join(o, "tests/truth/commd-baseline"), "attached": args.attached}
    paths = []
    if args.only != "programs" and not args.attached:
        paths += [("kernel", os.path.dirname(p)) for p in
                  sorted(glob.glob(os.path.join(args.dir, "recordings", "*", "truth.csv")))]
    if args.only != "kernels":
        paths += [("program", p) for p in sorted(glob.glob(os.path.join(args.dir, "programs", "*.rec")))]
    if not paths:
        print("ablate.py: %s has no recordings: make some, by accuracy.py --keep --out %s" %
              (args.dir, args.dir), file=sys.stderr)
        return 2
    variants = [stated.ESTIMATOR] + [t if "=" in t else "-" + t for t in wanted] + stated.BASELINES
    jobs = [(kind, path, variant, tools) for variant in variants for kind, path in paths]
    found = {}
    with multiprocessing.Pool(args.jobs) as pool:
        for i, (kind, held_out, variant, path, figures) in enumerate(pool.imap(score, jobs)):
            found.setdefault((kind, held_out, variant), {})[path] = figures
            if sys.stderr.isatty() and i % 10 == 0:
                print("%d of %d" % (i, len(jobs)), end="\r", file=sys.stderr)
    groups = [(kind, held_out) for kind in ("kernel", "program") for held_out in (False, True)
              if (kind, held_out, variants[0]) in found]
    head = ["without"]
    for kind, held_out in groups:
        which = "%ss, %s" % (kind, "held out" if held_out else "chosen on")
        head += [which + ": error", "stated", "false" if kind == "kernel" else "code"]
    rows = [[variant] + [c for group in groups
             for c in cells(found[(*group, variant)], found[(*group, variants[0])])]
            for variant in variants]
    print("\n".join(accuracy_report.table(head, rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

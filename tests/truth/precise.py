#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What commd makes of a memory PMU's samples, beside the truth of the same run.

  precise.py [--out DIR] [--programs "pigz xz"] [--draw 1000] [--thin "1 10 100"] [-- PROGRAM ARGUMENT...]

No PMU is needed: the Valgrind tool draws one in N loads and one in N stores of a run in which it counts all
(exact/draw.h).  They are written as perf.data, as `perf record -d -e mem_inst_retired.all_loads:pp,...all_stores:pp`
would, all of them and one in 10 and one in 100; `commd --source perfdata:FILE` reads these.  The programs are those of
programs.py and held_out.py, with the work of their exact runs, or the one that is given.  Prints errors and stated rows
as programs.py defines them, of the estimator, of the nearest sampled write in address, and of the guess that all pairs
of threads are alike; errors in the mean of the programs in which 1 % of what is read crosses.  What was run stays in
DIR ($O/precise), and is not run again.  Exit 0 done, 1 some run failed, 77 skip.

A PMU that samples user code does not see what the kernel copies, so in the truth that has no writer and no reader.
No registers are drawn, so a sample is one access.  Threads take turns under Valgrind, as on one CPU, whose clock is instructions.
"""
import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys

import held_out
import programs
import stated

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import perfdata  # noqa: E402

SLICES = 24
SLICE_LEAST_NS = 10000000  # --slice takes no less
BEFORE_NS = 1000000000  # no time is 0
CROSSING_LEAST = 0.01
VALGRIND = """#!/bin/sh
# The tool that draws, in the place of the one that commd calls.
for arg; do
  shift
  set -- "$@" "$arg"
  [ "$arg" != --tool=commexact ] || set -- "$@" --draw=%d --draw-out=%s
done
exec %s "$@"
"""


def draw(tools, name, command, directory, args):
    """The exact store and what was drawn beside it; None if it failed."""
    db, drawn = (os.path.join(directory, name + end) for end in (".exact.db", ".drawn"))
    if os.path.exists(db + ".done"):
        return db, drawn
    print("%s: exactly, under Valgrind; some minutes" % name, flush=True)
    programs.remove(db)
    wrapper = os.path.join(directory, "bin", "valgrind")
    os.makedirs(os.path.dirname(wrapper), exist_ok=True)
    with open(wrapper, "w") as f:
        f.write(VALGRIND % (args.draw, drawn, shutil.which("valgrind")))
    os.chmod(wrapper, 0o755)
    path = "PATH=%s:%s" % (os.path.dirname(wrapper), os.environ["PATH"])
    if programs.quietly(["env", path, tools["commd"], "-q", "--source", "exact", "--store", db, "--", *command],
                        os.path.join(directory, "log"), programs.EXACT_LIMIT_S, command) is None:
        return None
    with open(db + ".done", "w"):
        pass
    return db, drawn


def events(period):
    return [perfdata.Event("mem_inst_retired.all_%s:pp" % kind, perfdata.PERF_TYPE_RAW, config, 0, [id_], period=period)
            for kind, config, id_ in (("loads", 0x81D0, 11), ("stores", 0x82D0, 21))]


def write_perf_data(drawn, path, period, thin):
    """One in so many of what was drawn, as perf.data; how many samples and nanoseconds that is."""
    file, rng = perfdata.File(events(period * thin), host=os.uname().nodename), random.Random(1)
    mapped, known, begun, n, first, last = set(), {}, set(), 0, None, 0
    with open(drawn, errors="surrogateescape") as f:
        lines = f.read().splitlines()
    for line in lines:
        if line.startswith("thread "):
            _, pid, tid, *name = line.split(" ", 3)
            known[int(tid, 16)] = name[0] if name else ""
    for line in lines:
        kind, *fields = line.split(" ", 10)
        if kind == "map" and line.split(" ", 2)[2] not in mapped:
            mapped.add(line.split(" ", 2)[2])
            time, pid, start, end, prot, private, offset, _, inode = (int(word, 16) for word in fields[:9])
            file.map(pid, start, end - start, offset, fields[9] or "//anon",
                     "".join(letter for i, letter in enumerate("rwx") if prot & 1 << i), not private,
                     BEFORE_NS + time, ino=inode if fields[9] else 0)
        elif kind in ("load", "store") and not rng.randrange(thin):
            time, pid, tid, ip, addr, size = (int(word, 16) for word in fields)
            if tid not in begun:
                begun.add(tid)
                if tid != pid:
                    file.task("FORK", pid, pid, tid, pid, BEFORE_NS + time)
                file.name(pid, tid, known.get(tid, ""), BEFORE_NS + time)
            load = kind == "load"
            file.sample(file.events[not load], pid, tid, BEFORE_NS + time, ip, addr,
                        perfdata.LOAD if load else perfdata.STORE, period=period * thin)
            first, last, n = time if first is None else first, time, n + 1
    file.write(path)
    return n, last - (first or 0)


def estimate(tools, path, db, est, ns, log):
    programs.remove(db)
    slice_ns = max(ns // SLICES, SLICE_LEAST_NS)
    done = programs.quietly([*stated.replays(tools, est), "-q", "--source", path, "--slice", "%dus" % (slice_ns // 1000),
                             "--store", db], log, programs.EXACT_LIMIT_S)
    return done is not None


def one(tools, name, command, directory, args, rows):
    done = draw(tools, name, command, directory, args)
    if not done:
        return 1
    exact = programs.read_store(done[0], kernel=False)
    log, failed = os.path.join(directory, "log"), 0
    for thin in args.thin:
        base = os.path.join(directory, "%s.%d" % (name, thin))
        n, ns = write_perf_data(done[1], base + ".data", args.draw, thin)
        for est in [stated.ESTIMATOR] + stated.BASELINES[:1]:
            db = "%s.%s.db" % (base, est)
            if not estimate(tools, "perfdata:" + base + ".data", db, est, ns, log):
                failed += 1
                continue
            judged = programs.judged(tools["commctl"], db, est, exact)
            seen = programs.read_store(db, est)
            for by in programs.BY:
                figures = dict(programs.score(seen, exact, by), **judged[by])
                rows.setdefault((thin, est, by), []).append(figures)
                print("%-10s 1 in %-8d %6d samples  %-8s %-8s error %-5s stated %d true %.0f  crosses %s of %s" % (
                    name, args.draw * thin, n, est, by, show(figures["error"]), figures["stated"],
                    figures["stated"] * (figures["cover"] or 0), show(figures["crossing"]),
                    show(figures["true_crossing"])), flush=True)
        guess = programs.guessed(exact)["uniform"]
        rows.setdefault((thin, "uniform", "role"), []).append(guess)
        os.unlink(base + ".data")
    return failed


def show(number):
    return "" if number is None else "%.2f" % number


def mean(figures, name):
    of = [f[name] for f in figures if f.get(name) is not None]
    return statistics.mean(of) if of else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    o = os.environ.get("O", ".output")
    parser.add_argument("--out", default=os.path.join(o, "precise"))
    parser.add_argument("--programs", type=str.split)
    parser.add_argument("--draw", type=int, default=1000)
    parser.add_argument("program", nargs="*")
    parser.add_argument("--thin", type=lambda text: [int(word) for word in text.split()], default=[1, 10, 100])
    args = parser.parse_args()
    tools = {"commd": os.path.join(o, "commd"), "commctl": os.path.join(o, "commctl"),
             "baseline": os.path.join(o, "tests/truth/commd-baseline")}
    for need in [shutil.which("valgrind"), *tools.values()]:
        if not need or not os.access(need, os.X_OK):
            print("SKIP: %s is not here" % (need or "valgrind"))
            return 77
    directory = os.path.abspath(args.out)
    os.makedirs(directory, exist_ok=True)
    rows, failed = {}, 0
    if args.program:
        works = {os.path.basename(args.program[0]): (None, args.program)}
    else:
        works = {**programs.commands(directory), **held_out.commands(directory)}
    for name, (_, less) in works.items():
        if args.programs and name not in args.programs:
            continue
        if not shutil.which(less[0]):
            print("%s: left out, %s is not installed" % (name, less[0]), flush=True)
            continue
        failed += one(tools, name, less, directory, args, rows)
    for (thin, est, by), of in sorted(rows.items()):
        rows_true = sum(f["stated"] * (f["cover"] or 0) for f in of)
        cross = [f for f in of if (f["true_crossing"] or 0) >= CROSSING_LEAST]
        print("1 in %-8d %-8s by %-8s %d programs, rows: true %d: %.0f; of %d that cross, error %s, crosses %s of %s" % (
            args.draw * thin, est, by, len(of), sum(f["stated"] for f in of), rows_true, len(cross),
            *(show(mean(cross, name)) for name in ("error", "crossing", "true_crossing"))))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

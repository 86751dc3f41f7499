#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How right commd is: attaches it to each kernel, compares what it says with
what the kernel counted, for each budget and length of run.

  accuracy.py [--out DIR] [--quick] [--kernels "ring hash"] [--budgets "0.5 1 2 5"]
              [--lengths "4 30"] [--repeats 3] [--threads 4] [--words 8192]
              [--source auto] [--keep]
              [--no-kernels] [--no-programs] [--held-out] [--more] [--served]

A run is made live once and recorded, and replayed for the baselines.  DIR ($O/accuracy) gets
rows.csv, a line for each run, kind of reads, and of: what the estimator says (hazard) and what windows
saw (watched); the nearest sampled write in address (address) and the last one of the line (nearest),
which commd-baseline has; and guesses that need no measurement: all pairs of threads the same
(uniform), all to itself (self).  Besides how near the matrix is, whether what the report states is true (stated.py).  What stands there is
not measured again: an interrupted table goes on where it was.  --quick: one run
of 4 s at 1 and 5 %, into $O/accuracy-quick.  --keep keeps the recordings.
Then programs.py does the same for real programs and services.py compares two runs of
services, unless --no-programs, and accuracy_report.py prints the tables.  --held-out: the programs are
those of held_out.py, and no services; --more: of more_programs.py; --served: the servers of served.py.  --no-kernels: no table, but
rows.csv.  Exit 0 done, 1 some run failed, 77 skip.
"""
import argparse
import csv
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import accuracy_report
import compare
import held_out
import more_programs
import programs
import served
import services
import stated

KEYS = ["kernel", "threads", "budget", "seconds", "repeat", "estimator", "reads"]
FIELDS = compare.FIELDS + stated.FIELDS
NAMES = KEYS + FIELDS
READS = {"all": "", "first": "first_"}
BEGIN_S, TARGET_S = 20, 600
ESTIMATORS = [stated.ESTIMATOR, stated.WATCHED]


class Failed(Exception):
    pass


def run(log, *argv, ok=(0,), limit_s=600):
    with open(log, "a") as f:
        try:
            status = subprocess.run(argv, stdout=f, stderr=f, timeout=limit_s,
                                    check=False).returncode
        except subprocess.TimeoutExpired:
            raise Failed("%s took more than %d s" % (argv[0], limit_s)) from None
    if status not in ok:
        raise Failed("%s: exit %d, see %s" % (os.path.basename(argv[0]), status, log))
    return status


def report(commctl, db, log, est, *flags):
    """What commctl says; no edge at all is an answer too."""
    out = subprocess.run([commctl, "report", "--json", "--min-share", "0", "--top", "0",
                          "--store", db, *(["--fresh"] if est == stated.WATCHED else []), *flags],
                         capture_output=True, text=True, check=False)
    with open(log, "a") as f:
        f.write(out.stderr)
    if out.returncode not in (0, 3):
        raise Failed("commctl: exit %d, see %s" % (out.returncode, log))
    return out.stdout if out.stdout.strip() else '{"run":{},"nodes":[],"edges":[],"loss":{}}'


def judged(commctl, db, est, first, truth, head):
    """stated.py's figures of a kernel's threads; compare.read_truth() gives truth and head."""
    said = stated.report(commctl, db, "--by-thread", *stated.flags(est),
                         *(["--first-read"] if first else []))
    rows = stated.rows(said, lambda a, b: (a.get("tid"), b.get("tid")))
    true, reads = compare.off_diagonal(truth), int(head.get("total_read_bytes", 0))
    bursts = min(said.get("range", {}).get("bursts", 0), sum(r.bursts for r in rows.values()))
    if est in stated.BASELINES:
        return stated.figures(stated.guess({k: r.bytes for k, r in rows.items()}), true, bursts)
    ret = stated.figures(rows, true, bursts)
    if reads and not first:
        crossing, unwritten = sum(true.values()), int(head.get("unwritten_bytes", 0))
        ret.update(stated.claims(said, crossing / reads, 1 - (crossing + unwritten) / reads))
    return ret


def guessed(truth):
    """The rows of the guesses: compare.py's figures and stated.py's."""
    true, threads = compare.off_diagonal(truth), sorted({thread for key in truth for thread in key})
    pairs = {(a, b): 1 for a in threads for b in threads if a != b}
    return {name: dict(figures, **stated.figures(stated.guess(pairs if name == "uniform" else {}), true))
            for name, figures in compare.baselines(truth).items()}


def replay(tools, recording, est, db, log):
    """Estimates a recording again, a baseline's too."""
    programs.remove(db)
    run(log, *stated.replays(tools, est), "-q", "--source", "replay:" + recording, "--store", db,
        ok=(0, 3))


def has_begun(db):
    try:
        con = sqlite3.connect("file:%s?mode=ro" % db, uri=True)
        try:
            return con.execute("SELECT count(*) FROM run").fetchone()[0] > 0
        finally:
            con.close()
    except sqlite3.Error:
        return False


def children(pid):
    """A kernel made of processes has children to attach to."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


class Table:
    def __init__(self, args, tools, out):
        self.args, self.tools, self.out = args, tools, out
        self.path = os.path.join(out, "rows.csv")
        self.done = set()
        if os.path.exists(self.path):
            with open(self.path, newline="") as f:
                reader = csv.DictReader(f)
                if reader.fieldnames != NAMES:
                    raise SystemExit("%s has other columns: of another version; remove it" %
                                     self.path)
                self.done = {tuple(row[k] for k in KEYS) for row in reader}
        else:
            with open(self.path, "w", newline="") as f:
                csv.writer(f, lineterminator="\n").writerow(NAMES)

    def keys(self, *run_key):
        return [tuple(map(str, run_key)) + (est, reads)
                for est in ESTIMATORS for reads in READS
                if reads == "all" or est != stated.WATCHED]

    def has(self, *run_key):
        return all(key in self.done for key in self.keys(*run_key))

    def add(self, rows):
        """All of a run at once: half a run would be taken for a whole one."""
        with open(self.path, "a", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows(
                [list(key) + ["" if v is None else "%.6g" % v for v in values]
                 for key, values in rows])
        self.done.update(key for key, _ in rows)

    def record(self, directory, kernel, threads, budget, seconds):
        """One live run; paths of truth, store and recording."""
        truth, db, rec, log = (os.path.join(directory, n) for n in
                               ("truth.csv", "live.db", "run.rec", "log"))
        with open(log, "a") as f:
            # It ends by itself should we be killed.
            target = subprocess.Popen(
                [self.tools["kernels"], kernel, "--threads", str(threads), "--seconds",
                 str(TARGET_S), "--words", str(self.args.words), "--out", truth],
                stdout=f, stderr=f)
        commd = None
        try:
            time.sleep(0.3)
            pids = [arg for pid in [target.pid] + children(target.pid)
                    for arg in ("--pid", str(pid))]
            with open(log, "a") as f:
                commd = subprocess.Popen(
                    [self.tools["commd"], "-q", *pids, "--source", self.args.source,
                     "--overhead", budget, "--duration", "%gs" % seconds, "--store", db,
                     "--record", rec],
                    stdout=f, stderr=f)
            until = time.monotonic() + BEGIN_S
            while not has_begun(db) and time.monotonic() < until and commd.poll() is None:
                time.sleep(0.01)
            target.send_signal(signal.SIGUSR1)
            status = commd.wait(timeout=seconds + 60)
            target.send_signal(signal.SIGUSR2)
            target.wait(timeout=60)
        except subprocess.TimeoutExpired as e:
            raise Failed(str(e)) from None
        finally:
            for process in commd, target:
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
        if status or target.returncode:
            with open(log) as f:
                raise Failed("commd exit %d, kernel exit %d: %s" %
                             (status, target.returncode, f.read()[-300:]))
        return truth, db, rec, log

    def measure(self, directory, *run_key):
        kernel, threads, budget, seconds, _ = run_key
        truth, db, rec, log = self.record(directory, kernel, threads, budget, seconds)
        rows = []
        for est in ESTIMATORS + stated.BASELINES:
            if est != stated.ESTIMATOR:
                db = os.path.join(directory, est + ".db")
                replay(self.tools, rec, est, db, log)
            for reads, prefix in READS.items():
                if prefix and est == stated.WATCHED:
                    continue
                path = os.path.join(directory, "%s.%s.json" % (est, reads))
                with open(path, "w") as f:
                    f.write(report(self.tools["commctl"], db, log, est, "--by-thread",
                                   *(["--first-read"] if prefix else [])))
                true, head = compare.read_truth([truth], prefix + "bytes")
                sync = compare.read_truth([truth], "sync_%sbytes" % prefix)[0]
                figures = dict(compare.compare(*compare.read_report(path), true, head, sync),
                               **judged(self.tools["commctl"], db, est, prefix, true, head))
                rows.append((tuple(map(str, run_key)) + (est, reads),
                             [figures[name] for name in FIELDS]))
        for reads, prefix in READS.items():
            rows += [(tuple(map(str, run_key)) + (guess, reads),
                      [figures[name] for name in FIELDS])
                     for guess, figures in
                     guessed(compare.read_truth([truth], prefix + "bytes")[0]).items()]
        return rows

    def one(self, *run_key):
        if self.args.keep:
            directory = os.path.join(self.out, "recordings", ".".join(map(str, run_key)))
            os.makedirs(directory, exist_ok=True)
            for name in os.listdir(directory):
                os.unlink(os.path.join(directory, name))
            self.add(self.measure(directory, *run_key))
            return
        with tempfile.TemporaryDirectory(dir=self.out) as directory:
            self.add(self.measure(directory, *run_key))


def clock(seconds):
    return "%d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)


def fill(table, args, kernels):
    """All runs that are missing; how many failed."""
    plan = [(kernel, threads, budget, seconds, repeat)
            for seconds in args.lengths for repeat in range(1, args.repeats + 1)
            for budget in args.budgets for threads in args.threads for kernel in kernels]
    plan = [key for key in plan if not table.has(*key)]
    failed, spent, sampled = 0, 0.0, 0.0
    left = sum(key[3] for key in plan)
    for i, key in enumerate(plan):
        # The fixed part of a run is not known before the first.
        rate = spent / sampled if sampled else 1.6
        print("%d of %d: %s, %s threads, %s %%, %g s, run %d; %s to go" %
              (i + 1, len(plan), *key, clock(left * rate)), flush=True)
        began = time.monotonic()
        try:
            table.one(*key)
        except Failed as e:
            print("  failed: %s" % e, flush=True)
            failed += 1
        spent += time.monotonic() - began
        sampled += key[3]
        left -= key[3]
    return failed


def words(kind):
    return lambda text: [kind(word) for word in text.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    o = os.environ.get("O", ".output")
    parser.add_argument("--out")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--no-kernels", action="store_true")
    parser.add_argument("--no-programs", action="store_true")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--served", action="store_true")
    parser.add_argument("--source", default="auto")
    parser.add_argument("--kernels", type=str.split)
    parser.add_argument("--budgets", type=str.split)
    parser.add_argument("--lengths", type=words(float))
    parser.add_argument("--threads", type=words(int), default=[4])
    parser.add_argument("--words", type=int, default=8192)
    parser.add_argument("--repeats", type=int)
    args = parser.parse_args()
    # What runs is ended as after an interrupt: a service would go on.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    tools = {"commd": os.path.join(o, "commd"), "commctl": os.path.join(o, "commctl"),
             "kernels": os.path.join(o, "tests/truth/truth-kernels"),
             "baseline": os.path.join(o, "tests/truth/commd-baseline")}
    for path in tools.values():
        if not os.access(path, os.X_OK):
            print("SKIP: %s is not built" % path)
            return 77
    kernels = args.kernels or subprocess.run([tools["kernels"], "--list"], check=True,
                                             capture_output=True, text=True).stdout.split()
    args.budgets = args.budgets or (["1", "5"] if args.quick else ["0.5", "1", "2", "5"])
    args.lengths = args.lengths or ([4.0] if args.quick else [4.0, 30.0])
    args.repeats = args.repeats or (1 if args.quick else 3)
    out = args.out or os.path.join(o, "accuracy-quick" if args.quick else "accuracy")
    os.makedirs(out, exist_ok=True)
    failed = fill(Table(args, tools, out), args, [] if args.no_kernels else kernels)
    if args.held_out:
        failed += programs.fill(tools, out, args, held_out.commands)
    elif args.more:
        failed += programs.fill(tools, out, args, more_programs.commands)
    elif args.served:
        failed += programs.fill(tools, out, args, served.commands)
    elif not args.no_programs:
        failed += programs.fill(tools, out, args)
        failed += services.fill(tools, out, args)
    if args.no_kernels:
        print("see %s/programs/rows.csv, and tests/truth/rescore.py %s of what --keep keeps" % (out, out))
    else:
        accuracy_report.write(out, stated.ESTIMATOR)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

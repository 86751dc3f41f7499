#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How right the survey is: attaches commd to programs that run already, and compares what `commctl report
--fresh` says with the same report of a run that Valgrind counted (docs/method/survey.md, "The exact answer").

  fresh.py [--budgets "1 5"] [--seconds 20] [--repeats 2] [--exact-seconds 20] [--keep DIR] [NAME=COMMAND ...]

Without commands: kernels of tests/truth.  A command runs until it is told to end, and has the same roles of
threads in both runs, which are other runs of the same work: shares compare, volumes do not.  Uses O (.output).
Prints a line for each run, by role (`--self`), and by function across threads: by that of the reader alone where
windows do not tell the writer's code, as those by looks.

  error       sum |said - true| of the shares: 0 perfect, 2 disjoint; beside it
  nearest     the same of the nearest sampled write in address (commd-baseline), and
  uniform     of all pairs of roles the same
  stated      rows that are stated, and
  precision   of their bytes, those on rows whose interval holds the true share
  windows     a minute, and
  answered    of the bytes that they stand for, those whose writer was seen
  crosses     what the first screen says of them, against the true share
  fresh 1 s   what changes within a second, its half-width, and what was written less than that before
  reads       sum |said - true| of how much of what is read, besides waiting, is of each function, and how many of
              the functions that either says 2 % of have their true share in their interval
  load        of the machine, as the run ended

Exit 0 done, 1 some run failed, 77 skip.
"""
import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import stated

KERNELS = ["pipeline", "ring", "private", "migratory", "stencil2d"]
LIMIT_S = 600
VIEWS = {"role": ["--by-role", "--self"], "function": ["--by-function", "--across"]}
ALL = ["--min-share", "0", "--top", "0"]


class Failed(Exception):
    pass


def run(*argv):
    got = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False)
    if got.returncode not in (0, 3):
        raise Failed("%s: exit %d: %s" % (" ".join(argv[:4]), got.returncode, got.stderr.strip()))


@contextlib.contextmanager
def running(command):
    """The program, until the block ends."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    try:
        time.sleep(1)
        if child.poll() is not None:
            raise Failed("%s has ended at once" % command[0])
        yield child.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


CODELESS = "[code not known]"


def pair(a, b):
    return a["name"], b["name"]


def reader(_, b):
    return b["name"]


def shares(weights):
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()} if total > 0 else {}


def error(said, true):
    said, true = shares(said), shares(true)
    return sum(abs(said.get(key, 0) - true.get(key, 0)) for key in set(said) | set(true))


def part(said, name):
    return next((row for row in said.get("account", []) if row["part"] == name), None) or {
        "bytes": 0, "share": 0, "share_low": 0, "share_high": 0}


def whichever(name):
    """The C library has a function for each kind of CPU, and Valgrind is another kind."""
    return re.sub(r"_(avx|avx2|avx512|evex|evex512|sse2|ssse3|sse4_[12])(_.*)?$", "", name).replace("memcpy", "memmove")


def reads(report):
    """Of each function's name, its share of what is read and the interval."""
    names = {node["id"]: whichever(node["name"]) for node in report["nodes"]}
    ret = {}
    for row in report.get("census", []):
        if "node" in row:
            before = ret.get(names[row["node"]], (0, 0, 0))
            ret[names[row["node"]]] = tuple(
                a + row[key] for a, key in zip(before, ("share", "share_low", "share_high")))
    return ret


def compare_reads(said, true):
    nothing = (0, 0, 1)
    names = [name for name in set(said) | set(true)
             if max(said.get(name, nothing)[0], true.get(name, nothing)[0]) >= 0.02]
    covered = sum(said.get(name, nothing)[1] <= true.get(name, nothing)[0] <= said.get(name, nothing)[2]
                  for name in names)
    return "%.2f, %d of %d" % (error({k: v[0] for k, v in said.items()},
                                     {k: v[0] for k, v in true.items()}), covered, len(names))


class Tools:
    def __init__(self, directory):
        out = os.environ.get("O", ".output")
        self.commd, self.commctl = (os.path.join(out, name) for name in ("commd", "commctl"))
        self.kernels = os.path.join(out, "tests/truth/truth-kernels")
        self.baseline = os.path.join(out, "tests/truth/commd-baseline")
        self.directory = directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def report(self, db, *flags):
        return stated.report(self.commctl, db, *flags, *ALL)

    def bytes_by(self, db, view, key, *flags):
        said = self.report(db, *VIEWS[view], *flags)
        return {k: row.bytes for k, row in stated.rows(said, key).items()}

    def exact(self, name, command, seconds):
        db = self.path(name + ".exact.db")
        if not os.path.exists(db):
            run(self.commd, "-q", "--source", "exact", "--duration", "%ds" % seconds, "--store", db,
                "--", *command)
        return db

    def live(self, name, pid, budget, seconds):
        db, recording = self.path(name + ".db"), self.path(name + ".rec")
        run(self.commd, "-q", "--pid", str(pid), "--overhead", budget, "--duration", "%ds" % seconds,
            "--store", db, "--record", recording)
        nearest = self.path(name + ".nearest.db")
        run("env", "COMM_BASELINE=address", self.baseline, "-q", "--source", "replay:" + recording,
            "--store", nearest)
        os.unlink(recording)
        return db, nearest


def line(tools, what, view, exact, db, nearest, seconds):
    said = tools.report(db, *VIEWS[view], "--fresh")
    key = reader if any(node["name"] == CODELESS for node in said["nodes"]) else pair
    true, rows = tools.bytes_by(exact, view, key, "--fresh"), stated.rows(said, key)
    figures = stated.figures(rows, true)
    names = {name for ends in true for name in ends} if view == "role" else set()
    uniform = error(dict.fromkeys(((a, b) for a in names for b in names), 1), true)
    counted = tools.report(exact, "--by-thread", "--fresh")
    seen = tools.report(db, "--by-thread", "--fresh")
    fresh = (said.get("census") or [{}])[0].get("fresh")
    forward = "%.0f +- %.0f, %.0f" % (100 * fresh[1]["share"],
                                      50 * (fresh[1]["share_high"] - fresh[1]["share_low"]),
                                      100 * counted["census"][0]["fresh"][1]["share"]) if fresh else "-"
    others, unseen = part(seen, "others"), part(seen, "unseen")
    print("| %s | %s | %.2f | %.2f | %s | %d | %s | %.0f | %.0f %% | %.0f to %.0f, %.0f %% | %s | %s | %.0f |" % (
        what, view, error({k: r.bytes for k, r in rows.items()}, true),
        error(tools.bytes_by(nearest, view, key), true), "%.2f" % uniform if view == "role" else "",
        figures["stated"], "-" if figures["precision"] is None else "%.2f" % figures["precision"],
        said.get("range", {}).get("windows", 0) * 60 / seconds, 100 * (1 - unseen["share"]),
        100 * others["share_low"], 100 * min(1, others["share_high"] + unseen["share"]),
        100 * part(counted, "others")["share"], forward,
        compare_reads(reads(tools.report(db, "--by-function", "--fresh")),
                      reads(tools.report(exact, "--by-function", "--fresh"))) if view == "function" else "",
        os.getloadavg()[0]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--budgets", default="1 5", type=str.split)
    parser.add_argument("--seconds", default=20, type=int)
    parser.add_argument("--exact-seconds", default=20, type=int)
    parser.add_argument("--repeats", default=2, type=int)
    parser.add_argument("--keep")
    parser.add_argument("programs", nargs="*", metavar="NAME=COMMAND")
    args = parser.parse_args()
    if os.getuid() or not shutil.which("valgrind"):
        print("SKIP: needs root and Valgrind")
        return 77
    with contextlib.ExitStack() as stack:
        directory = args.keep or stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(directory, exist_ok=True)
        tools = Tools(directory)
        programs = dict(text.split("=", 1) for text in args.programs) or {
            kernel: "%s %s --threads 2 --seconds 10000 --out /dev/null" % (tools.kernels, kernel)
            for kernel in KERNELS}
        print("| program, %, run | by | error | nearest | uniform | stated | precision | windows/min | answered |"
              " crosses, true | fresh 1 s, true | reads | load |\n" + "|---" * 13 + "|")
        failed = 0
        for name, text in programs.items():
            command = shlex.split(text)
            try:
                exact = tools.exact(name, command, args.exact_seconds)
                for budget in args.budgets:
                    for repeat in range(1, args.repeats + 1):
                        with running(command) as pid:
                            stores = tools.live("%s.%s.%d" % (name, budget, repeat), pid, budget,
                                                args.seconds)
                        for view in VIEWS:
                            line(tools, "%s, %s, %d" % (name, budget, repeat), view, exact, *stores,
                                 args.seconds)
            except (Failed, subprocess.TimeoutExpired, json.JSONDecodeError) as e:
                print("%s: %s" % (name, e), flush=True)
                failed = 1
        return failed


if __name__ == "__main__":
    sys.exit(main())

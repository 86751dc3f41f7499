#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sample costs, and where it goes: a table of targets at several budgets.

  sample_cost.py [--seconds 15] [--overhead 1,5] [--base COMMD] [TARGET...]

TARGET is busy (two computing threads), light (5 % of a CPU), redis or postgres (default: all that can run).
--base has another commd measured in turn with this one, of the commit before, say.

Of the seconds from the 6th on: samples a second, accesses a sample; microseconds a sample of the BPF programs
(as commd stored), of commd and of the children that read for it (/proc/PID/schedstat), and both an access.
Behind it the share that each step has of commd's own time, by perf where that is installed: its samples are
taken in a run of their own, as they cost commd time.  Needs root.  Exit 0 done, 1 a target or commd failed.
"""
import argparse
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
# By its place, as the module that it takes services from has the same name.
spec = importlib.util.spec_from_file_location(
    "bench_services", os.path.join(os.path.dirname(os.path.abspath(__file__)), "services.py"))
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)
services = bench.services

SETTLING_S = 6
# In rounds of a dictionary, as clocks are read in the kernel; how many take 5 ms is found out first.
LIGHT = """
import time
counts = dict.fromkeys(range(1000), 0)
def work(rounds):
    start = time.process_time()
    for _ in range(rounds):
        for i in range(0, 1000, 3): counts[i] += 1
    return time.process_time() - start
rounds = int(200 * 0.005 / work(200))
while True:
    work(rounds)
    time.sleep(0.095)
"""
# The first of these that has a function in a stack is its step.
STEPS = [("questions", ("comm_peek_", "comm_heap_blocks_", "comm_sampled_blocks_", "comm_shared_parts_",
                        "comm_process_reader_")),
         ("store", ("comm_store_",)),
         ("decode", ("comm_burst_run",)),
         ("estimator", ("hazard_", "comm_contention_", "collect_edges")),
         ("survey", ("survey_",)),
         ("identity", ("on_sample", "comm_engine_event", "close_slice")),
         ("drain", ("source_drain", "comm_merge_")),
         ("pace", ("comm_pace_",)),
         ("wake-up", ("poll", "__poll", "__GI___poll"))]


class Busy:
    tools = []

    def __init__(self, s):
        self.pid = s.run(os.path.join(bench.ROOT, os.environ.get("O", ".output"), "bench/load"), "2")


class Light:
    tools = ["python3"]

    def __init__(self, s):
        self.pid = s.run("python3", "-c", LIGHT)


class Redis(bench.Redis):
    def __init__(self, s):
        super().__init__(s, None)
        s.run("redis-benchmark", "-s", s.at("s"), "-t", "set,get,lpush", "-d", "256", "-r", "10000", "-c", "20", "-l", "-q")


class Postgres(bench.Postgres):
    def __init__(self, s):
        super().__init__(s, None)


TARGETS = {"busy": Busy, "light": Light, "redis": Redis, "postgres": Postgres}


def family(pid):
    """A process and all that it has started."""
    ret = [pid]
    for at in ret:
        try:
            with open("/proc/%d/task/%d/children" % (at, at)) as f:
                ret += [int(child) for child in f.read().split()]
        except OSError:
            pass
    return ret


def cpu_ns(pid):
    ret = 0
    for one in family(pid):
        try:
            with open("/proc/%d/schedstat" % one) as f:
                ret += int(f.read().split()[0])
        except OSError:
            pass
    return ret


def shares(data, log):
    """Share of each step in what perf has recorded."""
    out = bench.said(log, "perf", "script", "-i", data, "-F", "ip,sym")
    count, n = {}, 0
    for stack in out.split("\n\n"):
        functions = [line.split(None, 1)[1].split(" ")[0] for line in stack.splitlines() if len(line.split(None, 1)) > 1]
        if not functions:
            continue
        n += 1
        step = next((step for step, begins in STEPS if any(one.startswith(begins) for one in functions)), "rest")
        count[step] = count.get(step, 0) + 1
    order = sorted(count, key=count.get, reverse=True)
    return " ".join("%s %.0f" % (step, 100 * count[step] / n) for step in order)


def run(commd, pid, overhead, seconds, s, profiled):
    """Samples, accesses, ns of the handler, of commd and its children; shares of steps."""
    store, data = s.at("cost.db"), s.at("perf.data")
    for name in (store, store + "-wal", store + "-shm", data):
        if os.path.exists(name):
            os.remove(name)
    process = subprocess.Popen([commd, "-q", "--pid", str(pid), "--overhead", overhead, "--slice", "1s", "--store", store],
                               stdout=s.log, stderr=s.log)
    time.sleep(SETTLING_S)
    before, start_ns = cpu_ns(process.pid), time.monotonic_ns()
    if profiled:
        subprocess.run(["perf", "record", "-q", "-F", "997", "-e", "cpu-clock", "--call-graph", "dwarf,8192", "-p",
                        str(process.pid), "-o", data, "sleep", str(seconds)], stdout=s.log, stderr=s.log, check=False)
    else:
        time.sleep(seconds)
    spent_ns, end_ns = cpu_ns(process.pid) - before, time.monotonic_ns()
    process.terminate()
    if process.wait() not in (0, 3):
        raise services.Failed("commd failed")
    with sqlite3.connect(store) as db:
        row = db.execute("SELECT total(samples), total(accesses), total(handler_ns), total(end_ns - start_ns) FROM slice"
                         " WHERE level = 0 AND start_ns >= ? AND end_ns <= ?", (start_ns, end_ns)).fetchone()
    return row[:3] + (spent_ns * row[3] / (end_ns - start_ns), row[3] / 1e9), shares(data, s.log) if profiled else ""


def measure(name, overhead, args, commds):
    with tempfile.TemporaryDirectory() as directory, open(os.path.join(directory, "log"), "w") as log:
        os.chmod(directory, 0o711)
        s = services.Started(directory, log)
        try:
            target = TARGETS[name](s)
            time.sleep(1)
            for which, commd in commds:
                (samples, accesses, handler, daemon, wall_s), _ = run(commd, target.pid, overhead, args.seconds, s, False)
                steps = ""
                if shutil.which("perf"):
                    _, steps = run(commd, target.pid, overhead, args.seconds, s, True)
                n, m = samples or float("nan"), accesses or float("nan")
                print("| %s | %s %% | %s | %.1f | %.1f | %.1f | %.1f | %.2f | %s |" % (
                    name, overhead, which, samples / wall_s, accesses / n, handler / n / 1e3, daemon / n / 1e3,
                    (handler + daemon) / m / 1e3, steps), flush=True)
        finally:
            s.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--overhead", default="1,5")
    parser.add_argument("--base", metavar="COMMD")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    args = parser.parse_args()
    if args.seconds < 3:
        parser.error("three seconds at least")
    if set(args.targets) - set(TARGETS):
        parser.error("there are %s" % ", ".join(TARGETS))
    commds = [("this", os.path.join(bench.ROOT, os.environ.get("O", ".output"), "commd"))]
    if args.base:
        commds.insert(0, ("base", args.base))
    print("| target | budget | commd | samples/s | accesses/sample | BPF, us/sample | commd, us/sample | us/access |"
          " commd's steps, % |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in args.targets or TARGETS:
        missing = [tool for tool in TARGETS[name].tools if not shutil.which(tool)]
        if missing:
            print("%s: left out, %s is not installed" % (name, missing[0]), file=sys.stderr)
            continue
        for overhead in args.overhead.split(","):
            try:
                measure(name, overhead, args, commds)
            except (services.Failed, subprocess.CalledProcessError, OSError, sqlite3.Error) as e:
                print("%s: %s" % (name, e), file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

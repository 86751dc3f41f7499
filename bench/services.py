#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What profiling costs services: rate and tail latency of their clients, with commd and without.

  services.py [--pairs 100] [--seconds 2] [--overhead 1] [--start N] [--rate R] [--with OPTIONS] [SERVICE...]

SERVICE is redis, postgres or mariadb (default: each that is installed), under one load from first to
last.  A pair is two windows of some seconds, in one of which commd samples and in the other not, which
of them first taking turns: short ones, as a guest's CPUs are not as fast in one minute as in the next.
commd stays attached, and --control says when it samples.  With --start it attaches anew for each pair,
and each of the N windows from then on is compared with the one before the attach: what setting up costs.
--with has more options for commd, as one word.  With --rate the clients of postgres make R requests a second, no
more, so that CPUs are idle.

Prints how much slower a service was, its clients' time for a request and the 99th percentile of their
latency: the median over the pairs, its 90 % interval (by signs), and the quartiles.  Needs root, and a
machine that does nothing else.  Exit 0 done, 1 a service or commd failed, 77 nothing is installed.
"""
import argparse
import csv
import glob
import io
import math
import os
import re
import select
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "truth"))
sys.dont_write_bytecode = True
import services  # noqa: E402

# Where Debian has what it does not mean users to run.
os.environ["PATH"] += "".join(":" + path for path in glob.glob("/usr/lib/postgresql/*/bin"))
SETTLING_S = 12  # under load: commd sets up in the first 5 s, which are not of the budget
TURNING_S = 0.3  # after each turn, which takes commd a moment


def said(log, *argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                          check=True, text=True, **more).stdout


class Redis:
    """Its client says nothing while it runs: one for each window."""
    tools = ["redis-server", "redis-benchmark"]

    def __init__(self, s, _):
        self.s, self.rate, self.windows = s, 20000, []
        self.pid = s.run("redis-server", "--port", "0", "--unixsocket", s.at("s"), "--save", "",
                         "--dir", s.directory)
        services.until(lambda: os.path.exists(s.at("s")), "redis-server")

    def window(self, seconds):
        out = said(self.s.log, "redis-benchmark", "-s", self.s.at("s"), "-t", "get", "-d", "256", "-r", "10000",
                   "-c", "20", "-n", str(int(self.rate * seconds)), "--csv")
        row = next(csv.DictReader(io.StringIO(out)))
        self.rate = float(row["rps"])
        self.windows.append((self.rate, float(row["p99_latency_ms"])))

    def ended(self):
        return self.windows


class Postgres:
    """One request in ten is in the client's log, with its time: windows are told by it."""
    tools = ["postgres", "initdb", "pgbench"]

    def __init__(self, s, rate):
        self.s, self.windows = s, []
        user = services.as_another(s, "postgres")
        base = ["-h", s.directory, "-U", "bench", "postgres"]
        said(s.log, "initdb", "-D", s.at("data"), "-A", "trust", "-U", "bench", cwd=s.directory, **user)
        self.pid = s.run("postgres", "-D", s.at("data"), "-k", s.directory, "-c", "listen_addresses=",
                         "-c", "fsync=off", "-c", "autovacuum=off", **user)
        services.until(lambda: subprocess.run(
            ["pgbench", "-i", "-q", "-s", "5", *base], stdout=s.log, stderr=s.log,
            check=False).returncode == 0, "postgres")
        s.run("pgbench", "-S", "-c", "8", "-j", "2", "-T", "86400", "-l", "--sampling-rate", "0.1",
              *(["-R", str(rate)] if rate else []), *base)

    def window(self, seconds):
        start = time.time()
        time.sleep(seconds)
        self.windows.append((start, time.time()))

    def ended(self):
        self.s.stop()
        requests = []
        for path in glob.glob(self.s.at("pgbench_log*")):
            with open(path) as f:
                for line in f:
                    word = line.split()
                    if len(word) >= 6:  # the last one may be cut
                        requests.append((int(word[4]) + int(word[5]) / 1e6, int(word[2])))
        requests.sort()
        ret, at = [], 0
        for start, end in self.windows:
            latencies = []
            while at < len(requests) and requests[at][0] < end:
                if requests[at][0] >= start:
                    latencies.append(requests[at][1])
                at += 1
            latencies.sort()
            if not latencies:
                raise services.Failed("pgbench said nothing of a window")
            ret.append((1 / statistics.mean(latencies), latencies[len(latencies) * 99 // 100]))
        return ret


class Mariadb:
    """The client says each second what that was like: windows are of whole ones."""
    tools = ["mariadbd", "mariadb-install-db", "sysbench"]

    def __init__(self, s, _):
        self.s, self.windows = s, []
        user = services.as_another(s, "mysql")
        said(s.log, "mariadb-install-db", "--no-defaults", "--datadir=" + s.at("data"),
             "--skip-test-db", "--auth-root-authentication-method=normal", cwd=s.directory, **user)
        self.pid = s.run("mariadbd", "--no-defaults", "--datadir=" + s.at("data"), "--socket=" + s.at("s"),
                         "--skip-networking", "--innodb-flush-log-at-trx-commit=2", **user)
        services.until(lambda: os.path.exists(s.at("s")), "mariadbd")
        base = ["sysbench", "oltp_read_only", "--mysql-socket=" + s.at("s"), "--mysql-user=root",
                "--mysql-db=mysql", "--tables=2", "--table-size=10000", "--threads=8", "--percentile=99"]
        said(s.log, *base, "prepare")
        self.client = subprocess.Popen(
            ["stdbuf", "-oL", *base, "--time=86400", "--report-interval=1", "run"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=s.log, bufsize=0, start_new_session=True)
        s.processes.append(self.client)

    def second(self):
        while line := self.client.stdout.readline().decode():
            if part := re.search(r"tps: ([0-9.]+) .*lat \(ms,99%\): ([0-9.]+)", line):
                return float(part.group(1)), float(part.group(2))
        raise services.Failed("sysbench ended")

    def window(self, seconds):
        while select.select([self.client.stdout], [], [], 0)[0]:
            self.second()
        self.second()  # that in which the window begins
        parts = [self.second() for _ in range(math.ceil(seconds))]
        self.windows.append(tuple(statistics.mean(column) for column in zip(*parts)))

    def ended(self):
        return self.windows


SERVICES = {"redis": Redis, "postgres": Postgres, "mariadb": Mariadb}


class Commd:
    """Attached to a service; it does not sample until it is told to, or from the start."""

    def __init__(self, path, service, args, samples):
        s = service.s
        for old in glob.glob(s.at("x.db*")) + glob.glob(s.at("control")):
            os.remove(old)
        more = shlex.split(args.options)
        if not samples:
            os.mkfifo(s.at("control"))
            more += ["-D", "-1", "--control", "fifo:" + s.at("control")]
        self.process = subprocess.Popen([path, "-q", "--pid", str(service.pid), "--overhead", str(args.overhead),
                                         "--store", s.at("x.db"), *more], stdout=s.log, stderr=s.log)
        # For reading, too: commd that could not start has no end to wait for.
        self.control = None if samples else os.fdopen(os.open(s.at("control"), os.O_RDWR), "w")

    def turn(self, on):
        self.control.write("enable\n" if on else "disable\n")
        self.control.flush()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        if self.process.wait():
            raise services.Failed("commd failed")
        if self.control:
            self.control.close()


def slower(name, what, ratios):
    """The interval: between order statistics of which the median is with 90 % between (binomial)."""
    ratios = sorted(100 * (ratio - 1) for ratio in ratios)
    n = len(ratios)
    k = max(0, int(n / 2 - 1.645 * math.sqrt(n) / 2))
    low, median, high = statistics.quantiles(ratios, n=4)
    print("%-40s %+.2f %% (%+.2f .. %+.2f)  quartiles %+.2f .. %+.2f  (%d pairs)" %
          ("%s, %s" % (name, what), median, ratios[k], ratios[n - 1 - k], low, high, n), flush=True)


def in_turn(path, service, args):
    """Windows with and without sampling, as pairs of their numbers: without, with."""
    commd = Commd(path, service, args, False)
    try:
        commd.turn(True)
        service.window(SETTLING_S)
        for i in range(args.pairs):
            for on in (i % 2, 1 - i % 2):
                commd.turn(on)
                time.sleep(TURNING_S)
                service.window(args.seconds)
    finally:
        commd.end()
    windows = service.ended()[1:]
    return {"sampling": [(windows[i + i // 2 % 2], windows[i + 1 - i // 2 % 2]) for i in range(0, len(windows), 2)]}


def from_start(path, service, args):
    service.window(args.seconds)
    for _ in range(args.pairs):
        service.window(args.seconds)
        commd = Commd(path, service, args, True)
        for _ in range(args.start):
            service.window(args.seconds)
        commd.end()
        time.sleep(TURNING_S)
    windows, step = service.ended()[1:], args.start + 1
    return {"%g to %g s after the start" % (i * args.seconds, (i + 1) * args.seconds):
            [(windows[at], windows[at + i + 1]) for at in range(0, len(windows), step)] for i in range(args.start)}


def measure(path, name, args):
    with tempfile.TemporaryDirectory() as directory, \
         open(os.path.join(directory, "log"), "w") as log:
        os.chmod(directory, 0o711)
        s = services.Started(directory, log)
        try:
            service = SERVICES[name](s, args.rate)
            for when, pairs in (from_start if args.start else in_turn)(path, service, args).items():
                slower(name, when + ", a request", [off[0] / on[0] for off, on in pairs])
                slower(name, when + ", p99", [on[1] / off[1] for off, on in pairs])
        except services.Failed as e:
            with open(log.name) as f:
                raise services.Failed("%s: %s" % (e, f.read()[-2000:])) from e
        finally:
            s.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--overhead", type=float, default=1)
    parser.add_argument("--start", type=int, default=0, metavar="N")
    parser.add_argument("--rate", type=int, default=0, metavar="R")
    parser.add_argument("--with", dest="options", default="", metavar="OPTIONS")
    parser.add_argument("services", nargs="*", metavar="SERVICE")
    args = parser.parse_args()
    if args.pairs < 2 or args.seconds < 1:
        parser.error("two pairs and a second at least")
    unknown = set(args.services) - set(SERVICES)
    if unknown:
        parser.error("there are %s" % ", ".join(SERVICES))
    commd = os.path.join(ROOT, os.environ.get("O", ".output"), "commd")
    done = 0
    for name in args.services or SERVICES:
        missing = [tool for tool in SERVICES[name].tools if not shutil.which(tool)]
        if missing:
            print("%s: left out, %s is not installed" % (name, missing[0]), flush=True)
            continue
        try:
            measure(commd, name, args)
        except (services.Failed, subprocess.CalledProcessError, OSError) as e:
            print("%s: %s" % (name, e), file=sys.stderr)
            return 1
        done += 1
    return 0 if done else 77


if __name__ == "__main__":
    sys.exit(main())

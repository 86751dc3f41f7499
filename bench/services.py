#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What profiling costs services: rate and tail latency of their clients, with commd and without.

  services.py [--pairs 15] [--seconds 8] [--overhead 1] [SERVICE...]

SERVICE is redis, postgres or mariadb (default: each that is installed).  A pair is two runs of
one load on one server, one of them while commd is attached, which of them first taking turns.
Prints, for each service, the median and the quartiles over the pairs of how much slower it
was: its clients' requests a second, and the 99th percentile of their latency.  Needs root, and a machine that does
nothing else.  Exit 0 done, 1 a service or commd failed, 77 nothing is installed.
"""
import argparse
import csv
import glob
import io
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "truth"))
sys.dont_write_bytecode = True
import services  # noqa: E402

# Where Debian has what it does not mean users to run.
os.environ["PATH"] += "".join(":" + path for path in glob.glob("/usr/lib/postgresql/*/bin"))
SETTLING_S = 10  # under load: commd sets up in the first 5 s, which are not of the budget


def said(log, *argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                          check=True, text=True, **more).stdout


class Redis:
    tools = ["redis-server", "redis-benchmark"]

    def __init__(self, s):
        self.s, self.requests = s, 50000
        self.pid = s.run("redis-server", "--port", "0", "--unixsocket", s.at("s"), "--save", "",
                         "--dir", s.directory)
        services.until(lambda: os.path.exists(s.at("s")), "redis-server")

    def load(self, seconds):
        """Requests a second, and the 99th percentile of their latency in ms."""
        out = said(self.s.log, "redis-benchmark", "-s", self.s.at("s"), "-t", "get", "-d", "256", "-r", "10000",
                   "-c", "20", "-n", str(self.requests), "--csv")
        row = next(csv.DictReader(io.StringIO(out)))
        rate = float(row["rps"])
        self.requests = int(rate * seconds)
        return rate, float(row["p99_latency_ms"])


class Postgres:
    tools = ["postgres", "initdb", "pgbench"]

    def __init__(self, s):
        self.s = s
        self.user = services.as_another(s, "postgres")
        self.base = ["-h", s.directory, "-U", "bench", "postgres"]
        said(s.log, "initdb", "-D", s.at("data"), "-A", "trust", "-U", "bench", cwd=s.directory,
             **self.user)
        self.pid = s.run("postgres", "-D", s.at("data"), "-k", s.directory, "-c", "listen_addresses=",
                         "-c", "fsync=off", "-c", "autovacuum=off", **self.user)
        services.until(lambda: subprocess.run(
            ["pgbench", "-i", "-q", "-s", "5", *self.base], stdout=s.log, stderr=s.log,
            check=False).returncode == 0, "postgres")

    def load(self, seconds):
        for old in glob.glob(self.s.at("pgbench_log*")):
            os.remove(old)
        out = said(self.s.log, "pgbench", "-S", "-c", "8", "-j", "2", "-T", str(seconds), "-l",
                   *self.base, cwd=self.s.directory)
        latencies = []
        for path in glob.glob(self.s.at("pgbench_log*")):
            with open(path) as f:
                latencies += [int(line.split()[2]) for line in f]
        latencies.sort()
        return (float(re.search(r"^tps = ([0-9.]+)", out, re.M).group(1)),
                latencies[len(latencies) * 99 // 100] / 1000)


class Mariadb:
    tools = ["mariadbd", "mariadb-install-db", "sysbench"]

    def __init__(self, s):
        self.s = s
        user = services.as_another(s, "mysql")
        said(s.log, "mariadb-install-db", "--no-defaults", "--datadir=" + s.at("data"),
             "--skip-test-db", "--auth-root-authentication-method=normal", cwd=s.directory, **user)
        self.pid = s.run("mariadbd", "--no-defaults", "--datadir=" + s.at("data"), "--socket=" + s.at("s"),
                         "--skip-networking", "--innodb-flush-log-at-trx-commit=2", **user)
        services.until(lambda: os.path.exists(s.at("s")), "mariadbd")
        self.base = ["sysbench", "oltp_read_only", "--mysql-socket=" + s.at("s"), "--mysql-user=root",
                     "--mysql-db=mysql", "--tables=2", "--table-size=10000", "--threads=8",
                     "--percentile=99"]
        said(s.log, *self.base, "prepare")

    def load(self, seconds):
        out = said(self.s.log, *self.base, "--time=%d" % seconds, "run")
        return (float(re.search(r"transactions:.*\(([0-9.]+) per sec", out).group(1)),
                float(re.search(r"99th percentile:\s*([0-9.]+)", out).group(1)))


SERVICES = {"redis": Redis, "postgres": Postgres, "mariadb": Mariadb}


def attached(commd, service, overhead, seconds):
    s = service.s
    for store in glob.glob(s.at("x.db*")):
        os.remove(store)
    daemon = subprocess.Popen([commd, "-q", "--pid", str(service.pid), "--overhead", str(overhead),
                               "--store", s.at("x.db")], stdout=s.log, stderr=s.log)
    try:
        service.load(SETTLING_S)
        return service.load(seconds)
    finally:
        daemon.send_signal(signal.SIGINT)
        if daemon.wait():
            raise services.Failed("commd failed")


def slower(name, what, ratios):
    low, median, high = (100 * (q - 1) for q in statistics.quantiles(ratios, n=4))
    print("%-34s median %+.2f %%  quartiles %+.2f .. %+.2f  (%d pairs)" %
          ("%s, %s" % (name, what), median, low, high, len(ratios)), flush=True)


def measure(commd, name, args):
    rates, tails = [], []
    with tempfile.TemporaryDirectory() as directory, \
         open(os.path.join(directory, "log"), "w") as log:
        os.chmod(directory, 0o711)
        s = services.Started(directory, log)
        try:
            service = SERVICES[name](s)
            service.load(args.seconds)  # warm
            for i in range(args.pairs):
                runs = {}
                for on in (i % 2, 1 - i % 2):
                    runs[on] = (attached(commd, service, args.overhead, args.seconds) if on
                                else service.load(args.seconds))
                rates.append(runs[0][0] / runs[1][0])
                tails.append(runs[1][1] / runs[0][1])
        finally:
            s.stop()
    slower(name, "time for a request", rates)
    slower(name, "p99 latency", tails)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--overhead", type=float, default=1)
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

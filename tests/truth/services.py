#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Services: whether two runs under one steady load say the same.  That needs no truth.

  services.py [--out DIR] [--seconds 60] [--budgets "1"] [--estimators "hazard ownership"]
              [SERVICE...]

Starts each service that is installed, with a load of its own, attaches commd twice for so many
seconds, and records.  Prints, for each estimator, how the two reports agree (stated.py), by
function across threads and by role, when the first row was stated, and the rows at the top.
Recordings stay in DIR ($O/accuracy/services), which are not made again; DIR/rows.csv has the figures.
Needs root.  Exit 0 done, 1 a service failed, 77 skip.
"""
import argparse
import contextlib
import csv
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import accuracy_report
import programs
import stated

KEYS = ["service", "seconds", "budget", "estimator", "by"]
FIELDS = ["bursts", "stated_rows", "stated_common", "stated_of", "stated_l1", "all_rows",
          "all_common", "all_of", "all_l1", "first_s"]
BY = {"function": ["--by-function", "--across", "--self"], "role": ["--by-role", "--across", "--self"]}
START_S, LOAD_S = 60, 3
PAGE_SIZE = 4096
MEMCACHED = r"""
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(%r)
f, n = s.makefile("rb"), os.getpid()
while True:
    n = (n * 1103515245 + 12345) %% (1 << 31)
    key = b"k%%d" %% (n >> 8 & 8191)
    if not n >> 24 & 7:
        s.sendall(b"set " + key + b" 0 0 512\r\n" + b"v" * 512 + b"\r\n")
        f.readline()
        continue
    s.sendall(b"get " + key + b"\r\n")
    while f.readline() != b"END\r\n":
        pass
"""
JAVA = """
import java.util.concurrent.*;
import java.util.zip.CRC32;
public class Blocks {
    static final ArrayBlockingQueue<byte[]> full = new ArrayBlockingQueue<>(64);
    static final ConcurrentHashMap<Long, Integer> seen = new ConcurrentHashMap<>();
    static void produce(int seed) {
        try {
            for (int n = seed;; n++) {
                byte[] block = new byte[%d];
                for (int i = 0; i < block.length; i++)
                    block[i] = (byte) (i * 31 + n);
                full.put(block);
            }
        } catch (InterruptedException e) { }
    }
    static void consume() {
        try {
            while (true) {
                CRC32 sum = new CRC32();
                byte[] block = full.take();
                for (byte b : block)
                    sum.update(b);
                seen.merge(sum.getValue() & 1023, 1, Integer::sum);
            }
        } catch (InterruptedException e) { }
    }
    public static void main(String[] args) {
        for (int i = 0; i < 2; i++) {
            int seed = i;
            new Thread(() -> produce(seed), "producer-" + i).start();
            new Thread(Blocks::consume, "consumer-" + i).start();
        }
    }
}
""" % PAGE_SIZE


class Failed(Exception):
    pass


def until(ready, what):
    end = time.monotonic() + START_S
    while not ready():
        if time.monotonic() > end:
            raise Failed("%s is not up after %d s" % (what, START_S))
        time.sleep(0.1)


def family(pid):
    """A process and its descendants."""
    ret = [pid]
    for parent in ret:
        for task in os.listdir("/proc/%d/task" % parent):
            with open("/proc/%d/task/%s/children" % (parent, task)) as f:
                ret += map(int, f.read().split())
    return ret


class Started:
    """Processes of one service, its load among them; all of them end with it."""

    def __init__(self, directory, log):
        self.directory, self.log, self.processes = directory, log, []

    def at(self, name):
        return os.path.join(self.directory, name)

    def run(self, *argv, **more):
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=self.log,
                                   start_new_session=True, cwd=self.directory, **more)
        self.processes.append(process)
        return process.pid

    def alive(self):
        return all(process.poll() is None for process in self.processes)

    def stop(self):
        for process in reversed(self.processes):
            # Each has a session, and with it a group, of its own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def redis(s):
    socket = s.at("s")
    server = s.run("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--io-threads",
                   "4", "--io-threads-do-reads", "yes", "--dir", s.directory)
    until(lambda: os.path.exists(socket), "redis-server")
    for command in "set", "get":
        s.run("redis-benchmark", "-s", socket, "-t", command, "-d", "512", "-r", "10000", "-c", "20",
              "-l", "-q")
    return server


def memcached(s):
    socket = s.at("s")
    server = s.run("memcached", "-u", "root", "-t", "4", "-m", "64", "-s", socket, "-a", "777")
    until(lambda: os.path.exists(socket), "memcached")
    for _ in range(4):
        s.run(sys.executable, "-S", "-c", MEMCACHED % socket)
    return server


def postgres(s):
    account = pwd.getpwnam("postgres" if any(u.pw_name == "postgres" for u in pwd.getpwall())
                           else "nobody")
    # It refuses to run as root.
    as_user = dict(user=account.pw_uid, group=account.pw_gid, extra_groups=[],
                   env=dict(os.environ, HOME=s.directory))
    os.chown(s.directory, account.pw_uid, account.pw_gid)
    subprocess.run(["initdb", "-D", s.at("data"), "-A", "trust", "-U", "bench"], check=True,
                   stdout=s.log, stderr=s.log, cwd=s.directory, **as_user)
    server = s.run("postgres", "-D", s.at("data"), "-k", s.directory, "-c", "listen_addresses=", "-c",
                   "fsync=off", "-c", "autovacuum=off", **as_user)
    base = ["-h", s.directory, "-U", "bench", "postgres"]
    until(lambda: subprocess.run(["pgbench", "-i", "-q", "-s", "5", *base], stdout=s.log, stderr=s.log,
                                 check=False).returncode == 0, "postgres")
    s.run("pgbench", "-c", "8", "-j", "2", "-T", "100000", *base)
    return server


def java(s):
    with open(s.at("Blocks.java"), "w") as f:
        f.write(JAVA)
    server = s.run("java", "-Xmx256m", "-XX:+PreserveFramePointer", s.at("Blocks.java"))
    time.sleep(LOAD_S)
    return server


SERVICES = {"redis": (redis, ["redis-server", "redis-benchmark"]), "memcached": (memcached, ["memcached"]),
            "postgres": (postgres, ["postgres", "initdb", "pgbench"]), "java": (java, ["java"])}


def record(tools, path, name, budget, seconds, runs):
    """Recordings of so many runs, one after the other, of one server under one load."""
    with tempfile.TemporaryDirectory() as directory, open(path + ".log", "a") as log:
        os.chmod(directory, 0o711)
        s = Started(directory, log)
        try:
            server = SERVICES[name][0](s)
            time.sleep(LOAD_S)
            for rec in runs:
                if not s.alive():
                    raise Failed("it ended by itself, see %s.log" % path)
                pids = [arg for pid in family(server) for arg in ("--pid", str(pid))]
                if subprocess.run([tools["commd"], "-q", *pids, "--overhead", budget, "--duration",
                                   "%gs" % seconds, "--store", os.path.join(directory, "x.db"), "--record",
                                   rec + ".part"], stdout=log, stderr=log, check=False).returncode:
                    raise Failed("commd failed, see %s.log" % path)
                os.rename(rec + ".part", rec)
                programs.remove(os.path.join(directory, "x.db"))
        finally:
            s.stop()


def key(a, b):
    """Both runs are of the same files: a function without a name has its address for one."""
    return (a["name"], a.get("module", "")), (b["name"], b.get("module", ""))


def first_stated(commctl, db, flags, seconds):
    """Seconds after which the run so far states a row, to a factor of 1.5; None: never."""
    t = 4.0
    while t <= seconds * 1.5:
        said = stated.report(commctl, db, *flags, "--to", "%gs" % t)
        if any(e["resolved"] for e in said["edges"]):
            return t
        t *= 1.5
    return None


def judge(tools, runs, est, directory, seconds):
    """{by: figures}, {by: the rows of both runs} of one estimator."""
    ret, tops, dbs = {}, {}, []
    for i, rec in enumerate(runs):
        db = os.path.join(directory, "%d.db" % i)
        programs.remove(db)
        subprocess.run([tools["commd"], "-q", "--source", "replay:" + rec, "--estimator", est,
                        "--store", db], stderr=subprocess.DEVNULL, check=False)
        dbs.append(db)
    for by, flags in BY.items():
        said = [stated.report(tools["commctl"], db, *flags) for db in dbs]
        rows = [stated.rows(one, key) for one in said]
        ret[by] = stated.agreement(*rows)
        ret[by]["bursts"] = tuple(one.get("range", {}).get("bursts", 0) for one in said)
        ret[by]["first_s"] = first_stated(tools["commctl"], dbs[0], flags, seconds)
        tops[by] = rows
    return ret, tops


def text(value):
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return "" if value is None else "%.4g" % value


def print_tops(tops, n=6):
    for by, sides in tops.items():
        for i, rows in enumerate(sides):
            total = sum(r.bytes for r in rows.values())
            for k in sorted(rows, key=lambda k, rows=rows: (not rows[k].stated, -rows[k].bytes))[:n]:
                r = rows[k]
                print("  %s, run %d: %5.1f %% (%.1f..%.1f)%s %s > %s, %d bursts" %
                      (by, i + 1, 100 * r.bytes / total, 100 * r.low, 100 * r.high,
                       "" if r.stated else "?", k[0][0], k[1][0], r.bursts))


def fill(tools, out, args, names=None, seconds=60.0, show=False):
    """OUT/services/rows.csv, all of it; how many services failed."""
    directory = os.path.join(out, "services")
    os.makedirs(directory, exist_ok=True)
    failed, lines = 0, []
    for name in names or SERVICES:
        missing = [tool for tool in SERVICES[name][1] if not shutil.which(tool)]
        if missing:
            print("%s: left out, %s is not installed" % (name, missing[0]), flush=True)
            continue
        for budget in args.budgets:
            base = os.path.join(directory, "%s.%s.%g" % (name, budget, seconds))
            runs = ["%s.%d.rec" % (base, i) for i in (1, 2)]
            if not all(map(os.path.exists, runs)):
                print("%s: twice %g s, %s %%" % (name, seconds, budget), flush=True)
                try:
                    record(tools, base, name, budget, seconds, runs)
                except (Failed, subprocess.CalledProcessError, OSError) as e:
                    print("  failed: %s" % e, flush=True)
                    failed += 1
                    continue
            with tempfile.TemporaryDirectory() as tmp:
                for est in args.estimators:
                    judged, tops = judge(tools, runs, est, tmp, seconds)
                    lines += [[name, "%g" % seconds, budget, est, by] + [text(f[k]) for k in FIELDS]
                              for by, f in judged.items()]
                    if show:
                        print("%s by %s" % (name, est))
                        print_tops(tops)
    with open(os.path.join(directory, "rows.csv"), "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([KEYS + FIELDS] + lines)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    o = os.environ.get("O", ".output")
    parser.add_argument("--out", default=os.path.join(o, "accuracy"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--budgets", type=str.split, default=["1"])
    parser.add_argument("--estimators", type=str.split, default=["hazard", "ownership"])
    parser.add_argument("services", nargs="*", metavar="SERVICE")
    args = parser.parse_args()
    if set(args.services) - set(SERVICES):
        parser.error("there are %s" % ", ".join(SERVICES))
    tools = {name: os.path.join(o, name) for name in ("commd", "commctl")}
    if os.geteuid() or not os.access(tools["commd"], os.X_OK):
        print("SKIP: needs root and %s" % tools["commd"])
        return 77
    failed = fill(tools, args.out, args, args.services, args.seconds, True)
    rows = accuracy_report.read_rows(os.path.join(args.out, "services", "rows.csv"))
    print("\n".join(accuracy_report.services_table(rows)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Services: whether two runs under one steady load say the same.  That needs no truth.

  services.py [--out DIR] [--seconds 60] [--budgets "1"]
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
import socket
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


GO = r"""
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
)

var mu sync.Mutex
var hits = map[string]int{}
var body = []byte("a body of the same few bytes\n")

func serve(w http.ResponseWriter, r *http.Request) {
	mu.Lock()
	hits[r.URL.Path]++
	n := hits[r.URL.Path]
	mu.Unlock()
	fmt.Fprintf(w, "%d %s", n, body)
}

func main() {
	http.HandleFunc("/", serve)
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
"""
NODE = r"""
const w = require('worker_threads');
const WORDS = 4096, SLOTS = 8, WORKERS = 2;
if (w.isMainThread) {
    const shared = new SharedArrayBuffer(4 * (2 + WORDS * SLOTS));
    for (let i = 0; i < WORKERS; i++)
        new w.Worker(__filename, {workerData: shared});
    const head = new Int32Array(shared, 0, 2), words = new Int32Array(shared, 8);
    for (let n = 0;; n++) {
        while (n - Atomics.load(head, 1) >= SLOTS)
            Atomics.wait(head, 1, Atomics.load(head, 1), 1);
        const at = n % SLOTS * WORDS;
        for (let i = 0; i < WORDS; i++)
            words[at + i] = i * 31 + n;
        Atomics.store(head, 0, n + 1);
        Atomics.notify(head, 0);
    }
} else {
    const head = new Int32Array(w.workerData, 0, 2), words = new Int32Array(w.workerData, 8);
    for (let sum = 0;;) {
        const n = Atomics.load(head, 1);
        if (n >= Atomics.load(head, 0)) {
            Atomics.wait(head, 0, n, 1);
            continue;
        }
        const at = n % SLOTS * WORDS;
        for (let i = 0; i < WORDS; i++)
            sum = sum * 33 + words[at + i] | 0;
        Atomics.compareExchange(head, 1, n, n + 1);
        Atomics.notify(head, 1);
    }
}
"""
PYTHON = r"""
import hashlib, queue, threading, zlib
texts, packed = queue.Queue(16), queue.Queue(16)

def make():
    n = 0
    while True:
        n += 1
        texts.put(bytearray(b"%d of the lines of a text\n" % n * 400))

def pack():
    while True:
        packed.put(zlib.compress(texts.get(), 3))

def digest():
    seen = {}
    while True:
        key = hashlib.sha1(packed.get()).digest()[:1]
        seen[key] = seen.get(key, 0) + 1

for name, run in ("make", make), ("pack", pack), ("pack", pack), ("digest", digest):
    threading.Thread(target=run, name=name).start()
"""
HAPROXY = """
global
  nbthread 4
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend front
  bind 127.0.0.1:%d
  default_backend back
backend back
  server nginx 127.0.0.1:%d
"""
NGINX = """
daemon off;
worker_processes 2;
pid nginx.pid;
error_log stderr;
events { worker_connections 256; }
http { access_log off; server { listen 127.0.0.1:%d; location / { return 200 "%s"; } } }
"""
UNBOUND = """
server:
  num-threads: 4
  interface: 127.0.0.1@%d
  do-daemonize: no
  use-syslog: no
  chroot: ""
  username: ""
  pidfile: ""
  local-zone: "example.com." static
"""
VARNISH = """
vcl 4.1;
backend nginx { .host = "127.0.0.1"; .port = "%d"; }
"""


class Failed(Exception):
    pass


def until(ready, what, seconds=START_S):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise Failed("%s is not up after %d s" % (what, seconds))
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


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connects(port):
    with socket.socket() as s:
        return not s.connect_ex(("127.0.0.1", port))


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def redis(s):
    path = s.at("s")
    server = s.run("redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--io-threads",
                   "4", "--io-threads-do-reads", "yes", "--dir", s.directory)
    until(lambda: os.path.exists(path), "redis-server")
    for command in "set", "get":
        s.run("redis-benchmark", "-s", path, "-t", command, "-d", "512", "-r", "10000", "-c", "20",
              "-l", "-q")
    return server


def memcached_at(path):
    return ["memcached", "-u", "root", "-t", "4", "-m", "64", "-s", path, "-a", "777"]


def memcached(s):
    path = s.at("s")
    server = s.run(*memcached_at(path))
    until(lambda: os.path.exists(path), "memcached")
    for _ in range(4):
        s.run(sys.executable, "-S", "-c", MEMCACHED % path)
    return server


def as_another(s, name):
    """What a service that refuses to run as root is started with."""
    account = pwd.getpwnam(name if any(u.pw_name == name for u in pwd.getpwall()) else "nobody")
    os.chown(s.directory, account.pw_uid, account.pw_gid)
    return dict(user=account.pw_uid, group=account.pw_gid, extra_groups=[],
                env=dict(os.environ, HOME=s.directory))


def postgres(s):
    as_user = as_another(s, "postgres")
    subprocess.run(["initdb", "-D", s.at("data"), "-A", "trust", "-U", "bench"], check=True,
                   stdout=s.log, stderr=s.log, cwd=s.directory, **as_user)
    server = s.run("postgres", "-D", s.at("data"), "-k", s.directory, "-c", "listen_addresses=", "-c",
                   "fsync=off", "-c", "autovacuum=off", **as_user)
    base = ["-h", s.directory, "-U", "bench", "postgres"]
    until(lambda: subprocess.run(["pgbench", "-i", "-q", "-s", "5", *base], stdout=s.log, stderr=s.log,
                                 check=False).returncode == 0, "postgres")
    s.run("pgbench", "-c", "8", "-j", "2", "-T", "100000", *base)
    return server


def install_mariadb(data, log, *options, **more):
    subprocess.run(["mariadb-install-db", "--no-defaults", "--datadir=" + data, "--skip-test-db",
                    "--auth-root-authentication-method=normal", *options], check=True, stdout=log,
                   stderr=log, **more)


def mariadb_at(data, path):
    return ["mariadbd", "--no-defaults", "--datadir=" + data, "--socket=" + path, "--skip-networking",
            "--innodb-flush-log-at-trx-commit=2"]


def sysbench(path, rows):
    return ["sysbench", "oltp_read_write", "--mysql-socket=" + path, "--mysql-user=root",
            "--mysql-db=mysql", "--tables=2", "--table-size=%d" % rows, "--threads=8"]


def mariadb(s):
    as_user = as_another(s, "mysql")
    data, path = s.at("data"), s.at("s")
    install_mariadb(data, s.log, cwd=s.directory, **as_user)
    server = s.run(*mariadb_at(data, path), **as_user)
    base = sysbench(path, 10000)
    until(lambda: os.path.exists(path), "mariadbd")
    subprocess.run([*base, "prepare"], check=True, stdout=s.log, stderr=s.log)
    s.run(*base, "--time=0", "run")
    return server


def nginx(s):
    port = free_port()
    conf = write(s.at("nginx.conf"), NGINX % (port, "x" * 256))
    server = s.run("nginx", "-p", s.directory, "-c", conf)
    until(lambda: connects(port), "nginx")
    return server, port


def wrk(s, port):
    s.run("wrk", "-t", "2", "-c", "16", "-d", "100000", "http://127.0.0.1:%d/" % port)


def haproxy(s):
    port = free_port()
    server = s.run("haproxy", "-db", "-f", write(s.at("haproxy.cfg"), HAPROXY % (port, nginx(s)[1])))
    until(lambda: connects(port), "haproxy")
    wrk(s, port)
    return server


def varnish(s):
    port = free_port()
    server = s.run("varnishd", "-F", "-a", "127.0.0.1:%d" % port, "-n", s.at("varnish"), "-f",
                   write(s.at("v.vcl"), VARNISH % nginx(s)[1]), "-j", "none", "-s", "malloc,64m")
    until(lambda: connects(port), "varnishd")
    wrk(s, port)
    return server


def unbound(s):
    port = free_port()
    names = ["n%d.example.com" % i for i in range(100)]
    server = s.run("unbound", "-d", "-c", write(s.at("unbound.conf"), UNBOUND % port + "".join(
        '  local-data: "%s. IN A 10.0.0.%d"\n' % (name, i) for i, name in enumerate(names))))
    time.sleep(LOAD_S)
    s.run("dnsperf", "-s", "127.0.0.1", "-p", str(port), "-l", "100000", "-d",
          write(s.at("names"), "".join("%s A\n" % name for name in names)))
    return server


def golang(s):
    port = free_port()
    write(s.at("serve.go"), GO)
    subprocess.run(["go", "build", "-o", s.at("serve"), s.at("serve.go")], check=True, stdout=s.log,
                   stderr=s.log, cwd=s.directory, env=dict(os.environ, GOCACHE=s.at("cache")))
    server = s.run(s.at("serve"), str(port))
    until(lambda: connects(port), "serve")
    wrk(s, port)
    return server


def java(s):
    server = s.run("java", "-Xmx256m", "-XX:+PreserveFramePointer", write(s.at("Blocks.java"), JAVA))
    time.sleep(LOAD_S)
    return server


def node(s):
    return s.run("node", write(s.at("ring.js"), NODE))


def python(s):
    return s.run(sys.executable, write(s.at("pack.py"), PYTHON))


SERVICES = {"redis": (redis, ["redis-server", "redis-benchmark"]), "memcached": (memcached, ["memcached"]),
            "postgres": (postgres, ["postgres", "initdb", "pgbench"]),
            "mariadb": (mariadb, ["mariadbd", "mariadb-install-db", "sysbench"]),
            "haproxy": (haproxy, ["haproxy", "nginx", "wrk"]),
            "varnish": (varnish, ["varnishd", "nginx", "wrk"]),
            "unbound": (unbound, ["unbound", "dnsperf"]),
            "go": (golang, ["go", "wrk"]), "java": (java, ["java"]), "node": (node, ["node"]),
            "python": (python, [])}


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
                # commd writes as the service's user, whose directory this is.
                part, db = s.at("x.rec"), s.at("x.db")
                if subprocess.run([tools["commd"], "-q", *pids, "--overhead", budget, "--duration",
                                   "%gs" % seconds, "--store", db, "--record", part],
                                  stdout=log, stderr=log, check=False).returncode:
                    raise Failed("commd failed, see %s.log" % path)
                shutil.move(part, rec)
                programs.remove(db)
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
    """{by: figures}, {by: the rows of both runs} of what est says."""
    ret, tops, dbs = {}, {}, []
    for i, rec in enumerate(runs):
        db = os.path.join(directory, "%d.db" % i)
        programs.remove(db)
        subprocess.run([tools["commd"], "-q", "--source", "replay:" + rec, "--store", db],
                       stderr=subprocess.DEVNULL, check=False)
        dbs.append(db)
    for by, flags in BY.items():
        flags = [*flags, *stated.flags(est)]
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
                for est in programs.ESTIMATORS:
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

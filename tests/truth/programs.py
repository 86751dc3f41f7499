# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs: estimates against the exact source, for accuracy.py.

Valgrind's run is another run of the same work, so bytes and thread numbers do
not compare; shares do: of what goes from one thread to another, how much goes
between the main thread and workers (role), and from which function to which
(function).  A thread's role is main, or worker; "worker > worker" is another one.
"""
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import time

import compare

KEYS = ["program", "budget", "repeat", "estimator", "by"]
FIELDS = ["error", "recall", "edges", "overhead", "wall_s"]
EXACT_LIMIT_S = 1800
TEXT_BYTES = 1 << 20
PYTHON = """
import queue, threading, zlib
q, done = queue.Queue(8), []
def produce():
    data = bytearray(range(256)) * 256
    for i in range(%d):
        for j in range(0, len(data), 64):
            data[j] = (data[j] * 5 + i) & 255
        q.put(bytes(data))
def consume():
    sums = {}
    while (block := q.get()) is not None:
        sums[zlib.crc32(block)] = [x for x in block[::512]]
    done.append(len(sums))
consumers = [threading.Thread(target=consume) for _ in range(2)]
producers = [threading.Thread(target=produce) for _ in range(2)]
for t in consumers + producers: t.start()
for t in producers: t.join()
for t in consumers: q.put(None)
for t in consumers: t.join()
"""
SQL = """PRAGMA threads=4; PRAGMA cache_size=-2000; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
CREATE TABLE t(a, b);
WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c WHERE x < %d)
INSERT INTO t SELECT hex(x * 7919 %% 1000003) || printf('%%064d', x), hex(x * 104729 %% 999983) FROM c;
CREATE INDEX i ON t(a, b); CREATE INDEX j ON t(b, a);
"""


def text_file(path, n):
    """The same n MiB of words each time."""
    if os.path.exists(path) and os.path.getsize(path) == n * TEXT_BYTES:
        return path
    rng = random.Random(1)
    lexicon = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(4000)]
    with open(path, "w") as f:
        for _ in range(n):
            text = " ".join(rng.choices(lexicon, k=TEXT_BYTES // 5))
            f.write(text[:TEXT_BYTES].ljust(TEXT_BYTES, "."))
    return path


def commands(directory):
    """{name: command}, some seconds of work each.  They leave nothing behind."""
    def text(n):
        return text_file(os.path.join(directory, "text%d" % n), n)

    return {
        "xz": ["xz", "-T4", "-3", "--block-size=1MiB", "-k", "-c", text(16)],
        "pigz": ["pigz", "-p", "4", "-k", "-c", text(96)],
        "sqlite": ["sqlite3", "", SQL % 1200000],
        "python": [os.path.realpath(sys.executable), "-S", "-c", PYTHON % 20000],
    }


def node_roles(report):
    return {n["id"]: "main" if n.get("tid") == n.get("tgid") else
            "worker" if n.get("tid") else n["name"] for n in report["nodes"]}


def edges_by(path, by):
    """{(from, to): bytes} that crossed threads."""
    with open(path) as f:
        report = json.load(f)
    name = node_roles(report) if by == "role" else {n["id"]: n["name"] for n in report["nodes"]}
    edges = {}
    for e in report["edges"]:
        if by == "role" and e["from"] == e["to"]:
            continue
        key = name[e["from"]], name[e["to"]]
        edges[key] = edges.get(key, 0) + float(e["bytes"])
    return edges, report.get("run", {})


def score(est_path, exact_path, by):
    est, run = edges_by(est_path, by)
    true = edges_by(exact_path, by)[0]
    est_sum, true_sum = sum(est.values()), sum(true.values())
    ret = {"error": 2.0, "recall": 0.0, "edges": len(true), "overhead": run.get("overhead_pct")}
    if not true_sum:
        return dict(ret, error=None, recall=None)
    if est_sum:
        ret["error"] = sum(abs(est.get(k, 0) / est_sum - true.get(k, 0) / true_sum)
                           for k in set(est) | set(true))
        ret["recall"] = compare.recall(est, true)
    return ret


def reports(commctl, db, base):
    paths = {}
    for by, flags in ("role", ["--by-thread"]), ("function", ["--by-function", "--across"]):
        paths[by] = "%s.%s.json" % (base, by)
        out = subprocess.run([commctl, "report", "--json", "--min-share", "0", "--top", "0",
                              "--store", db, *flags], capture_output=True, text=True, check=False)
        with open(paths[by], "w") as f:
            f.write(out.stdout.strip() or '{"run":{},"nodes":[],"edges":[]}')
    return paths


def quietly(argv, log, limit_s):
    """Seconds that it took, or None."""
    began = time.monotonic()
    with open(log, "a") as f:
        try:
            status = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=f, timeout=limit_s,
                                    check=False).returncode
        except subprocess.TimeoutExpired:
            f.write("%s: more than %d s\n" % (argv[0], limit_s))
            return None
        f.write("%s: exit %d\n" % (" ".join(argv)[:200], status))
    return time.monotonic() - began if status == 0 else None


def remove(db):
    for suffix in "", "-wal", "-shm", "-lock", "-ballast":
        if os.path.exists(db + suffix):
            os.unlink(db + suffix)


class Programs:
    def __init__(self, tools, directory, args):
        self.tools, self.directory, self.args = tools, directory, args
        self.log = os.path.join(directory, "log")
        self.path = os.path.join(directory, "rows.csv")
        self.done = set()
        if os.path.exists(self.path):
            with open(self.path, newline="") as f:
                self.done = {tuple(row[k] for k in KEYS) for row in csv.DictReader(f)}
        else:
            self.append([KEYS + FIELDS])

    def append(self, rows):
        with open(self.path, "a", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows(rows)

    def exact(self, name, command):
        """Once: paths of the exact run's reports, or None."""
        base = os.path.join(self.directory, name + ".exact")
        paths = {by: "%s.%s.json" % (base, by) for by in ("role", "function")}
        if all(os.path.exists(p) and os.path.getsize(p) > 100 for p in paths.values()):
            return paths
        db = base + ".db"
        remove(db)
        print("%s: exactly, under Valgrind; some minutes" % name, flush=True)
        took = quietly([self.tools["commd"], "-q", "--source", "exact", "--store", db, "--",
                        *command], self.log, EXACT_LIMIT_S)
        if took is None:
            print("  failed, see %s" % self.log, flush=True)
            return None
        paths = reports(self.tools["commctl"], db, base)
        remove(db)
        return paths

    def live(self, name, command, budget, repeat, exact):
        base = os.path.join(self.directory, name)
        db, rec = base + ".db", base + ".rec"
        remove(db)
        print("%s: %s %%, run %d" % (name, budget, repeat), flush=True)
        took = quietly([self.tools["commd"], "-q", "--overhead", budget, "--store", db, "--record",
                        rec, "--estimator", self.args.estimators[0], "--", *command], self.log,
                       EXACT_LIMIT_S)
        if took is None:
            print("  failed, see %s" % self.log, flush=True)
            return 1
        rows = []
        for est in self.args.estimators:
            if est != self.args.estimators[0]:
                remove(db)
                quietly([self.tools["commd"], "-q", "--source", "replay:" + rec, "--estimator", est,
                         "--store", db], self.log, EXACT_LIMIT_S)
            paths = reports(self.tools["commctl"], db, base)
            for by in paths:
                figures = dict(score(paths[by], exact[by], by), wall_s=took)
                rows.append([name, budget, repeat, est, by] +
                            ["" if figures[k] is None else "%.6g" % figures[k] for k in FIELDS])
        self.append(rows)
        remove(db)
        os.unlink(rec)
        return 0

    def fill(self):
        failed = 0
        for name, command in commands(self.directory).items():
            todo = [(b, r) for b in self.args.budgets for r in range(1, self.args.repeats + 1)
                    if any((name, b, str(r), est, by) not in self.done
                           for est in self.args.estimators for by in ("role", "function"))]
            if not todo:
                continue
            if not shutil.which(command[0]):
                print("%s: left out, %s is not installed" % (name, command[0]), flush=True)
                continue
            exact = self.exact(name, command)
            if not exact:
                failed += 1
                continue
            for budget, repeat in todo:
                failed += self.live(name, command, budget, repeat, exact)
        return failed


def fill(tools, out, args):
    """Rows for all that is missing into OUT/programs/rows.csv; how many failed."""
    if not shutil.which("valgrind"):
        print("real programs: left out, Valgrind is not installed", flush=True)
        return 0
    directory = os.path.join(out, "programs")
    os.makedirs(directory, exist_ok=True)
    return Programs(tools, directory, args).fill()

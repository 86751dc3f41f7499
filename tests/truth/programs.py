# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs: estimates against the exact source, for accuracy.py.

Valgrind's run is another run of the same work, so bytes and thread numbers do
not compare; shares do: of what goes from one thread to another, how much goes
between the main thread and workers (role), and from which function to which
(function).  A thread's role is main, or worker; "worker > worker" is another one.

Left out of both is what the loader and pthread_create() write: tables of addresses
and the threads' own descriptors.  It is written once, before any work, and read
all along, so sampling has no chance to see the write.
"""
import csv
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import compare

KEYS = ["program", "budget", "repeat", "estimator", "by"]
FIELDS = ["error", "recall", "edges", "true_crossing", "crossing", "overhead", "wall_s"]
BY = ["role", "function"]
STARTUP = ("_dl_", "pthread_create", "allocate_stack", "__x86_", "init_cacheinfo")
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


def function_name(name, module):
    """The same name for what two machines' libc and two readers of symbols call it."""
    name = name.partition("@")[0]
    base = os.path.basename(module)
    if base and (not name or name == "[%s]" % base or
                 re.match(r"(%s\+)?0x" % re.escape(base), name)):
        return "[%s]" % base
    variant = re.match(r"_*(mem[a-z]+|str[a-z]+)_(avx|sse|evex|erms|unaligned)", name)
    # One piece of code has both names.
    return variant.group(1).replace("memmove", "memcpy") if variant else name


def is_startup(name, module):
    return name.startswith(STARTUP) or os.path.basename(module).startswith("ld-linux")


def read_store(db):
    """{role: {(from, to): bytes}, function: ...} of what crossed threads, and totals."""
    con = sqlite3.connect("file:%s?mode=ro" % db, uri=True)
    try:
        role = {i: "main" if tid == tgid else "worker" for i, tid, tgid in
                con.execute("SELECT id, tid, tgid FROM thread")}
        code = {i: (name, module) for i, name, module in con.execute(
            "SELECT context.id, name, module FROM context JOIN site ON site.id = context.site "
            "JOIN function ON function.id = site.function")}
        reads = con.execute("SELECT sum(unwritten_bytes) FROM slice WHERE level = 0").fetchone()[0]
        ret = {"role": {}, "function": {}, "reads": reads or 0.0, "crossing": 0.0}
        for src, dst, a, b, n in con.execute(
                "SELECT src_thread, dst_thread, src_context, dst_context, sum(edge.bytes) FROM edge JOIN "
                "slice ON slice.id = edge.slice WHERE slice.level = 0 GROUP BY 1, 2, 3, 4"):
            ret["reads"] += n
            writer, reader = code.get(a, ("?", "")), code.get(b, ("?", ""))
            if src == dst or is_startup(*writer):
                continue
            ret["crossing"] += n
            for by, key in (("role", (role.get(src, "?"), role.get(dst, "?"))),
                            ("function", (function_name(*writer), function_name(*reader)))):
                ret[by][key] = ret[by].get(key, 0) + n
        return ret
    finally:
        con.close()


def score(est, exact, by):
    est_sum, true_sum = sum(est[by].values()), sum(exact[by].values())
    ret = {"error": 2.0, "recall": 0.0, "edges": len(exact[by]),
           "true_crossing": exact["crossing"] / exact["reads"] if exact["reads"] else None,
           "crossing": est["crossing"] / est["reads"] if est["reads"] else None}
    if not true_sum:
        return dict(ret, error=None, recall=None)
    if est_sum:
        ret["error"] = sum(abs(est[by].get(k, 0) / est_sum - exact[by].get(k, 0) / true_sum)
                           for k in set(est[by]) | set(exact[by]))
        ret["recall"] = compare.recall(est[by], exact[by])
    return ret


def spent(commctl, db):
    out = subprocess.run([commctl, "report", "--json", "--top", "1", "--store", db],
                         capture_output=True, text=True, check=False).stdout
    return json.loads(out)["run"].get("overhead_pct") if out.strip() else None


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
        """Once, and kept: what read_store() says of the exact run, or None."""
        db = os.path.join(self.directory, name + ".exact.db")
        if not os.path.exists(db + ".done"):
            remove(db)
            print("%s: exactly, under Valgrind; some minutes" % name, flush=True)
            if quietly([self.tools["commd"], "-q", "--source", "exact", "--store", db, "--",
                        *command], self.log, EXACT_LIMIT_S) is None:
                print("  failed, see %s" % self.log, flush=True)
                return None
            with open(db + ".done", "w"):
                pass
        return read_store(db)

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
        rows, overhead = [], spent(self.tools["commctl"], db)
        for est in self.args.estimators:
            if est != self.args.estimators[0]:
                remove(db)
                quietly([self.tools["commd"], "-q", "--source", "replay:" + rec, "--estimator", est,
                         "--store", db], self.log, EXACT_LIMIT_S)
            seen = read_store(db)
            for by in BY:
                figures = dict(score(seen, exact, by), overhead=overhead, wall_s=took)
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
                           for est in self.args.estimators for by in BY)]
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

# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs: estimates against the exact source, for accuracy.py.

Valgrind's run is another run of the same work, so bytes and thread numbers do
not compare; shares do: of what goes from one thread to another, how much goes
between the main thread and workers (role), and from which function to which
(function).  A thread's role is main, or worker; "worker > worker" is another one.

  error   sum |est - true| after scaling each to one: 0 perfect, 2 disjoint
  log2    of the estimated over the true part of all reads that crosses
  own     part of all reads that is of the reader's own data, estimated over true

and what stated.py tells: whether what the report states is true.  By function that is
`commctl report --by-function --across --self`, by role `--by-role --across --self`, all threads
but the first being workers; which of them is which in two runs nobody knows.  Of a program that counts by itself (-fsanitize=thread) rows with an end in a shared library are
left out: its truth has none.

Beside the estimators stand the nearest sampled write in address (address), and two guesses
that need no measurement: uniform, each pair of threads the same (by role only), and self,
nothing crosses.

Left out of both is what the loader and pthread_create() write: tables of addresses
and the threads' own descriptors.  It is written once, before any work, and read
all along, so sampling has no chance to see the write; commd knows most of it all the same, as
[startup].  Shares that a report states are of it, too, so they are compared with all that crosses.
"""
import contextlib
import csv
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import compare
import stated

KEYS = ["program", "budget", "repeat", "estimator", "by"]
FIELDS = ["error", "recall", "edges", "true_crossing", "crossing", "log2", "own", "overhead",
          "wall_s"] + stated.FIELDS
BY = ["role", "function"]
ESTIMATORS = [stated.ESTIMATOR, stated.WATCHED]
STARTUP = ("_dl_", "pthread_create", "[startup]", "allocate_stack", "__x86_", "init_cacheinfo")
EXACT_LIMIT_S = 1800
READER_SHARE = 0.003  # of all reads, that make a thread one of those that a guess is about
TEXT_BYTES = 1 << 20
TEXT_MOST = 64  # MiB that differ; more is the same again, which compressors of so small windows do not see
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
POV = """camera{location<0,2,-6> look_at 0} light_source{<5,8,-8> rgb 1}
light_source{<-5,6,-3> rgb .5}
plane{y,-1 pigment{checker rgb 1 rgb .2} finish{reflection .3}}
#declare i=0; #while(i<300)
sphere{<mod(i*7,20)/4-2.5,mod(i*3,11)/5-1,mod(i*5,17)/4> .3
pigment{rgb<mod(i,3)/2,mod(i,5)/4,mod(i,7)/6>} finish{phong .6 reflection .2}}
#declare i=i+1; #end
"""


def text_file(path, n):
    """The same n MiB of words each time."""
    if os.path.exists(path) and os.path.getsize(path) == n * TEXT_BYTES:
        return path
    rng = random.Random(1)
    lexicon = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(4000)]
    texts = []
    for _ in range(min(n, TEXT_MOST)):
        words = rng.choices(lexicon, k=TEXT_BYTES // 5)
        lines = "\n".join(" ".join(words[i:i + 12]) for i in range(0, len(words), 12))
        texts.append(lines[:TEXT_BYTES - 1].ljust(TEXT_BYTES - 1, ".") + "\n")
    with open(path, "w") as f:
        for i in range(n):
            f.write(texts[i % TEXT_MOST])
    return path


def genome(path, reads_path, n, times=1):
    """A random genome of 2 MB, and so many times n reads of 150 bases from it with 2 % of errors."""
    if os.path.exists(reads_path):
        return
    rng = random.Random(7)
    bases = "".join(rng.choices("ACGT", k=2000000))
    with open(path, "w") as f:
        f.write(">c\n%s\n" % bases)
    reads = []
    for i in range(n):
        at = rng.randrange(len(bases) - 150)
        read = list(bases[at:at + 150])
        for _ in range(3):
            read[rng.randrange(150)] = rng.choice("ACGT")
        reads.append("@r%d\n%s\n+\n%s\n" % (i, "".join(read), "I" * 150))
    with open(reads_path, "w") as f:
        for _ in range(times):
            f.writelines(reads)


def video(path, frames):
    """Gray stripes that move, with noise, 640 x 360."""
    if os.path.exists(path):
        return path
    rng, size = random.Random(1), 640 * 360
    noise = rng.randbytes(2 * size)
    stripes = bytes(i * 3 % 251 // 2 for i in range(2 * size))
    with open(path, "wb") as f:
        f.write(b"YUV4MPEG2 W640 H360 F25:1 Ip A1:1 C420jpeg\n")
        for i in range(frames):
            picture = bytes(a + (b >> 3) for a, b in
                            zip(stripes[2 * i:2 * i + size], noise[i * 7:i * 7 + size]))
            f.write(b"FRAME\n" + picture + bytes([128]) * (size // 2))
    return path


def scene(path):
    if not os.path.exists(path):
        with open(path, "w") as f:
            f.write(POV)
    return path


def commands(directory):
    """{name: (command, the same with less work for the exact run)}.  They leave nothing behind."""
    def at(name):
        return os.path.join(directory, name)

    def text(n):
        return text_file(at("text%d" % n), n)

    def each(command, *works):
        return tuple(command(work) for work in works)

    genome(at("ref.fa"), at("reads.fq"), 300000, 8)
    genome(at("ref.fa"), at("few.fq"), 20000)
    python = os.path.realpath(sys.executable)
    return {
        "lbzip2": each(lambda n: ["lbzip2", "-n", "4", "-k", "-c", text(n)], 448, 4),
        "minimap2": each(lambda reads: ["minimap2", "-t", "4", "-a", "-x", "sr", at("ref.fa"),
                                        at(reads)], "reads.fq", "few.fq"),
        "pbzip2": each(lambda n: ["pbzip2", "-p4", "-b5", "-k", "-c", text(n)], 448, 4),
        "pigz": each(lambda n: ["pigz", "-p", "4", "-k", "-c", text(n)], 1024, 16),
        "povray": each(lambda n: ["povray", "+I" + scene(at("s.pov")), "+W%d" % n, "+H%d" % n,
                                  "-D", "-GA", "+WT4", "+A0.3", "+O/dev/null"], 2200, 140),
        "python": each(lambda n: [python, "-S", "-c", PYTHON % n], 90000, 60),
        # With fewer lines it sorts in one thread.
        "sort": each(lambda n: ["sort", "--parallel=4", "-S", "1G", "-o", "/dev/null", text(n)],
                     448, 24),
        "sqlite": each(lambda n: ["sqlite3", "", SQL % n], 8000000, 100000),
        "x264": each(lambda n: ["x264", "--quiet", "--no-progress", "--threads", "4", "-o",
                                "/dev/null", video(at("v%d.y4m" % n), n)], 500, 24),
        "xz": each(lambda n: ["xz", "-T4", "-3", "--block-size=1MiB", "-k", "-c", text(n)], 128, 4),
        "zstd": each(lambda n: ["zstd", "-q", "-T4", "-9", "-B1048576", "-k", "-c", text(n)],
                     1024, 16),
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


def is_kernel(name, module):
    """Of a system call: what it is for stands in the place of a function."""
    return name.startswith("[") and not module


def read_store(db, est=None, kernel=True):
    """{role: {(from, to): bytes}, function: ...} of what crossed threads, and totals.

    Without kernel, what it wrote for a thread has no writer, and what it read for one is left out."""
    con = sqlite3.connect("file:%s?mode=ro" % db, uri=True)
    try:
        tids = {i: (tid, tgid) for i, tid, tgid in con.execute("SELECT id, tid, tgid FROM thread")}
        role = {i: "main" if tid == tgid else "worker" for i, (tid, tgid) in tids.items()}
        names = {i: (name, pool) for i, name, pool in con.execute("SELECT id, name, role FROM thread")}
        started = {(tids[i][1], names[i][0]) for i in tids if role[i] == "worker"}
        named = {names[i][1] + (" (main)" if role[i] == "main" and
                                (tids[i][1], names[i][0]) in started else ""): role[i] for i in tids}
        code = {i: (name, module) for i, name, module in con.execute(
            "SELECT context.id, name, module FROM context JOIN site ON site.id = context.site "
            "JOIN function ON function.id = site.function")}
        event = con.execute("SELECT event FROM run").fetchone()[0]
        unwritten, count = (("unanswered_bytes", "watched_bytes") if est == stated.WATCHED else
                            ("unwritten_bytes", "bytes"))
        reads = con.execute("SELECT sum(%s) FROM slice WHERE level = 0" % unwritten).fetchone()[0]
        ret = {"role": {}, "function": {}, "reads": reads or 0.0, "crossing": 0.0, "own": 0.0,
               "startup": 0.0, "thread": {}, "named": named, "all_roles": {},
               "libraries": event != "every instrumented access"}
        for src, dst, a, b, n in con.execute(
                "SELECT src_thread, dst_thread, src_context, dst_context, sum(edge.%s) FROM edge JOIN "
                "slice ON slice.id = edge.slice WHERE slice.level = 0 GROUP BY 1, 2, 3, 4" % count):
            writer, reader = code.get(a, ("?", "")), code.get(b, ("?", ""))
            if not kernel and is_kernel(*reader):
                continue
            ret["reads"] += n
            ret["thread"][dst] = ret["thread"].get(dst, 0) + n
            if not kernel and is_kernel(*writer):
                continue
            ret["own"] += n if src == dst else 0
            roles = role.get(src, "?"), role.get(dst, "?")
            if src == dst:
                continue
            ret["all_roles"][roles] = ret["all_roles"].get(roles, 0) + n
            if is_startup(*writer):
                ret["startup"] += n
                continue
            ret["crossing"] += n
            for by, key in (("role", roles),
                            ("function", (function_name(*writer), function_name(*reader)))):
                ret[by][key] = ret[by].get(key, 0) + n
        live = [i for i, n in ret["thread"].items() if n > READER_SHARE * ret["reads"]]
        ret["thread"] = [role.get(i, "?") for i in live]
        return ret
    finally:
        con.close()


def guesses(exact):
    """As read_store(): what the guesses say, of the threads that the exact run saw read."""
    roles, pairs = exact["thread"], {}
    for i, src in enumerate(roles):
        for j, dst in enumerate(roles):
            if i != j:
                pairs[src, dst] = pairs.get((src, dst), 0) + 1
    share = (len(roles) - 1) / len(roles) if roles else 0
    return {"uniform": {"role": pairs, "reads": 1.0, "crossing": share, "own": 1 - share},
            "self": {"role": {}, "reads": 1.0, "crossing": 0.0, "own": 1.0}}


def functions(a, b, libraries=True):
    """The key of a row between two nodes of a report by function; None: it is left out."""
    if is_startup(a["name"], a.get("module", "")):
        return None
    if not libraries and any(re.search(r"\.so(\.|$)", n.get("module", "")) for n in (a, b)):
        return None
    return function_name(a["name"], a.get("module", "")), function_name(b["name"], b.get("module", ""))


def judged(commctl, db, est, exact):
    """{by: stated.py's figures} of a store that estimator est has made."""
    named, ret = read_store(db, est)["named"], {}

    def roles(a, b):
        return named.get(a["name"], "?"), named.get(b["name"], "?")

    def code(a, b):
        return functions(a, b, exact["libraries"])

    for by, key, true, beside in (("role", roles, exact["all_roles"], 0.0),
                                  ("function", code, exact["function"], exact["startup"])):
        said = stated.report(commctl, db, "--by-" + by, "--across", "--self", *stated.flags(est))
        rows = stated.rows(said, key)
        bursts = min(said.get("range", {}).get("bursts", 0), sum(r.bursts for r in rows.values()))
        if est in stated.BASELINES:
            rows = stated.guess({k: r.bytes for k, r in rows.items()})
        ret[by] = dict(stated.figures(rows, true, beside=beside),
                       floor=stated.floor(exact[by], bursts))
        if by == "role" and est not in stated.BASELINES and exact["reads"]:
            ret[by].update(stated.claims(said, exact["crossing"] / exact["reads"],
                                         exact["own"] / exact["reads"]))
    return ret


def guessed(exact):
    """{guess: figures by role}, stated.py's among them."""
    pairs, roles = {}, exact["thread"]
    for i, src in enumerate(roles):
        for j, dst in enumerate(roles):
            if i != j:
                pairs[i, j] = exact["role"].get((src, dst), 0) / (
                    roles.count(src) * (roles.count(dst) - (src == dst)))
    rest = sum(exact["role"].values()) - sum(pairs.values())
    true = dict(pairs, rest=rest) if rest > 0 else pairs
    return {name: dict(score(said, exact, "role"), **stated.figures(
                stated.guess(dict.fromkeys(pairs, 1) if name == "uniform" else {}), true))
            for name, said in guesses(exact).items()}


def score(est, exact, by):
    est_sum, true_sum = sum(est[by].values()), sum(exact[by].values())
    ret = {"error": 2.0, "recall": 0.0, "edges": len(exact[by]),
           "true_crossing": exact["crossing"] / exact["reads"] if exact["reads"] else None,
           "crossing": est["crossing"] / est["reads"] if est["reads"] else None,
           "log2": None, "own": None}
    if ret["crossing"] and ret["true_crossing"]:
        ret["log2"] = math.log2(ret["crossing"] / ret["true_crossing"])
    if est["reads"] and exact["own"]:
        ret["own"] = est["own"] / est["reads"] / (exact["own"] / exact["reads"])
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


def few_files():
    """Valgrind keeps descriptors beyond the limit for itself, and servers raise theirs as far as they can."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))


def quietly(argv, log, limit_s, command=None):
    """Seconds that it took, or None.  What it writes is read: /dev/null would not."""
    began = time.monotonic()
    with open(log, "a") as f, tempfile.TemporaryFile(dir=os.path.dirname(log)) as out:
        load = command.start(f) if hasattr(command, "start") else None
        try:
            status = subprocess.run(argv, stdout=out, stderr=f, timeout=limit_s, check=False,
                                    preexec_fn=few_files if load else None).returncode
        except subprocess.TimeoutExpired:
            f.write("%s: more than %d s\n" % (argv[0], limit_s))
            return None
        finally:
            if load:
                # Its clients, too: without a server they would go on for ever.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(load.pid, signal.SIGKILL)
                load.wait()
        f.write("%s: exit %d\n" % (" ".join(argv)[:200], status))
    return time.monotonic() - began if status == 0 else None


def remove(db):
    for suffix in "", "-wal", "-shm", "-lock", "-ballast":
        if os.path.exists(db + suffix):
            os.unlink(db + suffix)


class Programs:
    def __init__(self, tools, directory, args, commands_in):
        self.tools, self.directory, self.args = tools, directory, args
        self.commands_in = commands_in
        self.log = os.path.join(directory, "log")
        self.path = os.path.join(directory, "rows.csv")
        self.done = set()
        if os.path.exists(self.path):
            with open(self.path, newline="") as f:
                reader = csv.DictReader(f)
                if reader.fieldnames != KEYS + FIELDS:
                    raise SystemExit("%s has other columns: of another version; remove it" %
                                     self.path)
                self.done = {tuple(row[k] for k in KEYS) for row in reader}
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
                        *command], self.log, EXACT_LIMIT_S, command) is None:
                print("  failed, see %s" % self.log, flush=True)
                return None
            with open(db + ".done", "w"):
                pass
        return read_store(db)

    def live(self, name, command, budget, repeat, exact):
        base = os.path.join(self.directory, name)
        db, rec = base + ".db", "%s.%s.%s.rec" % (base, budget, repeat)
        remove(db)
        print("%s: %s %%, run %d" % (name, budget, repeat), flush=True)
        took = quietly([self.tools["commd"], "-q", "--overhead", budget, "--store", db, "--record",
                        rec, "--", *command], self.log,
                       EXACT_LIMIT_S, command)
        if took is None:
            print("  failed, see %s" % self.log, flush=True)
            return 1
        rows, overhead = [], spent(self.tools["commctl"], db)
        for est in ESTIMATORS + stated.BASELINES:
            if est != stated.ESTIMATOR:
                remove(db)
                quietly([*stated.replays(self.tools, est), "-q", "--source", "replay:" + rec,
                         "--store", db], self.log, EXACT_LIMIT_S)
            seen, judgement = read_store(db, est), judged(self.tools["commctl"], db, est, exact)
            for by in BY:
                figures = dict(score(seen, exact, by), **judgement[by], overhead=overhead,
                               wall_s=took)
                rows.append([name, budget, repeat, est, by] +
                            ["" if figures[k] is None else "%.6g" % figures[k] for k in FIELDS])
        for guess, figures in guessed(exact).items():
            figures.update(overhead=None, wall_s=None)
            rows.append([name, budget, repeat, guess, "role"] +
                        ["" if figures[k] is None else "%.6g" % figures[k] for k in FIELDS])
        self.append(rows)
        remove(db)
        if not self.args.keep:
            os.unlink(rec)
        return 0

    def fill(self):
        failed = 0
        for name, (command, less) in self.commands_in(self.directory).items():
            todo = [(b, r) for b in self.args.budgets for r in range(1, self.args.repeats + 1)
                    if any((name, b, str(r), est, by) not in self.done
                           for est in ESTIMATORS for by in BY)]
            if not todo:
                continue
            if not shutil.which(command[0]):
                print("%s: left out, %s is not installed" % (name, command[0]), flush=True)
                continue
            exact = self.exact(name, less)
            if not exact:
                failed += 1
                continue
            for budget, repeat in todo:
                failed += self.live(name, command, budget, repeat, exact)
        return failed


def fill(tools, out, args, commands_in=commands):
    """Rows for all that is missing into OUT/programs/rows.csv; how many failed."""
    if not shutil.which("valgrind"):
        print("real programs: left out, Valgrind is not installed", flush=True)
        return 0
    directory = os.path.join(out, "programs")
    os.makedirs(directory, exist_ok=True)
    return Programs(tools, directory, args, commands_in).fill()

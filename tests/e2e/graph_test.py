# SPDX-License-Identifier: GPL-2.0-or-later
"""commctl graph and export against what commctl report says of the same store.

Usage: graph_test.py COMMCTL DIRECTORY-OF-STORES
"""
import contextlib
import csv
import io
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unicodedata
from xml.etree import ElementTree

CTL, HERE = os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(__file__))
os.chdir(sys.argv[2])
SVG = "{http://www.w3.org/2000/svg}"
GROUPINGS = ["thread", "function", "object", "line", "role"]
numbers = {"ok": 0, "failed": 0}


def run(*args, code=0, env=None):
    it = subprocess.run([CTL, *args], capture_output=True, env=env)
    assert it.returncode == code, f"exit {it.returncode}, not {code}: {' '.join(args)}: {it.stderr.decode()}"
    text = it.stdout.decode("utf-8")
    bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cn", "Zl", "Zp")}
    assert not bad, f"unseen characters {bad} of {' '.join(args)}"
    return text if code == 0 else it.stderr.decode("utf-8")


def report(store, *args):
    return json.loads(run("report", "--store", store, "--json", *args))


def graph(store, *args, **more):
    return run("graph", store, *args, **more)


def test(function):
    try:
        skipped = function()
        print(f"ok - {function.__name__}" + (f" # SKIP {skipped}" if skipped else ""))
    except Exception as error:  # a test that cannot be evaluated has failed
        numbers["failed"] += 1
        print(f"not ok - {function.__name__}\n#  {type(error).__name__}: {error}")
    return function


NODE = re.compile(r'^ +"(p\d+\.\w+)" \[shape=(\w+), label="(.*?)", tooltip="(.*?)"(, style=filled.*)?\];$')
EDGE = re.compile(r'^ +"(p\d+\.\w+)" -> "(p\d+\.\w+)" \[label=" (.*?) ", penwidth=([\d.]+), color="(#\w{6})"(, style=dashed)?\];$')


def parse_dot(text):
    nodes = [m.groups() for m in map(NODE.match, text.splitlines()) if m]
    edges = [m.groups() for m in map(EDGE.match, text.splitlines()) if m]
    assert text.count("\n") >= len(nodes) + len(edges)
    return nodes, edges


def pictures(text):
    """The texts, tooltips and hatched tooltips of a picture of ours."""
    root = ElementTree.fromstring(text)
    assert root.tag == SVG + "svg" and root.get("role") == "img"
    assert not [e for e in root.iter() if e.tag not in {SVG + tag for tag in
                "svg title defs pattern rect text g".split()}], "an element that no picture has"
    for e in root.iter():
        for name in ("x", "y", "width", "height"):
            assert e.get(name) is None or re.fullmatch(r"-?\d+(\.\d+)?|100%", e.get(name)), (name, e.get(name))
    cells = [g for g in root.iter(SVG + "g") if g.find(SVG + "title") is not None]
    return ([t.text or "" for t in root.iter(SVG + "text")], [g.find(SVG + "title").text for g in cells],
            [g.find(SVG + "title").text for g in cells if "url(#unresolved)" in [r.get("fill") for r in g]])


@test
def usage():
    for bad in (["--as", "x"], ["--svg", "--as", "dot"], ["--min-share", "x"], ["--min-bytes", "x"], ["--min-bytes", "1MM"],
                ["--phases=soon"], ["--phases=0"], ["--top", "x"], ["--by", "weekday"], ["--to", "0"], ["--confidence", "0"]):
        assert "commctl graph" in run("graph", "redis.db", *bad, code=2), bad
    assert "no such file" in run("graph", "none.db", code=1)
    assert "no run" in run("graph", "empty.db", code=3)
    assert "no run 7" in run("graph", "redis.db:7", code=3)
    assert "no thread" in run("graph", "redis.db", "--writer", "nobody", code=3)
    run("graph", "redis.db", "-o", "/no/such/folder", code=1)
    for name in re.search("choose one of (.*)", run("graph", "redis.db", "--as", "", code=2))[1].split():
        assert f"{name} " in run("graph", "--help")


@test
def dot_says_what_the_report_says():
    for by in GROUPINGS:
        # Rounding, where a share is just at the threshold, must not decide.
        want = [e for e in report("redis.db", "--by", by)["edges"] if e["share"] >= 0.01][:60]
        nodes, edges = parse_dot(graph("redis.db", "--by", by))
        assert [(a, b) for a, b, *_ in edges] == [("p0." + e["from"], "p0." + e["to"]) for e in want], by
        assert [bool(e[5]) for e in edges] == [not e["resolved"] for e in want]
        assert ["?" in e[2] for e in edges] == [not e["resolved"] for e in want]
        assert all(re.fullmatch(r"[\d.]+ \wiB( \?)?( \\n|\\n) ?[\d.]+\.\.[\d.]+ \wiB", e[2].strip()) for e in edges), edges
        assert {a for a, *_ in nodes} == {end for e in edges for end in e[:2]}
        widths = [(e["bytes"], float(edge[3])) for e, edge in zip(want, edges)]
        assert all(a[1] >= b[1] for a in widths for b in widths if a[0] > b[0]), "a larger edge is thinner"
    nodes, edges = parse_dot(graph("exact.db"))
    assert not [e for e in edges if ".." in e[2] or e[5]]


@test
def shapes_and_heat():
    kinds = {"f": "oval", "o": "box"}
    nodes, edges = parse_dot(graph("redis.db", "--by-function", "--objects"))
    assert {(kinds[name[3]], shape) for name, shape, *_ in nodes} == {("oval", "oval"), ("box", "box")}
    assert all({a[3], b[3]} == {"f", "o"} for a, b, *_ in edges)
    hot = {label.split("\\n")[0] for _, _, label, _, filled in nodes if filled}
    assert "[heap]" in hot and "serverCron" not in hot and "server" not in hot, hot
    assert {shape for _, shape, *_ in parse_dot(graph("redis.db"))[0]} == {"hexagon"}


@test
def regions_have_their_length():
    def labels(store, *args):
        return {label for _, _, label, *_ in parse_dot(graph(store, "--by-region", *args))[0]}

    assert labels("regions.db") == {"parse\\n24 s CPU time", "answer\\n6 s CPU time"}, labels("regions.db")
    # Of what is drawn: of each phase its own.
    assert labels("regions.db", "--from", "20s", "--to", "40s") == {"parse\\n8 s CPU time", "answer\\n2 s CPU time"}
    assert labels("regions.db", "--thread", "reader") == labels("regions.db")
    assert labels("uncounted.db") == {"parse", "answer"}
    assert labels("regions.db", "--objects") == {"parse", "answer", "[heap]\\n4.00 KiB"}
    assert graph("empty.db", "--by-region", code=3).count("\n") == 1


@test
def regions_are_as_wide_as_long():
    # 100 and 50 instructions in each slice: thread, site, object, sum and what is first.
    shutil.copy("regions.db", "instructions.db")
    with contextlib.closing(sqlite3.connect("instructions.db")) as db:
        db.execute("INSERT INTO counter VALUES (9, 'instructions')")
        db.execute("INSERT INTO length SELECT 1, id, 9, 0, x'01020064000103003200' FROM slice WHERE level = 0")
        db.commit()
    drawn = graph("instructions.db", "regions.db", "--by-region")
    assert sorted(re.findall(r'label="(\w+)\\n([^"]*)", .* width=([\d.]+)', drawn)) == [
        ("answer", "3,000 instructions", "3.00"), ("answer", "6 s CPU time", "1.50"),
        ("parse", "24 s CPU time", "6.00"), ("parse", "6,000 instructions", "6.00")], drawn


@test
def thresholds():
    edges = report("redis.db")["edges"]
    at = sorted(e["bytes"] for e in edges)[-4]
    large = [e for e in edges if e["bytes"] >= 1e9]
    assert 0 < len(large) < len(edges)
    assert len(parse_dot(graph("redis.db", "--min-share", "0", "--min-bytes", "1000000000"))[1]) == len(large)
    # A step of 1000 instead of 1024 would let it pass.
    assert len(parse_dot(graph("redis.db", "--min-bytes", f"{at * 1.02 / 2**20:.9f}M"))[1]) == 3
    assert len(parse_dot(graph("redis.db", "--top", "2"))[1]) == 2
    text = graph("redis.db", "--resolved", "--min-share", "0")
    assert len(parse_dot(text)[1]) == sum(e["resolved"] for e in edges) and "dashed]" not in text
    assert len(parse_dot(graph("unseen.db"))[1]) == 0


@test
def the_label_owns_up():
    it = report("redis.db")
    label = re.search(r'label="(.*?)"', graph("redis.db"))[1]
    for words in (f"not confirmed (?): {it['range']['edges_unresolved']} edges", "writer not seen for", "unmapped 240",
                  "cost 0.84 % of the target's CPU time", "redis-server *:6379", "0 s to 60 s", "of 16 edges"):
        assert words in label, (words, label)
    assert "counted, not estimated" in graph("exact.db")


@test
def phases():
    text = graph("redis.db", "--phases", "--min-share", "0")
    titles = re.findall(r'subgraph cluster_(\d) {\n +graph \[label="run 1, (.*?) to (.*?)\\l', text)
    assert titles == [("0", "0 s", "15 s"), ("1", "15 s", "30 s"), ("2", "30 s", "45 s"), ("3", "45 s", "60 s")], titles
    parts = json.loads(graph("redis.db", "--phases", "--as", "json"))["panels"]
    for i, part in enumerate(parts):
        want = report("redis.db", "--from", f"{15 * i}s", "--to", f"{15 * i + 15}s")
        assert part["edges"] == want["edges"] and part["range"] == want["range"]
        assert text.count(f'"p{i}.t') and part["title"] == f"run 1, {titles[i][1]} to {titles[i][2]}"
    assert len(parse_dot(text)[1]) == sum(len(part["edges"]) for part in parts)
    # Slices are whole, and what is left over makes no phase of its own.
    ends = [p["range"]["to_ns"] // 10**9 for p in json.loads(graph("redis.db", "--phases=7s", "--as", "json"))["panels"]]
    assert ends == [7, 14, 21, 28, 35, 42, 49, 56, 60], ends
    ends = [p["range"]["to_ns"] // 10**9 for p in json.loads(graph("redis.db", "--phases=11s", "--as", "json"))["panels"]]
    assert ends == [11, 22, 33, 44, 60], ends
    # Too short for a phase that could be checked: it is drawn as one.
    assert "subgraph" not in graph("short.db", "--phases")
    # What changes after 30 s is found; a length that the user gives is not moved to it.
    spans = lambda *args: [(p["range"]["from_ns"] // 10**9, p["range"]["to_ns"] // 10**9)
                           for p in json.loads(graph("turn.db", "--as", "json", *args))["panels"]]
    assert spans("--phases") == [(0, 30), (30, 60)]
    assert spans("--phases", "--from", "20s", "--to", "50s") == [(20, 30), (30, 50)]
    assert spans("--phases=20s") == [(0, 20), (20, 40), (40, 60)]
    # Within one phase there is nothing to find.
    assert len(spans("--phases", "--from", "30s")) == 4


@test
def frames():
    def titles(*args):
        it = json.loads(graph("marked.db", "--as", "json", *args))
        return [p["title"].replace("run 1, ", "") for p in it.get("panels", [])]

    # Ten begin in each slice of a second, the first minute long.
    pieces = lambda first, last, each: [f"frames {n} to {n + each - 1}" for n in range(first, last, each)]
    assert titles("--frames") == pieces(1, 600, 150), titles("--frames")
    # Slices are whole; what is left over makes no phase of its own.
    assert titles("--frames=1") == pieces(1, 600, 10)
    assert titles("--frames=95") == pieces(1, 600, 100)
    assert titles("--frames=180") == ["frames 1 to 180", "frames 181 to 360", "frames 361 to 600"], titles("--frames=180")
    # They are numbered from the beginning of the run, of whatever is drawn.
    assert titles("--frames=50", "--from", "20s", "--to", "40s") == pieces(201, 400, 50)
    part = json.loads(graph("marked.db", "--as", "json", "--frames=100"))["panels"][1]
    assert part["edges"] == report("marked.db", "--from", "10s", "--to", "20s")["edges"]
    texts, cells, _ = pictures(graph("marked.db", "--as", "streams", "--frames=50"))
    rows = [t for t in texts if " > " in t]
    assert len(rows) == 2 and len(cells) == 12 * 2, (rows, len(cells))
    at = texts.index("frame 1")
    assert texts[at:at + 5] == ["frame 1", "151", "301", "451", "600"], texts
    assert any(t.endswith("iB/frame") for t in texts) and not any(t.endswith("/s") for t in texts), texts
    # Twelve pieces of equally many frames: one is left out at either end.
    sizes = {"B": 1, "KiB": 2**10, "MiB": 2**20}
    for row in rows:
        text = next(t for t in texts[texts.index(row):] if "; 8 of 10 frames " in t)
        low, high, unit = re.search(r"frames ([\d.]+)\.\.([\d.]+) (\w+)$", text).groups()
        each = sorted(float(m[1]) * sizes[m[2]] / 50 for m in
                      (re.search(r": ([\d.]+) (\w+) \(", c) for c in cells if c.startswith(row + ":")))
        assert len(each) == 12, each
        for shown, want in ((low, each[1]), (high, each[10])):
            assert math.isclose(float(shown) * sizes[unit], want, rel_tol=0.06), (text, each)
    for args in ([], ["--as", "streams"]):
        assert "has no frames" in graph("redis.db", "--frames", *args, code=3)
    for bad in (["--frames=0"], ["--frames=x"], ["--frames", "--phases"], ["--frames", "--acyclic"]):
        assert graph("marked.db", *bad, code=2), bad


@test
def acyclic():
    whole = report("turn.db", "--by", "thread,phase", "--across")
    names = {n["id"]: n["name"] for n in whole["nodes"]}
    # The turn is found; what was written before it and read after it is not lost.
    assert {n["from_ns"] // 10**9 for n in whole["nodes"] if "to_ns" in n} == {0, 30}, whole["nodes"]
    assert any("phase 1" in names[e["from"]] and "phase 2" in names[e["to"]] for e in whole["edges"])
    it = json.loads(graph("turn.db", "--acyclic", "--as", "json", "--top", "0", "--min-share", "0"))["graphs"][0]
    assert math.isclose(sum(e["bytes"] for e in it["edges"]), whole["range"]["total_bytes"], rel_tol=1e-9)
    at = {n["id"]: n.get("at_ns", -1) for n in it["nodes"]}
    assert len(at) == len(it["nodes"]) and set(at.values()) == {-1, 0, 30 * 10**9, 60 * 10**9}, at
    spans = {(at[e["from"]], at[e["to"]]) for e in it["edges"]}
    assert all(a < b for a, b in spans), spans
    assert (0, 30 * 10**9) in spans and (0, 60 * 10**9) in spans and (-1, 60 * 10**9) in spans, spans
    text = graph("turn.db", "--acyclic", "--min-share", "0", "--top", "0")
    assert sorted(re.findall(r'^ +"p0\.([^"]+)" \[shape=hexagon', text, re.M)) == sorted(at)
    assert sorted(re.findall(r'^ +"p0\.([^"]+)" -> "p0\.([^"]+)" \[label', text, re.M)) == sorted((e["from"], e["to"]) for e in it["edges"])
    # Phases of a given length.
    it = json.loads(graph("turn.db", "--acyclic", "--phases=20s", "--as", "json", "--top", "0", "--min-share", "0"))["graphs"][0]
    assert math.isclose(sum(e["bytes"] for e in it["edges"]), whole["range"]["total_bytes"], rel_tol=1e-9)
    assert {n.get("at_ns", -1) // 10**9 for n in it["nodes"]} == {-1, 0, 20, 40, 60}, it["nodes"]
    assert "more than 64 pieces" in graph("turn.db", "--acyclic", "--phases=0.5s", code=1)
    # Nothing is known of when: each edge begins before all moments.
    it = json.loads(graph("redis.db", "--acyclic", "--as", "json"))["graphs"][0]
    assert all(e["from"].endswith("@?") for e in it["edges"]) and it["edges"]
    for args in (["--phases"], ["--objects"], ["--as", "matrix"]):
        assert "--acyclic is drawn as" in graph("turn.db", "--acyclic", *args, code=2)


@test
def json_of_one_is_the_report():
    assert graph("redis.db", "--as", "json") == run("report", "--store", "redis.db", "--json")


@test
def several_runs():
    parts = json.loads(run("graph", "redis.db", "threads.db:1", "--as", "json"))["panels"]
    assert [p["title"] for p in parts] == ["run 1: redis-server *:6379 (pid 4242)", "run 1: ring 64"]
    assert parts[1]["edges"] == report("threads.db")["edges"]
    assert [p["title"] for p in json.loads(run("graph", "--store", "redis.db", "1", "1", "--as", "json"))["panels"]] == \
        [parts[0]["title"]] * 2
    shutil.copy("redis.db", "labelled.db")
    run("label", "--store", "labelled.db", "1", "four threads")
    it = json.loads(run("graph", "labelled.db:four threads", "exact.db", "--as", "json"))["panels"]
    assert it[0]["title"] == "run 1: four threads" and it[0]["edges"] == parts[0]["edges"]
    assert len(re.findall("subgraph cluster", run("graph", "redis.db", "exact.db"))) == 2


@test
def graphml_is_read_by_networkx():
    try:
        import networkx
    except ImportError:
        return "networkx is not installed"
    for store in ("redis.db", "hostile.db", "markup.db", "threads.db"):
        for by in GROUPINGS:
            want = report(store, "--by", by)
            run("graph", store, "--by", by, "--as", "graphml", "-o", "g.graphml")
            it = networkx.read_graphml("g.graphml")
            assert it.is_directed() and set(it.nodes) == {n["id"] for n in want["nodes"]}
            assert {n: d["name"] for n, d in it.nodes(data=True)} == {n["id"]: n["name"] for n in want["nodes"]}
            assert {(a, b): (d["bytes"], d["low"], d["high"], d["resolved"]) for a, b, d in it.edges(data=True)} == \
                {(e["from"], e["to"]): (e["bytes"], e["low"], e["high"], e["resolved"]) for e in want["edges"]}
            assert "lost: unmapped 240" in it.graph["notes"]
    run("graph", "redis.db", "--phases", "--as", "graphml", "-o", "g.graphml")
    it = networkx.read_graphml("g.graphml")
    parts = json.loads(graph("redis.db", "--phases", "--as", "json"))["panels"]
    assert it.number_of_edges() == sum(len(p["edges"]) for p in parts)
    assert {d["panel"] for _, d in it.nodes(data=True)} == {p["title"] for p in parts}


@test
def graphviz_draws_it():
    if not shutil.which("dot"):
        return "Graphviz is not installed"
    # Names arrive as they are: no markup, no entity, no end of a string.
    for store in ("redis.db", "hostile.db", "markup.db"):
        for by in ("thread", "function", "object"):
            for more in ([], ["--phases"]):
                text = graph(store, "--by", by, "--svg", *more)
                root = ElementTree.fromstring(text)
                texts = {"".join(e.itertext()).strip() for e in root.iter(SVG + "text")}
                wide = {e.get("{http://www.w3.org/1999/xlink}title") for e in root.iter(SVG + "a")}
                if store == "markup.db" and by == "thread":
                    assert {"</script><b>", "<!--<script>"} <= texts & wide, texts
                if store == "markup.db" and by == "object":
                    assert "javascript:owned()&lt;" in texts, texts
                assert not [e for e in root.iter() if e.tag in (SVG + "script", SVG + "image")]
                assert any("lost: unmapped 240" in t for t in texts), texts
    assert len(ElementTree.fromstring(graph("redis.db", "--svg")).findall(f".//{SVG}g[@class='edge']")) == 7
    graph("many.db", "--svg")


@test
def without_graphviz():
    said = run("graph", "redis.db", "--svg", code=1, env={"PATH": "/nonexistent", "LC_ALL": "C"})
    assert "dot" in said and "not installed" in said and said.count("\n") == 1, said
    run("graph", "redis.db", "--as", "matrix", env={"PATH": "/nonexistent", "LC_ALL": "C"})


def name_of(it, key):
    return next(n["name"] for n in it["nodes"] if n["id"] == key)


@test
def matrices():
    it = report("redis.db")
    texts, cells, hatched = pictures(graph("redis.db", "--as", "matrix"))
    assert len(cells) == len(it["edges"]) and len(hatched) == it["range"]["edges_unresolved"]
    for e in it["edges"]:
        want = f"{name_of(it, e['from'])} > {name_of(it, e['to'])}: "
        here = [c for c in cells if c.startswith(want)]
        assert len(here) == 1 and (here[0] in hatched) == here[0].endswith("not confirmed") == (not e["resolved"])
    assert any("lost: unmapped 240" in t for t in texts)
    # Threads in the order in which they were made, in rows and in columns.
    names = [t for t in texts if t in {n["name"] for n in it["nodes"]}]
    rows = [n for i, n in enumerate(names) if not i % 2]
    assert rows == names[1::2] == ["redis-server", "bio_aof", "bio_lazy_free", "io_thd_1", "io_thd_2", "io_thd_3",
                                   "jemalloc_bg_thd", "(other)"], names
    assert len(pictures(graph("redis.db", "--as", "matrix", "--phases"))[1]) == 4 * len(it["edges"])
    assert len(pictures(run("graph", "redis.db", "exact.db", "threads.db", "--as", "matrix"))[1]) == 16 + 16 + 64
    texts, cells, _ = pictures(graph("many.db", "--as", "matrix"))
    assert any("136 nodes with the least are left out" in t for t in texts) and 0 < len(cells) < 64
    assert not pictures(graph("unseen.db", "--as", "matrix"))[1]


@test
def streams():
    it = report("turn.db")
    texts, cells, hatched = pictures(graph("turn.db", "--as", "streams"))
    rows = [t for t in texts if " > " in t]
    assert rows == [f"{name_of(it, e['from'])} > {name_of(it, e['to'])}" for e in it["edges"]], rows
    assert len(cells) == 15 * len(rows) and hatched
    # What changes in the middle of the run does in the picture.
    sizes = {"KiB": 1, "MiB": 2**10, "GiB": 2**20}
    here = [re.search(r": ([\d.]+) (\w+)", c) for c in cells if c.startswith("io_thd_1 > redis-server")]
    rates = [float(m[1]) * sizes[m[2]] for m in here]
    assert len(rates) == 15 and min(rates[8:10]) > 3 * max(rates[:7]), rates
    assert len(pictures(graph("turn.db", "--as", "streams", "--phases=30s"))[1]) == 2 * len(rows)
    assert len(pictures(graph("short.db", "--as", "streams"))[1]) == len(rows)
    # One thread's data: who reads it, and where.
    rows = [t for t in pictures(graph("turn.db", "--as", "streams", "--writer", "io_thd_1"))[0] if " > " in t]
    assert rows == ["io_thd_1 > redis-server", "io_thd_1 > io_thd_2"], rows
    texts = pictures(graph("turn.db", "--as", "streams", "--writer", "io_thd_1", "--by-function"))[0]
    assert any(t.startswith("[kernel] > process") for t in texts) and not any("dictAddRaw" in t for t in texts)
    assert len(pictures(run("graph", "turn.db", "exact.db", "--as", "streams", "--top", "3"))[1]) == 2 * 3 * 15


@test
def hostile_names_stay_text():
    for store in ("hostile.db", "markup.db"):
        for by in GROUPINGS:
            for form in ("matrix", "streams"):
                texts, cells, _ = pictures(graph(store, "--as", form, "--by", by))
                assert cells
                if store == "markup.db" and by == "thread":
                    assert any("</script><b> > <!--<script>" in c for c in cells), cells


def trace(store, *args):
    run("export", "--store", store, "--as", "perfetto", "-o", "t.pftrace", *args)
    reader = [sys.executable, "-B", f"{HERE}/trace_proto.py", "t.pftrace"]
    return json.loads(subprocess.run(reader, check=True, capture_output=True).stdout)


@test
def perfetto():
    it = trace("redis.db")
    threads = {t["name"]: t for t in it["tracks"] if t["kind"] == "thread"}
    assert threads["io_thd_1"]["tid"] == 4246 and threads["io_thd_1"]["pid"] == 4242
    assert [t["name"] for t in it["tracks"] if t["kind"] == "process"] == ["redis-server"]
    start = 5000 * 10**9
    assert sorted({p[1] - start for p in it["phases"]}) == [i * 4 * 10**9 for i in range(15)]
    # Each arrow is an edge that the report of its phase resolves, with its numbers.
    for from_s in (0, 40):
        want = report("redis.db", "--from", f"{from_s}s", "--to", f"{from_s + 4}s")
        flows = [f for f in it["flows"] if f["from"]["phase"] == start + from_s * 10**9]
        assert [(f["from"]["thread"], f["to"]["thread"], f"{f['to']['low']:.9g}") for f in flows] == \
            [(name_of(want, e["from"]), name_of(want, e["to"]), f"{e['low']:.9g}") for e in want["edges"] if e["resolved"]], from_s
    want = report("redis.db", "--from", "0s", "--to", "4s")["edges"]
    rate = [c for c in it["counts"] if c[0] == "redis-server > io_thd_1 bytes/s"]
    assert len(rate) == 16 and rate[-1][2] == 0 and rate[-1][1] == start + 60 * 10**9
    assert any(abs(e["bytes"] / 4 - rate[0][2]) < 1 for e in want)
    assert len([t for t in it["tracks"] if t["kind"] == "counter"]) == sum(e["resolved"] for e in report("redis.db")["edges"])
    assert "unmapped 240" in it["about"][0]["price"] and "not confirmed" in it["about"][0]["known"]
    assert {f["from"]["resolved"] for f in it["flows"]} == {True}
    assert {f["from"]["resolved"] for f in trace("redis.db", "--all")["flows"]} == {True, False}
    assert "low" not in trace("exact.db")["flows"][0]["from"]
    assert trace("short.db", "--all")["phases"]
    for store in ("hostile.db", "markup.db", "many.db"):
        trace(store, "--all")
    if shutil.which("protoc"):
        with open("t.pftrace", "rb") as file:
            subprocess.run(["protoc", "--decode_raw"], stdin=file, check=True, stdout=subprocess.DEVNULL)
    assert "--by" in run("export", "--store", "redis.db", "--as", "perfetto", "--by", "role", "-o", "x", code=2)


@test
def matrices_as_csv():
    for by in GROUPINGS:
        want = report("redis.db", "--by", by, "--across")
        rows = list(csv.reader(io.StringIO(run("export", "--store", "redis.db", "--as", "matrix", "--by", by))))
        assert [r[0] for r in rows[1:]] == rows[0][1:] and {len(r) for r in rows} == {len(rows)}
        cells = [c for row in rows[1:] for c in row[1:]]
        values = sorted(round(e["bytes"]) for e in want["edges"] if e["resolved"])
        # JSON has ten digits.
        shown = sorted(int(c) for c in cells if c)
        assert len(shown) == len(values) > 0 and all(abs(a - b) <= 1 + 1e-9 * b for a, b in zip(shown, values)), by
    rows = list(csv.reader(io.StringIO(run("export", "--store", "threads.db", "--as", "matrix"))))
    assert rows[0][1:4] == ["worker/100", "worker/101", "worker/102"] and rows[1][2] and not rows[1][3]
    # Numbers in names are numbers.
    rows = list(csv.reader(io.StringIO(run("export", "--store", "redis.db", "--as", "matrix", "--by", "line", "--all"))))
    lines = [int(m[1]) for m in (re.match(r"networking.c:(\d+) ", r[0]) for r in rows) if m]
    assert lines == sorted(lines) and lines[0] < 1000 < lines[-1], lines
    text = run("export", "--store", "hostile.db", "--as", "matrix", "--by", "function", "--all")
    assert "\"'=cmd" in text and not re.search('"[=+@-]', text)
    assert sum(bool(c) for r in csv.reader(io.StringIO(run("export", "--store", "redis.db", "--as", "matrix", "--all"))) for c in r[1:]) \
        > 2 * 8
    run("export", "--store", "redis.db", "--as", "matrix", "--by", "weekday", code=2)


sys.exit(numbers["failed"] > 0)

# SPDX-License-Identifier: GPL-2.0-or-later
"""python_test.py COMMCTL STORES TESTS-BEFORE: see python.sh; in TAP."""
import errno
import importlib.util
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unicodedata

import commprof

COMMCTL, DIR = sys.argv[1:3]
done = int(sys.argv[3])
failed = 0


def check(result, name, why=""):
    global done, failed
    done += 1
    failed += not result
    print(("" if result else "not ") + f"ok {done} - {name}" + (f": {str(why)[:900]!r}" if not result else ""), flush=True)


def skip(name, why):
    global done
    done += 1
    print(f"ok {done} - {name} # SKIP {why}")


def path(kind):
    return f"{DIR}/{kind}.db"


def say(command, *args):
    return json.loads(subprocess.run([COMMCTL, command, *args, "--json"], check=True, capture_output=True).stdout)


def shown(text):
    """As commctl shows text: an escape in place of what is not to be shown, and of bytes that are no UTF-8."""
    def one(char):
        if "\udc80" <= char <= "\udcff":
            return f"\\x{ord(char) - 0xdc00:02x}"
        if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") or ord(char) & 0xfffe == 0xfffe:
            return f"\\x{ord(char):02x}" if ord(char) < 0x80 else f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
        return char
    return "".join(map(one, text))


def differences(said, got, where=""):
    """What JSON says that an object, or a function of the member's name, does not say, too. Numbers have ten digits there."""
    found = []
    for name, value in said.items():
        mine = got(name)
        if isinstance(value, str):
            same = shown(mine) == value
        elif isinstance(value, float) and not isinstance(mine, bool):
            same = math.isclose(mine, value, rel_tol=1e-9, abs_tol=1e-300)
        else:
            same = mine == value or (isinstance(mine, float) and math.isclose(mine, value, rel_tol=1e-9))
        if not same:
            found.append(f"{where} {name}: {mine!r} is not {value!r}")
    return found


def members(one, **other):
    """Members by the names of JSON, and those whose names or units differ."""
    return lambda name: other[name] if name in other else getattr(one, name)


def compare_nodes(said, report):
    found, by_id = [], {node.id: node for node in report.nodes}
    if len(by_id) != len(report.nodes):
        found.append("two nodes have one id")
    for one in said["nodes"]:
        node = by_id.pop(one["id"])
        pair = {"main_writer": report.nodes[node.main_writer].id, "main_reader": report.nodes[node.main_reader].id}
        found += differences(one, members(node, kind=node.kind_name, **pair), one["id"])
    used = {report.nodes[i].id for edge in report.edges for i in (edge.from_, edge.to)}
    return found + [f"{name} is in no list" for name in used & set(by_id)]


def compare_edges(said, report):
    found = []
    if len(said["edges"]) != len(report.edges):
        found.append(f"{len(report.edges)} edges, not {len(said['edges'])}")
    for one, edge in zip(said["edges"], report.edges):
        origins = one.pop("origin", {})
        found += differences(one, members(edge, **{"from": report.nodes[edge.from_].id, "to": report.nodes[edge.to].id,
                                                   "loads": edge.origin_loads}), "edge")
        mine = report.origins[edge.first_origin:edge.first_origin + edge.n_origins] if edge.n_origins else ()
        if list(origins) != [origin.name for origin in mine]:
            found.append(f"origins {mine}")
        for origin in mine:
            found += differences(origins[origin.name], members(origin), origin.name)
    return found


def compare_census(said, report):
    rows, found = said.get("census", []), []
    if len(rows) != len(report.census):
        found.append(f"{len(report.census)} rows, not {len(rows)}")
    for one, row in zip(rows, report.census):
        fresh = one.pop("fresh")
        node = None if row.node is None else report.nodes[row.node].id
        if one.pop("node", None) != node:
            found.append(f"node {node}")
        found += differences(one, members(row), "census")
        for i, within in enumerate(fresh):
            found += differences({"share": within["share"], "low": within["share_low"], "high": within["share_high"]},
                                 {"share": row.fresh[i], "low": row.fresh_low[i], "high": row.fresh_high[i]}.__getitem__, "fresh")
    return found


def compare_rest(said, report):
    run, found = report.run, []
    found += differences(said["run"], members(
        run, target=run.command, overhead_pct=100 * run.overhead, overhead_limit_pct=100 * run.overhead_limit,
        overhead_least_pct=100 * run.overhead_least, overhead_floor_pct=100 * run.floor), "run")
    found += differences(said["range"], members(
        report, overhead_pct=100 * report.overhead, overhead_settled_pct=100 * report.overhead_settled, blocks=report.n_blocks,
        edges_total=report.n_edges, edges_unresolved=report.n_unresolved, basis="fresh" if report.fresh else "estimated"), "range")
    if said["loss"] != {loss.cause: loss.n for loss in report.losses}:
        found.append(f"losses {report.losses}")
    for names, list_, other in (("account", report.parts, "part"), ("time", report.slices, None)):
        if len(said[names]) != len(list_):
            found.append(f"{names}: {len(list_)}")
        for one, mine in zip(said[names], list_):
            found += differences(one, members(mine, **({other: mine.name} if other else {})), names)
    return found


def test_reports():
    counted = {"edges": 0, "census": 0, "origins": 0}
    of_threads = ("thread", "role", "function", "line", "object", "process", "thread,function")
    for kind, groupings in (("redis", of_threads), ("hostile", of_threads), ("survey", of_threads), ("precise", ("thread", "line")),
                            ("calls", ("path", "caller"))):
        with commprof.Store(path(kind)) as store:
            check(len(store.runs()) == 1 and store.runs()[0].id == 1, f"{kind}: its runs", store.runs())
            for by in groupings:
                said = say("report", "--store", path(kind), "--by", by)
                report = store.report(by=by, unwritten=True)
                for compare in (compare_nodes, compare_edges, compare_census, compare_rest):
                    found = compare(said, report)
                    check(not found, f"{kind} by {by}: {compare.__name__[8:]} as commctl report --json", found[:3])
                counted["edges"] += len(report.edges)
                counted["census"] += len(report.census)
                counted["origins"] += len(report.origins)
                if "," in by or by == "path":
                    check(any(node.parts for node in report.nodes) and
                          all(len(node.parts) == node.n_parts for node in report.nodes), f"{kind} by {by}: parts")
    check(all(counted.values()), "of each there was some", counted)


def test_queries():
    with commprof.Store(path("redis")) as store:
        said = say("report", "--store", path("redis"), "--top", "3", "--self", "--by-function")
        report = store.report("function", top=3, self=True, unwritten=True)
        found = compare_edges(said, report)
        check(len(report.edges) == 3 < report.n_edges and not found, "a query of several members", found)
        check(store.report(census=False).census == (), "without the census where it is not wanted")
        all_threads = {node.name for node in store.report().nodes}
        some = store.report(thread="io_thd_*")
        check(some.edges and all("io_thd" in some.nodes[edge.from_].name + some.nodes[edge.to].name for edge in some.edges)
              and len(all_threads) > 3, "of certain threads")
        totals = store.report(totals=True).totals
        read = sum(edge.bytes for edge in report.edges)
        check(totals and read and all(total.written.low <= total.written.bytes <= total.written.high and
                                      total.around is None and isinstance(total.node.name, str) for total in totals), "totals")
        check(len(store.report(places=True).places) > 0, "places")
    check([one.name for one in commprof.groupings()][:2] == ["thread", "function"], "groupings")
    with commprof.Store(path("sharing")) as store:
        report = store.report(cachelines=True)
    said = say("sharing", "--store", path("sharing"))["lines"]
    found = [] if said and len(said) == len(report.cachelines) else ["another number of lines"]
    for one, line in zip(said, report.cachelines):
        uses, thing = one.pop("uses"), one.pop("object")
        found += differences(one, members(line), "line") + differences({"key": thing["key"]}, members(line.object), "object")
        mine = report.cacheline_uses[line.first_use:line.first_use + line.n_uses]
        pairs = [(use["byte"], use["size_bytes"], use["writes"], use["thread"]["name"]) for use in uses]
        if pairs != [(use.byte, use.size_bytes, use.writes, use.thread.name) for use in mine]:
            found.append(f"uses {mine}")
    check(not found, "cache lines as commctl sharing --json", found[:3])


def raised(kind, function):
    try:
        function()
    except Exception as error:
        return error if type(error) is kind else f"{type(error)}: {error}"
    return "nothing is raised"


def test_errors():
    def fails(name, number, pattern, function):
        error = raised(commprof.CommprofError, function)
        check(getattr(error, "errno", None) == number and re.search(pattern, str(error)) and "\n" not in str(error).strip(), name, error)

    with open(path("text"), "w", encoding="utf-8") as file:
        file.write("this is no store\n" * 1000)
    with commprof.Store(path("redis")) as store:
        fails("no such file", errno.ENOENT, "none.db.*no such file", lambda: commprof.Store(path("none")))
        fails("not a store", errno.EMEDIUMTYPE, "text.db.*not a commprof store", lambda: commprof.Store(path("text")))
        fails("a folder", errno.EISDIR, "directory", lambda: commprof.Store(DIR))
        fails("no such run", errno.ENODATA, "no run 99", lambda: store.report(run=99))
        fails("no such grouping", errno.EINVAL, "no grouping 'colour'", lambda: store.report(by="colour"))
        fails("no such thread", errno.ENODATA, "nobody", lambda: store.report(thread="nobody"))
        for name, kind, query in (("a member that is none", TypeError, {"colour": 1}), ("text that is a number", TypeError, {"thread": 3}),
                                  ("a number that is text", TypeError, {"top": "3"}), ("a number that is too large", ValueError, {"run": 1 << 70}),
                                  ("a number below 0", ValueError, {"top": -1}), ("text with a NUL", ValueError, {"thread": "a\0b"})):
            error = raised(kind, lambda: store.report(**query))
            check(type(error) is kind and next(iter(query)) in str(error) + "top", f"{name} is refused", error)
    error = raised(ValueError, store.runs)
    check("closed" in str(error), "a closed store says so", error)
    store.close()
    check(commprof.Store(os.fsencode(path("redis")).decode()).runs() and commprof.Store(pathlib.Path(path("redis"))).runs(),
          "a path is text or a Path")


def test_lives():
    """Also of what a thread reads while another closes the store."""
    copy = path("copy")
    with open(path("redis"), "rb") as source, open(copy, "wb") as file:
        file.write(source.read())
    store = commprof.Store(copy)
    report = store.report(by="thread,function", cachelines=True)
    runs = store.runs()
    before = repr((report.nodes, report.edges, report.run, runs))
    said = []

    def ask():
        try:
            while True:
                said.append(len(store.report().edges))
        except ValueError:
            said.append("closed")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(said) < 6:
        time.sleep(0.01)
    store.close()
    for thread in threads:
        thread.join()
    os.unlink(copy)
    check(repr((report.nodes, report.edges, report.run, runs)) == before, "what was read outlives the store")
    check(said.count("closed") == 3 and len(set(said)) == 2, "threads may share a store, and one may close it", set(said))
    check(commprof.Store(path("hostile")).report().run.command.isprintable() is False, "text is as it was observed")
    check("surrogateescape" in commprof.__doc__, "and the package says how it is decoded")


def test_without_pandas(report):
    saved = sys.modules.pop("pandas", None)
    sys.modules["pandas"] = None
    for name, function in (("to_pandas()", report.to_pandas), ("matrix()", report.matrix), ("to_pandas()", commprof.Changes().to_pandas)):
        error = raised(ImportError, function)
        check(f"{name} needs pandas" in str(error) and "install" in str(error), f"without pandas {name} says so", error)
    del sys.modules["pandas"]
    if saved:
        sys.modules["pandas"] = saved


def test_diff():
    a = commprof.Store(path("redis"))
    compared = set()
    # Of another load commctl compares rates, else shares.
    for kind in ("changed", "many"):
        b = commprof.Store(path(kind))
        changes = commprof.diff(a, b, by="thread")
        check(changes == commprof.diff(a.report(by="thread"), b, by="thread"), "diff of stores or reports")
        judge = say("diff", path("redis"), path(kind), "--by", "thread")
        compared.add(judge["of"])
        said = {(one["from"]["key"], one["to"]["key"]): one for one in judge["edges"]}
        found = [f"{row} is not in both" for row in changes if (row.writer_key, row.reader_key) not in said]
        for row in changes:
            one = said.get((row.writer_key, row.reader_key))
            for side in "ab" if one else "":
                mine = {name: getattr(row, f"{name}_{side}") for name in ("bytes", "share", "resolved")}
                mine["value"] = mine["share"] if judge["of"] == "share" else mine["bytes"] / judge[side]["seconds"]
                found += differences({name: one[side][name] for name in ("value", "resolved")}, mine.__getitem__,
                                     f"{row.writer} {row.reader}")
        check(len(changes) == len(said) > 3 and not found, f"the flows of diff are those of commctl diff --json: {judge['of']}",
              found[:3] or (len(changes), len(said)))
    check(compared == {"rate", "share"}, "both", compared)
    check(any(row.share_a == 0 for row in commprof.diff(a, commprof.Store(path("hostile")))), "a flow that one lacks is 0 there")
    return changes


def test_tables(report, changes):
    edges = report.to_pandas()
    check(list(edges["bytes"]) == [edge.bytes for edge in report.edges] and
          list(edges["writer"]) == [report.nodes[edge.from_].name for edge in report.edges] and
          list(edges["reader_key"]) == [report.nodes[edge.to].key for edge in report.edges], "the edges as a table")
    matrix = report.matrix()
    wanted = {}
    for edge in report.edges:
        wanted[report.nodes[edge.from_].name, report.nodes[edge.to].name] = edge.bytes
    got = {(writer, reader): value for writer, row in matrix.iterrows() for reader, value in row.items() if value}
    check(got == wanted and matrix.shape[0] == matrix.shape[1], "the matrix", (got, wanted))
    workers = commprof.Store(path("many")).report()
    index = workers.matrix().index
    check(len({node.name for node in workers.nodes}) < len(index) and index.is_unique, "of nodes of one name each has a row", list(index))
    table = changes.to_pandas()
    check(list(table["bytes_a"]) == [row.bytes_a for row in changes], "a diff as a table")
    none = commprof.Changes().to_pandas()
    check(list(none.columns) == list(table.columns), "a table without rows has columns")


def test_examples():
    """The code of README.md and of the notebook, as plain Python."""
    os.environ["COMM_STORE"] = path("hostile")
    with open("python/examples/matrix.ipynb", encoding="utf-8") as file:
        cells = ["".join(cell["source"]) for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    names = {}
    for i, code in enumerate(cells):
        if "matplotlib" in code and not importlib.util.find_spec("matplotlib"):
            skip(f"the notebook: cell {i + 1}", "matplotlib is not installed")
            continue
        if "matplotlib" in code:
            import matplotlib
            matplotlib.use("Agg")
        error = raised(None, lambda: exec(compile(code, f"cell {i + 1}", "exec"), names))
        if "matplotlib" in code:
            names["figure"].canvas.draw()
        check(error == "nothing is raised", f"the notebook: cell {i + 1}", error)
    with open("python/README.md", encoding="utf-8") as file:
        code = re.search(r"```python\n(.*?)```", file.read(), flags=re.S)[1]
    names, printed = {"print": lambda *words: printed.append(words)}, []
    error = raised(None, lambda: exec(code.replace("comm.db", path("survey")), names))
    check(error == "nothing is raised" and len(printed) > 2, "the example of README.md", error)


test_reports()
test_queries()
test_errors()
test_lives()
with commprof.Store(path("redis")) as redis:
    of_threads = redis.report()
test_without_pandas(of_threads)
found_changes = test_diff()
if importlib.util.find_spec("pandas"):
    test_tables(of_threads, found_changes)
    test_examples()
else:
    skip("tables, and the examples", "pandas is not installed")
sys.exit(failed > 0)

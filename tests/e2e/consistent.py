# SPDX-License-Identifier: GPL-2.0-or-later
"""consistent.py COMMCTL SCHEMAS STORES: see consistent.sh; in TAP."""
import csv
import glob
import io
import json
import os
import re
import subprocess
import sys

import jsonschema

COMMCTL, SCHEMAS, DIR = sys.argv[1:4]
TITLES = ["NOTE", "WAITING", "FRESH", "FEEDS", "THROUGH", "OLDER", "LINES", "UNKNOWN", "NEXT"]
done = failed = 0


def check(result, name, why=""):
    global done, failed
    done += 1
    failed += not result
    print(("" if result else "not ") + f"ok {done} - {name}" + (f": {str(why)[:900]}" if not result else ""), flush=True)


def run(store, command, *args, columns=None):
    env = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    if columns:
        env["COLUMNS"] = str(columns)
    return subprocess.run([COMMCTL, command, "--store", store, *args], capture_output=True, text=True, errors="replace",
                          env=env, stdin=subprocess.DEVNULL, check=False)


def validator(kind):
    with open(os.path.join(SCHEMAS, kind + ".schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


VALID = {kind: validator(kind) for kind in ("report", "sharing", "diff", "advise")}


def documented(store, kind, *args):
    """The JSON of a command, once it was held against its schema; None: the command has nothing to say."""
    got = run(store, kind, "--json", *args)
    if got.returncode:
        return None
    value = json.loads(got.stdout)
    wrong = [f"{list(e.path)}: {e.message}" for e in VALID[kind].iter_errors(value)]
    check(not wrong, f"{name_of(store)}: {kind} {' '.join(args)} is as its schema says", wrong[:2])
    return value


def name_of(store):
    return os.path.basename(store)[:-3]


def stated_pairs(report):
    names = {node["id"]: node for node in report["nodes"]}
    return [(names[e["from"]], names[e["to"]], e) for e in report["edges"] if e["resolved"]]


def is_near(a, b, part=1e-3):
    return abs(a - b) <= part * max(abs(a), abs(b), 1e-9)


def page_data(store):
    path = store[:-3] + ".html"
    got = run(store, "html", "-o", path)
    assert got.returncode == 0, got.stderr
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return json.loads(re.search(r'id="data-0">(.*?)</script>', text, re.S)[1])


def rows_of(lines):
    rows, title = [], None
    for line in lines:
        word = re.match(r"[A-Z]+(?= )", line)
        if word and word[0] in TITLES:
            title = word[0]
        elif not line.startswith(" "):
            title = None
        if title:
            rows.append((title, line[10:].strip()))
    return rows


def screen_of(store):
    got = run(store, "report", columns=80)
    assert got.returncode == 0, got.stderr
    lines = got.stdout.splitlines()
    return lines, rows_of(lines)


def check_screen(store, rows, lines):
    name = name_of(store)
    order = [TITLES.index(title) for title, _ in rows]
    narrow = run(store, "report", columns=40).stdout.splitlines()
    check(max(len(lines), len(narrow)) <= 25, f"{name}: the first screen has 25 lines at most, in a narrow window, too", (len(lines), len(narrow)))
    check(order == sorted(order), f"{name}: its parts are in their order", rows)
    same = [text for _, text in rows if re.search(r"(\S+) > \1$", text)]
    check(not same, f"{name}: no row says that something feeds itself", same)
    check(rows[-1][0] == "NEXT", f"{name}: it ends with what to do", rows[-1])
    check(not re.search(r"granularity|estimator|perf_event|Estimates from|mmap", "\n".join(lines)), f"{name}: and is silent on the method")


def listed_at(lines):
    """Where the list of top begins."""
    return [i for i, line in enumerate(lines) if line.endswith("writer > reader")][0] + 1


def flows_listed(lines):
    shown = [re.search(r"([\d.]+|<0.01) %\S* .*?  (\S.*) > (.*)$", line) for line in lines[listed_at(lines):]]
    return [m for m in shown if m]


def check_top(store):
    """Top begins with what the first screen begins with, in the same order and words."""
    name = name_of(store)
    report = rows_of(run(store, "report", columns=1000).stdout.splitlines())
    lines = run(store, "top", "-b", "-n", "1", "--window", "1000h").stdout.splitlines()
    top = rows_of(lines[2:listed_at(lines)])
    titles = [title for title, _ in top]
    check(titles == sorted(titles, key=TITLES.index), f"{name}: top has the order of the screen", top)
    for title in "NOTE", "WAITING", "FRESH", "FEEDS":
        said, shown = ([text for one, text in rows if one == title] for rows in (report, top))
        check(shown[:1] == said[:1], f"{name}: top says of {title} what the screen says", (shown, said))
        said, shown = ([text for text in rows[1:] if re.match(r"(at least |under )?[\d.]+ %", text)] for rows in (said, shown))
        if title == "FEEDS" and said and not shown:
            # The list below is of these flows.
            pair = re.split(r"  +", said[0], maxsplit=1)[-1]
            shown = [re.split(r"/s \S* +", m[0], maxsplit=1)[-1] for m in flows_listed(lines)]
            check(shown and shown[0] == pair, f"{name}: top's first flow is the screen's", (shown[:1], pair))
        elif title in ("WAITING", "FEEDS"):
            check(shown[:1] == said[:1], f"{name}: top's first row of {title} is the screen's", (shown, said))
    first = [[title for title in dict.fromkeys(title for title, _ in rows) if title in TITLES[:4]] for rows in (report, top)]
    check(first[0] == first[1], f"{name}: top and screen begin with the same", first)


def check_flows(store, report, roles, page, rows):
    name, stated = name_of(store), stated_pairs(report)
    page_edges = [i for i in range(len(page["view"]["bytes"])) if page["view"]["stated"][i]]
    check(len(page_edges) == len(stated), f"{name}: page and report state as many flows", (len(page_edges), len(stated)))
    top = run(store, "top", "-n", "1", "--window", "1000h").stdout.splitlines()
    shown = flows_listed(top)
    check(len(shown) == len(stated), f"{name}: top and report state as many flows", (len(shown), len(stated)))
    table = [row for row in csv.DictReader(io.StringIO(run(store, "report", "--csv").stdout)) if row["resolved"] == "1"]
    check(len(table) == len(stated), f"{name}: CSV and report state as many flows", (len(table), len(stated)))
    if stated:
        writer, reader, edge = stated[0]
        first = max(page_edges, key=lambda i: page["view"]["bytes"][i])
        threads = page["view"]["nodes"]["t"]
        pair = [threads[page["view"][end][0][first]][1] for end in ("from", "to")]
        check(pair == [writer["name"], reader["name"]], f"{name}: the page's top pair is the report's", (pair, writer["name"]))
        check(is_near(page["view"]["bytes"][first], edge["bytes"]), f"{name}: with the same bytes")
        check(is_near(float(shown[0][1]), 100 * edge["share"], 0.05), f"{name}: top's first share is the report's", (shown[0][0], edge["share"]))
        check(float(table[0]["bytes"]) == edge["bytes"] or is_near(float(table[0]["bytes"]), edge["bytes"]), f"{name}: and CSV's")
    feeds = [text for title, text in rows if title in ("FEEDS", "OLDER") and re.search(r" %( \(.*\))?  +\S.* > \S", text)]
    both = [(f"{w['name']} > {r['name']}", e) for w, r, e in stated + stated_pairs(roles)]
    if not report.get("census"):
        for text in feeds:
            share, pair = re.split(r"  +", text, maxsplit=1)
            pair = re.sub(r"/\d+", "", pair)
            found = [e for ends, e in both if ends == pair and (
                round(100 * e["share"]) == round(float(re.search(r"[\d.]+", share)[0])) or "at least" in share or "under" in share)]
            check(found, f"{name}: the screen's row is a stated flow of the report: {text}")
        check(bool(feeds) == bool([1 for pair, e in both if e["share"] >= 0.001]) or "from one to another" in str(rows),
              f"{name}: the screen states flows where the report does", (feeds, len(both)))


def check_crossing(store, report, page, rows):
    name = name_of(store)
    others, shown = ([part for part in one["account"] if part["part"] == "others"][0] for one in (report, page))
    check(is_near(others["share"], shown["share"]) and others["resolved"] == shown["stated"], f"{name}: page and report agree on what crosses",
          (others, shown))
    check(is_near(report["range"]["read_bytes"], page["range"]["read"]), f"{name}: and on what is read")
    said = [text for title, text in rows if title == "FEEDS" and "read, " in text]
    if said:
        share = re.search(r"read, (?:at least |under )?(\d+) %", " ".join(text for title, text in rows if title == "FEEDS"))
        check(share and abs(float(share[1]) - 100 * others["share"]) <= 1 or "at least" in said[0], f"{name}: and the screen", said)


def check_cost(store, report, page, lines):
    name, cost = name_of(store), report["range"]["overhead_pct"]
    if page["range"]["exact"]:
        return
    check(is_near(page["range"]["cost"] * 100, cost), f"{name}: page and report agree on the cost")
    told = re.search(r"cost ([\d.]+) % of its time", "\n".join(lines))
    check(told and is_near(float(told[1]), cost, 0.05), f"{name}: and the screen", (told and told[0], cost))
    told = re.search(r"^cost ([\d.]+) %", run(store, "top", "-n", "1", "--window", "1000h").stdout, re.M)
    check(told and is_near(float(told[1]), cost, 0.05), f"{name}: and top", (told and told[0], cost))


def check_lines(store, page, rows):
    name, sharing = name_of(store), documented(store, "sharing", "--all", "--top", "0")
    stated = [line for line in sharing["lines"] if line["stated"]]
    falsely = [line for line in stated if line["verdict"] == "false"]
    shown = [line for line in page["cachelines"] if line["stated"]]
    check([line["verdict"] for line in shown] == [line["verdict"] for line in stated][:len(shown)], f"{name}: page and sharing list the same lines")
    said = [text for title, text in rows if title == "LINES"]
    verbose = run(store, "report", "-v").stdout
    counted = re.search(r"(\d+) cache lines? go(?:es)? from thread to thread, (\d+) by", " ".join(said))
    told = re.search(r"(\d+) cache lines? go(?:es)? from thread to thread, (\d+) by", verbose)
    want = (str(len(stated)), str(len(falsely))) if stated else None
    check((counted.groups() if counted else None) == want, f"{name}: the screen counts them as sharing does", (said, want))
    check((told.groups() if told else None) == want or run(store, "report", "--json").returncode, f"{name}: so does the long report", (told, want))
    text = run(store, "sharing", "--top", "0").stdout
    check(len(re.findall(r"^false ", text, re.M)) == len(falsely), f"{name}: sharing's text and JSON agree", text)
    text = run(store, "advise", "--topology", os.path.join(DIR, "topology")).stdout
    check(not re.search(r"(?<![\d.])0(\.0+)? % (away|less)|100(\.0)?\.\.100", text), f"{name}: advise tells of no place that takes nothing away", text)
    advice = documented(store, "advise", "--topology", os.path.join(DIR, "topology"))
    if advice:
        check(len(advice["false_sharing"]) == len(falsely) and all(
            a["object"] == l["object"]["name"] and is_near(a["contended_high"], l["contended_high"])
            for a, l in zip(advice["false_sharing"], falsely)), f"{name}: advise and sharing know the same false sharing")
        first = documented(store, "report", "--first-read", "--across")
        names = {node["id"]: node["name"] for node in advice["nodes"]}
        ends = lambda e, of: (of[e["from"]], of[e["to"]])  # noqa: E731
        stated = [(w["name"], r["name"]) for w, r, _ in stated_pairs(first)
                  if not w.get("other") and not r.get("other")]
        check(sorted(ends(e, names) for e in advice["edges"]) == sorted(stated), f"{name}: advise rests on the first reads that the report states")


def check_waiting(store, rows):
    name = name_of(store)
    census = documented(store, "report", "--fresh", "--by", "role,function,object")
    said = [text for title, text in rows if title == "WAITING"]
    if not census or not census.get("census"):
        return
    nodes = {node["id"]: node["name"] for node in census["nodes"]}
    most = max((row for row in census["census"] if "node" in row), key=lambda row: row["waiting"])
    words = re.search(r"(\d+) % .*?  +(\S+) in (\S+) polls (\S+)", " | ".join(said[1:]))
    check(words and all(word in nodes[most["node"]] for word in words.groups()[1:]), f"{name}: the screen's waiting function is the census' most",
          (said, nodes[most["node"]]))
    check(words and abs(float(words[1]) - 100 * most["waiting"]) <= 0.5, f"{name}: with its share")


def check_itself(store, rows):
    """A run against itself: all the same, in the order and with the shares of its first screen."""
    name, same = name_of(store), documented(store, "diff", "--all", "1", "1")
    wrong = [e for e in same["edges"] + same["survey"] if e["verdict"] != "same"]
    check(not wrong, f"{name}: a run is the same as itself", wrong[:2])
    text = run(store, "diff", "--all", "1", "1").stdout
    words = " ".join(text.split())
    check("0 more, 0 less" in words and ", 0 that cannot be told" in words and "same run" in words, f"{name}: in words, too", text)
    parts = re.findall(r"^([A-Z]{4,}) ", text, re.M)
    check(parts == sorted(parts, key=TITLES.index), f"{name}: diff has the order of the screen", parts)
    said = [text for title, text in rows if title in ("WAITING", "FRESH", "FEEDS")]
    for share, what in re.findall(r"A ([^,]*), B [^:]*: (.* (?:polls|>) .*?)(?: (?:same|[A-Z]{5,}) |$)", words):
        found = [one for one in said if " ".join(one.split()).endswith(what)]
        check(not found or any(one.startswith(share) for one in found), f"{name}: and the screen's shares: {what}", (share, found))


def check_two(a, b):
    """Another budget and another load are not mistaken for another program."""
    got = subprocess.run([COMMCTL, "diff", a, b], capture_output=True, text=True, check=False)
    words = " ".join(got.stdout.split())
    check(got.returncode == 0 and "0 more, 0 less" in words, f"{name_of(a)}, {name_of(b)}: nothing is more or less", got.stdout)
    return words


def check_store(store):
    report, roles, page = documented(store, "report"), documented(store, "report", "--by", "role"), page_data(store)
    lines, rows = screen_of(store)
    check_screen(store, rows, lines)
    check_top(store)
    check_flows(store, report, roles, page, rows)
    check_crossing(store, report, page, rows)
    check_cost(store, report, page, lines)
    check_lines(store, page, rows)
    check_waiting(store, rows)
    check_itself(store, rows)
    for by in "function", "object", "line":
        documented(store, "report", "--by", by, "--self")


def check_empty(store):
    said = set()
    for command, args in (("report", []), ("top", ["-n", "1"]), ("html", ["-o", "-"]), ("sharing", []), ("advise", [])):
        got = run(store, command, *args)
        said.add((got.returncode, got.stderr))
    check(len(said) == 1 and said.pop()[0] == 3, "empty: all say the same of a store without a run", said)


for one in sorted(glob.glob(os.path.join(DIR, "*.db"))):
    (check_empty if name_of(one) == "empty" else check_store)(one)
at = lambda name: os.path.join(DIR, name + ".db")  # noqa: E731
words = check_two(at("survey"), at("twice"))
check("different budgets" in words and "--overhead 1.0 %, 5.0 %" in words, "diff says which budgets differ", words)
words = check_two(at("redis"), at("busier"))
check("different loads" in words and "share of all" in words, "a run with thrice the load is compared by shares", words)
words = check_two(at("survey"), at("redis"))
check("Only A has a survey" in words, "diff says what it does not compare", words)
got = subprocess.run([COMMCTL, "diff", at("redis")], capture_output=True, text=True, check=False)
check(got.returncode == 3 and "one run alone" in got.stderr and "commctl diff before.db after.db" in got.stderr, "of one run alone diff says what it takes", got.stderr)
check(done > 300, "there were stores to look at", done)
sys.exit(1 if failed else 0)

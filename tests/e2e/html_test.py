#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks pages of commctl html: html_test.py COMMCTL DIRECTORY-OF-STORES, in TAP."""
import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from browser import Browser  # noqa: E402

COMMCTL, DIR = sys.argv[1:3]
LETTERS = {"thread": "t", "role": "g", "process": "p", "function": "f", "caller": "k", "line": "l", "region": "r", "outermost": "r",
           "object": "o", "type": "y", "struct": "u", "phase": "h", "time": "s", "frames": "n", "frame": "q"}
BETWEEN = "object", "type", "struct"
done = failed = 0


def check(result, name, why=""):
    global done, failed
    done += 1
    failed += not result
    print(("" if result else "not ") + f"ok {done} - {name}" + (f": {why}" if not result else ""), flush=True)


def commctl(*args, code=0):
    run = subprocess.run([COMMCTL, *args], cwd=DIR, capture_output=True, text=True, errors="replace", check=False)
    if run.returncode != code:
        check(False, "commctl " + " ".join(args), f"exit {run.returncode}: {run.stderr}")
    return run


def page(kind, *args, name=None):
    path = os.path.join(DIR, (name or kind) + ".html")
    commctl("html", "--store", kind + ".db", "-o", path, *args)
    return path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Data:
    """The data in a page, with nodes put together as the page's script does it."""

    def __init__(self, path):
        self.text = read(path)
        self.element = {}
        self.nodes = {letter: [] for letter in LETTERS.values()}
        found = re.findall(r'<script type="application/json" id="data-(\d)">(.*?)</script>', self.text, re.S)
        for number, text in found:
            self.element[int(number)] = value = json.loads(text)
            views = [value["view"]] if number == "0" else value if isinstance(value, list) else []
            for view in views:
                for one in view if isinstance(view, list) else [view]:
                    for letter, nodes in one["nodes"].items():
                        self.nodes[letter] += nodes
        self.main = self.element[0]
        self.views = {view["by"]: view for view in [self.main["view"], *self.element[1]]}
        self.deep = {view["by"]: view for view in self.element[2]}

    def end(self, view, i, which, part=0):
        number = view[which][part][i]
        letter = LETTERS[view["by"].split(",")[part]]
        if view["by"] in BETWEEN:
            letter, number = (letter, -1 - number) if number < 0 else ("t", number)
        return self.nodes[letter][number][0] if number >= 0 else letter + "0"


def near(a, b):
    return abs(a - b) <= 1e-4 * abs(b)


def same_origins(data, view, report):
    """Whether the shares of where loads found their data are those of the report, three an edge."""
    edges = {(e["from"], e["to"]): e["origin"] for e in report["edges"] if "origin" in e}
    found = 0
    for i in range(len(view["bytes"])):
        origin = edges.get((data.end(view, i, "from"), data.end(view, i, "to")))
        for name in ("hitm", "remote", "local") if origin else ():
            found += (near(view[name + "_low"][i], origin[name]["share_low"]) and
                      near(view[name + "_high"][i], origin[name]["share_high"]))
    return found and found == 3 * len(edges)


def same_edges(data, view, report):
    """What differs between a view and a report of commctl, None if nothing does."""
    edges = {(e["from"], e["to"]): e for e in report["edges"]}
    if len(edges) != len(view["bytes"]):
        return f"{len(view['bytes'])} edges, not {len(edges)}"
    for i, total in enumerate(view["bytes"]):
        key = data.end(view, i, "from"), data.end(view, i, "to")
        e = edges.get(key)
        if not e:
            return f"no edge {key}"
        for name, value in ("bytes", total), ("low", view["low"][i]), ("high", view["high"][i]):
            if not near(value, e[name]):
                return f"{name} of {key}: {value}, not {e[name]}"
        if bool(view["stated"][i]) != e["resolved"] or view["samples"][i] != e["samples"]:
            return f"what is stated of {key}"
        if not near(e["share"] / view["spread"][i], e["share_low"]):
            return f"the interval of the share of {key}"
    return None


def test_usage():
    for args, words in (([], "say where"), (["-o", "x", "y"], "one word too many"), (["-o", "x", "--to", "0"], "--to 0"),
                        (["-o", "x", "--confidence", "100"], "--confidence"), (["-o", "x", "--run", "0"], "--run"),
                        (["-o", "x", "--source-dir", "/none"], "No such file"), (["-o", "x", "--against", "1", "--from", "1s"], "whole runs")):
        run = commctl("html", *args, code=2)
        check(words in run.stderr, "bad usage: " + " ".join(args), run.stderr)
    kept = os.path.join(DIR, "kept.html")
    with open(kept, "w", encoding="utf-8") as file:
        file.write("kept")
    run = commctl("html", "--store", "empty.db", "-o", kept, code=3)
    commctl("html", "--store", "redis.db", "--against", "none.db", "-o", kept, code=1)
    check(read(kept) == "kept", "nor does a run that is not there to be compared with")
    check("no run" in run.stderr and read(kept) == "kept", "a store without a run leaves the file as it was")
    run = commctl("html", "--store", "redis.db", "-o", "/none/x.html", code=1)
    check("cannot write /none/x.html" in run.stderr, "a file that cannot be written")
    run = commctl("html", "--store", "redis.db", "-o", "/dev/full", code=1)
    check("cannot write /dev/full" in run.stderr, "a full disk")
    run = commctl("html", "--store", "redis.db", "-o", "-")
    check(run.stdout == read(page("redis")), "the page on standard output is that of a file, bit for bit")
    check(os.stat(os.path.join(DIR, "redis.html")).st_mode & 0o777 == 0o640, "others may not read the file")


def test_numbers():
    """Every number of a page is one of the reports'."""
    for kind in "redis", "threads", "exact", "unseen", "marked":
        data = Data(page(kind))
        for by in [one["by"] for one in data.main["by"]]:
            args = ["--self", "--across"] if by != "thread" else []
            report = json.loads(commctl("report", "--store", kind + ".db", "--json", "--by", by, *args).stdout)
            why = same_edges(data, data.views[by], report)
            check(not why, f"{kind}: the view by {by} has the edges of the report", why)
        report = json.loads(commctl("report", "--store", kind + ".db", "--json").stdout)
        parts = {p["part"]: p for p in report["account"]}
        check(all(near(p["bytes"], parts[p["part"]]["bytes"]) and p["stated"] == parts[p["part"]]["resolved"]
                  for p in data.main["account"]) and len(parts) == len(data.main["account"]),
              f"{kind}: the account is the report's")
        check({loss["cause"]: loss["n"] for loss in data.main["loss"]} == report["loss"], f"{kind}: all losses")
        check(near(data.main["range"]["cost"] * 100, report["range"]["overhead_pct"]), f"{kind}: the cost")
        if kind == "unseen":
            check(not data.main["view"]["bytes"], "what has no known writer is no flow")


def test_origins():
    data = Data(page("precise"))
    report = json.loads(commctl("report", "--store", "precise.db", "--json").stdout)
    check(same_origins(data, data.main["view"], report), "where loads found their data, as a PMU told")
    check("hitm_low" not in Data(page("redis")).main["view"], "nothing of it where none told")


def test_cachelines():
    main = Data(page("sharing")).main
    report = json.loads(commctl("sharing", "--store", "sharing.db", "--json").stdout)
    same = len(main["cachelines"]) == len(report["lines"]) == 2
    for shown, line in zip(main["cachelines"], report["lines"]):
        same &= (shown["verdict"] == line["verdict"] and shown["stated"] and shown["offset"] == line["offset"] and
                 near(shown["contended"], line["contended"] / report["seconds"]) and
                 near(shown["low"], line["contended_low"] / report["seconds"]) and
                 abs(shown["true_high"] - line["true_high"]) < 1e-4)
        for i in 0, 1:
            same &= near(sum(word[4 + i] for word in shown["words"]),
                         sum(use["accesses"] for use in line["uses"] if use["writes"] == bool(i)) / line["accesses"])
    check(same, "cache lines are those of commctl sharing", main["cachelines"])
    check(Data(page("redis")).main["cachelines"] == [], "none where none are stored")


def test_golden():
    """The form of the page of a small store."""
    data = Data(page("redis"))
    check(list(data.views) == ["thread", "role", "function", "object"], "redis: the views", list(data.views))
    check([len(v["bytes"]) for v in data.views.values()] == [16, 8, 14, 39], "redis: their edges")
    check(list(data.deep) == ["thread,function", "thread,function,object", "thread,function,line,object",
                              "role,function", "role,function,object", "role,function,line,object",
                              "function,object", "function,line,object", "thread,object"], "redis: the steps down")
    for by, whole in ("thread,function", "thread"), ("role,function,object", "role"), ("thread,object", "thread"):
        sums = {}
        for i, n in enumerate(data.deep[by]["bytes"]):
            key = data.end(data.deep[by], i, "from"), data.end(data.deep[by], i, "to")
            sums[key] = sums.get(key, 0) + n
        view = data.views[whole]
        check(all(near(sums[data.end(view, i, "from"), data.end(view, i, "to")], n)
                  for i, n in enumerate(view["bytes"])), f"redis: {by} sums to {whole}")
    cells = data.element[3]
    check([c[0]["to_s"] - c[0]["from_s"] for c in cells] == [8] * 6 + [12] and cells[0][0]["from_s"] == 0 and
          all(c[0]["blocks"] == 8 for c in cells), "redis: seven cells of eight slices, the last with what is left")
    check([v["by"] for v in cells[0]] == [*data.views, "thread,function"], "redis: each view in each cell")
    check(Data(page("short")).element[3] == [], "a run of three slices is not cut")
    part = Data(page("redis", "--from", "10s", "--to", "-10s", name="part")).main["range"]
    check((part["from_s"], part["to_s"]) == (10, 50), "a part of a run")
    first = Data(page("redis", "--first-read", name="first")).main
    check(first["range"]["first_read"] and first["range"]["read"] < data.main["range"]["read"] / 1.5, "first reads")


def sums_to(data, deep, by):
    """Whether the edges of a step down sum to those of the view that it is a step from."""
    sums = {}
    view = data.views[by]
    part = data.deep[deep]["by"].split(",").index(by)
    for i, n in enumerate(data.deep[deep]["bytes"]):
        key = data.end(data.deep[deep], i, "from", part), data.end(data.deep[deep], i, "to", part)
        sums[key] = sums.get(key, 0) + n
    return all(near(sums.get((data.end(view, i, "from"), data.end(view, i, "to")), 0), n)
               for i, n in enumerate(view["bytes"]))


def test_views():
    """A run is shown by what it has something to tell by, and by nothing else."""
    plain = ["thread", "role", "function", "object"]
    for kind, views in (("redis", plain), ("short", plain), ("turn", plain + ["phase", "time"]),
                        ("calls", ["thread", "function", "caller", "object"]),
                        ("markup", ["thread", "function", "region", "object", "type", "struct"]),
                        ("marked", ["thread", "function", "caller", "region", "outermost", "object", "type", "struct",
                                    "phase", "time", "frames", "frame"])):
        data = Data(page(kind))
        check(list(data.views) == views == [one["by"] for one in data.main["by"]], f"{kind}: the views", list(data.views))
        steps = [step for one in data.main["by"] for step in one["steps"]]
        check(set(steps) <= set(data.deep), f"{kind}: all steps down", set(steps) - set(data.deep))
    for deep, by in (("region,function", "region"), ("outermost,function,type", "outermost"), ("caller,line,object", "caller"),
                     ("phase,thread", "phase"), ("frames,thread,function", "frames"), ("frame,thread,function,object", "frame")):
        check(sums_to(data, deep, by), f"marked: {deep} sums to {by}")
    check("thread,function,type" in data.deep and "thread,function,line,struct" in data.deep, "marked: types have steps down")
    check([v["by"] for v in data.element[3][0]] == ["thread", "function", "region", "object", "thread,function"], "marked: views in each cell")
    times = {node[1]: node[2:] for node in data.nodes["h"]}
    check(times == {"phase 1: 0.0 to 30.0 s": [0, 30], "phase 2: 30.0 to 60.0 s": [30, 60], "(when not known)": []},
          "marked: phases have their times", times)
    data = Data(page("marked", "--from", "0", "--to", "5s", name="few"))
    check(not {"phase", "time", "frames"} & set(data.views), "of five slices nothing is said of when", list(data.views))


def test_source():
    for name, lines in ("redis/src/networking.c", 5000), ("dict.c", 100), ("link.c", 0):
        path = os.path.join(DIR, "tree", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not lines:
            os.symlink("/etc/passwd", path)
            continue
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"\tline {i} </script>\n" for i in range(1, lines + 1))
    data = Data(page("redis", "--source-dir", os.path.join(DIR, "tree"), "--source-dir",
                     os.path.join(DIR, "tree/redis/src"), name="source"))
    excerpts = data.element[4]["lines"]
    line = {node[0]: node for node in data.nodes["l"]}
    check(excerpts and all(line[i][3] == "networking.c" for i in excerpts),
          "source of the file that is there, none of a file that is too short",
          [line[i][3] for i in excerpts])
    check(all(e["text"][line[i][4] - e["first"]] == f" line {line[i][4]} </script>" and len(e["text"]) == 9
              for i, e in excerpts.items()), "the lines about the line")
    check(not Data(os.path.join(DIR, "redis.html")).element[4]["asked"], "without --source-dir no source")


def test_escapes():
    for kind in "hostile", "markup":
        data = Data(page(kind))
        check(data.text.count("<script") == 6 and data.text.count("</script>") == 6 and
              data.text.count("<!--") == 0, f"{kind}: no name makes an element")
        body = "".join(re.findall(r'id="data-\d">(.*?)</script>', data.text, re.S))
        check(not re.search("[<>&'\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", body),
              f"{kind}: no character of control, direction or markup")
    names = [node[1] for node in data.nodes["f"]]
    check("</script><img src=x onerror=owned()>" in names and any("reversed" in n for n in names),
          "markup: names are whole", names)
    text = data.text
    for tag, rule in ("style", "style-src"), ("script", "script-src"):
        code = re.search(f"<{tag}>(.*?)</{tag}>", text, re.S).group(1)
        want = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        check(f"{rule} 'sha256-{want}'" in text, f"the policy has the hash of the {tag}")
    check("default-src 'none'" in text and "unsafe" not in text.split("</head>")[0], "the policy allows nothing else")


ROWS = "[...document.querySelectorAll('#table tbody tr')].map(row => row.innerText)"


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(w * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4)
               for w, c in zip((0.2126, 0.7152, 0.0722), parts))


def contrast(a, b):
    a, b = sorted((luminance(a), luminance(b)))
    return (b + 0.05) / (a + 0.05)


def full(colour):
    return colour if len(colour) == 7 else "#" + "".join(c * 2 for c in colour[1:])


def test_looks(browser):
    for kind in "redis", "hostile", "markup", "threads", "many", "exact", "unseen", "short", "sharing", "marked":
        page(kind)
        for scheme in "light", "dark":
            url = "file://" + os.path.join(DIR, kind + ".html")
            wrong = []
            browser.colours(scheme)
            more = ["#by=function&unstated=1", "#by=object&unstated=1&cell=2", "#order=name", "#line=0"]
            if kind == "marked":
                more += ["#by=" + by + "&unstated=1&cell=1" for by in ("caller", "region", "struct", "time", "frames", "frame")]
            for state in [""] + (more if scheme == "light" else []):
                browser.open(url + state)
                wrong += browser.complaints(url)
                if state == "" and not browser.run("document.querySelector('#matrix svg, #matrix canvas') !== null"
                                                   if kind != "unseen" else "true"):
                    wrong.append("no picture")
            check(not wrong, f"{kind}, {scheme}: nothing on the console, no request", wrong)
    colours = {}
    for scheme in "light", "dark":
        browser.colours(scheme)
        colours[scheme] = browser.run(
            "Object.fromEntries(['back', 'panel', 'text', 'dim', 'accent', 'warn'].map(name => "
            "[name, getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim()]))")
        low = [(a, b) for a in ("text", "dim", "accent", "warn") for b in ("back", "panel")
               if contrast(full(colours[scheme][a]), full(colours[scheme][b])) < 4.5]
        check(not low, f"{scheme}: contrast of 4.5 to 1", low)
    check(colours["light"] != colours["dark"], "light and dark differ")


def open_page(browser, kind, state=""):
    browser.open("file://" + os.path.join(DIR, kind + ".html") + state)


def test_certainty(browser):
    open_page(browser, "redis")
    rows = browser.run(ROWS)
    check(len(rows) == 5 and not any("?" in row for row in rows), "stated flows alone are listed", rows)
    check(browser.run("document.querySelectorAll('#matrix path[fill=\"url(#hatch)\"]').length") == 1,
          "what is not confirmed is hatched")
    check("11 flows" in browser.run("document.getElementById('table-text').innerText"), "and summed in one sentence")
    browser.run("document.getElementById('unstated').click()")
    browser.rest()
    rows = browser.run(ROWS)
    check(len(rows) == 16 and sum(row.startswith("?") for row in rows) == 11, "or listed with a ?", rows)
    check("not known" in browser.run("document.getElementById('account').innerText"),
          "a part of the account that is not known says so")
    report = commctl("report", "--by", "thread", "--store", "redis.db").stdout
    row = next(line for line in report.splitlines() if line.startswith("redis-server") and "io_thd_1" in line)
    share = re.search(r"[\d.]+ %", row).group(0)
    check(share in rows[0], "the numbers are those of commctl report", (share, rows[0]))
    for kind, state in ("redis", ""), ("redis", "#by=object"), ("threads", "#cell=3"), ("exact", ""):
        open_page(browser, kind, state)
        browser.run("window.scrollTo(0, document.documentElement.scrollHeight)")
        browser.rest()
        top = browser.run("document.getElementById('status').getBoundingClientRect().top")
        text = browser.run("document.getElementById('status').innerText")
        check(top >= 0 and "Cost" in text and "Lost" in text, f"{kind}{state}: cost and losses stay in sight", (top, text))
    open_page(browser, "unseen")
    check(not browser.run(ROWS) and "Nothing is confirmed" in browser.run("document.getElementById('stated').innerText"),
          "what has no known writer is no row")
    open_page(browser, "exact")
    check("interval" not in browser.run("document.getElementById('table').innerText") and
          browser.run("document.getElementById('unstated').parentElement.hidden"), "what was counted has no interval")
    open_page(browser, "precise")
    rows = browser.run(ROWS)
    check("HITM" in browser.run("document.querySelector('#table thead').innerText") and
          re.search("58\u2009\u2013\u200962 %\t9\u2009\u2013\u200912 %", rows[0]), "where loads found their data", rows)
    open_page(browser, "many")
    check(browser.run("document.querySelector('#matrix canvas') !== null"), "a canvas beyond 64 threads")
    open_page(browser, "threads")
    check(browser.run("document.querySelector('#matrix svg') !== null"), "SVG for 64 threads")


def test_streams(browser):
    """When the largest flows were read: a row for each, a cell for each part of the run."""
    rows = "[...document.querySelectorAll('#streams .flow')].map(g => g.querySelectorAll('rect').length)"
    hatched = "[...document.querySelectorAll('#streams .flow')].map(g => g.querySelectorAll('rect[fill=\"url(#hatch)\"]').length)"
    open_page(browser, "redis")
    check(browser.run(rows) == [7] * 5, "a row for each flow that is stated", browser.run(rows))
    before = browser.run(hatched)
    browser.run("document.getElementById('unstated').click()")
    browser.rest()
    check(browser.run(rows) == [7] * 16 and browser.run(hatched)[-1] == 7 and browser.run(hatched)[:5] == before,
          "and for what is not, hatched", browser.run(hatched))
    browser.run("document.querySelector('#streams .flow').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    check("at=" in browser.run("location.hash"), "a click on a row leads down")
    open_page(browser, "redis", "#unstated=1&at=t1-t2")
    names = browser.run("[...document.querySelectorAll('#streams .flow text:first-of-type')].map(t => t.textContent)")
    check(len(names) == 4 and "writeToClient" in names[1] and browser.run(rows) == [7] * 4 and
          browser.run("document.getElementById('streams-title').innerText").endswith("redis-server \u2192 io_thd_1"),
          "of two threads, in which functions and when the data of the one is consumed by the other", names)
    browser.run("document.querySelector('#streams .flow').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    check("at=t1-t2.f" in browser.run("location.hash"), "and a click leads down there")
    open_page(browser, "redis", "#at=t1-t6")
    check(browser.run(rows) == [7] * 5 and browser.run("document.getElementById('streams-title').innerText") == "Who crosses when",
          "of two threads without a stated function, those of all threads stay")
    most = "[...document.querySelectorAll('#streams-most li')].map(e => e.textContent)"
    open_page(browser, "redis", "#tab=time")
    words = browser.run(most)
    check(words[0].startswith("0 s to ") and "the largest is redis-server \u2192 io_thd_1" in words[0] and any("nothing is confirmed" in text for text in words),
          "who crosses when, in words", words)
    open_page(browser, "marked", "#tab=time")
    words = browser.run(most)
    check("phase 1" in words[0] and "producer \u2192 consumer" in words[0], "with the phases", words)
    page("survey")
    open_page(browser, "survey", "#tab=time&unstated=1")
    text = browser.run("document.getElementById('streams-text').innerText")
    check("0 B/s" not in text, "no colour stands for nothing", text)
    open_page(browser, "short")
    check(browser.run("document.getElementById('streams').parentElement.hidden"), "a run that is not cut has none")


def test_walk(browser):
    """From a thread to a line by the keyboard alone, and back by the address."""
    page("redis", "--source-dir", os.path.join(DIR, "tree/redis/src"))
    open_page(browser, "redis", "#order=name")
    browser.run("document.getElementById('matrix').focus()")
    names = browser.run("[...document.querySelectorAll('#matrix text[text-anchor=end]')].map(t => t.textContent)")
    names = [name for name in names if not name.isdigit()]
    writer, reader = names.index("redis-server"), names.index("io_thd_1")
    for _ in range(writer):
        browser.key("ArrowDown")
    for _ in range(reader):
        browser.key("ArrowRight")
    at = browser.run("document.getElementById('matrix-at').innerText")
    check("redis-server \u2192 io_thd_1" in at and "%" in at, "the cell under the cursor is read out", at)
    browser.key("Enter")
    check(not browser.run("document.getElementById('deep').hidden") and
          "at=" in browser.run("location.hash"), "Enter goes down, and the address says where")
    browser.run("document.getElementById('unstated').click()")
    browser.rest()
    points = browser.run("document.querySelectorAll('#course .point').length")
    # One for each seventh of the run in which it is stated.
    check(5 <= points <= 7, "the course of the edge", points)
    for step, depth in ("functions", 2), ("object", 3):
        browser.run("[...document.querySelectorAll('#deep-table button.link')].find("
                    f"b => '{step}' === 'object' || b.textContent.includes('_addReply')).focus()")
        browser.key("Enter")
        check(len(re.search("at=([^&]*)", browser.run("location.hash")).group(1).split(".")) == depth, "a step down: " + step)
    check("line 331" in browser.run("document.querySelector('#deep-table pre .hit').innerText"),
          "the line of source that wrote")
    deepest = browser.run("location.hash")
    text = browser.run("document.getElementById('deep').innerText")
    open_page(browser, "redis", deepest)
    check(browser.run("document.getElementById('deep').innerText") == text, "the address brings it all back")
    browser.run("history.length > 1 && document.querySelector('#path button').click()")
    browser.rest()
    check(len(re.search("at=([^&]*)", browser.run("location.hash")).group(1).split(".")) == 1, "steps up")
    browser.run("history.back()")
    browser.rest()
    check(browser.run("document.getElementById('deep').innerText") == text, "the browser's Back")
    for state in ("#by=nothing&cell=999&at=t999-t1000&sort=-x", "#at=constructor-x.o", "#at=x1-x2", "#at=t1-t2.f1-f2.o1.l1-l2",
                  "#cell=-5&by=__proto__", "#by=time&at=s1-s1"):
        open_page(browser, "redis", state)
        wrong = browser.complaints("file://" + os.path.join(DIR, "redis.html"))
        check(not wrong and browser.run(ROWS), "a wrong address does no harm: " + state, wrong)
    open_page(browser, "redis", "#search=BIO_l")
    check(len(browser.run(ROWS)) == 2, "search")
    open_page(browser, "redis", "#sort=-share")
    rows = browser.run(ROWS)
    check("jemalloc" in rows[0], "sorted the other way round", rows)


def test_groups(browser):
    """What is there to choose from is what the run has."""
    open_page(browser, "redis")
    options = "[...document.querySelectorAll('#by option')].map(e => e.textContent)"
    groups = "[...document.querySelectorAll('#by optgroup')].map(e => e.label)"
    check(browser.run(options) == ["threads", "roles", "functions", "objects"] and browser.run(groups) == ["Between", "Through"],
          "a run without marks is not offered them", browser.run(options))
    check(browser.run("document.querySelectorAll('#course svg text').length") == 5, "and has times alone on its axis")
    open_page(browser, "marked")
    check(browser.run(groups) == ["Between", "Through", "Written and read when"] and len(browser.run(options)) == 12,
          "a run with marks has all of it", browser.run(options))
    text = browser.run("document.querySelector('#course svg').textContent")
    check("phase 1" in text and "frame 1" in text and "551" in text and
          browser.run("document.querySelector('#streams svg').textContent").endswith("551"), "phases and frames stand on the axes of time", text)
    for by, words in ("region", "(no region)"), ("type", "(no type)"), ("frame", "(frame not known)"), ("time", "(when not known)"):
        open_page(browser, "marked", "#by=" + by)
        check(words in browser.run("document.getElementById('view-help').innerText"), f"by {by}: says what {words} is")


def test_times(browser):
    """The matrix of when written and when read, by keyboard, and down from there."""
    open_page(browser, "marked", "#by=phase&unstated=1")
    check(browser.run("[...document.querySelectorAll('#matrix text')].map(t => t.textContent).filter(t => t)") ==
          ["phase 1: 0.0 to 30.0 s", "1", "phase 2: 30.0 to 60.0 s", "2", "(when not known)"],
          "rows in the order of time, the last of what has none, columns without it")
    browser.run("document.getElementById('matrix').focus()")
    browser.key("ArrowDown")
    at = browser.run("document.getElementById('matrix-at').innerText")
    check("before it is written" in at, "nothing is read before it is written", at)
    browser.key("ArrowUp")
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    browser.key("Enter")
    check(browser.run("location.hash").startswith("#by=phase&at=h2-h3") and "threads" in browser.run("document.getElementById('deep-title').innerText"),
          "a cell leads to threads", browser.run("location.hash"))
    check(browser.run("[...document.querySelectorAll('#course .now')].length") == 2 and
          {"written", "read"} <= set(browser.run("[...document.querySelectorAll('#course text')].map(t => t.textContent)")),
          "and is marked in the course of time")
    browser.run("document.querySelector('#deep-table button.link').click()")
    browser.rest()
    browser.run("document.querySelector('#deep-table button.link').click()")
    browser.rest()
    rows = browser.run("[...document.querySelectorAll('#deep-table tbody tr')].map(row => row.innerText)")
    check(len(rows) == 1 and rows[0].startswith("? queue"), "then to functions and objects", rows)
    open_page(browser, "marked", "#by=frame&unstated=1")
    rows = browser.run(ROWS)
    check([row.removeprefix("? ").split("\t")[:2] for row in rows] == [["this frame", "this frame"], ["(frame not known)", "this frame"], ["earlier frames", "this frame"]] and
          browser.run("document.getElementById('matrix').closest('[hidden]') !== null"), "how many frames back, without a matrix", rows)
    short = os.path.join(DIR, "left-out.html")
    with open(short, "w", encoding="utf-8") as file:
        file.write(read(os.path.join(DIR, "marked.html")).replace('"by":"phase,thread","title"', '"by":"thread,role","title"'))
    open_page(browser, "left-out", "#by=phase&at=h2-h3")
    check("too many such flows" in browser.run("document.getElementById('deep-text').innerText"), "a step that is not in the file says so")


def test_types(browser):
    """Types beside objects, and as a view of their own down to lines."""
    open_page(browser, "marked", "#by=region")
    rows = browser.run(ROWS)
    check(sorted(row.split("\t")[:2] for row in rows) == [["read", "step"], ["write", "read"]], "regions that are stated", rows)
    browser.run("[...document.querySelectorAll('#table button.link')].find(b => b.textContent === 'write').click()")
    browser.rest()
    browser.run("document.querySelector('#deep-table button.link').click()")
    browser.rest()
    text = browser.run("document.getElementById('deep-types').innerText")
    check("struct message.length" in text and "words" not in text, "the types that were read stand beside the objects", text)
    open_page(browser, "marked", "#by=type")
    for name in "struct message.length", "producer", "put":
        browser.run(f"[...document.querySelectorAll('#deep:not([hidden]) #deep-table button.link, #table button.link')].find(b => b.closest('td').parentElement.innerText.includes('{name}')).click()")
        browser.rest()
    text = browser.run("document.getElementById('deep-table').innerText")
    check("q.c:1" in text and "q.c:3" in text and "q.c:2" not in text, "from a type to the lines that read it", text)
    open_page(browser, "redis", "#search=bio")
    found = browser.run("[...document.querySelectorAll('#streams .flow')].length")
    check(found == len(browser.run(ROWS)) == 2, "what is searched for is what streams are of", found)


def test_sharing(browser):
    """From the first picture to the bytes of the worst line of false sharing, and its source."""
    page("sharing", "--source-dir", os.path.join(DIR, "tree/redis/src"))
    open_page(browser, "sharing")
    check("of one cache line" in browser.run("document.getElementById('status').innerText"),
          "the first picture tells of false sharing")
    browser.run("[...document.querySelectorAll('#status a')].find(a => a.textContent.includes('cache line')).focus()")
    browser.key("Enter")
    check(browser.run("document.activeElement.id") == "sharing-title" and
          browser.run("document.getElementById('sharing-title').getBoundingClientRect().top >= "
                      "document.getElementById('status').getBoundingClientRect().bottom"), "one step: the list of lines")
    browser.key("Tab")
    browser.key("Enter")
    text = browser.run("document.getElementById('sharing-line').innerText")
    check("false sharing" in text and "io_thd_1" in text and "io_thd_2" in text and "16\u2009\u2013\u200923" in text and
          "alignas(64)" in text, "two: who uses which bytes, and what to do", text)
    check("line 2345" in browser.run("document.querySelector('#sharing-line pre .hit').innerText"),
          "with the line of source")
    check(browser.run("document.querySelectorAll('#sharing-line svg .writes').length") == 2, "and the picture of it")
    address = browser.run("location.hash")
    open_page(browser, "sharing", address)
    check(browser.run("document.getElementById('sharing-line').innerText") == text, "the address brings it back")
    browser.run("document.querySelector('#sharing-table button').click()")
    browser.rest()
    check(not browser.run("document.getElementById('sharing-line').innerText"), "a second click closes it")
    for state in "#line=999", "#line=-1", "#line=__proto__":
        open_page(browser, "sharing", state)
        wrong = browser.complaints("file://" + os.path.join(DIR, "sharing.html"))
        check(not wrong, "a wrong line does no harm: " + state, wrong)
    open_page(browser, "redis")
    check(browser.run("document.getElementById('sharing').hidden"), "a run without lines has no such part")


def test_first_view(browser):
    """Without scrolling: what the run says, the matrix and the icicle; the rest is behind tabs."""
    for kind in "redis", "survey", "exact", "sharing":
        page(kind)
        open_page(browser, kind)
        said = browser.run("[...document.querySelectorAll('#screen dt, #screen dd')].map(e => e.textContent)")
        screen = " ".join(commctl("report", "--store", kind + ".db").stdout.split())
        check(said and said[-2] == "NEXT" and all(" ".join(text.split()) in screen for text in said if text),
              f"{kind}: the page begins with what commctl report says", said)
        ends = browser.run("['screen', 'matrix', 'icicle'].map(id => document.getElementById(id).getBoundingClientRect().bottom)")
        check(max(ends) <= 900 and min(ends) > 0, f"{kind}: which, the matrix and the icicle fit into the first view", ends)
        size = browser.run("(r => r.width * r.height)(document.querySelector('#matrix svg').getBoundingClientRect())")
        check(size > 0.08 * 1280 * 900, f"{kind}: the matrix is large", size)
    open_page(browser, "sharing")
    tabs = browser.run("[...document.querySelectorAll('#tabs button')].map(b => b.textContent)")
    check(tabs == ["In numbers", "Flow", "Time", "Cache lines", "Account and losses", "How to read this"], "what there is more", tabs)
    shown = "[...document.querySelectorAll('[id^=panel-]')].filter(e => e.getClientRects().length).map(e => e.id)"
    for i, panel in enumerate(("numbers", "flow", "time", "sharing", "account", "reading")):
        browser.run(f"document.querySelectorAll('#tabs button')[{i}].click()")
        browser.rest()
        check(browser.run(shown) == ["panel-" + panel], f"one tab at a time: {panel}", browser.run(shown))
        check(browser.run("document.activeElement.parentElement.id") == "tabs", f"{panel}: the focus stays")
    address = browser.run("location.hash")
    open_page(browser, "sharing", address)
    check(browser.run(shown) == ["panel-reading"], "the address brings the tab back", address)


def test_icicle(browser):
    bars = "[...document.querySelectorAll('#icicle .bar-of')].map(e => [e.getAttribute('aria-label'), +e.getAttribute('y'), +e.getAttribute('width')])"
    for kind, state in ("redis", ""), ("redis", "#by=function"), ("redis", "#by=object"), ("redis", "#by=role"), ("exact", "#at=t1-t2"), ("hostile", "#unstated=1"):
        open_page(browser, kind, state)
        rows = {}
        for _, y, width in browser.run(bars):
            rows[y] = rows.get(y, 0) + width
        check(len(rows) >= 3 and all(w <= rows[0] + 1 for w in rows.values()) and rows[23] > 0.9 * rows[0],
              f"{kind}{state}: each row of the icicle splits the one above it", rows)
    open_page(browser, "redis")
    whole = browser.run(bars)
    check(whole[0][0].startswith("all that is chosen") and whole[1][0].startswith("redis-server") and "writes: " in whole[1][0],
          "first all, then who writes", whole[:2])
    browser.run("document.querySelectorAll('#icicle .bar-of')[1].dispatchEvent(new MouseEvent('click'))")
    zoomed = browser.run(bars)
    check(zoomed[1][0] == whole[1][0] and zoomed[1][2] == zoomed[0][2] > whole[1][2], "a click zooms in", zoomed[:2])
    browser.run("document.querySelectorAll('#icicle .bar-of')[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    check(browser.run(bars) == whole, "and the first bar out")
    browser.run("(e => { e.value = 'writeToClient'; e.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    browser.rest()
    check(browser.run("document.querySelectorAll('#icicle .bar-found').length") >= 1, "what is searched for is marked")
    open_page(browser, "redis", "#at=t1-t2")
    check(browser.run(bars)[0][0] != whole[0][0], "it is of what is chosen")


def test_keyboard(browser):
    """The icicle by keys alone: one stop of Tab, arrows, Enter, Escape, and the search."""
    focused = "(e => e.getAttribute('aria-label') || e.id)(document.activeElement)"
    bars = "document.querySelectorAll('#icicle .bar-of').length"
    open_page(browser, "redis")
    check(browser.run("document.querySelectorAll('#icicle .bar-of[tabindex=\"0\"]').length") == 1, "the icicle is one stop of Tab")
    browser.run("document.querySelector('#icicle .bar-of').focus()")
    seen = [browser.run(focused)]
    for key in "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft":
        browser.key(key)
        seen.append(browser.run(focused))
    check(seen[0].startswith("all that is chosen") and seen[1].startswith("redis-server writes") and seen[2].startswith("io_thd_1 writes") and
          seen[4] == seen[2] and seen[5] == seen[1], "arrows go from bar to bar", seen)
    before = browser.run(bars)
    browser.key("Enter")
    check(browser.run(bars) < before and browser.run(focused) == seen[1], "Enter zooms in, and the focus stays", browser.run(focused))
    browser.key("Escape")
    check(browser.run(bars) == before and browser.run(focused) == seen[1], "Escape zooms out")
    browser.key("/")
    check(browser.run(focused) == "search", "a slash searches", browser.run(focused))
    browser.run("(e => { e.value = 'writeToClient'; e.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    browser.rest()
    browser.key("Enter")
    check("writeToClient" in browser.run(focused), "Enter goes to what is found", browser.run(focused))


def test_changes(browser):
    """What changed from another run: what commctl diff says, row for row."""
    page("changed", "--against", "redis.db")
    open_page(browser, "changed", "#tab=changes")
    known = json.loads(commctl("diff", "redis.db", "changed.db", "--json").stdout)
    rows = [row.split("\t") for row in browser.run("[...document.querySelectorAll('#changes-table tbody tr')].map(row => row.innerText)")]
    check([row[1] for row in rows] == [edge["verdict"] for edge in known["edges"]] and rows[0][1] == "more" and
          rows[0][6] == "io_thd_1 \u2192 redis-server", "the verdicts are those of commctl diff", rows[:2])
    text = browser.run("document.getElementById('panel-changes').innerText")
    check("1 more, 1 less" in text and "run 1 of redis.db" in text and "would be 5 %" in text, "and the sum", text)
    wrong = browser.complaints("file://" + os.path.join(DIR, "changed.html"))
    check(not wrong, "without a complaint", wrong)
    page("survey", "--against", "1", name="same")
    open_page(browser, "same", "#tab=changes")
    text = browser.run("document.getElementById('panel-changes').innerText")
    check("0 more, 0 less" in text and "same run" in text and "WAITING" in text and "cannot tell\t" not in text, "a run against itself is the same", text)
    open_page(browser, "redis")
    check(not browser.run("[...document.querySelectorAll('#tabs button')].some(b => b.textContent === 'What changed')"), "a page of one run has no such tab")
    page("markup", "--against", "1", name="markup-changes")
    open_page(browser, "markup-changes", "#tab=changes")
    wrong = browser.complaints("file://" + os.path.join(DIR, "markup-changes.html"))
    check(not wrong and not browser.run("document.querySelectorAll('#panel-changes img, #panel-changes b, #panel-changes script').length"), "names stay text there", wrong)


def test_csv(browser):
    save = ("new Promise(done => { URL.createObjectURL = blob => { blob.text().then(done); return ''; }; HTMLAnchorElement.prototype.click = () => {};"
            "document.getElementById('csv').click(); })")
    open_page(browser, "redis")
    rows = list(csv.reader(io.StringIO(browser.run(save), newline="")))
    check(rows[0][:6] == ["from", "to", "share", "share_low", "share_high", "bytes"] and len(rows) == 6 and rows[1][10] == "1", "CSV of the rows that are shown", rows[:2])
    known = {(e["from"], e["to"]): e for e in json.loads(commctl("report", "--store", "redis.db", "--json").stdout)["edges"]}
    check(abs(float(rows[1][5]) / max(e["bytes"] for e in known.values() if e["resolved"]) - 1) < 1e-4, "with the report's bytes", rows[1])
    for kind, tab, head, n in ("redis", "time", "from_s", 20), ("sharing", "sharing", "thread", 4), ("changed", "changes", "verdict", 14):
        open_page(browser, kind, "#tab=" + tab)
        rows = list(csv.reader(io.StringIO(browser.run(save), newline="")))
        check(head in rows[0] and len(rows) >= n and len({len(row) for row in rows}) == 1, f"CSV of what is shown: {tab}", rows[:2] + [len(rows)])
    open_page(browser, "hostile", "#unstated=1&by=function")
    rows = list(csv.reader(io.StringIO(browser.run(save), newline="")))
    check(len(rows) > 2 and {len(row) for row in rows} == {11} and not any(f[:1] in "=+@" for row in rows[1:] for f in row[:2] if f),
          "of hostile names, too", rows[:3])


def test_phone(browser):
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    for kind in "redis", "survey", "threads", "sharing", "changed":
        for state in "", "#tab=changes", "#tab=time", "#tab=sharing", "#tab=flow", "#by=object&at=o1":
            open_page(browser, kind, state)
            wide = browser.run("document.documentElement.scrollWidth")
            check(wide <= 390, f"{kind}{state}: no wider than a phone", wide)
    browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)


def test_hostile(browser):
    page("markup", "--source-dir", DIR)
    for state in "", "#by=function&unstated=1", "#by=object", "#by=region&unstated=1", "#by=type&unstated=1&at=y2", "#line=0&unstated=1", "#search=%3Cimg%20src%3Dx%20onerror%3Downed()%3E":
        open_page(browser, "markup", state)
        wrong = browser.complaints("file://" + os.path.join(DIR, "markup.html"))
        strange = browser.run("document.querySelectorAll('img, b:not(#status b), iframe, object, embed, link, "
                              "[onerror], [onload]').length")
        scripts = browser.run("document.scripts.length")
        hidden = browser.run(r"/[\u0000-\u0008\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/.test("
                             "document.body.innerText)")
        check(not wrong and not strange and scripts == 6 and not hidden, "names stay text: " + (state or "threads"),
              (wrong, strange, scripts, hidden))
    check('Run 1 (before <b>& "after"): ' in browser.run("document.getElementById('title').innerText") and
          browser.run("document.title").endswith(' (before <b>& "after")'), "a run is called by its label")
    check("</title></script><script>owned()</script>" in browser.run("document.getElementById('title').innerText"),
          "and can be read")
    browser.run("document.body.append(Object.assign(document.createElement('script'), "
                "{textContent: 'window.owned = 1'}), Object.assign(document.createElement('img'), {src: 'data:,x'}))")
    browser.run("document.body.insertAdjacentHTML('beforeend', '<p onclick=\"window.owned=1\" id=trap>x</p>')")
    browser.run("document.getElementById('trap').click()")
    check(browser.run("window.owned") is None, "a script or handler that got in would not run")
    check(browser.run("fetch('http://127.0.0.1:9/').then(() => 'sent', error => 'refused')") == "refused" and
          not [e for e in browser.events if e.get("method") == "Network.responseReceived" and
               "127.0.0.1" in e["params"]["response"]["url"]], "nor could it send anything")


def test_accessible(browser):
    for kind, state in ("redis", "#at=t1-t2&unstated=1"), ("redis", "#by=object"), ("many", ""), ("sharing", "#line=0"), \
            ("marked", "#by=phase&at=h2-h3"), ("marked", "#by=frame"), ("marked", "#by=region&at=r3-r4.f1-f2"):
        open_page(browser, kind, state)
        browser.call("Accessibility.enable")
        nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
        value = lambda node, name: node.get(name, {}).get("value")  # noqa: E731
        wanted = {"button", "link", "radio", "checkbox", "searchbox", "slider", "combobox", "MenuListPopup", "image",
                  "img", "application", "form", "navigation", "heading", "columnheader", "main"}
        nameless = [value(n, "role") for n in nodes if not n.get("ignored") and
                    value(n, "role") in wanted - {"MenuListPopup", "main"} and not value(n, "name")]
        check(not nameless, f"{kind}{state}: whatever is used or pictured has a name", nameless)
        check(browser.run("document.querySelectorAll('h1').length === 1 && document.documentElement.lang === 'en' "
                          "&& document.querySelectorAll('main').length === 1 && new Set([...document.querySelectorAll("
                          "'[id]')].map(e => e.id)).size === document.querySelectorAll('[id]').length"),
              f"{kind}{state}: one title, one main part, each id once")
        check(browser.run("[...document.querySelectorAll('table')].every(t => t.querySelectorAll('thead th[scope=col]')"
                          ".length === t.querySelector('tbody tr').cells.length)"), f"{kind}{state}: columns have heads")
    open_page(browser, "redis")
    seen = []
    for _ in range(14):
        browser.key("Tab")
        seen.append(browser.run("(e => String(e.id || e.name || e.className || e.tagName))(document.activeElement)"))
    check({"skip", "by", "unstated", "search", "order", "cell", "matrix"} <= set(seen), "Tab reaches all controls", seen)


for test in test_usage, test_numbers, test_origins, test_cachelines, test_golden, test_views, test_source, test_escapes:
    test()
if shutil.which("chromium"):
    with Browser() as opened:
        for test in test_looks, test_certainty, test_streams, test_walk, test_groups, test_times, test_types, test_sharing, test_first_view, test_icicle, test_keyboard, test_changes, test_csv, test_phone, test_hostile, test_accessible:
            test(opened)
else:
    print(f"ok {done + 1} - pages in a browser # SKIP chromium is not installed")
sys.exit(1 if failed else 0)

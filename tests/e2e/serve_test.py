#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of commctl serve in Chromium: serve_test.py COMMCTL MAKE_STORE DIRECTORY-OF-STORES TESTS-BEFORE, in TAP."""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from browser import Browser  # noqa: E402

COMMCTL, MAKE, DIR = sys.argv[1:4]
done, failed = int(sys.argv[4]), 0


def check(result, name, why=""):
    global done, failed
    done += 1
    failed += not result
    print(("" if result else "not ") + f"ok {done} - {name}" + (f": {why}" if not result else ""), flush=True)


class Server:
    """A server, which ends with this."""

    def __init__(self, store):
        self.process = subprocess.Popen([COMMCTL, "serve", "--store", os.path.join(DIR, store), "--listen", "127.0.0.1:0"],
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Maker:
    """A run that goes on by a slice at a time."""

    def __init__(self, store):
        self.process = subprocess.Popen([MAKE, "followed", os.path.join(DIR, store), "40"], stdin=subprocess.PIPE, text=True)

    def slice(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def until(browser, script, seconds=120):
    """What the script says, once that is something; a page that is just being loaded says nothing."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            said = browser.run(script)
        except RuntimeError:
            said = None
        if said:
            return said
        time.sleep(0.05)
    return None


def complaints(browser, url):
    """What went wrong, but for questions to the server itself."""
    return [one for one in browser.complaints(url) if not one.startswith("request: " + url)]


TITLE = "document.getElementById('title').innerText"
# The title is drawn by a page that has its figures.
READY = "document.readyState === 'complete' && document.getElementById('main').ariaBusy !== 'true' && "
LENGTH = "/, ([0-9.]+ m?s) on/.exec(document.getElementById('about').textContent)[1]"
RUNS = "document.getElementById('live-run').options.length > 1 && [...document.getElementById('live-run').options].map(o => o.textContent)"


def test_runs(browser):
    with Server("two.db") as server:
        browser.open(server.url)
        runs = until(browser, RUNS)
        check(runs and [run.split(",")[0].split(":")[0] for run in runs] == ["the latest", "2", "1"], "the runs of the store are offered", runs)
        check(browser.run(TITLE).startswith("Run 2: redis-server"), "the page is of the latest", browser.run(TITLE))
        state = until(browser, "document.getElementById('live-state').textContent")
        check(state == "The run has ended.", "which has ended", state)
        wrong = complaints(browser, server.url)
        check(not wrong, "nothing is on the console, and nothing against the policy", wrong)
        sent = "(() => { const seen = []; addEventListener('securitypolicyviolation', e => seen.push(e.effectiveDirective)); " \
               "return fetch('http://127.0.0.1:9/').then(() => 'sent', () => new Promise(done => setTimeout(() => done(seen.join()), 100))); })()"
        said = browser.run(sent)
        check(set(said.split(",")) == {"connect-src"}, "the page asks no other server", said)
        browser.open(server.url + "#by=function")
        until(browser, RUNS)
        browser.run("(e => { e.value = '1'; e.dispatchEvent(new Event('change')); })(document.getElementById('live-run'))")
        title = until(browser, READY + f"{TITLE}.startsWith('Run 1') && {TITLE}")
        check(title, "another one is chosen", browser.run(TITLE))
        where = browser.run("location.search + location.hash + ' ' + document.getElementById('by').value")
        check(where == "?run=1#by=function function", "what is looked at stays", where)
        check(until(browser, "document.getElementById('live-run').value") == "1", "the choice is shown")
        browser.run("(e => { e.value = '-60s'; e.dispatchEvent(new Event('change')); })(document.getElementById('live-from'))")
        where = until(browser, READY + "location.search.includes('from') && location.search")
        check(where == "?run=1&from=-60s", "a part of it is chosen", where)
        browser.open(server.url + "?from=-5s")
        until(browser, RUNS)
        check("only 55" in browser.run("document.getElementById('about').textContent") and
              browser.run("document.getElementById('live-from').value") == "-5s", "also one of the address alone", browser.run("document.getElementById('about').textContent"))
        browser.open(server.url + "?run=7")
        check("no run 7" in browser.run("document.getElementById('problem').textContent") and until(browser, RUNS), "of a run that there is not: why, and the others")
        browser.open(server.url)
        until(browser, RUNS)
        browser.call("Accessibility.enable")
        nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
        nameless = [n["role"]["value"] for n in nodes if not n.get("ignored") and n.get("role", {}).get("value") in
                    ("button", "checkbox", "combobox", "form", "slider", "searchbox") and not n.get("name", {}).get("value")]
        check(not nameless, "whatever is used has a name", nameless)
    with Server("markup.db") as server:
        browser.open(server.url)
        until(browser, RUNS)
        wrong = complaints(browser, server.url)
        strange = browser.run("document.querySelectorAll('img, b:not(#status b), iframe, [onerror], [onload]').length")
        check(not wrong and not strange, "names of programs stay text", (wrong, strange))


def test_live(browser):
    shutil.copy(os.path.join(DIR, "two.db"), os.path.join(DIR, "new.db"))
    with Server("new.db") as server, Maker("new.db") as maker:
        until(browser, f"fetch('{server.url}').then(() => 1, () => 1)")
        while '"running"' not in subprocess.run([COMMCTL, "list", "--json", "--store", os.path.join(DIR, "new.db")], capture_output=True, text=True, check=True).stdout:
            time.sleep(0.1)
        browser.open(server.url)
        check("run 3 has stored nothing yet" in browser.run("document.getElementById('problem').textContent"), "a run that has stored nothing yet")
        maker.slice()
        title = until(browser, READY + TITLE)
        check(title and title.startswith("Run 3"), "is shown when it has", title)
        browser.events.clear()
        check(until(browser, LENGTH) == "1 s", "with its first slice", browser.run(LENGTH))
        check(until(browser, "document.getElementById('live-state').textContent") == "The run goes on.", "and goes on")
        browser.run("document.querySelector('#tabs button:last-child').click(); scrollTo(0, 150)")
        hash, height = browser.run("[location.hash, scrollY]")
        for n in 2, 3:
            maker.slice()
            check(until(browser, READY + f"{LENGTH} === '{n} s'"), f"slice {n} is shown", until(browser, LENGTH))
        check([hash, height] == until(browser, f"scrollY === {height} && [location.hash, scrollY]") and height, "at the place, and in the tab, where the page was left", [hash, height, browser.run("[location.hash, scrollY]")])

        # Not while something is marked
        mark = "window.marked = 1; getSelection().selectAllChildren(document.getElementById('title'))"
        browser.run(mark)
        maker.slice()
        offered = until(browser, "!document.getElementById('live-now').hidden && window.marked")
        check(offered and browser.run(LENGTH) == "3 s", "text that is marked stays, and what is new is offered", browser.run(LENGTH))
        browser.run("getSelection().removeAllRanges()")
        check(until(browser, READY + f"{LENGTH} === '4 s' && !window.marked"), "and shown when it is not marked any more")

        browser.run("window.marked = 1; document.getElementById('live-follow').click()")
        maker.slice()
        offered = until(browser, "!document.getElementById('live-now').hidden && window.marked")
        check(offered and browser.run(LENGTH) == "4 s", "what is not to be kept current stays", browser.run(LENGTH))
        browser.run("document.getElementById('live-now').click()")
        check(until(browser, READY + f"{LENGTH} === '5 s'"), "until what is new is asked for")
        check(browser.run("document.getElementById('live-follow').checked") is False, "which is remembered")
        browser.run("document.getElementById('live-follow').click()")
        wrong = complaints(browser, server.url)
        check(not wrong, "nothing is on the console", wrong)

        # An older run is looked at while the newest goes on
        browser.open(server.url + "?run=1")
        until(browser, RUNS)
        browser.run("window.marked = 1")
        maker.end()
        browser.open(server.url)
        state = until(browser, "document.getElementById('live-state').textContent")
        check(state == "The run has ended." and browser.run(LENGTH) == "40 s", "the end of the run is told", (state, browser.run(LENGTH)))
        server.process.send_signal(signal.SIGTERM)
        check(server.process.wait(120) == 0, "the server ends beside a browser")
        check(until(browser, "document.getElementById('live-state').textContent === 'commctl serve does not answer.'") and browser.run(TITLE).startswith("Run 3"),
              "the page says so, and stays")


if shutil.which("chromium"):
    with Browser() as opened:
        test_runs(opened)
        test_live(opened)
else:
    print(f"ok {done + 1} - its page in a browser # SKIP chromium is not installed")
    done += 1
print(f"1..{done}")
sys.exit(1 if failed else 0)

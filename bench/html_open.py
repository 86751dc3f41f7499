#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time from the start of a navigation to the frame with the matrix, against an empty page:
html_open.py PAIRS FILE.html.  The two are opened in turn, in one Chromium."""
import os
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))
from browser import Browser  # noqa: E402

# Two frames after the picture is there it is on the screen.
SEEN = """(() => {
  const there = () => document.querySelector('#matrix svg, #matrix canvas, #empty');
  const look = () => there() ? requestAnimationFrame(() => requestAnimationFrame(
    () => { window.seenAt = performance.now(); })) : requestAnimationFrame(look);
  look();
})()"""


def main():
    pairs, path = int(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.NamedTemporaryFile("w", suffix=".html") as empty, Browser() as browser:
        empty.write("<!DOCTYPE html><title>empty</title><body><p id=empty>empty")
        empty.flush()
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=SEEN)
        times = {}
        for _ in range(pairs):
            for what in empty.name, path:
                browser.open("file://" + what)
                while not browser.run("window.seenAt"):
                    browser.rest()
                times.setdefault(what, []).append(browser.run("window.seenAt"))
    more = sorted(b - a for a, b in zip(times[empty.name], times[path]))
    print(f"first picture {statistics.median(times[path]):.0f} ms, empty page "
          f"{statistics.median(times[empty.name]):.0f} ms, difference {statistics.median(more):.0f} ms "
          f"({more[0]:.0f} to {more[-1]:.0f}), medians of {pairs} pairs")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The walk of docs/guide/false-sharing.md: runs the planted program, profiles it, makes the page, and takes
the pictures of its way to the worst line.  "make walk" calls it.

    bench/walk.py OUTPUT-DIRECTORY [PICTURES]      needs root, gcc and chromium
"""
import base64
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests"))
from browser import Browser  # noqa: E402

CPU_MS, WIDTH = 8000, 760


def step(*command):
    print("$ " + " ".join(command), flush=True)
    subprocess.run(command, check=True)


def picture(browser, path, first, last=None):
    """What is between the tops of two elements, or else a part of the window."""
    # The status line sticks to the window's top.
    browser.run("scrollTo(0, 0)")
    browser.rest()
    box = browser.run("(() => { const a = " + first + ".getBoundingClientRect(), b = " + (last or "null") + "; return "
                      "[a.top + scrollY, b ? b.getBoundingClientRect().top + scrollY : a.top + scrollY + 400]; })()")
    clip = {"x": 0, "y": max(0, box[0] - 6), "width": WIDTH, "height": box[1] - box[0], "scale": 1}
    data = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
    with open(path, "wb") as file:
        file.write(base64.b64decode(data))


def walk(page, pictures):
    name = os.path.join(pictures, "false-sharing-{}.png").format
    with Browser(WIDTH, 620) as browser:
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"},
                                                             {"name": "prefers-reduced-motion", "value": "reduce"}])
        browser.open("file://" + page)
        link = "[...document.querySelectorAll('#status a')].find(a => a.textContent.includes('cache line'))"
        if not browser.run(f"!!{link}"):
            sys.exit("walk.py: the run states no false sharing: is the machine busy?  Try again")
        picture(browser, name(1), "document.getElementById('title')", "document.getElementById('controls')")
        browser.run(f"{link}.click()")
        picture(browser, name(2), "document.getElementById('sharing-title')", "document.getElementById('sharing-line')")
        browser.run("document.querySelector('#sharing-table button').click()")
        browser.rest()
        picture(browser, name(3), "document.getElementById('sharing-line-title')",
                "(document.querySelector('#sharing-line pre .hit')?.nextElementSibling || document.getElementById('sharing-line').lastElementChild)")


def main():
    out = os.path.abspath(sys.argv[1])
    pictures = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "docs", "guide"))
    os.environ["PATH"] = out + ":" + os.environ["PATH"]
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as directory:
        program, store, page = (os.path.join(directory, name) for name in ("counting", "comm.db", "page.html"))
        step("gcc", "-g", "-O2", "-pthread", "tests/e2e/counting.c", "-o", program)
        step("commd", "-q", "--rate", "2000", "--slice", "200ms", "--store", store, "--", program, str(CPU_MS), "packed")
        step("commctl", "sharing", "--store", store)
        step("commctl", "html", "--store", store, "--source-dir", ROOT, "-o", page)
        walk(page, pictures)
        for kind in "packed", "apart":
            best = max(int(re.match(r"\d+", subprocess.run([program, "2000", kind], capture_output=True, text=True,
                                                          check=True).stdout).group()) for _ in range(3))
            print(f"{kind}: {best} requests a second of CPU, the best of three runs")


main()

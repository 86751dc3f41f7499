#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The pictures of the documents, of today's program.  "make pictures" calls it.

The page of README.md is of a store with known contents (tests/e2e/make_store.c).  The walk of
docs/guide/false-sharing.md runs the planted program, profiles it, makes the page, and takes its way to the worst line.

    bench/pictures.py OUTPUT-DIRECTORY [PICTURES]      needs root, gcc and chromium
"""
import base64
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests"))
from browser import Browser  # noqa: E402

CPU_MS, WIDTH, MOST_BYTES = 8000, 760, 150000


def step(*command):
    print("$ " + " ".join(command), flush=True)
    subprocess.run(command, check=True)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def save(path, data):
    """A PNG as Chromium makes it, its pixels packed as tightly as zlib can."""
    at, pixels, head = 8, b"", b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            head = data[at + 8:at + 8 + size]
        elif kind == b"IDAT":
            pixels += data[at + 8:at + 8 + size]
        at += 12 + size
    small = data[:8] + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(zlib.decompress(pixels), 9)) + chunk(b"IEND", b"")
    data = min(small, data, key=len)
    if len(data) > MOST_BYTES:
        sys.exit(f"pictures.py: {path} has {len(data)} bytes, more than {MOST_BYTES}")
    with open(path, "wb") as file:
        file.write(data)


def look(browser):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"},
                                                         {"name": "prefers-reduced-motion", "value": "reduce"}])


def picture(browser, path, first, last=None):
    """What is between the tops of two elements, or else a part of the window."""
    # The status line sticks to the window's top.
    browser.run("scrollTo(0, 0)")
    browser.rest()
    box = browser.run("(() => { const a = " + first + ".getBoundingClientRect(), b = " + (last or "null") + "; return "
                      "[a.top + scrollY, b ? b.getBoundingClientRect().top + scrollY : a.top + scrollY + 400]; })()")
    clip = {"x": 0, "y": max(0, box[0] - 6), "width": WIDTH, "height": box[1] - box[0] + 8, "scale": 1}
    save(path, base64.b64decode(browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]))


def walk(page, pictures):
    name = os.path.join(pictures, "false-sharing-{}.png").format
    with Browser(WIDTH, 620) as browser:
        look(browser)
        browser.open("file://" + page)
        link = "[...document.querySelectorAll('#status a')].find(a => a.textContent.includes('cache line'))"
        if not browser.run(f"!!{link}"):
            sys.exit("pictures.py: the run states no false sharing: is the machine busy?  Try again")
        picture(browser, name(1), "document.getElementById('title')", "document.getElementById('controls')")
        browser.run(f"{link}.click()")
        picture(browser, name(2), "document.getElementById('sharing-title')", "document.getElementById('sharing-line')")
        browser.run("document.querySelector('#sharing-table button').click()")
        browser.rest()
        if not browser.run("!!document.querySelector('#sharing-line pre .hit')"):
            sys.exit("pictures.py: the run knows no lines of source: is the machine busy?  Try again")
        picture(browser, name(3), "document.getElementById('sharing-line-title')",
                "(document.querySelector('#sharing-line pre .hit')?.nextElementSibling || document.getElementById('sharing-line').lastElementChild)")


def first_view(out, directory, pictures):
    store, page = (os.path.join(directory, name) for name in ("redis.db", "redis.html"))
    step(os.path.join(out, "tests/e2e/make_store"), "redis", store, "60")
    step("commctl", "html", "--store", store, "-o", page)
    with Browser(1100, 600) as browser:
        look(browser)
        browser.open("file://" + page)
        save(os.path.join(pictures, "html.png"), base64.b64decode(browser.call("Page.captureScreenshot")["data"]))


def main():
    out = os.path.abspath(sys.argv[1])
    pictures = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "docs", "guide"))
    os.environ["PATH"] = out + ":" + os.environ["PATH"]
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as directory:
        first_view(out, directory, pictures)
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

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A program to look at: one thread makes blocks, two hash them, one keeps the
results.  The README shows its page.  Runs until it is killed."""
import hashlib
import queue
import threading

blocks, results = queue.Queue(100), queue.Queue(100)


def produce():
    n = 0
    while True:
        blocks.put(bytes([n & 255]) * 4096)
        n += 1


def work():
    while True:
        results.put(hashlib.sha256(blocks.get()).hexdigest())


def collect():
    seen = {}
    while True:
        digest = results.get()
        seen[digest] = seen.get(digest, 0) + 1


for role in produce, work, work, collect:
    threading.Thread(target=role, daemon=True).start()
threading.Event().wait()

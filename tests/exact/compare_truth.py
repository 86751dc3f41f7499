#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what the exact source saw with what a kernel knows of itself.

  compare_truth.py TRUTH.csv FUNCTIONS.tsv SYMBOL...

FUNCTIONS.tsv is what `exact_dump FILE functions` prints.  Only data that the
kernel's own functions (SYMBOL) wrote and read counts: the harness and
libc are not part of the truth.  All reads and first reads must be equal
to the byte.  Only memcpy() may read a little more: it reads the ends of long copies
twice.
"""
import csv
import sys


def truth(path):
    with open(path, newline="") as f:
        lines = [line for line in f if not line.startswith("#")]
    return {(int(r["src_tid"]), int(r["dst_tid"])): (int(r["bytes"]), int(r["first_bytes"]))
            for r in csv.DictReader(lines) if int(r["bytes"])}


def seen(path, symbols):
    def own(function):
        # A copy is the kernel's as well, whichever variant libc chose.
        return function in symbols or function.startswith(("__memcpy", "__memmove"))
    edges, copied = {}, set()
    with open(path) as f:
        for line in f:
            _, src, dst, count, first = line.rstrip("\n").split("\t")
            if src == "-":
                continue
            src_tid, src_function = src.split(":", 1)
            dst_tid, dst_function = dst.split(":", 1)
            if own(src_function) and own(dst_function):
                key = int(src_tid), int(dst_tid)
                old = edges.get(key, (0, 0))
                edges[key] = old[0] + int(count), old[1] + int(first)
                if dst_function not in symbols:
                    copied.add(key)
    return edges, copied


def main():
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    true = truth(sys.argv[1])
    got, copied = seen(sys.argv[2], set(sys.argv[3:]))

    def same(key):
        want, have = true.get(key, (0, 0)), got.get(key, (0, 0))
        if key in copied and want[0] <= have[0] <= want[0] * 1.02:
            return want[1] == have[1]
        return want == have
    # A worker also keeps accounts of its own: only pairs of threads compare.
    wrong = [(key, true.get(key), got.get(key)) for key in sorted(true.keys() | got.keys())
             if key[0] != key[1] and not same(key)]
    pairs = [key for key in true if key[0] != key[1]]
    for key, want, have in wrong:
        print(f"{key[0]} -> {key[1]}: true {want}, seen {have}")
    print(f"{len(pairs)} pairs, {sum(true[key][0] for key in pairs)} bytes, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What programs cost that count by themselves: CPU time with libcomm-exact over that without.

  exact_native.py [--runs N] [ARCHIVE...]

Builds bench/exact_load.c plainly, with calls that do nothing in place of the runtime, which no
runtime could be faster than, and with each ARCHIVE (.output/libcomm-exact.a); runs them by turns, and prints
for each program the medians of the ratios of each turn.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

ROUNDS = {"lu": 6, "fft": 20, "tree": 10}
FLAGS = ["-O2", "-g", "-D_GNU_SOURCE"]
NOTHING = "void __tsan_%s(void *p) {}\n"
CALLS = ["init", "func_entry", "func_exit"] + [kind + str(n) for kind in ("read", "write")
                                               for n in (1, 2, 4, 8, 16)]


def build(directory, archives):
    def gcc(*args):
        subprocess.run(["gcc", *args], check=True, cwd=directory)

    source = os.path.join(os.path.dirname(os.path.realpath(__file__)), "exact_load.c")
    with open(os.path.join(directory, "nothing.c"), "w") as f:
        f.write("".join(NOTHING % call for call in CALLS))
    gcc(*FLAGS, source, "-o", "native", "-lm", "-lpthread")
    gcc(*FLAGS, "-fsanitize=thread", "-fno-builtin-memcpy", "-fno-builtin-memmove",
        "-fno-builtin-memset", "-c", source, "-o", "load.o")
    gcc("-O2", "-w", "-c", "nothing.c")
    for name, archive in [("nothing", "nothing.o"), *archives.items()]:
        gcc("load.o", archive, "-o", name, "-lm", "-lpthread")


def cpu_s(directory, name, program):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([os.path.join(directory, name), program, str(ROUNDS[program])], check=True,
                   stdout=subprocess.DEVNULL, cwd=directory)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("archive", nargs="*", default=[
        os.path.join(os.environ.get("O", ".output"), "libcomm-exact.a")])
    args = parser.parse_args()
    for path in args.archive:
        if not os.path.exists(path):
            sys.exit("exact_native: there is no %s: make builds one" % path)
    archives = {"archive%d" % i: os.path.realpath(path) for i, path in enumerate(args.archive)}
    with tempfile.TemporaryDirectory() as directory:
        build(directory, archives)
        print("program,native_s,calls_alone," + ",".join(args.archive))
        for program in ROUNDS:
            turns = [[cpu_s(directory, name, program) for name in ("native", "nothing", *archives)]
                     for _ in range(args.runs)]
            ratios = [statistics.median(turn[i] / turn[0] for turn in turns)
                      for i in range(1, len(turns[0]))]
            print("%s,%.2f,%s" % (program, statistics.median(turn[0] for turn in turns),
                                  ",".join("%.1f" % ratio for ratio in ratios)), flush=True)


if __name__ == "__main__":
    main()

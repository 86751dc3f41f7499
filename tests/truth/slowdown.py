#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What libcomm-exact costs: CPU time for each byte that the kernels read, over native.

  slowdown.py [--threads N] [--seconds S] [--repeats R] [KERNEL...]

Uses O (.output).  Prints kernel, slow-down (the median over the repeats), its
least and most, and MB read per CPU second natively, as CSV.
"""
import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile


def bytes_per_cpu_s(binary, kernel, args, directory):
    truth = os.path.join(directory, "truth.csv")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([binary, kernel, "--threads", str(args.threads), "--seconds",
                    str(args.seconds), "--out", truth], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, COMM_EXACT_OUT=os.path.join(directory, "x")))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(truth) as f:
        total = int(re.search(r"total_read_bytes=(\d+)", f.read()).group(1))
    return total / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("kernel", nargs="*")
    args = parser.parse_args()
    where = os.path.join(os.environ.get("O", ".output"), "tests/truth/truth-kernels")
    kernels = args.kernel or subprocess.run([where, "--list"], check=True, capture_output=True,
                                            text=True).stdout.split()
    medians = []
    print("kernel,slowdown,least,most,native_mb_per_cpu_s")
    with tempfile.TemporaryDirectory() as directory:
        for kernel in kernels:
            pairs = [(bytes_per_cpu_s(where, kernel, args, directory),
                      bytes_per_cpu_s(where + "-exact", kernel, args, directory))
                     for _ in range(args.repeats)]
            ratios = [native / exact for native, exact in pairs]
            medians.append(statistics.median(ratios))
            print("%s,%.1f,%.1f,%.1f,%.0f" % (kernel, medians[-1], min(ratios), max(ratios),
                                             statistics.median(n for n, _ in pairs) / 1e6),
                  flush=True)
    print("(geometric mean),%.1f,%.1f,%.1f," % (statistics.geometric_mean(medians), min(medians),
                                               max(medians)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

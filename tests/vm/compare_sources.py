#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of the sources' errors at the same overhead, from what compare.sh left.

    compare_sources.py RESULTS/compare

Each number is the mean over the kernels of the median over a kernel's runs.  Columns:
error, recall and volume as in tests/truth/compare.py, of all that is estimated; what the run
spent, percent of the target's time; how much of that in the kernel; samples and decoded
accesses a second; and accesses for each millisecond that the kernel's side of the source took.
"""
import collections
import glob
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../truth"))
import compare  # noqa: E402

ORDER = ["kmod", "bpf", "perf"]


def figures(stem):
    """Those of one run."""
    truth, head = compare.read_truth([stem + ".csv"])
    sync = compare.read_truth([stem + ".csv"], "sync_bytes")[0]
    edges, run = compare.read_report(stem + ".json")
    seen = compare.compare(edges, run, truth, head, sync)
    with open(stem + ".sums") as file:
        samples, accesses, handler_ns, daemon_ns, target_ns = (float(n or 0) for n in file.read().strip().split("|"))
    seconds = compare.seconds(run) or 1
    return {"error": seen["error"], "recall": seen["recall"], "log2": abs(seen["log2"] or 0),
            "spent": 100 * (handler_ns + daemon_ns) / target_ns if target_ns else 0,
            "handler": 100 * handler_ns / target_ns if target_ns else 0,
            "samples": samples / seconds, "accesses": accesses / seconds,
            "per_ms": accesses / (handler_ns / 1e6) if handler_ns else 0}


def main(folder):
    runs = collections.defaultdict(list)  # (way, kernel): figures
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.sums"))):
        stem = path[:-len(".sums")]
        kernel, way = os.path.basename(stem).rsplit("-", 1)[0].split("-", 1)
        try:
            runs[way, kernel].append(figures(stem))
        except (OSError, ValueError, KeyError, TypeError) as why:
            print(f"compare_sources.py: {os.path.basename(stem)}: {why!r}", file=sys.stderr)
    ways = [way for way in ORDER if any(w == way for w, _ in runs)]
    kernels = sorted({kernel for _, kernel in runs})
    if not ways:
        print("compare_sources.py: no run has results", file=sys.stderr)
        return 1

    def median(way, kernel, what):
        return statistics.median(run[what] for run in runs[way, kernel]) if runs[way, kernel] else float("nan")

    def mean(way, what):
        return statistics.fmean(median(way, kernel, what) for kernel in kernels)

    print("| source | error | " + " | ".join(kernels) + " | recall | abs log2 | spent % |"
          " in the kernel % | samples/s | accesses/s | accesses/ms in the kernel |")
    print("|---|" + "---:|" * (len(kernels) + 8))
    for way in ways:
        print(f"| {way} | {mean(way, 'error'):.3f} | "
              + " | ".join(f"{median(way, kernel, 'error'):.2f}" for kernel in kernels)
              + f" | {mean(way, 'recall'):.2f} | {mean(way, 'log2'):.2f} |"
              f" {mean(way, 'spent'):.2f} | {mean(way, 'handler'):.2f} | {mean(way, 'samples'):.0f} | {mean(way, 'accesses'):.0f} |"
              f" {mean(way, 'per_ms'):.0f} |")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))

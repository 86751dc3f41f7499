#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""accuracy.py's rows as tables, CSV and a picture.

  accuracy_report.py DIR

Reads DIR/rows.csv, DIR/programs/rows.csv and DIR/services/rows.csv.  Writes DIR/medians.csv,
DIR/accuracy.md and DIR/accuracy.svg; prints the text.
"""
import csv
import datetime
import math
import os
import platform
import statistics
import sys

import compare
import programs
import stated

SILENT = {"private", "partition", "falseshare"}
NUMBERS = compare.FIELDS + stated.FIELDS
# Columns of the tables of what is stated; stated_cells() makes a row.
STATED = ["runs", "stated", "precision", "exist", "cover", "width", "stated share", "claims true",
          "cover, all", "width, all", "within 3", "error", "floor", "excess", "volume", "own",
          "false reads"]
HEAD = ["kernel", "threads", "budget", "seconds", "estimator", "reads"]


def number(text):
    return float(text) if text not in ("", None) else None


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def grouped(rows, keys):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in keys), []).append(row)
    return groups


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def mean(values):
    values = [v for v in values if v is not None]
    return statistics.fmean(values) if values else None


def medians(rows):
    """One row for each kernel, budget, length, estimator and kind of reads."""
    ret = []
    for key, group in grouped(rows, HEAD).items():
        row = dict(zip(HEAD, key), repeats=len(group))
        for field in NUMBERS:
            row[field] = median([number(r[field]) for r in group])
        # Repeats differ in which edges they resolve: their edges count together.
        row["edges"] = sum(number(r["edges"]) or 0 for r in group)
        for field in "coverage", "cover_share":
            held = [(number(r[field]) or 0) * (number(r["edges"]) or 0) for r in group]
            row[field] = sum(held) / row["edges"] if row["edges"] else None
        ret.append(row)
    return ret


def summary(rows):
    """Medians of some kernels as one row; None when there are none."""
    errors = [r["error"] for r in rows if r["error"] is not None]
    if not errors:
        return None
    edges = sum(r["edges"] for r in rows)
    ret = {"kernels": len(errors), "error": mean(errors), "worst": max(errors),
           "worst_kernel": max((r for r in rows if r["error"] is not None),
                               key=lambda r: r["error"])["kernel"],
           "log2": mean([abs(r["log2"]) for r in rows if r["log2"] is not None]),
           "recall": mean([r["recall"] for r in rows]),
           "overhead": mean([r["overhead"] for r in rows])}
    for field in "coverage", "cover_share":
        held = sum((r[field] or 0) * r["edges"] for r in rows)
        ret[field] = held / edges if edges else None
    return ret


def false_reads(rows):
    return max((r["false_reads"] for r in rows
                if r["kernel"] in SILENT and r["false_reads"] is not None), default=None)


def show(value, digits=2):
    return "-" if value is None else "%.*f" % (digits, value)


def small(value):
    return "-" if value is None else "%.2g" % value


def table(head, rows, left=1):
    lines = ["| %s |" % " | ".join(head),
             "|%s|" % "|".join("---" if i < left else "---:" for i in range(len(head)))]
    return lines + ["| %s |" % " | ".join(map(str, row)) for row in rows]


def selected(rows, **want):
    return [r for r in rows if all(r[k] == v for k, v in want.items())]


def in_order(rows, field):
    return sorted({r[field] for r in rows}, key=lambda text: float(text))


def fitted():
    """Kernels that constants were chosen on, as README.md beside this file says."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "README.md")
    if not os.path.exists(path):
        return None
    with open(path) as f:
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in f]
    return next((set(row[1].split(", ")) for row in rows if row[0] == "fit" and len(row) == 2), None)


def wanted_rows(med, est):
    """What is to be reached, and what was: first estimator, all reads, runs of 4 s."""
    def at(budget, seconds):
        rows = selected(med, estimator=est, reads="all", budget=budget, seconds=seconds)
        return summary(rows), rows
    one, one_rows = at("1", "4.0")
    five, _ = at("5", "4.0")
    long_one, _ = at("1", "30.0")
    halves = fitted()
    held = summary([r for r in one_rows if r["kernel"] not in halves]) if halves else None
    lines = [("mean normalised matrix error at 1 %", "0.15", one and show(one["error"], 3)),
             ("the same at 5 %", "0.10", five and show(five["error"], 3)),
             ("abs log2 volume ratio at 1 %", "0.25", one and show(one["log2"])),
             ("worst kernel at 1 %", "0.35", one and "%s (%s)" % (show(one["worst"]),
                                                                  one["worst_kernel"])),
             ("top-k edge recall at 1 %", "1.00", one and show(one["recall"])),
             ("false communication, worst kernel without any", "0.0001",
              one_rows and small(false_reads(one_rows))),
             ("coverage of nominal 90 % intervals, all kernels", "0.87 to 0.93",
              one and show(one["coverage"])),
             ("the same, kernels not fitted to", "0.87 to 0.93", held and show(held["coverage"])),
             ("30 s runs at 1 %: mean error", "0.08", long_one and show(long_one["error"], 3))]
    return table(["", "wanted", "measured"], [(a, b, c or "-") for a, b, c in lines])


def halves_of(med, est):
    """Names and rows: all kernels; and for the first estimator the two halves."""
    fit, rows = fitted(), selected(med, estimator=est)
    ret = [("all", rows)]
    if fit and est == med[0]["estimator"]:
        ret += [("fit", [r for r in rows if r["kernel"] in fit]),
                ("held out", [r for r in rows if r["kernel"] not in fit])]
    return ret


def overview(med):
    rows = []
    for est in dict.fromkeys(m["estimator"] for m in med):
        for reads, seconds, budget in [(r, s, b) for r in ("all", "first")
                                       for s in in_order(med, "seconds")
                                       for b in in_order(med, "budget")]:
            for half, part in halves_of(med, est):
                part = selected(part, reads=reads, seconds=seconds, budget=budget)
                s = summary(part)
                if not s:
                    continue
                rows.append([est, reads, "%g s" % float(seconds), budget + " %", half,
                             show(s["error"], 3), "%s %s" % (show(s["worst"]), s["worst_kernel"]),
                             show(s["log2"]), show(s["recall"]), small(false_reads(part)),
                             show(s["coverage"]), show(s["cover_share"]), show(s["overhead"])])
    return table(["estimator", "reads", "length", "budget", "kernels", "error", "worst",
                  "abs log2", "recall", "false reads", "coverage", "of shares", "spent %"], rows, 5)


def per_kernel(med, est, reads):
    budgets, lengths = in_order(med, "budget"), in_order(med, "seconds")
    columns = [(s, b) for s in lengths for b in budgets]
    rows = []
    for kernel in dict.fromkeys(m["kernel"] for m in med):
        cells = []
        for s, b in columns:
            found = selected(med, kernel=kernel, estimator=est, reads=reads, seconds=s, budget=b)
            r = found[0] if found else None
            if not r:
                cells.append("-")
            elif kernel in SILENT or r["error"] is None:
                cells.append("false %s" % small(r["false_reads"]))
            else:
                cells.append("%s, %+.1f" % (show(r["error"]), r["log2"] or 0))
        rows.append([kernel] + cells)
    return table(["kernel"] + ["%g s, %s %%" % (float(s), b) for s, b in columns], rows)


def programs_table(rows):
    out = []
    for key, group in grouped(rows, ["program", "by", "budget", "estimator"]).items():
        values = {f: median([number(r[f]) for r in group]) for f in programs.FIELDS}
        out.append([*key[:2], key[2] + " %", key[3], show(values["error"]), show(values["recall"]),
                    show(values["edges"], 0), small(values["true_crossing"]),
                    small(values["crossing"]), show(values["log2"]), show(values["own"]),
                    show(values["overhead"]),
                    show(values["wall_s"], 1)])
    return table(["program", "by", "budget", "estimator", "error", "recall", "true edges",
                  "crossing, true", "estimated", "log2", "own", "spent %", "run, s"], out, 4)


def stated_cells(rows):
    """What runs of one kind state, in STATED's order.  Most runs state little: what is of stated
    rows is of those of all runs together."""
    def of(row, field):
        return number(row.get(field))

    def average(values):
        return small(mean([abs(v) for v in values if v is not None]))

    n = sum(of(r, "stated") or 0 for r in rows)

    def weighed(field):
        return show(sum((of(r, field) or 0) * (of(r, "stated") or 0) for r in rows) / n
                    if n else None)

    excess = [of(r, "error") - of(r, "floor") for r in rows
              if None not in (of(r, "error"), of(r, "floor"))]
    volumes = [of(r, "log2") for r in rows if of(r, "log2") is not None]
    return [len(rows), "%d" % n, weighed("precision"), weighed("exist"), weighed("cover"),
            weighed("width"), average(of(r, "stated_share") for r in rows),
            "%d of %d" % tuple(sum(of(r, k) or 0 for r in rows) for k in ("claims_true", "claims")),
            average(of(r, "cover_all") for r in rows),
            small(median([of(r, "width_all") for r in rows])),
            average(of(r, "within3") for r in rows), average(of(r, "error") for r in rows),
            average(of(r, "floor") for r in rows), small(mean(excess)),
            "x%s" % small(2 ** statistics.fmean(abs(v) for v in volumes)) if volumes else "-",
            average(of(r, "own") for r in rows), average(of(r, "false") for r in rows)]


def stated_table(rows, program_rows):
    """Of each estimator and baseline, budget and length."""
    out = []
    for row in rows:
        row["false"] = row["false_reads"] if row["kernel"] in SILENT else None
    for keys, kind, of in (
            (["seconds", "budget", "estimator"], "kernels, %s s, %s %%",
             selected(rows, reads="all")),
            (["by", "budget", "estimator"], "programs by %s, %s %%", program_rows)):
        for key, group in grouped(of, keys).items():
            out.append([kind % key[:2], key[2]] + stated_cells(group))
    return table(["", "estimator"] + STATED, out, 2)


def services_table(rows):
    """How two runs of each service agree: rows of services.py."""
    def common(row, kind):
        of = row[kind + "_of"]
        return "%s of %s" % (row[kind + "_common"], of) if of != "0" else "-"

    return table(["service", "by", "estimator", "budget", "bursts of both", "rows stated",
                  "top 10 in common", "L1", "first stated, s", "all rows", "in common", "L1 of all"],
                 [[r["service"], r["by"], r["estimator"], r["budget"] + " %", r["bursts"],
                   r["stated_rows"], common(r, "stated"), r["stated_l1"] or "-",
                   r["first_s"] or "-", r["all_rows"], common(r, "all"), r["all_l1"] or "-"]
                  for r in rows], 4)


def cpu_name():
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def shade(error):
    """White is right, dark is wrong; the same for all pictures."""
    x = min(1, error / 1.0) ** 0.7
    return "#%02x%02x%02x" % tuple(int(a + (b - a) * x) for a, b in
                                   zip((255, 255, 255), (150, 30, 40)))


def text_at(x, y, text, anchor="start", fill="#222", size=11):
    text = str(text).replace("&", "&amp;").replace("<", "&lt;")
    return ('<text x="%g" y="%g" text-anchor="%s" fill="%s" font-size="%d">%s</text>' %
            (x, y, anchor, fill, size, text))


def picture(med, est):
    """Errors as a heat map, kernels by budgets, and coverage as bars below."""
    rows = selected(med, estimator=est, reads="all")
    kernels = [k for k in dict.fromkeys(r["kernel"] for r in rows) if k not in SILENT]
    columns = [(s, b) for s in in_order(rows, "seconds") for b in in_order(rows, "budget")]
    left, top, w, h, bar_h = 100, 46, 62, 18, 120
    width = max(460, left + w * len(columns) + 20)
    height = top + h * (len(kernels) + 1) + bar_h + 80
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
           'font-family="sans-serif">' % (width, height),
           '<rect width="100%" height="100%" fill="white"/>',
           text_at(10, 18, "Normalised matrix error, all reads, estimator %s" % est, size=13)]
    for i, (s, b) in enumerate(columns):
        out.append(text_at(left + w * (i + 0.5), top - 6, "%g s, %s %%" % (float(s), b), "middle"))
    for j, kernel in enumerate(kernels + ["mean"]):
        y = top + h * j
        out.append(text_at(left - 6, y + 13, kernel, "end"))
        for i, (s, b) in enumerate(columns):
            part = selected(rows, seconds=s, budget=b)
            if kernel == "mean":
                total = summary(part)
                error = total and total["error"]
            else:
                error = next((r["error"] for r in part if r["kernel"] == kernel), None)
            if error is None:
                continue
            out.append('<rect x="%g" y="%g" width="%d" height="%d" fill="%s" stroke="white"/>' %
                       (left + w * i, y, w, h, shade(error)))
            out.append(text_at(left + w * (i + 0.5), y + 13, "%.2f" % error, "middle",
                               "white" if error > 0.55 else "#222"))
    base = top + h * (len(kernels) + 1) + bar_h + 40
    out.append(text_at(10, base - bar_h - 16, "Nominal 90 % intervals: share that held the truth",
                       size=13))
    for level in 0, 0.5, 0.9, 1:
        y = base - bar_h * level
        out.append('<line x1="%d" x2="%d" y1="%g" y2="%g" stroke="%s"/>' %
                   (left, width - 20, y, y, "#c03030" if level == 0.9 else "#ddd"))
        out.append(text_at(left - 6, y + 4, "%g %%" % (100 * level), "end"))
    for i, (s, b) in enumerate(columns):
        total = summary(selected(rows, seconds=s, budget=b))
        for k, (field, color) in enumerate((("coverage", "#3b6ea5"), ("cover_share", "#9dbbd8"))):
            value = (total or {}).get(field)
            if value is None:
                continue
            out.append('<rect x="%g" y="%g" width="%g" height="%g" fill="%s"/>' %
                       (left + w * i + 8 + 24 * k, base - bar_h * value, 22, bar_h * value, color))
    out.append(text_at(left, base + 18, "dark: bytes; light: shares, after scaling to the true "
                       "total; line: 90 %"))
    return "\n".join(out + ["</svg>", ""])


def document(rows, program_rows, service_rows, est, date):
    med = medians(rows)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    threads = "/".join(in_order(med, "threads"))
    halves = fitted()
    lines = [
        "# How right the reports are", "",
        "Made by `make accuracy` (tests/truth/accuracy.py) on %s: %s, %d CPUs, %.0f GiB, Linux %s."
        % (date, cpu_name(), os.cpu_count(), memory, platform.release()), "",
        "Each kernel of tests/truth knows its thread matrix to the byte. commd attaches to it for "
        "4 or 30 s; medians of %d runs, kernels with %s threads. All estimators were given the "
        "same recordings." % (max(m["repeats"] for m in med), threads), "",
        "- error: sum of |estimated - true| after scaling both matrices to one; 0 is perfect, 2 "
        "disjoint.",
        "- log2: of estimated over true bytes. recall: of the largest true edges (90 % of the "
        "bytes, at most 16) among as many estimated.",
        "- false reads: bytes put on pairs of threads that exchanged nothing, of all bytes read; "
        "the worst of the kernels without communication (%s)." % ", ".join(sorted(SILENT)),
        "- coverage: resolved edges whose 90 % interval held the true bytes, all kernels' "
        "together; of shares: after scaling the estimate to the true total.",
        "- spent: percent of the target's CPU time, as the run measured it.", "",
        "![Errors and coverage](accuracy.svg)", "", "## Against what was wanted", "",
        "Estimator %s, all reads, %s s." % (est, "4"), ""]
    lines += wanted_rows(med, est)
    if halves:
        lines += ["", "Constants were chosen on %s; the other kernels were left out of every "
                  "choice." % ", ".join(sorted(halves))]
    lines += ["", "## Whether what is stated is true", "",
              "Rows that the reports state, of all runs together (tests/truth/stated.py has the "
              "definitions). precision: of their bytes, those on rows whose true share lies in the "
              "row's interval; exist: rows with 1 % of the truth or more; cover, width: intervals "
              "that hold the truth, and half their width as part of the estimate; stated share: of "
              "the true bytes, those on stated rows; claims: shares in the account; all: of all "
              "rows, stated or not; within 3: of all estimated bytes, those on rows within a "
              "factor of sqrt(3) of the truth; floor: what sampling alone leaves of the error, "
              "excess: the rest; volume: the factor by which a run's volume is off. address, "
              "uniform and self are baselines, which state everything to 3 to 1: the nearest "
              "sampled write in address, each pair the same, nothing crosses.", ""]
    lines += stated_table(rows, program_rows)
    lines += ["", "## All of it", ""] + overview(med)
    for reads in "all", "first":
        lines += ["", "## Each kernel, %s reads, estimator %s: error, log2 of the volume" %
                  (reads, est), ""] + per_kernel(med, est, reads)
    if program_rows:
        lines += ["", "## Real programs", "",
                  "Against the exact source's run of the same work: shares of what crosses "
                  "threads, by role (main thread, worker, another worker) and by pair of "
                  "functions. Crossing: its part of all bytes read; log2: estimated over true; own: reads "
                  "of own data, estimated over true. uniform and self are guesses, each pair of "
                  "threads the same and nothing crossing. What the loader and "
                  "pthread_create() wrote is left out of both (tests/truth/programs.py says why).",
                  ""] + programs_table(program_rows)
    if service_rows:
        lines += ["", "## Services", "",
                  "Two runs one after the other under one load, by function across threads and by "
                  "role: rows that each states, how many of the ten largest are among the other's, "
                  "L1 distance of the shares (0 to 2; what the other does not state has none "
                  "there), when the first row was stated; then the same of all rows "
                  "(tests/truth/services.py).", ""] + services_table(service_rows)
    return "\n".join(lines) + "\n"


def write(directory, est=None):
    rows = read_rows(os.path.join(directory, "rows.csv"))
    if not rows:
        print("nothing was measured")
        return
    med = medians(rows)
    est = est or med[0]["estimator"]
    with open(os.path.join(directory, "medians.csv"), "w", newline="") as f:
        writer = csv.DictWriter(f, HEAD + ["repeats"] + NUMBERS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: "" if v is None else "%.6g" % v if isinstance(v, float) else v
                          for k, v in row.items()} for row in med)
    date = datetime.date.fromtimestamp(os.path.getmtime(os.path.join(directory, "rows.csv")))
    text = document(rows, *(read_rows(os.path.join(directory, kind, "rows.csv"))
                            for kind in ("programs", "services")), est, date)
    with open(os.path.join(directory, "accuracy.md"), "w") as f:
        f.write(text)
    with open(os.path.join(directory, "accuracy.svg"), "w") as f:
        f.write(picture(med, est))
    print(text)
    print("in %s: rows.csv, medians.csv, accuracy.md, accuracy.svg" % directory)


def main(args):
    if len(args) != 1 or args[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    write(args[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

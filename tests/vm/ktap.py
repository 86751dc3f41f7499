#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what a VM reported, as KTAP, and says what came of it, as KTAP.

    ktap.py [--expected FILE] [--kernel 6.12] [--parts 'watch budget'] VM.ktap HOST.ktap...

The reports become one: all their tests, and a last one, "promises", with what the
file "expected" wants and nobody reported, and with every fault of the reports
themselves.  A report without a version or a plan, or with tests other than planned, is
a failure: its end may be missing.  Exit status 1: something failed.
"""
import argparse
import re
import sys
from dataclasses import dataclass, field

RESULT = re.compile(r"(ok|not ok) (\d+)(?:(?: -)? ([^#]*?))?(?: *# *(?:(SKIP|TODO|XFAIL|TIMEOUT|ERROR)\b *)?(.*))?$")
INDENT = 4


@dataclass
class Test:
    ok: bool
    name: str
    directive: str = ""
    text: str = ""
    inner: "Report" = None

    @property
    def skipped(self):
        return self.directive == "SKIP"

    @property
    def failed(self):
        return not self.ok and not self.skipped


@dataclass
class Report:
    tests: list = field(default_factory=list)
    said: list = field(default_factory=list)  # (before which test, line)
    faults: list = field(default_factory=list)
    plan: int = None
    version: bool = False

    def leaves(self):
        for test in self.tests:
            if test.inner and test.inner.tests:
                yield from test.inner.leaves()
            else:
                yield test

    def all_faults(self):
        yield from self.faults
        for test in self.tests:
            if test.inner:
                yield from (f"{test.name}: {fault}" for fault in test.inner.all_faults())


def take(report, line, pending):
    """One line of a report's own depth."""
    match = RESULT.match(line)
    if line == "KTAP version 1":
        if report.version:
            report.faults.append("a second version")
        report.version = True
    elif re.match(r"1\.\.\d+$", line):
        if report.plan is not None:
            report.faults.append("a second plan")
        if report.tests:
            report.faults.append("a plan behind the first result")
        report.plan = int(line[3:])
    elif match:
        ok, number, name, directive, text = match.groups()
        test = Test(ok == "ok", name or "", directive or "", text or "", pending)
        report.tests.append(test)
        if int(number) != len(report.tests):
            report.faults.append(f"number {number} where {len(report.tests)} should be: {line}")
        if test.ok and pending and any(t.failed for t in pending.leaves()):
            report.faults.append(f"{test.name} is ok with a failure in it")
        return None
    elif re.match(r"(ok|not ok)\b", line):
        report.faults.append(f"not a result: {line}")
    elif line.startswith("#") or not line:
        if line and not line.startswith("# Subtest: "):
            report.said.append((len(report.tests), line))
    else:
        report.faults.append(f"not KTAP: {line}")
    return pending


def close(report):
    if not report.version:
        report.faults.append("no version")
    if report.plan is None:
        report.faults.append("no plan")
    elif report.plan != len(report.tests):
        report.faults.append(f"{len(report.tests)} results of {report.plan} planned")
    return report


def parse(text):
    """The report that text is; what is wrong with it is in its faults."""
    lines, at = text.splitlines(), 0

    def at_depth(depth):
        nonlocal at
        report, pending = Report(), None
        while at < len(lines):
            line = lines[at].rstrip()
            own = len(line) - len(line.lstrip(" "))
            if line and own < depth:
                break
            if line and own >= depth + INDENT:
                if pending:
                    report.faults.append("subtests without their result")
                pending = at_depth(depth + INDENT)
                continue
            at += 1
            pending = take(report, line.strip(), pending)
        if pending:
            report.faults.append("subtests without their result")
        return close(report)

    return at_depth(0)


def missing(expected, kernel, parts, tests):
    """The names that "expected" promises for this kernel and that no test has."""
    names = {test.name for test in tests}
    groups = {test.name for test in tests if test.skipped}
    section = None
    for line in expected.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line.strip("[]")
            continue
        if line.startswith("6."):
            only, line = line.split(": ", 1)
            if only != kernel:
                continue
        if section != "always" and section.rstrip("?") not in parts and (parts or section.endswith("?")):
            continue
        if line not in names and line.split(":")[0] not in groups:
            yield line


def promises(reports, absent):
    inner = Report(version=True)
    for report in reports:
        inner.tests += [Test(False, "report", "ERROR", fault) for fault in report.all_faults()]
    inner.tests += [Test(False, name, "ERROR", "no result") for name in absent]
    if not inner.tests:
        inner.tests = [Test(True, "all that was promised came", "", "")]
    return Test(all(test.ok for test in inner.tests), "promises", inner=inner)


def show(tests, said, depth=0):
    pad = " " * depth
    print(f"{pad}KTAP version 1\n{pad}1..{len(tests)}")
    for i, test in enumerate(tests):
        for line in (line for where, line in said if where == i):
            print(pad + line)
        if test.inner:
            show(test.inner.tests, test.inner.said, depth + INDENT)
        tail = " ".join(word for word in (test.directive, test.text) if word)
        print(f"{pad}{'ok' if test.ok else 'not ok'} {i + 1} {test.name}" + (f" # {tail}" if tail else ""))
    for line in (line for where, line in said if where >= len(tests)):
        print(pad + line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expected")
    parser.add_argument("--kernel", default="")
    parser.add_argument("--parts", default="")
    parser.add_argument("report", nargs="+")
    options = parser.parse_args()
    texts = []
    for path in options.report:
        try:
            with open(path, errors="replace") as file:
                texts.append(file.read())
        except OSError:
            texts.append("")
    reports = [parse(text) for text in texts]
    tests = [test for report in reports for test in report.tests]
    leaves = [leaf for report in reports for leaf in report.leaves()]
    absent = []
    if options.expected:
        with open(options.expected) as file:
            absent = list(missing(file.read(), options.kernel, options.parts.split(), leaves))
    tests.append(promises(reports, absent))
    show(tests, reports[0].said)
    failed = sum(leaf.failed for leaf in leaves + list(tests[-1].inner.leaves()))
    skipped = sum(leaf.skipped for leaf in leaves)
    print(f"# {len(leaves) - skipped - sum(leaf.failed for leaf in leaves)} ok, {failed} not ok, {skipped} skipped")
    return 1 if failed or any(test.failed for test in tests) else 0


if __name__ == "__main__":
    sys.exit(main())

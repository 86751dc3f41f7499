#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Scripts must not depend on whose awk is installed, nor on the caller's locale.
#
# Each awk program in a script gets the same input under mawk, gawk and busybox: its output and
# exit status must be the same, with nothing on stderr.  Differences that have broken scripts
# here: gawk rewrites an escape like "\[" in a -v assignment, mawk prints a whole number beyond
# 2^31 as 3e+09, busybox has no "^".
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
command -v python3 >/dev/null || { echo "python3 is missing"; exit 1; }
python3 -B - <<'PY'
import re, shutil, subprocess, sys, tempfile

AWKS = [["mawk"], ["gawk"], ["gawk", "--posix"], ["busybox", "awk"]]
# Fields by tab, by comma and by blank; byte counts beyond 32 bits; no number at all;
# and for programs that divide, whose awk may end there, nothing but numbers.
INPUTS = ("src_tid,dst_tid,bytes,first_bytes\n# total=1\n\n11,12,5000000000,4000000000,7,8\n12,11,3,2,1,0\n"
         "watch 11 12 3000000000\nwatch 12 12 7\n"
         "1=one\t1:produce\t2:consume\t2500000000\t2400000000\n2\t1:[kernel]\t2:consume\t12288\t4096\n"
         "1.5 0.25 70000\n3000000000 2 t 4 5 6 7 8 9 10 11 12 13 14 15\n",
          "1.5 0.25 3\n3000000000 2 5\n4000000000 3 1\n" + "7 8 9 10 11 12 13 14 15 16 17\n" * 5)
# awk, its -F and -v, and a program in single quotes, which shell cannot change.
CALL = re.compile(r"""\bawk((?:\s+-[Fv]\s*(?:'[^']*'|"[^"]*"|\\.|\$\(\([^'"]*?\)\)|[^\s'"\\])+)*)\s*(?:\\\n\s*)?'([^']*)'""")
WORD = re.compile(r"\bawk\b")

failed = n = 0
def result(problems, name):
    global failed, n
    n += 1
    failed |= bool(problems)
    print("not ok" if problems else "ok", n, "-", name)
    for problem in problems:
        print("#  ", problem)

scripts = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.sh", ".ci/*", "tests/vm/init"],
                         check=True, capture_output=True, text=True).stdout.split("\0")
texts = {s: open(s).read() for s in scripts if s and s != "tests/static/portable.sh"}

here = [a for a in AWKS if shutil.which(a[0])]
programs, problems = 0, []
file = tempfile.NamedTemporaryFile("w")
for script, text in texts.items():
    code = re.sub(r"(?m)^\s*#.*$", lambda m: " " * len(m[0]), text)
    calls = list(CALL.finditer(code))
    line = lambda at: f"{script}:{code.count(chr(10), 0, at) + 1}"
    covered = [range(*m.span()) for m in calls]
    for m in WORD.finditer(code):
        if not any(m.start() in r for r in covered):
            problems.append(f"{line(m.start())}: an awk whose program is not in single quotes cannot be tried")
    for m in calls:
        options, program = m.groups()
        programs += 1
        given = []
        for field in re.findall(r"-F('[^']*'|\S+)", options):
            given += ["-F", field.strip("'")]
        for name in re.findall(r"-v\s*(\w+)=", options):
            given += ["-v", f"{name}=2"]
            # -v reads escapes, and each awk reads those of regular expressions otherwise.
            if re.search(rf"~\s*{name}\b", program):
                problems.append(f"{line(m.start())}: the pattern {name} comes by -v, not by ENVIRON")
        tried = 0
        for lines in INPUTS:
            seen = {}
            file.seek(0)
            file.truncate()
            file.write(lines)
            file.flush()
            for awk in here:
                # Twice, for programs that compare one file with another.
                run = subprocess.run(awk + given + [program, file.name, file.name], capture_output=True, text=True,
                                     env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "FROM": r":\[kernel\]$", "TO": ":consume$"})
                seen.setdefault((run.stdout, run.stderr, run.returncode), []).append(" ".join(awk))
            if any("division by zero" in err.lower() for _, err, _ in seen):
                continue
            tried += 1
            if len(seen) > 1 or any(err for _, err, _ in seen):
                problems.append(f"{line(m.start())}: " + "; ".join(f"{', '.join(who)}: {out!r} {err!r}, exit {code}"
                                                                for (out, err, code), who in seen.items()))
        if not tried:
            problems.append(f"{line(m.start())}: divides by zero whatever it reads")
if len(here) < 3:
    problems.append("mawk, gawk and busybox are not all installed")
if not programs:
    problems.append("no awk program was found")
result(problems, f"{programs} awk programs say the same under mawk, gawk and busybox")

# With a comma for the decimal point mawk and printf read 1 from "1.5", and sort -n orders
# otherwise; a translated message is not the one that a grep looks for.  Each script sets LC_ALL
# itself or by tests/tap.bash, since each is run alone, too; but the demo, which shows its reader what commctl prints
# for that locale.
problems = [s for s, text in texts.items()
            if text.startswith("#!") and s.endswith(".sh") and s != "bench/demo.sh" and
            not re.search(r"(?m)^export LC_ALL=C( |$)", text) and
            not re.search(r'(?m)^\. "\$\(dirname "\$0"\)/\.\./tap\.bash"$', text)]
if "\nexport LC_ALL=C\n" not in open("tests/tap.bash").read():
    problems.append("tests/tap.bash")
result(problems, "scripts say export LC_ALL=C")
sys.exit(failed)
PY

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands in documents and manual pages have options that commd and commctl know.
. "$(dirname "$0")/../tap.bash"
[ -x "$commctl" ] && [ -x "$commd" ] || { echo "not ok 1 - build first"; exit 1; }

python3 - "$commd" "$commctl" >"$dir/said" <<'END'
import re, subprocess, sys

commd, commctl = sys.argv[1:]
files = subprocess.run(["git", "ls-files", "*.md", "man"], capture_output=True, text=True, check=True).stdout.split()
known = {}


def options(words):
    """What the help of a command names; None: there is no such command."""
    if words not in known:
        shown = subprocess.run([commd if words[0] == "commd" else commctl, *words[1:], "--help"], capture_output=True, text=True)
        text = shown.stdout
        known[words] = None if shown.returncode else set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text)) | {"--help", "--version", "--usage"}
    return known[words]


checked = 0
for path in files:
    with open(path) as file:
        text = file.read()
    if not path.endswith(".md"):
        text = re.sub(r"\\-", "-", text)
    # One after the other: what stands in back-quotes, and lines of code.
    pieces = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^[ $]*(?:\.B )?((?:commd|commctl) .*)$", text, flags=re.M)
    for piece in pieces:
        for call in re.findall(r"(?:^|[|;&$] *)((?:commd|commctl) [^|;&#]*)", piece):
            words = call.split()
            tool = ("commd",) if words[0] == "commd" else tuple(words[:2])
            if tool[0] == "commctl" and (not re.fullmatch(r"[a-z]+", tool[-1]) or tool[-1] == "help"):
                continue
            mine = " ".join(words).split(" -- ")[0].split()
            have = options(tool)
            checked += 1
            if have is None:
                print(f"{path}: {call}: there is no {' '.join(tool)}")
                continue
            for word in mine[1:]:
                name = re.match(r"--?[A-Za-z][\w-]*", word)
                # Of any grouping, and of that which CONTRIBUTING.md adds.
                if name and name.group() not in have | {"--by-NAME", "--by-module"}:
                    # Short options may stand together.
                    if not (word[1] != "-" and "-" + word[1] in have):
                        print(f"{path}: {call}: no option {word}")
print(f"{checked} commands")
END
[ "$(tail -n 1 "$dir/said" | cut -d ' ' -f 1)" -gt 100 ]
result $? "commands are found: $(tail -n 1 "$dir/said")"
[ "$(wc -l <"$dir/said")" = 1 ]
result $? "their options are known: $(head -n -1 "$dir/said" | sort -u | head -n 20)"
exit $status

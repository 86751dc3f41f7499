#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""One wrong change of the program, which some test must notice.

    mutant.py MUTANT TREE      applies it there

A mutant's file says what it breaks, in comments; then, a line each:

    part: PART      the part of the VM's tests that must notice, a program of cptest.c, or
    run: COMMAND    what must fail, in the changed tree; O is the folder of its output
    check: NAME     which of its checks must fail: that another one does is no verdict
    file: PATH      where the changes are made
    from: TEXT      a line as it is, which must be there exactly once,
    to: TEXT        and what comes instead; "\\n" begins a new line

It fails, and changes nothing, where the source has moved on.
"""
import os
import sys


def read(path):
    """What a mutant's file says."""
    said, changes = {}, []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if line.startswith("#"):
                continue
            key, colon, value = line.partition(": ")
            if not colon or key not in ("part", "run", "check", "file", "from", "to"):
                raise ValueError(f"{path}:{number}: not a line of a mutant")
            if key == "from":
                changes.append([value, None])
            elif key == "to":
                changes[-1][1] = value.replace("\\n", "\n")
            else:
                said[key] = value
    if not changes or any(to is None for _, to in changes) or not {"file", "check"} <= said.keys() or ("part" in said) == ("run" in said):
        raise ValueError(f"{path}: wants a file, a check, either a part or a run, and a to for each from")
    return said, changes


def changed(text, changes, path):
    for old, new in changes:
        lines = f"\n{text}"
        if lines.count(f"\n{old}\n") != 1:
            raise ValueError(f"{path}: not once in the source: {old}")
        text = lines.replace(f"\n{old}\n", f"\n{new}\n")[1:]
    return text


def main(mutant, tree):
    said, changes = read(mutant)
    path = os.path.join(tree, said["file"])
    with open(path) as file:
        text = file.read()
    text = changed(text, changes, mutant)
    with open(path, "w") as file:
        file.write(text)
    for key in "part", "run", "check", "file":
        print(f"{key}={said.get(key, '')}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    try:
        sys.exit(main(*sys.argv[1:]))
    except (OSError, ValueError) as why:
        print(f"mutant.py: {why}", file=sys.stderr)
        sys.exit(1)

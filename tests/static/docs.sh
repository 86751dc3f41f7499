#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What documents and comments point to is there: links, sections, files of this tree. Documents keep their length.
. "$(dirname "$0")/../tap.bash"

git ls-files '*.md' >"$dir/documents"
[ "$(wc -l <"$dir/documents")" -gt 10 ]
result $? "documents are found: $(wc -l <"$dir/documents")"

python3 - "$dir" >"$dir/wrong" <<'END'
import os, re, subprocess, sys

folder = sys.argv[1]


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def headings(path):
    text = re.sub(r"^```.*?^```", "", read(path), flags=re.M | re.S)
    return [line.lstrip("#").strip() for line in text.split("\n") if line.startswith("#")]


def anchors(path):
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in headings(path)}


files = set(subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n"))
files = {path for path in files if path and os.path.exists(path)}
folders = {os.path.dirname(path) for path in files}
for path in list(folders):
    while path := os.path.dirname(path):
        folders.add(path)
tops = {path.split("/")[0] for path in files if "/" in path}

for document in read(folder + "/documents").split():
    text = read(document)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(document), name)) if name else document
        if path not in files and path not in folders:
            print(f"{document}: a link to {target}, which is not there")
        elif anchor and anchor not in anchors(path):
            print(f"{document}: a link to {target}, whose section is not there")
    # A path in back-quotes that begins with a folder of this tree is a file or a folder of it, but for
    # NAME, which stands for any, and the file that the walk of CONTRIBUTING.md makes.
    for name in re.findall(r"`([a-z]+/[\w./-]+)`", text):
        if "NAME" in name or name.endswith("/by_module.c"):
            continue
        beside = os.path.normpath(os.path.join(os.path.dirname(document), name))
        rooms = {"libcomm/" + name, "tests/" + name}
        if name.split("/")[0] in tops and not {name, beside, name.rstrip("/")} & (files | folders) and not rooms & (files | folders):
            print(f"{document}: names {name}, which is not there")

# A document by its path, and a section of it in quotes behind it.
for path in files:
    if not re.search(r"\.([chsS]|sh|py|md|mk|rs|f90|js|[13])$|Makefile$", path):
        continue
    # A text may go on in the next line of a comment.
    text = re.sub(r"\n[ \t]*(?:\*|//!?|#|!)?[ \t]*", " ", read(path))
    for name, section in re.findall(r'\b((?:docs/[\w/-]+|ARCHITECTURE|SECURITY|CONTRIBUTING)\.md)(?:, "([^"]{3,80})")?', text):
        if name not in files:
            print(f"{path}: names {name}, which is not there")
        elif section and section not in headings(name):
            print(f'{path}: names "{section}" of {name}, which is not there')
END
[ $? = 0 ] && [ ! -s "$dir/wrong" ]
result $? "what they point to is there: $(sort -u "$dir/wrong" | head -n 20)"

long=$(while read -r limit pattern; do
  # shellcheck disable=SC2086 # patterns
  wc -l $pattern | awk -v limit="$limit" '$2 != "total" && $1 > limit { print $2 " has " $1 " lines, not " limit }'
done <<'END'
120 README.md
120 ARCHITECTURE.md
200 docs/*/*.md
END
)
[ -z "$long" ]
result $? "documents keep their length: $long"
terms=$(grep -c '^| \*\*' docs/glossary.md)
[ "$terms" -gt 10 ] && [ "$terms" -le 20 ]
result $? "the glossary has 20 words at most: $terms"
exit $status

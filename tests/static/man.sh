#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Manual pages are clean for groff and mandoc, and have each option that --help has.
. "$(dirname "$0")/../tap.bash"
[ -x "$commctl" ] && [ -x "$commd" ] || { echo "not ok 1 - build first"; exit 1; }

for page in man/*.[13]; do
  if command -v groff >/dev/null; then
    said=$(groff -ww -man -Tutf8 -z "$page" 2>&1)
    [ -z "$said" ]
    result $? "groff: $page: $(head -n 5 <<<"$said")"
  else
    skip "groff: $page" "groff is not installed"
  fi
  if command -v mandoc >/dev/null; then
    # Pages have no date: it would be that of whoever forgot to change it.
    said=$(mandoc -T lint -W warning "$page" | grep -v 'WARNING: missing date')
    [ -z "$said" ]
    result $? "mandoc: $page: $(head -n 5 <<<"$said")"
  else
    skip "mandoc: $page" "mandoc is not installed"
  fi
done

# options PROGRAM ARGUMENT...: the long ones of its help.
options() { "$@" --help | grep -oE '^ +(-., )? *--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | grep -vxE -- '--(help|usage|version)' | sort -u; }
named() { sed 's/\\-/-/g; s/\\fB//g' "$1" | grep -oE -- '--[a-z][a-z-]*' | sort -u; }
commands=$("$commctl" --help | sed -n 's/^  \([a-z]\{3,\}\)  .*/\1/p' | grep -vx help)
[ "$(wc -w <<<"$commands")" -ge 10 ]
result $? "the commands are found: $(wc -w <<<"$commands")"
missing=$(comm -23 <(options "$commd") <(named man/commd.1))
[ -z "$missing" ]
result $? "commd.1 has each option: $missing"
missing=$(for command in $commands; do options "$commctl" "$command"; done | sort -u | comm -23 - <(named man/commctl.1))
[ -z "$missing" ]
result $? "commctl.1 has each option: $missing"
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make help names all that can be made by name, and nothing else.
. "$(dirname "$0")/../tap.bash"

help=$(make -s --no-print-directory help)
# deps-% and those that end in -built are steps of others, print-% are for tests.
targets=$(git ls-files Makefile '*.mk' | xargs sed -n '/^\.PHONY:/{:more;/\\$/{N;b more};s/^\.PHONY://;s/\\\n//g;p}' |
  tr -s ' \t' '\n' | grep -vE '^$|-built$|^deps-|^print-' | sort -u)
[ "$(wc -w <<<"$targets")" -gt 30 ]
result $? "the targets are found: $(wc -w <<<"$targets")"
named=$(grep -oE '[a-z][a-z_-]*(\.json)?' <<<"$help" | sort -u)
missing=$(comm -23 <(echo "$targets") <(echo "$named") | tr '\n' ' ')
[ -z "$missing" ]
result $? "make help names each: $missing"
unknown=$(grep -oE '^make +[a-z][a-z_-]*(\.json)?' <<<"$help" | awk '$2 != "test-" { print $2 }' | sort -u | comm -23 - <(echo "$targets") | tr '\n' ' ')
[ -z "$unknown" ]
result $? "and each that it names is one: $unknown"
exit $status

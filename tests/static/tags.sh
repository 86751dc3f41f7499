#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No two files of libcomm define a struct, union or enum of one name, nor does one of
# daemon/ or include/ have the name of one of libcomm's headers: a reader who looks a
# name up, and a debugger, would find the wrong one.
export LC_ALL=C
set -u
cd "$(dirname "$0")/../.."
tags() { # FILES...: TAG FILE
  # shellcheck disable=SC2046 # one word a file
  grep -oE '^(typedef )?(struct|union|enum) [a-z0-9_]+ \{' $(git ls-files "$@") /dev/null |
    sed -E 's/^([^:]*):.* ([a-z0-9_]+) \{$/\2 \1/' | sort -u
}
said() { # TEST NAME TWICE
  [ -z "$3" ] && echo "ok $1 - $2" && return
  echo "not ok $1 - $2"
  echo "$3" | sed 's/^/#   /'
  failed=1
}
failed=0
own=$(tags 'libcomm/*.[ch]')
[ "$(wc -l <<<"$own")" -gt 100 ] || { echo "not ok 1 - only $(wc -l <<<"$own") tags found in libcomm"; exit 1; }
said 1 "no two files of libcomm define one tag" \
  "$(cut -d' ' -f1 <<<"$own" | uniq -d | while read -r tag; do grep "^$tag " <<<"$own"; done)"
shared=$(grep '\.h$' <<<"$own" | cut -d' ' -f1)
said 2 "nothing else has the tag of a header of libcomm" \
  "$(tags 'daemon/*.[ch]' 'include/*.h' 'ctl/*.[ch]' 'ship/*.[ch]' 'exact/*.[ch]' |
    while read -r tag file; do grep -qxF "$tag" <<<"$shared" && echo "$tag $file"; done)"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The walk of CONTRIBUTING.md: the grouping that it adds compiles, and passes the test of all groupings.
. "$(dirname "$0")/../tap.bash"
[ -f "$O/libcomm.a" ] || { echo "not ok 1 - build first"; exit 1; }

file=$(grep -oE 'libcomm/report/grouping/by_[a-z]+\.c' CONTRIBUTING.md | head -n 1)
before=$(sed -n '/```diff/,/```/s/^   *+\t\(X([a-z]*)\).*/\1/p' CONTRIBUTING.md)
awk '/^   ```c$/ && !n++ { on = 1; next } /^   ```$/ { on = 0 } on { sub(/^   /, ""); print }' CONTRIBUTING.md >"$dir/new.c"
sed "s/^\tX(line) .*/&\n\t$before \\\\/" libcomm/report/grouping.h >"$dir/grouping.h"
cp libcomm/report/grouping.c "$dir"
grep -q "$before" "$dir/grouping.h" && ! grep -q "$before" libcomm/report/grouping.h && [ -s "$dir/new.c" ] && [ ! -e "$file" ]
result $? "it adds $before to the table, and $file"

# What the copies define stands before libcomm.a, which has the table without it.
read -ra flags <<<"$(make -s --no-print-directory print-inc ROOM=tests)"
read -ra libraries <<<"$(make -s --no-print-directory print-libs)"
out=$(gcc -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -Werror -iquote "$dir" "${flags[@]}" "$dir/grouping.c" "$dir/new.c" \
  tests/unit/test_grouping.c "$O/libcomm.a" -o "$dir/test" -lcmocka "${libraries[@]}" -lpthread 2>&1)
result $? "it compiles: $(head -n 3 <<<"$out")"
out=$("$dir/test" 2>&1)
result $? "and the test of all groupings passes: $(grep -aE '^not ok|FAILED' <<<"$out" | head -n 3)"
clang-format --dry-run -Werror --style=file:.clang-format "$dir/new.c" >"$dir/out" 2>&1
result $? "clang-format agrees: $(head -n 2 "$dir/out")"
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Windows by debug registers on a program whose accesses are known, where such registers trap; in the
# VMs of tests/vm they do.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to watch every CPU"
"$O/tests/e2e/windows_live" >"$dir/lines"
code=$?
case $code in
0 | 1) ;;
77) skip_all "$(sed -n 's/^skip registers # //p' "$dir/lines")" ;;
*) not_ok "exit status $code" "$(cat "$dir/lines")" ;;
esac
while read -r line; do
  case $line in
  ok\ *) ok "${line#ok }" ;;
  not\ ok\ *) not_ok "${line#not ok }" ;;
  esac
done <"$dir/lines"
echo "1..$n"
exit $status

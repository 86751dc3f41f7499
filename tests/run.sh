#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs test programs one after the other and counts their results.
#   tests/run.sh LOGDIR PROGRAM...
# A program speaks TAP ("ok 1 - name", "not ok 2 - name", "ok 3 # SKIP why") or
# prints nothing and exits with 0 (passed), 77 (skipped) or else (failed).  A line
# "skip name: why" counts as skipped, too.  Of KTAP, which nests, the innermost
# results count, and the outermost must be as many as planned.
set -u
export LC_ALL=C
logs=$1
shift
mkdir -p "$logs"

# Passed, failed and skipped of a log in KTAP.
count_ktap() { # log
  awk '
    /^1\.\./ { plan = substr($0, 4) }
    /^ *(not )?ok / {
      match($0, /^ */)
      depth = RLENGTH
      outermost += !depth
      inner = depth < last
      last = depth
      if (inner) next
      if (/# *SKIP/) skipped++
      else if (/^ *not/) failed++
      else passed++
    }
    END { print passed + 0, failed + (plan == "" || plan != outermost), skipped + 0 }' "$1"
}

passed=0 failed=0 skipped=0 n=0
export CMOCKA_MESSAGE_OUTPUT=TAP
bad=()
for program in "$@"; do
  n=$((n + 1))
  name=${program#"${O:-}/"}
  name=${name#tests/}
  log=$logs/${name//\//-}.log
  printf '[%d/%d] %s ' "$n" $# "$name"
  start=$SECONDS
  timeout -k 10 "${TEST_TIMEOUT:-3600}" "$program" >"$log" 2>&1 </dev/null
  code=$?
  s=$(grep -cE '^(not )?ok .*# *SKIP|^skip ' "$log")
  f=$(grep -E '^not ok' "$log" | grep -cvE '# *SKIP')
  p=$(grep -E '^ok' "$log" | grep -cvE '# *SKIP')
  if grep -q '^KTAP version' "$log"; then
    read -r p f s <<<"$(count_ktap "$log")"
  fi
  if [ $((s + f + p)) = 0 ]; then
    case $code in
    0) p=1 ;;
    77) s=1 ;;
    *) f=1 ;;
    esac
  elif [ $code != 0 ] && [ $code != 77 ] && [ "$f" = 0 ]; then
    f=1 # the program died, or failed without a "not ok" line
  fi
  printf '%d passed, %d failed, %d skipped (%d s)\n' "$p" "$f" "$s" $((SECONDS - start))
  grep -E '# *SKIP|^skip ' "$log" | sed -E 's/^ *(not )?ok [0-9]+ *-? */skip /; s/^/    /'
  [ $code = 77 ] && tail -n 1 "$log" | sed 's/^/    skipped: /'
  if [ "$f" != 0 ]; then
    bad+=("$name")
    grep -E '^ *not ok' "$log" | grep -vE '# *SKIP' | head -n 20 | cut -c1-400 | sed 's/^/    /'
    tail -n 15 "$log" | cut -c1-400 | sed 's/^/    /'
    [ $code = 124 ] && echo "    timed out"
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
[ ${#bad[@]} = 0 ] || echo "failed: ${bad[*]} (logs in $logs)"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]

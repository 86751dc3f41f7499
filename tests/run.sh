#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs test programs and counts their results.
#   tests/run.sh LOGDIR PROGRAM... [-- PROGRAM...]...
# Each list is a stream, one program after the other, beside the other streams, since some tests compute and others
# mostly wait.  A stream that has done its own list takes from the ends of the others', the last list first, so that
# all end together.
# What failed in less than AGAIN_S seconds is run once more when all else has ended, and that result counts: most that
# fail beside others only rest on a machine that keeps up.  The first failure is shown all the same.
# A program speaks TAP ("ok 1 - name", "not ok 2 - name", "ok 3 # SKIP why") or
# prints nothing and exits with 0 (passed), 77 (skipped) or else (failed).  A line
# "skip name: why" counts as skipped, too.  Of KTAP, which nests, the innermost
# results count, and the outermost must be as many as planned.
set -u
export LC_ALL=C
logs=$1
shift
mkdir -p "$logs"
# A python3 that is a script that looks for the real one (pyenv) takes five times as much at each start.
if python=$(command -v python3) && [ "$(head -c 2 "$python")" = '#!' ]; then
  PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
fi

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

export CMOCKA_MESSAGE_OUTPUT=TAP
total=0
for program in "$@"; do [ "$program" = -- ] || total=$((total + 1)); done
counts=$(mktemp)
failures=$(mktemp)
again=$(mktemp)
trap 'rm -f "$counts" "$failures" "$again"' EXIT

# What failed, each with what was said of it; else the end of the log.
why() { # log, exit status
  local said
  said=$(awk '
    /^ *not ok / && !/# *SKIP/ { left = 24; print; next }
    /^ *# / && left { left--; print; next }
    { left = 0 }' "$1" | head -n 80)
  [ -n "$said" ] || said=$(tail -n 15 "$1")
  cut -c1-400 <<<"$said" | sed 's/^/    /'
  [ "$2" != 124 ] || echo "    timed out"
}

# Of what "times" says, what the waited-for children took.
cpu_seconds() { # file
  awk 'NR == 2 { gsub(/[ms]/, " "); $0 = $0; printf "%.0f\n", 60 * $1 + $2 + 60 * $3 + $4 }' "$1"
}

run() { # number, program
  local program=$2 name log start code cpu p f s
  name=${program#"${O:-}/"}
  name=${name#tests/}
  log=$logs/${name//\//-}.log
  start=$SECONDS
  # In a session of its own: its own processes of low priority wait for each other, not for those of other tests.
  setsid -w timeout -k 10 "${TEST_TIMEOUT:-3600}" "$program" >"$log" 2>&1 </dev/null
  code=$?
  times >"$log.times"
  cpu=$(cpu_seconds "$log.times")
  rm "$log.times"
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
  echo "$p $f $s $name" >>"$counts"
  printf '[%d/%d] %s %d passed, %d failed, %d skipped (%d s, %d s of CPU)\n' "$1" $total "$name" "$p" "$f" "$s" \
    $((SECONDS - start)) "$cpu"
  grep -E '# *SKIP|^skip ' "$log" | sed -E 's/^ *(not )?ok [0-9]+ *-? */skip /; s/^/    /'
  grep '^# unsteady' "$log" | sed 's/^/    /'
  [ $code = 77 ] && tail -n 1 "$log" | sed 's/^/    skipped: /'
  [ "$f" = 0 ] || {
    [ $((SECONDS - start)) -ge "${AGAIN_S:-900}" ] || echo "$1 $program" >>"$again"
    echo "$name:" >>"$failures"
    why "$log" $code | tee -a "$failures"
    cp "$log" "$log.failed"
  }
}

one() { # number, PROGRAM
  said=$(run "$1" "$2") # what is said of one program stands together
  printf '%s\n' "$said"
}

# All programs in one row; of the list of each stream what is left of it stands in "$left", LOW HIGH.
programs=()
left=$(mktemp)
streams=0
while [ $# != 0 ]; do
  low=${#programs[@]}
  while [ $# != 0 ] && [ "$1" != -- ]; do
    programs+=("$1")
    shift
  done
  [ $# = 0 ] || shift
  echo "$low $((${#programs[@]} - 1))" >>"$left"
  streams=$((streams + 1))
done

# The index of what comes next in a list, from its begin or its end; none when nothing is left.
take() { # list, first or last
  local lists low high
  {
    flock 3
    mapfile -t lists <"$left"
    read -r low high <<<"${lists[$1]}"
    [ "$low" -le "$high" ] || return 1
    if [ "$2" = first ]; then echo $((low++)); else echo $((high--)); fi
    lists[$1]="$low $high"
    printf '%s\n' "${lists[@]}" >"$left"
  } 3<"$counts"
}

# Its own list from the begin, then those of the others from their ends, the last list first.
stream() { # list
  local i list
  while i=$(take "$1" first); do one $((i + 1)) "${programs[i]}"; done
  for ((list = streams - 1; list >= 0; list--)); do
    while i=$(take $list last); do one $((i + 1)) "${programs[i]}"; done
  done
}
beside=()
for ((list = 1; list < streams; list++)); do
  stream $list &
  beside+=($!)
done
trap 'rm -f "$counts" "$failures" "$again" "$left"; kill "${beside[@]}" 2>/dev/null' EXIT
stream 0
wait
[ "$(wc -l <"$counts")" = $total ] || { echo "not all programs were run" >&2; exit 1; }
# The last result of a program counts.
if [ -s "$again" ]; then
  echo "once more, with nothing beside:"
  mv "$again" "$again.first" && : >"$again"
  while read -r n program; do one "$n" "$program"; done <"$again.first"
  unsteady=$(awk '{ if (failed[$4] && !$2) print $4; failed[$4] += $2 }' "$counts")
  tac "$counts" | awk '!seen[$4]++' >"$counts.last"
  mv "$counts.last" "$counts"
  rm "$again.first"
  [ -z "$unsteady" ] || echo "unsteady, passed at the second time only: ${unsteady//$'\n'/ } (LOG.failed is of the first time)"
fi
bad=$(awk '$2 { printf " %s", $4 }' "$counts")
[ -z "$bad" ] || { cat "$failures"; echo "failed:$bad (logs in $logs)"; }
read -r passed failed skipped <<<"$(awk '{ p += $1; f += $2; s += $3 } END { printf "%.0f %.0f %.0f\n", p, f, s }' "$counts")"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]

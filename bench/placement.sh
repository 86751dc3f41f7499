#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What commctl advise is worth: a kernel of tests/truth is counted once; then its threads are put
# where advise says, where the scheduler likes, or dealt out to the CPUs one by one, in turns. How
# much is handed over in SECONDS, as medians of the rounds' ratios.
# Needs at least two CPUs, and make all truth.  Usage: placement.sh [KERNEL] [ROUNDS] [SECONDS]
set -u
export LC_ALL=C
cd "$(dirname "$0")/.."
O=$(realpath "${O:-.output}")
kernel=${1:-spsc} rounds=${2:-8} seconds=${3:-3}
cpus=$(nproc)
threads=$((2 * cpus))
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$O/commd" -q --source exact --store "$dir/comm.db" -- "$O/tests/truth/truth-kernels-exact" "$kernel" \
  --threads $threads --seconds 0.3 --out /dev/null >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
"$O/commctl" advise --store "$dir/comm.db" --over cpu --parts "$cpus" --json >"$dir/advice" || exit 1
jq -r '"verdict: \(.verdict), \(.gain.value * 100 | round) % less across CPUs than anywhere"' "$dir/advice"

# where PLACE NAME: the CPUs for a thread; nothing: the scheduler's choice.
where() {
  case $1:$2 in
  advised:*) jq -r --arg name "$2" '.nodes[] | select(.name == $name) | .cpus' "$dir/advice" ;;
  dealt:"$kernel"-*) echo $((${2##*-} % cpus)) ;;
  esac
}
# run PLACE: megabytes that one thread wrote and another read.
run() {
  local pid task cpu
  "$O/tests/truth/truth-kernels" "$kernel" --threads $threads --seconds "$seconds" --out "$dir/matrix" >"$dir/pid" &
  sleep 0.3 # for the threads to have their names
  pid=$(sed 's/pid //' "$dir/pid")
  for task in /proc/"$pid"/task/*; do
    cpu=$(where "$1" "$(cat "$task/comm" 2>/dev/null)")
    [ -z "$cpu" ] || taskset -pc "$cpu" "${task##*/}" >/dev/null 2>&1
  done
  wait $!
  awk -F, '/^[0-9]/ && $1 != $2 {n += $3} END {printf "%.0f\n", n / 1e6}' "$dir/matrix"
}
ratio() { # COLUMN NAME
  awk -v c="$1" '{print $1 / $c}' "$dir/rounds" | sort -g | awk -v name="$2" '{v[NR] = $1} END {
    printf "advised / %s: median %.2f, %.2f to %.2f, of %d rounds\n", name, (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR], NR}'
}

for ((i = 0; i < rounds; i++)); do
  a=$(run advised) s=$(run default) d=$(run dealt)
  echo "advised $a MB, scheduler's $s MB, dealt out $d MB"
  echo "$a $s $d" >>"$dir/rounds"
done
ratio 2 "scheduler's"
ratio 3 'dealt out'

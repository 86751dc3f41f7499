#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each parser of foreign bytes meets its corpus, and then FUZZ_SECONDS of new input, or
# FUZZ_RUNS inputs if that takes less.  FUZZ_KEEP: where new input that found new code is kept.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=${O:-.output}
n=0 status=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
keep=${FUZZ_KEEP:-$scratch}
for fuzzer in "$O"/tests/fuzz/fuzz_*; do
  [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
  case $fuzzer in *.d) continue ;; esac
  n=$((n + 1))
  name=${fuzzer##*/fuzz_}
  corpus=tests/fuzz/corpus/$name
  if [ "$name" = store ]; then
    corpus=$scratch/stores
    tests/fuzz/stores.sh "$O/tests/e2e/make_store" "$corpus"
  fi
  [ -n "$(ls "$corpus" 2>/dev/null)" ] || { echo "not ok $n - $name has no corpus"; status=1; continue; }
  mkdir -p "$keep/$name"
  # A recording is one for both.
  also=
  [ "$name" = replay ] && also=tests/fuzz/corpus/record
  if "$fuzzer" -max_total_time="${FUZZ_SECONDS:-2}" -runs="${FUZZ_RUNS:--1}" -rss_limit_mb=2048 -timeout=120 \
    -close_fd_mask=3 -artifact_prefix="$keep/" "$keep/$name" "$corpus" ${also:+"$also"} >"$scratch/log" 2>&1; then
    echo "ok $n - $name: $(grep -oE 'Done [0-9]+ runs' "$scratch/log" | tail -1)"
  else
    grep -m1 -A25 'ERROR: ' "$scratch/log"
    tail -5 "$scratch/log"
    echo "not ok $n - $name"
    status=1
  fi
done
[ $n != 0 ] || { echo "not ok 1 - no fuzzers were built"; status=1; }
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A report on PEBS or IBS, by somebody who has such a processor: as root, after `make`,
# from the top of a clone, with nothing else running.  Takes five minutes at most.
#
#	tests/hardware/run.sh | tee report.txt
#
# Prints what to send: machine, PMUs, the events that were chosen, samples a second and
# cost, whether addresses are those of a program of known addresses, and the matrix of
# a pipeline whose true one is known.  Each line that says "skip" says why.  Exits with 1
# if anything was wrong, 0 otherwise, whatever was skipped.
export LC_ALL=C
set -u
cd "$(dirname "$0")/../.." || exit
O=$(realpath "${O:-.output}")
seconds=${SECONDS_EACH:-10}
dir=$(mktemp -d)
pid=
failed=0
cleanup() {
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
  rm -rf "$dir"
}
trap cleanup EXIT
part() { printf '\n== %s\n' "$1"; }
skip() { echo "skip $1: $2"; }
bad() { # name, what
  echo "not ok $1: $2"
  failed=1
}

part machine
uname -srm
git log -1 --format='commprof %h of %ad' --date=short 2>/dev/null
grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'
grep -m1 -h 'microcode' /proc/cpuinfo | tr -d '\t'
echo "cpus: $(getconf _NPROCESSORS_ONLN); hypervisor: $(grep -qw hypervisor /proc/cpuinfo && echo yes || echo no)"
for setting in perf_event_paranoid perf_event_max_sample_rate perf_cpu_time_max_percent; do
  echo "$setting: $(cat /proc/sys/kernel/$setting 2>/dev/null || echo none)"
done

part PMUs
for pmu in cpu cpu_core cpu_atom ibs_op; do
  at=/sys/bus/event_source/devices/$pmu
  [ -e $at ] || { skip $pmu "this kernel has no such PMU"; continue; }
  echo "$pmu: type $(cat $at/type)"
  for file in "$at"/caps/* "$at"/events/mem-* "$at"/format/{cnt_ctl,swfilt,l3missonly,ldlat} "$at"/cpus; do
    [ ! -f "$file" ] || echo "  ${file#"$at"/}: $(head -n1 "$file")"
  done
done

part built
for program in commd commctl; do
  [ -x "$O/$program" ] || { skip everything "there is no $O/$program: run make first"; exit 0; }
done
make -s "O=$O" "$O/tests/hardware/known" "$O/tests/hardware/agree" "$O/tests/truth/truth-kernels" ||
  { skip everything "its helper programs do not build here"; exit 0; }
[ "$(id -u)" = 0 ] || { skip everything "needs root: it samples every CPU"; exit 0; }
"$O/commd" --doctor

run() { # commd's options
  "$O/commd" -q "$@" 2>> "$dir/err"
}
report() { # store, file
  "$O/commctl" report --json --by-thread --min-share 0 --top 0 --store "$1" > "$2" 2>> "$dir/err"
}
say() { # report
  python3 - "$1" << 'END'
import json, sys
r = json.load(open(sys.argv[1]))
run = r["run"]
s = (run["end_ns"] - run["start_ns"]) / 1e9
n = sum(e["samples"] for e in r["edges"])
print("source %s, event %s, %.1f s" % (run["source"], run["event"], s))
print("overhead %.3f %% of %.3f %% allowed, samples behind the edges %.0f, %.0f a second"
      % (run["overhead_pct"], run["overhead_limit_pct"], n, n / s))
print("lost:", r["loss"] or "nothing")
told = [e for e in r["edges"] if "origin" in e]
print("where loads found their data: told at %d of %d edges" % (len(told), len(r["edges"])))
for e in told[:3]:
    print("  of %.0f loads" % e["loads"], {k: round(v["share"], 3) for k, v in e["origin"].items()})
END
}

# The program of known addresses for some seconds, recorded; then the judge.
addresses() { # source
  "$O/tests/hardware/known" "$dir/table" & pid=$!
  until grep -q end "$dir/table" 2>/dev/null; do sleep 0.1; done
  : > "$dir/err"
  run --source "$1" --pid $pid --duration "$seconds" --rate 2000 --store "$dir/a.db" --record "$dir/a.rec"
  status=$?
  kill -9 $pid
  wait $pid 2>/dev/null
  pid=
  [ $status = 0 ] || { bad "$1 addresses" "$(tail -n1 "$dir/err")"; return; }
  "$O/tests/hardware/agree" "$dir/a.rec" "$dir/table" || bad "$1 addresses" "fewer than 99 % are right, or there are none"
  rm -f "$dir"/a.* "$dir/table"
}

matrix() { # source, kernel
  : > "$dir/err"
  run --source "$1" --store "$dir/m.db" -- "$O/tests/truth/truth-kernels" "$2" --threads 4 \
    --seconds "$seconds" --out "$dir/m.csv" > /dev/null || { bad "$1 $2" "$(tail -n1 "$dir/err")"; return; }
  report "$dir/m.db" "$dir/m.json" || { bad "$1 $2" "$(tail -n1 "$dir/err")"; return; }
  say "$dir/m.json"
  echo "error,log2,recall,false_est,false_reads,coverage,cover_share,edges,overhead (tests/truth/compare.py):"
  python3 tests/truth/compare.py "$dir/m.json" "$dir/m.csv"
  rm -f "$dir"/m.*
}

for source in perf:precise perf:transfers kmod:precise kmod:transfers; do
  part "$source"
  : > "$dir/err"
  if ! run --source $source --store "$dir/p.db" --duration 1 -- sleep 1; then
    skip $source "$(tail -n1 "$dir/err")"
    continue
  fi
  rm -f "$dir"/p.db*
  case $source in *:precise) addresses $source ;; esac
  for kernel in pipeline migratory; do
    echo "-- $kernel"
    matrix $source $kernel
  done
done

part "the same without PEBS or IBS"
for kernel in pipeline migratory; do
  echo "-- $kernel"
  matrix bpf $kernel
done
part end
dmesg 2>/dev/null | grep -i 'perf: interrupt took too long' | tail -n 2
[ $failed = 0 ] && echo "nothing was wrong" || echo "something was wrong"
exit $failed

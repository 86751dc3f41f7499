#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# When the kernel lowers kernel.perf_event_max_sample_rate, doctor and the run say so.  The
# setting is a file of the test's own, seen by its own mounts alone.
. "$(dirname "$0")/../tap.bash"
setting=/proc/sys/kernel/perf_event_max_sample_rate
if [ "${1:-}" != inside ]; then
  [ -e $setting ] || { echo "no $setting in this kernel"; exit 77; }
  unshare -m true 2>/dev/null || { echo "needs root: it mounts a file over $setting"; exit 77; }
  O=$O unshare -m "$0" inside
  exit
fi
echo 100000 > "$dir/rate"
mount --bind "$dir/rate" $setting || exit 77
"$O/commd" --doctor | grep -q max_sample_rate
result $((1 - $?)) "doctor is silent about the usual rate"
echo 25000 > "$dir/rate"
"$O/commd" --doctor | grep -q 'max_sample_rate is 25000, not 100000'
result $? "doctor names a lowered rate"
echo 100000 > "$dir/rate"
run() { # what the run's command does to the setting
  "$O/commd" -q --source perf --store "$dir/run.db" -- sh -c "$1" 2> "$dir/err"
}
run "sleep 0.3"
grep -q max_sample_rate "$dir/err"
result $((1 - $?)) "a run that lowered nothing is silent"
run "sleep 0.2; echo 63000 > $setting; sleep 0.2"
grep -q 'lowered kernel.perf_event_max_sample_rate from 100000 to 63000' "$dir/err"
result $? "a run names what it lowered"
echo "1..$n"
exit $status

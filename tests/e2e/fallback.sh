#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the kernel refuses what it seemed to permit: commd goes on to the next source and says
# so, and the doctor says what a run would meet.
. "$(dirname "$0")/../tap.bash"
target=
undo() {
  [ -n "$target" ] && kill -9 "$target" 2>/dev/null
}
check() { local name=$1 file=$2; shift 2; if "$@"; then ok "$name"; else not_ok "$name" "$(cat "$file")"; fi; }
[ "$(id -u)" = 0 ] || skip_all "needs root to give rights away"
"$commd" --doctor >"$dir/doctor" 2>&1
grep -q '^  bpf  *works' "$dir/doctor" || skip_all "BPF does not work here anyway"

# Counts to a number that takes a second or so.
work='i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
source_of() { sqlite3 -readonly "$1" 'SELECT source FROM run ORDER BY id DESC LIMIT 1'; }

# without_bpf COMMAND...: bpf() is refused, as by a container's filter.
without_bpf() {
  python3 - "$@" <<'PY'
import ctypes, os, struct, sys
# ld [nr]; jeq #321 (bpf), deny; ret ALLOW; deny: ret ERRNO | EPERM
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 321), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
text = b"".join(struct.pack("HBBI", *c) for c in code)
buffer = ctypes.create_string_buffer(text)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0):
    sys.exit("no seccomp filter: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
PY
}

without_bpf "$commd" --rate 500 --store "$dir/seccomp.db" -- sh -c "$work" >"$dir/seccomp" 2>&1
check "bpf() is refused: perf is used instead" "$dir/seccomp" [ "$(source_of "$dir/seccomp.db")" = perf ]
check "and why is said, without advice that does not help" "$dir/seccomp" \
  sh -c "grep -q '^commd: bpf: .*seccomp' '$dir/seccomp' && ! grep -q MEMLOCK '$dir/seccomp'"
without_bpf "$commd" --source bpf --store "$dir/only.db" -- true >"$dir/only" 2>&1
code=$?
check "a source that was asked for is not replaced" "$dir/only" [ $code = 1 ]
without_bpf "$commd" --doctor >"$dir/doctor" 2>&1
check "and the doctor knows" "$dir/doctor" grep -q '^  bpf  *not here: .*seccomp' "$dir/doctor"

# Descriptors: from plenty down, there is a limit with which BPF fails and perf works.
fell=
for limit in $(seq $((48 + 8 * $(nproc))) -4 $((16 + 2 * $(nproc)))); do
  rm -f "$dir"/few.db*
  (ulimit -n "$limit" && exec "$commd" --rate 500 --store "$dir/few.db" -- sh -c "$work") >"$dir/few" 2>&1
  [ -f "$dir/few.db" ] && [ "$(source_of "$dir/few.db" 2>/dev/null)" = perf ] && fell=$limit && break
  grep -q '^commd: bpf: ' "$dir/few" && break
done
check "few descriptors: perf is used instead, or both say so ($limit)" "$dir/few" \
  sh -c "[ -n '$fell' ] || grep -q 'ulimit -n' '$dir/few'"
# Between none and enough, where libbpf has this or that to say of what failed.
for limit in 28 34 40; do
  (ulimit -n $limit && exec "$commd" --source bpf --store "$dir/few.db" -- true) >"$dir/few" 2>&1
  check "$limit descriptors: nothing but what to do" "$dir/few" \
    sh -c "[ \$(wc -l <'$dir/few') = 1 ] && grep -q 'ulimit -n' '$dir/few' && ! grep -q libbpf '$dir/few'"
done

if unshare -Ur true 2>/dev/null; then
  unshare -Ur "$commd" --doctor >"$dir/doctor" 2>&1
  unshare -Ur "$commd" --rate 500 --store "$dir/user.db" -- sh -c "$work" >"$dir/user" 2>&1
  code=$?
  works=$(grep -c '^  perf  *works' "$dir/doctor")
  check "in a user namespace the doctor says what a run does" "$dir/user" \
    sh -c "[ $works = 1 ] && [ $code = 0 ] || { [ $(cat /proc/sys/kernel/perf_event_paranoid) -gt 2 ] && [ $works = 0 ] && [ $code = 1 ]; }"
else
  skip "in a user namespace the doctor says what a run does" "no user namespaces"
fi

# With the capabilities of BPF alone, another user's process: what is missing is said.
sleep 1000 &
target=$!
cp "$commd" "$dir/commd"
chmod 755 "$dir" "$dir/commd"
mkdir -m 777 "$dir/nobody"
few() { # COMMAND...: as nobody, with CAP_BPF and CAP_PERFMON
  setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all,+bpf,+perfmon \
    --ambient-caps -all,+bpf,+perfmon --bounding-set -all,+bpf,+perfmon "$@"
}
if few true 2>/dev/null; then
  few "$dir/commd" --duration 1s --pid $target --store "$dir/nobody/few.db" >"$dir/few" 2>&1
  check "a target that cannot be read is told of" "$dir/few" grep -q 'CAP_SYS_PTRACE' "$dir/few"
  few "$dir/commd" --doctor >"$dir/doctor" 2>&1
  check "by the doctor, too" "$dir/doctor" grep -q "^other users' processes: may not.*CAP_SYS_PTRACE" "$dir/doctor"
else
  skip "a target that cannot be read is told of" "setpriv knows no CAP_BPF"
fi

# As a user without capabilities: a child that may not be watched is left out, and the others go on.
cat >"$dir/hidden.py" <<'END'
import ctypes, os, time
def work(seconds):
    end = time.time() + seconds
    while time.time() < end:
        sum(range(1000))
if os.fork() == 0:
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    work(8)
    os._exit(0)
work(8)
os.wait()
END
alone() { setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all --bounding-set -all "$@"; }
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] && alone true 2>/dev/null; then
  # The child is met when the rate changes, for which all events are opened anew: that takes more than one run now and then.
  for _ in 1 2 3; do
    rm -f "$dir/nobody/alone.db"
    alone "$dir/commd" -q --source perf --overhead 5 --store "$dir/nobody/alone.db" -- python3 "$dir/hidden.py" >"$dir/alone" 2>&1
    code=$?
    "$commctl" report --json --store "$dir/nobody/alone.db" >"$dir/r" 2>>"$dir/alone"
    jq -e '.loss.targets_full' "$dir/r" >"$dir/met" 2>&1 && break
  done
  check "a child that may not be watched is told of" "$dir/alone" \
    sh -c "[ $code = 0 ] && jq -e '.loss.targets_full == 1' '$dir/r'"
else
  skip "a child that may not be watched is told of" "perf is not for users here"
fi
exit $status

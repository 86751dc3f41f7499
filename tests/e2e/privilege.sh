#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a running commd may still do, and who it is.
. "$(dirname "$0")/../tap.bash"
target='' daemon=''
undo() {
  for pid in $target $daemon; do kill -9 "$pid" 2>/dev/null; done
}
equal() { [ "$2" = "$3" ] && ok "$1" || not_ok "$1" "$2, not $3"; }
[ "$(id -u)" = 0 ] || skip_all "needs root to have something to give up"

none=0000000000000000
# The process of that name which commd has made.
helper() {
  local pid
  for pid in $(pgrep -x "$1"); do
    [ "$(field "$(field "$pid" PPid)" PPid)" = $daemon ] && echo "$pid"
  done
}
field() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }
# Waits until the daemon has given up what it does not need: two minutes at most.
settled() {
  for _ in $(seq 1200); do
    [ "$(field "$1" CapBnd 2>/dev/null)" = 0000000000000000 ] && sleep 0.5 && return 0
    kill -0 "$1" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}
sleep 1000 &
target=$!

"$commd" -q --pid $target --store "$dir/a.db" 2>"$dir/err" &
daemon=$!
if settled $daemon; then
  equal "no capability is left" "$(field $daemon CapEff) $(field $daemon CapPrm)" "$none $none"
  equal "and none can come back" "$(field $daemon CapBnd) $(field $daemon CapInh) $(field $daemon CapAmb)" \
    "$none $none $none"
  # CAP_DAC_READ_SEARCH (2) and CAP_SYS_PTRACE (19).
  equal "who reads memory has two, and no user's rights" "$(field "$(helper commd-memory)" CapEff) $(field "$(helper commd-memory)" Uid)" \
    "0000000000080004 65534"
  # CAP_PERFMON (38), and CAP_SYS_ADMIN (21) where Debian's kernels ask for it.
  right=0000004000000000
  [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || right=0000004000200000
  # One for the sampling events, which run a program, and where debug registers trap one for breakpoints.
  openers=$(pgrep -x -P $daemon commd-cpus)
  [ -n "$openers" ] || not_ok "who opens events of CPUs that come back is there" "$(ps -o comm --ppid $daemon)"
  for opener in $openers; do
    equal "who opens events of CPUs that come back has one, no user's rights, a socket and at most a program" \
      "$(field "$opener" CapEff) $(field "$opener" CapPrm) $(field "$opener" Uid) $(readlink /proc/"$opener"/fd/* | sed 's/^socket:.*/socket:/' | xargs)" \
      "$right $right 65534 socket:$(readlink /proc/"$opener"/fd/* | grep -m1 -x anon_inode:bpf-prog | sed 's/^/ /')"
  done
  equal "of which one has the program that samples" \
    "$(for opener in $openers; do readlink /proc/"$opener"/fd/*; done | grep -cx anon_inode:bpf-prog)" 1
  # CAP_SYS_NICE (23); it is there where this process may not raise RLIMIT_NICE (CAP_SYS_RESOURCE, 24), unless commd found
  # a crowd, has the highest priority, and does not yield.
  waker=$(pgrep -x -P $daemon commd-priority)
  if [ -n "$waker" ]; then
    # Built with AddressSanitizer it has no filter of system calls.
    filter=2
    ! is_sanitized || filter=0
    equal "who ends commd's yielding has one right, no user's, and a socket" \
      "$(field "$waker" CapEff) $(field "$waker" CapPrm) $(field "$waker" Uid) $(field "$waker" Seccomp) $(readlink /proc/"$waker"/fd/* | sed 's/^socket:.*/socket:/' | xargs)" \
      "0000000000800000 0000000000800000 65534 $filter socket:"
  elif [ "$(ps -o ni= -p $daemon)" -lt 0 ]; then
    skip "who ends commd's yielding" "so many threads want to run that commd does not yield"
  else
    equal "commd ends its yielding by itself" "$(prlimit --nice --raw --noheadings -o SOFT --pid $daemon | xargs)" 20
  fi
  remover=$(pgrep -x -P $daemon commd-remover)
  equal "who removes files has no right, a socket and a directory" \
    "$(field "$remover" CapEff) $(field "$remover" CapPrm) $(readlink /proc/"$remover"/fd/* | sed 's/^socket:.*/socket:/' | xargs)" \
    "$none $none socket: $dir"
  if is_sanitized; then
    skip "behind a filter of system calls" "AddressSanitizer traces the process at its end"
  else
    equal "behind a filter of system calls" "$(field $daemon Seccomp)" 2
  fi
else
  not_ok "privileges are given up" "$(cat "$dir/err")"
fi
equal "nobody else has the store's index mapped" "$(for pid in $(pgrep -P $daemon) $(pgrep -P "$(pgrep -x -P $daemon commd-files)"); do
  grep -h -- -shm "/proc/$pid/maps" 2>/dev/null
done)" ""
others=$(for pid in $(helper commd-memory) $(pgrep -x -P $daemon commd-files); do
  for fd in /proc/"$pid"/fd/*; do readlink "$fd"; done
done | grep -v '^socket:\|^pipe:\|^anon_inode:\[pidfd\]\|^/proc/[0-9]*/\(mem\|maps\)$')
equal "the others have sockets, and what they were asked for" "$others" ""
kill -INT $daemon
wait $daemon
case $? in 0 | 3) ok "and the run ends as it should" ;; *) not_ok "and the run ends as it should" "$(cat "$dir/err")" ;; esac
equal "nothing is left beside the store" "$(cd "$dir" && echo a.db*)" a.db
for _ in $(seq 1200); do [ -e "/proc/$remover" ] || break; sleep 0.1; done
[ -e "/proc/$remover" ] && not_ok "nor is the one who removed" "$(ps -o pid,ppid,stat,args "$remover")" || ok "nor is the one who removed"

sh -c 'ls /proc/self/fd' >"$dir/direct" 2>"$dir/err"
"$commd" -q --store "$dir/f.db" -- sh -c 'ls /proc/self/fd' >"$dir/under" 2>"$dir/err"
equal "a command inherits no descriptor of commd" "$(cat "$dir/under")" "$(cat "$dir/direct")"

# A recording and a perf.data may be anyone's: by the end of the run all rights are gone, and it
# was another user's, as the store's directory is.
look='python print(open("/proc/%d/status" % gdb.selected_inferior().pid).read())'
mkdir -m 700 "$dir/readers"
chmod 755 "$dir"
chown 65534 "$dir/readers"
for source in replay:migratory.rec perfdata:softpmu.data; do
  gdb -q -batch -iex 'set debuginfod enabled off' -ex 'break comm_session_end' -ex run -ex "$look" -ex kill --args \
    "$commd" -q --source "${source%:*}:tests/golden/${source#*:}" --store "$dir/readers/r.db" >"$dir/out" 2>&1
  equal "nor has who reads a file of ${source%:*} any right" \
    "$(awk '/^(Uid|CapPrm|CapEff|CapBnd|NoNewPrivs):/ { printf " %s", $2 }' "$dir/out")" " 65534 $none $none $none 1"
  rm -f "$dir"/readers/*
done

# Root without capabilities may not write there: it becomes who may.
mkdir -m 700 "$dir/nobodys"
chmod 755 "$dir"
chown 65534 "$dir/nobodys"
"$commd" -q --pid $target --store "$dir/nobodys/n.db" 2>"$dir/err" &
daemon=$!
settled $daemon
equal "it is the owner of a directory that root alone may not write" "$(field $daemon Uid) $(field $daemon CapEff)" "65534 $none"
kill -INT $daemon
wait $daemon
case $? in 0 | 3) ok "whose run ends as it should" ;; *) not_ok "whose run ends as it should" "$(cat "$dir/err")" ;; esac
equal "whose store is alone, too" "$(cd "$dir/nobodys" && stat -c '%n %u %a' n.db*)" "n.db 65534 640"

# Who may call sudo for commd alone has no file made where only root may make one.
for place in "$dir/nobodys/sudo.rec" "$dir/sudo.rec"; do
  SUDO_UID=65534 SUDO_GID=65534 "$commd" -q --pid $target --duration 1s --store "$dir/nobodys/o.db" --record "$place" 2>"$dir/err"
  stat -c %u "$place"
done >"$dir/out" 2>&1
equal "a recording is made with its user's rights" "$(grep -c . "$dir/out") $(head -n 1 "$dir/out")" "2 65534"
[ ! -e "$dir/sudo.rec" ] && grep -q 'sudo.rec as user 65534: Permission denied' "$dir/err" && ok "and none but with these" ||
  not_ok "and none but with these" "$(ls -l "$dir"; cat "$dir/err")"
for place in "$dir/nobodys/sudo.csv" "$dir/sudo.csv"; do
  SUDO_UID=65534 SUDO_GID=65534 "$commd" -q --pid $target --duration 1s --store "$dir/nobodys/o.db" --accesses "$place" 2>"$dir/err"
  stat -c '%u %a' "$place"
done >"$dir/out" 2>&1
equal "a file of accesses is made with its user's rights" "$(grep -c . "$dir/out") $(head -n 1 "$dir/out")" "2 65534 640"
[ ! -e "$dir/sudo.csv" ] && grep -q 'sudo.csv as user 65534: Permission denied' "$dir/err" && ok "and none but with these, too" ||
  not_ok "and none but with these, too" "$(ls -l "$dir"; cat "$dir/err")"
rm -f "$dir"/sudo.* "$dir/nobodys"/*

# A command runs as who started commd, which so cannot become the owner; who removes files can.
"$commd" -q --store "$dir/nobodys/c.db" -- true 2>"$dir/err"
equal "nor is anything left beside a store in another's directory" "$(cd "$dir/nobodys" && echo c.db*)" c.db
rm -f "$dir/nobodys/c.db"

# A user without a name, as a directory of the host's has in a container.
mkdir -m 700 "$dir/strangers"
chown 61234 "$dir/strangers"
"$commd" -q --pid $target --store "$dir/strangers/s.db" 2>"$dir/err" &
daemon=$!
settled $daemon
equal "nor need that owner have a name" "$(field $daemon Uid) $(field $daemon Gid) $(field $daemon CapEff)" "61234 65534 $none"
kill -INT $daemon
wait $daemon
equal "whose the store is" "$(cd "$dir/strangers" && stat -c '%n %u %a' s.db*)" "s.db 61234 640"

# A user with the capabilities that a run needs, and no other right.
needed=+bpf,+perfmon,+sys_ptrace,+dac_read_search
as_user="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps $needed --ambient-caps $needed"
cp "$commd" "$dir/commd"
if $as_user "$dir/commd" --version >"$dir/out" 2>&1; then
  $as_user "$dir/commd" -q --pid $target --store "$dir/nobodys/u.db" 2>"$dir/err" &
  daemon=$!
  for _ in $(seq 1200); do [ "$(field $daemon NoNewPrivs)" = 1 ] && sleep 0.5 && break; sleep 0.1; done
  equal "a user's capabilities go as well" "$(field $daemon CapEff) $(field $daemon NoNewPrivs)" "$none 1"
  equal "but for those of who reads memory" "$(field "$(helper commd-memory)" CapEff)" 0000000000080004
  kill -INT $daemon
  wait $daemon
else
  skip "a user's capabilities go as well" "$(head -n 1 "$dir/out")"
fi

# Where /proc hides processes there is a group that sees them; where there is none, the right stays.
hidden() { # OPTIONS STORE
  unshare -m sh -c 'mount -t proc -o "$1" proc /proc && shift && exec "$@"' sh "$1" \
    "$commd" -q --pid $target --store "$2" 2>"$dir/err" &
  daemon=$!
  settled $daemon
}
if unshare -m mount -t proc -o hidepid=2 proc /proc 2>/dev/null; then
  rm -f "$dir"/nobodys/*
  hidden hidepid=2,gid=54321 "$dir/nobodys/h.db"
  equal "no right stays where a group sees what /proc hides" "$(field $daemon CapEff) $(grep -ow 54321 "/proc/$daemon/status")" "$none 54321"
  sleep 1
  kill -0 $daemon 2>/dev/null && ok "and the target is seen" || not_ok "and the target is seen" "$(cat "$dir/err")"
  kill -INT $daemon
  wait $daemon
  case $? in 0 | 3) ok "and the run ends as it should" ;; *) not_ok "and the run ends as it should" "$(cat "$dir/err")" ;; esac
  mkdir "$dir/proc"
  unshare -m sh -c 'mount -t proc -o hidepid=ptraceable proc "$1" && shift && exec "$@"' sh "$dir/proc" \
    "$commd" -q --pid $target --store "$dir/o.db" 2>"$dir/err" &
  daemon=$!
  settled $daemon
  equal "nor does it where another /proc hides" "$(field $daemon CapEff)" $none
  kill -INT $daemon
  wait $daemon
else
  skip "no right stays where a group sees what /proc hides" "no /proc can be mounted"
fi
if unshare -m mount -t proc -o hidepid=ptraceable proc /proc 2>/dev/null; then
  hidden hidepid=ptraceable "$dir/h.db"
  equal "CAP_SYS_PTRACE stays where no group does" "$(field $daemon CapEff)" 0000000000080000
  kill -INT $daemon
  wait $daemon
  case $? in 0 | 3) ok "where the run ends as it should" ;; *) not_ok "where the run ends as it should" "$(cat "$dir/err")" ;; esac
else
  skip "CAP_SYS_PTRACE stays where no group does" "this kernel has no hidepid=ptraceable"
fi

# A user that the package makes; here in a mount namespace of its own.
cp /etc/passwd "$dir/passwd"
echo "commprof:x:64321:64321::/:/bin/false" >>"$dir/passwd"
cat >"$dir/as_service" <<END
#!/bin/sh
exec unshare -m sh -c 'mount --bind "$dir/passwd" /etc/passwd && exec "\$@"' sh "\$@"
END
chmod 755 "$dir" "$dir/as_service"
if "$dir/as_service" true 2>/dev/null; then
  mkdir "$dir/service" "$dir/roots"
  chown 64321:64321 "$dir/service"
  "$dir/as_service" "$commd" -q --pid $target --store "$dir/service/s.db" 2>"$dir/err" &
  daemon=$!
  settled $daemon
  equal "it is user commprof where that may write the store" "$(field $daemon Uid) $(field $daemon CapEff)" "64321 $none"
  equal "whose group may read it" "$(stat -c '%u %g %a' "$dir/service/s.db")" "64321 64321 640"
  kill -INT $daemon
  wait $daemon
  "$dir/as_service" "$commd" -q --pid $target --store "$dir/roots/r.db" 2>"$dir/err" &
  daemon=$!
  settled $daemon
  equal "and root where it may not" "$(field $daemon Uid)" 0
  kill -INT $daemon
  wait $daemon
  "$dir/as_service" "$commd" -q --store "$dir/service/c.db" -- sh -c "id -u >$dir/uid" 2>"$dir/err"
  equal "a command runs as who started commd" "$(cat "$dir/uid")" 0
else
  skip "it is user commprof where that may write the store" "no mount namespaces"
fi

# A store by way of a symbolic link to its directory.
mkdir "$dir/real"
ln -s real "$dir/link"
"$commd" -q --pid $target --store "$dir/link/l.db" 2>"$dir/err" &
daemon=$!
settled $daemon
kill -INT $daemon
wait $daemon
code=$?
left=$(cd "$dir/real" && echo *)
{ [ $code = 0 ] || [ $code = 3 ]; } && [ "$left" = l.db ] && ok "a store by way of a link" ||
  not_ok "a store by way of a link" "exit $code, $left: $(cat "$dir/err")"
exit $status

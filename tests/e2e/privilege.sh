#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a running commd may still do, and who it is.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-.output}")
commd=$O/commd
n=0 status=0
dir=$(mktemp -d)
target='' daemon=''
cleanup() {
  for pid in $target $daemon; do kill -9 "$pid" 2>/dev/null; done
  rm -rf "$dir"
}
trap cleanup EXIT
ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; printf '%s\n' "$2" | head -20 | sed 's/^/#   /'; status=1; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
equal() { [ "$2" = "$3" ] && ok "$1" || not_ok "$1" "$2, not $3"; }
[ "$(id -u)" = 0 ] || { echo "ok 1 # SKIP needs root to have something to give up"; exit 0; }

none=0000000000000000
# The process of that name which commd has made.
helper() {
  local pid
  for pid in $(pgrep -x "$1"); do
    [ "$(field "$(field "$pid" PPid)" PPid)" = $daemon ] && echo "$pid"
  done
}
field() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }
# Waits until the daemon has given up what it does not need: a minute at most.
settled() {
  for _ in $(seq 300); do
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
  if nm "$commd" 2>/dev/null | grep -q __asan_init; then
    skip "behind a filter of system calls" "AddressSanitizer traces the process at its end"
  else
    equal "behind a filter of system calls" "$(field $daemon Seccomp)" 2
  fi
else
  not_ok "privileges are given up" "$(cat "$dir/err")"
fi
kill -INT $daemon
wait $daemon
case $? in 0 | 3) ok "and the run ends as it should" ;; *) not_ok "and the run ends as it should" "$(cat "$dir/err")" ;; esac
equal "nothing is left beside the store" "$(cd "$dir" && echo a.db*)" a.db

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

# A user with the capabilities that a run needs, and no other right.
needed=+bpf,+perfmon,+sys_ptrace,+dac_read_search
as_user="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps $needed --ambient-caps $needed"
cp "$commd" "$dir/commd"
if $as_user "$dir/commd" --version >"$dir/out" 2>&1; then
  $as_user "$dir/commd" -q --pid $target --store "$dir/nobodys/u.db" 2>"$dir/err" &
  daemon=$!
  for _ in $(seq 300); do [ "$(field $daemon CapEff)" = $none ] && break; sleep 0.1; done
  equal "a user's capabilities go as well" "$(field $daemon CapEff) $(field $daemon NoNewPrivs)" "$none 1"
  equal "but for those of who reads memory" "$(field "$(helper commd-memory)" CapEff)" 0000000000080004
  kill -INT $daemon
  wait $daemon
else
  skip "a user's capabilities go as well" "$(head -n 1 "$dir/out")"
fi

# Where /proc hides processes the right to look at them stays.
if unshare -m mount -t proc -o hidepid=2 proc /proc 2>/dev/null; then
  unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh \
    "$commd" -q --pid $target --store "$dir/h.db" 2>"$dir/err" &
  daemon=$!
  settled $daemon
  equal "CAP_SYS_PTRACE stays where /proc hides processes" "$(field $daemon CapEff)" 0000000000080000
  kill -INT $daemon
  wait $daemon
  case $? in 0 | 3) ok "where the run ends as it should" ;; *) not_ok "where the run ends as it should" "$(cat "$dir/err")" ;; esac
else
  skip "CAP_SYS_PTRACE stays where /proc hides processes" "no /proc can be mounted"
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
exit $status

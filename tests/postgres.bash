# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A PostgreSQL server of a test's own, for scripts that source it after tap.bash: in $dir, which goes when they end, on a
# socket there and a port of loopback.  What is installed is taken: of Debian's package, or on the PATH.
pg_bin=
for pg_bin in /usr/local/bin /usr/bin /usr/lib/postgresql/*/bin ''; do
  [ -x "$pg_bin/initdb" ] && [ -x "$pg_bin/postgres" ] && break
done
# PostgreSQL refuses to run as root.
pg_as=()
if [ "$(id -u)" = 0 ]; then
  pg_as=(setpriv "--reuid=$(id -u postgres 2>/dev/null || id -u nobody)" --clear-groups "--regid=$(id -g postgres 2>/dev/null || id -g nobody)")
fi
pg_lacks() { # what is missing; nothing: it can be started
  [ -n "$pg_bin" ] || echo "postgresql"
  command -v psql >/dev/null || echo "postgresql-client"
  command -v openssl >/dev/null || echo "openssl"
}
# pg_make: a cluster in $dir/pg whose superuser is "owner"; host, port and user are exported for psql and libpq.
pg_make() {
  mkdir "$dir/pg" "$dir/pg/socket"
  chmod 755 "$dir"
  [ ${#pg_as[@]} = 0 ] || chown -R "$(sed -n 's/^--reuid=//p' <<<"${pg_as[1]}")" "$dir/pg"
  "${pg_as[@]}" "$pg_bin/initdb" -D "$dir/pg/data" -U owner -A trust -E UTF8 --no-locale -N >"$dir/pg.log" 2>&1 || return
  export PGHOST=$dir/pg/socket PGUSER=owner PGDATABASE=postgres
}
# pg_start [SETTING...]: until it takes connections.  fsync is off but where a test says otherwise.
pg_start() {
  local setting settings=(-c unix_socket_directories="$dir/pg/socket" -c port="$PGPORT" -c shared_buffers=32MB -c fsync=off)
  for setting; do settings+=(-c "$setting"); done
  "${pg_as[@]}" "$pg_bin/postgres" -D "$dir/pg/data" "${settings[@]}" >>"$dir/pg.log" 2>&1 </dev/null &
  pg_pid=$!
  for ((i = 0; i < 600; i++)); do
    psql -qAt -c '' 2>/dev/null && return
    kill -0 "$pg_pid" 2>/dev/null || break
    sleep 0.1
  done
  cat "$dir/pg.log"
  return 1
}
pg_pid=
pg_stop() { # SIGNAL: and until it is gone
  [ -z "$pg_pid" ] && return
  kill "-$1" "$pg_pid"
  wait "$pg_pid" 2>/dev/null
  pg_pid=
}
# At once, and with its shared memory.
undo() { pg_stop QUIT; }
# A port of loopback that nobody has now.
pg_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
sql() { psql -qAtX -v ON_ERROR_STOP=1 "$@"; }

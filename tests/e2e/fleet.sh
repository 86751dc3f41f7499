#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl ship --to postgresql://...: what stores have is in the database once, whoever is killed; what goes wrong is said in
# a sentence without a password, and is sent the next time; the SQL of docs/operate/fleet.md runs.
. "$(dirname "$0")/../tap.bash"
. tests/postgres.bash
[ -x "$O/commctl-ship" ] || skip_all "commctl-ship is not built: libpq-dev or libcurl4-openssl-dev is missing"
for tool in sqlite3 python3 jq; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
lacks=$(pg_lacks | xargs)
[ -z "$lacks" ] || skip_all "not installed: $lacks"
export PGCONNECT_TIMEOUT=60
PGPORT=$(pg_port)
export PGPORT
pg_make || skip_all "no cluster can be made: $(tail -n 1 "$dir/pg.log")"

# Stores whose clock was right: of an hour that ended today, and of one that began ten years ago
now=$(($(date +%s) - 7200))
make_store() { # KIND NAME [SECONDS [START]]
  "$O/tests/e2e/make_store" "$1" "$dir/$2.db" "${3:-3600}" || exit 1
  sqlite3 "$dir/$2.db" "UPDATE run SET start_unix_ns = ${4:-$now} * 1000000000"
}
make_store redis one
make_store redis two
make_store redis old 60 $((now - 315360000))
make_store hostile hostile 60
# question N: of docs/operate/fleet.md
question() { awk -v i="$1" '/^```$/ { on = 0 } on { print } /^```sql$/ { on = ++n == i }' docs/operate/fleet.md; }
same() { [ "$1" = "$2" ] || { echo "'$1', not '$2'"; false; }; }
ship() { timeout 120 "$commctl" ship --to "$to" "$@"; }
# Slices, flows and their bytes, by whom they are told; whole numbers, since orders of sums differ.
store() { # NAME...
  local name
  for name; do sqlite3 -separator ' ' "$dir/$name.db" "SELECT count(*), sum(crossing_bytes) FROM slice WHERE level = 1"; done |
    awk '{ n += $1; bytes += $2 } END { printf "%.0f %.0f %.0f\n", n, bytes, bytes }'
}
fleet() {
  sql "$@" -F ' ' -c "SELECT (SELECT count(*) FROM commprof.slice), (SELECT round(sum(bytes)::numeric) FROM commprof.slice),
    (SELECT round(sum(bytes)::numeric) FROM commprof.flow)"
}
sentence() { # NAME CODE REGEX COMMAND...: one sentence, without a password
  local name=$1 code=$2 regex=$3 got out
  shift 3
  out=$("$@" 2>&1 >"$dir/said" </dev/null)
  got=$?
  [ $got = "$code" ] && grep -qE "$regex" <<<"$out" && [ "$(grep -vc '^Try ' <<<"$out")" = 1 ] && ! grep -q open-sesame <<<"$out" &&
    ok "$name" || not_ok "$name" "$got: $out"
}

# Before there is a server
to=postgresql://owner@127.0.0.1:$PGPORT/fleet
sentence "a database that is down" 1 "postgresql at 127.0.0.1, database fleet: .*Connection refused" ship --store "$dir/one.db"
openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
  -keyout "$dir/pg/key" -out "$dir/pg/certificate" 2>"$dir/err" || cat "$dir/err"
openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=another -keyout "$dir/key" -out "$dir/another" 2>"$dir/err" || cat "$dir/err"
chmod 644 "$dir/pg/certificate"
chmod 600 "$dir/pg/key"
[ ${#pg_as[@]} = 0 ] || chown --reference="$dir/pg/data" "$dir/pg/key"
cat >"$dir/pg/data/pg_hba.conf" <<'END'
local all all trust
host all guest all scram-sha-256
host all all all trust
END
settings=(ssl=on "ssl_cert_file=$dir/pg/certificate" "ssl_key_file=$dir/pg/key" max_wal_size=64MB)
pg_start "${settings[@]}" || { not_ok "the server begins"; echo "1..$n"; exit 1; }
sql -c 'CREATE DATABASE fleet' -c 'CREATE DATABASE small ENCODING LATIN1 TEMPLATE template0'
sentence "a database that is not there" 1 'database "none" does not exist' ship --store "$dir/one.db" --to "${to%/fleet}/none"
sentence "one that keeps text otherwise" 1 'keeps text as LATIN1.*make a database of encoding UTF8' ship --store "$dir/one.db" --to "${to%/fleet}/small"

# As docs/operate/fleet.md says: the owner makes the tables, and hosts have no rights but to add.
commands() { sed -n "/^psql fleet <<END/,/^END/p" docs/operate/fleet.md | sed '1d; $d'; }
sql -d fleet -c 'CREATE ROLE guest LOGIN PASSWORD '"'open-sesame'"
sentence "who may not make the tables is told who may" 1 'permission denied for database fleet; its owner makes the tables: commctl ship --schema' \
  env PGPASSWORD=open-sesame "$commctl" ship --store "$dir/one.db" --to "postgresql://guest@127.0.0.1:$PGPORT/fleet"
check "--schema makes the tables" sql -d fleet -f <("$commctl" ship --schema)
check "the rights of the document" sql -d fleet -f <(commands)
to=postgresql://commprof@127.0.0.1:$PGPORT/fleet
check "each minute is sent" same "$(ship --store "$dir/one.db")" "60 slices of 1 run sent, 1020 flows"
export PGDATABASE=fleet
check "with all that the store has" same "$(fleet)" "$(store one)"
check "and nothing twice" same "$(ship --store "$dir/one.db")" "0 slices of 0 runs sent, 0 flows"
ship --store "$dir/two.db" >"$dir/said"
check "two stores of one host" same "$(fleet) $(sql -c 'SELECT count(*) FROM commprof.host')" "$(store one two) 1"
check "names that are no UTF-8" ship --store "$dir/hostile.db"
check "are there, and tell two from each other" same "$(sql -c "SELECT count(*) FROM commprof.function WHERE name LIKE '%\\\\xff%'")" 1
sql -c 'UPDATE commprof.run SET shipped_ns = 0'
ship --store "$dir/one.db" >"$dir/said"
check "rows that are there stay one, even without the mark" same "$(sql -c 'SELECT count(*) FROM commprof.flow')" "$((2040 + 3))"
ship --store "$dir/two.db" >"$dir/said"
ship --store "$dir/hostile.db" >"$dir/said"
check "a host cannot drop what is there" same "$(psql -qAtX -U commprof -c 'SELECT commprof.drop_older(interval $$1 day$$)' -c 'DELETE FROM commprof.flow' -c 'DROP TABLE commprof.flow' 2>&1 |
  grep -c 'permission denied\|must be owner')" 3

check "nor say which version there is" grep -q 'permission denied for table version' <(psql -qAtX -U commprof -c 'INSERT INTO commprof.version VALUES (2)' 2>&1)
sql -c 'CREATE ROLE other LOGIN' -c 'GRANT USAGE ON SCHEMA commprof TO other'
check "who is no host adds no day" grep -q 'permission denied for function add_day' <(psql -qAtX -U other -c 'SELECT commprof.add_day(now())' 2>&1)
for day in "timestamptz '1999-12-31 23:59+00'" "now() + interval '367 days'" "timestamptz 'infinity'" NULL; do
  check "no host adds the day $day" grep -q 'a day is from 2000 on' <(psql -qAtX -U commprof -c "SELECT commprof.add_day($day)" 2>&1)
done
make_store redis early 120 0
sentence "a run of 1970 is told" 1 'run .* is of a time that postgresql at 127.0.0.1, database fleet does not take: before 2000, or more than a year ahead; it is passed over' \
  ship --store "$dir/early.db"
check "and counted" grep -qx '0 slices of 0 runs sent, 0 flows; 120 s missing' "$dir/said"
make_store redis late 60 $((now + 40000000))
sentence "and one far ahead" 1 'it is passed over' ship --store "$dir/late.db"

# The questions of the document, each of which has an answer
make_store survey survey 120
ship --store "$dir/survey.db" >"$dir/said"
grep -c '^```sql' docs/operate/fleet.md >"$dir/said"
for ((i = 1; i <= $(cat "$dir/said"); i++)); do
  question "$i" >"$dir/query.sql"
  check "question $i has an answer" [ "$(sql -f "$dir/query.sql" | wc -l)" -ge 1 ]
done

# Files into the same tables, as docs/formats/batch.md says
sql -d postgres -c 'CREATE DATABASE spooled' && "$commctl" ship --schema | sql -d spooled
mkdir "$dir/spool"
ship --store "$dir/one.db" --to "file:$dir/spool" >"$dir/said"
cp -r "$dir/spool" "$dir/again"
load() { # DIR
  sed -n '/^for file in DIR/,/^done/p' docs/formats/batch.md | sed "s#DIR/#$1/#; s/psql fleet/psql spooled/" >"$dir/load.sh"
  bash -eu "$dir/load.sh" >"$dir/said"
}
check "files are loaded" load "$dir/spool"
check "and loaded twice" load "$dir/again"
check "they say what was sent" same "$(fleet -d spooled)" "$(store one)"
check "whoever loads them takes them" same "$(ls "$dir"/spool/*.tsv "$dir"/again/*.tsv 2>/dev/null)" ""
mkdir "$dir/damaged"
ship --store "$dir/two.db" --to "file:$dir/damaged" >"$dir/said"
broken=$(find "$dir/damaged" -name '*.00000000060000000000.tsv')
truncate -s -5 "$broken"
load "$dir/damaged" 2>"$dir/err"
check "a file that cannot be loaded stays" same "$(find "$dir/damaged" -name '*.tsv')" "$broken"
check "and the others are loaded" same "$(sql -d spooled -c 'SELECT count(*) FROM commprof.slice')" 119

# Whole days go.
to=postgresql://owner@127.0.0.1:$PGPORT/fleet
before=$(fleet)
ship --store "$dir/old.db" >"$dir/said"
check "a slice of ten years ago" same "$(sql -c "SELECT count(*) FROM commprof.slice WHERE t < now() - interval '9 years'")" 1
check "is dropped with its day" same "$(ship --store "$dir/one.db" --drop-older 3000d)" "0 slices of 0 runs sent, 0 flows
1 day dropped"
check "with nothing else" same "$(fleet)" "$before"
check "its partitions are gone" same "$(sql -c "SELECT count(*) FROM pg_tables WHERE schemaname = 'commprof' AND tablename ~ '_$(date -u -d @$((now - 315360000)) +%Y)_'")" 0
check "and it does not come again" same "$(ship --store "$dir/old.db")" "0 slices of 0 runs sent, 0 flows"
sql -c "SELECT commprof.add_day('2010-01-01 00:00+00')" >"$dir/said"
sql -c BEGIN -c "SELECT commprof.drop_older(interval '3000 days')" -c 'SELECT pg_sleep(2)' -c COMMIT >"$dir/said" &
dropper=$!
for ((i = 0; i < 600; i++)); do [ "$(sql -c "SELECT count(*) FROM pg_stat_activity WHERE query ~ '^SELECT pg_sleep'")" = 1 ] && break; sleep 0.05; done
check "two drop the same day at once" sql -c "SELECT commprof.drop_older(interval '3000 days')"
wait $dropper
sentence "a host may not" 1 'permission denied for function drop_older' ship --store "$dir/one.db" --drop-older 3000d --to "postgresql://commprof@127.0.0.1:$PGPORT/fleet"

# Passwords
guest=postgresql://guest@127.0.0.1:$PGPORT/fleet
sql -c 'GRANT commprof TO guest'
sentence "a wrong password" 1 'password authentication failed for user "guest"' env PGPASSWORD=wrong-open-sesame "$commctl" ship --store "$dir/one.db" --to "$guest"
sentence "no password" 1 'no password supplied' ship --store "$dir/one.db" --to "$guest"
sentence "a password on the command line" 2 'everybody may read in the list of processes' ship --store "$dir/one.db" --to "postgresql://guest:open-sesame@127.0.0.1/fleet"
sentence "or in the options of the address" 2 'everybody may read in the list of processes' ship --store "$dir/one.db" --to "postgresql://guest@127.0.0.1/fleet?password=open-sesame"
sentence "an address that cannot be read" 2 'it is no address as postgresql://' ship --store "$dir/one.db" --to "postgresql://guest:open-sesame%zz@127.0.0.1/fleet"
echo "127.0.0.1:$PGPORT:fleet:guest:open-sesame" >"$dir/pgpass"
chmod 600 "$dir/pgpass"
check "by PGPASSFILE" env PGPASSFILE="$dir/pgpass" "$commctl" ship --store "$dir/one.db" --to "$guest"
printf '[fleet]\nhost=127.0.0.1\nport=%s\ndbname=fleet\nuser=guest\npassword=open-sesame\n' "$PGPORT" >"$dir/service"
check "by a service file" env PGSERVICEFILE="$dir/service" "$commctl" ship --store "$dir/one.db" --to 'postgresql://?service=fleet'

# Certificates
secure="$to?sslmode=verify-full&sslrootcert"
check "a server that shows who it is" ship --store "$dir/one.db" --to "$secure=$dir/pg/certificate"
sentence "and one that does not" 1 'certificate verify failed' ship --store "$dir/one.db" --to "$secure=$dir/another"

# A clock that is ahead
gcc -shared -fPIC -O1 -o "$dir/clock.so" tests/e2e/clock_ahead.c
make_store redis ahead 60
ASAN_OPTIONS=verify_asan_link_order=0 CLOCK_AHEAD_S=86400 LD_PRELOAD=$dir/clock.so "$commctl" ship --store "$dir/ahead.db" --to "$to" >"$dir/said" 2>"$dir/err"
check "a host whose clock is off" grep -q 'the clock of this host is 864[0-9][0-9] s ahead of that of postgresql at 127.0.0.1, database fleet' "$dir/err"
check "is marked, and no other" same "$(sql -c "SELECT count(*) FROM commprof.run WHERE clock_ahead_s BETWEEN 86300 AND 86500") $(sql -c 'SELECT count(*) FROM commprof.run WHERE clock_ahead_s <> 0')" "1 1"

# Tables of another version, and of others
sql -c 'UPDATE commprof.version SET version = 99'
sentence "tables of a newer version" 1 'tables of a newer version of commprof \(99, here 2\); use that version' ship --store "$dir/one.db"
sql -c 'UPDATE commprof.version SET version = 2'
sql -d postgres -c 'CREATE DATABASE others' -c '\c others' -c 'CREATE SCHEMA commprof' -c 'CREATE TABLE commprof.mine (x int)'
sentence "a schema of others" 1 'schema "commprof" already exists' ship --store "$dir/one.db" --to "${to%/fleet}/others"

# fresh NAME: an empty database
fresh() { sql -d postgres -c "CREATE DATABASE $1"; export PGDATABASE=$1; to=postgresql://owner@127.0.0.1:$PGPORT/$1; }

# What a survey says, and tables of version 1: they take what they know of, and their owner brings them up to date.
survey() { # NAME...: fresh bytes of others, windows, bytes and words of the census
  local name
  for name; do sqlite3 -separator ' ' "$dir/$name.db" "SELECT (SELECT sum(watched_bytes) FROM edge JOIN slice ON slice.id = slice
    WHERE slice.level = 1 AND src_thread <> dst_thread), (SELECT sum(watches) FROM slice WHERE level = 1), sum(census.bytes), sum(words)
    FROM census JOIN slice ON slice.id = slice WHERE slice.level = 1"; done |
    awk '{ a += $1; b += $2; c += $3; d += $4 } END { printf "%.0f %.0f %.0f %.0f\n", a, b, c, d }'
}
fleet_survey() {
  sql -F ' ' -c "SELECT (SELECT round(sum(bytes)::numeric) FROM commprof.fresh WHERE across), (SELECT sum(windows) FROM commprof.slice),
    round(sum(bytes)::numeric), sum(words) FROM commprof.census"
}
columns() { sql -c "SELECT string_agg(table_name || '.' || column_name, ' ' ORDER BY table_name, column_name)
  FROM information_schema.columns WHERE table_schema = 'commprof' AND table_name !~ '_20..'"; }
said() { "$commctl" report --store "$dir/survey.db" --fresh --by-thread --json --all >"$dir/report.json" && jq -r "$1" "$dir/report.json" | awk '{ for (i = 1; i <= NF; i++) printf "%.4f%s", $i, i < NF ? " " : "\n" }'; }
fresh surveyed
check "a survey is sent" ship --store "$dir/survey.db"
check "as the store has it" same "$(fleet_survey)" "$(survey survey)"
check "what waits has its words" same "$(sql -c "SELECT sum(words), max(lag_ms) FROM commprof.named_census WHERE outcome = 'waits'" -F ' ')" "4800 0"
check "what changes has its looks" same "$(sql -c "SELECT outcome, lag_ms, sum(words) FROM commprof.named_census WHERE outcome <> 'waits' GROUP BY 1, 2 ORDER BY 1" -F ' ')" \
  "changed 30 1440
unchanged 10000 960"
check "question 1 says what the report does" same "$(sql -c "SELECT round(sum(waits)::numeric, 4) FROM ($(question 1 | tr -d ';')) q")" "$(said '.census[0].waiting')"
check "question 2" same "$(sql -c "SELECT round(fresh::numeric, 4) FROM ($(question 2 | tr -d ';')) q")" "$(said '.census[0].fresh[1].share')"
check "question 3" same "$(sql -c "SELECT round(seen::numeric, 4), round(at_most::numeric, 4) FROM ($(question 3 | tr -d ';')) q" -F ' ')" \
  "$(said '[.account[] | {(.part): .share}] | add | [.others, .others + .unseen] | join(" ")')"
new=$(columns)
fresh older
sql -c 'CREATE ROLE keeper LOGIN' -c 'CREATE ROLE viewer LOGIN' -c 'GRANT keeper TO guest' -c 'ALTER DATABASE older OWNER TO keeper'
sql -U keeper -f tests/e2e/fleet-1.sql -c 'GRANT USAGE ON SCHEMA commprof TO commprof' -c 'GRANT SELECT ON ALL TABLES IN SCHEMA commprof TO commprof' \
  -c 'GRANT INSERT ON commprof.host, commprof.service, commprof.role, commprof.function, commprof.object, commprof.run,
    commprof.slice, commprof.loss, commprof.flow TO commprof' -c 'GRANT EXECUTE ON FUNCTION commprof.add_day TO commprof' \
  -c 'GRANT UPDATE ON commprof.run TO commprof' -c 'GRANT USAGE ON SCHEMA commprof TO viewer' -c 'GRANT SELECT ON commprof.named_flow TO viewer'
host=postgresql://commprof@127.0.0.1:$PGPORT/older
for to in "$host" "postgresql://owner@127.0.0.1:$PGPORT/older" "postgresql://guest@127.0.0.1:$PGPORT/older"; do
  sql -c 'UPDATE commprof.run SET shipped_ns = 0'
  PGPASSWORD=open-sesame sentence "tables of version 1, sent to as $(sed 's#.*//##; s/@.*//' <<<"$to")" 0 'has tables of version 1, .*their owner brings them up to date' ship --store "$dir/one.db"
done
check "take what they know of" same "$(fleet)" "$(store one)"
check "nobody else brings them up to date" grep -q 'the tables are of keeper, who alone' <(sql -v ON_ERROR_STOP=1 -f <("$commctl" ship --schema) 2>&1)
check "nor a part of them" same "$(sql -c "SELECT count(*) FROM pg_tables WHERE schemaname = 'commprof' AND tablename = 'fresh'")" 0
check "their owner does" sql -U keeper -v ON_ERROR_STOP=1 -f <("$commctl" ship --schema)
check "whose they are then, too" same "$(sql -c "SELECT count(*), min(tableowner), max(tableowner) FROM pg_tables WHERE schemaname = 'commprof' AND tablename IN ('fresh', 'census')" -F ' ')" "2 keeper keeper"
check "to what new ones are" same "$(columns)" "$new"
check "which takes nothing away" same "$(fleet)" "$(store one)"
check "hosts have their rights" ship --store "$dir/survey.db" --to "$host"
check "and who looks has his" same "$(sql -U viewer -c "SELECT sum(words) FROM commprof.named_census")" 7200
sql -c 'INSERT INTO commprof.version VALUES (3)'
check "a newer one stays" grep -q 'the tables are of a newer version' <(sql -U keeper -f <("$commctl" ship --schema) 2>&1)
check "and their survey is there" same "$(fleet_survey)" "$(survey survey)"
fresh own
sql -f tests/e2e/fleet-1.sql
check "who sends as the owner does that by itself" same "$(ship --store "$dir/survey.db" 2>&1 | grep -c version) $(fleet_survey)" "0 $(survey survey)"

# Two at once, of two stores and of the same, into a database without tables, whatever it takes for the default
fresh crowd
sql -c "ALTER DATABASE crowd SET default_transaction_isolation = 'serializable'"
jobs=()
for name in one two one two; do
  ship --store "$dir/$name.db" >"$dir/said" 2>>"$dir/crowd" &
  jobs+=($!)
done
failed=0
for job in "${jobs[@]}"; do wait "$job" || failed=$((failed + 1)); done
check "four at once" same "$failed $(fleet)" "0 $(store one two)" || cat "$dir/crowd"

# Whoever is killed, at any moment: a database that takes at least 20 ms for a slice, so that most of them come in the middle
slow_down() {
  sql -f <("$commctl" ship --schema) -c "CREATE FUNCTION commprof.rest() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END'" -c 'CREATE TRIGGER rest BEFORE INSERT ON commprof.slice FOR EACH ROW EXECUTE FUNCTION commprof.rest()'
}
wait_slices() { for ((j = 0; j < 600; j++)); do [ "$(sql -c 'SELECT count(*) FROM commprof.slice')" -ge "$1" ] && return; sleep 0.05; done; }
fresh killed
slow_down
killed=0
for ((i = 0; i < 20; i++)); do
  "$commctl" ship --store "$dir/one.db" --to "$to" >"$dir/said" 2>&1 &
  pid=$!
  sleep "0.$(printf "%03d" $((i * 8 + 15)))"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  [ $? = 137 ] && killed=$((killed + 1))
done
ship --store "$dir/one.db" >"$dir/said"
check "who sends is killed again and again: nothing is lost, nothing twice" same "$((killed >= 3)) $(fleet)" "1 $(store one)"
fresh crashed
slow_down
crashed=0
for ((i = 0; i < 4; i++)); do
  "$commctl" ship --store "$dir/one.db" --to "$to" >"$dir/said" 2>&1 &
  pid=$!
  wait_slices $((i * 10 + 1))
  # A server process that is killed has all others end, too.
  for one in $(pgrep -P "$pg_pid" -f ": owner crashed"); do kill -9 "$one"; done
  wait $pid || crashed=$((crashed + 1))
  for ((j = 0; j < 600; j++)); do sql -c '' 2>/dev/null && break; sleep 0.1; done
done
check "the database's process is killed: what is lost is sent again" ship --store "$dir/one.db"
check "nothing is lost, nothing twice" same "$((crashed >= 1)) $(fleet)" "1 $(store one)"

# A server that goes away and comes back, under one that follows
fresh followed
"$commctl" ship --follow --store "$dir/two.db" --to "$to" >>"$dir/follow" 2>&1 &
follower=$!
pids+=($follower)
full() { for ((i = 0; i < 600; i++)); do [ "$(fleet 2>/dev/null)" = "$1" ] && return; sleep 0.1; done; fleet; cat "$dir/follow"; false; }
check "what follows has sent all" full "$(store two)"
# Its day is dropped, and more of that day comes.
sql -c "SELECT commprof.drop_older(interval '0')" >"$dir/said"
for table in $(sql -c "SELECT tablename FROM pg_tables WHERE schemaname = 'commprof' AND tablename ~ '^(slice|loss|flow)_'"); do sql -c "DROP TABLE commprof.$table"; done
make_store redis four 60
four=$(store four)
mv "$dir/four.db" "$dir/two.db"
check "a day that was dropped is made again" full "$four"
goes_on() { for ((i = 0; i < 600; i++)); do [ "$(tail -n 1 "$dir/follow")" = "commctl: it goes on" ] && return; sleep 0.1; done; cat "$dir/follow"; false; }
check "which it says" goes_on
: >"$dir/follow"
before=$(fleet | cut -d ' ' -f 2)
pg_stop INT
make_store redis three
mv "$dir/three.db" "$dir/two.db"
for ((i = 0; i < 600; i++)); do grep -q 'tried again' "$dir/follow" && break; sleep 0.1; done
check "it says that the server is down, once" same "$(grep -c 'it is tried again' "$dir/follow")" 1
pg_start "${settings[@]}"
check "and goes on with what has come meanwhile" full "61 $(($(store two | cut -d ' ' -f 2) + before)) $(($(store two | cut -d ' ' -f 2) + before))"
check "which it says" goes_on
kill $follower
wait $follower 2>/dev/null

# A server that does not answer
fresh slow
ship --store "$dir/old.db" >"$dir/said"
kill -STOP "$pg_pid"
sentence "a server that does not answer" 1 'timeout expired' ship --store "$dir/one.db" --timeout 2s
kill -CONT "$pg_pid"
sql -c "CREATE FUNCTION commprof.wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NEW; END'" \
  -c 'CREATE TRIGGER wait BEFORE INSERT ON commprof.slice FOR EACH ROW EXECUTE FUNCTION commprof.wait()'
sentence "nor in the middle" 1 'does not answer within 2 s' ship --store "$dir/one.db" --timeout 2s
sql -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'slow' AND pid <> pg_backend_pid()" -c 'DROP TRIGGER wait ON commprof.slice' >"$dir/said"
check "and then does" ship --store "$dir/one.db"
check "has it all" same "$(fleet)" "$(store one old)"

# A disk that is full
if [ "$(id -u)" = 0 ] && mkdir "$dir/pg/disk" && mount -t tmpfs -o size=16m tmpfs "$dir/pg/disk" 2>"$dir/err"; then
  chown --reference="$dir/pg/data" "$dir/pg/disk"
  chmod 700 "$dir/pg/disk"
  sql -d postgres -c "CREATE TABLESPACE disk LOCATION '$dir/pg/disk'" -c 'CREATE DATABASE full_disk TABLESPACE disk'
  export PGDATABASE=full_disk
  to=postgresql://owner@127.0.0.1:$PGPORT/full_disk
  sql -f <("$commctl" ship --schema) -c 'CREATE TABLE filler (x text)'
  for bytes in 1000000 8000; do
    while sql -c "INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, $bytes / 1000)" 2>"$dir/err"; do :; done
  done
  sentence "a disk that is full" 1 'No space left on device' ship --store "$dir/one.db"
  sql -c 'DROP TABLE filler'
  check "with room again" ship --store "$dir/one.db"
  check "all is there" same "$(fleet)" "$(store one)"
  pg_stop INT
  umount "$dir/pg/disk"
else
  skip "a disk that is full" "needs root, and to mount"
fi
echo "1..$n"
exit $status

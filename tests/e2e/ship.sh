#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl ship --to file:DIR: what is finished of a store is there once, whoever is killed, and what is wrong is said in a sentence.
. "$(dirname "$0")/../tap.bash"
for tool in sqlite3 python3 flock; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
[ -x "$O/commctl-ship" ] || skip_all "commctl-ship is not built: libpq-dev or libcurl4-openssl-dev is missing"
make_store() { "$O/tests/e2e/make_store" "$1" "$dir/$2.db" "${3:-3600}" || exit 1; }
same() { [ "$1" = "$2" ] || { echo "'$1', not '$2'"; false; }; }
ship() { timeout 600 "$commctl" ship "$@"; }
# sums DIR: slices, bytes of slices, bytes of flows, and bytes that nobody was seen to write; whole numbers, since orders of sums differ.
sums() { cat "$1"/*.tsv 2>/dev/null | python3 -c '
import sys
rows = [line.rstrip("\n").split("\t") for line in sys.stdin]
of = lambda kind, column: sum(float(row[column]) for row in rows if row[0] == kind)
print(sum(row[0] == "slice" for row in rows), round(of("slice", 22)), round(of("flow", 22)), round(of("slice", 28)))'; }
store() { sqlite3 -separator ' ' "$dir/$1.db" "SELECT count(*), printf('%.0f', sum(crossing_bytes)), printf('%.0f', sum(crossing_bytes)),
  printf('%.0f', sum(unwritten_bytes)) FROM slice WHERE $2"; }
files() { (cd "$1" && find . -name '*.tsv' -exec sha256sum {} + | sort -k 2); }

make_store redis redis
mkdir "$dir"/{one,two,killed}
check "each minute is sent" same "$(ship --store "$dir/redis.db" --to "file:$dir/one")" "60 slices of 1 run sent, 1020 flows"
check "with all that the store has" same "$(sums "$dir/one")" "$(store redis 'level = 1')"
check "and nothing twice" same "$(ship --store "$dir/redis.db" --to "file:$dir/one")" "0 slices of 0 runs sent, 0 flows"
cat >"$dir/columns.py" <<'END'
import re, sys
kinds = set()
for line in open(sys.argv[1], "rb").read().decode("utf-8").split("\n")[:-1]:
    row = line.split("\t")
    kinds.add(row[0])
    assert len(row) == int(sys.argv[2]), row
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line.replace("\t", "")), row
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", row[1]) and re.fullmatch(r"[0-9a-f-]{36}", row[2]), row
    assert not re.search(r"(?<!\\)(\\\\)*\\(?!\\)", line), row
assert kinds == {"slice", "loss", "flow"} | ({"fresh", "census"} if sys.argv[3] == "survey" else set()), kinds
END
columns=$(grep -cE '^\| [0-9]+ \|' docs/formats/batch.md)
for kind in redis hostile survey; do
  [ $kind = redis ] || make_store $kind $kind 60
  mkdir "$dir/$kind" && ship --store "$dir/$kind.db" --to "file:$dir/$kind" >"$dir/said"
  check "$kind: rows are as docs/formats/batch.md has them" python3 "$dir/columns.py" "$(find "$dir/$kind" -name '*.tsv' | sort | head -n 1)" "$columns" $kind
done

# What carries files away takes them; then only a run whose mark is gone comes again, and its files are the same.
ship --store "$dir/redis.db" --to "file:$dir/two" >"$dir/said"
first=$(files "$dir/two")
rm "$dir"/two/*.tsv
check "files that were taken do not come again" same "$(ship --store "$dir/redis.db" --to "file:$dir/two"; ls "$dir"/two/*.tsv 2>/dev/null)" \
  "0 slices of 0 runs sent, 0 flows"
rm "$dir"/two/*.shipped
ship --store "$dir/redis.db" --to "file:$dir/two" >"$dir/said"
check "the same batch again is the same file" same "$(files "$dir/two")" "$first"

# Killed at any moment, each time a little later, until it comes to write files.
killed=0 cut=
for ((i = 0; i < 60 || (killed < 5 && i < 600); i++)); do
  "$commctl" ship --store "$dir/redis.db" --to "file:$dir/killed" >"$dir/said" 2>&1 &
  pid=$!
  sleep "$(printf '%d.%03d' $((i * 3 / 1000)) $((i * 3 % 1000)))"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  [ $? = 137 ] && [ -n "$(find "$dir/killed" -type f)" ] && killed=$((killed + 1))
  cut=$cut$(files "$dir/killed" | grep -vxF "$first")
done
check "a file that has its name is whole" same "$cut" ""
check "it was killed in the middle, too" [ $killed -ge 5 ]
ship --store "$dir/redis.db" --to "file:$dir/killed" >"$dir/said"
check "killed again and again: nothing is lost, nothing twice" same "$(files "$dir/killed")" "$first"

# A commd that was killed leaves parts of a minute.
make_store unfinished cut 90
mkdir "$dir/cut"
ship --store "$dir/cut.db" --to "file:$dir/cut" >"$dir/said"
check "a run that was cut off: its last minute comes in parts" same "$(sums "$dir/cut")" "$(store cut 'level = 1 OR start_ns >= 5060000000000')"

# Minutes that are gone before they were sent
sqlite3 "$dir/redis.db" ".backup '$dir/gap.db'"
sqlite3 "$dir/gap.db" "DELETE FROM edge WHERE slice IN (SELECT id FROM slice WHERE level < 2 AND start_ns >= 5600000000000 AND start_ns < 5900000000000);
  DELETE FROM slice WHERE level < 2 AND start_ns >= 5600000000000 AND start_ns < 5900000000000"
mkdir "$dir/gap"
check "what is gone is told" same "$(ship --store "$dir/gap.db" --to "file:$dir/gap" 2>&1)" \
  "commctl: of run $(sqlite3 "$dir/gap.db" 'SELECT uuid FROM run') 300 s are missing, from 600 s on: they are not in the store, or not any more
55 slices of 1 run sent, 935 flows; 300 s missing"
sqlite3 "$dir/gap.db" "DELETE FROM edge WHERE slice IN (SELECT id FROM slice WHERE level < 2); DELETE FROM slice WHERE level < 2"
mkdir "$dir/hour"
check "where all minutes are gone the hour is sent" same "$(ship --store "$dir/gap.db" --to "file:$dir/hour" 2>&1)" "1 slice of 1 run sent, 17 flows"
check "with all that it has" same "$(sums "$dir/hour")" "$(store gap 'level = 2')"

# What cannot be sent does not hold up what is behind it: a run without a UUID, and a minute in the middle and the last of more than 32 MiB.
sqlite3 "$dir/redis.db" ".backup '$dir/passed.db'"
sqlite3 "$dir/passed.db" "CREATE TEMP TABLE other AS SELECT * FROM run;
  UPDATE other SET id = 0, uuid = '../../x';
  INSERT INTO run SELECT * FROM other;
  WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30000) INSERT INTO object SELECT 1, 1000000 + n, 1, printf('%01000d', n), '', '', 0, 8, 0, 0 FROM i;
  WITH few AS (SELECT * FROM edge JOIN slice s ON s.id = edge.slice WHERE s.level = 1 AND s.start_ns IN (5060000000000, 8540000000000)
    AND src_thread <> dst_thread AND edge.bytes > 0 GROUP BY edge.slice)
  INSERT INTO edge (run, slice, src_thread, dst_thread, src_context, dst_context, object, bytes, variance, first_bytes, first_variance, bursts, level)
    SELECT 1, slice, src_thread, dst_thread, src_context, dst_context, o.id, 1, 1, 1, 1, 1, 1 FROM few, object o WHERE o.id > 1000000"
mkdir "$dir/passed" "$dir/passed_on"
uuid=$(sqlite3 "$dir/passed.db" 'SELECT uuid FROM run WHERE id = 1')
passed="commctl: run 0 of the store $dir/passed.db has no UUID; it is passed over
commctl: the slice of run $uuid at 60 s takes more than 32 MiB; it is passed over
commctl: the slice of run $uuid at 3540 s takes more than 32 MiB; it is passed over"
check "what cannot be sent is told, and what is behind it is sent" same "$(ship --store "$dir/passed.db" --to "file:$dir/passed" 2>&1; echo $?)" \
  "$passed
58 slices of 1 run sent, 986 flows; 3720 s missing
1"
check "the next one counts it" same "$(head -n 1 "$dir/passed/$uuid.00000000120000000000.tsv" | cut -f 32)" 60000000000
check "the unit has room for what is held at most" same "$(sed -n 's/^MemoryMax=//p' packaging/commprof-ship@.service) $(sed -n 's/.*SHIP_TSV_MAX = \(.*\),/\1/p' ship/tsv.h)" "192M 32 << 20"
: >"$dir/follow"
"$commctl" ship --follow --store "$dir/passed.db" --to "file:$dir/passed_on" >"$dir/follow" 2>&1 &
follower=$!
pids+=($follower)
# The slices of more than 32 MiB are read whole, which with sanitizers takes 40 s of CPU time.
for ((i = 0; i < 18000; i++)); do [ "$(wc -l <"$dir/follow")" -ge 3 ] && break; sleep 0.1; done
sleep 11 # two looks
check "who follows goes on" kill $follower
wait $follower 2>/dev/null
check "and says it once" same "$(cat "$dir/follow")" "$passed"

# A store that another one holds
sqlite3 "$dir/redis.db" ".backup '$dir/held.db'"
mkdir "$dir/held"
python3 -c 'import sqlite3, sys, time
sqlite3.connect(sys.argv[1], isolation_level=None).execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(1000)' "$dir/held.db" >"$dir/holds" &
holder=$!
pids+=($holder)
for ((i = 0; i < 600; i++)); do grep -q held "$dir/holds" && break; sleep 0.1; done
"$commctl" ship --follow --store "$dir/held.db" --to "file:$dir/held" >"$dir/follow" 2>&1 &
follower=$!
pids+=($follower)
for ((i = 0; i < 600; i++)); do grep -q 'tried again' "$dir/follow" && break; sleep 0.1; done
kill $holder
wait $holder 2>/dev/null
for ((i = 0; i < 600; i++)); do [ "$(find "$dir/held" -name '*.tsv' | wc -l)" = 60 ] && grep -q 'goes on' "$dir/follow" && break; sleep 0.1; done
check "who follows waits for a store that is locked" kill $follower
wait $follower 2>/dev/null
check "and says so" grep -q 'cannot use the store .*it is tried again' "$dir/follow"
check "and then sends it" same "$(sums "$dir/held")" "$(store redis 'level = 1')"

# While a commd writes, which is killed
mkdir "$dir/live"
mkfifo "$dir/next"
"$O/tests/e2e/make_store" followed "$dir/live.db" 400 <"$dir/next" 2>"$dir/err" &
writer=$!
pids+=($writer)
exec 8>"$dir/next"
head -c 150 /dev/zero | tr '\0' '\n' >&8
slices() { sqlite3 -readonly "$dir/live.db" "SELECT count(*) FROM slice WHERE level = 0" 2>/dev/null; }
for ((i = 0; i < 600; i++)); do [ "$(slices)" = 150 ] && break; sleep 0.1; done
"$commctl" ship --follow --store "$dir/live.db" --to "file:$dir/live" >"$dir/follow" 2>&1 &
follower=$!
pids+=($follower)
wait_files() { for ((i = 0; i < 600; i++)); do [ "$(find "$dir/live" -name '*.tsv' | wc -l)" -ge "$1" ] && return; sleep 0.1; done; ls "$dir/live"; false; }
check "two minutes are there while the third goes on" wait_files 2
check "and nothing else" same "$(sums "$dir/live")" "$(store live 'level = 1')"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  # shellcheck disable=SC2016 # of the inner shell
  read_only() { unshare -m sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && ! touch "$1/x" 2>/dev/null && exec "$2" ship --store "$1/live.db" --to "file:$3"' - \
    "$dir" "$commctl" "$1"; }
  to=$(mktemp -d)
  check "on a file system that is read-only, while it is written" read_only "$to"
  check "two minutes, too" same "$(sums "$to")" "$(store live 'level = 1')"
  rm -r "$to"
else
  skip "on a file system that is read-only, while it is written" "needs root, and to mount"
fi
head -c 57 /dev/zero | tr '\0' '\n' >&8
check "and then the third" wait_files 3
kill -9 $writer
wait $writer 2>/dev/null
exec 8>&-
# Of the fourth minute as many as were stored
left=$(sqlite3 "$dir/live.db" "SELECT count(*) FROM slice WHERE level = 0 AND start_ns >= 5180000000000")
check "when the writer is killed its last slices are sent" wait_files $((3 + left))
check "all of them" same "$(sums "$dir/live")" "$(store live 'level = 1 OR start_ns >= 5180000000000')"
check "the follower goes on" kill $follower
wait $follower 2>/dev/null
check "and had nothing to say" same "$(cat "$dir/follow")" ""

to=file:$dir/bad
mkdir "$dir/bad"
sentence "no target" 2 'say where to' ship --store "$dir/redis.db"
sentence "a target that is none" 2 'wants file:DIR, postgresql://' ship --store "$dir/redis.db" --to mysql://root:secret@a/b
sentence "a directory without a name" 2 'name a directory' ship --store "$dir/redis.db" --to file:
sentence "a directory that is not there" 1 'cannot send to the directory .*: No such file' ship --store "$dir/redis.db" --to "file:$dir/none"
sentence "no store" 1 'cannot use the store .*there is no such file' ship --store "$dir/none.db" --to "$to"
sentence "no store, for who follows" 1 'cannot use the store .*there is no such file' ship --follow --store "$dir/none.db" --to "$to"
sentence "days of a directory" 2 'is for a database' ship --store "$dir/redis.db" --to "$to" --drop-older 90d
sentence "a time that is none" 2 "wants a time such as 60s or 90d, not 'soon'" ship --store "$dir/redis.db" --to "$to" --timeout soon
sentence "an option that is none" 2 'did you mean --follow' ship --folow --to "$to"
sentence "a word too many" 2 'one word too many' ship --to "$to" more
cp "$dir/redis.db" "$dir/newer.db" && sqlite3 "$dir/newer.db" 'PRAGMA user_version = 99'
sentence "a store of a newer version" 1 'written by a newer version of commprof' ship --store "$dir/newer.db" --to "$to"
cp "$dir/redis.db" "$dir/uuid.db" && sqlite3 "$dir/uuid.db" "UPDATE run SET uuid = '../../x'"
sentence "a run whose UUID leads elsewhere" 1 'run 1 of the store .* has no UUID' ship --store "$dir/uuid.db" --to "$to"
uuid=$(sqlite3 "$dir/redis.db" 'SELECT uuid FROM run')
flock --no-fork "$dir/bad/$uuid.shipped" sleep 100 &
locker=$!
pids+=($locker)
for ((i = 0; i < 600; i++)); do flock -n "$dir/bad/$uuid.shipped" true || break; sleep 0.1; done
sentence "another one sends the same run there" 1 'another commctl ship sends run' ship --store "$dir/redis.db" --to "$to"
kill $locker
wait $locker 2>/dev/null
mkdir "$dir/marked"
echo 12 >"$dir/marked/$uuid.shipped"
sentence "a mark that is damaged" 1 'is damaged; take it away' ship --store "$dir/redis.db" --to "file:$dir/marked"
mkdir "$dir/small"
sentence "no room for a file" 1 'cannot write a file in .*: File too large' sh -c "ulimit -f 4; exec '$commctl' ship --store '$dir/redis.db' --to 'file:$dir/small'"
check "leaves no part of it" same "$(find "$dir/small" -type f ! -name '*.shipped')" ""
mkdir "$dir/linked" && ln -s "$dir/victim" "$dir/linked/$uuid.shipped"
sentence "a link in the place of a mark" 1 'cannot open the mark of a run' ship --store "$dir/redis.db" --to "file:$dir/linked"
check "is not followed" [ ! -e "$dir/victim" ]
# As it is installed, without and with the package commprof-ship
mkdir -p "$dir/usr/bin" "$dir/usr/lib/commprof"
cp "$commctl" "$dir/usr/bin"
cp "$O/libcommprof.so.0" "$dir/usr/lib"
sentence "where commctl-ship is not installed" 1 'it is in the package commprof-ship' "$dir/usr/bin/commctl" ship --to "$to"
cp "$O/commctl-ship" "$dir/usr/lib/commprof"
if [ "$(id -u)" = 0 ]; then
  # Who may only read the store, while nobody writes it and in a directory that is not his
  mkdir -m 777 "$dir/others"
  chmod 755 "$dir" && chmod 644 "$dir/redis.db"
  check "reading the store is enough" setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/usr/bin/commctl" ship --store "$dir/redis.db" --to "file:$dir/others"
  check "and all is sent" same "$(sums "$dir/others")" "$(store redis 'level = 1')"
else
  skip "reading the store is enough" "needs root"
fi
# The unit
mkdir "$dir/units"
sed "s,@bindir@,$O," packaging/commprof-ship@.service >"$dir/units/commprof-ship@.service"
if command -v systemd-analyze >/dev/null; then
  check "the unit is one" same "$(systemd-analyze verify --man=no "$dir/units/commprof-ship@.service" 2>&1)" ""
  exposure=$(systemd-analyze security --offline=true "$dir/units/commprof-ship@.service" 2>&1 | sed -n 's/.*exposure level.*: \([0-9.]*\) .*/\1/p')
  check "it exposes little" awk -v e="${exposure:-10}" 'BEGIN { exit !(e <= 1.2) }'
else
  skip "the unit" "there is no systemd-analyze (package systemd)"
fi
# Without --follow, which does not end
mkdir "$dir/unit"
# shellcheck disable=SC2046 # words
check "the unit's options are those of commctl ship" "$commctl" $(sed -n 's/^ExecStart=[^ ]* //p' packaging/commprof-ship@.service |
  sed "s, --follow,,; s,/var/lib/commprof/%i.db,$dir/redis.db,; s,[$]{SHIP_TO},file:$dir/unit,")
check "and send the store" same "$(sums "$dir/unit")" "$(store redis 'level = 1')"
echo "1..$n"
exit $status

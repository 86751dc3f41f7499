#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl ship --to pyroscope+http://... and parca+http://...: the profiles of a store are there once, whoever is killed, and what a server
# does wrong is said in a sentence.
. "$(dirname "$0")/../tap.bash"
for tool in sqlite3 python3 openssl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
[ -x "$O/commctl-ship" ] || skip_all "commctl-ship is not built: libpq-dev or libcurl4-openssl-dev is missing"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy SSL_CERT_FILE SHIP_HEADERS STATE_DIRECTORY
make_store() { "$O/tests/e2e/make_store" "$1" "$dir/$2.db" "${3:-3600}" || exit 1; }
same() { [ "$1" = "$2" ] || { echo "'$1', not '$2'"; false; }; }
# near WHAT BYTES: but for what is rounded in each of the samples.
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a > 0 && (d < 0 ? -d : d) <= a * 1e-6) }' || { echo "$1, not $2"; false; }; }
ship() { timeout 600 "$commctl" ship --marks "$dir/marks" "$@"; }
# serve NAME [TLS...]: $pid, and $port; its folder is $dir/NAME.
serve() {
  mkdir -p "$dir/$1/got"
  : >>"$dir/$1/do"
  python3 tests/e2e/profiler.py "$dir/$1" "${@:2}" 2>"$dir/$1/err" &
  pid=$!
  pids+=($pid)
  for ((i = 0; i < 600; i++)); do [ -s "$dir/$1/port" ] && break; sleep 0.1; done
  port=$(cat "$dir/$1/port")
}
stop() { kill -9 "$1"; wait "$1" 2>/dev/null; }
got() { python3 tests/e2e/profiler_got.py "$1" "$dir/$2" "$dir/$2/profiles" 2>"$dir/labels"; }
column() { cut -d ' ' -f "$1" <<<"$2"; }
# What is folded into "(other)" threads is in no profile.
store() { sqlite3 "$dir/$1.db" "SELECT printf('%.0f', sum(edge.bytes)) FROM edge JOIN slice ON slice.id = edge.slice
  WHERE slice.level = 1 AND src_thread <> dst_thread AND src_thread <> 0 AND dst_thread <> 0"; }

make_store redis redis
mkdir "$dir/marks"
serve one
first=$pid to=pyroscope+http://127.0.0.1:$port
check "each minute is sent" same "$(ship --store "$dir/redis.db" --to "$to")" "60 slices of 1 run sent, 1020 flows"
all=$(got pyroscope one) || cat "$dir/labels"
check "as a profile each, with a name of its own" same "$(cut -d ' ' -f 1,2 <<<"$all")" "60 60"
check "with all that the store has" near "$(column 3 "$all")" "$(store redis)"
"$commctl" export --as pprof --all --store "$dir/redis.db" -o "$dir/whole.pb.gz"
check "as the export of the whole run has it" near "$(column 3 "$all")" \
  "$(python3 -c 'import sys; sys.path.insert(0, "tests/e2e"); from profile_proto import read
print(sum(one["values"][0] for one in read(sys.argv[1])["samples"]))' "$dir/whole.pb.gz")"
check "labels are those of the run" same "$(cat "$dir/labels")" \
  "{\"__name__\": \"commprof\", \"hostname\": \"db1\", \"service_name\": \"redis-server *:6379\"}"
# raw FILE...: sums of all that go's decoder reads of them.
raw() { HOME=$dir PPROF_TMPDIR=$dir go tool pprof -raw "$@" | awk '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 }
  on && $1 ~ /^[0-9]+$/ { bytes += $1; bursts += $2 } END { printf "%.0f %.0f\n", bytes, bursts }'; }
has_decoder=
command -v go >/dev/null && go tool pprof -help >/dev/null 2>&1 && has_decoder=1
if [ -n "$has_decoder" ]; then
  check "upstream's decoder reads the same" same "$(raw "$dir"/one/profiles/*.pb.gz 2>"$dir/err")" "$(cut -d ' ' -f 3,4 <<<"$all")"
else
  skip "upstream's decoder reads the same" "go tool pprof is not installed"
fi
check "and nothing twice" same "$(ship --store "$dir/redis.db" --to "$to")" "0 slices of 0 runs sent, 0 flows"
check "marks name no server" same "$(cd "$dir/marks" && ls | sed "s/$(sqlite3 "$dir/redis.db" 'SELECT uuid FROM run')\.[0-9a-f]\{16\}\.shipped/mark/")" mark
serve parca
check "another server is sent all of it" same "$(ship --store "$dir/redis.db" --to "parca+http://127.0.0.1:$port/")" "60 slices of 1 run sent, 1020 flows"
check "which is the same" same "$(got parca parca)" "$all"
check "by its own names" same "$(cat "$dir/labels")" "{\"__name__\": \"commprof\", \"node\": \"db1\", \"service_name\": \"redis-server *:6379\"}"
stop $pid
serve state
mkdir "$dir/state_marks"
check "a service's own directory is there for marks" same \
  "$(STATE_DIRECTORY=$dir/state_marks timeout 600 "$commctl" ship --store "$dir/redis.db" --to "pyroscope+http://127.0.0.1:$port/a/b/"; ls "$dir/state_marks" | wc -l)" \
  "60 slices of 1 run sent, 1020 flows
1"
check "a path stands in front" grep -q '"path": "/a/b/push.v1.PusherService/Push"' "$dir/state/got/000001"
stop $pid

for kind in hostile survey exact callers; do
  case $kind in
  callers) "$O/tests/e2e/make_store" callers "$dir/$kind.db" 60 2>/dev/null || { skip "$kind" "no such store is made"; continue; } ;;
  *) make_store $kind $kind 60 ;;
  esac
  [ $kind != hostile ] || python3 - "$dir/hostile.db" <<'PYTHON'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE run SET host = ?, label = ?", ('a"b\\c\x07\u202e' + "\u00e9" * 3000, "\n\"},{" * 100))
db.commit()
PYTHON
  serve $kind
  sent=$(ship --store "$dir/$kind.db" --to "pyroscope+http://127.0.0.1:$port" 2>&1)
  some=$(got pyroscope $kind)
  check "$kind: what is sent can be read" [ "$(column 1 "$some")" -ge 1 ] || { echo "# $sent"; cat "$dir/labels"; }
  [ -z "$has_decoder" ] || check "$kind: by upstream's decoder, too" same "$(raw "$dir/$kind"/profiles/*.pb.gz 2>"$dir/err")" "$(cut -d ' ' -f 3,4 <<<"$some")"
  stop $pid
done
sqlite3 "$dir/redis.db" ".backup '$dir/empty.db'"
sqlite3 "$dir/empty.db" "DELETE FROM edge"
serve empty
check "minutes without flows are no profiles" same "$(ship --store "$dir/empty.db" --to "pyroscope+http://127.0.0.1:$port"; ls "$dir/empty/got")" "60 slices of 1 run sent, 0 flows"
check "and are not looked at again" same "$(ship --store "$dir/empty.db" --to "pyroscope+http://127.0.0.1:$port")" "0 slices of 0 runs sent, 0 flows"
stop $pid

# What is too large is passed over, and what is nearly so takes no more memory than the unit has.
# objects NAME N BYTES: a store with so many in its second minute, whose names are as long, and of random bytes.
objects() {
  sqlite3 "$dir/redis.db" ".backup '$dir/$1.db'"
  sqlite3 "$dir/$1.db" "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < $2)
      INSERT INTO object SELECT 1, 1000000 + n, 1, hex(randomblob($3 / 2)), '', '', 0, 8, 0, 0 FROM i;
    WITH few AS (SELECT * FROM edge JOIN slice s ON s.id = edge.slice WHERE s.level = 1 AND s.start_ns = 5060000000000
      AND src_thread <> dst_thread AND edge.bytes > 0 GROUP BY edge.slice)
    INSERT INTO edge (run, slice, src_thread, dst_thread, src_context, dst_context, object, bytes, variance, first_bytes, first_variance, bursts, level)
      SELECT 1, slice, src_thread, dst_thread, src_context, dst_context, o.id, 1, 1, 1, 1, 1, 1 FROM few, object o WHERE o.id > 1000000"
}
serve large
objects large 8000 1000
check "a slice that is too large is passed over" same "$(ship --store "$dir/large.db" --to "pyroscope+http://127.0.0.1:$port" 2>&1; echo $?)" \
  "commctl: the slice of run $(sqlite3 "$dir/large.db" 'SELECT uuid FROM run') at 60 s takes more than 6 MiB; it is passed over
59 slices of 1 run sent, 1003 flows; 60 s missing
1"
cp "$dir/redis.db" "$dir/ended.db"
sqlite3 "$dir/ended.db" "UPDATE run SET end_ns = start_ns + 1800000000000"
check "slices behind a run's end hold up nothing" same "$(ship --store "$dir/ended.db" --to "pyroscope+http://127.0.0.1:$port/ended" 2>&1; echo $?)" \
  "commctl: the slice of run $(sqlite3 "$dir/ended.db" 'SELECT uuid FROM run') at 1800 s is not found; it is passed over
commctl: so are the next 29 of run $(sqlite3 "$dir/ended.db" 'SELECT uuid FROM run')
30 slices of 1 run sent, 510 flows; 1800 s missing
1"
objects long 4500 4000
if is_sanitized; then
  skip "memory is that of the unit" "sanitizers take more"
else
  check "memory is that of the unit" same "$(python3 -c 'import resource, subprocess, sys
said = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True).stdout.strip()
print(said, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 192 << 10)' "$commctl" ship --store "$dir/long.db" --to "pyroscope+http://127.0.0.1:$port/long" --marks "$dir/marks")" \
    "60 slices of 1 run sent, 5520 flows True"
fi
stop $pid

# Who sends is killed at any moment.  What the server has and nobody heard of comes again, under the same name.
serve killed
echo delay >"$dir/killed/do"
killed=0
for ((i = 0; i < 30 || (killed < 5 && i < 300); i++)); do
  "$commctl" ship --marks "$dir/marks" --store "$dir/redis.db" --to "pyroscope+http://127.0.0.1:$port" >"$dir/said" 2>&1 &
  sender=$!
  sleep "$(printf '%d.%03d' $((i / 150)) $((i % 30 * 7 + i / 30 * 200 % 1000 + 10)))"
  kill -9 $sender 2>/dev/null
  wait $sender 2>/dev/null
  [ $? = 137 ] && [ -n "$(ls "$dir/killed/got")" ] && killed=$((killed + 1))
done
check "it was killed in the middle" [ $killed -ge 5 ]
ship --store "$dir/redis.db" --to "pyroscope+http://127.0.0.1:$port" >"$dir/said"
some=$(got pyroscope killed)
check "who sends is killed again and again: nothing is lost, nothing counts twice" same "$(cut -d ' ' -f 2- <<<"$some")" "$(cut -d ' ' -f 2- <<<"$all")"
check "what came again is no more than was cut off" [ $(($(column 1 "$some") - 60)) -le $killed ]
stop $pid

# So is the server, under one that follows.
serve crashed
echo 'until 12' >"$dir/crashed/do"
"$commctl" ship --follow --marks "$dir/marks" --store "$dir/redis.db" --to "pyroscope+http://127.0.0.1:$port" >"$dir/follow" 2>&1 &
follower=$!
pids+=($follower)
have() { find "$dir/$1/got" -name '??????' | wc -l; }
for at in 12 24 36; do
  for ((i = 0; i < 1200; i++)); do [ "$(have crashed)" -gt $at ] && break; sleep 0.1; done
  stop $pid
  [ $at = 36 ] || echo "until $((at + 12))" >"$dir/crashed/do"
  [ $at != 36 ] || : >"$dir/crashed/do"
  serve crashed
done
for ((i = 0; i < 1200; i++)); do grep -q 'goes on' "$dir/follow" && break; sleep 0.1; done
some=$(got pyroscope crashed)
check "the server is killed again and again: nothing is lost, nothing counts twice" same "$(cut -d ' ' -f 2- <<<"$some")" "$(cut -d ' ' -f 2- <<<"$all")" || cat "$dir/follow"
check "what it had and did not say came again" same "$(column 1 "$some")" 63
check "which is said, with what is wrong" grep -qE "^commctl: pyroscope at 127.0.0.1:$port: .*; it is tried again$" "$dir/follow"
check "and when it is over, once" same "$(tail -n 1 "$dir/follow") $(grep -c 'goes on' "$dir/follow")" "commctl: it goes on 1"
check "who follows goes on" kill $follower
wait $follower 2>/dev/null
stop $pid

serve bad
bad=pyroscope+http://127.0.0.1:$port
send() { ship --store "$dir/redis.db" --to "$bad" "$@"; }
# answers NAME REGEX DO...: one sentence, exit 1, and all of it is sent when the server is well again.
answers() {
  printf '%s\n' "${@:3}" >"$dir/bad/do"
  sentence "$1" 1 "^commctl: pyroscope at 127.0.0.1:$port:? $2\$" send "${limit[@]}"
}
limit=(--timeout 5s)
answers "a server that hangs" "does not answer within 5 s" hang
limit=()
answers "an answer without an end" "answers without an end" endless
answers "one that is gone without an answer" "(Empty reply|Recv failure).*" cut
answers "a redirect" "sends on to http://127.0.0.1:1/x, which is not followed: name that by --to" 302 "Location: http://127.0.0.1:1/x"
answers "a redirect to nowhere" "sends on to elsewhere, .*" 304
answers "a server that fails" "takes nothing: 500, out of \\\\x1bmemory" 500 "X: y" $'out of \x1bmemory'
answers "one that is in front, and knows nothing of profiles" "takes nothing: 400, <html>" 400 "X: y" "<html>"
answers "one that has a page for everything" "answers, but not as one that takes profiles: 200, <html>" 200 "X: y" "<html>"
answers "one that wants a name" "takes nothing: 401" 401
answers "one that is another" "takes nothing: 404, page not found" 404 "X: y" "page not found"
answers "one that wants to be left alone" "wants nothing for 30 s: 429, slow down" 429 "Retry-After: 30" "slow down"
answers "one that wants that for years" "wants nothing for 3600 s: 503" 503 "Retry-After: 999999999999"
refusal='{"code":"invalid_argument","message":"too \"old\""}'
printf '%s\n' 400 "X: y" "$refusal" >"$dir/bad/do"
uuid=$(sqlite3 "$dir/redis.db" 'SELECT uuid FROM run')
check "what a profiler refuses for good is passed over, and said in two sentences" same "$(send 2>&1; echo $?)" \
  "commctl: pyroscope at 127.0.0.1:$port refuses a slice: 400, $refusal; it is passed over
commctl: so are the next 59 of run $uuid
0 slices of 0 runs sent, 0 flows; 3600 s missing
1"
printf '%s\n' 413 >"$dir/bad/do"
check "so is what is too large for it" same "$(send 2>&1 | head -n 1)" "commctl: pyroscope at 127.0.0.1:$port refuses a slice: 413; it is passed over"
: >"$dir/bad/do"
check "all comes to a server that is well again" same "$(send)" "60 slices of 1 run sent, 1020 flows"
check "once but for what it had and did not say" same "$(got pyroscope bad)" "61 $(cut -d ' ' -f 2- <<<"$all")"
: >"$dir/bad/tries"
printf '%s\n' 429 "Retry-After: 1000" >"$dir/bad/do"
mkdir "$dir/waits"
"$commctl" ship --follow --marks "$dir/waits" --store "$dir/redis.db" --to "$bad" >"$dir/follow" 2>&1 &
follower=$!
pids+=($follower)
for ((i = 0; i < 600; i++)); do grep -q 'tried again' "$dir/follow" && break; sleep 0.1; done
sleep 5 # in which there would be two others
check "who follows leaves it alone for as long" same "$(wc -l <"$dir/bad/tries") $(cat "$dir/follow")" \
  "1 commctl: pyroscope at 127.0.0.1:$port wants nothing for 1000 s: 429; it is tried again"
kill $follower
wait $follower 2>/dev/null
stop $pid
sentence "a server that is not there" 1 "pyroscope at 127.0.0.1:$port: .*(connect|refused)" send --to "$bad/x"

# Certificates
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout "$dir/key" -out "$dir/cert" 2>"$dir/err"
cat "$dir/key" "$dir/cert" >"$dir/both"
serve tls --tls "$dir/both"
tls=pyroscope+https://127.0.0.1:$port
sentence "a certificate of nobody's" 1 "pyroscope at 127.0.0.1:$port: .*certificate" ship --store "$dir/redis.db" --to "$tls"
check "nothing was sent" same "$(ls "$dir/tls/got")" ""
sentence "authorities that are not there" 1 "pyroscope at 127.0.0.1:$port: .*(certificate|CAfile)" env SSL_CERT_FILE="$dir/none" "$commctl" ship --marks "$dir/marks" --store "$dir/redis.db" --to "$tls"
check "one of an authority that is named" same "$(SSL_CERT_FILE=$dir/cert ship --store "$dir/redis.db" --to "$tls")" "60 slices of 1 run sent, 1020 flows"
check "is sent all" same "$(got pyroscope tls)" "$all"
stop $pid

# Headers
serve named
printf 'X-Scope-OrgID: team\nAuthorization: Bearer secret-word\n' >"$dir/headers"
chmod 644 "$dir/headers"
named() { SHIP_HEADERS=$dir/$1 ship --store "$dir/empty.db" --to "pyroscope+http://127.0.0.1:$port"; }
sentence "headers for everybody" 1 'headers is for everybody: chmod o=' named headers
sentence "no headers" 1 'cannot read .*none: No such file' named none
chmod 640 "$dir/headers"
sed 's/.*Bearer/Bearer/' "$dir/headers" >"$dir/broken"
chmod 640 "$dir/broken"
sentence "what is no header" 1 'broken has a line that is no header NAME: VALUE$' named broken
SHIP_HEADERS=$dir/headers ship --store "$dir/redis.db" --to "pyroscope+http://127.0.0.1:$port" >"$dir/said" 2>&1
check "headers are sent, and not said" same "$(grep -lE '"X-Scope-OrgID": "team".*"Authorization": "Bearer secret-word"' "$dir"/named/got/* | wc -l) $(cat "$dir/said")" \
  "60 60 slices of 1 run sent, 1020 flows"
stop $pid

sentence "no marks" 2 'say where to note it, --marks DIR' "$commctl" ship --store "$dir/redis.db" --to "$to"
sentence "marks of what keeps its own" 2 'marks is for a profiler' ship --store "$dir/redis.db" --to "file:$dir"
sentence "a directory for marks that is not there" 1 'cannot send to the directory .*none: No such file' "$commctl" ship --marks "$dir/none" --store "$dir/redis.db" --to "$to"
sentence "days of a profiler" 2 'drop-older is for a database' ship --store "$dir/redis.db" --to "$to" --drop-older 90d
sentence "a password in the address" 2 'it has a user or a password in it' ship --store "$dir/redis.db" --to pyroscope+http://me:secret@a/
sentence "more than a path" 2 'it has more than a path' ship --store "$dir/redis.db" --to 'parca+http://a/?b=c'
sentence "no host" 2 'it is no address as http://HOST' ship --store "$dir/redis.db" --to pyroscope+http://
sentence "another protocol" 2 'it is no address as http://HOST' ship --store "$dir/redis.db" --to pyroscope+httpx://a
stop "$first"
echo "1..$n"
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl serve: what it answers, to whom, and that it holds up nobody; and what Chromium makes of its page.
. "$(dirname "$0")/../tap.bash"
for tool in curl jq python3 sqlite3; do
  command -v $tool >/dev/null || skip_all "$tool is not installed"
done
make -s O="$O" "$commctl" "$O/tests/e2e/make_store" >/dev/null || exit 1
for kind in redis survey markup; do
  "$O/tests/e2e/make_store" $kind "$dir/$kind.db" 60 || exit 1
done
"$O/tests/e2e/make_store" redis "$dir/two.db" 20 && "$O/tests/e2e/make_store" survey "$dir/two.db" 60 || exit 1

# serve NAME OPTION...: starts it; $url is where it is, $server its process, $dir/NAME.err what it complains of.
serve() {
  local name=$1
  shift
  rm -f "$dir/$name.url"
  "$commctl" serve "$@" >"$dir/$name.url" 2>"$dir/$name.err" 9>&- &
  server=$!
  pids+=("$server")
  until [ -s "$dir/$name.url" ] || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
  url=$(cat "$dir/$name.url")
}
# follow NAME QUERY: $dir/events-NAME is what a stream says.
follow() {
  curl -sN "${url}events$2" >"$dir/events-$1" 9>&- &
  pids+=($!)
}
# ended SIGNAL: ends it; its exit code is that of this.
ended() { kill -"$1" "$server" && wait "$server"; }
get() { curl -sS --max-time 120 "$@"; }
same() { diff <(printf '%s\n' "$1") <(printf '%s\n' "$2"); }
# status NUMBER TEXT CURL-ARGUMENT...: of an answer that has the text.
answers() {
  local wanted=$1 text=$2 got
  shift 2
  got=$(get -o "$dir/body" -w '%{http_code}' "$@") && [ "$got" = "$wanted" ] && grep -qF -- "$text" "$dir/body" ||
    { echo "$got, not $wanted with '$text':"; head -c 600 "$dir/body"; false; }
}

# The answers
serve two --store "$dir/two.db" --listen 127.0.0.1:0
check "port 0 is one that is free, and told" grep -qE '^http://127\.0\.0\.1:[1-9][0-9]*/$' "$dir/two.url"
# fixed: a page without its policy and what keeps it current
fixed() { grep -v '^<meta http-equiv="Content-Security-Policy"' | sed '/ id="live">/,/^<\/body>/{/^<\/body>/!d}'; }
for run in '' 1 2; do
  check "the page ${run:+of run $run }is that of commctl html" cmp <("$commctl" html --store "$dir/two.db" ${run:+--run $run} -o - | fixed) \
    <(get "$url${run:+?run=$run}" | fixed)
done
check "of a part of the run, too" cmp <("$commctl" html --store "$dir/two.db" --from -10s -o - | fixed) <(get "$url?from=-10s" | fixed)
check "its policy is that of the file, and besides the script that keeps it current and where that asks" python3 - \
  <("$commctl" html --store "$dir/two.db" -o -) <(get -D "$dir/headers" "$url") "$dir/headers" <<'END'
import base64, hashlib, re, sys
file, page, headers = (open(path, newline="").read() for path in sys.argv[1:])
policy = lambda text: re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
scripts = re.findall("<script>(.*?)</script>", page, re.S)
hashes = ["'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'" for script in scripts]
assert len(scripts) == 2 and f"script-src {hashes[0]};" in policy(file), "hashes"
assert policy(page) == policy(file).replace(f"script-src {hashes[0]};", f"script-src {hashes[0]} {hashes[1]}; connect-src 'self';"), policy(page)
assert f"\r\nContent-Security-Policy: {policy(page)}; frame-ancestors 'none'\r\n" in headers, headers
END
check "a page cannot be framed, kept, taken for something else, or named to others" \
  [ "$(grep -ciE '^(X-Content-Type-Options: nosniff|Referrer-Policy: no-referrer|Cache-Control: no-store|Cross-Origin-Resource-Policy: same-origin)' "$dir/headers")" = 4 ]
check "/runs.json is commctl list --json" cmp <("$commctl" list --json --store "$dir/two.db") <(get "${url}runs.json")
check "/metrics is commctl export --as openmetrics" cmp <("$commctl" export --as openmetrics --store "$dir/two.db") <(get -D "$dir/headers" "${url}metrics")
check "by its type, too" grep -q '^Content-Type: application/openmetrics-text; version=1\.0\.0; charset=utf-8' "$dir/headers"
check "of the last seconds of a run" cmp <("$commctl" export --as openmetrics --store "$dir/two.db" --run 1 --from -10s) <(get "${url}metrics?run=1&from=-10s")
check "/report.json is commctl report --json" cmp <("$commctl" report --json --store "$dir/two.db") <(get "${url}report.json")
check "by what is asked for" cmp <("$commctl" report --json --by thread,function --run 1 --store "$dir/two.db") <(get "${url}report.json?run=1&by=thread,function")
check "HEAD is the same without a body" same "200 $(get "$url" | wc -c)" "$(get -I "$url" | tr -d '\r' | sed -n 's/^HTTP.* \([0-9]*\) .*/\1/p; s/^Content-Length: //p' | xargs)"
check "HEAD of a stream leaves it" answers 200 "" -I "${url}events"

# What is no answer
check "a path that there is not" answers 404 "there are /, " "${url}none"
check "nor one that leads out" answers 404 "there are /, " --path-as-is "${url}../../etc/passwd"
check "a run that there is not" answers 404 "has no run 9; it has 1 to 2" "$url?run=9"
check "nor of metrics" answers 404 "has no run 9; it has 1 to 2" "${url}metrics?run=9"
check "a part that there is not" answers 404 "the range is empty" "$url?from=1000s"
for bad in run=0 run=x run= run run=99999999999999999999 from=soon by=role store=/etc/passwd seen=0123456789abcdef; do
  check "a wrong parameter: $bad" answers 400 "" "$url?$bad"
done
check "a grouping that there is not" answers 400 "there is no grouping 'foo'" "${url}report.json?by=foo"
check "a parameter without end" answers 400 "" "$url?run=$(printf '1%.0s' {1..2000})"
check "a path without end" answers 414 "" "$url?run=$(printf '1%.0s' {1..20000})"
for method in POST PUT DELETE OPTIONS PATCH; do
  check "$method" answers 405 "GET and HEAD alone" -X $method "$url"
done
check "a body of GET says nothing" answers 200 "<title>commprof" -X GET -d run=9 "$url"
check "a long body is not taken" answers 405 "GET and HEAD alone" -H 'Expect:' --data-binary "@$commctl" "$url"
check "a method that there is not says which there are" grep -q '^Allow: GET, HEAD' <(get -D - -o "$dir/body" -X POST "$url")
check "a name of others" answers 403 "ask for localhost" -H "Host: example.org" "$url"
check "not even metrics" answers 403 "ask for localhost" -H "Host: 127.0.0.1.example.org" "${url}metrics"
check "localhost, through a port of another" answers 200 "<title>commprof" -H "Host: localhost:9999" "$url"
check "no name at all" answers 400 "" -H "Host:" "$url"
if [ "$(id -u)" = 0 ]; then
  other() { setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS --max-time 120 -o "$dir/other/body" -w '%{http_code}' "$@"; }
  mkdir -m 777 "$dir/other" && chmod 711 "$dir"
  for path in '' events runs.json report.json metrics; do
    check "another user's: /$path" same 403 "$(other "$url$path")"
  done
else
  skip "other users" "needs root"
fi

# Many at once
check "what follows is bounded, and leaves room when it goes" python3 - "$url" <<'END'
import re, socket, sys, time, urllib.request
host, port = sys.argv[1].split("/")[2].split(":")
# Of a version that they have seen: nothing but silence tells the server who has left.
page = urllib.request.urlopen(sys.argv[1]).read().decode()
seen = re.search('"seen":"([^"]*)"', page).group(1)
def ask():
    one = socket.create_connection((host, int(port)), 120)
    one.sendall(f"GET /events?seen={seen} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return one, one.recv(12)
streams = [ask() for _ in range(32)]
assert all(line == b"HTTP/1.1 200" for _, line in streams), streams
assert ask()[1] == b"HTTP/1.1 503"
for one, _ in streams:
    one.close()
end = time.monotonic() + 120
while ask()[1] != b"HTTP/1.1 200":
    assert time.monotonic() < end, "who has left is still there"
    time.sleep(0.5)
END
check "SIGTERM ends it well" ended TERM
check "without a complaint" [ ! -s "$dir/two.err" ]

# Where
refused() { # WORDS ARGUMENT...
  local words=$1 code
  shift
  timeout 60 "$commctl" serve --store "$dir/two.db" "$@" >"$dir/stdout" 2>"$dir/stderr"
  code=$?
  [ "$code $(wc -c <"$dir/stdout")" = "$wanted 0" ] && grep -q "$words" "$dir/stderr" || { echo "exit $code"; cat "$dir/stdout" "$dir/stderr"; false; }
}
wanted=2
for address in 0.0.0.0:80 '*:80' '[::]:80' 10.1.2.3 example.org:80 :80; do
  check "not at $address" refused "only this machine is served.*ssh -L" --listen "$address"
done
check "not at a port that there is not" refused "from 0 to 65535" --listen 127.0.0.1:65536
check "not at a path without end" refused "107 bytes" --listen "unix:$(printf 'x%.0s' {1..108})"
check "nothing is taken besides" refused "one word too many" --listen 127.0.0.1:0 two.db
wanted=1
serve first --store "$dir/two.db" --listen 127.0.0.1:0 --metrics-for-all
if [ "$(id -u)" = 0 ]; then
  check "metrics may be for every user" same "200 403" "$(other "${url}metrics") $(other "$url")"
else
  skip "metrics may be for every user" "needs root"
fi
port=${url##*:} port=${port%/}
check "not at a port in use" refused "cannot listen at http://127.0.0.1:$port/: somebody does already" --listen "127.0.0.1:$port"
check "which is said in one line" [ "$(wc -l <"$dir/stderr")" = 1 ]
check "nor at a file" refused "there is a file that is no socket" --listen "unix:$dir/two.db"
check "which is kept" "$commctl" list --store "$dir/two.db"
check "SIGINT ends it well, too" ended INT
serve socket --store "$dir/two.db" --listen "unix:$dir/socket"
through=(--unix-socket "$dir/socket")
check "a socket in the file system" answers 200 "<title>commprof" "${through[@]}" http://localhost/
check "whatever it is called by who stands before it" answers 200 "<title>commprof" "${through[@]}" http://profiler.example.org/
check "is for its user and group alone" same 660 "$(stat -c %a "$dir/socket")"
check "there is one server at it" refused "somebody does already" --listen "unix:$dir/socket"
check "SIGHUP ends it well" ended HUP
check "and the socket is gone" [ ! -e "$dir/socket" ]
serve socket --store "$dir/two.db" --listen "unix:$dir/socket"
kill -9 $server
wait $server 2>/dev/null
check "what a server leaves that was killed" [ -S "$dir/socket" ]
serve socket --store "$dir/two.db" --listen "unix:$dir/socket"
check "is taken by the next" answers 200 "<title>commprof" "${through[@]}" http://localhost/
rm "$dir/socket" && touch "$dir/socket"
ended TERM
check "what is another's is left" [ -f "$dir/socket" ]
python3 -c 'import socket; socket.create_server(("::1", 0), family=socket.AF_INET6)' 2>/dev/null && serve six --store "$dir/two.db" --listen '[::1]:0' &&
  check "IPv6" answers 200 "<title>commprof" -g "$url" && ended TERM

# Stores that cannot be read: the sentence of commctl report, and the server goes on
serve states --store "$dir/state.db" --listen 127.0.0.1:0
unreadable() { # with the sentence
  local said path
  said=$("$commctl" report --store "$dir/state.db" 2>&1) && { echo "it can be read"; return 1; }
  for path in metrics report.json runs.json; do
    answers 503 "${said#commctl: }" "$url$path" || return
  done
  answers 503 "$(sed 's/^commctl: //; s/&/\&#38;/g; s/</\&#60;/g; s/>/\&#62;/g' <<<"$said")" "$url"
}
check "there is no store" unreadable
head -c 8192 /dev/zero >"$dir/state.db"
check "the store is none" unreadable
cp "$dir/redis.db" "$dir/state.db" && sqlite3 "$dir/state.db" 'PRAGMA user_version = 999'
check "the store is newer" unreadable
head -c 20000 "$dir/redis.db" >"$dir/state.db"
check "the store was cut short" unreadable
cp "$dir/redis.db" "$dir/state.db"
check "and is whole again" answers 200 "<title>commprof" "$url"
ended TERM
(cd "$dir" && mkdir -p none '<b>&' && cp two.db '<b>&/damaged' && printf x >'<b>&/damaged')
serve none --store "$dir/<b>&/damaged" --listen 127.0.0.1:0
check "its name is text" answers 503 '/&#60;b&#62;&#38;/damaged' "$url"
ended TERM
cd "$dir/none" && serve default --listen 127.0.0.1:0
if [ -e /var/lib/commprof/comm.db ]; then skip "no store was named" "this machine has one"; else
  check "no store was named" answers 503 "make one with \"commd --pid PID\"" "$url"; fi
cp "$dir/redis.db" comm.db
check "and now there is one" answers 200 "<title>commprof" "$url"
ended TERM
cd "$OLDPWD" || exit 1

# A run that goes on
mkfifo "$dir/go"
cp "$dir/two.db" "$dir/live.db"
"$O/tests/e2e/make_store" followed "$dir/live.db" 30 <"$dir/go" &
maker=$!
pids+=("$maker")
exec 9>"$dir/go"
until "$commctl" list --store "$dir/live.db" | grep -q '^ *3 .*running'; do sleep 0.1; done
slices() { "$commctl" list --json --store "$dir/live.db" | jq '.runs[2].slices'; }
# slice: the next one, once it is there
slice() {
  local before
  before=$(slices)
  echo >&9
  until [ "$(slices)" = $((before + 1)) ]; do sleep 0.05; done
}
serve live --store "$dir/live.db" --listen 127.0.0.1:0
check "a run that has stored nothing yet" answers 503 "run 3 has stored nothing yet" "$url"
# Streams of the latest run, of that run, and of one that is over
follow latest ''
follow third '?run=3'
follow first '?run=1'
events() { grep -c "^event: $2" "$dir/events-$1"; }
# event NAME KIND NUMBER: until the stream has so many.
event() {
  for _ in $(seq 600); do
    [ "$(events "$1" "$2")" -ge "$3" ] && return
    sleep 0.1
  done
  cat "$dir/events-$1"
  false
}
version() { get "${url}${1:-}" | sed -n 's/.*"seen":"\([^"]*\)".*/\1/p'; }
# told NAME...: until the last slice that each stream told of is that of the page.
told() {
  for _ in $(seq 600); do
    local now name late=''
    now=$(version)
    for name; do
      [ "$(grep -A1 '^event: slice' "$dir/events-$name" | tail -1)" = "id: $now" ] || late=$name
    done
    [ -n "$late" ] || return 0
    sleep 0.1
  done
  tail -n 20 "$dir/events-$late"
  false
}
# A stream begins with what the page that opens it may not have seen.
check "who has seen nothing is told at once" told latest third
check "of an older run that there is another" event first runs 1
for i in 1 2 3; do
  slice
  check "slice $i is told" told latest third
  check "and shown" grep -q "\"to_s\":$i," <(get "$url" 2>"$dir/out")
done
check "who looks at another run is not disturbed" same "0 1" "$(events first slice) $(events first runs)"
seen=$(version)
follow seen "?seen=$seen"
until [ -s "$dir/events-seen" ]; do sleep 0.05; done
follow unseen ''
told unseen
check "who has seen the newest is not told again" same 0 "$(events seen slice)"
slice
check "but of the next" told latest seen
# A client that does not take what it asked for, one that does not end its request, and all the streams
exec 7<>"/dev/tcp/127.0.0.1/$(cut -d: -f3 <"$dir/live.url" | tr -d /)" 8<>"/dev/tcp/127.0.0.1/$(cut -d: -f3 <"$dir/live.url" | tr -d /)"
printf 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n' >&7
printf 'GET / HTTP/1.1\r\nHo' >&8
get -o "$dir/body" "$url"
check "no transaction is open between answers" same "0|0|0" "$(sqlite3 "$dir/live.db" 'PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)' | tail -1)"
check "nor the store" [ -z "$(find /proc/$server/fd -lname "$dir/live.db*")" ]
slice
check "and the run goes on" told latest
exec 7>&- 8>&- 9>&-
wait $maker
check "which ends well" told latest third
check "its end is shown" grep -q '"state":"finished"' <(get "$url" 2>"$dir/out")
check "SIGTERM ends it beside its streams" ended TERM
check "without a complaint, too" [ ! -s "$dir/live.err" ]

# commd beside it
serve beside --store "$dir/beside.db" --listen 127.0.0.1:0
follow beside ''
"$commd" -q --source replay:tests/golden/migratory.rec --store "$dir/beside.db" 2>"$dir/commd.err"
check "commd writes a store that is followed" [ "$? $(wc -c <"$dir/commd.err")" = "0 0" ]
check "which is told" event beside slice 1
check "and shown" answers 200 "<title>commprof" "$url"
ended TERM

python3 tests/e2e/serve_test.py "$commctl" "$O/tests/e2e/make_store" "$dir" "$n" || status=1
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl top: in a terminal that tmux plays, and as text.
# Usage: top.sh [OUTPUT-DIRECTORY]   Needs tmux.
# Exits 0 pass, 1 fail, 77 skipped.
set -u
export LC_ALL=C
command -v tmux >/dev/null || { echo "SKIP: tmux is not installed"; exit 77; }
out=$(realpath "${1:-${O:-.output}}")
ctl=$out/commctl
make=$out/tests/e2e/make_store
root=$(realpath "$(dirname "$0")/../..")
make -s -C "$root" O="$out" "$ctl" "$make" || exit 1
dir=$(mktemp -d)
cd "$dir" || exit 1
unset COLUMNS NO_COLOR TMUX
failed=0

screen() { tmux -S "$dir/tmux" "$@"; }
trap 'screen kill-server 2>/dev/null; rm -rf "$dir"' EXIT
fail()
{
	echo "FAIL: $*"
	failed=1
}

# Waits for a text on the screen; a busy machine may take its time.
shows()
{
	local i
	for ((i = 0; i < 300; i++)); do
		screen capture-pane -p -t top >shot 2>/dev/null
		grep -q -e "$1" shot && return 0
		sleep 0.1
	done
	fail "the screen does not show '$1':"
	sed 's/^/    /' shot
	return 1
}

# Waits until a text has gone from the screen.
goes()
{
	local i
	for ((i = 0; i < 300; i++)); do
		screen capture-pane -p -t top >shot 2>/dev/null
		grep -q -e "$1" shot || return 0
		sleep 0.1
	done
	fail "the screen still shows '$1'"
}

lacks() { grep -q -e "$1" shot && fail "the screen shows '$1'"; }

# start TERM WIDTHxHEIGHT OPTION...
start()
{
	local term=$1 size=$2
	shift 2
	rm -f code
	screen -f /dev/null new-session -d -s top -x "${size%x*}" -y "${size#*x}" \
		"TERM=$term LC_ALL=C.UTF-8 '$ctl' top $*; echo \$? >code; echo left; sleep 100"
}

quit()
{
	screen send-keys -t top q
	shows '^left' && [ "$(cat code)" = 0 ] || fail "exit $(cat code) after q"
	screen kill-session -t top
}

# The server ends with its last session, which the next one would meet halfway.
screen -f /dev/null new-session -d -s stay 'sleep 1000'

$make redis one.db 60 && $make turn turn.db 120 && $make hostile hostile.db 20 || exit 1

# What waits stands before who feeds whom, as on the first screen of commctl report, which o shows
$make survey survey.db 60 || exit 1
start xterm-256color 100x30 --store survey.db
shows '^WAITING   67 % .* of all reads are of loops that wait'
shows 'writer > reader'
[ "$(grep -o '^[A-Z]\{4,\} ' shot | tr -d '\n')" = 'WAITING FRESH FEEDS OLDER ' ] || fail "parts and order: $(cat shot)"
shows ' \[kernel\] in io_thd > processMultibulkBuffer in redis-server'
shows '^threads, by share'
# Sorted and found is below it; of a flow it says nothing
screen send-keys -t top s
shows '^threads, by change'
shows '^WAITING   67 %'
screen send-keys -t top Enter
shows '^functions: '
lacks '^WAITING\|^FEEDS'
screen send-keys -t top BSpace e
shows ', of fresh data'
shows '^WAITING'
lacks '^OLDER'
screen send-keys -t top e o
shows '^NEXT '
screen send-keys -t top Left
shows '^run 1  past '
screen send-keys -t top End o
goes '^NEXT'
shows ' > '
# Rows keep half of the screen, and all of a low one
screen resize-window -t top -x 40 -y 18
goes '^OLDER'
shows '^WAITING'
shows '^ .* %.* > '
screen resize-window -t top -x 40 -y 15
goes '^WAITING'
shows '^ .* %.* > '
quit
# Another window has another survey, or none: then the estimator alone says who feeds whom
cp survey.db half.db && sqlite3 half.db "DELETE FROM census WHERE slice IN (
  SELECT id FROM slice WHERE start_ns >= (SELECT (min(start_ns) + max(end_ns)) / 2 FROM slice))" ||
	fail "half of a survey"
start xterm-256color 100x30 --store half.db --window 30s
shows '^FEEDS     .* read comes from another '
lacks '^FRESH\|^OLDER'
screen send-keys -t top Left
shows '^WAITING   67 %'
shows '^FRESH '
quit

# Where no flow is confirmed, the first screen stands below, and no line is wider than the terminal
$make watched watched.db 60 || exit 1
start xterm-256color 80x24 --store watched.db
shows '^Nothing '
shows '^FEEDS '
shows '^NEXT '
screen send-keys -t top '?'
shows 'the screen of commctl report$'
screen send-keys -t top x
quit

# Keys: what is not resolved, into a flow and out again, another window, a filter, help
start xterm-256color 100x24 --store one.db
shows '^run 1  past  0 s..60 s of 60 s'
shows 'redis-server > io_thd_1'
lacks ' %?'
screen send-keys -t top a
shows ' %? .* > '
screen send-keys -t top /
screen send-keys -t top -l bio_lazy
shows '^/bio_lazy'
screen send-keys -t top Enter
shows ', with "bio_lazy"'
lacks 'io_thd_1'
shows 'redis-server > bio_lazy_free'
screen send-keys -t top Enter
shows '^functions: [a-z-]* > [a-z_]*, by share'
shows 'sdsnewlen > decrRefCount'
screen send-keys -t top Down Enter
shows '^data objects: .* / .* > .*, by share'
screen send-keys -t top BSpace BSpace
shows '^threads, by share'
screen send-keys -t top s
shows 'by change'
screen send-keys -t top W
shows '30 s..60 s of 60 s'
screen send-keys -t top Left
shows ' 0 s..30 s of 60 s'
shows 'stopped'
screen send-keys -t top G
shows '30 s..60 s of 60 s'
screen send-keys -t top '?'
shows 'a window back'
screen send-keys -t top x
# Cost and losses have a place on the smallest screen, and what is largest; all on a large one
screen resize-window -t top -x 20 -y 5
shows '^0.84 %, [0-9]* kinds'
shows ' %.*[a-z].* > [a-z]'
screen resize-window -t top -x 200 -y 60
shows 'writer > reader'
shows '^cost 0.84 % of its time, losses of [0-9]* kinds, writer seen for '
# Another run begins in the store while it is watched
$make redis one.db 20
shows '^run 2  '
quit

# All the way down and out again, and another beginning
start xterm-256color 80x24 --store turn.db --by-process --all
shows ' redis-server/4242 > redis-server/4242'
for title in roles threads functions 'data objects' 'source lines'; do
	screen send-keys -t top Enter
	shows "^$title: .*, by share"
done
shows '% .* > networking.c:2345 processM[a-z]*\.\.'
screen send-keys -t top Enter BSpace BSpace BSpace
shows '^threads: .*io_thd > redis-server, by share'
shows ' io_thd_1/4246 > redis-server/4242'
screen send-keys -t top Escape
shows '^processes, by share'
screen send-keys -t top b
shows '^roles of threads, by share'
quit
start xterm 90x20 --store turn.db --window 60s
shows '▲  io_thd_1 > redis-server'
quit
start xterm 90x20 --store turn.db --window 30s --from 30s
shows '30 s..60 s of 2 min'
lacks '▲'
quit
for term in vt100 xterm-256color; do
	start $term 60x15 --store hostile.db --all
	shows ' > '
	LC_ALL=C grep -q '[^ -~]' shot && fail "unprintable bytes on a screen of type $term"
	quit
done
# A key that the type of terminal does not have is none, not the Escape that it begins with
start vt100 80x24 --store turn.db
shows '^threads, by share'
screen send-keys -t top Enter
shows '^functions: '
screen send-keys -t top End
screen send-keys -t top s
shows '^functions: .*, by change'
quit
# Where the cursor cannot be moved there is text
screen -f /dev/null new-session -d -s top -x 100 -y 40 "TERM=dumb '$ctl' top --store one.db; echo \$? >code; echo left; sleep 100"
shows '^left' && shows 'redis-server > io_thd_1' && [ "$(cat code)" = 0 ] || fail "on a dumb terminal"
screen kill-session -t top
# A signal gives the terminal back
start xterm 80x20 --store one.db
shows 'writer > reader'
screen send-keys -t top C-c
shows '^left'
screen kill-session -t top

# A run whose first slice is still to come: top waits for it, on a screen and in a pipe
mkfifo go
$make awaited early.db 20 <go &
maker=$!
exec 9>go
until "$ctl" list --store early.db 2>/dev/null | grep -q .; do sleep 0.1; done
start xterm-256color 100x24 --store early.db
shows '^Waiting for the first slice of run 1'
timeout 300 "$ctl" top --store early.db -n 1 -b </dev/null >waited 2>said &
waiter=$!
until grep -q 'commctl: Waiting for the first slice of run 1' said 2>/dev/null || ! kill -0 $waiter; do sleep 0.1; done
echo >&9
shows 'redis-server > io_thd_1'
quit
wait $waiter || fail "exit $? after waiting"
grep -q 'redis-server > io_thd_1' waited || fail "what came is not shown: $(cat waited)"
exec 9>&-
wait $maker
# A store without any run: the screen waits, a script is told
$make empty empty.db 1
start xterm-256color 100x24 --store empty.db
shows '^Waiting for a run: the store holds none yet'
quit
"$ctl" top --store empty.db -b </dev/null >stdout 2>stderr
[ $? = 3 ] || fail "a store without a run in batch mode"

# Text
"$ctl" top --store one.db -b -n 2 -d 100ms >stdout || fail "exit $? in batch mode"
[ "$(grep -c '^run 2' stdout)" = 2 ] || fail "-n 2 does not print twice"
"$ctl" top --store one.db </dev/null >stdout || fail "exit $? without a terminal"
[ "$(grep -c '^run 2' stdout)" = 1 ] || fail "without a terminal it does not print once"
"$ctl" top --store one.db --by-function --run 1 --from 10s --window 20s </dev/null >stdout
grep -q '10 s..30 s of 60 s' stdout || fail "--from and --window: $(head -n 1 stdout)"
# The figures are those of a report on the same time, also on later screens, which reuse what was read
figures() { sed -n 's/^ *\([^ ]* %?*\)  *\([^ ]* %\)  *\([^ ]* [^ ]*\/s\) *[v^]*  *\([^ ]*\) > \([^ ]*\)$/\4 \5 \1 \2 \3/p'; }
for how in '' --first-read --by-role; do
	# shellcheck disable=SC2086
	"$ctl" top --store turn.db -b -n 3 -d 1ms --window 30s --all $how | figures | sort | uniq -c >shown
	# shellcheck disable=SC2086
	"$ctl" report --store turn.db --from -30s --all --top 100 --min-share 0 $how |
		sed -n 's/^\([^ ]*\)  *\([^ ]*\)  *\([^ ]* %?*\)  *\([^ ]* %\)  *\([^ ]* [^ ]*\/s\)$/\1 \2 \3 \4 \5/p' |
		sort | sed 's/^/      3 /' >told
	[ "$(wc -l <told)" -gt 7 ] && cmp -s shown told || { fail "top and report ${how:-by thread} differ:"; diff shown told; }
done
"$ctl" top --store none.db 2>stderr
[ $? = 1 ] || fail "a store that is not there"
"$ctl" top --store one.db --run 9 </dev/null 2>stderr
[ $? = 3 ] || fail "a run that is not there"
for bad in extra '--window 0' '-n 0' '-d x' '--from soon'; do
	# shellcheck disable=SC2086
	"$ctl" top --store one.db $bad </dev/null 2>stderr
	[ $? = 2 ] || fail "bad usage: $bad"
done

[ $failed = 0 ] && echo "top: all passed"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl as users and scripts call it: commands, usage, exit codes, forms, hostile names, diff and export.
# Needs jq, python3 and sqlite3; dot where there.  What reports say is in report.sh.
export LC_ALL=C
. "$(dirname "$0")/../made_stores.bash"
make_stores redis hostile empty threads unfinished unseen survey precise calls

# Usage and exit codes
expect 2 "$ctl"
says stderr Usage
expect 0 "$ctl" --help
says stdout Usage
[ -s stderr ] && fail "help on stderr"
expect 0 "$ctl" help
expect 0 "$ctl" help report
says stdout --by-function
expect 0 "$ctl" report --help
says stdout 'commctl report'
expect 0 "$ctl" --version
says stdout '^commctl .commprof. [0-9]'
expect 2 "$ctl" dance
says stderr "no command 'dance'"
is "$(grep -c 'did you mean' stderr)" 0 "nothing like it is a command"
# What may have been meant
while read -r meant words; do
	# shellcheck disable=SC2086
	expect 2 "$ctl" $words
	says stderr "; did you mean $meant?$"
done <<'SLIPS'
report reprot
sharing shraing
--store report --sotre redis.db
--by-object report --by-objcet
--min-share report --minshare=1
--confidence sharing --confidense 3
function report --by fuction
object top --by role,objects
json report --as jsn
csv sharing --as cvs
pprof export --as prof
read report --totals --sort reed
SLIPS
# An option has the same letter and argument in all commands that have it
is "$(for command in report html top diff sharing advise graph export list label delete salvage doctor; do
	"$ctl" help $command | grep -oE '^ +(-., )? *--[a-z-]+(\[?=[A-Z|]+)?'
done | sed 's/^ *//' | sort -u | grep -oE -- '--[a-z-]+' | sort | uniq -d)" \
	'' "options that differ by command"
for words in 'sharing --csv --json' 'sharing --as csv -j' 'advise --as taskset --json' 'export --as pprof --as matrix'; do
	# shellcheck disable=SC2086
	expect 2 "$ctl" $words
	says stderr 'choose one form'
done
expect 2 "$ctl" report --by foo
says stderr "no grouping 'foo'; choose one of thread function .* path$"
expect 2 "$ctl" report --qqqqqq
says stderr "unrecognized option '--qqqqqq'"
# The value of an option may look like one
expect 1 "$ctl" report -v --store --stoer
says stderr 'cannot use the store --stoer'
expect 2 "$ctl" help dance
for bad in --no-such-option '--min-share x' '--min-share 101' '--from soon' '--run -1' '--run 0' \
	'--top many' '--json --csv' '--json --as csv' '--as x' '--as' extra '--to 0' '--confidence 100' '--by weekday'; do
	# shellcheck disable=SC2086
	expect 2 "$ctl" report $bad
	says stderr commctl
done
expect 3 "$ctl" report
says stderr 'there is no store'
expect 1 "$ctl" report -v --store none.db
says stderr 'no such file'
expect 1 "$ctl" report -v --store /etc/passwd
says stderr 'not a commprof store'
expect 3 "$ctl" report -v --store empty.db
says stderr 'no run'
expect 3 "$ctl" list --store empty.db
expect 3 "$ctl" report -v --store redis.db --run 9
expect 3 "$ctl" report -v --store redis.db --from 2m
expect 3 "$ctl" report -v --store redis.db --thread nobody
expect 3 "$ctl" report -v --store redis.db --by-region
says stderr 'regions'
[ -s stdout ] && fail "output without data"
cp redis.db comm.db
expect 0 "$ctl" report
rm comm.db

# Writing fails
expect 1 sh -c "'$ctl' report --store redis.db >/dev/full"
says stderr 'cannot write'
expect 1 sh -c "'$ctl' help report >/dev/full"
(
	trap '' PIPE
	exec 3> >(true)
	wait $!
	"$ctl" report -v --store threads.db --json >&3 2>stderr
	echo $? >code
)
is "$(cat code)" 1 "exit code on a broken pipe"
[ -s stderr ] && fail "noise on a broken pipe"

# Labels, and deletion
cp redis.db edited.db
$make redis edited.db 20 || exit 1
expect 0 "$ctl" label --store edited.db 1 "before the change"
COLUMNS=120 expect 0 "$ctl" list --store edited.db
says stdout 'before the change: '
expect 0 "$ctl" report -v --store edited.db --run 'before the change' --json
is "$(jq -r '.run | "\(.id) \(.label)"' stdout)" "1 before the change" "the labelled run"
expect 0 "$ctl" report -v --store edited.db --run 'before the change'
says stdout '^run 1  before the change: '
expect 0 "$ctl" diff --store edited.db 'before the change' 2
says stdout '^A  run 1 of edited.db,'
expect 0 "$ctl" diff "edited.db:before the change" edited.db
expect 3 "$ctl" report -v --store edited.db --run after
says stderr "no run labelled 'after'"
expect 2 "$ctl" label --store edited.db 1
expect 1 "$ctl" label --store edited.db 1 7
says stderr 'a label is a text'
expect 3 "$ctl" delete --store edited.db 'before the change' 9
says stderr "no run '9'"
is "$("$ctl" list --store edited.db --json | jq -c '[.runs[].id]')" "[2]" "what is not deleted"
expect 2 "$ctl" delete --store edited.db
expect 1 "$ctl" delete --store none.db 1
[ -e none.db ] && fail "a store was made in order to delete from it"
expect 0 "$ctl" list --store unfinished.db --json
is "$(jq -r '.runs[0].state' stdout)" unfinished "state of a killed run"
expect 0 "$ctl" report -v --store unfinished.db
says stdout unfinished

# Forms: names, help and error messages all come from one table
forms=$("$ctl" report --as '' 2>&1 | sed -n 's/.*choose one of //p')
case " $forms " in
" text json csv "*"dot ") ;;
*) fail "the forms are '$forms'" ;;
esac
"$ctl" report --help >help
for form in $forms; do
	says help "^  $form  *for "
	says help "[0-9] as $form"
done
for form in json csv dot; do
	cmp <("$ctl" report -v --store redis.db --$form) <("$ctl" report --store redis.db --as $form) ||
		fail "--$form is not --as $form"
done
cmp <("$ctl" report -v --store redis.db) <("$ctl" report -v --store redis.db --as text --top 20 --min-share 0.1) ||
	fail "the default form"

# Salvage
expect 2 "$ctl" salvage --store redis.db
expect 1 "$ctl" salvage --store redis.db threads.db
says stderr 'exists'
expect 1 "$ctl" salvage --store redis.db redis.db-journal
says stderr "is a name of redis.db's own"
expect 1 "$ctl" salvage --store none.db saved.db
says stderr 'no such file'
cp redis.db cut.db
truncate -s -8192 cut.db
expect 1 "$ctl" report -v --store cut.db
says stderr 'commctl salvage'
expect 0 "$ctl" salvage --store cut.db saved.db
says stdout '^1 runs with'
expect 0 "$ctl" report -v --store saved.db

# Hostile names: no control byte but the newline, no formula, valid forms
for form in $forms; do
	for by in thread function object line; do
		expect 0 "$ctl" report -v --store hostile.db --as "$form" --by-$by
		tr -d '\n' <stdout | LC_ALL=C grep -q '[[:cntrl:]]' &&
			fail "control bytes: report --as $form --by-$by"
	done
done
# ... and nothing else that a terminal obeys or nobody sees, in any character set
cat >unseen.py <<-'END'
	import sys, unicodedata
	text = open(sys.argv[1], encoding="utf-8").read()
	bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cn", "Zl", "Zp")}
	sys.exit(f"{sorted(map(hex, map(ord, bad)))}" if bad else 0)
END
for form in $forms; do
	for by in thread function object line; do
		LC_ALL=C.UTF-8 "$ctl" report --all --store hostile.db --as "$form" --by-$by >stdout
		python3 unseen.py stdout 2>stderr || fail "unseen characters: report --as $form --by-$by: $(tail -n 1 stderr)"
	done
done
"$ctl" list --store hostile.db --json >stdout
python3 unseen.py stdout 2>stderr || fail "unseen characters: list --json: $(tail -n 1 stderr)"
expect 0 "$ctl" list --store hostile.db
tr -d '\n' <stdout | LC_ALL=C grep -q '[[:cntrl:]]' && fail "control bytes: list"
expect 0 "$ctl" report -v --store hostile.db --csv --by-function
grep -q '"[=@+-]' stdout && fail "a formula in CSV"
says stdout "\"'=cmd"
expect 0 "$ctl" report -v --store hostile.db --json --by-function
jq -e . stdout >/dev/null || fail "hostile JSON"
iconv -f UTF-8 -t UTF-8 stdout >/dev/null || fail "JSON is not UTF-8"
# GraphML: an XML parser reads the same nodes and edges as in the JSON form
for store in redis hostile threads; do
	for by in thread function object line; do
		"$ctl" report -v --store $store.db --as graphml --by-$by >stdout
		"$ctl" report -v --store $store.db --json --by-$by >json
		python3 - stdout json <<-'END' || fail "GraphML of $store --by-$by"
			import json, re, sys
			from xml.dom import minidom

			# U+FFFD replaces characters that XML 1.0 does not allow.
			def legal(text):
			    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)

			document = minidom.parse(sys.argv[1])
			report = json.load(open(sys.argv[2], encoding="utf-8"))
			assert document.documentElement.namespaceURI == "http://graphml.graphdrawing.org/xmlns"
			graph, = document.getElementsByTagName("graph")
			assert graph.getAttribute("edgedefault") == "directed"
			keys = {k.getAttribute("id"): k for k in document.getElementsByTagName("key")}

			def data(element):
			    found = {}
			    for d in element.getElementsByTagName("data"):
			        key = keys[d.getAttribute("key")]
			        assert key.getAttribute("for") == element.tagName
			        text = "".join(c.data for c in d.childNodes)
			        read = {"string": str, "double": float, "long": int,
			                "boolean": lambda t: {"true": True, "false": False}[t]}
			        found[key.getAttribute("attr.name")] = read[key.getAttribute("attr.type")](text)
			    return found

			def text_of(element):
			    return "".join(c.data for c in element.childNodes)

			assert text_of(graph.getElementsByTagName("desc")[0]) == legal(report["run"]["target"])
			nodes = {n.getAttribute("id"): data(n) for n in document.getElementsByTagName("node")}
			assert nodes.keys() == {n["id"] for n in report["nodes"]}
			for n in report["nodes"]:
			    it = nodes[n["id"]]
			    assert set(it) == {"kind", "name", "module", "bytes"}, it
			    assert it["kind"] == n["kind"]
			    assert it["name"] == legal(n["name"]), (it["name"], n["name"])
			    assert it["module"] == legal(n.get("module", "")), it
			    assert abs(it["bytes"] - n["written_bytes"] - n["read_bytes"]) <= 1e-6 * it["bytes"]
			edges = document.getElementsByTagName("edge")
			assert len(edges) == len(report["edges"]) > 0
			for e, want in zip(edges, report["edges"]):
			    assert (e.getAttribute("source"), e.getAttribute("target")) == (want["from"], want["to"])
			    names = ["bytes", "low", "high", "share", "samples", "resolved"]
			    assert data(e) == {name: want[name] for name in names}, data(e)
		END
	done
done
if command -v dot >/dev/null; then
	for by in thread function object line; do
		for store in redis hostile threads; do
			"$ctl" report -v --store $store.db --dot --by-$by | dot -Tsvg >/dev/null ||
				fail "dot does not take $store --by-$by"
		done
	done
else
	echo "note: Graphviz is not installed, DOT was not parsed"
fi
[ "$("$ctl" report -v --store threads.db --dot | grep -c -e '->')" = 60 ] ||
	fail "a graph has the 60 largest edges"
expect 0 "$ctl" report -v --store redis.db --dot --by-object
says stdout 'shape=box'
says stdout 'shape=hexagon'
expect 0 "$ctl" report -v --store redis.db --dot --by-function
says stdout 'shape=oval'

# Text for people: within the width, ASCII in the C locale, no colours
for width in 60 80 100 132 200; do
	for by in thread function object line; do
		for store in redis threads hostile precise; do
			COLUMNS=$width LC_ALL=C.UTF-8 "$ctl" report -v --store $store.db \
				--by-$by >stdout
			longest=$(LC_ALL=C.UTF-8 wc -L <stdout)
			[ "$longest" -le $width ] || [ $width -lt 80 ] ||
				fail "$store --by-$by is $longest wide, the terminal $width"
		done
	done
	COLUMNS=$width "$ctl" list --store redis.db >stdout
	[ "$(wc -L <stdout)" -le $width ] ||
		[ $width -lt 80 ] || fail "list is wider than $width"
done
LC_ALL=C "$ctl" report -v --store redis.db >stdout
LC_ALL=C grep -q '[^ -~]' stdout && fail "more than ASCII in the C locale"
LC_ALL=C.UTF-8 "$ctl" report -v --store redis.db | grep -q '█' || fail "no blocks in UTF-8"
says stdout '^run 1  redis-server'
says stdout 'of the target'
says stdout '^redis-server .* 1 '
says stdout 'writer not seen'
says stdout 'writer seen for [0-9.]* % of the'
says stdout 'besides [0-9.]* [A-Z]iB in loops'
says stdout '[0-9.]* %  ([0-9.]*..[0-9]* %) read over and over in loops that write nothing'
expect 0 env COLUMNS=80 "$ctl" report -v --store threads.db
says stdout 'others'

# diff: a flow that is four times as large, one that is gone, and one that is new
$make changed changed.db 60 && $make redis redis2.db 60 && $make redis redis2.db 40 || exit 1
COLUMNS=120 expect 0 "$ctl" diff redis.db changed.db
says stdout '^more .* io_thd_1 > redis-server'
says stdout '^less .* gone .*redis-server'
says stdout '1 more, 1 less'
says stdout 'would be 5 %'
expect 4 "$ctl" diff redis.db changed.db --exit-code
expect 0 "$ctl" diff redis.db changed.db --of share --json
is "$(jq -c '[.of, .by, ([.edges[] | select(.verdict == "more" and (.low > 1)) | .from.name] | index("io_thd_1")) != null,
	([.edges[] | select(.verdict == "less" and .ratio == 0) | .to.name])]' stdout)" \
	'["share","thread",true,["io_thd_3"]]' "shares that changed"
expect 0 "$ctl" diff changed.db redis.db --json
is "$(jq -c '[.edges[] | select(.verdict == "less") | .from.name]' stdout)" '["io_thd_1"]' "the other way round"
is "$(jq -c '[.edges[] | select(.ratio == null) | [.to.name, .verdict]]' stdout | head -c 20)" '[["io_thd_3","more"]' \
	"what is new has no ratio"
# Runs with other budgets are compared by shares; rates are refused.
cp redis.db budget.db && sqlite3 budget.db "UPDATE run SET overhead_limit = 0.05, uuid = hex(randomblob(16))" || exit 1
expect 0 "$ctl" diff redis.db budget.db --exit-code
says stdout '^A  run 1 of redis.db, .* at '
says stdout '^B  run 1 of budget.db, .* at 5.0 %'
says stdout 'different budgets'
expect 0 "$ctl" diff redis.db budget.db --json
is "$(jq -c '[.of, .alike, .b.overhead_limit]' stdout)" '["share",false,0.05]' "shares of runs that were not made alike"
wide='[.edges[] | select((.low // 0) > 0 and .high != null) | .high / .low] | max'
narrow=$("$ctl" diff redis.db redis.db --of share --json | jq "$wide")
is "$(jq --argjson narrow "$narrow" "$wide > \$narrow" stdout)" true "intervals hold what the estimator may get wrong"
# So are those of a run whose budget was changed, though the largest is the same; and all budgets are told.
cp budget.db changes.db && sqlite3 changes.db "UPDATE run SET overhead_least = 0.005, uuid = hex(randomblob(16))" || exit 1
expect 0 "$ctl" diff budget.db changes.db
says stdout '^B  run 1 of changes.db, .* at 0.50 % to 5.0 %'
says stdout 'different budgets'
says stdout 'overhead 5.0 %, 0.50 % to 5.0 %'
expect 0 "$ctl" report --store changes.db
says stdout '0.50 % to 5.0 %'
expect 0 "$ctl" report --store changes.db --json
is "$(jq -c '.run | [.overhead_limit_pct, .overhead_least_pct]' stdout)" '[5,0.5]' "both are in JSON"
expect 2 "$ctl" diff redis.db budget.db --of rate
says stderr 'under different --overhead'
# Of another program shares, too; of the same one under another number rates.
cp redis.db other.db && sqlite3 other.db "UPDATE run SET command = 'nginx (pid 7)'" || exit 1
expect 0 "$ctl" diff redis.db other.db --json
is "$(jq -r .of stdout)" share "shares of other programs"
cp redis.db again.db && sqlite3 again.db "UPDATE run SET command = replace(command, '4242', '77')" || exit 1
expect 0 "$ctl" diff redis.db again.db --json
is "$(jq -r .of stdout)" rate "rates of one program"
# One store alone: its last two runs, whatever is newest elsewhere.
cp changed.db comm.db || exit 1
expect 0 "$ctl" diff redis2.db
says stdout '^A  run 1 of redis2.db'
says stdout '^B  run 2 of redis2.db'
expect 0 "$ctl" diff redis2.db:1
says stdout '^B  run 2 of redis2.db'
expect 3 "$ctl" diff redis.db
says stderr 'one run alone'
rm comm.db
# the last two runs of one store are of the same load
expect 0 "$ctl" diff --store redis2.db --exit-code
says stdout '0 more, 0 less'
expect 0 "$ctl" diff redis2.db:1 redis2.db:2 --exit-code
expect 0 "$ctl" diff --store redis2.db 1 2 --exit-code --of share --all
says stdout '^same '
expect 0 "$ctl" diff --store redis2.db 1 --by-function
expect 0 "$ctl" diff hostile.db redis.db --all
LC_ALL=C grep -q '[^ -~]' stdout && fail "unprintable bytes in diff"
expect 0 "$ctl" diff unseen.db unseen.db
says stdout 'Neither run confirms'
expect 3 "$ctl" diff --store redis.db
says stderr 'one run alone'
expect 3 "$ctl" diff redis.db:7 changed.db
expect 1 "$ctl" diff redis.db none.db
for bad in 'a b c' '--of size' '--margin 0.5' '--false-alarms 0' '--by weekday'; do
	# shellcheck disable=SC2086
	expect 2 "$ctl" diff $bad
	says stderr commctl
done

# export: read back by pprof's own tool where it is installed, and by a decoder of our own
expect 0 "$ctl" export --store redis.db --as pprof -o redis.pb.gz
expect 0 python3 -B "$root/tests/e2e/profile_proto.py" redis.pb.gz
is "$(jq -c '[.types, (.samples | length > 2), ([.samples[].labels.grade] | unique)]' stdout)" \
	'[["communicated bytes","bursts count"],true,["at least","confirmed"]]' "what a profile holds"
is "$(jq -c '[.samples[] | select(.labels.reader_tid == 4246)][0] | [.stack, .labels.writer, .labels.reader, .mapping[2]]' stdout)" \
	'[["reader: [kernel]","object: [heap]","writer: __memmove_avx_unaligned_erms"],"redis-server","io_thd_1","libc.so.6"]' \
	"an edge as a stack"
exported=$(jq '[.samples[] | select(.labels.grade == "confirmed").values[0]] | add' stdout)
reported=$("$ctl" report -v --store redis.db --by thread,function,object --across --json | jq '[.edges[] | select(.resolved) | .bytes] | add | round')
[ $((exported - reported)) -lt 100 ] && [ $((reported - exported)) -lt 100 ] ||
	fail "exported $exported bytes of $reported"
# What is not confirmed is the least that it surely is
least=$(jq '[.samples[] | select(.labels.grade == "at least").values[0]] | add' stdout)
reported=$("$ctl" report --store redis.db --by thread,function,object --across --json |
	jq '[.edges[] | select((.resolved | not) and .share_low >= 0.01) | .low] | add | round')
[ "$reported" -gt 1000 ] && [ $((least - reported)) -lt 100 ] && [ $((reported - least)) -lt 100 ] || fail "at least $least bytes of $reported"
# Of fresh data a flow may be confirmed whose interval is wide: for what it is at least
cp survey.db wide.db
sqlite3 wide.db "UPDATE edge SET watched_variance = watched_bytes * watched_bytes * 40 WHERE watched_bytes > 0"
expect 0 "$ctl" export --store wide.db --fresh --as pprof -o wide.pb.gz
expect 0 python3 -B "$root/tests/e2e/profile_proto.py" wide.pb.gz
is "$(jq -c '[.samples[].labels | .resolved + " " + .grade] | unique' stdout)" '["yes at least"]' "a wide interval"
expect 3 "$ctl" export --store unseen.db --as pprof -o none.pb.gz
says stderr 'nothing to export'
expect 0 "$ctl" export --store redis.db --as pprof --all -o all.pb.gz
expect 0 python3 -B "$root/tests/e2e/profile_proto.py" all.pb.gz
is "$(jq -c '[.samples[].labels | .resolved + " " + .grade] | unique' stdout)" '["no not confirmed","yes confirmed"]' "tags of all"
expect 0 "$ctl" export --store hostile.db --as pprof --all -o hostile.pb.gz
expect 0 python3 -B "$root/tests/e2e/profile_proto.py" hostile.pb.gz
if command -v go >/dev/null; then
	for file in redis all hostile; do
		expect 0 go tool pprof -top $file.pb.gz
		says stdout 'reader: '
	done
else
	echo "skip pprof: go is not installed, its own tool did not read the profiles"
fi
expect 0 "$ctl" export --store redis.db --as collapsed
says stdout '^thread redis-server;writer __memmove_avx_unaligned_erms;object \[heap\];thread io_thd_1;reader \[kernel\] [0-9]*$'
grep -q '? reader' stdout && fail "collapsed stacks have what is not resolved"
is "$(awk '{ n += $NF } END { printf "%d", n / 1e6 }' stdout)" $((exported / 1000000)) "bytes in collapsed stacks"
expect 0 "$ctl" export --store redis.db --as collapsed --all
says stdout ';? reader'
expect 0 "$ctl" export --store hostile.db --as collapsed --all
is "$(grep -vc '^thread [^;]*;writer [^;]*;object [^;]*;thread [^;]*;[?]* *reader [^;]* [0-9]*$' stdout)" 0 "hostile stacks"
expect 0 "$ctl" export --store calls.db --as collapsed --all
is "$(sed 's/ [0-9]*$//' stdout | sort | head -1)" \
	'thread consumer;writer work;writer get;object queue;thread producer;? reader (callers unknown);? reader look' "a stack with callers"
is "$(awk -F '[; ]' '/writer produce;writer put;.*;reader work;reader get/ { n++ } /writer main;writer put;/ { n += 10 } END { print n }' stdout)" \
	11 "the same function of two callers is two stacks"
expect 0 "$ctl" export --store calls.db --as pprof -o calls.pb.gz
expect 0 python3 -B "$root/tests/e2e/profile_proto.py" calls.pb.gz
is "$(jq -c '[.samples[].stack | select(any(. == "writer: produce"))] | unique' stdout)" \
	'[["reader: get","reader: work","object: queue","writer: put","writer: produce","writer: main"]]' "callers in a profile"
expect 3 "$ctl" export --store unseen.db --as collapsed
says stderr 'none of'
expect 1 "$ctl" export --store redis.db --as pprof -o /dev/full
expect 1 "$ctl" export --store redis.db --as pprof -o /no/such/folder
for bad in '' '--as x' '--as pprof extra' '--as pprof --to 0' '--as pprof --run 0'; do
	# shellcheck disable=SC2086
	expect 2 "$ctl" export $bad
done

# A terminal with colours, without, and NO_COLOR
if command -v script >/dev/null; then
	for case in "TERM=xterm:1" "TERM=dumb:0" "TERM=xterm NO_COLOR=1:0"; do
		# shellcheck disable=SC2086
		env ${case%:*} script -qec "$ctl report --store redis.db" /dev/null >stdout
		n=$(grep -c $'\033' stdout)
		[ $((n > 0)) = "${case#*:}" ] || fail "colours with ${case%:*}"
	done
fi

# For less -R: colours through a pipe when asked for, and each line ends what it began
CLICOLOR_FORCE=1 expect 0 "$ctl" report -v --store redis.db
grep -q $'\033\[33m' stdout || fail "no colours with CLICOLOR_FORCE"
grep $'\033' stdout | grep -qv $'\033\[0m[^\033]*$' && fail "a line leaves its colour on"
CLICOLOR_FORCE=1 NO_COLOR=1 "$ctl" report -v --store redis.db | grep -q $'\033' && fail "NO_COLOR comes first"

# doctor: works with and without a daemon
PATH=/nonexistent expect 1 "$ctl" doctor --store none.db
says stdout bad
expect_doctor=$("$ctl" doctor --store redis.db 2>/dev/null)
case $expect_doctor in
*"good: redis.db, 1 run"*) ;;
*) fail "doctor does not find the store good: $expect_doctor" ;;
esac

passed ctl

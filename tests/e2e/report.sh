#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What commctl report says of stores with known contents: shares, totals and trees, advice, where loads found data.
# Needs jq, python3 and sqlite3.  How commctl is called is in ctl.sh.
export LC_ALL=C
. "$(dirname "$0")/../made_stores.bash"
make_stores redis hostile unseen precise calls

# How soon data changes: what two thirds of the reads wait for is no matter, and a few words say nothing.
$make survey survey.db 1 || exit 1
sqlite3 survey.db 'UPDATE slice SET watches = 10 WHERE id = (SELECT min(id) FROM slice)' || exit 1
expect 0 "$ctl" report --store survey.db
says stdout '^FRESH  *of what is read besides, .* within 10 ms'
says stdout 'within 10 s changes its value$'
says stdout '^FEEDS .*how much of what changes within 1 s'
grep -q 'within a thread' stdout && fail "flows within a thread of which no window was"
# A flow of ten equal windows within a thread, and one of nine
cp survey.db within.db
for n in 10 9; do
	sqlite3 within.db 'DELETE FROM edge WHERE watched_bytes > 0' "INSERT INTO edge (run, slice, src_thread, dst_thread, src_context,
		dst_context, object, bytes, variance, first_bytes, first_variance, bursts, level, watched_bytes, watched_variance)
		SELECT run, slice, dst_thread, dst_thread, src_context, dst_context, object, 0, 0, 0, 0, $n, level, 9e6, 81e12 / $n
		FROM edge LIMIT 1" || exit 1
	expect 0 "$ctl" report --store within.db
	is "$(grep -c ' \[kernel\] in io_thd > processMultibulkBuffer in io_thd$' stdout)" $((n / 10)) "a flow of $n windows"
	is "$(grep -c '^  *of all that, within a thread as well:$' stdout)" $((n / 10)) "the line before it"
done
# Half of what changes crosses: what functions weigh errs apart, which matters where one reads own data and the other others',
# and not where both read both.
$make survey weights.db 60 || exit 1
sqlite3 weights.db 'UPDATE edge SET watched_bytes = 0, watched_variance = 0' 'UPDATE slice SET unanswered_bytes = 0, watches = 16' || exit 1
for apart in 1 0; do
	sqlite3 weights.db 'DELETE FROM edge WHERE watched_bytes > 0' "INSERT INTO edge (run, slice, src_thread, dst_thread, src_context,
		dst_context, object, bytes, variance, first_bytes, first_variance, bursts, level, watched_bytes, watched_variance)
		SELECT run, slice, src, 2, reader.id, reader.id, object, 0, 0, 0, 0, 4, level, 4e6, 4e11
		FROM (SELECT run, slice, max(object) AS object, level FROM edge GROUP BY slice), (SELECT 1 AS src UNION SELECT 2),
		(SELECT id, row_number() OVER (ORDER BY id) AS n FROM (SELECT min(context.id) AS id FROM context
		JOIN site ON site.id = context.site GROUP BY site.function ORDER BY id LIMIT 2)) AS reader
		WHERE NOT $apart OR src = reader.n" || exit 1
	expect 0 "$ctl" report --fresh --by-thread --json --store weights.db
	jq -c '[.account[] | select(.part == "others") | .share, .share_low, .share_high]' stdout >weights.$apart
done
is "$(jq -c '.[0] == 0.5 and .[1] < 0.3 and .[2] > 0.7' weights.1)" true "two functions, each of its own: $(cat weights.1)"
is "$(jq -c '.[0] == 0.5 and .[1] > 0.4 and .[2] < 0.6' weights.0)" true "two functions that do the same: $(cat weights.0)"
cp survey.db few.db
sqlite3 few.db 'UPDATE slice SET watches = 0' 'UPDATE slice SET watches = 9 WHERE id = (SELECT min(id) FROM slice)' || exit 1
expect 0 "$ctl" report --store few.db
says stdout '^FEEDS  *9 windows on fresh data: too few to tell who writes it$'
# What is written again as it was does not change: no bound of what is rewritten
grep -q rewritten stdout && fail "a bound of what is rewritten"
cp survey.db quiet.db
sqlite3 quiet.db 'DELETE FROM census WHERE class NOT IN (0, (SELECT max(class) FROM census))' \
	'UPDATE census SET words = words * 3' || exit 1
expect 0 "$ctl" report --store quiet.db
tr -s ' \n' ' ' <stdout >flat
says flat 'FRESH of what is read besides, under [0-9]* % .* changes its value; what is written again as it was does not'
sqlite3 survey.db 'UPDATE census SET words = words / 4' || exit 1
expect 0 "$ctl" report --store survey.db
says stdout '^FRESH  *too few reads were drawn (5) to say'
says stdout '^WAITING  *67 % .* of all reads are of loops that wait'
# Nor does one read say how many wait, whether it does or not.
cp survey.db one_read.db
for class in '!=' '='; do
	sqlite3 one_read.db 'DELETE FROM census' "ATTACH 'survey.db' AS whole" \
		"INSERT INTO census SELECT * FROM whole.census WHERE class $class 0 LIMIT 1" \
		'UPDATE census SET words = 1' || exit 1
	expect 0 "$ctl" report --store one_read.db
	says stdout '^WAITING  *too few reads were drawn (1) to say how many wait$'
	says stdout '^NEXT  *run for longer'
	says stdout '^  *or run it anew: commd --source exact -- PROGRAM'
done
# Why nobody is named who writes
sqlite3 survey.db "INSERT INTO loss SELECT run, id, 'windows_off_ms', 900 FROM slice LIMIT 1" || exit 1
expect 0 "$ctl" report --store survey.db
says stdout '^FEEDS  *who writes fresh data is not known: threads leave CPUs so often'
expect 0 "$ctl" report -v --store survey.db
says stdout 'Left out on purpose.* 900 milliseconds without windows'

# Fresh data, where it is asked for
$make watched watched.db 60 || exit 1
expect 0 "$ctl" report -v --store watched.db --fresh
says stdout 'Communication by fresh data between threads'
says stdout '420 windows on fresh data, which stand for .*; a write was seen of 25.0 %'
says stdout '75.0 %  .*not written during its window'
is "$(grep -c 'the kernel writes' stdout)" 0 "what the kernel writes counts"
expect 0 "$ctl" report -v --by-role --store watched.db --fresh
says stdout 'Communication by fresh data between roles'
expect 0 "$ctl" report -v --store watched.db --fresh --json
is "$(jq -c '[.range.basis, .range.windows, (.edges | length), .edges[0].share, .edges[0].resolved]' stdout)" \
	'["fresh",420,1,1,true]' "fresh data, in JSON"
expect 0 "$ctl" report -v --store watched.db
says stdout 'None of .* bursts of samples in .* read what'
says stdout 'Communication between threads'
says stdout '420 windows on fresh data: --fresh'
expect 0 "$ctl" report -v --store watched.db --json
is "$(jq -c '[.range.basis, .range.windows, (.edges | length > 0)]' stdout)" '["estimated",420,false]' "the estimator's, in JSON"
# 30 windows that say the same leave 3 in so many unknown
cp watched.db alike.db && sqlite3 alike.db "UPDATE slice SET watches = CASE WHEN start_ns = (SELECT min(start_ns) FROM slice) THEN 30 ELSE 0 END" ||
	exit 1
expect 0 "$ctl" report --store alike.db --fresh --json
is "$(jq -c '[.account[0] | .share, .share_low, .share_high | . * 100 | round]' stdout)" '[25,15,35]' "what windows say alike is no surer than how many they are"
# Of 192 without one, 3 in so many at most, at 95 %
cp watched.db few.db && sqlite3 few.db "UPDATE slice SET bursts = CASE WHEN start_ns = (SELECT min(start_ns) FROM slice) THEN 192 ELSE 0 END" ||
	exit 1
expect 0 "$ctl" report -v --store few.db
says stdout '^None of 192 bursts'
says stdout 'under 1.6 % of bursts do'
expect 0 "$ctl" report --store few.db
says stdout 'under 1.6 % of 192'
$make both both.db 60 || exit 1
expect 0 "$ctl" report -v --store both.db --json
estimated=$(jq '[.range.basis, ([.edges[] | select(.resolved).share] | add > 0.4 and add < 0.95)]' -c stdout)
is "$estimated" '["estimated",true]' "the estimator's rows, though windows state all"
expect 0 "$ctl" report -v --store both.db --fresh --json
is "$(jq -c '[.edges[].resolved]' stdout)" '[true]' "windows state all"
expect 0 "$ctl" report -v --store watched.db --by-time --json
is "$(jq -r .range.basis stdout)" estimated "times are the estimator's"
expect 0 "$ctl" graph --store watched.db --fresh --as json
is "$(jq -r '.. | .basis? // empty' stdout)" fresh "a graph of fresh data"
expect 0 "$ctl" top -b -n 1 --store watched.db --fresh
says stdout 'of fresh data'
says stdout '100 %'
expect 0 "$ctl" top -b -n 1 --store watched.db
grep -q 'of fresh data' stdout && fail "top is the estimator's"
expect 0 "$ctl" html --store watched.db --fresh -o watched.html
says watched.html '"windows":420,"first_read":false,"fresh":true'
expect 0 "$ctl" html --store watched.db -o watched.html
says watched.html '"windows":420,"first_read":false,"fresh":false'
expect 3 "$ctl" report -v --store redis.db --fresh
says stderr 'no window was opened in run 1 from 0.0 s to 60.0 s'
expect 0 "$ctl" report -v --store redis.db --json
is "$(jq -r .range.basis stdout)" estimated "no window was opened"

# JSON is a contract.  What is resolved of data of any age is known to 3 to 1, as a share or by its bytes, which this
# store's common factor (0.3) makes 4.4 to 1.
for by in thread function object line; do
	expect 0 "$ctl" report -v --store redis.db --json --by-$by
	jq -e '
	  (.run | (.id | type) == "number" and (.source | type) == "string"
	    and (.start_ns | type) == "number" and .end_ns - .start_ns == 60000000000
	    and .overhead_pct > 0.8 and .overhead_pct < 0.9)
	  and (.nodes | length > 0 and all(.id and .kind and .name))
	  and ([.nodes[].id] | length == (unique | length))
	  and ([.nodes[].id] as $ids | .edges | length > 0
	    and all(.low <= .bytes and .bytes <= .high and .low >= 0 and .from != .to
	      and (.samples | type) == "number" and (.resolved | type) == "boolean"
	      and (.from | IN($ids[])) and (.to | IN($ids[]))))
	  and ([.edges[] | [if .resolved then 0 else 1 end, -.bytes]] | . == sort)
	  and (.edges | all(.share_low <= .share and .share <= .share_high
	    and ((.resolved | not) or .share_high <= 3 * .share_low or .high <= 4.4 * .low)))
	  and (.range | .edges_unresolved <= .edges_total and .unresolved_bytes <= .total_bytes
	    and .seen_bytes <= .read_bytes and .blocks == 8)
	  and (.account | ([.[].bytes] | add) as $sum | all(.share_low <= .share and .share <= .share_high)
	    and length == 7 and .[0].part == "others" and (.[6] | .part == "polled" and .bytes > 1e9 and .bytes < 1.5e9))
	  and (([.account[].bytes] | add) / .range.read_bytes - 1 | fabs) < 1e-6
	  and .loss.unmapped == 240
	' stdout >/dev/null || fail "report --json --by-$by does not keep to its form"
done
# What nobody was seen to write adds up over all nodes that read, by whatever they are
for by in thread function line object process role time; do
	expect 0 "$ctl" report -v --store redis.db --json --by $by
	jq -e '([.nodes[] | select(.kind != "object") | .unwritten_bytes] | add) / .range.unwritten_bytes - 1 | fabs < 1e-6' \
		stdout >/dev/null || fail "report --json --by $by: unwritten bytes"
	all=$(jq .range.unwritten_bytes stdout)
	expect 0 "$ctl" report -v --store redis.db --totals --json --by $by
	jq -e "([.totals[].unwritten_bytes] | add) / $all - 1 | fabs < 1e-6" stdout >/dev/null ||
		fail "report --totals --json --by $by: unwritten bytes"
done
expect 0 "$ctl" report -v --store redis.db --json
is "$(jq '[.nodes[] | select(.unwritten_bytes > 0 and .name != "(other)")] | length' stdout)" 7 "threads that read what nobody wrote"
expect 0 "$ctl" report -v --store redis.db --totals --csv
says stdout '^id,.*,unwritten_bytes,all_unwritten_bytes,'
expect 0 "$ctl" report -v --store redis.db --totals
says stdout 'not seen$'
# What is written was not counted: no read stands for it
for by in object struct function region; do
	[ $by = struct ] && ! "$ctl" report -v --store redis.db --by struct >/dev/null 2>&1 && continue
	[ $by = region ] && ! "$ctl" report -v --store redis.db --by region >/dev/null 2>&1 && continue
	expect 0 "$ctl" report -v --store redis.db --totals --json --all --min-share 0 --by $by
	jq -e '.totals | length > 0 and all(.wrote_bytes == null and .ratio == null)' stdout >/dev/null ||
		fail "report --totals --by $by: writes that nobody counted"
done
expect 0 "$ctl" report -v --store redis.db --totals --json --by object
jq -e '.totals | all(.written == null and .read.bytes > 0)' stdout >/dev/null || fail "--totals --by object: written"
"$ctl" report -v --store redis.db --json --by-object >object.json
expect 0 "$ctl" report -v --store redis.db --json --by object
cmp -s stdout object.json || fail "--by object is not --by-object"
expect 0 "$ctl" report -v --store redis.db --json
is "$(jq '.edges | length' stdout)" 16 "edges without --top"
is "$(jq '([.edges[].share] | add) * 1000 | round' stdout)" 1000 "sum of the shares"
expect 0 "$ctl" report -v --store redis.db --json --self
is "$(jq '[.edges[] | select(.from == .to)] | length' stdout)" 4 "edges to themselves"
expect 0 "$ctl" report -v --store redis.db --json --top 3
is "$(jq '.edges | length' stdout)" 3 "edges with --top 3"
is "$(jq '.range.edges_total' stdout)" 16 "edges in all with --top 3"
expect 0 "$ctl" report -v --store redis.db --json --thread bio_lazy_free
is "$(jq -r '[.nodes[].name] | sort | join(" ")' stdout)" \
	"bio_lazy_free jemalloc_bg_thd redis-server" "nodes around a thread"
expect 0 "$ctl" report -v --store redis.db --json --thread "bio_lazy_free/$(jq -r \
	'.nodes[] | select(.name == "bio_lazy_free") | .tid' stdout)"
is "$(jq '[.nodes[] | select(.name == "bio_lazy_free")] | length' stdout)" 1 "a thread by name and tid"
"$ctl" report -v --store redis.db --json --by-function >all.json
"$ctl" report -v --store redis.db --json --by-function --across >across.json
jq -en --slurpfile a all.json --slurpfile x across.json '
	def whole: .total_bytes + .self_bytes + .within_bytes + .folded_bytes + .unwritten_bytes;
	($a[0].range.within_bytes == 0) and ($x[0].range.within_bytes > 0)
	and ($x[0].range.total_bytes < $a[0].range.total_bytes)
	and ($x[0].range | (whole / .read_bytes - 1 | fabs) < 1e-6)' >/dev/null || fail "--across"
expect 0 "$ctl" report -v --store redis.db --json --from 10s --to -40s
is "$(jq -c '[.range.from_ns, .range.to_ns]' stdout)" "[10000000000,20000000000]" "range"
"$ctl" report -v --store redis.db --json >all.json
"$ctl" report -v --store redis.db --json --first-read >first.json
jq -en --slurpfile a all.json --slurpfile f first.json \
	'($f[0].range.total_bytes / $a[0].range.total_bytes - 0.4 | fabs) < 1e-6' >/dev/null ||
	fail "--first-read"
expect 0 "$ctl" list --store redis.db --json
is "$(jq -r '.runs[0].state' stdout)" finished "state"
is "$(jq '.runs[0].uuid | test("^[0-9a-f-]{36}$")' stdout)" true "uuid"
is "$(jq -r '.runs[0].uuid' stdout)" "$(jq -r .run.uuid all.json)" "the report's uuid"
# What was left out to stay in the budget is told, and no loss
expect 0 "$ctl" report -v --store redis.db
says stdout 'Left out on purpose, to stay in the budget: 1 stretches of time'
sed -n '/^Lost/,/^ *Left out/p' stdout | grep -q '^ *[0-9,]*  stretches' && fail "what was spared counts as lost"
is "$("$ctl" report -v --store redis.db --json | jq .loss.switches_unreported)" 1 "what was spared, in JSON"

# tids are used again: the time of a thread's start tells it apart
jq -e '[.nodes[] | select(.name != "(other)") | .start_ns | type == "number" and . > 0] | length > 4 and all' >/dev/null \
	< <("$ctl" report -v --store redis.db --json) || fail "start_ns of threads"

# The budget of a target that does little is a share of one CPU, not of its own time
cp redis.db little.db
sqlite3 little.db "UPDATE run SET floor = 4"
expect 0 "$ctl" report -v --store little.db
says stdout 'cost 2.1 % of one CPU, of 400.0 % allowed however little the target does; it'
sqlite3 little.db "UPDATE run SET overhead_limit = 0.0001, floor = 0"
expect 0 "$ctl" report -v --store little.db
says stdout "of the target's CPU time, limit 0.01 %: over the limit, 0.84 % after$"
# What setting up costs is told apart from what is paid as long as the run lasts
cp redis.db started.db
sqlite3 started.db "UPDATE run SET overhead_limit = 0.03, floor = 0;
	UPDATE slice SET handler_ns = target_ns / 2 WHERE start_ns < (SELECT start_ns FROM run) + 4000000000"
expect 0 "$ctl" report -v --store started.db
says stdout 'limit 3.0 %: over the limit as it set up,$'
says stdout '^  0.84 % after the first 5 s'
is "$("$ctl" report -v --store started.db --json | jq '.range.overhead_settled_pct * 10 | floor')" 8 "overhead_settled_pct"
is "$("$ctl" report -v --store started.db --to 4s --json | jq '.range | has("overhead_settled_pct")')" false "nothing settled"
expect 0 "$ctl" html --store started.db -o started.html
grep -q '"settled":[0-9]*e-[0-9],"settling_s":5' started.html || fail "the page does not have what is paid as long as the run lasts"

# In few columns, and by object, names stay whole
for width in 40 60; do
	COLUMNS=$width expect 0 "$ctl" report -v --store redis.db
	says stdout '> jemalloc_bg_thd$'
	COLUMNS=$width expect 0 "$ctl" report -v --store redis.db --by-object
	says stdout '^io_threads_pending  static$'
	[ "$(sed -n '/^object/,/^and/p' stdout | wc -L)" -le $width ] || fail "objects are wider than $width"
done
expect 0 "$ctl" report -v --store redis.db --by-object
says stdout 'redis-server [0-9]*% > .*io_thd_1 [0-9]*%, .*1 more'
# What to do: nothing where nothing helps, and of what the target did
says stdout '^A longer run or a higher --overhead may tell more'
sqlite3 little.db "DELETE FROM edge; UPDATE slice SET target_ns = 1000000"
expect 0 "$ctl" report -v --store little.db
says stdout 'the target was idle. It used 0.10 % of one CPU'
grep -q 'Estimates from samples' stdout && fail "how to read figures that are not there"
# The course of a run is of what crosses threads, whatever else the title counts
expect 0 "$ctl" report --all --store redis.db
says stdout '^Communication between threads: .*/s$'
says stdout 'peak [0-9.]* .iB/s$'
expect 0 "$ctl" report --all --store redis.db --by-function
says stdout 'peak [0-9.]* .iB/s between threads$'
expect 0 "$ctl" report --all --store redis.db --by-function --across
says stdout '^Communication between functions, across threads'
says stdout 'peak [0-9.]* .iB/s$'
expect 0 "$ctl" report --all --store redis.db --thread bio_lazy_free
says stdout 'peak [0-9.]* .iB/s between all threads$'
expect 0 "$ctl" report --all --store redis.db --by-object --across
says stdout '^Communication between threads, by object:'
# What code reads of the same code, most here, is left out, and said to be
cp redis.db itself.db
sqlite3 itself.db "UPDATE OR REPLACE edge SET dst_context = src_context"
expect 0 "$ctl" report --store itself.db --by-function
says stdout ' goes from a function to itself and is left out: --self lists it,'
for option in --self --across --by-thread; do
	expect 0 "$ctl" report --store itself.db --by-function $option
	grep -q 'is left out' stdout && fail "$option: nothing of code is left out"
done
expect 0 "$ctl" report --store redis.db --by-function
grep -q 'is left out' stdout && fail "what is little needs no word"
# Losses are of many units: no sum of them
expect 0 "$ctl" top -b -n 1 --store redis.db
says stdout ', losses of 3 kinds, '
# Where nothing is stated, there is no table of it
cp redis.db bare.db
sqlite3 bare.db "UPDATE edge SET variance = bytes * bytes * 100"
expect 0 "$ctl" report -v --store bare.db --by-function --totals
says stdout '^Nothing is confirmed'
grep -q 'others read of it' stdout && fail "a table without a row"
sqlite3 bare.db "DELETE FROM edge WHERE (src_thread, dst_thread) !=
	(SELECT src_thread, dst_thread FROM edge WHERE src_thread != dst_thread LIMIT 1)"
expect 0 "$ctl" report -v --store bare.db
says stdout '^Nothing is confirmed: the only flow, '
sqlite3 bare.db "DELETE FROM edge"
expect 0 "$ctl" report -v --store bare.db --totals
says stdout '^Nothing is confirmed'
expect 0 "$ctl" report -v --store bare.db --totals --all
says stdout 'not seen$'
sqlite3 bare.db "DELETE FROM unwritten; UPDATE slice SET unwritten_bytes = 0, unwritten_first_bytes = 0"
expect 0 "$ctl" report -v --store bare.db --totals
says stdout '^In none of .* bursts of samples one was seen to read what another one'
# A file that was not read needs time, not a debug package
cp redis.db bare.db
sqlite3 bare.db "UPDATE function SET name = module || '+0x1000' || id, build_id = 'beef' WHERE module != ''"
expect 0 "$ctl" report -v --store bare.db --by-function
says stdout 'find-dbgsym-packages'
sqlite3 bare.db "UPDATE function SET build_id = ''"
expect 0 "$ctl" report -v --store bare.db --by-function
says stdout 'did not come to read that file'
grep -q 'find-dbgsym' stdout && fail "the debug package of a file that was not read"
# A pool of hundreds is told by role, unless threads are asked for
$make many pool.db 20 || exit 1
expect 0 "$ctl" report -v --store pool.db
says stdout '^Communication between roles'
says stdout 'These are roles, for there are [0-9]* threads'
expect 0 "$ctl" report -v --store pool.db --by-thread
says stdout '^Communication between threads'
is "$("$ctl" report -v --store pool.db --json | jq -r '.nodes[0].kind')" thread "what programs get"
# What a run confirms of a pool, and not of its threads, is pointed to
rm -f pool.db*
$make pool pool.db 60 || exit 1
expect 0 "$ctl" report -v --store pool.db
says stdout '^Communication between roles'
says stdout 'These are roles, for nothing is confirmed by thread: --by-thread shows each'
expect 0 "$ctl" report -v --store pool.db --by-thread
says stdout '^Nothing is confirmed'
says stdout 'By roles of threads 100 % of what crosses is confirmed, in 1 flow: --by-role'
expect 0 "$ctl" report -v --store pool.db --all
says stdout '^Communication between threads'
expect 0 "$ctl" report -v --store pool.db --by-role
grep -q 'By roles' stdout && fail "a report by role that points to itself"
$make precise two.db 60 || exit 1
expect 0 "$ctl" report -v --store two.db
grep -q 'By roles' stdout && fail "roles where threads are stated"

# CSV
expect 0 "$ctl" report -v --store redis.db --csv
is "$(wc -l <stdout)" 17 "lines of CSV"
is "$(jq '[.edges[] | select(.resolved)] | length' all.json)" \
	"$(grep -c ',1,[0-9.e-]*,[0-9.e-]*$' stdout)" "resolved edges in CSV and JSON"

# Only what is resolved is stated; --all has the rest, marked, after it
for by in thread function line; do
	resolved=$("$ctl" report -v --store redis.db --json --by-$by | jq '[.edges[] | select(.resolved and .share >= 0.001)] | length')
	expect 0 env COLUMNS=200 "$ctl" report -v --store redis.db --by-$by --top 0
	grep -q ' %?' stdout && fail "--by-$by states what is not resolved"
	says stdout 'not confirmed at this length and budget'
	is "$(grep -c '/s  *[0-9,]* ' stdout)" "$resolved" "rows --by-$by"
	expect 0 env COLUMNS=200 "$ctl" report -v --store redis.db --by-$by --top 0 --all
	says stdout ' %?'
	awk '/ %\?/ {seen = 1; next} / B\/s| .iB\/s/ {if (seen) exit 1}' stdout || fail "a ? row leads --by-$by"
done
expect 0 "$ctl" report -v --store redis.db --by-object
grep -q ' %?' stdout && fail "--by-object states what is not resolved"
says stdout 'io_threads_pending'
# A range too short to be checked against itself: nothing, and what to do
expect 0 "$ctl" report -v --store redis.db --from 10s --to 12s
says stdout 'Nothing is confirmed'
says stdout 'run longer'
expect 0 "$ctl" report -v --store unseen.db
says stdout 'None of .* bursts of samples in .* read what'
says stdout 'writer not seen'
is "$("$ctl" report -v --store unseen.db --json | jq -c '[.range | .read_bytes - .unwritten_bytes, .seen_bytes]')" \
	'[0,0]' "what has no known writer in JSON"

# totals of nodes, and trees of them
expect 0 "$ctl" report -v --store calls.db --totals --by-function
says stdout '^[*] put .* -> get'
says stdout '^[*] get .* -> look  <- put'
expect 0 "$ctl" report -v --store calls.db --totals --by-function --json
is "$(jq -c '[.by, [.totals[] | [.name, .reader.name, .writer.name, .intensive]]]' stdout)" \
	'["function",[["put","get",null,true],["get","look","put",true],["look",null,"put",true]]]' "totals of functions"
written=$(jq '[.totals[] | .written.bytes] | add | round' stdout)
read=$(jq '[.totals[] | .read.bytes] | add | round' stdout)
total=$(jq '.total_bytes | round' stdout)
[ "$written" = "$total" ] && [ "$read" = "$total" ] || fail "of $total bytes $written are written and $read read"
is "$(jq '[.totals[] | .written, .read | select(.bytes > 0) | .low < .bytes and .bytes < .high and .share_low < .share_high] | all' stdout)" \
	true "totals have intervals"
expect 0 "$ctl" report -v --store calls.db --totals --by-function --sort read --csv
is "$(sed -n '2s/^[^,]*,[^,]*,[^,]*,[^,]*,\([^,]*\),.*/\1/p' stdout)" '"get"' "the order of totals"
is "$(awk -F, '{ print NF }' stdout | sort -u | wc -l)" 1 "columns of totals"
expect 0 "$ctl" report -v --store redis.db --totals --by-object
says stdout 'read from it'
expect 0 "$ctl" report -v --store calls.db --call-tree --all
says stdout '  main$'
says stdout '    produce$'
says stdout '     [*]put$'
says stdout '  (callers unknown)$'
expect 0 "$ctl" report -v --store calls.db --call-tree --json
is "$(jq -c 'def tree: [.name, (.calls | map(tree))]; .totals | map(tree)' stdout)" \
	'[["work",[["get",[]]]],["main",[["produce",[["put",[]]]],["put",[]]]],["(callers unknown)",[["look",[]]]]]' "a tree of calls"
is "$(jq '.totals[1] | (.all_written.bytes - .calls[0].all_written.bytes - .calls[1].written.bytes | fabs) < 1' stdout)" \
	true "what is called counts for its caller"
is "$(jq -c '.totals[1].calls[0] | [.written.bytes, .all_written.bytes == .calls[0].written.bytes]' stdout)" \
	'[0,true]' "what it does itself"
expect 0 "$ctl" report -v --store calls.db --call-tree --by-thread --json
is "$(jq -c 'def tree: [.name, (.calls | map(tree))]; .totals | map(tree) | sort' stdout)" \
	'[["consumer",[["work",[["get",[]]]]]],["producer",[["main",[["produce",[["put",[]]]],["put",[]]]],["(callers unknown)",[["look",[]]]]]]]' \
	"a tree of each thread"
expect 0 "$ctl" report -v --store calls.db --call-tree --top 2 --json
is "$(jq -c '[.left_out, (.totals | length), .totals[0].calls[0].name]' stdout)" '[6,1,"get"]' "the largest of a tree"
expect 0 "$ctl" report -v --store calls.db --call-tree --csv
is "$(wc -l <stdout)" 9 "a tree in CSV"
expect 3 "$ctl" report -v --store redis.db --call-tree
says stderr 'commd --callers'
expect 1 "$ctl" report -v --store redis.db --totals --dot
says stderr 'text, json or csv'
expect 2 "$ctl" report -v --store redis.db --totals --sort size
says stderr 'both written read ratio'
for how in --totals '--totals --by-line' '--totals --csv' '--totals --json'; do
	# shellcheck disable=SC2086
	expect 0 "$ctl" report -v --store hostile.db --all $how
	LC_ALL=C grep -q '[^ -~]' stdout && [ "${how%text}" = "$how" ] && [ "${how#*--[cj]}" = "$how" ] && fail "unprintable bytes in $how"
done

# Where loads found their data: of 20 whose origin is known 12 in another core, 2 in another
# socket's memory; only where a PMU told, of those loads, and of no other edge
expect 0 "$ctl" report -v --store precise.db --json --by-function
is "$(jq -c '.nodes as $n | .edges[] | . as $e | ($n[] | select(.id == $e.to).name) as $to |
	[$to, (.origin | .hitm, .remote, .local | .share | values * 1000 | round), .latency_cycles]' stdout | sort -u)" \
	'["get",600,100,300,250]
["look",0,0,1000,null]
["put",null]' "origins in JSON"
jq -e '[.edges[] | select(.origin) | .loads > 1100 and .loads < 1201
	and (.origin | length == 11 and ([.hitm, .remote, .local | .share] | add - 1 | fabs < 1e-9)
	  and ([to_entries[3:][].value.share] | add - 1 | fabs < 1e-9)
	  and (.modified.share == .hitm.share and .remote_memory.share == .remote.share)
	  and all(.share_low >= 0 and .share_low <= .share and .share <= .share_high and .share_high <= 1))] | all' \
	stdout >/dev/null || fail "origins in JSON"
expect 0 "$ctl" report -v --store precise.db --csv --by-function
head -1 stdout | grep -q ',share_high,loads,latency_cycles,hitm,hitm_low,hitm_high,remote,remote_low,remote_high,local,local_low,local_high$' ||
	fail "origins in the head of CSV"
is "$(awk -F, '{ print NF }' stdout | sort -u)" 34 "fields of CSV"
says stdout '"get".*,1200,250,0.6,0.57[0-9]*,0.62[0-9]*,0.1,'
says stdout '"put","q",0,"",0,[^"]*,,,,,,,,,,,$'
for form in csv json text; do
	expect 0 "$ctl" report -v --store redis.db --as $form
	grep -qiE 'hitm|latency_cycles|origin' stdout && fail "$form speaks of origins where there are none"
done
for width in 80 130; do
	expect 0 env COLUMNS=$width "$ctl" report -v --store precise.db
	says stdout ' HITM  *remote  *local'
	says stdout ' 58..62 %  *9..12 %  *28..32 %'
	says stdout '^HITM, remote, local: '
done
expect 0 env COLUMNS=80 "$ctl" report -v --store precise.db --by-function
says stdout ' -  *-  *-> put'
expect 0 "$ctl" report -v --store precise.db --by-function --self --thread writer --top 1 --from 0 --to 4s
expect 0 "$ctl" report -v --store precise.db --by-object
says stdout "main reader's loads: HITM 58..62 %, remote 9..12 %, local 28..32 %"
says stdout '^HITM, remote, local: '
# No columns that no row of the table fills.
sqlite3 precise.db "DELETE FROM origin WHERE source <> 'remote_memory' OR slice > 2"
expect 0 "$ctl" report -v --store precise.db
grep -q HITM stdout && fail "columns for four loads"
expect 0 "$ctl" report -v --store precise.db --csv
says stdout ',4,,0,0,[0-9.]*,1,'

passed report

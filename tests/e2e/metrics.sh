#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl export --as openmetrics: what parsers of others read of it is what commctl report says.
. "$(dirname "$0")/../tap.bash"
/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || skip_all "python3-prometheus-client is not installed"
for kind in redis survey hostile unseen; do
  "$O/tests/e2e/make_store" $kind "$dir/$kind.db" 60 || exit 1
done

# parsed NAME OPTION...: $dir/NAME.json is what a parser reads of its metrics.
parsed() {
  local name=$1
  shift
  "$commctl" export --as openmetrics --store "$dir/$name.db" "$@" >"$dir/text" &&
    /usr/bin/python3 tests/e2e/openmetrics.py <"$dir/text" >"$dir/$name.json"
}
report() { "$commctl" report --json --by-role --across --store "$dir/$1.db" >"$dir/report.json"; }
# holds NAME FILTER: of the metrics, as $m, and of the report.
holds() { report "$1" && jq -e --slurpfile m "$dir/$1.json" "\$m[0] as \$m | def value(\$n): \$m[] | select(.name == \"commprof_\" + \$n).value;
  def near(\$a; \$b): (\$a - \$b) * (\$a - \$b) <= 1e-16 * \$b * \$b + 1e-24; $2" "$dir/report.json"; }

for kind in redis survey hostile unseen; do
  check "$kind: two parsers read the same, each series once" parsed $kind
done
check "its cost" holds redis 'near(value("overhead_ratio"); .range.overhead_pct / 100) and near(value("overhead_limit_ratio"); 0.01) and
  value("samples") == .range.samples and value("run_running") == 0 and near(value("range_seconds"); (.range.to_ns - .range.from_ns) / 1e9)'
check "what was lost" holds redis '.loss == ([$m[] | select(.name == "commprof_lost") | {(.cause): .value}] | add) and (.loss | length) >= 3'
check "its flows" holds redis '(.nodes | map({(.id): .name}) | add) as $name |
  [.edges[] | select(.resolved) | {writer: $name[.from], reader: $name[.to], low: (.low / 60)}] as $edges |
  ($edges | length) >= 2 and ([$m[] | select(.name == "commprof_flow_bytes_per_second" and .bound == "low")] | length) == ($edges | length) and
  all($edges[]; . as $e | any($m[]; .name == "commprof_flow_bytes_per_second" and .bound == "low" and .writer == $e.writer and .reader == $e.reader and
    near(.value; $e.low)))'
check "what waits, and how fresh the rest is" holds survey '.census[0] as $all |
  def bound($n; $b; $within): [$m[] | select(.name == $n and .role == "" and .bound == $b and .within == $within).value][0];
  near(bound("commprof_waiting_ratio"; "low"; null); $all.waiting_low) and near(bound("commprof_waiting_ratio"; "high"; null); $all.waiting_high) and
  near(bound("commprof_fresh_ratio"; "low"; "1"); $all.fresh[1].share_low) and near(bound("commprof_fresh_ratio"; "high"; "0.01"); $all.fresh[0].share_high) and
  ([$m[] | select(.name == "commprof_waiting_ratio" and .bound == "low")] | length) == (.census | length)'
check "a target has no number that is another tomorrow" holds redis '[$m[].target] | unique == ["redis-server *:6379"]'
"$commctl" label --store "$dir/redis.db" 1 web >/dev/null && parsed redis
check "a label is its name" holds redis '[$m[].target] | unique == ["web"]'
check "of a run that confirms nothing, too" holds unseen '([.edges[] | select(.resolved)] | length) == 0 and value("samples") > 0'
parsed redis --from -10s
check "of the last seconds" holds redis 'value("range_seconds") == 10'
"$commctl" export --as openmetrics --store "$dir/none.db" >"$dir/out" 2>"$dir/err"
check "of no store" [ "$? $(wc -l <"$dir/err") $(wc -c <"$dir/out")" = "1 1 0" ]
echo "1..$n"
exit $status

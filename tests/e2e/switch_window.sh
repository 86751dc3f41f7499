#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Windows on words that are looked at when threads leave their CPUs, on children with known behaviour; and what commd says of
# the code that wrote, which looks do not tell.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root: it loads BPF programs"
"$O/tests/e2e/switch_window_live" >"$dir/lines"
code=$?
case $code in
0 | 1) ;;
77) skip_all "$(sed -n 's/^# //p' "$dir/lines" | head -1)" ;;
*) not_ok "exit status $code" "$(cat "$dir/lines")" ;;
esac
while read -r line; do
  case $line in
  ok\ *SKIP*) skip "$(sed 's/^ok [0-9]* - //; s/ # SKIP.*//' <<<"$line")" "${line##*SKIP }" ;;
  ok\ *) ok "${line#ok * - }" ;;
  not\ ok\ *) not_ok "${line#not ok * - }" "$(grep '^#' "$dir/lines")" ;;
  esac
done <"$dir/lines"

# Two threads, one of which writes in put() what the other reads: that is what samples saw it write the data in.
# Registers are not asked for, where they trap, too.
if "$commd" --doctor 2>&1 | grep -q 'windows on fresh data: work'; then
  "$O/tests/truth/truth-kernels" pipeline --threads 2 --seconds 300 --out "$dir/truth.csv" >/dev/null 2>&1 &
  target=$!
  pids+=("$target")
  "$commd" -v --debug-registers 0 --overhead 10 --slice 500ms --store "$dir/s.db" --pid $target >"$dir/log" 2>&1 &
  pids+=($!)
  fresh() { "$commctl" report --fresh --by-function --csv --min-share 0 --top 0 --store "$dir/s.db" 2>"$dir/why"; }
  # FROM,TO,BYTES of rows whose writer is known by thread.
  writers() { fresh | python3 -c 'import csv, sys; [print(r["from_name"], r["to_name"], r["bytes"], sep=",") for r in csv.DictReader(sys.stdin)]'; }
  guessed() { [ "$(writers | grep -c 'seen writing it')" -gt 0 ]; }
  commd_until 120 guessed
  kill $target
  for _ in {1..600}; do grep -q 'windows by' "$dir/log" && break; sleep 0.1; done
  check "no register is set" sh -c 'grep -q "windows by looks" "$1" && ! grep -q "windows by debug" "$1"' - "$dir/log"
  writers >"$dir/rows"
  check "code that samples saw write the data is named, as a guess" grep '^put (seen writing it),check,' "$dir/rows"
  check "and no other code" sh -c '[ -s "$1" ] && ! grep -vE "^(put \(seen writing it\)|\[code not known\])," "$1"' - "$dir/rows"
else
  skip "code that samples saw write the data is named, as a guess" "there are no windows here"
fi
echo "1..$n"
exit $status

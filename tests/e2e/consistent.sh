#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What report, top, html, diff, sharing and advise say of the same thing on one store is the same, in the
# same order and words, and their JSON is as docs/formats says.  Stores: a recording, and made ones.
. "$(dirname "$0")/../tap.bash"
python=
for one in python3 /usr/bin/python3; do
  "$one" -c 'import jsonschema' 2>/dev/null && python=$one && break
done
[ -n "$python" ] || skip_all "no Python has jsonschema"
make=$O/tests/e2e/make_store
"$commd" -q --source replay:tests/golden/migratory.rec --slice 500ms --store "$dir/golden.db" || not_ok "the recording is replayed"
for kind in redis exact survey sharing threads many calls unseen unfinished changed hostile watched; do
  "$make" $kind "$dir/$kind.db" 60 || not_ok "made store: $kind"
done
# The same under another budget, and under thrice the load.
cp "$dir/survey.db" "$dir/twice.db" && sqlite3 "$dir/twice.db" "UPDATE run SET overhead_limit = 0.05, uuid = hex(randomblob(16))"
cp "$dir/redis.db" "$dir/busier.db" && sqlite3 "$dir/busier.db" "UPDATE run SET uuid = hex(randomblob(16));
  UPDATE edge SET bytes = 3 * bytes; UPDATE slice SET target_ns = 3 * target_ns"
# One thread alone: nobody reads what another wrote.
cp "$dir/redis.db" "$dir/lone.db" && sqlite3 "$dir/lone.db" "DELETE FROM edge"
"$make" empty "$dir/empty.db" 1
for cpu in 0 1 2 3 4 5 6 7; do echo "$cpu,$((cpu / 4)),$((cpu / 4))"; done >"$dir/topology"
PYTHONDONTWRITEBYTECODE=1 "$python" tests/e2e/consistent.py "$commctl" docs/formats "$dir" || status=1
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl graph, and the exports of phases and matrices, of stores with known contents.
# Usage: graph.sh [OUTPUT-DIRECTORY]   Needs python3; dot, networkx and protoc where there.
set -u
export LC_ALL=C TZ=UTC
out=$(realpath "${1:-${O:-.output}}")
root=$(realpath "$(dirname "$0")/../..")
make=$out/tests/e2e/make_store
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
make -s -C "$root" O="$out" "$out/commctl" "$make" >/dev/null || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for kind in redis turn hostile markup empty threads many exact unseen regions uncounted marked; do
  "$make" $kind "$dir/$kind.db" 60 || exit 1
done
"$make" redis "$dir/short.db" 3 || exit 1
# Debian's own python3 has Debian's networkx.
python=python3
python3 -c 'import networkx' 2>/dev/null || python=/usr/bin/python3
$python "$root/tests/e2e/graph_test.py" "$out/commctl" "$dir"

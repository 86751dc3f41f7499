#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl html: pages of stores with known contents, read as files and looked at by Chromium.
# Usage: html.sh [OUTPUT-DIRECTORY]   Needs python3; chromium for what a browser must show.
set -u
export LC_ALL=C TZ=UTC
out=$(realpath "${1:-${O:-.output}}")
root=$(realpath "$(dirname "$0")/../..")
make=$out/tests/e2e/make_store
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
make -s -C "$root" O="$out" "$out/commctl" "$make" >/dev/null || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for kind in redis hostile markup empty threads many exact unseen precise sharing turn calls marked survey changed; do
  "$make" $kind "$dir/$kind.db" 60 || exit 1
done
"$make" redis "$dir/short.db" 3 || exit 1
"$out/commctl" label --store "$dir/markup.db" 1 'before <b>& "after"' || exit 1
python3 "$root/tests/e2e/html_test.py" "$out/commctl" "$dir"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# clang-tidy with the rules of .clang-tidy.  Of a function it looks at as many states as take a fifth of the time that
# its own bound would (max-nodes, 225,000).
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
command -v clang-tidy >/dev/null || { echo "clang-tidy is missing"; exit 1; }
O=${O:-.output}
inc="$(for room in daemon ctl ship tests; do make -s --no-print-directory O="$O" print-inc ROOM=$room; done)"
# shellcheck disable=SC2016 # expanded by the inner shell
git ls-files 'libcomm/*.c' 'cli/*.c' 'ctl/*.c' 'daemon/*.c' 'ship/*.c' | xargs -P "$(nproc)" -n 8 sh -c '
  inc=$0; clang-tidy --quiet "$@" -- -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $inc \
    -Xclang -analyzer-config -Xclang max-nodes=40000 2>/dev/null' "$inc" >"$O/tidy.log" || true
[ -f "$O/bpf/capture.skel.h" ] || { echo "not ok 1 - clang-tidy: build first"; exit 1; }
# Warnings in the BPF skeleton are libbpf's.
if grep -E '(warning|error):' "$O/tidy.log" | grep -v 'skel\.h'; then
  echo "not ok 1 - clang-tidy"
  exit 1
fi
echo "ok 1 - clang-tidy"

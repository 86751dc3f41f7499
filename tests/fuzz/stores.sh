#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stores.sh MAKE_STORE FOLDER: fills the folder with the corpus of fuzz_store, of today's schema,
# whichever that is.  Lengths are those of what is unwritten, and only the exact one has their counter.  Pages are small, for a fuzzer copies and writes all of them for each input; one
# store says that it has a log.  Behind each store stands what report is asked of it (struct asked of fuzz_store.c).
set -eu
export LC_ALL=C
make_store=$1 to=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$to"
# by, and_by, flags, filters; groupings by their number in libcomm/report/grouping.h
asks="00000000 00000121 00002087 00001000 01000018 01000061 01000140 02000000 03000020 04000001 05000000 06000003 07003002
  08002002 09000004 0a000008 0b000000 0c000001 0d000000 0e000020 0f000000 10000000 11000020 01030021 00010880 00000800 01000080
  00000010 01000050 00000020 00200000 00400000 01400021 00800000 0c000001 0d000021 00002000 01002000 03002000 08002000 09002000"
for kind in redis hollow empty unseen watched unfinished regions calls precise exact; do
  "$make_store" "${kind/hollow/exact}" "$scratch/$kind" 2
  journal=DELETE
  [ "$kind" = unfinished ] && journal=WAL
  named=
  # Nothing is packed in these, which SQLite tells as NULL.
  [ "$kind" = hollow ] && named="UPDATE unwritten SET ends = x''; UPDATE length SET ends = x''; INSERT INTO written SELECT run, id, 0, x'' FROM slice;"
  [ "$kind" = exact ] && named="INSERT INTO counter VALUES (9, 'instructions');"
  sqlite3 "$scratch/$kind" "INSERT INTO length SELECT run, slice, 9, 0, ends FROM unwritten; $named PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM;
    PRAGMA journal_mode = $journal" >/dev/null
  for ask in $asks; do
    { cat "$scratch/$kind"; printf '%b' "\\x${ask:0:2}\\x${ask:2:2}\\x${ask:4:2}\\x${ask:6:2}"; } >"$to/$kind-$ask"
  done
done
head -c 1024 /dev/zero >"$to/zeros"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stores.sh MAKE_STORE FOLDER: fills the folder with the corpus of fuzz_store, of today's schema,
# whichever that is.  Pages are small, for a fuzzer copies and writes all of them for each input; one
# store says that it has a log.
set -eu
export LC_ALL=C
make_store=$1 to=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$to"
for kind in redis unseen watched unfinished regions calls precise exact; do
  "$make_store" "$kind" "$scratch/$kind" 2
  journal=DELETE
  [ "$kind" = unfinished ] && journal=WAL
  sqlite3 "$scratch/$kind" "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM;
    PRAGMA journal_mode = $journal" >/dev/null
  mv "$scratch/$kind" "$to/"
done
head -c 1024 /dev/zero >"$to/zeros"

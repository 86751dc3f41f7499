#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints which share of the lines of each parser its fuzzer's corpus reaches, with what
# FUZZ_KEEP has besides (make fuzz-long).
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=${O:-.output}
cov=$O/cov
version=$(clang -dumpversion) version=${version%%.*}
make -s FUZZ_COVERAGE=1 O="$cov" "$cov/tests/e2e/make_store" fuzz >"$O/cov.log" 2>&1 || { tail "$O/cov.log"; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tests/fuzz/stores.sh "$cov/tests/e2e/make_store" "$scratch/stores"
printf '%-10s %-40s %s\n' fuzzer file 'lines reached'
while read -r name files; do
  corpus=tests/fuzz/corpus/$name
  [ "$name" = store ] && corpus=$scratch/stores
  kept=${FUZZ_KEEP:-$O/fuzz-corpus}/$name
  [ -d "$kept" ] || kept=
  also=
  [ "$name" = replay ] && also=tests/fuzz/corpus/record
  # One input after the other; one that libdw dies of takes only itself away.
  find "$corpus" ${also:+"$also"} ${kept:+"$kept"} -type f | while read -r input; do
    LLVM_PROFILE_FILE=$scratch/$name.%m.profraw "$cov/tests/fuzz/fuzz_$name" "$input" >/dev/null 2>&1 || :
  done
  llvm-profdata-"$version" merge -o "$scratch/$name.profdata" "$scratch/$name".*.profraw
  for file in $files; do
    # shellcheck disable=SC2086 # files are several
    llvm-cov-"$version" report "$cov/tests/fuzz/fuzz_$name" -instr-profile="$scratch/$name.profdata" "libcomm/$file" |
      awk -v n="$name" -v f="$file" '$1 ~ /\.c$/ { printf "%-10s %-40s %s of %d\n", n, f, $10, $8 }'
  done
done <<'EOF'
block_class heap/block_class.c heap/cxx_class.c heap/python_class.c
demangle read/demangle.c
dwline read/dwline.c
elf read/elfread.c read/elfsym.c read/ehframe.c
exact exact/results.c exact/exact_slice.c
heap_blocks heap/heap_blocks.c heap/glibc_chunks.c heap/jemalloc_extents.c heap/pymalloc_pools.c
insn decode/insn_zydis.c decode/emu.c decode/burst.c process/space.c
jitmap read/jitread.c read/jitmap.c
maps process/maps.c
marks process/marks.c
perfdata perfdata/perfdata.c perfdata/header.c perfdata/events.c perfdata/sample.c perfdata/mapping.c perfdata/processes.c perfdata/order.c
python_code heap/python_code.c
python_threads heap/python_threads.c heap/python_objects.c
record stream/replay.c stream/record_event.c stream/record_answers.c
replay engine.c
sampled_blocks heap/sampled_blocks.c
title model/title.c
types read/type_build.c read/type_flow.c read/type_table.c
store report/reader.c report/report.c report/query.c report/aggregate.c report/aggregate_edges.c store/guard.c
EOF

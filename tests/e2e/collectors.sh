#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs with marks of others' conventions, as they are: commd names its collectors' library in
# their environment, and their regions stand in the report.  By itself the library is tested
# in tests/unit/test_collect.c.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"
unset OMP_TOOL_LIBRARIES INTEL_LIBITTNOTIFY64 NVTX_INJECTION64_PATH

library=$O/collect/libcomm-collect.so
cat >"$dir/environment" <<'END'
#!/bin/sh
echo "${OMP_TOOL_LIBRARIES-} ${INTEL_LIBITTNOTIFY64-} ${NVTX_INJECTION64_PATH-}" >"$1"
END
chmod 755 "$dir/environment"
names() { # WHAT EXPECTED OPTION...
  local what=$1 expected=$2
  shift 2
  "$commd" -q --store "$dir/env.db" "$@" -- "$dir/environment" "$dir/out" >"$dir/log" 2>&1
  [ "$(cat "$dir/out")" = "$expected" ] && ok "$what" || not_ok "$what" "$(cat "$dir/out" "$dir/log")"
  : >"$dir/out"
}
names "a command's environment names the library" "$library $library $library"
names "--no-collectors: it does not" "  " --no-collectors
names "for a source that reads marks later, too" "$library $library $library" --source perf
INTEL_LIBITTNOTIFY64=/own.so OMP_TOOL_LIBRARIES='' names "what is named there stays" " /own.so $library"

# profile NAME COMMAND...: into $dir/NAME.db; no watchpoints, whose traps tell no region.
profile() {
  local db=$dir/$1.db
  shift
  "$commd" -q --source bpf --rate 1000 --slice 500ms --watch 0 --store "$db" -- "$@" >"$dir/log" 2>&1
}

# The edges between regions, as [{from, to, bytes}], in $dir/edges, and all names in $dir/names.  The
# library is loaded after the start, and seen some time later.
edges() { # NAME BY
  "$commctl" report --store "$dir/$1.db" --json --by "$2" --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
    jq '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {from: $name[.from], to: $name[.to], bytes} |
        select(([.from, .to] - ["(other)", "(no region)"] | length) == 2)]' "$dir/r" >"$dir/edges" &&
    jq -c '.nodes | map(.name) | unique' "$dir/r" >"$dir/names"
}

line() { grep -n "/\* line: $1 \*/" tests/e2e/omp.c | cut -d: -f1; }
openmp() { # NAME OPTION...: tests/e2e/omp.c as $dir/NAME
  local name=$1
  shift
  clang -O1 -g -fopenmp -Iinclude "$@" tests/e2e/omp.c -o "$dir/$name" >"$dir/log" 2>&1 || {
    not_ok "builds: $name" "$(cat "$dir/log")"
    return 1
  }
}
# Until the lines have been read, a region has its function alone.  What put() wrote is most of what
# the others read; the rest is of the OpenMP library, which waits inside of the regions.
flows='map(.from |= sub(":[0-9]+$"; "")) | map(.to |= sub(":[0-9]+$"; "")) |
  def amount(f): map(select(f).bytes) | add // 0;
  amount(.to == "get") as $get | amount(.from == "put" and .to == "get") as $put_get |
  amount(.to == "omp.c" or (.to | startswith(".omp"))) as $task |
  amount(.from == "put" and (.to == "omp.c" or (.to | startswith(".omp")))) as $put_task |
  ($get > 0 and $task > 0 and $put_get > 0.5 * $get and $put_task > 0.5 * $task) or error("\(.)")'
if ! echo 'int main(void) { return 0; }' | clang -fopenmp -x c - -o "$dir/try" 2>/dev/null; then
  skip "OpenMP" "clang or LLVM's libomp is not installed (libomp-dev)"
elif openmp plain && openmp marked -DMARKED; then
  export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
  profile plain "$dir/plain" 2000
  edges plain region && jq -e "$flows" "$dir/edges" >/dev/null 2>"$dir/out" &&
    ok "OpenMP: parallel regions and tasks" || not_ok "OpenMP: parallel regions and tasks" "$(cat "$dir/log" "$dir/err" "$dir/out")"
  wanted="\"put:$(line put)\", \"get:$(line get)\", \"tasks:$(line tasks)\", \"omp.c:$(line task)\""
  jq -e "[$wanted] - . == []" "$dir/names" >/dev/null && ok "with function and line" ||
    not_ok "with function and line" "$(cat "$dir/names")"
  profile marked "$dir/marked" 2000
  edges marked region && jq -e "$flows" "$dir/edges" >/dev/null 2>"$dir/out" &&
    ok "OpenMP in a program with marks" || not_ok "OpenMP in a program with marks" "$(cat "$dir/log" "$dir/err" "$dir/out")"
  edges marked outermost &&
    jq -e '(map(select(.from == "program" and .to == "program").bytes) | add) as $inside | (map(.bytes) | add) as $all |
      $inside > 0.1 * $all or error("\(.)")' "$dir/edges" >/dev/null 2>"$dir/out" &&
    ok "inside of these, on the thread that has them" || not_ok "inside of these, on the thread that has them" "$(cat "$dir/err" "$dir/out")"
fi

if ! g++ -O1 -g tests/e2e/flow.cc -o "$dir/flow" -ltbb >"$dir/log" 2>&1; then
  skip "ITT of oneTBB" "oneTBB is not installed (libtbb-dev)"
else
  profile flow "$dir/flow" 2000
  edges flow region && jq -e '(map(.bytes) | add) as $all |
    (map(select(.from == "body" and .to == "body").bytes) | add) as $inside |
    $inside > 0.5 * $all or error("\(.)")' "$dir/edges" >/dev/null 2>"$dir/out" &&
    ok "ITT of oneTBB" || not_ok "ITT of oneTBB" "$(cat "$dir/log" "$dir/err" "$dir/out" "$dir/names")"
fi
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Regions marked from Fortran, Rust, its tracing spans, and Python (bindings/) stand in the report.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

# profile LANGUAGE COMMAND...: what is written in "write" is read in "read", and no region has another name.  The command is told
# for how many ms to run: a busy machine may see nothing of a short run.
profile() {
  local language=$1 ms
  shift
  for ms in 2500 10000 40000; do
    rm -f "$dir/$language.db"*
    "$commd" -q --source bpf --rate 1000 --watch 0 --store "$dir/$language.db" -- "$@" $ms >"$dir/log" 2>&1 &&
      "$commctl" report --store "$dir/$language.db" --json --by region --self --min-share 0 --top 0 >"$dir/r" 2>>"$dir/log" ||
      break
    jq -e '(.nodes | map({(.id): .name}) | add) as $name | [.edges[] | select($name[.to] == "read" and $name[.from] != "(other)")] != []' \
      "$dir/r" >>"$dir/log" && break
  done
  jq -e '(.nodes | map({(.id): .name}) | add) as $name |
    [.edges[] | {from: $name[.from], to: $name[.to], bytes} | select(.to == "read" and .from != "(other)")] as $all |
    ([$all[].bytes] | add) as $bytes | ([$all[] | select(.from == "write").bytes] | add) as $right |
    (.nodes | map(.name) - ["write", "read", "(no region)", "(other)"]) as $strange |
    ($bytes != null and $right > 0.5 * $bytes and $strange == []) or error("\($all) \($strange)")' "$dir/r" >"$dir/out" 2>&1 &&
    ok "$language" || not_ok "$language" "$(cat "$dir/log" "$dir/out")"
}

gcc -O2 -Wall -Wextra -Werror -Iinclude -c bindings/comm_mark.c -o "$dir/comm_mark.o" >"$dir/log" 2>&1 ||
  { not_ok "builds" "$(cat "$dir/log")"; exit 1; }
if ! command -v gfortran >/dev/null; then
  skip Fortran "gfortran is not installed"
elif gfortran -O1 -Wall -Wextra -Werror -J "$dir" bindings/comm_mark.f90 tests/e2e/marked.f90 "$dir/comm_mark.o" -o "$dir/fortran" >"$dir/log" 2>&1; then
  profile Fortran "$dir/fortran"
else
  not_ok Fortran "$(cat "$dir/log")"
fi
if ! command -v rustc >/dev/null; then
  skip Rust "rustc is not installed"
elif rustc --edition 2021 -O -D warnings tests/e2e/marked.rs -C link-arg="$dir/comm_mark.o" -o "$dir/rust" >"$dir/log" 2>&1; then
  profile Rust "$dir/rust"
else
  not_ok Rust "$(cat "$dir/log")"
fi
# Debian's crates alone, so that nothing is fetched.
mkdir -p "$dir/traced/.cargo"
cat >"$dir/traced/.cargo/config.toml" <<'EOF'
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
EOF
cat >"$dir/traced/Cargo.toml" <<EOF
[package]
name = "traced"
version = "0.0.0"
edition = "2021"
[[bin]]
name = "traced"
path = "$PWD/tests/e2e/traced.rs"
[dependencies]
tracing = { version = "0.1", default-features = false, features = ["std"] }
tracing-subscriber = { version = "0.3", default-features = false, features = ["registry"] }
EOF
if ! command -v cargo >/dev/null; then
  skip "Rust, tracing" "cargo is not installed"
elif ! ls -d /usr/share/cargo/registry/tracing-subscriber-[0-9]* >/dev/null 2>&1; then
  skip "Rust, tracing" "its crates are not installed (librust-tracing-dev, librust-tracing-subscriber-dev)"
elif (cd "$dir/traced" && CARGO_HOME=$dir/cargo CARGO_TARGET_DIR=$dir/target cargo rustc -q --release --offline -- \
  -D warnings -C link-arg="$dir/comm_mark.o") >"$dir/log" 2>&1; then
  profile "Rust, tracing" "$dir/target/release/traced"
else
  not_ok "Rust, tracing" "$(cat "$dir/log")"
fi
# shellcheck disable=SC2046 # options
if ! command -v python3-config >/dev/null; then
  skip Python "Python's headers are not installed (python3-dev)"
elif gcc -O2 -Wall -Wextra -Werror -shared -fPIC $(python3-config --includes) -Iinclude bindings/comm_mark_python.c -o "$dir/comm_mark.so" >"$dir/log" 2>&1; then
  PYTHONPATH=$dir profile Python python3 -B tests/e2e/marked.py
else
  not_ok Python "$(cat "$dir/log")"
fi
exit $status

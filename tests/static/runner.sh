#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/run.sh runs each program once, in whichever stream, and one that fails is not lost.
. "$(dirname "$0")/../tap.bash"

for name in a b c d e f g h; do
  printf '#!/bin/sh\necho "ok 1 - %s"\necho %s >>"%s/ran"\n' $name $name "$dir" >"$dir/$name"
done
printf '#!/bin/sh\necho "not ok 1 - bad"\n' >"$dir/bad"
chmod +x "$dir"/?*
run() { # PROGRAM...
  : >"$dir/ran"
  tests/run.sh "$dir/logs" "$@" >"$dir/out" 2>&1
}

cd "$dir" && mkdir tests && cp "$OLDPWD/tests/run.sh" tests
for streams in './a ./b ./c ./d ./e ./f ./g ./h' './a ./b ./c ./d ./e -- ./f ./g ./h' './a ./b ./c -- ./d ./e -- ./f ./g ./h' \
  './a -- ./b ./c ./d -- -- ./e ./f ./g ./h'; do
  # shellcheck disable=SC2086 # programs and marks between them
  run $streams && [ "$(sort ran | tr -d '\n')" = abcdefgh ] && [ "$(grep -oE '^\[[0-9]+/8\]' out | sort -u | wc -l)" = 8 ] &&
    grep -qx '8 passed, 0 failed, 0 skipped' out
  result $? "each once: $streams"
done
for streams in './a ./bad -- ./b' './a -- ./b ./bad -- ./c' './a -- ./b -- ./bad ./c'; do
  # shellcheck disable=SC2086
  ! run $streams && grep -q '^failed: ./bad' out
  result $? "a failure is told: $streams"
done
exit $status

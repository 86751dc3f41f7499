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

# Both VMs, of which one fails as FAILS and SECOND say: its parts, and whether the second time is better.
mkdir vm && cp "$OLDPWD/tests/vm/check-vms.sh" "$OLDPWD/tests/vm/expected" vm
cat >vm/run.sh <<'EOF'
#!/bin/sh
echo "$1: ${PARTS:-all}" >>ran
echo "KTAP version 1"
echo "1..1"
if [ "$1" = 6.12 ] && [ "${PARTS:-all} $SECOND" != "$PARTS good" ]; then
  for part in $FAILS; do echo "not ok 1 $part"; done
  exit 1
fi
echo "ok 1 abi"
EOF
printf '#!/bin/sh\n' >vm/fetch.sh
chmod +x vm/*
vms() { # FAILS, SECOND
  rm -f ran logs/*
  FAILS=$1 SECOND=$2 O=vm AGAIN_S=0 tests/run.sh logs ./vm/check-vms.sh >out 2>&1
}
vms 'windows truth promises' good && grep -qx '6.12: commd windows ' ran && grep -q '# unsteady: vm, 6.12: not ok 1 windows' out
result $? "parts of a VM that fail are run once more, and named"
! vms 'windows' bad && [ "$(wc -l <ran)" = 3 ]
result $? "parts that fail twice have failed"
! vms 'windows end' good && [ "$(wc -l <ran)" = 2 ]
result $? "a VM that did not end well is not forgiven by its parts"
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No loss goes uncounted: each cause of enum comm_loss is raised by some code, and
# some test names it.
export LC_ALL=C
set -u
cd "$(dirname "$0")/../.."
n=0 failed=0
check() { # RESULT NAME
  n=$((n + 1))
  [ "$1" = 0 ] && echo "ok $n - $2" && return
  echo "not ok $n - $2"
  failed=1
}

causes=$(sed -n '/^enum comm_loss {/,/^}/s/^\t\(COMM_LOSS_[A-Z0-9_]*\).*/\1/p' libcomm/model/event.h | grep -v '_MAX$')
[ "$(wc -w <<<"$causes")" -ge 18 ]
check $? "the causes are found: $(wc -w <<<"$causes")"
for cause in $causes; do
  # Matches a call that counts or reports a loss, a growing sum, or an event of that cause.
  git grep -qE "(lose|lose_more|tell_loss)\\([^;]*\\b$cause\\b|loss\\[$cause\\] *\\+|cause = $cause\\b|&[a-z_>.-]*loss\\[$cause\\]" \
    -- 'libcomm/*.c' 'daemon/*.c'
  check $? "$cause is raised"
  git grep -qw "$cause" -- 'tests/unit/*.c' 'tests/e2e/*.c'
  check $? "$cause is named by a test"
done
exit $failed

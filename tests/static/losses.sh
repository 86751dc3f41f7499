#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No loss goes uncounted: each cause of enum comm_loss is raised by some code, and
# some test names it.
. "$(dirname "$0")/../tap.bash"

causes=$(sed -n '/^enum comm_loss {/,/^}/s/^\t\(COMM_LOSS_[A-Z0-9_]*\).*/\1/p' libcomm/model/event.h | grep -v '_MAX$')
[ "$(wc -w <<<"$causes")" -ge 18 ]
result $? "the causes are found: $(wc -w <<<"$causes")"
for cause in $causes; do
  # Matches a call that counts or reports a loss, a growing sum, or an event of that cause.
  git grep -qE "(lose|lose_more|comm_live_events_lost)\\([^;]*\\b$cause\\b|lo(ss|st)\\[$cause\\] *(\\+|= )|cause = $cause\\b|&[a-z_>.-]*loss\\[$cause\\]" \
    -- 'libcomm/*.c' 'daemon/*.c'
  result $? "$cause is raised"
  git grep -qw "$cause" -- 'tests/unit/*.c' 'tests/e2e/*.c'
  result $? "$cause is named by a test"
done
exit $status

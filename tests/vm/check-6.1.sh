#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module's tests in a virtual machine with Debian's 6.1, for tests/run.sh.
set -eu
here=$(dirname "$0")
log=$(mktemp)
if ! "$here/fetch.sh" 6.1 >/dev/null 2>"$log"; then
  cat "$log"
  rm -f "$log"
  echo "ok 1 # SKIP the kernel 6.1 cannot be had from this machine's package sources"
  exit 0
fi
rm -f "$log"
exec "$here/run.sh" 6.1 "${O:-.output}"

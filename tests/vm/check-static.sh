#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module's decoder and its static checks, for tests/run.sh.
set -eu
O=${O:-.output}
"$O/tests/vm/test_decode"
exec "$(dirname "$0")/static.sh" "$O"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The live sources against targets with known behaviour.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root: it loads BPF programs and becomes nobody"
"$O/tests/e2e/source_live"

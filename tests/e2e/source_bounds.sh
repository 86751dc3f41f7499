#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the live sources lose, leave out and spend beside targets with known behaviour.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-.output}")
if [ "$(id -u)" != 0 ]; then
  echo "needs root: it loads BPF programs and becomes nobody"
  exit 77
fi
exec "$O/tests/e2e/source_bounds_live"

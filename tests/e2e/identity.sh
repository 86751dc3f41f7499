#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Threads, CPUs, times and registers that the BPF source reports, against the truth.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-.output}")
if [ "$(id -u)" != 0 ]; then
  echo "needs root: it loads BPF programs"
  exit 77
fi
exec "$O/tests/e2e/identity_live"

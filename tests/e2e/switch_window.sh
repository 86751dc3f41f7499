#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Windows on words that are looked at when threads leave their CPUs, on children with known behaviour.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-.output}")
if [ "$(id -u)" != 0 ]; then
  echo "needs root: it loads BPF programs"
  exit 77
fi
exec "$O/tests/e2e/switch_window_live"

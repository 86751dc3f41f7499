#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# .clang-format decides; the module follows the kernel's own checkpatch.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
command -v clang-format >/dev/null || { echo "clang-format is missing"; exit 1; }
bad=$(git ls-files '*.c' '*.h' ':!kmod' ':!tests/vm' | xargs clang-format --dry-run 2>&1 | grep -c 'warning:' || true)
[ "$bad" = 0 ] && { echo "ok 1 - clang-format"; exit 0; }
git ls-files '*.c' '*.h' ':!kmod' ':!tests/vm' | xargs clang-format --dry-run 2>&1 | grep 'warning:' | head -20
echo "not ok 1 - clang-format: $bad places differ"
exit 1

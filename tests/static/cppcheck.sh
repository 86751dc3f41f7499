#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
cd "$(dirname "$0")/../.."
command -v cppcheck >/dev/null || { echo "cppcheck is missing"; exit 1; }
cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 \
  --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=readdirCalled --suppress=getpwuidCalled --library=gnu --library=posix \
  -D_GNU_SOURCE -Iinclude -Ibpf -Ikmod/uapi $rooms libcomm daemon ctl || { echo "not ok 1 - cppcheck"; exit 1; }
echo "ok 1 - cppcheck"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
command -v cppcheck >/dev/null || { echo "cppcheck is missing"; exit 1; }
rooms=$(make -s --no-print-directory print-rooms | tr ' ' '\n' | sed '/^engine$/d; s#^#-Ilibcomm/#')
# shellcheck disable=SC2086 # one word a room
cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 \
  --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=readdirCalled --suppress=getpwuidCalled --library=gnu --library=posix \
  -D_GNU_SOURCE -Ilibcomm $rooms -Iinclude -Ibpf -Icli -Ikmod/uapi libcomm cli daemon ctl ship || { echo "not ok 1 - cppcheck"; exit 1; }
echo "ok 1 - cppcheck"

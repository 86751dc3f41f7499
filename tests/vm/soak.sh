#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Everything at once in a VM for a while (t_storm.c, and CPUs that go and come),
# then the same judge as for the other tests.
#
#	soak.sh MINUTES|SECONDSs [debug|kcsan|6.1|6.12]
#
# Without a kernel: the debug kernel where it has been built already, else 6.12.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
length=${1:-}
unit_s=60
case $length in *s) length=${length%s} unit_s=1 ;; esac
case $length in
'' | *[!0-9]*) echo "usage: soak.sh MINUTES|SECONDSs [debug|kcsan|6.1|6.12]" >&2; exit 2 ;;
esac
kernel=${2:-}
if [ -z "$kernel" ]; then
	kernel=6.12
	! "$here/debug-kernel.sh" built > /dev/null 2>&1 || kernel=debug
fi
mkdir -p "${O:-.output}/soak"
BUILT=${O:-.output} PARTS=soak SOAK_S=$((length * unit_s)) exec "$here/run.sh" "$kernel" "${O:-.output}/soak"

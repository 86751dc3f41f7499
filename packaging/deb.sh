#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds Debian packages of a folder of sources, beside it: packaging/deb.sh FOLDER [OPTION of dpkg-buildpackage]...
set -eu
export LC_ALL=C
[ $# != 0 ] || { echo "usage: $0 FOLDER [OPTION]..." >&2; exit 2; }
cd "$1"
shift
unset MAKEFLAGS MAKELEVEL MFLAGS # of a make that calls this
version=$(sed -n 's/^#define COMM_VERSION "\(.*\)"$/\1/p' include/comm/version.h)
rm -rf debian
cp -r packaging/debian debian
# Files of make dist have the time of the commit.
date=$(date -u -R -d "@${SOURCE_DATE_EPOCH:-$(stat -L -c %Y include/comm/version.h)}")
sed "s/@VERSION@/$version/; s/@DATE@/$date/" debian/changelog.in >debian/changelog
rm debian/changelog.in
exec dpkg-buildpackage -us -uc "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# All places that name the version must agree with include/comm/version.h.
. "$(dirname "$0")/../tap.bash"
version=$(sed -n 's/^#define COMM_VERSION "\(.*\)"$/\1/p' include/comm/version.h)
says() { # NAME WHAT-IT-SAYS
  [ -n "$version" ] && [ "$2" = "$version" ]
  result $? "$1 says '$2', include/comm/version.h '$version'"
}
says kmod/dkms.conf "$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' kmod/dkms.conf)"
says kmod/main.c "$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' kmod/main.c)"
for document in kmod/README.md docs/operate/lockdown.md; do
  says $document "$(sed -n 's#.*dkms install commprof/\([0-9.]*\).*#\1#p' $document)"
done
named=$(git grep -lwF "$version" -- '*.md' man packaging ':!CHANGELOG.md' ':!kmod/README.md' ':!docs/operate/lockdown.md')
[ -z "$named" ]
result $? "no other document, and no package, names it: $(xargs <<<"$named")"
for program in commd commctl; do
  says "$program --version" "$("$O/$program" --version | sed -n "s/^$program (commprof) //p")"
done
exit $status

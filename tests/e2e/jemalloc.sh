#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks of jemallocs that Debian has no library of, built once from sources in its archive, into the cache that test
# kernels are in: 5.1, and 5.2 as redis builds it for itself, with more small sizes.
. "$(dirname "$0")/../tap.bash"
cache=${COMMPROF_CACHE:-${XDG_CACHE_HOME:-/var/cache}/commprof}
mkdir -p "$cache" 2>"$dir/log" || skip_all "$(cat "$dir/log")"

# Sources of a program are no part of what apt knows of without being told.
source_of() { # PACKAGE
  local archive
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian' | head -n 1)
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${archive:-http://deb.debian.org/debian} bookworm main" >list
  mkdir -p lists/partial
  set -- -q -o "Dir::Etc::sourcelist=$PWD/list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$PWD/lists" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= "$1"
  apt-get "${@:1:$#-1}" update && apt-get "${@:1:$#-1}" source --download-only "${!#}"
}

fetch() { # VERSION: its source is in src
  case $1 in
  5.1)
    apt-get download -q librust-jemalloc-sys-dev && dpkg -x librust-jemalloc-sys-dev*.deb root || return
    mv root/usr/share/cargo/registry/jemalloc-sys-*/jemalloc src
    cp root/usr/share/cargo/registry/jemalloc-sys-*/configure/* src
    ;;
  5.2)
    source_of redis && mkdir src || return
    tar -xf redis_*.orig.tar.* -C src --strip-components=3 --wildcards '*/deps/jemalloc'
    ;;
  esac
}

# Prints the library's path, or why there is none.  For addresses of 48 bits, as Debian builds it, on a
# processor that has 57, too.
library() { # VERSION OPTION...
  local version=$1 at=$cache/jemalloc-$1-48.so
  shift
  [ -e "$at" ] || (
    mkdir "$dir/$version" && cd "$dir/$version" || exit
    fetch "$version" || { echo "cannot be fetched from Debian's archive"; exit 1; }
    cd src && sh configure --with-jemalloc-prefix= --with-lg-vaddr=48 "$@" EXTRA_CFLAGS="-O1 -g0" && nice make -j2 build_lib_shared &&
      cp lib/libjemalloc.so.2 "$at.$$" && mv "$at.$$" "$at"
  ) >"$dir/log" 2>&1 || { tail -n 1 "$dir/log"; return 1; }
  echo "$at"
}

for version in 5.1 5.2; do
  name="blocks of jemalloc $version"
  options=()
  [ $version = 5.1 ] || options=(--with-lg-quantum=3)
  if ! at=$(library $version "${options[@]}"); then
    skip "$name" "$at"
  elif ! grep -aqE "$version\.[0-9]+-[0-9]+-g" "$at"; then
    not_ok "$name" "$at is another version"
  else
    check "$name" "$O/tests/unit/test_jemalloc" "$at"
  fi
done
exit $status

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the missing ones of the Debian packages that a make target needs:
# packaging/deps.sh build|demo|check|bench|deb|rpm
set -eu
export LC_ALL=C

build="gcc make pkg-config clang llvm bpftool libc6-dev libbpf-dev libzydis-dev libdw-dev libelf-dev
       libsqlite3-dev libpfm4-dev libcap-dev libseccomp-dev zlib1g-dev libzstd-dev liblzma-dev libncurses-dev libiberty-dev libmetis-dev
       libmicrohttpd-dev libpq-dev libcurl4-openssl-dev"
demo="redis-server redis-tools"
deb="dpkg-dev debhelper dh-dkms chrpath valgrind"
rpm="rpm chrpath valgrind"
check="$demo $deb lintian $rpm procps python3 g++ libcmocka-dev libclang-rt-14-dev clang-format clang-tidy cppcheck sqlite3 xz-utils
       pigz jq curl util-linux gdb valgrind git binutils file bc flex bison libssl-dev
       chromium qemu-system-x86 busybox-static cpio kmod dkms pahole sparse coccinelle perl linux-perf lz4 zstd
       gawk mawk mandoc groff tmux zsh fish graphviz python3-networkx python3-jsonschema python3-prometheus-client
       python3-pandas python3-pip python3-setuptools python3-wheel mypy
       postgresql postgresql-client openssl golang-go libjemalloc2 libomp-dev libtbb-dev systemtap-sdt-dev gfortran python3-dev
       libfuse3-dev fuse3"
bench="$demo procps python3 chromium pigz time valgrind xz-utils sqlite3"

case "${1:-build}" in
build) want=$build ;;
demo) want="$build $demo" ;;
check) want="$build $check" ;;
bench) want="$build $bench" ;;
deb) want="$build $deb" ;;
rpm) want="$build $rpm" ;;
*) echo "usage: $0 build|demo|check|bench|deb|rpm" >&2; exit 2 ;;
esac

missing=
for package in $want; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# The kernels to test the module with are looked up by name.
if [ "${1:-}" = check ] && [ "$(id -u)" = 0 ] && ! apt-cache show linux-image-amd64 >/dev/null 2>&1; then
  apt-get update -qq
fi
[ -z "$missing" ] && exit 0
command -v apt-get >/dev/null || { echo "needed, and not installed:$missing" >&2; exit 1; }
if [ "$(id -u)" != 0 ]; then
  echo "needed, and not installed:$missing" >&2
  echo "install them as root: apt-get install$missing" >&2
  exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# A package's service (redis-server) must not start because a test needs the package.
policy=/usr/sbin/policy-rc.d
made=
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  made=1
fi
trap '[ -z "$made" ] || rm -f "$policy"' EXIT
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 || {
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What make install, make dist and the packages bring, and that it goes again. The Debian packages are made of what is
# built: nothing is compiled here.
. "$(dirname "$0")/../tap.bash"
PATH=$PATH:/usr/sbin:/sbin
version=$(sed -n 's/^#define COMM_VERSION "\(.*\)"$/\1/p' include/comm/version.h)
revision=$version-0commprof1 # packaging/debian/changelog.in
same() { diff <(printf '%s\n' "$1") <(printf '%s\n' "$2"); }
none() { [ -z "$1" ] || { echo "$1"; false; }; }

# Files of others stay, in whichever folder; then nothing is left of ours, folders included.
to() { make -s --no-print-directory O="$O" PREFIX=/usr DESTDIR="$dir/here" "$1"; }
check "make install" to install
mapfile -t folders < <(find "$dir/here" -type d)
touch "${folders[@]/%//another}"
check "make uninstall" to uninstall
check "uninstall leaves the files of others" same "$(printf '%s/another\n' "${folders[@]}" | sort)" \
  "$(find "$dir/here" ! -type d | sort)"
find "$dir/here" -name another -delete
check "make install-strip" to install-strip
check "what is stripped runs" "$dir/here/usr/bin/commctl" --version
check "and is stripped" none "$(for file in bin/commd bin/commctl lib/libcommprof.so.0 lib/commprof/commctl-ship lib/commprof/libcomm-alloc.so lib/commprof/libcomm-collect.so; do
  readelf -SW "$dir/here/usr/$file" | grep -o '\.debug_info' | sed "s#^#$file #"
done)"
to uninstall >"$dir/out" 2>&1
check "uninstall leaves no file, and no folder of ours" none "$(find "$dir/here" ! -type d -o -name '*comm*')"

# The sources that are committed
make -s --no-print-directory O="$dir/one" dist
sleep 1 # another time
make -s --no-print-directory O="$dir/two" dist
tar=dist/commprof-$version.tar.gz
check "make dist has what is committed" same "$(git ls-tree -r --name-only HEAD | sed "s#^#commprof-$version/#" | sort)" \
  "$(tar -tf "$dir/one/$tar" | grep -v '/$' | sort)"
check "and is the same again" cmp "$dir/one/$tar" "$dir/two/$tar"

if command -v rpmspec >"$dir/out"; then
  check "packages of the RPM spec" same "$(printf "%s $version\n" commprof{,-devel,-exact,-libs,-ship} python3-commprof)" \
    "$(rpmspec -q --qf '%{name} %{version}\n' packaging/commprof.spec | sort)"
else
  skip "packages of the RPM spec" "rpmspec is not installed"
fi

missing=$(for program in dpkg-buildpackage dh dh_dkms lintian chrpath; do command -v $program >"$dir/out" || echo $program; done)
! readelf -d "$O/libcommprof.so.0" | grep -qE 'lib(asan|ubsan)' || missing="a build without sanitizers"
[ -z "$missing" ] || { skip "Debian packages" "$(xargs <<<"$missing") is missing"; echo "1..$n"; exit $status; }

# The tree as it stands, with a folder debian
tree=$dir/deb/commprof
mkdir -p "$tree"
ln -s "$PWD"/* "$tree"
if O=$O packaging/deb.sh "$tree" -b -nc >"$dir/log" 2>&1; then ok "packages are built"; else
  not_ok "packages are built" "$(tail -n 20 "$dir/log")"
fi
check "of what is built, without compiling" none "$(grep -E '^  (CC|BPF|LD|AR) ' "$dir/log")"
cd "$dir/deb" || exit 1
deb() { # PACKAGE [ARCHITECTURE]
  case $1 in python3-*) set -- "$1" all ;; esac
  echo "$dir/deb/$1_${revision}_${2:-amd64}.deb"
}
check "these packages" same "$(printf '%s\n' commprof{,-dbgsym,-exact,-ship,-ship-dbgsym}"_${revision}_amd64.deb" \
  {commprof-dkms,python3-commprof}"_${revision}_all.deb" libcommprof{-dev,0,0-dbgsym}"_${revision}_amd64.deb" | sort)" "$(printf '%s\n' *.deb | sort)"
# Of the sources, too
mkdir "$dir/source"
cp "$dir/one/$tar" "$dir/source/commprof_$version.orig.tar.gz"
tar -xf "$dir/one/$tar" -C "$dir/source"
check "a source package is made" "$OLDPWD/packaging/deb.sh" "$dir/source/commprof-$version" -S -nc -d
check "lintian finds no error and no warning" lintian --fail-on error,warning ./*.changes "$dir"/source/*.changes

lib=usr/lib/x86_64-linux-gnu doc=usr/share/doc
has() { # PACKAGE ARCHITECTURE FILE...
  local name=$1 file
  file=$(deb "$1" "$2")
  shift 2
  check "what is in $name" same "$(printf './%s\n' "$@" $doc/"$name"/{changelog.Debian.gz,copyright} | sort)" \
    "$(dpkg-deb --fsys-tarfile "$file" | tar -t | grep -v '/$' | sort)"
}
has commprof amd64 usr/bin/{commctl,commd} usr/lib/commprof/libcomm-{alloc,collect}.so lib/systemd/system/commd@.service \
  usr/lib/{sysusers,tmpfiles}.d/commprof.conf usr/share/bash-completion/completions/{commctl,commd} \
  usr/share/fish/vendor_completions.d/{commctl,commd}.fish usr/share/zsh/vendor-completions/_commprof \
  usr/share/man/man1/{commctl,commd}.1.gz $doc/commprof/changelog.gz
has commprof-exact amd64 usr/lib/commprof/{commexact-amd64-linux,vgpreload_co{mmexact,re}-amd64-linux.so,default.supp} \
  usr/include/comm/exact.h $lib/libcomm-exact.a usr/share/lintian/overrides/commprof-exact $doc/commprof-exact/changelog.gz
has commprof-ship amd64 usr/lib/commprof/commctl-ship lib/systemd/system/commprof-ship@.service $doc/commprof-ship/changelog.gz
has libcommprof0 amd64 $lib/libcommprof.so.0 $doc/libcommprof0/changelog.gz
# shellcheck disable=SC2046 # names without blanks
has libcommprof-dev amd64 usr/include/comm/{accesses,comm,mark,version}.h $lib/libcommprof.{a,so} $lib/pkgconfig/commprof.pc \
  $(cd "$OLDPWD" && printf 'usr/share/commprof/%s\n' bindings/*) usr/share/man/man3/commprof.3.gz $doc/libcommprof-dev/changelog.gz
has python3-commprof all usr/lib/python3/dist-packages/commprof/{__init__.py,_abi.py,_data.py,_library.py,py.typed} $doc/python3-commprof/changelog.gz
# shellcheck disable=SC2046 # names without blanks
has commprof-dkms all $(cd "$OLDPWD/kmod" && printf "usr/src/commprof-$version/%s\n" ./*.[ch] Kbuild dkms.conf probe/* uapi/* | sed 's#/\./#/#') \
  $doc/commprof-dkms/changelog.gz
cd "$OLDPWD" || exit 1

dpkg-deb -x "$(deb libcommprof-dev)" "$dir/dev"
check "the library's folder is the system's" same "/$lib" \
  "$(PKG_CONFIG_PATH=$dir/dev/$lib/pkgconfig pkg-config --variable=libdir commprof)"
check "its symbols have a version" grep -q '^ comm_reader_open@COMMPROF_0 0\.1$' \
  <(dpkg-deb --ctrl-tarfile "$(deb libcommprof0)" | tar -xO ./symbols)

# Into a root of its own, where the maintainers' scripts run on the root's files. The module's would build it for this machine.
if [ "$(id -u)" != 0 ]; then
  skip "installed, upgraded and purged" "needs root"
  echo "1..$n"
  exit $status
fi
root=$dir/root
mkdir -p "$root"/etc/systemd/system/multi-user.target.wants "$root"/var/lib/dpkg/{info,updates}
touch "$root/var/lib/dpkg/status"
in_root() { dpkg --root="$root" --force-script-chrootless --force-depends --log="$dir/dpkg.log" "$@"; }
left() { find "$root" -mindepth 1 ! -path "$root/var/lib/dpkg*" -printf '%P\n' | grep -vxE 'etc(/(passwd|group|shadow|gshadow)-?|/\.pwd\.lock)?' | sort; }
before=$(left)
packages=(commprof commprof-exact commprof-ship libcommprof0 libcommprof-dev python3-commprof)
check "they are installed" in_root -i $(for package in "${packages[@]}"; do deb "$package"; done)
check "with a user of its own" grep -q ^commprof: "$root/etc/passwd"
check "and a folder for stores that others cannot read" same "750 commprof" "$(stat -c %a "$root/var/lib/commprof") $(
  awk -F: -v id="$(stat -c %u "$root/var/lib/commprof")" '$3 == id { print $1 }' "$root/etc/passwd")"
check "no unit is enabled" none "$(find "$root/etc/systemd" -name 'comm*' 2>/dev/null)"
check "commctl looks for libraries where the system does" none "$(readelf -d "$root/usr/bin/commctl" | grep -E 'R(UN)?PATH')"
run() { LD_LIBRARY_PATH=$root/$lib "$root/usr/bin/$1" "${@:2}"; }
for program in commd commctl; do
  check "$program runs" same "$program (commprof) $version" "$(run $program --version)"
done
check "commd writes a store" run commd -q --source replay:tests/golden/migratory.rec --store "$root/var/lib/commprof/a.db"
mkdir "$root/var/lib/commprof/sent"
check "commctl ships it" run commctl ship --store "$root/var/lib/commprof/a.db" --to "file:$root/var/lib/commprof/sent"
check "commctl needs no client of a database or of HTTP" none "$(ldd "$root/usr/bin/commctl" | grep -E 'libpq|libcurl')"
check "commctl reads it" run commctl report --store "$root/var/lib/commprof/a.db"
python() {
  env -u PYTHONDONTWRITEBYTECODE LD_LIBRARY_PATH="$root/$lib" PYTHONPATH="$root/usr/lib/python3/dist-packages" python3 "$@"
}
check "Python reads it" python -B -c 'import sys, commprof
assert commprof.Store(sys.argv[1]).runs() and commprof.__version__ == sys.argv[2] and commprof.__file__.startswith(sys.argv[3])' \
  "$root/var/lib/commprof/a.db" "$version" "$root/"
if command -v valgrind >"$dir/out"; then
  check "an exact run has its tool" run commd -q --source exact --store "$dir/exact.db" -- ls "$dir"
else
  skip "an exact run has its tool" "valgrind is not installed"
fi

# What Debian's testers run on installed packages, here on those in the root
mkdir "$dir/tester"
for test in $(sed -n 's/^Tests: //p' packaging/debian/tests/control); do
  rm -rf "$dir"/tester/*
  env PATH="$root/usr/bin:$PATH" LD_LIBRARY_PATH="$root/$lib" PYTHONPATH="$root/usr/lib/python3/dist-packages" PYTHONDONTWRITEBYTECODE=1 \
    PKG_CONFIG_PATH="$root/$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root" AUTOPKGTEST_TMP="$dir/tester" \
    timeout 300 "packaging/debian/tests/$test" >"$dir/out" 2>&1
  case $? in
  0) ok "autopkgtest: $test" ;;
  77) skip "autopkgtest: $test" "$(tail -n 1 "$dir/out")" ;;
  *) not_ok "autopkgtest: $test" "$(cat "$dir/out")" ;;
  esac
done

for package in "${packages[@]}"; do
  dpkg-deb -R "$(deb "$package")" "$dir/again" && sed -i "s/$revision/$version-0commprof2/" "$dir/again/DEBIAN/control" &&
    dpkg-deb -b "$dir/again" "$dir/$package.deb" >"$dir/out" && rm -r "$dir/again"
done
mkdir -p "$root/etc/commprof"
touch "$root/etc/commprof/a.conf"
touch "$root/etc/commprof/ship.conf" "$root/etc/commprof/headers"
mkdir "$root/var/lib/commprof-ship"
touch "$root/var/lib/commprof-ship/mark"
ln -s /lib/systemd/system/commprof-ship@.service "$root/etc/systemd/system/multi-user.target.wants/commprof-ship@a.service"
ln -s /lib/systemd/system/commd@.service "$root/etc/systemd/system/multi-user.target.wants/commd@a.service"
installed=$(left)
check "they are upgraded" in_root -i "$dir"/*.deb
check "which takes and brings no file, and keeps the store" same "$installed" "$(left)"
check "Python compiles what root imports" python -c 'import commprof'
check "they are removed" in_root -r "${packages[@]}"
check "the store and the configuration are still there" same "$(grep -E '^(etc|var)' <<<"$installed")" "$(left | grep -E '^(etc|var)')"
check "they are purged" in_root -P "${packages[@]}"
check "nothing is left but the user" same "$before" "$(left)"

echo "1..$n"
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Python package says of made stores what commctl --json says; what it gives outlives the store, and what cannot be is
# an exception with a sentence. It is made of comm.h, has types, and is installed.
. "$(dirname "$0")/../tap.bash"
# Debian's own python3 has Debian's pandas and mypy.
python=
for one in /usr/bin/python3 python3; do
  "$one" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && python=$(command -v "$one") && break
done
[ -n "$python" ] || skip_all "no Python 3.11 or later"
# Python has no sanitizers of its own, and frees little when it ends.
preload=
! readelf -d "$O/libcommprof.so.0" | grep -q libasan ||
  preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
plain() { LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 "$@"; }
make=$O/tests/e2e/make_store
for kind in redis hostile survey sharing precise calls changed many; do
  "$make" $kind "$dir/$kind.db" 20 || exit 1
done
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/python
with_library() { LD_LIBRARY_PATH=$O plain "$@"; }

current() { mkdir "$dir/made" && "$python" python/generate.py include/comm "$dir/made" && for file in _abi.py _data.py; do diff "$dir/made/$file" python/commprof/$file || return; done; }
check "_abi.py and _data.py are of today's comm.h and version.h (make python)" current
with_library "$python" - >"$dir/layout.c" <<'END_OF_PYTHON'
import ctypes
from commprof import _abi

print("#include <stddef.h>\n#include <comm/comm.h>")
for name, struct in vars(_abi).items():
    if isinstance(struct, type) and issubclass(struct, ctypes.Structure) and hasattr(struct, "_fields_"):
        print(f'_Static_assert(sizeof(struct {name}) == {ctypes.sizeof(struct)}, "");')
        for member, kind in struct._fields_:
            print(f'_Static_assert(offsetof(struct {name}, {member}) == {getattr(struct, member).offset}, "");')
            print(f'_Static_assert(sizeof(((struct {name} *)0)->{member}) == {ctypes.sizeof(kind)}, "");')
END_OF_PYTHON
check "its structs are laid out as the compiler does it" gcc -std=c11 -fsyntax-only -Iinclude "$dir/layout.c"
check "all of them" test "$(grep -c 'sizeof(struct ' "$dir/layout.c")" = "$(grep -c '^struct .* {$' include/comm/comm.h)"

with_library "$python" tests/e2e/python_test.py "$commctl" "$dir" "$n" >"$dir/said" || status=1
cat "$dir/said"
n=$(grep -cE '^(not )?ok ' <(cat "$dir/said"; seq -f 'ok %g' "$n"))

if "$python" -c 'import mypy' 2>/dev/null; then
  cd python || exit 1
  check "mypy --strict" "$python" -m mypy --strict --cache-dir "$dir/mypy" commprof
  cd .. || exit 1
else
  skip "mypy --strict" "mypy is not installed"
fi

# As installed: the library is found in the same PREFIX
unset PYTHONPATH LD_LIBRARY_PATH
make -s O="$O" install-python PREFIX="$dir/prefix" DESTDIR= >"$dir/out" 2>&1 || not_ok "make install-python" "$(cat "$dir/out")"
cp "$O/libcommprof.so.0" "$dir/prefix/lib"
cd "$dir" || exit 1
installed() { PYTHONPATH=$dir/prefix/lib/python3/dist-packages plain "$python" "$@"; }
check "it is installed, and finds the library beside it" \
  installed -c 'import commprof; assert commprof.Store("redis.db").report().edges; assert "/prefix/" in commprof.__file__'
rm "$dir/prefix/lib/libcommprof.so.0"
if PATH=$PATH:/sbin ldconfig -p 2>/dev/null | grep -qF libcommprof.so.0; then
  skip "without the library the ImportError says what to install" "libcommprof is installed on this machine"
else
  check "without the library the ImportError says what to install" \
    grep '^ImportError: .*libcommprof.so.0.*install' <(installed -c 'import commprof' 2>&1)
fi
cd "$OLDPWD" || exit 1
if "$python" -c 'import setuptools, wheel' 2>/dev/null && "$python" -m pip --version >"$dir/out" 2>&1; then
  version=$(sed -n 's/^#define COMM_VERSION "\(.*\)"$/\1/p' include/comm/version.h)
  before=$(git status --porcelain --ignored python)
  check "make wheel" make -s O="$dir/o" PYTHON="$python" wheel
  check "the wheel has its version, and the package" diff <(printf 'commprof/%s\n' __init__.py _abi.py _data.py _library.py py.typed) \
    <("$python" -m zipfile -l "$dir/o/wheel/commprof-$version-py3-none-any.whl" | awk '/^commprof\// { print $1 }' | sort)
  check "nothing is left in the sources" test "$before" = "$(git status --porcelain --ignored python)"
else
  skip "make wheel" "pip, setuptools or wheel is not installed"
fi

echo "1..$n"
exit $status

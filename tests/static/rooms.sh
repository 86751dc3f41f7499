#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No room of libcomm includes a header that it may not: with the include paths that the Makefile
# compiles a room with, each header of the rooms it uses is found and complete in itself,
# and no header of any other room, of daemon/ or of ctl/ is found.
. "$(dirname "$0")/../tap.bash"
compiles() { # HEADER FLAGS...
  printf '#include "%s"\n' "${1##*/}" | gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -x c "${@:2}" - 2>&1
}
ask() { make -s --no-print-directory "$@"; }

for room in $(ask print-rooms) ctl; do
  read -ra flags <<<"$(ask print-inc ROOM="$room")"
  found='' broken='' others=()
  for header in libcomm/*.h libcomm/*/*.h libcomm/*/*/*.h daemon/*.h daemon/*/*.h ctl/*.h ctl/*/*.h; do
    of=${header%/*} of=${of#libcomm/}
    [ "$of" = "$room" ] || [ "$room:${of%%/*}" = ctl:ctl ] && continue
    case " ${flags[*]} " in
    *" libcomm/$of "*) out=$(compiles "$header" "${flags[@]}") || broken="$broken $header ($(head -n 1 <<<"$out"))" ;;
    *) others+=("$header") ;;
    esac
  done
  # A header of the same name may be found in another folder or the system's.
  for header in $(for other in "${others[@]}"; do
    printf '#if __has_include("%s")\n"%s"\n#endif\n' "${other##*/}" "$other"
  done | gcc -E -P -x c "${flags[@]}" - | tr -d '"'); do
    printf '#include "%s"\n' "${header##*/}" | gcc -D_GNU_SOURCE -M -x c "${flags[@]}" - 2>/dev/null |
      grep -qwF "$header" && found="$found $header"
  done
  [ -z "$found" ]
  result $? "$room finds no header but its own and those of the rooms it uses:$found"
  [ -z "$broken" ]
  result $? "$room compiles each header that it may include alone:$broken"
done

! relative=$(git grep -nE '#include "\.\./' -- libcomm daemon ctl bpf include)
result $? "no header is included by a path that leads out of its folder: ${relative:-}"
twice=$(git ls-files 'libcomm/*.h' 'daemon/*.h' 'bpf/*.h' | sed 's#.*/##' | sort | uniq -d)
[ -z "$twice" ]
result $? "no two headers of libcomm, daemon and bpf have one name: ${twice:-}"
exit $status

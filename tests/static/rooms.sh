#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No room of libcomm includes a header that it may not: each header is complete in itself, and with the
# include paths that the Makefile compiles a room with, each header of the rooms it uses is found, and no
# header of any other room, of daemon/ or of ctl/.
. "$(dirname "$0")/../tap.bash"
declare -A flags_of
while read -r room flags; do flags_of[$room]=$flags; done < <(make -s --no-print-directory print-incs)
includes() { printf '#include "%s"\n' "$@"; }

broken=
for header in libcomm/*/*.h libcomm/*/*/*.h; do
  of=${header%/*} of=${of#libcomm/}
  read -ra flags <<<"${flags_of[$of]}"
  out=$(includes "$header" | gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -x c -iquote . "${flags[@]}" - 2>&1) ||
    broken="$broken $header ($(grep -m 1 error: <<<"$out"))"
done
[ -z "$broken" ]
result $? "each header is complete in itself, with what its own room may include:$broken"

# What such a header includes is found in every room that may include it, so it compiles there, too.
for room in "${!flags_of[@]}"; do
  read -ra flags <<<"${flags_of[$room]}"
  found='' own=() others=()
  for header in libcomm/*.h libcomm/*/*.h libcomm/*/*/*.h daemon/*.h daemon/*/*.h ctl/*.h ctl/*/*.h ship/*.h; do
    of=${header%/*} of=${of#libcomm/}
    [ "$of" = "$room" ] || [ "$room:${of%%/*}" = ctl:ctl ] && continue
    case " ${flags[*]} " in
    *" libcomm/$of "* | *"-iquote $of "*) own+=("${header##*/}") ;;
    *) others+=("$header") ;;
    esac
  done
  # A header of the same name may be found in another folder or the system's.
  for header in $(for other in "${others[@]}"; do
    printf '#if __has_include("%s")\n"%s"\n#endif\n' "${other##*/}" "$other"
  done | gcc -E -P -x c "${flags[@]}" - | tr -d '"'); do
    includes "${header##*/}" | gcc -D_GNU_SOURCE -M -x c "${flags[@]}" - 2>/dev/null |
      grep -qwF "$header" && found="$found $header"
  done
  [ -z "$found" ]
  result $? "$room finds no header but its own and those of the rooms it uses:$found"
  out=$([ ${#own[@]} = 0 ] || includes "${own[@]}" | gcc -D_GNU_SOURCE -M -x c "${flags[@]}" - 2>&1 >/dev/null)
  [ -z "$out" ]
  result $? "$room finds each header that it may include, and what that includes: $(grep -m 1 error: <<<"$out")"
done

! relative=$(git grep -nE '#include "\.\./' -- libcomm cli daemon ctl ship bpf include)
result $? "no header is included by a path that leads out of its folder: ${relative:-}"
twice=$(git ls-files 'libcomm/*.h' 'daemon/*.h' 'bpf/*.h' | sed 's#.*/##' | sort | uniq -d)
[ -z "$twice" ]
result $? "no two headers of libcomm, daemon and bpf have one name: ${twice:-}"
exit $status

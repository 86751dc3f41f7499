#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# libcommprof as another program uses it: installed, found by pkg-config, with the program
# of commprof(3), in C and C++, and from programs that know an older or a newer comm.h.
. "$(dirname "$0")/../tap.bash"
unset COLUMNS

same() { diff <(printf '%s\n' "$1") <(printf '%s\n' "$2"); }
none() { [ -z "$1" ] || { echo "$1"; false; }; }
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
run() { LD_LIBRARY_PATH=$prefix/lib "$@"; }

prefix=$dir/prefix
make -s O="$O" install PREFIX="$prefix" DESTDIR= >"$dir/log" 2>&1 &&
  make -s O="$O" "$O/tests/e2e/make_store" >>"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
for kind in redis hostile; do
  "$O/tests/e2e/make_store" $kind "$dir/$kind.db" 20 || exit 1
done
lib=$prefix/lib/libcommprof.so.0
# Without the symbols of the sanitizers.
sanitize='lib(asan|ubsan)'
flags=()
[ -z "$(needed "$lib" | grep -E "$sanitize")" ] || flags=(-fsanitize=address,undefined)

# What is in it
offered=$(gcc -E -P -x c include/comm/comm.h | grep -oE '\bcomm_[a-z0-9_]+\(' | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$lib" | awk '$2 != "A" {print $3}' | sort)
check "it exports the functions of comm.h, and nothing else" same "$offered" "${exported//@@COMMPROF_0/}"
check "each has a version" none "$(grep -v @@COMMPROF_ <<<"$exported")"
check "its name" same libcommprof.so.0 "$(readelf -d "$lib" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
check "it needs SQLite and the C library alone" \
  none "$(needed "$lib" | grep -vxE "libsqlite3.so.0|lib[cm].so.6|$sanitize.so.*")"
check "it is made of the rooms model, store and report" \
  same "$(cd libcomm && printf '%s\n' {model,store,report,report/grouping}/*.c | sed 's#.*/##; s#c$#o#' | sort)" \
  "$(ar t "$prefix/lib/libcommprof.a" | sort)"
check "its objects hide all but the functions of comm.h" same "$offered" "$(readelf -sW "$prefix/lib/libcommprof.a" |
  awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" && $8 !~ /^__/ {print $8}' | sort)"
check "commctl needs libcommprof, curses, METIS, zlib and the C library alone" \
  none "$(needed "$O/commctl" | grep -vxE "libcommprof.so.0|lib(ncursesw|tinfo).so.6|libmetis.so.5|libmicrohttpd.so.12|libz.so.1|lib[cm].so.6|$sanitize.so.*")"
for function in $offered; do
  grep -q "$function(" man/commprof.3 || missing="${missing:-} $function"
done
check "commprof(3) has each function" none "${missing:-}"

# The installed library must not use files of the build folder
check "commctl finds the library beside it" grep -qF "$prefix/" <(ldd "$prefix/bin/commctl" | grep libcommprof)
check "commctl runs where it is installed" "$prefix/bin/commctl" list --store "$dir/redis.db"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
check "pkg-config" pkg-config --validate commprof
check "its version is that of version.h" grep -qF "\"$(pkg-config --modversion commprof)\"" "$prefix/include/comm/version.h"
read -ra prof < <(pkg-config --cflags --libs commprof)

# The program of the man page
sed -n '/^\.EX$/,/^\.EE$/p' "$prefix/share/man/man3/commprof.3" |
  sed '1d; $d; s/\\e/\\/g; s/\\-/-/g; s/\\(aq/'"'/g" >"$dir/feeds.c"
check "the program of commprof(3) is there" grep -q 'int main' "$dir/feeds.c"
check "it compiles as C11" gcc -std=c11 -Wall -Wextra -Werror -pedantic "${flags[@]}" "$dir/feeds.c" -o "$dir/feeds" "${prof[@]}"
check "it compiles as C++" g++ -x c++ -Wall -Wshadow -Werror "${flags[@]}" "$dir/feeds.c" -x none -o "$dir/feeds++" "${prof[@]}"
check "it compiles with the static library" gcc -std=c11 -Wall -Werror "${flags[@]}" "$dir/feeds.c" -o "$dir/feeds-static" \
  -I"$prefix/include" "$prefix/lib/libcommprof.a" -lsqlite3 -lm
want=$("$O/commctl" report --store "$dir/redis.db" --csv --top 10 | tr -d '"' | awk -F, 'NR > 1 {print $3 " feeds " $10}')
for program in feeds feeds++ feeds-static; do
  check "$program: the flows are those of commctl" same "$want" "$(run "$dir/$program" "$dir/redis.db" | sed 's/: .*//')"
done
check "the static one needs no libcommprof" none "$(needed "$dir/feeds-static" | grep commprof)"
check "intervals" grep -qE '^[^ ]+ feeds [^ ]+: [0-9.e+]+ bytes \([0-9.e+]+ to [0-9.e+]+\)' <(run "$dir/feeds" "$dir/redis.db")
check "hostile names" none "$(run "$dir/feeds" "$dir/hostile.db" | tr -d '\n' | grep '[[:cntrl:]]')"
said=$(run "$dir/feeds" "$dir/none.db" 2>&1)
check "a sentence where there is no store" same "1 1" "$? $(grep -c "^feeds: .*$dir/none.db.*no such file" <<<"$said")"

# Programs compiled with another comm.h: without the last field of a query, and with one more
cat >"$dir/ask.c" <<'END'
#include <stdio.h>
#include <comm/comm.h>
int main(int argc, char **argv)
{
	struct {
		struct comm_query query;
		unsigned char beyond[64];
	} q = {.query = COMM_QUERY_INIT};
	struct comm_reader *reader;
	struct comm_report *report;
	struct comm_runs *runs;
	int code = argc > 1 ? comm_reader_open(argv[1], &reader, NULL) : 1;

	if (code)
		return printf("open %d\n", code), 1;
	/* What an older program has behind its query is its own. */
	for (unsigned i = 0; i < sizeof(q.beyond); i++)
		q.beyond[i] = 0xff;
	q.query.top = 3;
#ifdef NEWEST
	q.query.newest = NEWEST;
#endif
#ifdef SIZE
	q.query.size = SIZE;
#endif
	code = comm_reader_report(reader, &q.query, &report, NULL);
	printf("report %d", code);
	if (!code) {
		printf(" shown %zu", report->n_shown);
		comm_report_free(report);
	}
	q.query.size = sizeof(q.query);
	if (!comm_reader_runs(reader, &runs, NULL)) {
		printf(" runs %zu", comm_runs_count(runs));
		comm_runs_free(runs);
	}
	printf("\n");
	comm_reader_close(reader);
	return 0;
}
END
mkdir -p "$dir"/{older,newer}/comm
awk '/^struct comm_query \{/ {inside = 1}
  inside && /^\};/ {inside = 0; held = 0}
  {if (held) print line; held = inside; line = $0; if (!inside) print}' include/comm/comm.h >"$dir/older/comm/comm.h"
awk '/^struct comm_query \{/ {inside = 1} inside && /^\};/ {inside = 0; print "\tuint64_t newest;"} {print}' \
  include/comm/comm.h >"$dir/newer/comm/comm.h"
ask() { # HEADER FLAGS...
  gcc -std=c11 -Wall -Werror "${flags[@]}" -I"$dir/$1" "${@:2}" "$dir/ask.c" -o "$dir/ask" "${prof[@]}" && run "$dir/ask" "$dir/redis.db"
}
size() { printf '#include <comm/comm.h>\nint size[sizeof(struct comm_query)];' | gcc -x c -I"$1" -c - -o "$dir/size.o" && nm -S "$dir/size.o" | cut -d' ' -f2; }
sizes="$(size "$dir/older") $(size "$prefix/include") $(size "$dir/newer")"
check "an older query is shorter, a newer one longer" awk '{exit !($1 < $2 && $2 < $3)}' <<<"$sizes"
answer='report 0 shown 3 runs 1'
check "a program of today" same "$answer" "$(ask .)"
check "a program that is older" same "$answer" "$(ask older)"
check "a program that is newer, and asks for nothing new" same "$answer" "$(ask newer)"
check "a program that is newer, and does" same "report -7 runs 1" "$(ask newer -DNEWEST=1)"
check "a program that forgot the size" same "report -22 runs 1" "$(ask . -DSIZE=0)"
check "no err, and no store" same "open -2" "$(run "$dir/ask" "$dir/none.db")"

echo "1..$n"
exit $status

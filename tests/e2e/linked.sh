#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions and data of a program are of the name that it was started by, which may be a hard link or a symbolic
# one to its file; those of a library are of the file that is mapped, whatever link to it the program names.
. "$(dirname "$0")/../tap.bash"
cd "$dir" || exit 1
cat >lib.c <<'END'
__attribute__((noinline)) long sum_of(volatile long *from, int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += from[i];
	return sum;
}
END
cat >flow.c <<'END'
#include <pthread.h>
#include <stdlib.h>
enum { WORDS = 512 };
long sum_of(volatile long *from, int n);
static volatile long data[WORDS], sum;
static volatile int full;
static long rounds;
static __attribute__((noinline)) void produce(void)
{
	for (int i = 0; i < WORDS; i++)
		data[i] = i;
}
static __attribute__((noinline)) void consume(void)
{
	for (int i = 0; i < WORDS; i++)
		sum += data[i];
	sum += sum_of(data, WORDS);
}
static void *consumer(void *arg)
{
	for (long i = 0; i < rounds; i++) {
		while (!__atomic_load_n(&full, __ATOMIC_ACQUIRE))
			;
		consume();
		__atomic_store_n(&full, 0, __ATOMIC_RELEASE);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t thread;

	rounds = argc > 1 ? atol(argv[1]) : 0;
	pthread_create(&thread, 0, consumer, 0);
	for (long i = 0; i < rounds; i++) {
		while (__atomic_load_n(&full, __ATOMIC_ACQUIRE))
			;
		produce();
		__atomic_store_n(&full, 1, __ATOMIC_RELEASE);
	}
	pthread_join(thread, 0);
}
END
gcc -O1 -g -shared -fPIC -Wl,-soname,libsums.so.1 -o libsums.so.1.2.3 lib.c &&
  ln -s libsums.so.1.2.3 libsums.so.1 &&
  gcc -O1 -g -pthread -Wl,-rpath,"$dir" -o second flow.c libsums.so.1.2.3 &&
  gcc -O1 -g -fsanitize=thread -c -o flow.o flow.c && gcc -O1 -g -fsanitize=thread -fPIC -c -o lib.o lib.c &&
  gcc -shared -Wl,-soname,libsums.so.1 -o native-libsums.so.1.2.3 lib.o &&
  gcc -rdynamic -o native-second flow.o lib.o "$O/libcomm-exact.a" -pthread || exit 1
for name in second native-second; do
  ln "$name" "${name/second/hard}" && ln -s "$name" "${name/second/soft}" || exit 1
done
cp second other # its build-id is the same

modules() { # modules STORE: each function, and of which file it is
  "$commctl" report --store "$1" --by-function --all --min-share 0 --top 0 --json 2>/dev/null |
    jq -r '.nodes[] | "\(.name) of \(.module)"'
}
are() { # are STORE PROGRAM LIBRARY: functions are theirs alone
  modules "$1" >modules
  grep -qx "produce of $2" modules && grep -qx "consume of $2" modules &&
    { [ -z "$3" ] || grep -qx "sum_of of $3" modules; } &&
    ! grep -E '^(produce|consume) of ' modules | grep -vqx "[a-z]* of $2" || { cat modules; false; }
}

for name in hard soft second; do
  "$commd" -q --source exact --store n.db -- "./native-$name" 20 >log 2>&1
  check "native: native-$name" are n.db "native-$name" ''
  rm -f n.db*
done
if command -v valgrind >/dev/null && [ -x "$O/exact/commexact-amd64-linux" ]; then
  for name in hard soft second; do
    "$commd" -q --source exact --store v.db -- "./$name" 20 >log 2>&1
    check "Valgrind: $name" are v.db "$name" libsums.so.1.2.3
    "$commctl" report --store v.db --by-thread --all --min-share 0 --top 0 --json >threads
    check "Valgrind: threads of $name" jq -e --arg name "$name" '[.nodes[].name | . == $name] | all' threads
    rm -f v.db*
  done
else
  skip "under Valgrind" "Valgrind is not installed, or was not when this was built"
fi

[ "$(id -u)" = 0 ] || { skip "live" "needs root to attach"; exit $status; }
# Ends commd when names have come, or later.
live() { # live NAME OPTION...
  local name=$1
  shift
  "./$name" 100000000000 &
  local target=$!
  pids+=($target)
  "$commd" -q --rate 400 --slice 500ms --store "$name.db" --record "$name.rec" "$@" --pid $target >"$name.log" 2>&1 &
  commd_until 90 are "$name.db" "$name" libsums.so.1.2.3 >/dev/null 2>&1
  kill -9 $target
  wait $target 2>/dev/null
}
for source in bpf perf; do
  for name in hard soft other; do
    live "$name" --source "$source"
    check "$source: $name" are "$name.db" "$name" libsums.so.1.2.3
    "$commd" -q --source "replay:$name.rec" --store replayed.db >log 2>&1
    check "$source: $name, replayed" are replayed.db "$name" libsums.so.1.2.3
    rm -f ./*.db* ./*.rec
  done
done
exit $status

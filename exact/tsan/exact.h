/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcomm-exact: who wrote what this thread reads, exactly, for programs built
 * with gcc -fsanitize=thread and linked with this library in place of libtsan:
 *
 *	gcc -O2 -g -fsanitize=thread -fno-builtin -c prog.c
 *	gcc prog.o -lcomm-exact -lpthread -o prog
 *	commd --source exact -- ./prog
 *
 * (Without -fno-builtin the compiler expands short copies in place, past the
 * instrumentation.)  clang 14 leaves loads out: use gcc.  Dynamic executables only.
 *
 * Not counted is what gcc does not announce: vector instructions with masks, gathers and scatters, loads and
 * stores past the cache (_mm_stream_si128() and its like), and inline assembly.
 *
 * commd finds out by an ELF note that the program can be run as it is, and puts
 * the result into its store.  Without commd the program writes, at exit and at the
 * signal COMM_EXACT_SIGNAL, PREFIX.threads.csv and PREFIX.functions.csv; a child
 * of fork() writes PREFIX.PID.threads.csv.
 *
 * Environment: COMM_EXACT_OUT (the prefix, "comm-exact"),
 * COMM_EXACT_GRANULARITY (bytes, 8), COMM_EXACT_SELF_FIRST (1: first reads of
 * what the thread itself wrote, too), COMM_EXACT_SIGNAL (a number), COMM_EXACT_RESULT (set
 * by commd: its result file, instead of all others), COMM_EXACT_CALLS (set by commd --calls: functions
 * whose calls the result file tells apart), COMM_EXACT_FUNCTION (set by commd --function: functions whose reads alone
 * count), COMM_EXACT_CALLERS (set by commd --callers: how many callers it
 * tells of each), COMM_EXACT_SLICE_NS (set by commd --slice).  Set to nothing is not set.
 */
#ifndef COMM_EXACT_H
#define COMM_EXACT_H

/* Called before main(), or by the first access if that comes earlier. */
void comm_exact_init(void);
/* Writes both files now; 0 or -errno. */
int comm_exact_dump(void);
/* Counts from zero.  Accesses under way fall on one side or the other. */
void comm_exact_reset(void);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Begin, reset and the two files.
 */
#include "exact.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call.h"
#include "format.h"
#include "function.h"
#include "note.h"
#include "object.h"
#include "result.h"
#include "selected.h"
#include "thread.h"

/* A prefix cut at PREFIX_BYTES makes no path that the kernel takes, so no wrong file. */
enum { OUT_BYTES = 1 << 16, LINE_BYTES = 1024, PREFIX_BYTES = PATH_MAX };

struct out {
	int fd, err;
	size_t n;
	char buf[OUT_BYTES];
};

static struct {
	int begun, busy;
	pid_t pid;
	char prefix[PREFIX_BYTES];
	/* The file for commd, which then wants no others; NULL: none. */
	const char *result;
	struct out out;
	uint64_t bytes[COMM_EXACT_THREADS], first_bytes[COMM_EXACT_THREADS];
} exact;

static void dump_on_signal(int number)
{
	int err = errno;

	(void)number;
	comm_exact_dump();
	errno = err;
}

/* Told to end, the program ends; but what it did is known. */
static void end_on_signal(int number)
{
	comm_exact_dump();
	signal(number, SIG_DFL);
	raise(number);
}

/* Unless the program takes these signals itself, which it may still do later. */
static void dump_on_end(void)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction action = {.sa_handler = end_on_signal}, old;

		if (!sigaction(signals[i], NULL, &old) && !(old.sa_flags & SA_SIGINFO) &&
		    old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
}

/* Set, but to nothing, is not set, as where a script says NAME= to take it back. */
static const char *environment(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

void comm_exact_init(void)
{
	const char *text;

	if (exact.begun)
		return;
	exact.begun = 1;
	comm_shadow_init();
	comm_objects_init();
	comm_exact_threads_init();
	comm_channels_init();
	comm_exact_select(environment("COMM_EXACT_FUNCTION"));
	text = environment("COMM_EXACT_CALLERS");
	comm_exact_calls_init(environment("COMM_EXACT_CALLS"),
			      text && atoi(text) > 0 ? atoi(text) : 0);
	text = environment("COMM_EXACT_SLICE_NS");
	comm_exact_result_begin(text ? strtoull(text, NULL, 10) : 0);
	exact.pid = getpid();
	exact.result = environment("COMM_EXACT_RESULT");
	if (exact.result)
		dump_on_end();
	text = environment("COMM_EXACT_OUT");
	snprintf(exact.prefix, sizeof(exact.prefix), "%s", text ? text : "comm-exact");
	text = environment("COMM_EXACT_SIGNAL");
	if (text && atoi(text) > 0) {
		struct sigaction action = {.sa_handler = dump_on_signal, .sa_flags = SA_RESTART};

		sigaction(atoi(text), &action, NULL);
	}
}

/* By this commd knows a program that can be run as it is. */
static const struct {
	Elf64_Nhdr head;
	char name[sizeof(COMM_EXACT_NOTE)];
	uint32_t version __attribute__((aligned(4)));
} note __attribute__((section(".note.commprof"), used, aligned(4))) = {
	{sizeof(COMM_EXACT_NOTE), sizeof(uint32_t), COMM_EXACT_NOTE_RUNTIME},
	COMM_EXACT_NOTE,
	COMM_EXACT_VERSION,
};

static void __attribute__((constructor(101))) begin(void)
{
	comm_exact_init();
}

static void __attribute__((destructor(101))) end(void)
{
	int err;

	comm_exact_thread_end();
	err = comm_exact_dump();
	if (err)
		fprintf(stderr, "comm-exact: %s%s: %s\n",
			exact.result ? exact.result : exact.prefix, exact.result ? "" : ".*.csv",
			strerrorname_np(-err));
}

static void flush(struct out *out)
{
	size_t at = 0;

	while (at < out->n && !out->err) {
		/* By number: our own write() would count this as the program's. */
		long n = syscall(SYS_write, out->fd, out->buf + at, out->n - at);

		if (n < 0 && errno != EINTR)
			out->err = errno;
		else if (n > 0)
			at += n;
	}
	out->n = 0;
}

static void __attribute__((format(printf, 2, 3))) line(struct out *out, const char *format, ...)
{
	va_list ap;

	if (out->n + LINE_BYTES > sizeof(out->buf))
		flush(out);
	va_start(ap, format);
	out->n += vsnprintf(out->buf + out->n, LINE_BYTES, format, ap);
	va_end(ap);
}

static int begin_file(struct out *out, const char *kind)
{
	char path[PREFIX_BYTES + 64];

	if (getpid() == exact.pid)
		snprintf(path, sizeof(path), "%s.%s.csv", exact.prefix, kind);
	else
		snprintf(path, sizeof(path), "%s.%d.%s.csv", exact.prefix, getpid(), kind);
	out->n = 0;
	out->err = 0;
	out->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return out->fd < 0 ? -errno : 0;
}

static int end_file(struct out *out)
{
	flush(out);
	if (close(out->fd) && !out->err)
		out->err = errno;
	return -out->err;
}

/* Each process writes tables of its own. */
static int is_own(const struct comm_exact_thread *t)
{
	return comm_exact_identity(t->slot)->pid == (uint32_t)getpid();
}

static int dump_threads(struct out *out)
{
	struct comm_exact_thread *t;
	uint64_t total = 0, unwritten = 0, mask, i;
	uint32_t src;

	line(out, "# granularity=%u threads_without_slot=%llu\n",
	     (unsigned int)comm_shadow_mask + 1, (unsigned long long)comm_exact_threads_lost());
	line(out, "src_tid,dst_tid,bytes,first_bytes\n");
	for (t = comm_exact_threads(); t; t = t->next) {
		const struct comm_exact_edge *edge = comm_exact_table(t, &mask);
		uint32_t dst = t->slot;

		if (!is_own(t))
			continue;
		for (src = 0; src < COMM_EXACT_THREADS; src++)
			exact.bytes[src] = exact.first_bytes[src] = 0;
		for (i = 0; i <= mask; i++) {
			if (edge[i].key & COMM_EXACT_WROTE)
				continue;
			src = edge[i].key >> (32 + COMM_SITE_BITS);
			exact.bytes[src] += edge[i].bytes - edge[i].base_bytes;
			exact.first_bytes[src] += edge[i].first_bytes - edge[i].base_first_bytes;
		}
		unwritten += exact.bytes[0];
		total += exact.bytes[0];
		for (src = 1; src < COMM_EXACT_THREADS; src++) {
			if (!exact.bytes[src])
				continue;
			total += exact.bytes[src];
			line(out, "%u,%u,%llu,%llu\n", comm_exact_identity(src)->tid,
			     comm_exact_identity(dst)->tid, (unsigned long long)exact.bytes[src],
			     (unsigned long long)exact.first_bytes[src]);
		}
	}
	line(out, "# total_read_bytes=%llu unwritten_bytes=%llu\n", (unsigned long long)total,
	     (unsigned long long)unwritten);
	return end_file(out);
}

static void sum_up(const struct comm_exact_edge *edge, uint64_t mask, struct comm_exact_sums *sums)
{
	const uint32_t site_mask = COMM_EXACT_SITES - 1;
	uint64_t i;

	for (i = 0; i <= mask; i++) {
		uint64_t key = edge[i].key;
		struct comm_exact_sum sum = {
			.src_slot = key >> (32 + COMM_SITE_BITS),
			.bytes = edge[i].bytes - edge[i].base_bytes,
			.first_bytes = edge[i].first_bytes - edge[i].base_first_bytes,
		};

		if (!(key >> 32) || !sum.bytes)
			continue;
		sum.src_function = comm_exact_function_of(key >> 32 & site_mask);
		sum.dst_function = comm_exact_function_of(key & site_mask);
		comm_exact_sums_add(sums, &sum);
	}
}

static void put_sums(struct out *out, const struct comm_exact_sums *sums, uint32_t dst_slot)
{
	uint64_t i;

	for (i = 0; i <= sums->mask; i++) {
		const struct comm_exact_sum *sum = &sums->sum[i];

		if (!sum->bytes)
			continue;
		line(out, "%u,%u,%s,", comm_exact_identity(sum->src_slot)->tid,
		     comm_exact_identity(dst_slot)->tid,
		     comm_exact_function_name(sum->src_function));
		line(out, "%s,%llu,%llu\n", comm_exact_function_name(sum->dst_function),
		     (unsigned long long)sum->bytes, (unsigned long long)sum->first_bytes);
	}
}

static int dump_functions(struct out *out)
{
	struct comm_exact_thread *t;
	int err = comm_exact_functions_begin();

	line(out, "src_tid,dst_tid,src_function,dst_function,bytes,first_bytes\n");
	for (t = comm_exact_threads(); t && !err; t = t->next) {
		struct comm_exact_sums sums;
		uint64_t mask;
		const struct comm_exact_edge *edge = comm_exact_table(t, &mask);

		if (!is_own(t))
			continue;
		err = comm_exact_sums_begin(&sums, mask + 1);
		if (err)
			break;
		sum_up(edge, mask, &sums);
		put_sums(out, &sums, t->slot);
		comm_exact_sums_end(&sums);
	}
	if (err)
		out->err = -err;
	else
		comm_exact_functions_end();
	return end_file(out);
}

static int dump_csv(void)
{
	int err, err2;

	err = begin_file(&exact.out, "threads");
	if (!err)
		err = dump_threads(&exact.out);
	err2 = begin_file(&exact.out, "functions");
	if (!err2)
		err2 = dump_functions(&exact.out);
	return err ? err : err2;
}

int comm_exact_dump(void)
{
	int err = 0;

	if (!exact.begun)
		return 0;
	if (__atomic_exchange_n(&exact.busy, 1, __ATOMIC_ACQUIRE))
		return -EBUSY;
	if (!exact.result)
		err = dump_csv();
	else if (getpid() == exact.pid)
		err = comm_exact_result_write(exact.result);
	__atomic_store_n(&exact.busy, 0, __ATOMIC_RELEASE);
	return err;
}

/* It runs no destructors, and is no accident: what there is shall be known. */
void _exit(int status)
{
	if (exact.begun && getpid() == exact.pid)
		end();
	for (;;)
		syscall(SYS_exit_group, status);
}

void _Exit(int status) __attribute__((alias("_exit")));

void comm_exact_reset(void)
{
	struct comm_exact_thread *t;
	struct comm_exact_edge *edge;
	uint64_t mask, i;

	for (t = comm_exact_threads(); t; t = t->next) {
		if (!is_own(t))
			continue;
		/* The table may grow under our hands, and the new one not know of it. */
		do {
			edge = comm_exact_table(t, &mask);
			for (i = 0; i <= mask; i++) {
				edge[i].base_bytes = edge[i].bytes;
				edge[i].base_first_bytes = edge[i].first_bytes;
			}
		} while (edge != __atomic_load_n(&t->edge, __ATOMIC_ACQUIRE));
	}
}

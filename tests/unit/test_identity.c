// SPDX-License-Identifier: GPL-2.0-or-later
#include "call.h"
#include "site.h"
#include "thread.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000000;

static struct comm_mapping fake[] = {
	{.start = 0x400000,
	 .end = 0x500000,
	 .offset = 0x1000,
	 .dev = 1,
	 .ino = 2,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/x",
	 .file = 1},
	{.start = 0x700000,
	 .end = 0x800000,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_JIT,
	 .path = ""},
};
static int codes_asked, names_asked, titles_asked, code_answer, title_answer;
static bool lines_unknown, types_known, names_unknown;
static const char *jit_name, *thread_name, *title;

static int fake_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx;
	(void)tgid;
	*ret = fake;
	*ret_n = 2;
	return 0;
}

/* A function per page, a line per 16 bytes, and something inlined twice at 0x40. */
static int fake_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	static char name[32];
	uint64_t offset = ip - m->start + m->offset;

	(void)ctx;
	(void)tgid;
	codes_asked++;
	if (m->kind == COMM_MAP_JIT) {
		*ret = (struct comm_code){
			.function = jit_name, .module = "[jit]", .build_id = "", .start = ip};
		return 0;
	}
	snprintf(name, sizeof(name), "f%x", (unsigned int)(offset >> 12));
	*ret = (struct comm_code){
		.function = name,
		.module = "x",
		.build_id = "ab",
		.source = "x.c",
		.line = (uint32_t)(offset >> 4),
		.inlined = (offset & 0xff0) == 0x40 ? "small" : NULL,
		.start = offset & ~(uint64_t)0xfff,
	};
	if (ret->inlined) {
		ret->call_source = "y.c";
		ret->call_line = offset & 4 ? 71 : 70;
	}
	/* Each line reads two fields of a structure, one behind the other. */
	if (types_known) {
		ret->type = "struct s";
		ret->field = offset & 8 ? "b" : "a";
		ret->field_offset = offset & 8;
	}
	if (lines_unknown) {
		ret->source = ret->inlined = ret->call_source = NULL;
		ret->call_line = 0;
		ret->line = 0;
		ret->provisional = true;
	}
	if (names_unknown)
		*ret = (struct comm_code){.function = "[unknown]",
					  .module = "x",
					  .build_id = "",
					  .provisional = true};
	return code_answer;
}

static int fake_thread_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx;
	(void)tgid;
	names_asked++;
	if (!thread_name || tid == 666)
		return -ESRCH;
	snprintf(name, 16, "%s", thread_name);
	return 0;
}

static int fake_title(void *ctx, uint32_t tgid, char ret[COMM_TITLE_BYTES])
{
	(void)ctx;
	(void)tgid;
	titles_asked++;
	if (!title_answer)
		comm_title_of(title, strlen(title), ret);
	return title_answer;
}

static const struct comm_inspect_ops ops = {
	.maps = fake_maps,
	.code = fake_code,
	.thread_name = fake_thread_name,
	.title = fake_title,
};
static const struct comm_inspect inspect = {.ops = &ops};
static struct comm_space_table *table;
static struct comm_threads *threads;
static struct comm_sites *sites;

static int setup(void **state)
{
	(void)state;
	codes_asked = names_asked = titles_asked = code_answer = title_answer = 0;
	title = "";
	lines_unknown = names_unknown = types_known = false;
	jit_name = "interpreted";
	thread_name = "worker";
	if (comm_space_table_create(&inspect, &table) < 0)
		return -1;
	return comm_threads_create(&inspect, &threads) || comm_sites_create(&inspect, &sites);
}

static int teardown(void **state)
{
	(void)state;
	comm_threads_destroy(threads);
	comm_sites_destroy(sites);
	comm_space_table_destroy(table);
	return 0;
}

static void threads_are_dense(void **state)
{
	const struct comm_thread *t;
	uint32_t a, b;

	(void)state;
	assert_string_equal(comm_threads_at(threads, COMM_ID_OTHER)->name, "(other)");
	a = comm_threads_get(threads, 10, 10, 5);
	b = comm_threads_get(threads, 10, 11, 6);
	assert_int_equal(a, 1);
	assert_int_equal(b, 2);
	assert_int_equal(comm_threads_get(threads, 10, 10, 7), a);
	/* Only looked for: nothing is made, and of another process nothing found. */
	assert_int_equal(comm_threads_find(threads, 10, 10), a);
	assert_int_equal(comm_threads_find(threads, 11, 10), COMM_ID_OTHER);
	assert_int_equal(comm_threads_find(threads, 12, 12), COMM_ID_OTHER);
	assert_int_equal(comm_threads_count(threads), 3);
	assert_int_equal(names_asked, 2);
	t = comm_threads_at(threads, b);
	assert_int_equal(t->tid, 11);
	assert_int_equal(t->start_ns, 6);
	assert_string_equal(t->name, "worker");
	assert_int_equal(comm_threads_at(threads, 99)->tid, 0);
}

static void threads_of_a_pool_are_of_one_role(void **state)
{
	uint32_t initial = comm_threads_get(threads, 10, 10, 5), a, b, other;

	(void)state;
	thread_name = "worker-1";
	a = comm_threads_role(threads, comm_threads_get(threads, 10, 11, 6));
	thread_name = "worker-2";
	b = comm_threads_role(threads, comm_threads_get(threads, 20, 21, 7));
	thread_name = "logger";
	other = comm_threads_role(threads, comm_threads_get(threads, 10, 13, 8));
	thread_name = "worker";
	assert_true(a && a == b && other && other != a);
	/* Who started them has their name. */
	assert_true(comm_threads_role(threads, initial) &&
		    comm_threads_role(threads, initial) != a);
	assert_int_equal(comm_threads_role(threads, COMM_ID_OTHER), 0);
	/* A thread that gets another name is of another role from then on. */
	thread_name = "worker-3";
	comm_threads_renamed(threads, 10, 13);
	assert_int_equal(comm_threads_role(threads, comm_threads_find(threads, 10, 13)), a);
	thread_name = "worker";
}

static void a_tid_that_comes_back_is_another_thread(void **state)
{
	uint32_t a = comm_threads_get(threads, 10, 11, 5), b, c;

	(void)state;
	comm_threads_exit(threads, 11, 50);
	comm_threads_exit(threads, 12, 50);
	/* What is told of it after its end makes no other thread, nor changes when it ended. */
	assert_int_equal(comm_threads_get(threads, 10, 11, 55), a);
	comm_threads_exit(threads, 11, 56);
	thread_name = "another";
	comm_threads_renamed(threads, 10, 11);
	thread_name = "worker";
	assert_string_equal(comm_threads_at(threads, a)->name, "worker");
	assert_int_equal(comm_threads_count(threads), 2);
	b = comm_threads_begin(threads, 10, 11, 60);
	assert_int_not_equal(a, b);
	assert_int_equal(comm_threads_begin(threads, 10, 11, 60), b);
	assert_int_equal(comm_threads_at(threads, a)->end_ns, 50);
	assert_int_equal(comm_threads_at(threads, b)->end_ns, 0);
	/* The exit was lost, but the process is another one. */
	c = comm_threads_get(threads, 20, 11, 70);
	assert_int_not_equal(b, c);
	assert_int_equal(comm_threads_at(threads, b)->end_ns, 70);
	/* Nobody told of the fork, but it was long ago. */
	comm_threads_exit(threads, 11, 80);
	assert_int_not_equal(comm_threads_get(threads, 20, 11, 80 + 60000000000ull), c);
	assert_int_equal(comm_threads_at(threads, c)->end_ns, 80);
}

static void names(void **state)
{
	uint32_t a, b;

	(void)state;
	a = comm_threads_get(threads, 10, 666, 1);
	assert_string_equal(comm_threads_at(threads, a)->name, "worker"); /* of the process */
	thread_name = NULL;
	b = comm_threads_get(threads, 10, 12, 1);
	assert_string_equal(comm_threads_at(threads, b)->name, "?");
	thread_name = "new\nname";
	comm_threads_renamed(threads, 10, 12);
	assert_string_equal(comm_threads_at(threads, b)->name, "new\\x0aname");
	thread_name = NULL;
	comm_threads_renamed(threads, 10, 12);
	assert_string_equal(comm_threads_at(threads, b)->name, "new\\x0aname");
}

/* It tells its name, or ends, before anybody could ask /proc, where another has its number by then. */
static void names_that_are_told(void **state)
{
	struct comm_event told = {
		.kind = COMM_EV_RENAME, .time_ns = 5, .tgid = 10, .tid = 11, .name = "ma\nker-1"};
	uint32_t maker, taker, end;

	(void)state;
	thread_name = "parent";
	comm_threads_named(threads, &told);
	maker = comm_threads_find(threads, 10, 11);
	assert_int_not_equal(maker, COMM_ID_OTHER);
	assert_string_equal(comm_threads_at(threads, maker)->name, "ma\\x0aker-1");
	told.tid = 12;
	strcpy(told.name, "ma\nker-2");
	comm_threads_named(threads, &told);
	taker = comm_threads_find(threads, 10, 12);
	assert_int_equal(comm_threads_role(threads, maker), comm_threads_role(threads, taker));
	told.kind = COMM_EV_EXIT;
	strcpy(told.name, "taker");
	comm_threads_named(threads, &told);
	assert_string_equal(comm_threads_at(threads, taker)->name, "taker");
	comm_threads_exit(threads, 12, 6);
	strcpy(told.name, "late");
	comm_threads_named(threads, &told);
	assert_string_equal(comm_threads_at(threads, taker)->name, "taker");
	/* An end of which no name is told, and one of a thread that was never seen. */
	told.name[0] = '\0';
	told.tid = 11;
	comm_threads_named(threads, &told);
	assert_string_equal(comm_threads_at(threads, maker)->name, "ma\\x0aker-1");
	end = comm_threads_count(threads);
	told.tid = 13;
	comm_threads_named(threads, &told);
	assert_int_equal(comm_threads_count(threads), end);
	thread_name = "worker";
}

static const char *titled(uint32_t tgid, uint32_t tid, uint64_t now_ns)
{
	return comm_threads_at(threads, comm_threads_get(threads, tgid, tid, now_ns))->title;
}

static void titles(void **state)
{
	const uint64_t tenth = SECOND / 10;
	uint64_t now = SECOND;
	int asked;

	(void)state;
	thread_name = "nginx";
	title = "nginx: master process";
	/* One that runs already is asked at once, one that begins when it may have its own. */
	assert_string_equal(titled(10, 10, now), title);
	assert_string_equal(titled(10, 10, now + tenth - 1), title);
	assert_int_equal(titles_asked, 1);
	comm_threads_begin(threads, 11, 11, now);
	assert_string_equal(titled(11, 11, now + tenth - 1), "");
	assert_int_equal(titles_asked, 1);
	title = "nginx: worker process";
	assert_string_equal(titled(11, 11, now + tenth), title);
	/* All threads of a process for one question, but for those with a name of their own. */
	asked = titles_asked;
	thread_name = "logger";
	assert_string_equal(titled(11, 12, now + tenth), "");
	thread_name = "nginx";
	assert_string_equal(titled(11, 13, now + tenth), title);
	assert_int_equal(titles_asked, asked);
	/* Ever less often: an hour of it is not asked about 36,000 times, nor just once. */
	for (uint64_t hour = now + 3600 * SECOND; now < hour; now += tenth)
		titled(11, 11, now);
	assert_in_range(titles_asked - asked, 55, 75);
	/* What is not known now leaves what was known; another program is asked anew. */
	title_answer = -ESRCH;
	assert_string_equal(titled(11, 11, now + 61 * SECOND), title);
	title_answer = 0;
	title = "";
	thread_name = "sleep";
	comm_threads_exec(threads, 11, 11);
	assert_string_equal(titled(11, 11, now + 62 * SECOND), "");
	/* And so is another process of that number. */
	title = thread_name = "x: y";
	comm_threads_exit(threads, 11, now + 63 * SECOND);
	comm_threads_begin(threads, 11, 11, now + 64 * SECOND);
	assert_string_equal(titled(11, 11, now + 65 * SECOND), title);
}

static void threads_are_bounded(void **state)
{
	(void)state;
	for (uint32_t tid = 1; tid < COMM_THREADS_MAX; tid++)
		assert_int_equal(comm_threads_get(threads, tid, tid, 1), tid);
	assert_int_equal(comm_threads_get(threads, 70000, 70000, 1), COMM_ID_OTHER);
	assert_int_equal(comm_threads_get(threads, 5, 5, 1), 5);
	assert_int_equal(comm_threads_get(threads, 5, UINT32_MAX, 1), COMM_ID_OTHER);
	comm_threads_exit(threads, UINT32_MAX, 1);
	comm_threads_renamed(threads, 1, UINT32_MAX);
	/* Each is counted once as long as it lives (COMM_LOSS_THREADS). */
	assert_int_equal(comm_threads_unfiled(threads), 1);
	assert_int_equal(comm_threads_get(threads, 70000, 70000, 2), COMM_ID_OTHER);
	comm_threads_renamed(threads, 70000, 70000);
	assert_int_equal(comm_threads_unfiled(threads), 1);
	comm_threads_exit(threads, 70000, 3);
	assert_int_equal(comm_threads_get(threads, 70000, 70000, 4), COMM_ID_OTHER);
	assert_int_equal(comm_threads_unfiled(threads), 2);
	assert_int_equal(comm_threads_at(threads, COMM_ID_OTHER)->end_ns, 0);
}

static void sites_by_call(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a = comm_sites_get(sites, space, 0x405040, SECOND);
	uint32_t b = comm_sites_get(sites, space, 0x405044, SECOND);

	(void)state;
	assert_int_equal(a, comm_sites_get(sites, space, 0x405041, SECOND));
	assert_int_not_equal(a, b);
	assert_int_equal(comm_sites_at(sites, a)->function, comm_sites_at(sites, b)->function);
	assert_int_equal(comm_sites_at(sites, a)->line, comm_sites_at(sites, b)->line);
	assert_string_equal(comm_sites_at(sites, a)->call_source, "y.c");
	assert_int_equal(comm_sites_at(sites, a)->call_line, 70);
	assert_int_equal(comm_sites_at(sites, b)->call_line, 71);
}

/* A place is given again when its thread has ended for long and is stored; an id never is. */
static void places_are_given_again(void **state)
{
	const uint32_t next = COMM_THREADS_MAX;
	uint64_t later_ns = 3 + 11 * SECOND;

	(void)state;
	for (uint32_t tid = 1; tid < next; tid++)
		assert_int_equal(comm_threads_get(threads, tid, tid, 1), tid);
	comm_threads_exit(threads, 5, 2);
	comm_threads_exit(threads, 7, later_ns);
	/* It has ended, but nobody would know its name. */
	assert_int_equal(comm_threads_get(threads, 70000, 70000, later_ns), COMM_ID_OTHER);
	comm_threads_stored(threads, later_ns);
	assert_int_equal(comm_threads_get(threads, 70001, 70001, later_ns), next + 5);
	assert_int_equal(comm_threads_get(threads, 70001, 70001, later_ns), next + 5);
	assert_int_equal(comm_threads_at(threads, comm_thread_place(next + 5))->tid, 70001);
	assert_int_equal(comm_threads_count(threads), next);
	/* The other has ended a moment ago; the first one's tid is not mistaken for its heir. */
	assert_int_equal(comm_threads_get(threads, 70002, 70002, later_ns), COMM_ID_OTHER);
	assert_int_equal(comm_threads_get(threads, 5, 5, later_ns), COMM_ID_OTHER);
	assert_int_equal(comm_threads_unfiled(threads), 3);
	later_ns += 11 * SECOND;
	comm_threads_stored(threads, later_ns);
	assert_int_equal(comm_threads_get(threads, 70003, 70003, later_ns), next + 7);
	/* One place has so many rounds. */
	for (uint32_t round = 2; round <= COMM_THREAD_ROUNDS_MAX; round++) {
		comm_threads_exit(threads, 70001, later_ns);
		later_ns += 11 * SECOND;
		comm_threads_stored(threads, later_ns);
		assert_int_equal(comm_threads_begin(threads, 70001, 70001, later_ns),
				 round < COMM_THREAD_ROUNDS_MAX ? round * next + 5 : COMM_ID_OTHER);
	}
}

static void sites_by_line(void **state)
{
	struct comm_space *space = comm_space_get(table, 10), *other = comm_space_get(table, 11);
	uint32_t a, b, c, d;

	(void)state;
	a = comm_sites_get(sites, space, 0x401000, SECOND);
	b = comm_sites_get(sites, space, 0x401008, SECOND); /* the same line */
	c = comm_sites_get(sites, space, 0x401040, SECOND); /* inlined */
	d = comm_sites_get(sites, space, 0x402000, SECOND); /* another function */
	assert_true(a > COMM_SITE_KERNEL);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	assert_int_equal(comm_sites_at(sites, a)->function, comm_sites_at(sites, c)->function);
	assert_int_not_equal(comm_sites_at(sites, a)->function, comm_sites_at(sites, d)->function);
	assert_null(comm_sites_at(sites, a)->inlined);
	assert_string_equal(comm_sites_at(sites, c)->inlined, "small");
	assert_string_equal(comm_sites_at(sites, a)->source, "x.c");
	assert_int_equal(comm_sites_at(sites, a)->offset, 0x2000);
	assert_string_equal(comm_sites_function_at(sites, comm_sites_at(sites, a)->function)->name,
			    "f2");
	/* Once per place in a file, whichever process runs it. */
	assert_int_equal(codes_asked, 4);
	for (int i = 0; i < 100; i++)
		assert_int_equal(comm_sites_get(sites, space, 0x401000, 2 * SECOND), a);
	assert_int_equal(comm_sites_get(sites, other, 0x401000, SECOND), a);
	comm_space_changed(table, 10);
	assert_int_equal(comm_sites_get(sites, space, 0x401000, 3 * SECOND), a);
	assert_int_equal(codes_asked, 4);
}

static void no_place(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a = comm_sites_get(sites, space, 0x10, SECOND);
	const struct comm_site *touch;

	(void)state;
	assert_int_equal(comm_sites_get(sites, space, 0xffffffff81000000, SECOND),
			 COMM_SITE_KERNEL);
	assert_int_equal(comm_sites_at(sites, COMM_SITE_KERNEL)->function, COMM_FUNCTION_KERNEL);
	assert_string_equal(comm_sites_function_at(sites, COMM_FUNCTION_KERNEL)->name, "[kernel]");
	touch = comm_sites_at(sites, COMM_SITE_FIRST_WRITE);
	assert_string_equal(comm_sites_function_at(sites, touch->function)->name, "[first write]");
	assert_int_equal(touch->region, COMM_CODE_REGION_OTHER);
	assert_string_equal(comm_sites_function_at(sites, comm_sites_at(sites, a)->function)->name,
			    "[unknown]");
	assert_int_equal(comm_sites_get(sites, space, 0x7fff00000000, SECOND), a);
	assert_int_equal(codes_asked, 0);
}

static void generated_code_is_asked_again(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a, b, c;

	(void)state;
	a = comm_sites_get(sites, space, 0x700010, 10 * SECOND);
	assert_int_equal(comm_sites_get(sites, space, 0x700010, 10 * SECOND + 5), a);
	assert_int_equal(codes_asked, 1);
	jit_name = "compiled";
	b = comm_sites_get(sites, space, 0x700010, 12 * SECOND);
	assert_int_not_equal(a, b);
	/* The same method elsewhere is the same function. */
	c = comm_sites_get(sites, space, 0x700910, 12 * SECOND);
	assert_int_equal(comm_sites_at(sites, b)->function, comm_sites_at(sites, c)->function);
	/* Code at the same address of another process is other code. */
	jit_name = "foreign";
	assert_int_not_equal(
		comm_sites_get(sites, comm_space_get(table, 11), 0x700910, 12 * SECOND), c);
}

static void a_file_that_could_not_be_read_is_tried_again(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);

	(void)state;
	code_answer = -ENOENT;
	comm_sites_get(sites, space, 0x401000, SECOND);
	comm_sites_get(sites, space, 0x401000, 10 * SECOND);
	assert_int_equal(codes_asked, 1);
	code_answer = 0;
	comm_sites_get(sites, space, 0x401000, 12 * SECOND);
	comm_sites_get(sites, space, 0x401000, 99 * SECOND);
	assert_int_equal(codes_asked, 2);
}

static void a_line_that_comes_later(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t before, after;

	(void)state;
	lines_unknown = true;
	before = comm_sites_get(sites, space, 0x401000, SECOND);
	assert_int_equal(comm_sites_at(sites, before)->line, 0);
	assert_null(comm_sites_at(sites, before)->source);
	/* Kept for 0.1 s of event time, however often it is seen. */
	for (uint64_t t = 0; t < 100; t++)
		assert_int_equal(comm_sites_get(sites, space, 0x401000, SECOND + t * 999999),
				 before);
	assert_int_equal(codes_asked, 1);
	assert_int_equal(comm_sites_get(sites, space, 0x401000, SECOND + SECOND / 10), before);
	assert_int_equal(codes_asked, 2);
	lines_unknown = false;
	assert_int_equal(comm_sites_get(sites, space, 0x401000, SECOND + SECOND / 10 + 5), before);
	after = comm_sites_get(sites, space, 0x401000, SECOND + SECOND / 5);
	assert_int_equal(codes_asked, 3);
	assert_int_not_equal(before, after);
	assert_int_equal(comm_sites_at(sites, after)->line, 0x200);
	assert_string_equal(comm_sites_at(sites, after)->source, "x.c");
	/* The early site says the same by now. */
	assert_int_equal(comm_sites_at(sites, before)->line, 0x200);
	assert_string_equal(comm_sites_at(sites, before)->source, "x.c");
	assert_int_equal(comm_sites_at(sites, before)->function,
			 comm_sites_at(sites, after)->function);
	/* From now on the line is known. */
	assert_int_equal(comm_sites_get(sites, space, 0x401000, 99 * SECOND), after);
	assert_int_equal(codes_asked, 3);
}

static const char *function_name(uint32_t site)
{
	return comm_sites_function_at(sites, comm_sites_at(sites, site)->function)->name;
}

/* Two functions of one page of the file, while nobody knows that. */
static void names_that_come_later(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a, b, inside, function;

	(void)state;
	names_unknown = true;
	a = comm_sites_get(sites, space, 0x400ff8, SECOND);
	b = comm_sites_get(sites, space, 0x401000, SECOND);
	inside = comm_sites_within(sites, a, 2);
	function = comm_sites_at(sites, a)->function;
	assert_int_not_equal(function, comm_sites_at(sites, b)->function);
	assert_string_equal(function_name(a), "[unknown]");
	assert_true(comm_sites_function_at(sites, function)->pending);
	/* Of a file that is still being read nobody asks for each place. */
	codes_asked = 0;
	comm_sites_settle(sites);
	assert_int_equal(codes_asked, 1);
	assert_string_equal(function_name(b), "[unknown]");
	names_unknown = false;
	lines_unknown = true;
	comm_sites_settle(sites);
	assert_string_equal(function_name(a), "f1");
	assert_string_equal(function_name(b), "f2");
	assert_string_equal(function_name(inside), "f1");
	assert_int_equal(comm_sites_at(sites, inside)->region, 2);
	assert_int_equal(comm_sites_at(sites, inside)->line, 0);
	/* Calls have the function's number from before. */
	assert_string_equal(comm_sites_function_at(sites, function)->name, "f1");
	assert_false(comm_sites_function_at(sites, function)->pending);
	lines_unknown = false;
	types_known = true;
	comm_sites_settle(sites);
	assert_int_equal(comm_sites_at(sites, inside)->line, 0x1ff);
	assert_string_equal(comm_sites_at(sites, inside)->field, "b");
	assert_int_equal(comm_sites_at(sites, inside)->pending, 0);
	codes_asked = 0;
	comm_sites_settle(sites);
	assert_int_equal(codes_asked, 0);
}

/* What an object says of itself is not overwritten by what its code knows. */
static void a_class_stays_when_names_come(void **state)
{
	uint32_t site;

	(void)state;
	names_unknown = true;
	site = comm_sites_get(sites, comm_space_get(table, 10), 0x401000, SECOND);
	site = comm_sites_of_class(sites, site, "ns::thing", 0);
	names_unknown = false;
	types_known = true;
	comm_sites_settle(sites);
	assert_string_equal(comm_sites_at(sites, site)->type, "thing");
	assert_string_equal(function_name(site), "f2");
}

static void more_names_to_come_than_are_kept(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t first, last = 0;

	(void)state;
	names_unknown = true;
	fake[0].end = 0x40000000;
	first = comm_sites_get(sites, space, 0x400000, SECOND);
	for (uint64_t ip = 0x400000; ip < 0x400000 + (1 << 17); ip++)
		last = comm_sites_get(sites, space, ip, SECOND);
	names_unknown = false;
	comm_sites_settle(sites);
	assert_string_equal(function_name(first), "f1");
	assert_string_equal(function_name(last), "[unknown]");
	assert_int_equal(comm_sites_unfiled(sites), 0);
}

static void waiting_for_lines_is_bounded(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t site = 0;
	int first;

	(void)state;
	lines_unknown = true;
	for (uint64_t ip = 0x400000; ip < 0x400000 + 10000; ip++)
		comm_sites_get(sites, space, ip, SECOND);
	first = codes_asked;
	assert_int_equal(first, 10000);
	for (int round = 1; round <= 10; round++)
		for (uint64_t ip = 0x400000; ip < 0x400000 + 10000; ip++)
			site = comm_sites_get(sites, space, ip,
					      SECOND + (uint64_t)round * SECOND / 10);
	assert_true(codes_asked > first);
	assert_true(codes_asked - first <= 10 * 256);
	/* An address whose line was not asked for again still has its site. */
	assert_int_equal(comm_sites_at(sites, site)->line, 0);
	assert_string_equal(
		comm_sites_function_at(sites, comm_sites_at(sites, site)->function)->name, "f3");
	/* A new address is asked for at once. */
	first = codes_asked;
	comm_sites_get(sites, space, 0x410000, 2 * SECOND);
	assert_int_equal(codes_asked, first + 1);
	/* In the end all lines are known. */
	lines_unknown = false;
	for (int round = 1; round <= 50; round++)
		for (uint64_t ip = 0x400000; ip < 0x400000 + 10000; ip++)
			comm_sites_get(sites, space, ip, (uint64_t)round * 3 * SECOND);
	for (uint64_t ip = 0x400000; ip < 0x400000 + 10000; ip += 7) {
		site = comm_sites_get(sites, space, ip, 999 * SECOND);
		assert_int_equal(comm_sites_at(sites, site)->line, (ip - 0x400000 + 0x1000) >> 4);
	}
}

static void many_places(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t first = comm_sites_get(sites, space, 0x400000, SECOND);

	(void)state;
	fake[0].end = 0x40000000;
	comm_space_changed(table, 10);
	for (uint64_t ip = 0x400000; ip < 0x400000 + (1 << 20); ip++)
		comm_sites_get(sites, space, ip, 2 * SECOND);
	assert_int_equal(comm_sites_get(sites, space, 0x400000, 2 * SECOND), first);
	/* In each page one line is inlined twice. */
	assert_int_equal(comm_sites_count(sites), 6 + (1 << 16) + 256);
	assert_int_equal(comm_sites_functions(sites), 6 + 256);
	/* Past the limit everything is (other). */
	for (uint64_t ip = 0x400000; ip < 0x400000 + (5 << 20); ip += 16)
		comm_sites_get(sites, space, ip, 2 * SECOND);
	assert_int_equal(comm_sites_count(sites), COMM_SITES_MAX);
	assert_int_equal(comm_sites_get(sites, space, 0x400000 + (5 << 20), 2 * SECOND),
			 COMM_ID_OTHER);
	fake[0].end = 0x500000;
}

/* What is read tells sites of one line apart, also inside a region. */
static void types_make_sites(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a, b;

	(void)state;
	types_known = true;
	a = comm_sites_get(sites, space, 0x400304, SECOND);
	b = comm_sites_get(sites, space, 0x400308, SECOND);
	assert_int_not_equal(a, b);
	assert_int_equal(comm_sites_get(sites, space, 0x400306, SECOND), a);
	assert_int_equal(comm_sites_at(sites, a)->line, comm_sites_at(sites, b)->line);
	assert_string_equal(comm_sites_at(sites, a)->type, "struct s");
	assert_string_equal(comm_sites_at(sites, b)->field, "b");
	assert_int_equal(comm_sites_at(sites, b)->field_offset, 8);
	b = comm_sites_within(sites, b, 2);
	assert_string_equal(comm_sites_at(sites, b)->field, "b");
	assert_int_equal(comm_sites_at(sites, b)->region, 2);
	types_known = false;
	assert_null(comm_sites_at(sites, comm_sites_get(sites, space, 0x400404, SECOND))->type);
}

static void regions_leave_room_for_plain_sites(void **state)
{
	uint32_t site = comm_sites_get(sites, comm_space_get(table, 1), 0x400100, SECOND);
	uint32_t inside = comm_sites_within(sites, site, 2), n;

	(void)state;
	assert_int_equal(comm_sites_within(sites, site, COMM_CODE_REGION_NONE), site);
	assert_int_equal(comm_sites_within(sites, site, 2), inside);
	assert_int_equal(comm_sites_at(sites, inside)->region, 2);
	assert_int_equal(comm_sites_at(sites, inside)->line, comm_sites_at(sites, site)->line);
	assert_int_equal(comm_sites_within(sites, COMM_ID_OTHER, 2), COMM_ID_OTHER);
	for (n = 0; comm_sites_within(sites, site, 3 + n) != COMM_ID_OTHER; n++)
		assert_true(n < COMM_SITES_MAX);
	assert_int_equal(n, COMM_SITES_MAX / 2 - 1);
	assert_int_equal(comm_sites_unfiled(sites), 1);
	assert_int_not_equal(comm_sites_get(sites, comm_space_get(table, 1), 0x400200, SECOND),
			     COMM_ID_OTHER);
}

static void callers_leave_room_for_plain_sites(void **state)
{
	uint32_t site = comm_sites_get(sites, comm_space_get(table, 1), 0x400100, SECOND);
	uint32_t called = comm_sites_called(sites, site, 2), n;

	(void)state;
	assert_int_equal(comm_sites_called(sites, site, COMM_ID_OTHER), site);
	assert_int_equal(comm_sites_called(sites, site, 2), called);
	assert_int_not_equal(called, site);
	assert_int_equal(comm_sites_at(sites, called)->caller, 2);
	assert_int_equal(comm_sites_at(sites, called)->line, comm_sites_at(sites, site)->line);
	assert_int_equal(comm_sites_called(sites, COMM_ID_OTHER, 2), COMM_ID_OTHER);
	/* Past the limit a site does without, which is counted. */
	for (n = 0; comm_sites_called(sites, site, 3 + n) != site; n++)
		assert_true(n < COMM_SITES_MAX);
	assert_int_equal(n, COMM_SITES_MAX / 4 - 1);
	assert_int_equal(comm_sites_unfiled(sites), 1);
}

/* Past half of the ids a path loses its outer part, past all of them the callers, too. */
static void calls_are_bounded(void **state)
{
	struct comm_calls *calls;
	uint32_t first, inner, n;

	(void)state;
	assert_int_equal(comm_calls_create(&calls), 0);
	first = comm_calls_get(calls, 7, COMM_CALL_OUTERMOST);
	inner = comm_calls_get(calls, 8, first);
	assert_int_equal(comm_calls_get(calls, 7, COMM_CALL_OUTERMOST), first);
	assert_int_not_equal(comm_calls_get(calls, 7, COMM_CALL_UNKNOWN), first);
	assert_int_equal(comm_calls_at(calls, inner)->parent, first);
	assert_int_equal(comm_calls_at(calls, inner)->function, 8);
	for (n = 0; !comm_calls_unfiled(calls); n++)
		comm_calls_get(calls, 100 + n, first);
	assert_int_equal(comm_calls_count(calls), COMM_CALLS_MAX / 2 + 1);
	n = comm_calls_get(calls, 5000000, first);
	assert_int_equal(comm_calls_at(calls, n)->function, 5000000);
	assert_int_equal(comm_calls_at(calls, n)->parent, COMM_CALL_UNKNOWN);
	assert_int_equal(comm_calls_unfiled(calls), 2);
	for (n = 0; comm_calls_get(calls, 6000000 + n, COMM_CALL_UNKNOWN); n++)
		assert_true(n < COMM_CALLS_MAX);
	assert_int_equal(comm_calls_count(calls), COMM_CALLS_MAX);
	assert_int_equal(comm_calls_unfiled(calls), 3);
	assert_int_equal(comm_calls_get(calls, 8, first), inner);
	comm_calls_destroy(calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads_are_dense, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_of_a_pool_are_of_one_role, setup, teardown),
		cmocka_unit_test_setup_teardown(a_tid_that_comes_back_is_another_thread, setup,
						teardown),
		cmocka_unit_test_setup_teardown(names, setup, teardown),
		cmocka_unit_test_setup_teardown(names_that_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(titles, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(places_are_given_again, setup, teardown),
		cmocka_unit_test_setup_teardown(sites_by_line, setup, teardown),
		cmocka_unit_test_setup_teardown(sites_by_call, setup, teardown),
		cmocka_unit_test_setup_teardown(callers_leave_room_for_plain_sites, setup,
						teardown),
		cmocka_unit_test(calls_are_bounded),
		cmocka_unit_test_setup_teardown(no_place, setup, teardown),
		cmocka_unit_test_setup_teardown(generated_code_is_asked_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_that_could_not_be_read_is_tried_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_line_that_comes_later, setup, teardown),
		cmocka_unit_test_setup_teardown(names_that_come_later, setup, teardown),
		cmocka_unit_test_setup_teardown(a_class_stays_when_names_come, setup, teardown),
		cmocka_unit_test_setup_teardown(more_names_to_come_than_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(waiting_for_lines_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(many_places, setup, teardown),
		cmocka_unit_test_setup_teardown(types_make_sites, setup, teardown),
		cmocka_unit_test_setup_teardown(regions_leave_room_for_plain_sites, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Ids, names, roles and titles of threads. */
#include "thread.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000000;

static int names_asked, titles_asked, title_answer;
static const char *thread_name, *title;

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

static const char *given_name; /* of all threads; NULL: none has one */
static int given_asked;

static int fake_given_name(void *ctx, uint32_t tgid, uint32_t tid, char ret[COMM_THREAD_NAME_BYTES])
{
	(void)ctx;
	(void)tgid;
	(void)tid;
	given_asked++;
	if (!given_name)
		return -ENOENT;
	memset(ret, 0xcc, COMM_THREAD_NAME_BYTES);
	snprintf(ret, COMM_THREAD_NAME_BYTES, "%s", given_name);
	return 0;
}

static const struct comm_inspect_ops ops = {
	.thread_name = fake_thread_name, .title = fake_title, .given_name = fake_given_name};
static const struct comm_inspect inspect = {.ops = &ops};
static struct comm_threads *threads;

static int setup(void **state)
{
	(void)state;
	names_asked = titles_asked = title_answer = given_asked = 0;
	given_name = NULL;
	title = "";
	thread_name = "worker";
	return comm_threads_create(&inspect, &threads);
}

static int teardown(void **state)
{
	(void)state;
	comm_threads_destroy(threads);
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

static const char *named(uint32_t tid, uint64_t now_ns)
{
	return comm_threads_at(threads, comm_threads_get(threads, 10, tid, now_ns))->name;
}

static void tell_name(enum comm_event_kind kind, uint32_t tid, const char *told, uint64_t now_ns)
{
	struct comm_event event = {.kind = kind, .tgid = 10, .tid = tid, .time_ns = now_ns};

	snprintf(event.name, sizeof(event.name), "%s", told);
	comm_threads_named(threads, &event);
}

static void names_that_the_program_gives(void **state)
{
	const uint64_t tenth = SECOND / 10;
	uint32_t role;
	int asked;

	(void)state;
	thread_name = "python3";
	title = "python3: shop";
	given_name = "parser-1";
	/* The first thread is its process, which has a title. */
	assert_string_equal(named(10, 0), "python3");
	assert_string_equal(comm_threads_at(threads, comm_threads_find(threads, 10, 10))->title,
			    title);
	assert_int_equal(given_asked, 0);
	assert_string_equal(named(11, 0), "parser-1");
	assert_string_equal(comm_threads_at(threads, comm_threads_find(threads, 10, 11))->title,
			    "");
	role = comm_threads_role(threads, comm_threads_find(threads, 10, 11));
	/* A title that would fit it is its process's. */
	given_name = "python3: parser";
	assert_string_equal(named(13, 0), given_name);
	assert_string_equal(comm_threads_at(threads, comm_threads_find(threads, 10, 13))->title,
			    "");
	/* It may come late, or be another one later. */
	given_name = NULL;
	assert_string_equal(named(12, 0), "python3");
	assert_string_equal(named(11, tenth), "parser-1");
	given_name = "parser-2";
	assert_string_equal(named(12, tenth - 1), "python3");
	assert_string_equal(named(12, tenth), "parser-2");
	assert_int_equal(comm_threads_role(threads, comm_threads_find(threads, 10, 12)), role);
	given_name = "a\nb";
	assert_string_equal(named(12, 3 * tenth), "a\\x0ab");
	/* Ever less often. */
	asked = given_asked;
	for (uint64_t now = tenth; now < 3600 * SECOND; now += tenth)
		named(12, now);
	assert_in_range(given_asked - asked, 55, 75);
}

static void who_names_itself_keeps_its_name(void **state)
{
	const struct comm_thread *t;
	uint64_t now = 0;

	(void)state;
	given_name = "given";
	thread_name = "shop";
	assert_string_equal(named(10, now), "shop");
	assert_string_equal(named(11, now), "given");
	thread_name = "logger";
	assert_string_equal(named(12, now), "logger");
	/* As the interpreter is called, though its process is called something else by now. */
	thread_name = "python3.11";
	assert_string_equal(named(13, now), "given");
	thread_name = "pythonic";
	assert_string_equal(named(14, now), "pythonic");
	/* At its end it is told the kernel's name, which is not its own. */
	tell_name(COMM_EV_EXIT, 11, "shop", now);
	t = comm_threads_at(threads, comm_thread_place(comm_threads_find(threads, 10, 11)));
	assert_string_equal(t->name, "given");
	/* Then it names itself, and what it names itself last holds. */
	tell_name(COMM_EV_RENAME, 11, "disk", now);
	assert_string_equal(named(11, now), "disk");
	assert_string_equal(named(11, now + 61 * SECOND), "disk");
	tell_name(COMM_EV_RENAME, 11, "shop", now);
	assert_string_equal(named(11, now), "given");
}

/* Whose process's first thread was not seen: it is asked for its name. */
static void names_without_the_first_thread(void **state)
{
	(void)state;
	given_name = "given";
	thread_name = "shop";
	assert_string_equal(named(11, 0), "given");
	thread_name = NULL;
	assert_string_equal(named(12, 0), "?");
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

/* A place is given again when its thread has ended for long and is stored; an id never is. */
static void places_are_given_again(void **state)
{
	const uint32_t next = COMM_THREADS_MAX;
	uint64_t later_ns = 3 + 11 * SECOND;

	(void)state;
	given_name = "given";
	for (uint32_t tid = 1; tid < next; tid++)
		assert_int_equal(comm_threads_get(threads, tid == 5 ? 4 : tid, tid, 1), tid);
	assert_string_equal(comm_threads_at(threads, 5)->name, "given");
	given_name = NULL;
	comm_threads_exit(threads, 5, 2);
	comm_threads_exit(threads, 7, later_ns);
	/* It has ended, but nobody would know its name. */
	assert_int_equal(comm_threads_get(threads, 70000, 70000, later_ns), COMM_ID_OTHER);
	comm_threads_stored(threads, later_ns);
	assert_int_equal(comm_threads_get(threads, 70001, 70001, later_ns), next + 5);
	assert_int_equal(comm_threads_get(threads, 70001, 70001, later_ns), next + 5);
	assert_int_equal(comm_threads_at(threads, comm_thread_place(next + 5))->tid, 70001);
	assert_string_equal(comm_threads_at(threads, 5)->name, "worker");
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(threads_are_dense),
		TEST(threads_of_a_pool_are_of_one_role),
		TEST(a_tid_that_comes_back_is_another_thread),
		TEST(names),
		TEST(names_that_are_told),
		TEST(titles),
		TEST(names_that_the_program_gives),
		TEST(who_names_itself_keeps_its_name),
		TEST(names_without_the_first_thread),
		TEST(threads_are_bounded),
		TEST(places_are_given_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

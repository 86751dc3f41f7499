// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Marks: a process goes in and out of a region, and each sample's instruction tells where it
 * was.  It also counts frames, says that it wants no samples, and becomes another image.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cptest.h"

enum { NAME = 0x1234, TURNS = 2000, ENOUGH = 20 };

/* As <comm/mark.h> has them. */
static __thread struct {
	uint64_t depth, name[CP_MARK_DEPTH];
} stack __attribute__((tls_model("local-exec")));

/* Of parent and child together. */
static volatile struct words {
	uint32_t stopped, changes;
	uint64_t frame;
	uint64_t become; /* another image */
} * words;

extern const char mark_inside[], mark_inside_end[], mark_outside[], mark_outside_end[];

static __attribute__((noinline, noclone)) void spin_inside(void)
{
	uint64_t turns = TURNS;

	asm volatile(".globl mark_inside, mark_inside_end\n"
		     "mark_inside: decq %0\n"
		     "jnz mark_inside\n"
		     "mark_inside_end:\n"
		     : "+r"(turns)
		     :
		     : "memory");
}

static __attribute__((noinline, noclone)) void spin_outside(void)
{
	uint64_t turns = TURNS;

	asm volatile(".globl mark_outside, mark_outside_end\n"
		     "mark_outside: decq %0\n"
		     "jnz mark_outside\n"
		     "mark_outside_end:\n"
		     : "+r"(turns)
		     :
		     : "memory");
}

static void work(void *unused)
{
	(void)unused;
	/* One ring: frames come in the order in which they were told. */
	pin(0);
	for (uint64_t n = 0;; n++) {
		stack.name[0] = NAME;
		asm volatile("" ::: "memory");
		stack.depth = 1;
		asm volatile("" ::: "memory");
		spin_inside();
		asm volatile("" ::: "memory");
		stack.depth = 0;
		asm volatile("" ::: "memory");
		spin_outside();
		words->frame += n % 64 == 0;
		if (words->become && !setenv("IMAGES", words->become > 1 ? "8" : "1", 1))
			execl("/proc/self/exe", "cptest", "mark-image", NULL);
	}
}

/* As if it were in a region, but nobody has told of this image. */
void test_mark_image(void)
{
	const char *left = getenv("IMAGES");
	char fewer[2] = {left && *left ? (char)(*left - 1) : '0'};

	/* Where the first image's memory was described another's may be by then. */
	if (fewer[0] > '0') {
		setenv("IMAGES", fewer, 1);
		execl("/proc/self/exe", "cptest", "mark-image", NULL);
	}
	stack.name[0] = NAME;
	stack.depth = 1;
	asm volatile("" ::"r"(&stack) : "memory");
	for (;;)
		spin_inside();
}

struct tally {
	uint32_t pid;
	uint64_t time_ns; /* of the mark that came last */
	bool marked;	  /* it told of a region */
	uint64_t frame, frames, backward;
	uint64_t inside, outside, least, wrong, samples, marks;
};

static void take(const struct cp_record *record, void *argument)
{
	struct tally *t = argument;
	const struct cp_mark *mark = (const void *)record;
	const struct cp_sample *sample = (const void *)record;
	bool marked;

	if (record->tgid != t->pid)
		return;
	if (record->type == CP_REC_MARK) {
		t->marks++;
		t->time_ns = record->time_ns;
		t->marked = mark->depth;
		t->wrong += mark->depth > 1 || (mark->depth && mark->name[0] != NAME);
		if (mark->frame) {
			t->frames++;
			t->backward += mark->frame <= t->frame;
			t->frame = mark->frame;
		}
		return;
	}
	if (record->type != CP_REC_SAMPLE)
		return;
	t->samples++;
	marked = t->time_ns == record->time_ns && t->marked;
	if (sample->ip >= (uint64_t)mark_inside && sample->ip < (uint64_t)mark_inside_end) {
		t->inside++;
		t->wrong += !marked;
	} else if (sample->ip >= (uint64_t)mark_outside &&
		   sample->ip < (uint64_t)mark_outside_end) {
		t->outside++;
		t->wrong += marked;
	}
	t->least = t->inside < t->outside ? t->inside : t->outside;
}

static void marks(const char *from, uint32_t type)
{
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST | CP_SOURCE_JITTER,
		.type = type,
		.period = 1000000,
	};
	struct tally tally = {}, stopped = {}, image = {};
	struct cp_stats stats = {};
	struct cp_reader *reader;
	uint64_t pointer;
	char name[80];
	pid_t pid;
	int err;

	words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	asm("mov %%fs:0, %0" : "=r"(pointer));
	pid = spawn(work, NULL);
	tally.pid = stopped.pid = image.pid = pid;
	reader = session(pid);
	cp_reader_source(reader, &source);
	/* The child is a fork: all stands where it does here. */
	err = cp_reader_marks(reader, pid, (int64_t)((uint64_t)&stack - pointer), (uint64_t)words);
	run_until(reader, 500, take, &tally, &tally.least, ENOUGH);
	snprintf(name, sizeof(name), "marks: regions as they are at the sample, %s", from);
	check(!err && tally.least >= ENOUGH && !tally.wrong, name,
	      "%lu inside, %lu outside, %lu wrong", tally.inside, tally.outside, tally.wrong);
	snprintf(name, sizeof(name), "marks: each frame is told once, %s", from);
	check(tally.frames > 1 && !tally.backward && tally.frame <= words->frame, name,
	      "%lu told, %lu not later than the one before", tally.frames, tally.backward);
	words->stopped = 1;
	for (uint64_t end = now_ns() + LIMIT_S * 1000000000ull;
	     !stats.lost[CP_LOST_STOPPED] && now_ns() < end; cp_reader_stats(reader, &stats))
		run(reader, 300, take, &stopped);
	snprintf(name, sizeof(name), "marks: no sample of who wants none, %s", from);
	check(stats.lost[CP_LOST_STOPPED] && !stopped.samples && !stopped.marks, name,
	      "%llu dropped, %lu samples, %lu marks", stats.lost[CP_LOST_STOPPED], stopped.samples,
	      stopped.marks);
	words->become = type == 1 ? 1 : 2;
	run_until(reader, 500, take, &image, &image.samples, ENOUGH);
	snprintf(name, sizeof(name), "marks: none of the image after exec, %s", from);
	check(image.samples >= ENOUGH && !image.marks, name, "%lu samples, %lu marks",
	      image.samples, image.marks);
	cp_reader_destroy(reader);
	reap(pid);
	munmap((void *)words, 4096);
}

void test_marks(void)
{
	marks("timer", 1);
	marks("NMI", pmu_type("standin"));
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel copies: a process goes through every call that writes its memory, each
 * into a buffer of its own, so a record's address says which call it was and how
 * long it must be.  Another makes calls that write none.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cptest.h"

enum call {
	READ,
	PREAD,
	READV,
	PREADV,
	PREADV2,
	RECVFROM,
	RECVMSG,
	RECVMMSG,
	GETRANDOM,
	GETDENTS,
	CALLS,
};

static const char *const call_name[CALLS] = {"read",	  "pread",    "readv",	 "preadv",
					     "preadv2",	  "recvfrom", "recvmsg", "recvmmsg",
					     "getrandom", "getdents"};

enum {
	PART_BYTES = 1 << 16,
	PARTS = 2, /* of those that take vectors */
	DATAGRAM_BYTES = 1 << 15,
	TURNS = 8,
	RANDOM_BYTES = 4096, /* the slowest to make */
};

/* Where each call puts its data, and how long each buffer is; 0: there is none. */
struct ground {
	uint8_t buffer[CALLS][PARTS][PART_BYTES];
	uint32_t bytes[CALLS][PARTS];
};

/* Memory that a fork shares. */
static void *common(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE,
		    -1, 0);
}

static void receive(struct ground *g, const int *pair, enum call call)
{
	struct iovec part = {g->buffer[call][0], PART_BYTES};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};

	for (int i = 0; i < 4 * TURNS; i++) {
		send(pair[0], g->buffer[READ][0], DATAGRAM_BYTES, 0);
		if (call == RECVFROM)
			recvfrom(pair[1], g->buffer[call][0], PART_BYTES, 0, NULL, NULL);
		else if (call == RECVMSG)
			recvmsg(pair[1], &message.msg_hdr, 0);
		else
			recvmmsg(pair[1], &message, 1, 0, NULL);
	}
}

static void fetch(struct ground *g, int zero, enum call call)
{
	struct iovec part[PARTS] = {{g->buffer[call][0], PART_BYTES},
				    {g->buffer[call][1], PART_BYTES / 2}};

	for (int i = 0; i < TURNS; i++) {
		switch (call) {
		case READ:
			syscall(SYS_read, zero, g->buffer[call][0], PART_BYTES);
			break;
		case PREAD:
			syscall(SYS_pread64, zero, g->buffer[call][0], PART_BYTES, 0);
			break;
		case READV:
			syscall(SYS_readv, zero, part, PARTS);
			break;
		case PREADV:
			syscall(SYS_preadv, zero, part, PARTS, 0, 0);
			break;
		case PREADV2:
			syscall(SYS_preadv2, zero, part, PARTS, 0, 0, 0);
			break;
		default:
			syscall(SYS_getrandom, g->buffer[call][0], RANDOM_BYTES, 0);
		}
	}
}

static void calls(void *argument)
{
	struct ground *g = argument;
	int zero = open("/dev/zero", O_RDONLY), folder = open("/proc", O_RDONLY), pair[2];

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	for (;;) {
		for (enum call call = 0; call < CALLS; call++) {
			if (call >= RECVFROM && call <= RECVMMSG) {
				receive(g, pair, call);
			} else if (call == GETDENTS) {
				lseek(folder, 0, SEEK_SET);
				syscall(SYS_getdents64, folder, g->buffer[call][0], PART_BYTES);
			} else {
				fetch(g, zero, call);
			}
		}
	}
}

/* Calls that write nothing of ours, and page faults. */
static void others(void *argument)
{
	int null = open("/dev/null", O_WRONLY);
	char *page;

	for (;;) {
		for (int i = 0; i < TURNS; i++) {
			write(null, argument, PART_BYTES);
			getppid();
		}
		page = mmap(NULL, 64 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
		for (int i = 0; i < 64; i++)
			page[i << 12] = 1;
		munmap(page, 64 << 12);
	}
}

struct tally {
	const struct ground *ground;
	pid_t pid;
	uint64_t of[CALLS][PARTS], least, wrong, foreign, samples, records;
	struct cp_access bad;
};

static void take(const struct cp_record *record, void *argument)
{
	struct tally *tally = argument;
	const struct cp_access *copy = (const void *)record;
	const struct ground *g = tally->ground;
	uint64_t at = copy->addr - (uint64_t)g->buffer;
	uint64_t call = at / sizeof(g->buffer[0]), part = at / PART_BYTES % PARTS;

	tally->records++;
	tally->samples += record->type == CP_REC_SAMPLE;
	if (record->type != CP_REC_COPY)
		return;
	if (record->tgid != (uint32_t)tally->pid) {
		tally->foreign++;
		return;
	}
	/* The code is a fork's: at the same place as ours.  It is behind a syscall. */
	if (at >= sizeof(g->buffer) || at % PART_BYTES || !g->bytes[call][part] ||
	    copy->size_bytes != g->bytes[call][part] ||
	    copy->flags != (CP_ACCESS_WRITE | CP_ACCESS_KERNEL | CP_ACCESS_IP_AFTER) ||
	    memcmp((const void *)(copy->ip - 2), "\x0f\x05", 2)) {
		tally->wrong++;
		tally->bad = *copy;
		return;
	}
	tally->of[call][part]++;
	tally->least = ~0ull;
	for (int i = 0; i < CALLS * PARTS; i++)
		if (g->bytes[i / PARTS][i % PARTS] &&
		    tally->of[i / PARTS][i % PARTS] < tally->least)
			tally->least = tally->of[i / PARTS][i % PARTS];
}

static void copies(const char *from, uint32_t type, uint32_t flags)
{
	struct ground *g = common(sizeof(*g));
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct tally tally = {.ground = g};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = flags | CP_SOURCE_JITTER,
		.type = type,
		.period = 300000,
		.stack_bytes = flags & CP_SOURCE_BURST ? 64 : 0,
	};
	struct cp_reader *reader;
	char name[80], list[256] = "";
	int used = 0;
	pid_t other;

	for (enum call call = 0; call < CALLS; call++) {
		g->bytes[call][0] = PART_BYTES;
		if (call >= READV && call <= PREADV2)
			g->bytes[call][1] = PART_BYTES / 2;
	}
	g->bytes[GETRANDOM][0] = RANDOM_BYTES;
	tally.pid = spawn(calls, g);
	other = spawn(others, g);
	reader = session(tally.pid);
	cp_reader_target(reader, CP_TARGET_TGID, 0, other);
	cp_reader_budget(reader, &budget);
	snprintf(name, sizeof(name), "copies: every call's buffers, %s", from);
	if (cp_reader_source(reader, &source))
		check(false, name, "no source");
	run_until(reader, 1000, take, &tally, &tally.least, 6);
	for (enum call call = 0; call < CALLS; call++)
		used += snprintf(list + used, sizeof(list) - used, " %s %lu+%lu", call_name[call],
				 tally.of[call][0], tally.of[call][1]);
	check(tally.least >= 3 && !tally.wrong, name, "%lu wrong (%#llx, %llu bytes, flags %#x);%s",
	      tally.wrong, tally.bad.addr, tally.bad.size_bytes, tally.bad.flags, list);
	snprintf(name, sizeof(name), "copies: none of other calls, %s", from);
	check(!tally.foreign && !!tally.samples == !!(flags & CP_SOURCE_BURST), name,
	      "%lu, with %lu samples of user mode", tally.foreign, tally.samples);
	cp_reader_destroy(reader);
	reap(tally.pid);
	reap(other);
	munmap(g, sizeof(*g));
}

/* Where the reads of a child that reads and then calls for something else go. */
struct over {
	uint8_t read[64], never[64];
	struct iovec part;
};

/*
 * The vector is another one as soon as the read is over.  Whoever takes the frame
 * of that call for the next one's, which has not made its own yet, finds it.
 */
static void reads(void *argument)
{
	struct over *over = argument;
	volatile struct iovec *part = &over->part;
	int zero = open("/dev/zero", O_RDONLY);

	part->iov_len = sizeof(over->read);
	for (;;) {
		part->iov_base = over->read;
		syscall(SYS_readv, zero, part, 1);
		part->iov_base = over->never;
		getppid();
	}
}

struct outcome {
	const struct over *over;
	uint64_t right, wrong;
};

static void judge(const struct cp_record *record, void *argument)
{
	struct outcome *outcome = argument;
	const struct cp_access *copy = (const void *)record;

	if (record->type != CP_REC_COPY)
		return;
	outcome->right += copy->addr == (uint64_t)outcome->over->read;
	outcome->wrong += copy->addr != (uint64_t)outcome->over->read;
}

static void finished(uint32_t type)
{
	struct over *over = common(sizeof(*over));
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct outcome outcome = {.over = over};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST | CP_SOURCE_COPIES | CP_SOURCE_JITTER,
		.type = type,
		.period = 300000,
	};
	struct cp_reader *reader;
	pid_t pid = spawn(reads, over);

	reader = session(pid);
	cp_reader_budget(reader, &budget);
	cp_reader_source(reader, &source);
	run_until(reader, 1000, judge, &outcome, &outcome.right, 500);
	check(outcome.right && !outcome.wrong, "copies: none of a call that is over",
	      "%lu right, %lu wrong", outcome.right, outcome.wrong);
	cp_reader_destroy(reader);
	reap(pid);
	munmap(over, sizeof(*over));
}

/* Number 45 is brk() of 32-bit code, and would be recvfrom() of 64-bit code. */
static void calls_of_32_bits(void *buffer)
{
	asm volatile("1: movl $45, %%eax\n"
		     "xorl %%ebx, %%ebx\n"
		     "xorl %%ecx, %%ecx\n"
		     "movl $64, %%edx\n"
		     "movq %0, %%rsi\n"
		     "int $0x80\n"
		     "jmp 1b\n"
		     :
		     : "r"(buffer)
		     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
}

struct copied {
	uint64_t copies, samples;
};

static void count_copies(const struct cp_record *record, void *argument)
{
	struct copied *copied = argument;

	copied->copies += record->type == CP_REC_COPY;
	copied->samples += record->type == CP_REC_SAMPLE;
}

static void of_32_bits(uint32_t type)
{
	void *buffer = common(4096);
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct copied copied = {};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST | CP_SOURCE_COPIES | CP_SOURCE_JITTER,
		.type = type,
		.period = 300000,
	};
	struct cp_reader *reader;
	pid_t pid = spawn(calls_of_32_bits, buffer);

	reader = session(pid);
	cp_reader_budget(reader, &budget);
	cp_reader_source(reader, &source);
	run_until(reader, 1000, count_copies, &copied, &copied.samples, 30);
	check(copied.samples >= 30 && !copied.copies, "copies: none of 32-bit calls",
	      "%lu, with %lu samples of user mode", copied.copies, copied.samples);
	cp_reader_destroy(reader);
	reap(pid);
	munmap(buffer, 4096);
}

/* Unasked there are none: what the kernel does stays its own affair. */
static void unasked(void)
{
	struct ground *g = common(sizeof(*g));
	struct tally tally = {.ground = g};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST | CP_SOURCE_JITTER,
		.type = 1,
		.period = 300000,
	};
	struct cp_reader *reader;

	tally.pid = spawn(calls, g);
	reader = session(tally.pid);
	cp_reader_source(reader, &source);
	run_until(reader, 500, take, &tally, &tally.samples, 9);
	check(tally.samples && tally.records == tally.samples, "copies: none unasked",
	      "%lu records, %lu of user mode", tally.records, tally.samples);
	cp_reader_destroy(reader);
	reap(tally.pid);
	munmap(g, sizeof(*g));
}

void test_copies(void)
{
	copies("timer", 1, CP_SOURCE_BURST | CP_SOURCE_COPIES);
	copies("NMI", pmu_type("standin"), CP_SOURCE_BURST | CP_SOURCE_COPIES);
	finished(pmu_type("standin"));
	of_32_bits(pmu_type("standin"));
	unasked();
}

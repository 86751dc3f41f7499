// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bursts: what a sample holds must be what was there.  The target walks a list
 * whose nodes never change, so every captured byte can be compared with ours, and
 * the walk from the sampled node must be possible from the sample alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cptest.h"

struct node {
	struct node *next;
	uint64_t payload[7];
};

enum { NODES = 4096 };

struct list {
	struct node *nodes;
	uint64_t fs_base; /* of the walker */
};

/* rbx walks; r12 and xmm5 hold marks; the red zone holds another. */
static void walk(void *argument)
{
	struct list *list = argument;

	syscall(SYS_arch_prctl, 0x1003, &list->fs_base);
	asm volatile("movq $0x1234567, %%r12\n"
		     "movq $0x7654321, %%rax\n"
		     "movq %%rax, %%xmm5\n"
		     "movq %%rax, -16(%%rsp)\n"
		     "1: movq (%%rbx), %%rbx\n"
		     "addq 8(%%rbx), %%rdx\n"
		     "jmp 2f\n"
		     "2: addq 16(%%rbx), %%rdx\n"
		     "jmp 1b\n"
		     :
		     : "b"(list->nodes)
		     : "rax", "rdx", "r12", "xmm5", "memory");
}

struct tally {
	struct list *list;
	uint64_t samples, bad_header, bad_registers, bad_bytes, bytes, chunks, no_stack, no_vector,
		hops, min_hops, bad_size;
};

static const uint64_t *held(const struct cp_sample *sample, uint64_t addr)
{
	const struct cp_chunk *chunk = NULL;

	while ((chunk = cp_sample_chunk(sample, chunk)))
		if (addr - chunk->addr < chunk->len_bytes)
			return (const uint64_t *)((const uint8_t *)(chunk + 1) +
						  (addr - chunk->addr));
	return NULL;
}

static void take(const struct cp_record *record, void *argument)
{
	struct tally *tally = argument;
	const struct cp_sample *sample = (const void *)record;
	const struct cp_chunk *chunk = NULL;
	uint64_t base = (uint64_t)tally->list->nodes, at, hops = 0, n = 0, bytes = 0;
	const uint64_t *word;

	if (record->type != CP_REC_SAMPLE) {
		tally->bad_header++;
		return;
	}
	if (sample->reg[12] != 0x1234567)
		return; /* not in the loop yet */
	tally->samples++;
	if (sample->known != (1 << 18) - 1 || record->mode_bits != 64 ||
	    sample->n_chunks > CP_MAX_CHUNKS || sample->data_bytes > CP_MAX_DATA_BYTES)
		tally->bad_header++;
	if (sample->reg[3] - base >= NODES * sizeof(struct node) ||
	    sample->reg[16] != tally->list->fs_base || !(sample->flags & 0x200))
		tally->bad_registers++;
	while ((chunk = cp_sample_chunk(sample, chunk))) {
		const void *data = chunk + 1;

		n++;
		bytes += chunk->len_bytes;
		if (chunk->addr - base < NODES * sizeof(struct node)) {
			tally->bytes += chunk->len_bytes;
			tally->bad_bytes += !!memcmp(data, (void *)chunk->addr, chunk->len_bytes);
		}
	}
	tally->chunks += n;
	tally->bad_size += n != sample->n_chunks || bytes != sample->data_bytes;
	word = held(sample, sample->reg[4] - 16);
	tally->no_stack += !word || *word != 0x7654321;
	if (sample->vector_bytes != CP_VECTOR_BYTES)
		tally->no_vector++;
	else
		tally->no_vector += ((const uint64_t *)(sample + 1))[10] != 0x7654321;
	/* The chase, from the sample alone. */
	for (at = sample->reg[3]; (word = held(sample, at)); at = *word)
		hops++;
	tally->hops += hops;
	if (hops < tally->min_hops)
		tally->min_hops = hops;
}

static void burst(const char *from, uint32_t type, uint32_t period)
{
	char name[4][80];
	struct list *list =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tally tally = {.list = list, .min_hops = ~0ull};
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST | CP_SOURCE_VECTOR | CP_SOURCE_JITTER,
		.type = type,
		.period = period,
		.stack_bytes = 256,
		.chunk_bytes = 64,
		.depth = 4,
	};
	struct cp_reader *reader;
	struct cp_stats stats;
	uint32_t order[NODES];
	pid_t pid;

	list->nodes = mmap(NULL, NODES * sizeof(struct node), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < NODES; i++)
		order[i] = i;
	for (int i = NODES - 1; i > 0; i--) {
		int k = random() % (i + 1), keep = order[i];

		order[i] = order[k];
		order[k] = keep;
	}
	for (int i = 0; i < NODES; i++) {
		struct node *node = &list->nodes[order[i]];

		node->next = &list->nodes[order[(i + 1) % NODES]];
		for (int k = 0; k < 7; k++)
			node->payload[k] = i * 7 + k;
	}
	snprintf(name[0], sizeof(name[0]), "burst: registers, %s", from);
	snprintf(name[1], sizeof(name[1]), "burst: memory as it was, %s", from);
	snprintf(name[2], sizeof(name[2]), "burst: red zone and vector registers, %s", from);
	snprintf(name[3], sizeof(name[3]), "burst: the pointer chase goes on, %s", from);
	pid = spawn(walk, list);
	reader = session(pid);
	cp_reader_budget(reader, &budget);
	if (cp_reader_source(reader, &source))
		check(false, name[0], "no source");
	run_until(reader, 500, take, &tally, &tally.samples, 1000);
	cp_reader_stats(reader, &stats);
	check(tally.samples >= 500 && !tally.bad_header && !tally.bad_registers && !tally.bad_size,
	      name[0], "%lu samples, %lu bad headers, %lu bad registers, %lu bad sizes",
	      tally.samples, tally.bad_header, tally.bad_registers, tally.bad_size);
	check(tally.bytes >= tally.samples * 256 && !tally.bad_bytes, name[1],
	      "%lu bytes compared, %lu chunks differ, %.1f chunks a sample", tally.bytes,
	      tally.bad_bytes, (double)tally.chunks / (tally.samples ?: 1));
	check(!tally.no_stack && !tally.no_vector, name[2], "missing %lu and %lu", tally.no_stack,
	      tally.no_vector);
	check(tally.min_hops >= 4, name[3], "%lu hops at least, %.1f on average", tally.min_hops,
	      (double)tally.hops / (tally.samples ?: 1));
	cp_reader_destroy(reader);
	reap(pid);
}

/* Chunks that are not of the stack, by turns asked for and not. */
struct turns {
	uint64_t samples, elsewhere, no_stack;
};

static void take_turn(const struct cp_record *record, void *argument)
{
	struct turns *turns = argument;
	const struct cp_sample *sample = (const void *)record;
	const struct cp_chunk *chunk = NULL;

	turns->samples++;
	turns->no_stack += !held(sample, sample->reg[4]);
	while ((chunk = cp_sample_chunk(sample, chunk)))
		turns->elsewhere += chunk->addr - (sample->reg[4] - 136) >= 256 + 136;
}

static void pointees(void)
{
	struct list list = {.nodes = calloc(1, sizeof(struct node))};
	struct turns turns[3] = {};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST | CP_SOURCE_JITTER,
		.type = 1,
		.period = 1000000,
		.stack_bytes = 256,
		.chunk_bytes = 64,
		.depth = 2,
	};
	struct cp_reader *reader;
	int err = 0;
	pid_t pid;

	list.nodes->next = list.nodes;
	pid = spawn(walk, &list);
	reader = session(pid);
	cp_reader_source(reader, &source);
	for (int i = 0; i < 3; i++) {
		err = err ?: cp_reader_pointees(reader, source.id, i != 1);
		run_until(reader, 200, take_turn, &turns[i], &turns[i].samples, 50);
	}
	check(!err && turns[0].samples >= 50 && turns[1].samples >= 50 && turns[2].samples >= 50 &&
		      turns[0].elsewhere >= turns[0].samples && !turns[1].elsewhere &&
		      turns[2].elsewhere >= turns[2].samples && !turns[1].no_stack,
	      "burst: without what registers point to, on request",
	      "on, off, on: %lu, %lu, %lu chunks in %lu, %lu, %lu samples", turns[0].elsewhere,
	      turns[1].elsewhere, turns[2].elsewhere, turns[0].samples, turns[1].samples,
	      turns[2].samples);
	cp_reader_destroy(reader);
	reap(pid);
}

enum { PAGES = 15 };

/* All registers but the stack's point to pages of their own, r12 to the first. */
static void point(void *argument)
{
	memset(argument, 1, PAGES * 4096);
	asm volatile("movq %0, %%r12\n"
		     "leaq 0x1000(%%r12), %%rax\nleaq 0x2000(%%r12), %%rbx\n"
		     "leaq 0x3000(%%r12), %%rcx\nleaq 0x4000(%%r12), %%rdx\n"
		     "leaq 0x5000(%%r12), %%rsi\nleaq 0x6000(%%r12), %%rdi\n"
		     "leaq 0x7000(%%r12), %%rbp\nleaq 0x8000(%%r12), %%r8\n"
		     "leaq 0x9000(%%r12), %%r9\nleaq 0xa000(%%r12), %%r10\n"
		     "leaq 0xb000(%%r12), %%r11\nleaq 0xc000(%%r12), %%r13\n"
		     "leaq 0xd000(%%r12), %%r14\nleaq 0xe000(%%r12), %%r15\n"
		     "1: jmp 1b\n"
		     :
		     : "r"(argument)
		     : "memory");
}

struct fullness {
	uint64_t samples, most, over;
};

static void take_fullness(const struct cp_record *record, void *argument)
{
	struct fullness *fullness = argument;
	const struct cp_sample *sample = (const void *)record;

	fullness->samples++;
	fullness->over += sample->data_bytes > CP_MAX_DATA_BYTES;
	if (sample->data_bytes > fullness->most)
		fullness->most = sample->data_bytes;
}

/* More memory is pointed to than a record has room for. */
static void full(void)
{
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST,
		.type = 1,
		.period = 1000000,
		.stack_bytes = CP_MAX_STACK_BYTES,
		.chunk_bytes = CP_MAX_CHUNK_BYTES,
		.depth = 1,
	};
	char *pages =
		mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct fullness fullness = {};
	struct cp_reader *reader;
	pid_t pid;

	pid = spawn(point, pages);
	reader = session(pid);
	cp_reader_source(reader, &source);
	run_until(reader, 300, take_fullness, &fullness, &fullness.samples, 50);
	check(fullness.samples >= 50 && !fullness.over &&
		      fullness.most > CP_MAX_DATA_BYTES - CP_MAX_CHUNK_BYTES,
	      "burst: no more than a record holds", "%lu samples, %lu bytes at most, %lu over",
	      fullness.samples, fullness.most, fullness.over);
	cp_reader_destroy(reader);
	reap(pid);
	munmap(pages, PAGES * 4096);
}

/* One register points to the only page of a file; the others are nothing. */
static void point_once(void *argument)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, *(int *)argument, 0);

	page[0] = 1;
	asm volatile("movq %0, %%r12\n"
		     "xorl %%eax, %%eax\nxorl %%ebx, %%ebx\nxorl %%ecx, %%ecx\n"
		     "xorl %%edx, %%edx\nxorl %%esi, %%esi\nxorl %%edi, %%edi\n"
		     "xorl %%ebp, %%ebp\nxorl %%r8d, %%r8d\nxorl %%r9d, %%r9d\n"
		     "xorl %%r10d, %%r10d\nxorl %%r11d, %%r11d\nxorl %%r13d, %%r13d\n"
		     "xorl %%r14d, %%r14d\nxorl %%r15d, %%r15d\n"
		     "1: jmp 1b\n"
		     :
		     : "r"(page)
		     : "memory");
}

/* A page that somebody still holds keeps its file from being sealed against writing. */
static void put_back(void)
{
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST,
		.type = 1,
		.period = 1000000,
		.stack_bytes = 64,
		.chunk_bytes = 64,
		.depth = 1,
	};
	int fd = memfd_create("page", MFD_ALLOW_SEALING), err;
	struct fullness fullness = {};
	struct cp_reader *reader;
	pid_t pid;

	err = ftruncate(fd, 4096) ? errno : 0;
	pid = spawn(point_once, &fd);
	reader = session(pid);
	cp_reader_source(reader, &source);
	run_until(reader, 300, take_fullness, &fullness, &fullness.samples, 50);
	cp_reader_destroy(reader);
	reap(pid);
	if (!err && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE))
		err = errno;
	check(!err && fullness.samples >= 50, "burst: each page is given back", "%s, %lu samples",
	      strerror(err), fullness.samples);
	close(fd);
}

void test_burst(void)
{
	burst("timer", 1, 1000000);
	burst("NMI", pmu_type("standin"), 1000000);
	pointees();
	full();
	put_back();
}

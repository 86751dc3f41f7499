// SPDX-License-Identifier: GPL-2.0-or-later
#include "look_programs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

typedef uint32_t u32;
typedef uint64_t u64;
#include "switch_look.skel.h"

struct comm_look_programs {
	struct switch_look_bpf *bpf;
	struct ring_buffer *ring;
	volatile struct comm_raw_look_cpu *cpu; /* n_cpus of them */
	uint32_t n_cpus;
	comm_look_fn *fn;
	void *ctx;
};

/* libbpf prints to stderr; a failure here is told by its number. */
static int say_nothing(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

static int load(struct comm_look_programs *p)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int rc;

	p->bpf = switch_look_bpf__open();
	if (!p->bpf)
		return -errno;
	bpf_map__set_max_entries(p->bpf->maps.look_cpus, p->n_cpus);
	rc = switch_look_bpf__load(p->bpf);
	if (rc)
		return rc;
	p->bpf->links.left = bpf_program__attach(p->bpf->progs.left);
	if (!p->bpf->links.left)
		return -errno;
	/* Without ticks who never leaves its CPU is looked at by others' switches only. */
	if (!bpf_prog_test_run_opts(bpf_program__fd(p->bpf->progs.find_tick), &run) && !run.retval)
		p->bpf->links.ticked = bpf_program__attach(p->bpf->progs.ticked);
	return 0;
}

static size_t cpu_bytes(const struct comm_look_programs *p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (p->n_cpus * sizeof(*p->cpu) + page - 1) & ~(page - 1);
}

static int on_record(void *ctx, void *data, size_t size)
{
	const struct comm_look_programs *p = ctx;

	p->fn(p->ctx, size < sizeof(struct comm_raw_look) ? NULL : data);
	return 0;
}

static int open_maps(struct comm_look_programs *p)
{
	void *cpu = mmap(NULL, cpu_bytes(p), PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(p->bpf->maps.look_cpus), 0);

	if (cpu == MAP_FAILED)
		return -errno;
	p->cpu = cpu;
	p->ring = ring_buffer__new(bpf_map__fd(p->bpf->maps.looks), on_record, p, NULL);
	return p->ring ? 0 : -errno;
}

int comm_look_programs_create(comm_look_fn *fn, void *ctx, struct comm_look_programs **ret)
{
	int rc, n_cpus = libbpf_num_possible_cpus();
	struct comm_look_programs *p;
	libbpf_print_fn_t print;

	if (n_cpus < 1)
		return -ENODEV;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->n_cpus = (uint32_t)n_cpus;
	p->fn = fn;
	p->ctx = ctx;
	print = libbpf_set_print(say_nothing);
	rc = load(p);
	libbpf_set_print(print);
	if (!rc)
		rc = open_maps(p);
	if (rc) {
		comm_look_programs_destroy(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void comm_look_programs_destroy(struct comm_look_programs *programs)
{
	if (!programs)
		return;
	ring_buffer__free(programs->ring);
	if (programs->cpu)
		munmap((void *)programs->cpu, cpu_bytes(programs));
	switch_look_bpf__destroy(programs->bpf);
	free(programs);
}

void comm_look_programs_detach(struct comm_look_programs *programs)
{
	bpf_link__destroy(programs->bpf->links.left);
	bpf_link__destroy(programs->bpf->links.ticked);
	programs->bpf->links.left = programs->bpf->links.ticked = NULL;
}

uint32_t comm_look_programs_cpus(const struct comm_look_programs *programs)
{
	return programs->n_cpus;
}

/*
 * Each process has one place in the table, and keeps it: a program that runs meanwhile must find
 * those that stay.
 */
static void list_process(struct comm_raw_look_ctl *ctl, uint32_t tgid)
{
	unsigned int i, unused = COMM_RAW_LOOK_WORDS;

	for (i = 0; i < COMM_RAW_LOOK_WORDS; i++) {
		if (ctl->process[i] == tgid)
			return;
		if (!ctl->process[i] && unused == COMM_RAW_LOOK_WORDS)
			unused = i;
	}
	ctl->process[unused] = tgid;
	if (ctl->n_processes <= unused)
		ctl->n_processes = unused + 1;
}

static void unlist_process(struct comm_raw_look_ctl *ctl, uint32_t tgid)
{
	for (unsigned int i = 0; i < COMM_RAW_LOOK_WORDS; i++)
		if (ctl->word[i].generation && ctl->word[i].tgid == tgid)
			return;
	for (unsigned int i = 0; i < COMM_RAW_LOOK_WORDS; i++)
		if (ctl->process[i] == tgid)
			ctl->process[i] = 0;
	while (ctl->n_processes && !ctl->process[ctl->n_processes - 1])
		ctl->n_processes--;
}

/* Bits of an aligned word that an access of size bytes at addr has. */
static uint64_t mask_of(uint64_t addr, uint32_t size)
{
	unsigned int at = addr % 8;

	if (!size || size > 8 - at)
		return UINT64_MAX;
	return (size == 8 ? UINT64_MAX : (1ULL << 8 * size) - 1) << 8 * at;
}

void comm_look_programs_watch(struct comm_look_programs *programs, unsigned int at,
			      const struct comm_live_word *word, uint32_t generation)
{
	struct comm_raw_look_ctl *ctl = &programs->bpf->bss->ctl;
	struct comm_raw_look_word *raw = &ctl->word[at];

	list_process(ctl, word->tgid);
	raw->addr = word->addr & ~7ULL;
	raw->mask = mask_of(word->addr, word->size_bytes);
	raw->tgid = word->tgid;
	/* Pairs with the barrier of look_at_all(): who sees the generation sees the rest. */
	__atomic_store_n(&raw->generation, generation, __ATOMIC_RELEASE);
	ctl->n_words++;
}

void comm_look_programs_unwatch(struct comm_look_programs *programs, unsigned int at)
{
	struct comm_raw_look_ctl *ctl = &programs->bpf->bss->ctl;

	__atomic_store_n(&ctl->word[at].generation, 0, __ATOMIC_RELEASE);
	ctl->n_words--;
	unlist_process(ctl, ctl->word[at].tgid);
}

bool comm_look_programs_look(const struct comm_look_programs *programs)
{
	return programs->bpf->bss->ctl.n_words;
}

void comm_look_programs_take(struct comm_look_programs *programs)
{
	ring_buffer__consume(programs->ring);
}

void comm_look_programs_totals(const struct comm_look_programs *programs,
			       struct comm_raw_look_cpu *ret)
{
	*ret = (struct comm_raw_look_cpu){0};
	for (uint32_t i = 0; i < programs->n_cpus; i++) {
		ret->runs += programs->cpu[i].runs;
		ret->ticks += programs->cpu[i].ticks;
		ret->looks += programs->cpu[i].looks;
		ret->failed += programs->cpu[i].failed;
		ret->ns += programs->cpu[i].ns;
		ret->drops += programs->cpu[i].drops;
		ret->call_ns += programs->cpu[i].call_ns;
	}
}

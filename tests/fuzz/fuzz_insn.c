/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder, emulator and what is told of traps on hostile input: the text, the registers, the captured memory
 * and the mappings all come from the input, which is consumed from the front, with
 * zeros behind its end.
 */
#include <stdlib.h>
#include <string.h>

#include "burst.h"
#include "trapped.h"

enum { TEXT_BYTES = 1024, MAPPINGS = 4 };

struct target {
	uint8_t text[TEXT_BYTES];
	size_t text_bytes;
	struct comm_mapping map[MAPPINGS];
};

static uint32_t tgid = 1;

struct input {
	const uint8_t *at, *end;
};

static void take(struct input *in, void *buf, size_t len)
{
	size_t have = (size_t)(in->end - in->at);

	memset(buf, 0, len);
	if (have > len)
		have = len;
	memcpy(buf, in->at, have);
	in->at += have;
}

static uint8_t take_byte(struct input *in)
{
	uint8_t b;

	take(in, &b, 1);
	return b;
}

static int maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	struct target *t = ctx;

	(void)tgid;
	*ret = t->map;
	*ret_n = MAPPINGS;
	return 0;
}

static ssize_t text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		    void *buf, size_t len_bytes)
{
	struct target *t = ctx;
	uint64_t at = addr - m->start;

	(void)tgid;
	if (addr < m->start || at >= t->text_bytes)
		return -1;
	if (len_bytes > t->text_bytes - at)
		len_bytes = t->text_bytes - at;
	memcpy(buf, t->text + at, len_bytes);
	return (ssize_t)len_bytes;
}

/* A trap behind the sample's ip, of what a register points to. */
static void run_trapped(const struct target *t, const struct comm_sample *sample)
{
	struct comm_trap trap = {.ip = sample->ip,
				 .flags = sample->flags,
				 .addr = sample->reg[COMM_RBX],
				 .size_bytes = 8};
	struct comm_trapped ret = {0};

	/* A copy, so that what is read beyond its end is found out. */
	uint8_t *code = malloc(t->text_bytes ? t->text_bytes : 1);

	if (!code)
		return;
	memcpy(trap.reg, sample->reg, sizeof(trap.reg));
	memcpy(code, t->text, t->text_bytes);
	if (comm_trapped_by_code(&trap, code, t->map[0].start, t->text_bytes, &ret) &&
	    (ret.ip > trap.ip || trap.ip - ret.ip > 15 ||
	     !(ret.flags & (COMM_ACCESS_READ | COMM_ACCESS_WRITE))))
		abort();
	comm_trapped_by_kernel(&trap, &ret);
	free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is told of a process's mappings, before and after one of them has become another. */
static void ask_about(struct comm_space_table *table, struct target *target, uint64_t now_ns)
{
	struct comm_space *space = comm_space_get(table, tgid);
	uint32_t oldest, generation = comm_space_generation(space);
	const struct comm_mapping *m;

	for (int again = 0; again < 2; again++) {
		for (uint64_t at = 0x8000; at < 0x50000; at += 0x4000) {
			m = comm_space_find(space, at, now_ns);
			if (m && (at < m->start || at >= m->end))
				abort();
			if (!m && !comm_space_is_shared(table, tgid, at))
				abort();
			if (comm_space_is_constant(space, at) && m->writable)
				abort();
			(void)comm_space_is_file(space, at);
		}
		target->map[1].writable = !target->map[1].writable;
		comm_space_changed(table, tgid);
	}
	if (comm_space_has_file(table, tgid, "f") || comm_space_tgid(space) != tgid ||
	    comm_space_crowded(table, &oldest) || comm_space_generation(space) == generation)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct comm_inspect_ops ops = {.maps = maps, .text = text};
	static struct target target;
	static struct comm_inspect inspect = {&ops, &target};
	static struct comm_decoder *decoder;
	static struct comm_space_table *table;
	static struct comm_sample sample;
	static struct comm_burst burst;
	static uint64_t now_ns;
	struct input in = {data, data + size};
	uint64_t known, all;

	if (!decoder &&
	    (comm_decoder_create(&inspect, &decoder) || comm_space_table_create(&inspect, &table)))
		abort();
	for (unsigned i = 0; i < MAPPINGS; i++) {
		struct comm_mapping *m = &target.map[i];
		uint8_t bits = take_byte(&in);

		memset(m, 0, sizeof(*m));
		m->start = 0x10000 * (i + 1ULL);
		m->end = m->start + 0x1000;
		m->offset = i ? 0x1000 * (bits >> 6) : 0;
		m->readable = true;
		m->executable = i < 2;
		m->writable = bits & 1;
		m->shared = bits & 2;
		m->kind = bits & 4 ? COMM_MAP_JIT : COMM_MAP_FILE;
		m->file = 1 + (bits >> 3 & 1);
		m->path = "f";
	}
	memset(&sample, 0, sizeof(sample));
	for (unsigned i = 0; i < COMM_NREGS; i++) {
		uint8_t how = take_byte(&in);

		/* Most addresses are near a mapping. */
		if (how & 0x80)
			take(&in, &sample.reg[i], 8);
		else
			sample.reg[i] = 0x10000 + how * 0x400ULL;
		sample.known |= (uint32_t)(how != 0x7f) << i;
	}
	sample.flags = take_byte(&in) | (uint64_t)(take_byte(&in) & 0x0c) << 8;
	sample.mode_bits = 64;
	sample.ip = 0x10000 + take_byte(&in);
	sample.n_chunks = take_byte(&in) & 31;
	take(&in, &sample.data_bytes, 2);
	for (unsigned i = 0; i < COMM_SAMPLE_CHUNKS && i < sample.n_chunks; i++) {
		uint8_t how = take_byte(&in);

		sample.chunk[i].addr = sample.reg[how & 15];
		sample.chunk[i].len_bytes = how & 0x80 ? 64 : take_byte(&in) * 64U;
		sample.chunk[i].offset = how & 0x40 ? take_byte(&in) * 4096U : take_byte(&in);
	}
	target.text_bytes = (size_t)(in.end - in.at);
	if (target.text_bytes > TEXT_BYTES)
		target.text_bytes = TEXT_BYTES;
	memcpy(target.text, in.at, target.text_bytes);
	for (unsigned i = 0; i < sizeof(sample.data); i++)
		sample.data[i] = target.text_bytes ? target.text[i % target.text_bytes] : 0;

	/* A process of its own, so that no input sees another's mappings. */
	tgid++;
	now_ns += 1000000000;
	comm_burst_run(decoder, comm_space_get(table, tgid), now_ns, &sample, &burst);
	if (burst.n_accesses > COMM_BURST_ACCESSES || burst.n_insns > COMM_BURST_INSNS ||
	    burst.end >= COMM_BURST_END_MAX || !(burst.cycles >= 0))
		abort();
	for (uint32_t i = 0; i < burst.n_accesses; i++) {
		const struct comm_burst_access *a = &burst.access[i];

		if (!a->size_bytes || a->insn > burst.n_insns ||
		    (i && a->insn < burst.access[i - 1].insn) || !(a->cycle >= 0) ||
		    !(a->flags & (COMM_ACCESS_READ | COMM_ACCESS_WRITE)))
			abort();
		comm_decoder_known(decoder, comm_space_get(table, tgid), now_ns, a->ip, &known,
				   &all);
		if (known > all)
			abort();
	}
	if (!comm_burst_end_name(burst.end))
		abort();
	ask_about(table, &target, now_ns);
	comm_space_drop(table, tgid);
	run_trapped(&target, &sample);
	return 0;
}

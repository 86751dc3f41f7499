// SPDX-License-Identifier: GPL-2.0-only
/*
 * The software source: at a timer or counter interrupt the registers are exact
 * for the instruction about to run.
 */
#include "copy.h"
#include "decode.h"
#include "mark.h"
#include "session.h"
#include "source.h"

enum {
	WALK_TEXT_BYTES = 80,
	/*
	 * A loop that chases pointers is shorter; each costs some 350 instructions,
	 * as many as taking the memory behind a pointer.
	 */
	HOT_INSNS = 8,
	/* Nobody else's data lies so near the stack pointer. */
	STACK_BELOW_BYTES = 4096,
	STACK_ABOVE_BYTES = 16384,
};

static int cp_soft_probe(const struct cp_source *config)
{
	bool burst = config->flags & CP_SOURCE_BURST;

	if (!(config->flags & (CP_SOURCE_ACCESSES | CP_SOURCE_BURST)))
		return -EINVAL;
	if (config->flags & CP_SOURCE_ACCESSES ? config->max_accesses > CP_MAX_ACCESSES
					       : config->max_accesses)
		return -EINVAL;
	if (!burst)
		return config->stack_bytes || config->chunk_bytes || config->depth ||
				       config->flags & CP_SOURCE_VECTOR
			       ? -EINVAL
			       : 0;
	if (config->stack_bytes > CP_MAX_STACK_BYTES || config->chunk_bytes > CP_MAX_CHUNK_BYTES ||
	    config->chunk_bytes % 64 || config->depth > 4 || !config->chunk_bytes != !config->depth)
		return -EINVAL;
	return 0;
}

static int cp_soft_fill_attr(const struct cp_source *config, u32 attempt,
			     struct perf_event_attr *attr)
{
	return 0;
}

/* The instruction bytes ahead, read once for all who look at them. */
struct ahead {
	u8 text[WALK_TEXT_BYTES];
	u32 bytes;
};

/*
 * Registers that the code ahead takes addresses from: a hint only, so it reads on
 * over branches as if none were taken.
 */
static u32 cp_soft_hot_registers(const struct ahead *ahead, const struct cp_cpu *cpu)
{
	struct cp_insn insn;
	u32 hot = 0, made = 0, at = 0, n;

	for (n = 0; n < HOT_INSNS; n++) {
		if (cp_decode(ahead->text + at, ahead->bytes - at, cpu, &insn))
			break;
		hot |= insn.bases & ~made;
		made |= insn.clobbers;
		at += insn.bytes;
	}
	return hot;
}

static void cp_soft_burst(struct cp_hit *hit, const struct cp_cpu *cpu, const struct ahead *ahead)
{
	struct cp_capture what = hit->src->capture;
	struct cp_sample *sample;
	u32 bytes, hot = 0;

	if (!READ_ONCE(hit->src->pointees)) {
		what.chunk_bytes = 0;
		what.depth = 0;
	}
	sample = cp_ring_reserve(hit->ring, cp_capture_bytes(&what));
	if (!sample)
		return;
	if (what.depth > 1)
		hot = cp_soft_hot_registers(ahead, cpu);
	bytes = cp_capture(&what, hit->regs, cpu, hot, sample);
	cp_hit_head(hit, &sample->head, CP_REC_SAMPLE);
	cp_ring_commit(hit->ring, sample, bytes);
}

static bool cp_soft_is_stack(const struct cp_cpu *cpu, u64 addr)
{
	return addr - (cpu->reg[4] - STACK_BELOW_BYTES) < STACK_BELOW_BYTES + STACK_ABOVE_BYTES;
}

/*
 * The straight line from here on: as long as neither the flow nor an address
 * depends on a value that an earlier instruction of the line makes.
 */
static void cp_soft_walk(struct cp_hit *hit, const struct ahead *ahead, struct cp_cpu *cpu)
{
	const struct cp_source *config = &hit->src->config;
	u32 most = config->flags & CP_SOURCE_ACCESSES ? max(config->max_accesses, 1U) : 0;
	u32 at = 0, emitted = 0, i;
	bool offered = !hit->src->session->watch;
	struct cp_insn insn;
	u16 nth = 0;
	int err;

	for (;; nth++) {
		err = cp_decode(ahead->text + at, ahead->bytes - at, cpu, &insn);
		if (err) {
			/* The end of the bytes we took is no loss. */
			if (err != -ENODATA)
				cp_ring_count(hit->ring, CP_LOST_UNDECODED);
			else if (!nth)
				cp_ring_count(hit->ring, CP_LOST_NO_TEXT);
			return;
		}
		for (i = 0; i < insn.n; i++) {
			const struct cp_operand *operand = &insn.operand[i];
			struct cp_access access = {
				.ip = cpu->ip,
				.addr = operand->addr,
				.size_bytes = operand->size_bytes,
				.flags = operand->flags,
				.insn = nth,
			};

			if (!operand->known || operand->addr >= TASK_SIZE_MAX)
				continue;
			if (emitted < most) {
				cp_hit_access(hit, &access, CP_REC_ACCESS);
				emitted++;
			}
			if (!offered && !(operand->flags & (CP_ACCESS_IMPLICIT | CP_ACCESS_REP)) &&
			    !cp_soft_is_stack(cpu, operand->addr))
				offered = cp_watch_offer(hit, &access, cpu->ip + insn.bytes);
		}
		if (insn.ends || (emitted >= most && offered))
			return;
		cp_decode_step(cpu, &insn);
		at += insn.bytes;
	}
}

/* In kernel mode: the task may be in a call that writes its memory. */
static void cp_soft_copies(struct cp_hit *hit)
{
	struct cp_copy copy;
	u32 i;

	if (!(hit->src->config.flags & CP_SOURCE_COPIES) || !cp_copy(hit->regs, &copy))
		return;
	cp_hit_mark(hit);
	for (i = 0; i < copy.n; i++) {
		const struct cp_access access = {
			.ip = copy.ip,
			.addr = copy.range[i].addr,
			.size_bytes = copy.range[i].bytes,
			.flags = CP_ACCESS_WRITE | CP_ACCESS_KERNEL | CP_ACCESS_IP_AFTER,
		};

		cp_hit_access(hit, &access, CP_REC_COPY);
	}
}

static void cp_soft_decode(struct cp_hit *hit)
{
	const struct cp_source *config = &hit->src->config;
	bool is_64 = user_64bit_mode(hit->regs);
	struct ahead ahead = {};
	struct cp_cpu cpu;

	if (!user_mode(hit->regs)) {
		cp_soft_copies(hit);
		return;
	}
	cp_hit_mark(hit);
	cp_capture_cpu(hit->regs, &cpu);
	if (is_64)
		ahead.bytes = cp_capture_text(cpu.ip, ahead.text, sizeof(ahead.text));
	if (config->flags & CP_SOURCE_BURST)
		cp_soft_burst(hit, &cpu, &ahead);
	if (!(config->flags & CP_SOURCE_ACCESSES) && !hit->src->session->watch)
		return;
	if (is_64)
		cp_soft_walk(hit, &ahead, &cpu);
	else
		cp_ring_count(hit->ring, CP_LOST_MODE32);
}

const struct cp_source_ops cp_source_soft = {
	.name = "soft",
	.period_step = 1,
	.flags = CP_SOURCE_ACCESSES | CP_SOURCE_BURST | CP_SOURCE_VECTOR | CP_SOURCE_COPIES,
	.attempts = 1,
	.fill_attr = cp_soft_fill_attr,
	.probe = cp_soft_probe,
	.decode = cp_soft_decode,
};

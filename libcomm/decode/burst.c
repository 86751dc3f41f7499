// SPDX-License-Identifier: GPL-2.0-or-later
#include "burst.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "codecache.h"
#include "emu.h"
#include "string_insn.h"
#include "timing.h"
#include "trace.h"

enum {
	SEGMENTS = 4,
	CALLS = 16, /* within each other, of a burst; most make none */
};

struct comm_decoder {
	struct comm_codecache *cache;
	struct comm_space *space;
	uint64_t now_ns;
	const struct comm_sample *sample;
	struct comm_burst *burst;
	uint16_t call[CALLS]; /* comm_burst_access.call of each */
	uint32_t n_calls;     /* those past CALLS, too */
	uint16_t n_returns;
	uint32_t n_segments;
	struct comm_segment segment[SEGMENTS];
	struct comm_timing clock;
	struct comm_emu emu;
	struct comm_trace_step step[COMM_BURST_INSNS]; /* n_insns of the burst */
};

int comm_decoder_create(const struct comm_inspect *inspect, struct comm_decoder **ret)
{
	struct comm_decoder *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	err = comm_codecache_create(inspect, &d->cache);
	if (err) {
		free(d);
		return err;
	}
	*ret = d;
	return 0;
}

void comm_decoder_destroy(struct comm_decoder *d)
{
	if (!d)
		return;
	comm_codecache_destroy(d->cache);
	free(d);
}

const char *comm_burst_end_name(enum comm_burst_end end)
{
	static const char *const name[] = {
		[COMM_BURST_FULL] = "full",
		[COMM_BURST_BRANCH] = "branch",
		[COMM_BURST_INDIRECT] = "indirect",
		[COMM_BURST_SYSCALL] = "syscall",
		[COMM_BURST_UNSUPPORTED] = "unsupported",
		[COMM_BURST_NO_TEXT] = "no_text",
		[COMM_BURST_UNDECODED] = "undecoded",
		[COMM_BURST_MODE32] = "mode32",
		[COMM_BURST_CHANGED] = "changed",
	};

	return (unsigned)end < COMM_BURST_END_MAX ? name[end] : "?";
}

static bool constant(void *ctx, uint64_t line_addr, uint8_t data[64])
{
	struct comm_decoder *d = ctx;

	return comm_codecache_constant(d->cache, d->space, d->now_ns, line_addr, data);
}

/* The call that the burst is in, as comm_burst_access.call. */
static uint16_t innermost(const struct comm_decoder *d)
{
	if (d->n_calls > CALLS)
		return COMM_BURST_LOST;
	return d->n_calls ? d->call[d->n_calls - 1] : 0;
}

static void emit(struct comm_decoder *d, uint64_t addr, uint64_t bytes, unsigned flags, float cycle)
{
	struct comm_burst *b = d->burst;
	struct comm_burst_access *a;

	if (b->n_accesses == COMM_BURST_ACCESSES)
		return;
	a = &b->access[b->n_accesses++];
	a->addr = addr;
	a->ip = d->emu.bits[COMM_UREG_RIP];
	a->size_bytes = bytes;
	a->flags = (uint16_t)flags;
	a->left_out = false;
	a->insn = (uint16_t)b->n_insns;
	a->nth = (uint16_t)(b->n_accesses - 1 + b->n_unknown);
	a->cycle = COMM_TIMING_SLOWDOWN * cycle;
	a->call = innermost(d);
	a->returns = d->n_returns;
}

static void enter(struct comm_decoder *d, uint64_t ip)
{
	struct comm_burst *b = d->burst;
	uint16_t within = innermost(d);

	if (d->n_calls < CALLS) {
		d->call[d->n_calls] = COMM_BURST_LOST;
		if (b->n_calls < COMM_BURST_CALLS && within != COMM_BURST_LOST) {
			b->call[b->n_calls] = (struct comm_burst_call){ip, within};
			d->call[d->n_calls] = ++b->n_calls;
		}
	}
	d->n_calls++;
}

static void leave(struct comm_decoder *d)
{
	if (d->n_calls)
		d->n_calls--;
	else
		d->n_returns++;
}

static void count(struct comm_decoder *d, struct comm_uop *u, bool known)
{
	if (++u->all > UINT32_MAX / 2) {
		u->all /= 2;
		u->known /= 2;
	}
	u->known += known;
	d->burst->n_unknown += !known;
}

static bool push(struct comm_decoder *d, struct comm_uop *u, struct comm_value v, unsigned bytes)
{
	uint64_t rsp = d->emu.bits[COMM_RSP] - bytes;

	if (d->emu.known[COMM_RSP] != ~0ULL) {
		struct comm_value none = {0, 0};

		count(d, u, false);
		comm_memory_wild(&d->emu.overlay);
		comm_emu_set_reg(&d->emu, COMM_RSP, 8, none);
		return true;
	}
	if (!comm_memory_is_user(rsp, bytes))
		return false;
	count(d, u, true);
	d->emu.bits[COMM_RSP] = rsp;
	emit(d, rsp, bytes, COMM_ACCESS_WRITE | COMM_ACCESS_IMPLICIT,
	     comm_timing_store(&d->clock, comm_memory_line(&d->emu.overlay, rsp), rsp));
	comm_memory_store(&d->emu.overlay, rsp, bytes, v);
	return true;
}

static bool pop(struct comm_decoder *d, struct comm_uop *u, unsigned bytes, struct comm_value *ret)
{
	uint64_t rsp = d->emu.bits[COMM_RSP];

	ret->bits = ret->known = 0;
	if (d->emu.known[COMM_RSP] != ~0ULL) {
		count(d, u, false);
		comm_emu_set_reg(&d->emu, COMM_RSP, 8, *ret);
		return true;
	}
	if (!comm_memory_is_user(rsp, bytes))
		return false;
	count(d, u, true);
	emit(d, rsp, bytes, COMM_ACCESS_READ | COMM_ACCESS_IMPLICIT,
	     comm_timing_load(&d->clock, comm_memory_line(&d->emu.overlay, rsp), rsp, 8, false));
	*ret = comm_memory_load(&d->emu.overlay, rsp, bytes);
	d->emu.bits[COMM_RSP] += bytes;
	return true;
}

static bool effective_address(const struct comm_emu *emu, const struct comm_uop *u, uint64_t *ret)
{
	uint64_t a = emu->bits[u->base] + (emu->bits[u->index] << u->shift) + (uint64_t)u->disp;
	uint64_t k = emu->known[u->base] & emu->known[u->index];

	if (__builtin_expect(u->bits & (COMM_UOP_ADDR32 | COMM_UOP_UNSURE), 0)) {
		if (u->bits & COMM_UOP_UNSURE)
			return false;
		a &= UINT32_MAX;
		k |= ~(uint64_t)UINT32_MAX;
	}
	*ret = a + emu->bits[u->segment];
	return (k & emu->known[u->segment]) == ~0ULL;
}

/* A cmpxchg that is known to find another value there leaves it. */
static bool leaves_memory(struct comm_decoder *d, const struct comm_uop *u, uint64_t addr)
{
	struct comm_value there, rax;

	if (u->op != COMM_OP_CMPXCHG)
		return false;
	there = comm_memory_load(&d->emu.overlay, addr, u->access_bytes);
	rax = comm_emu_reg(&d->emu, COMM_RAX, u->access_bytes);
	return (there.bits ^ rax.bits) & there.known & rax.known;
}

static bool lanes_are_known(const struct comm_emu *emu, const struct comm_uop *u)
{
	return !(u->bits & COMM_UOP_MASKED) || emu->masks_known >> (u->src2 & 7) & 1;
}

static uint64_t low_bits(unsigned n)
{
	return n < 64 ? (1ULL << n) - 1 : ~0ULL;
}

/* Emits an access, or one for each run of the lanes that a mask chooses. */
static void emit_lanes(struct comm_decoder *d, const struct comm_uop *u, uint64_t addr,
		       unsigned flags, float cycle)
{
	uint64_t mask;

	if (!(u->bits & COMM_UOP_MASKED)) {
		emit(d, addr, u->access_bytes, flags, cycle);
		return;
	}
	mask = d->emu.mask[u->src2 & 7] & low_bits(u->access_bytes / u->width);
	if (u->cond)
		mask = low_bits((unsigned)__builtin_popcountll(mask));
	while (mask) {
		unsigned from = (unsigned)__builtin_ctzll(mask);
		uint64_t behind = ~(mask >> from);
		unsigned n = behind ? (unsigned)__builtin_ctzll(behind) : 64;

		emit(d, addr + from * u->width, n * u->width, flags, cycle);
		mask &= ~(low_bits(n) << from);
	}
}

/*
 * Emits the accesses to the memory operand of an instruction.  Of lanes that are not known none is
 * told; what may be written is known all the same.
 */
static bool touch(struct comm_decoder *d, struct comm_uop *u, uint64_t *addr, bool *has_addr)
{
	unsigned atomic = u->bits & COMM_UOP_ATOMIC;
	struct comm_known_line *line;
	uint32_t n_lines;
	bool is_new;

	*has_addr = effective_address(&d->emu, u, addr);
	count(d, u, *has_addr && lanes_are_known(&d->emu, u));
	if (!*has_addr || !lanes_are_known(&d->emu, u)) {
		if (u->bits & COMM_UOP_READ)
			comm_timing_load(&d->clock, NULL, 0, 0, false);
		if (u->bits & COMM_UOP_WRITE)
			comm_timing_store(&d->clock, NULL, 0);
		return true;
	}
	if (!comm_memory_is_user(*addr, u->access_bytes))
		return false;
	n_lines = d->emu.overlay.n_lines;
	line = comm_memory_line(&d->emu.overlay, *addr);
	is_new = d->emu.overlay.n_lines > n_lines || line == &d->emu.overlay.none;
	if (u->bits & COMM_UOP_READ)
		emit_lanes(d, u, *addr, COMM_ACCESS_READ | atomic,
			   comm_timing_load(&d->clock, line, *addr, u->access_bytes, is_new));
	d->burst->n_filled += is_new && !(u->bits & COMM_UOP_READ);
	if ((u->bits & COMM_UOP_WRITE) && !leaves_memory(d, u, *addr))
		emit_lanes(d, u, *addr, COMM_ACCESS_WRITE | atomic,
			   comm_timing_store(&d->clock, line, *addr));
	return true;
}

/* False: the thread faults. */
static bool string_op(struct comm_decoder *d, struct comm_uop *u)
{
	struct comm_string_run string;
	bool runs_on = comm_string_exec(&d->emu, &d->clock, u, &string);

	if (string.has_elements)
		count(d, u, string.is_known);
	for (uint32_t i = 0; i < string.n_sides; i++)
		emit(d, string.side[i].addr, string.side[i].size_bytes, string.side[i].flags,
		     string.cycle);
	return runs_on;
}

/* Stack instructions that do not change the flow.  False: the thread faults. */
static bool stack_op(struct comm_decoder *d, struct comm_uop *u)
{
	struct comm_emu *emu = &d->emu;
	struct comm_value v = {0, 0};
	uint64_t addr;
	bool has_addr;

	switch (u->op) {
	case COMM_OP_PUSH:
		if (u->bits & COMM_UOP_MEM) {
			if (!touch(d, u, &addr, &has_addr))
				return false;
			if (has_addr)
				v = comm_memory_load(&emu->overlay, addr, u->access_bytes);
		} else if (u->bits & COMM_UOP_SRC_IMM) {
			v.bits = (uint64_t)u->imm;
			v.known = ~0ULL;
		} else {
			v = comm_emu_reg(emu, u->dst, u->width);
		}
		return push(d, u, v, u->width);
	case COMM_OP_POP:
		if (!pop(d, u, u->width, &v))
			return false;
		if (!(u->bits & COMM_UOP_MEM)) {
			comm_emu_set_reg(emu, u->dst, u->width, v);
			return true;
		}
		if (!touch(d, u, &addr, &has_addr))
			return false;
		if (has_addr)
			comm_memory_store(&emu->overlay, addr, u->width, v);
		else
			comm_memory_wild(&emu->overlay);
		return true;
	case COMM_OP_PUSHF:
		v.known = emu->flags_known & COMM_FLAGS_ALL;
		v.bits = emu->flags & v.known;
		return push(d, u, v, u->width);
	case COMM_OP_POPF:
		if (!pop(d, u, u->width, &v))
			return false;
		emu->flags_known = (uint32_t)v.known & COMM_FLAGS_ALL;
		emu->flags = (uint32_t)v.bits & emu->flags_known;
		return true;
	case COMM_OP_ENTER:
		v = comm_emu_reg(emu, COMM_RBP, 8);
		if (!push(d, u, v, 8))
			return false;
		emu->bits[COMM_RBP] = emu->bits[COMM_RSP];
		emu->known[COMM_RBP] = emu->known[COMM_RSP];
		comm_emu_add(emu, COMM_RSP, -(uint64_t)u->imm);
		return true;
	default: /* leave */
		emu->bits[COMM_RSP] = emu->bits[COMM_RBP];
		emu->known[COMM_RSP] = emu->known[COMM_RBP];
		if (!pop(d, u, 8, &v))
			return false;
		comm_emu_set_reg(emu, COMM_RBP, 8, v);
		return true;
	}
}

/* The burst ends because one of wanted (enum COMM_READY_*) is not known. */
static void lack(struct comm_decoder *d, uint64_t wanted)
{
	d->burst->lacked = comm_trace_lacked(d->step, d->burst->n_insns, wanted, &d->emu.overlay);
}

/* The target address of an indirect jump or call. */
static bool target_operand(struct comm_decoder *d, struct comm_uop *u, struct comm_value *ret)
{
	uint64_t addr;
	bool has_addr;

	ret->bits = ret->known = 0;
	if (!(u->bits & COMM_UOP_MEM)) {
		*ret = comm_emu_reg(&d->emu, u->dst, 8);
		if (ret->known != ~0ULL)
			lack(d, comm_trace_one(u->dst));
		return true;
	}
	if (!touch(d, u, &addr, &has_addr))
		return false;
	if (!has_addr)
		return true;
	*ret = comm_memory_load(&d->emu.overlay, addr, 8);
	if (ret->known != ~0ULL)
		d->burst->lacked = addr;
	return true;
}

static enum comm_truth loop_taken(struct comm_decoder *d, const struct comm_uop *u)
{
	struct comm_emu *emu = &d->emu;
	enum comm_truth zero;

	if (u->cond < 3)
		comm_emu_add(emu, COMM_RCX, ~0ULL);
	if (emu->known[COMM_RCX] != ~0ULL)
		return COMM_MAYBE;
	if (u->cond == 3)
		return emu->bits[COMM_RCX] ? COMM_FALSE : COMM_TRUE;
	if (!emu->bits[COMM_RCX])
		return COMM_FALSE;
	if (u->cond == 0)
		return COMM_TRUE;
	zero = comm_emu_condition(emu, u->cond == 1 ? 4 : 5);
	return zero;
}

static bool find_segment(struct comm_decoder *d, uint64_t ip, struct comm_segment **ret)
{
	for (uint32_t i = 0; i < d->n_segments; i++) {
		if (ip >= d->segment[i].start && ip < d->segment[i].end) {
			*ret = &d->segment[i];
			return true;
		}
	}
	*ret = &d->segment[d->n_segments < SEGMENTS ? d->n_segments : SEGMENTS - 1];
	if (!comm_codecache_segment(d->cache, d->space, d->now_ns, ip, *ret))
		return false;
	if (d->n_segments < SEGMENTS)
		d->n_segments++;
	return true;
}

/* Cache position of the sampled instruction; 0: *ret_why says why there is none. */
static uint32_t start(struct comm_decoder *d, struct comm_segment **seg,
		      enum comm_burst_end *ret_why)
{
	uint32_t position;

	*ret_why = COMM_BURST_NO_TEXT;
	if (!find_segment(d, d->sample->ip, seg))
		return 0;
	position = comm_codecache_find(d->cache, *seg, d->sample->ip);
	if (!position || comm_codecache_matches(d->cache, position, d->sample))
		return position;
	comm_codecache_forget(d->cache, *seg);
	position = comm_codecache_find(d->cache, *seg, d->sample->ip);
	if (!position || comm_codecache_matches(d->cache, position, d->sample))
		return position;
	*ret_why = COMM_BURST_CHANGED;
	return 0;
}

/* Cache position of the branch target ip; a direct branch keeps it in its link. */
static uint32_t go_to(struct comm_decoder *d, struct comm_segment **seg, uint64_t ip, uint32_t from)
{
	struct comm_uop *uop = comm_codecache_uops(d->cache);
	uint32_t epoch = comm_codecache_epoch(d->cache), position;

	if (ip >= (*seg)->start && ip < (*seg)->end) {
		if (from && uop[from].link)
			return uop[from].link;
	} else {
		from = 0;
		if (!find_segment(d, ip, seg))
			return 0;
	}
	position = comm_codecache_find(d->cache, *seg, ip);
	if (from && comm_codecache_epoch(d->cache) == epoch)
		uop[from].link = position;
	return position;
}

static enum comm_burst_end run(struct comm_decoder *d, uint32_t position, struct comm_segment *seg)
{
	struct comm_uop *uops = comm_codecache_uops(d->cache);
	struct comm_emu *emu = &d->emu;
	struct comm_burst *b = d->burst;

	while (b->n_insns < COMM_BURST_INSNS) {
		struct comm_uop *u = &uops[position];
		uint64_t ip = u->at + seg->delta, next = ip + u->len_bytes, addr = 0;
		struct comm_value v;
		enum comm_truth t;
		bool has_addr = false;
		uint32_t from;

		emu->bits[COMM_UREG_RIP] = ip;
		if (u->op != COMM_OP_GOTO) {
			comm_timing_begin(&d->clock, u);
			comm_trace_add(&d->step[b->n_insns], u, 0, false);
		}
		switch (u->op) {
		case COMM_OP_GOTO:
			position = go_to(d, &seg, ip, position);
			if (!position)
				return COMM_BURST_NO_TEXT;
			continue;
		case COMM_OP_JCC:
		case COMM_OP_LOOP:
			t = u->op == COMM_OP_JCC ? comm_emu_condition(emu, u->cond)
						 : loop_taken(d, u);
			if (t == COMM_MAYBE) {
				lack(d, comm_trace_one(u->op == COMM_OP_JCC ? COMM_READY_FLAGS
									    : COMM_RCX));
				return COMM_BURST_BRANCH;
			}
			comm_timing_end(&d->clock, u);
			b->n_insns++;
			if (t == COMM_FALSE) {
				position++;
				continue;
			}
			comm_timing_taken(&d->clock);
			position = go_to(d, &seg, ip + (uint64_t)u->imm, position);
			if (!position)
				return COMM_BURST_NO_TEXT;
			continue;
		case COMM_OP_JMP:
		case COMM_OP_CALL:
			from = position;
			v.bits = ip + (uint64_t)u->imm;
			v.known = ~0ULL;
			break;
		case COMM_OP_JMP_TO:
		case COMM_OP_CALL_TO:
			from = 0;
			if (!target_operand(d, u, &v))
				return COMM_BURST_UNSUPPORTED;
			if (v.known != ~0ULL && u->op == COMM_OP_JMP_TO) {
				b->n_insns++;
				return COMM_BURST_INDIRECT;
			}
			break;
		case COMM_OP_RET:
			from = 0;
			if (!pop(d, u, 8, &v))
				return COMM_BURST_UNSUPPORTED;
			comm_emu_add(emu, COMM_RSP, (uint64_t)u->imm);
			if (v.known != ~0ULL) {
				b->n_insns++;
				return COMM_BURST_INDIRECT;
			}
			leave(d);
			break;
		case COMM_OP_SYSCALL:
			v = comm_emu_reg(emu, COMM_RAX, 8);
			b->yields = v.known == ~0ULL && v.bits == SYS_sched_yield;
			return COMM_BURST_SYSCALL;
		case COMM_OP_UNSUPPORTED:
			return COMM_BURST_UNSUPPORTED;
		case COMM_OP_UNDECODED:
			return COMM_BURST_UNDECODED;
		case COMM_OP_PUSH:
		case COMM_OP_POP:
		case COMM_OP_PUSHF:
		case COMM_OP_POPF:
		case COMM_OP_LEAVE:
		case COMM_OP_ENTER:
			if (!stack_op(d, u))
				return COMM_BURST_UNSUPPORTED;
			goto next;
		case COMM_OP_MOVS:
		case COMM_OP_STOS:
		case COMM_OP_LODS:
		case COMM_OP_CMPS:
		case COMM_OP_SCAS:
			if (!string_op(d, u))
				return COMM_BURST_UNSUPPORTED;
			goto next;
		default:
			if ((u->bits & COMM_UOP_MEM) && !touch(d, u, &addr, &has_addr))
				return COMM_BURST_UNSUPPORTED;
			d->step[b->n_insns].addr = addr;
			d->step[b->n_insns].has_addr = has_addr;
			if (!comm_emu_exec(emu, u, addr, has_addr))
				return COMM_BURST_UNSUPPORTED;
			goto next;
		}
		/* Only calls, and jumps to a known address, get here. */
		if (u->op == COMM_OP_CALL || u->op == COMM_OP_CALL_TO) {
			struct comm_value back = {next, ~0ULL};

			if (!push(d, u, back, 8))
				return COMM_BURST_UNSUPPORTED;
			if (v.known != ~0ULL) {
				b->n_insns++;
				return COMM_BURST_INDIRECT;
			}
			enter(d, ip);
		}
		comm_timing_end(&d->clock, u);
		comm_timing_taken(&d->clock);
		b->n_insns++;
		position = go_to(d, &seg, v.bits, from);
		if (!position)
			return COMM_BURST_NO_TEXT;
		continue;
next:
		comm_timing_end(&d->clock, u);
		b->n_insns++;
		position++;
	}
	return COMM_BURST_FULL;
}

void comm_burst_run(struct comm_decoder *d, struct comm_space *space, uint64_t now_ns,
		    const struct comm_sample *sample, struct comm_burst *ret)
{
	struct comm_segment *seg;
	uint32_t position;

	ret->lacked = 0;
	ret->n_accesses = 0;
	ret->n_insns = 0;
	ret->n_unknown = 0;
	ret->n_filled = 0;
	ret->n_calls = 0;
	ret->cycles = 0;
	ret->yields = false;
	if (sample->mode_bits != 64) {
		ret->end = COMM_BURST_MODE32;
		return;
	}
	d->space = space;
	d->now_ns = now_ns;
	d->sample = sample;
	d->burst = ret;
	d->n_segments = 0;
	d->n_calls = 0;
	d->n_returns = 0;
	comm_codecache_begin(d->cache);
	position = start(d, &seg, &ret->end);
	if (!position)
		return;
	comm_emu_begin(&d->emu, sample);
	if (sample->known & COMM_SAMPLE_AFTER) {
		const struct comm_uop *u = &comm_codecache_uops(d->cache)[position];

		/* Where a rep was sampled, it may have been amid its elements. */
		ret->end = COMM_BURST_INDIRECT;
		if (comm_insn_ends_block(u) || u->bits & (COMM_UOP_REP | COMM_UOP_REPNE))
			return;
		position++;
	}
	comm_memory_begin(&d->emu.overlay, sample, constant, d);
	comm_timing_start(&d->clock);
	ret->end = run(d, position, seg);
	ret->cycles = comm_timing_cycles(&d->clock);
}

void comm_decoder_known(struct comm_decoder *d, struct comm_space *space, uint64_t now_ns,
			uint64_t ip, uint64_t *ret_known, uint64_t *ret_all)
{
	struct comm_segment seg;
	uint32_t position;

	*ret_known = 0;
	*ret_all = 0;
	if (!comm_codecache_segment(d->cache, space, now_ns, ip, &seg))
		return;
	position = comm_codecache_peek(d->cache, &seg, ip);
	if (!position)
		return;
	*ret_known = comm_codecache_uops(d->cache)[position].known;
	*ret_all = comm_codecache_uops(d->cache)[position].all;
}

bool comm_decoder_operand(struct comm_decoder *d, struct comm_space *space, uint64_t now_ns,
			  uint64_t ip, uint16_t way, uint32_t *ret_bytes, uint16_t *ret_flags)
{
	struct comm_segment seg;
	const struct comm_uop *u;
	uint32_t position;

	comm_codecache_begin(d->cache);
	if (!comm_codecache_segment(d->cache, space, now_ns, ip, &seg))
		return false;
	position = comm_codecache_find(d->cache, &seg, ip);
	if (!position)
		return false;
	u = &comm_codecache_uops(d->cache)[position];
	if (!(u->bits & COMM_UOP_MEM & way) || !u->access_bytes ||
	    u->bits & (COMM_UOP_UNSURE | COMM_UOP_MASKED))
		return false;
	*ret_bytes = u->access_bytes;
	*ret_flags = way | (u->bits & COMM_UOP_ATOMIC);
	return true;
}

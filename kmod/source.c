// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "mark.h"
#include "session.h"
#include "source.h"

/* Sources that want the samples in kernel mode as well. */
enum { IN_KERNEL = CP_SOURCE_KERNEL | CP_SOURCE_COPIES };

enum { BOTH_WAYS = CP_ACCESS_READ | CP_ACCESS_WRITE };

enum { SHARE_BITS = 10 }; /* of a share in fixed point */

/* kernel/events/core.c: hw.interrupts of an event that perf has throttled. */
#define MAX_INTERRUPTS (~0ULL)

static const struct cp_source_ops *const kinds[CP_SOURCE_KINDS] = {
	[CP_SOURCE_SOFT] = &cp_source_soft,
	[CP_SOURCE_PEBS] = &cp_source_pebs,
	[CP_SOURCE_IBS] = &cp_source_ibs,
};

/*
 * perf's set_linear_ip() gives the registers of a PEBS or IBS sample the code
 * segment of 64-bit code, whatever the task runs: the segment that the task entered
 * the kernel with is the right one.
 */
bool cp_hit_is_64bit(void)
{
	return user_64bit_mode(task_pt_regs(current));
}

/*
 * What the sample stands for.  An event that shares its counter with others counts
 * only while it has it; perf keeps both times, brought up to date whenever the event
 * gives the counter up.
 */
static u64 cp_source_stands_for(const struct cp_hit *hit)
{
	u64 running, share;

	if (!hit->event)
		return hit->period;
	running = hit->event->total_time_running;
	if (!running)
		return hit->period;
	share = div64_u64(hit->event->total_time_enabled << SHARE_BITS, running);
	return mul_u64_u32_shr(hit->period, clamp_t(u64, share, 1 << SHARE_BITS, U32_MAX),
			       SHARE_BITS);
}

void cp_hit_head(const struct cp_hit *hit, struct cp_record *head, u16 type)
{
	memset(head, 0, sizeof(*head));
	head->type = type;
	head->source = hit->src->id;
	head->time_ns = hit->time_ns;
	head->tgid = current->tgid;
	head->tid = current->pid;
	head->cpu = smp_processor_id();
	head->context = hit->context;
	head->mode_bits = user_mode(hit->regs) && !cp_hit_is_64bit() ? 32 : 64;
	head->period = cp_source_stands_for(hit);
	memcpy(head->comm, current->comm, sizeof(head->comm));
	head->comm[sizeof(head->comm) - 1] = 0;
}

void cp_hit_access(const struct cp_hit *hit, const struct cp_access *access, u16 type)
{
	struct cp_access *record = cp_ring_reserve(hit->ring, sizeof(*record));

	if (!record)
		return;
	*record = *access;
	cp_hit_head(hit, &record->head, type);
	cp_ring_commit(hit->ring, record, sizeof(*record));
}

/* Size and direction stand in the instruction; false: the direction is anybody's guess. */
static bool cp_source_precise_operand(struct cp_access *access, const struct cp_insn *insn,
				      bool only)
{
	u16 want = access->flags & BOTH_WAYS;
	u32 i;

	for (i = 0; i < insn->n; i++) {
		const struct cp_operand *operand = &insn->operand[i];
		u16 ways = operand->flags & BOTH_WAYS;

		/*
		 * The instruction's registers have moved on since: the operand is
		 * found by its direction, not by its address.
		 */
		if (want ? !(ways & want) : insn->n > 1 || ways == BOTH_WAYS)
			continue;
		if (!(operand->flags & CP_ACCESS_REP))
			access->size_bytes = operand->size_bytes;
		access->flags = only ? (operand->flags & ~BOTH_WAYS) | want : operand->flags;
		return true;
	}
	return want;
}

/*
 * A PEBS record's registers are those after its instruction: what the next one runs
 * with.  No memory goes along, for that would be of the interrupt, somewhat later.
 * Adaptive PEBS (format 4) has no flags; perf then leaves the bit that is always
 * set in flags at 0.
 */
static void cp_source_precise_burst(const struct cp_hit *hit, u8 insn_bytes)
{
	struct cp_sample *sample = cp_ring_reserve(hit->ring, sizeof(*sample));
	const struct cp_capture nothing = {};
	struct pt_regs regs = *hit->regs;
	struct cp_cpu cpu;

	if (!sample)
		return;
	regs.ip += insn_bytes;
	cp_capture_cpu(&regs, &cpu);
	/* The segments' bases are of the interrupt, which may have come in the kernel. */
	cpu.known = (1 << CP_KNOWN_FS) - 1;
	cp_capture(&nothing, &regs, &cpu, 0, sample);
	sample->reg[CP_KNOWN_FS] = 0;
	sample->reg[CP_KNOWN_GS] = 0;
	sample->flags &= ~PERF_EFLAGS_EXACT;
	if (!(regs.flags & X86_EFLAGS_FIXED))
		sample->known |= CP_NO_FLAGS;
	cp_hit_head(hit, &sample->head, CP_REC_SAMPLE);
	cp_ring_commit(hit->ring, sample, sizeof(*sample));
}

static u16 cp_source_precise_ways(const struct cp_hit *hit)
{
	u32 flags = hit->src->config.flags;
	u16 ways = 0;

	/* What was asked for says more than a data source, which E-cores leave out. */
	if (flags & CP_SOURCE_LOADS)
		return CP_ACCESS_READ;
	if (flags & CP_SOURCE_STORES)
		return CP_ACCESS_WRITE;
	if (!(hit->data->sample_flags & PERF_SAMPLE_DATA_SRC))
		return 0;
	if (hit->data->data_src.mem_op & PERF_MEM_OP_LOAD)
		ways |= CP_ACCESS_READ;
	if (hit->data->data_src.mem_op & PERF_MEM_OP_STORE)
		ways |= CP_ACCESS_WRITE;
	return ways;
}

void cp_hit_precise(struct cp_hit *hit)
{
	const struct perf_sample_data *data = hit->data;
	u32 flags = hit->src->config.flags;
	const struct cp_cpu nothing = {};
	struct cp_access access = {};
	struct cp_insn insn = {.ends = true};
	bool kernel_ip, kernel_addr;
	u8 text[CP_INSN_BYTES];
	u32 got;

	if (!(data->sample_flags & PERF_SAMPLE_ADDR) || !data->addr) {
		cp_ring_count(hit->ring, CP_LOST_NO_ADDRESS);
		return;
	}
	access.ip = instruction_pointer(hit->regs);
	access.addr = data->addr;
	kernel_ip = access.ip >= TASK_SIZE_MAX;
	kernel_addr = access.addr >= TASK_SIZE_MAX;
	if ((kernel_ip || kernel_addr) && !(flags & CP_SOURCE_KERNEL))
		return;
	/* IBS with an invalid RIP, PEBS that could not be rewound: ip is another's. */
	if (!(hit->regs->flags & PERF_EFLAGS_EXACT)) {
		cp_ring_count(hit->ring, CP_LOST_IMPRECISE);
		return;
	}
	if (data->sample_flags & PERF_SAMPLE_DATA_SRC)
		access.data_src = data->data_src.val;
	access.flags = cp_source_precise_ways(hit);
	if (data->sample_flags & PERF_SAMPLE_WEIGHT_STRUCT)
		access.latency_cycles = min_t(u32, data->weight.var1_dw, U16_MAX);
	else if (data->sample_flags & PERF_SAMPLE_WEIGHT)
		access.latency_cycles = min_t(u64, data->weight.full, U16_MAX);
	if (!kernel_ip && cp_hit_is_64bit()) {
		got = cp_capture_text(access.ip, text, sizeof(text));
		if (cp_decode(text, got, &nothing, &insn)) {
			insn.n = 0;
			insn.ends = true;
		}
	} else if (!kernel_ip) {
		cp_ring_count(hit->ring, CP_LOST_MODE32);
	}
	if (!cp_source_precise_operand(&access, &insn,
				       flags & (CP_SOURCE_LOADS | CP_SOURCE_STORES))) {
		cp_ring_count(hit->ring, CP_LOST_IMPRECISE);
		return;
	}
	if (kernel_ip)
		access.flags |= CP_ACCESS_KERNEL;
	/* A rep may have been sampled amid its elements. */
	cp_hit_mark(hit);
	if (flags & CP_SOURCE_BURST && !insn.ends && !(access.flags & CP_ACCESS_REP)) {
		access.flags |= CP_ACCESS_BURST;
		cp_hit_access(hit, &access, CP_REC_ACCESS);
		cp_source_precise_burst(hit, insn.bytes);
		access.flags &= ~CP_ACCESS_BURST;
	} else {
		cp_hit_access(hit, &access, CP_REC_ACCESS);
	}
	if (!kernel_ip && !kernel_addr)
		cp_watch_offer(hit, &access, 0);
}

/*
 * How long the interval was that this interrupt ends.  A PMU's driver has begun the next one
 * before it calls us, with the period that we set at the interrupt before, and says so in
 * last_period; perf's clocks begin theirs when we return.
 */
static u64 cp_source_ended(const struct cp_src *src, const struct perf_event *event, u64 *running)
{
	u64 ended = *running;

	if (src->attr.type != PERF_TYPE_SOFTWARE)
		WRITE_ONCE(*running, event->hw.last_period);
	return ended;
}

static void cp_source_overflow(struct perf_event *event, struct perf_sample_data *data,
			       struct pt_regs *regs)
{
	struct cp_src *src = event->overflow_handler_context;
	struct cp_session *session = src->session;
	struct cp_percpu *percpu = this_cpu_ptr(session->percpu);
	struct cp_hit hit = {
		.src = src,
		.event = event,
		.percpu = percpu,
		.data = data,
		.regs = regs,
		.time_ns = ktime_get_mono_fast_ns(),
		.period = cp_source_ended(src, event, &percpu->period[src->id]),
		.context = in_nmi() ? CP_CONTEXT_NMI : CP_CONTEXT_IRQ,
	};
	struct cp_meter *meter = &percpu->meter[hit.context];
	const struct cp_source *config = &src->config;
	u64 period;

	hit.ring = &percpu->ring[hit.context];
	if (!cp_ring_enter(hit.ring))
		return;
	/* This sample still comes, the next after a tick: what it misses is not known. */
	if (event->hw.interrupts == MAX_INTERRUPTS)
		cp_ring_count(hit.ring, CP_LOST_THROTTLED);
	if (!cp_budget_enter(&session->rule, meter, hit.time_ns)) {
		cp_ring_count(hit.ring, CP_LOST_BUDGET);
	} else if (regs && (user_mode(regs) || config->flags & IN_KERNEL) &&
		   cp_targets_match(&session->targets)) {
		if (cp_marks_look(&session->marks, &hit)) {
			percpu->samples[hit.context]++;
			src->ops->decode(&hit);
		} else {
			cp_ring_count(hit.ring, CP_LOST_STOPPED);
		}
	}
	period = cp_budget_period(meter, READ_ONCE(percpu->wanted[src->id]), config->min_period,
				  src->ops->period_step, config->flags & CP_SOURCE_JITTER);
	event->hw.sample_period = period;
	if (src->attr.type == PERF_TYPE_SOFTWARE)
		WRITE_ONCE(percpu->period[src->id], period);
	if (cp_ring_wakes(hit.ring))
		irq_work_queue(&session->wake);
	cp_budget_leave(&session->rule, meter, hit.time_ns, ktime_get_mono_fast_ns());
	cp_ring_leave(hit.ring);
}

int cp_source_pointees(struct cp_src *src, u32 on)
{
	if (on > 1 || !src->config.chunk_bytes)
		return -EINVAL;
	WRITE_ONCE(src->pointees, on);
	return 0;
}

/*
 * Of perf's events only the hardware's and the two clocks: a tracepoint or a breakpoint
 * has no period of its own, and other software events have no use here but to sample
 * where the kernel cannot be sampled.  What a type from PERF_TYPE_MAX on is, only its
 * PMU tells, once it is open.
 */
static int cp_source_check_type(const struct cp_source *config)
{
	switch (config->type) {
	case PERF_TYPE_SOFTWARE:
		return config->config == PERF_COUNT_SW_CPU_CLOCK ||
				       config->config == PERF_COUNT_SW_TASK_CLOCK
			       ? 0
			       : -EINVAL;
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
		return -EINVAL;
	default:
		return 0;
	}
}

/* Dynamic types of software, such as kprobe, uprobe and our own commprof/mem/. */
static bool cp_source_is_software(const struct perf_event_attr *attr,
				  const struct perf_event *event)
{
	return attr->type >= PERF_TYPE_MAX && event->pmu->task_ctx_nr == perf_sw_context;
}

static int cp_source_check(const struct cp_source *config)
{
	const struct cp_source_ops *ops;
	int ret;

	if (config->kind >= CP_SOURCE_KINDS)
		return -EINVAL;
	ops = kinds[config->kind];
	if (config->flags & ~(ops->flags | CP_SOURCE_JITTER) || config->reserved)
		return -EINVAL;
	if (!config->period || config->period > S64_MAX / 4 || config->min_period > config->period)
		return -EINVAL;
	if (config->period % ops->period_step || config->min_period % ops->period_step)
		return -EINVAL;
	if (config->flags & CP_SOURCE_KERNEL && !perfmon_capable())
		return -EPERM;
	ret = cp_source_check_type(config);
	return ret ?: ops->probe(config);
}

/* Nothing is guessed from the CPU's model: the first CPU that opens it decides. */
static int cp_source_try_open(struct perf_event_attr *attr)
{
	struct perf_event *event;
	unsigned int cpu;
	int ret = -ENODEV;

	/* A CPU that goes meanwhile says -ENODEV. */
	for_each_online_cpu(cpu) {
		event = perf_event_create_kernel_counter(attr, cpu, NULL, cp_source_overflow, NULL);
		if (!IS_ERR(event)) {
			ret = cp_source_is_software(attr, event) ? -EINVAL : 0;
			perf_event_release_kernel(event);
			return ret;
		}
		ret = PTR_ERR(event);
		if (ret != -ENOENT && ret != -ENODEV)
			return ret;
	}
	return ret;
}

int cp_source_init(struct cp_src *src, struct cp_session *session, struct cp_source *config)
{
	int ret = cp_source_check(config), err;
	unsigned int cpu;
	u32 attempt;

	if (ret)
		return ret;
	if (!config->min_period)
		config->min_period = config->period;
	src->session = session;
	src->ops = kinds[config->kind];
	ret = -EINVAL;
	for (attempt = 0; attempt < src->ops->attempts && ret; attempt++) {
		struct perf_event_attr attr = {
			.size = sizeof(attr),
			.type = config->type,
			.config = config->config,
			.config1 = config->config1,
			.config2 = config->config2,
			.sample_period = config->period,
			.disabled = 1,
			.exclude_kernel = !(config->flags & IN_KERNEL),
			.exclude_hv = 1,
			/* Of what a guest does, address and function mean nothing here. */
			.exclude_guest = 1,
		};

		err = src->ops->fill_attr(config, attempt, &attr);
		if (err)
			continue;
		ret = cp_source_try_open(&attr);
		src->attr = attr;
	}
	if (ret)
		return ret;
	src->attr.disabled = 0;
	config->precise = src->attr.precise_ip;
	config->has_data_src = !!(src->attr.sample_type & PERF_SAMPLE_DATA_SRC);
	src->config = *config;
	for_each_possible_cpu(cpu)
		per_cpu_ptr(session->percpu, cpu)->wanted[src->id] = config->period;
	src->capture.stack_bytes = ALIGN(config->stack_bytes, 8);
	src->capture.chunk_bytes = config->chunk_bytes;
	src->capture.depth = config->depth;
	src->capture.vector = config->flags & CP_SOURCE_VECTOR;
	src->pointees = true;
	return 0;
}

int cp_source_open(struct cp_src *src, unsigned int cpu)
{
	struct cp_percpu *percpu = per_cpu_ptr(src->session->percpu, cpu);
	struct perf_event_attr attr = src->attr;
	struct perf_event *event;

	attr.sample_period = percpu->wanted[src->id];
	percpu->period[src->id] = attr.sample_period;
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, cp_source_overflow, src);
	if (IS_ERR(event))
		return PTR_ERR(event);
	percpu->event[src->id] = event;
	return 0;
}

void cp_source_close(struct cp_src *src, unsigned int cpu)
{
	struct cp_percpu *percpu = per_cpu_ptr(src->session->percpu, cpu);

	if (percpu->event[src->id])
		perf_event_release_kernel(percpu->event[src->id]);
	percpu->event[src->id] = NULL;
}

static void cp_source_rate_of_cpu(struct cp_src *src, unsigned int cpu, u64 period)
{
	struct cp_percpu *percpu = per_cpu_ptr(src->session->percpu, cpu);

	WRITE_ONCE(percpu->wanted[src->id], period);
	if (!percpu->event[src->id])
		return;
	/* What is refused here the handler still does, at the next interrupt. */
	if (!perf_event_period(percpu->event[src->id], period))
		WRITE_ONCE(percpu->period[src->id], period);
}

int cp_source_rate(struct cp_src *src, u32 cpu, u64 period)
{
	if (period > S64_MAX / 4 || period < src->config.min_period ||
	    period % src->ops->period_step)
		return -EINVAL;
	if (cpu != CP_RATE_EVERY_CPU && (cpu >= nr_cpu_ids || !cpu_possible(cpu)))
		return -EINVAL;
	if (cpu != CP_RATE_EVERY_CPU) {
		cp_source_rate_of_cpu(src, cpu, period);
	} else {
		for_each_possible_cpu(cpu)
			cp_source_rate_of_cpu(src, cpu, period);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "session.h"
#include "source.h"

/* Sources that want the samples in kernel mode as well. */
enum { IN_KERNEL = CP_SOURCE_KERNEL | CP_SOURCE_COPIES };

static const struct cp_source_ops *const kinds[CP_SOURCE_KINDS] = {
	[CP_SOURCE_SOFT] = &cp_source_soft,
	[CP_SOURCE_PEBS] = &cp_source_pebs,
	[CP_SOURCE_IBS] = &cp_source_ibs,
};

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
	head->mode_bits = user_mode(hit->regs) && !user_64bit_mode(hit->regs) ? 32 : 64;
	head->period = hit->period;
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

/*
 * Size and direction stand in the instruction.  Its registers have moved on
 * since, so the operand is found by its direction, not by its address.
 */
static void precise_operand(struct cp_access *access)
{
	const struct cp_cpu nothing = {.ip = access->ip};
	u16 want = access->flags & (CP_ACCESS_READ | CP_ACCESS_WRITE);
	struct cp_insn insn;
	u8 text[CP_INSN_BYTES];
	u32 got, i;

	got = cp_capture_text(access->ip, text, sizeof(text));
	if (cp_decode(text, got, &nothing, &insn))
		return;
	for (i = 0; i < insn.n; i++) {
		const struct cp_operand *operand = &insn.operand[i];

		if (want && !(operand->flags & want))
			continue;
		if (!(operand->flags & CP_ACCESS_REP))
			access->size_bytes = operand->size_bytes;
		access->flags = operand->flags;
		return;
	}
}

void cp_hit_precise(struct cp_hit *hit)
{
	const struct perf_sample_data *data = hit->data;
	struct cp_access access = {};
	bool kernel_ip, kernel_addr;

	if (!(data->sample_flags & PERF_SAMPLE_ADDR) || !data->addr) {
		cp_ring_count(hit->ring, CP_LOST_NO_ADDRESS);
		return;
	}
	access.ip = instruction_pointer(hit->regs);
	access.addr = data->addr;
	kernel_ip = access.ip >= TASK_SIZE_MAX;
	kernel_addr = access.addr >= TASK_SIZE_MAX;
	if ((kernel_ip || kernel_addr) && !(hit->src->config.flags & CP_SOURCE_KERNEL))
		return;
	if (data->sample_flags & PERF_SAMPLE_DATA_SRC) {
		access.data_src = data->data_src.val;
		if (data->data_src.mem_op & PERF_MEM_OP_LOAD)
			access.flags |= CP_ACCESS_READ;
		if (data->data_src.mem_op & PERF_MEM_OP_STORE)
			access.flags |= CP_ACCESS_WRITE;
	}
	if (data->sample_flags & PERF_SAMPLE_WEIGHT_STRUCT)
		access.latency_cycles = min_t(u32, data->weight.var1_dw, U16_MAX);
	else if (data->sample_flags & PERF_SAMPLE_WEIGHT)
		access.latency_cycles = min_t(u64, data->weight.full, U16_MAX);
	if (kernel_ip)
		access.flags |= CP_ACCESS_KERNEL;
	else if (user_64bit_mode(hit->regs))
		precise_operand(&access);
	else
		cp_ring_count(hit->ring, CP_LOST_MODE32);
	cp_hit_access(hit, &access, CP_REC_ACCESS);
	if (!kernel_ip && !kernel_addr)
		cp_watch_offer(hit, &access, 0);
}

static void overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct cp_src *src = event->overflow_handler_context;
	struct cp_session *session = src->session;
	struct cp_percpu *percpu = this_cpu_ptr(session->percpu);
	struct cp_hit hit = {
		.src = src,
		.percpu = percpu,
		.data = data,
		.regs = regs,
		.time_ns = ktime_get_mono_fast_ns(),
		.period = percpu->period[src->id],
		.context = in_nmi() ? CP_CONTEXT_NMI : CP_CONTEXT_IRQ,
	};
	struct cp_meter *meter = &percpu->meter[hit.context];
	const struct cp_source *config = &src->config;
	u64 period;

	hit.ring = &percpu->ring[hit.context];
	if (!cp_ring_enter(hit.ring))
		return;
	if (!cp_budget_enter(&session->rule, meter, hit.time_ns)) {
		cp_ring_count(hit.ring, CP_LOST_BUDGET);
	} else if (regs && (user_mode(regs) || config->flags & IN_KERNEL) &&
		   cp_targets_match(&session->targets)) {
		percpu->samples[hit.context]++;
		src->ops->decode(&hit);
	}
	period = cp_budget_period(meter, READ_ONCE(percpu->wanted[src->id]), config->min_period,
				  src->ops->period_step, config->flags & CP_SOURCE_JITTER);
	if (period != hit.period) {
		percpu->period[src->id] = period;
		event->hw.sample_period = period;
	}
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

static int check(const struct cp_source *config)
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
static int try_open(struct perf_event_attr *attr)
{
	struct perf_event *event;
	unsigned int cpu;
	int ret = -ENODEV;

	/* A CPU that goes meanwhile says -ENODEV. */
	for_each_online_cpu(cpu) {
		event = perf_event_create_kernel_counter(attr, cpu, NULL, overflow, NULL);
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
	int ret = check(config), err;
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
		};

		err = src->ops->fill_attr(config, attempt, &attr);
		if (err)
			continue;
		ret = try_open(&attr);
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
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, overflow, src);
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

static void rate_of_cpu(struct cp_src *src, unsigned int cpu, u64 period)
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
		rate_of_cpu(src, cpu, period);
	} else {
		for_each_possible_cpu(cpu)
			rate_of_cpu(src, cpu, period);
	}
	return 0;
}

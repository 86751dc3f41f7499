// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <string.h>

#include "record_event.h"

/* The format uses the model's numbers: should the model change one, translate it here. */
_Static_assert(COMM_NREGS == 18 && COMM_R15 == 15 && COMM_FS_BASE == 16, "registers of a sample");
_Static_assert(COMM_ACCESS_READ == 1 && COMM_ACCESS_WRITE == 2 && COMM_ACCESS_ATOMIC == 4 &&
		       COMM_ACCESS_IMPLICIT == 8 && COMM_ACCESS_REP == 16 &&
		       COMM_ACCESS_KERNEL == 32 && COMM_ACCESS_BURST == 64,
	       "flags of an access");
_Static_assert(COMM_TRIGGER_TIME == 0 && COMM_TRIGGER_INSTRUCTIONS == 1 &&
		       COMM_TRIGGER_ACCESSES == 2,
	       "what a period counts");

static void write_sample(struct comm_bytes *to, const struct comm_sample *s)
{
	comm_bytes_u64(to, s->ip);
	comm_bytes_u64(to, s->flags);
	comm_bytes_u64(to, s->period);
	comm_bytes_u32(to, s->known);
	comm_bytes_u8(to, s->mode_bits);
	comm_bytes_u8(to, s->n_chunks);
	comm_bytes_u16(to, s->data_bytes);
	for (int i = 0; i < COMM_NREGS; i++)
		comm_bytes_u64(to, s->reg[i]);
	for (int i = 0; i < s->n_chunks; i++) {
		comm_bytes_u64(to, s->chunk[i].addr);
		comm_bytes_u32(to, s->chunk[i].len_bytes);
		comm_bytes_u32(to, s->chunk[i].offset);
	}
	comm_bytes_block(to, s->data, s->data_bytes);
}

static void write_precise(struct comm_bytes *to, const struct comm_precise *p)
{
	comm_bytes_u64(to, p->addr);
	comm_bytes_u64(to, p->ip);
	comm_bytes_u64(to, p->size_bytes);
	comm_bytes_u16(to, p->flags);
	comm_bytes_u16(to, p->latency_cycles);
	comm_bytes_u32(to, p->period);
	comm_bytes_u64(to, p->data_src);
}

uint32_t comm_event_write(struct comm_bytes *to, const struct comm_event *event)
{
	comm_bytes_u64(to, event->time_ns);
	comm_bytes_u32(to, event->tgid);
	comm_bytes_u32(to, event->tid);
	comm_bytes_u32(to, event->cpu);
	comm_bytes_u32(to, 0);
	switch ((enum comm_event_kind)event->kind) {
	case COMM_EV_SAMPLE:
		write_sample(to, event->sample);
		return RECORD_SAMPLE;
	case COMM_EV_ACCESS:
		write_precise(to, &event->access);
		return RECORD_ACCESS;
	case COMM_EV_KCOPY:
		write_precise(to, &event->access);
		return RECORD_KCOPY;
	case COMM_EV_TOUCH:
		write_precise(to, &event->access);
		return RECORD_TOUCH;
	case COMM_EV_MARK:
		comm_bytes_u32(to, event->marks.n);
		comm_bytes_u32(to, 0);
		for (uint32_t i = 0; i < event->marks.n; i++)
			comm_bytes_u64(to, event->marks.name[i]);
		return RECORD_MARK;
	case COMM_EV_OBJECT:
		comm_bytes_u64(to, event->object.start);
		comm_bytes_u64(to, event->object.size_bytes);
		comm_bytes_u64(to, event->object.name);
		comm_bytes_u32(to, event->object.slot);
		comm_bytes_u32(to, 0);
		return RECORD_OBJECT;
	case COMM_EV_FRAME:
		comm_bytes_u64(to, event->frame);
		return RECORD_FRAME;
	case COMM_EV_PROBED:
		comm_bytes_u32(to, event->probed.id);
		comm_bytes_u32(to, 0);
		comm_bytes_string(to, event->probed.name);
		return RECORD_PROBED;
	case COMM_EV_CENSUS:
		write_precise(to, &event->census.read);
		comm_bytes_f64(to, event->census.stands_for);
		comm_bytes_u64(to, event->census.quiet_ns);
		comm_bytes_u64(to, event->census.changed_ns);
		comm_bytes_u32(to, event->census.waits);
		comm_bytes_u32(to, 0);
		return RECORD_CENSUS;
	case COMM_EV_FED:
		write_precise(to, &event->fed.read);
		write_precise(to, &event->fed.write);
		comm_bytes_u64(to, event->fed.read_ns);
		comm_bytes_u64(to, event->fed.write_ns);
		comm_bytes_u32(to, event->fed.read_tgid);
		comm_bytes_u32(to, event->fed.read_tid);
		comm_bytes_u32(to, event->fed.window);
		comm_bytes_u32(to, event->fed.how);
		comm_bytes_f64(to, event->fed.stands_for);
		return RECORD_FED;
	case COMM_EV_SWITCH:
		comm_bytes_u32(to, event->next_tid);
		comm_bytes_u32(to, event->sched.prev_tgid);
		comm_bytes_u32(to, event->sched.next_tgid);
		comm_bytes_u32(to, 0);
		return RECORD_SWITCH;
	case COMM_EV_FORK:
		comm_bytes_u32(to, event->fork.child_tgid);
		comm_bytes_u32(to, event->fork.child_tid);
		return RECORD_FORK;
	case COMM_EV_EXEC:
		return RECORD_EXEC;
	case COMM_EV_EXIT:
	case COMM_EV_RENAME:
		if (*event->name)
			comm_bytes_block(to, event->name, sizeof(event->name));
		return event->kind == COMM_EV_EXIT ? RECORD_EXIT : RECORD_RENAME;
	case COMM_EV_MMAP:
		comm_bytes_u64(to, event->mmap.start);
		comm_bytes_u64(to, event->mmap.end);
		comm_bytes_u64(to, event->mmap.offset);
		comm_bytes_u32(to, event->mmap.executable);
		comm_bytes_u32(to, 0);
		return RECORD_MMAP;
	case COMM_EV_RATE:
		comm_bytes_u64(to, event->period);
		comm_bytes_u32(to, event->trigger);
		comm_bytes_u32(to, 0);
		return RECORD_RATE;
	case COMM_EV_COST:
		comm_bytes_u64(to, event->cost.handler_ns);
		comm_bytes_u64(to, event->cost.daemon_ns);
		comm_bytes_u64(to, event->cost.setup_ns);
		comm_bytes_u64(to, event->cost.target_ns);
		comm_bytes_u64(to, event->cost.samples);
		comm_bytes_u64(to, event->cost.daemon_idle_ns);
		comm_bytes_f64(to, event->cost.limit);
		comm_bytes_f64(to, event->cost.floor);
		return RECORD_COST;
	case COMM_EV_COUNT:
		comm_bytes_u64(to, event->counted.value);
		comm_bytes_u64(to, event->counted.enabled_ns);
		comm_bytes_u64(to, event->counted.running_ns);
		comm_bytes_string(to, event->counted.counter);
		return RECORD_COUNT;
	case COMM_EV_LOSS:
		comm_bytes_u64(to, event->count);
		comm_bytes_string(to, comm_loss_name((enum comm_loss)event->cause));
		return RECORD_LOSS;
	}
	return 0;
}

static int read_sample(struct comm_cursor *from, struct comm_sample *ret)
{
	const void *data;

	ret->ip = comm_cursor_u64(from);
	ret->flags = comm_cursor_u64(from);
	ret->period = comm_cursor_u64(from);
	ret->known = comm_cursor_u32(from);
	ret->mode_bits = comm_cursor_u8(from);
	ret->n_chunks = comm_cursor_u8(from);
	ret->data_bytes = comm_cursor_u16(from);
	if (ret->n_chunks > COMM_SAMPLE_CHUNKS || ret->data_bytes > COMM_SAMPLE_DATA_BYTES)
		return -EBADMSG;
	for (int i = 0; i < COMM_NREGS; i++)
		ret->reg[i] = comm_cursor_u64(from);
	memset(ret->chunk, 0, sizeof(ret->chunk));
	for (int i = 0; i < ret->n_chunks; i++) {
		ret->chunk[i].addr = comm_cursor_u64(from);
		ret->chunk[i].len_bytes = comm_cursor_u32(from);
		ret->chunk[i].offset = comm_cursor_u32(from);
	}
	data = comm_cursor_block(from, ret->data_bytes);
	if (!data || !comm_sample_valid(ret))
		return -EBADMSG;
	memcpy(ret->data, data, ret->data_bytes);
	return 0;
}

static void read_precise(struct comm_cursor *from, struct comm_precise *ret)
{
	ret->addr = comm_cursor_u64(from);
	ret->ip = comm_cursor_u64(from);
	ret->size_bytes = comm_cursor_u64(from);
	ret->flags = comm_cursor_u16(from);
	ret->latency_cycles = comm_cursor_u16(from);
	ret->period = comm_cursor_u32(from);
	ret->data_src = comm_cursor_u64(from);
}

static int read_loss(struct comm_cursor *from, struct comm_event *ret)
{
	const char *name;
	uint32_t cause;

	ret->count = comm_cursor_u64(from);
	name = comm_cursor_name(from);
	if (!name)
		return -EBADMSG;
	for (cause = 0; cause < COMM_LOSS_MAX; cause++)
		if (!strcmp(name, comm_loss_name((enum comm_loss)cause)))
			break;
	ret->cause = cause;
	return cause < COMM_LOSS_MAX ? 0 : -ENOTSUP;
}

static int read_marks(struct comm_cursor *from, struct comm_marks *ret)
{
	uint32_t n = comm_cursor_u32(from);

	comm_cursor_u32(from);
	if (n > COMM_MARKS_MAX)
		return -EBADMSG;
	ret->n = n;
	for (uint32_t i = 0; i < n; i++)
		ret->name[i] = comm_cursor_u64(from);
	return 0;
}

static int read_count(struct comm_cursor *from, struct comm_event *ret)
{
	const char *name;

	ret->counted.value = comm_cursor_u64(from);
	ret->counted.enabled_ns = comm_cursor_u64(from);
	ret->counted.running_ns = comm_cursor_u64(from);
	name = comm_cursor_name(from);
	if (!name || !*name || strlen(name) >= COMM_COUNTER_BYTES)
		return -EBADMSG;
	strcpy(ret->counted.counter, name);
	return 0;
}

static int read_cost(struct comm_cursor *from, struct comm_event *ret)
{
	ret->cost.handler_ns = comm_cursor_u64(from);
	ret->cost.daemon_ns = comm_cursor_u64(from);
	ret->cost.setup_ns = comm_cursor_u64(from);
	ret->cost.target_ns = comm_cursor_u64(from);
	ret->cost.samples = comm_cursor_u64(from);
	if (from->at != from->end)
		ret->cost.daemon_idle_ns = comm_cursor_u64(from);
	if (from->at != from->end) {
		ret->cost.limit = comm_cursor_f64(from);
		ret->cost.floor = comm_cursor_f64(from);
	}
	/* As the head's; and no number is none. */
	return ret->cost.limit >= 0 && ret->cost.limit <= 100 && ret->cost.floor >= 0 &&
			       isfinite(ret->cost.floor)
		       ? 0
		       : -EBADMSG;
}

static int read_probed(struct comm_cursor *from, struct comm_event *ret)
{
	const char *name;

	ret->probed.id = comm_cursor_u32(from);
	comm_cursor_u32(from);
	name = comm_cursor_name(from);
	if (!name || strlen(name) >= COMM_PROBED_BYTES || !ret->probed.id ||
	    ret->probed.id > COMM_PROBED_MAX)
		return -EBADMSG;
	strcpy(ret->probed.name, name);
	return 0;
}

/* Older versions wrote none. */
static void read_name(struct comm_cursor *from, char ret[16])
{
	const void *name = from->at < from->end ? comm_cursor_block(from, 16) : NULL;

	if (name)
		memcpy(ret, name, 15);
}

int comm_event_read(uint32_t record_kind, struct comm_cursor *from, struct comm_event *ret,
		    struct comm_sample *sample)
{
	uint32_t cpu;
	int err = 0;

	memset(ret, 0, sizeof(*ret));
	ret->time_ns = comm_cursor_u64(from);
	ret->tgid = comm_cursor_u32(from);
	ret->tid = comm_cursor_u32(from);
	cpu = comm_cursor_u32(from);
	comm_cursor_u32(from);
	ret->cpu = (uint16_t)cpu;
	switch (record_kind) {
	case RECORD_SAMPLE:
		ret->kind = COMM_EV_SAMPLE;
		err = read_sample(from, sample);
		ret->sample = sample;
		break;
	case RECORD_ACCESS:
		ret->kind = COMM_EV_ACCESS;
		read_precise(from, &ret->access);
		break;
	case RECORD_KCOPY:
		ret->kind = COMM_EV_KCOPY;
		read_precise(from, &ret->access);
		break;
	case RECORD_TOUCH:
		ret->kind = COMM_EV_TOUCH;
		read_precise(from, &ret->access);
		break;
	case RECORD_MARK:
		ret->kind = COMM_EV_MARK;
		err = read_marks(from, &ret->marks);
		break;
	case RECORD_OBJECT:
		ret->kind = COMM_EV_OBJECT;
		ret->object.start = comm_cursor_u64(from);
		ret->object.size_bytes = comm_cursor_u64(from);
		ret->object.name = comm_cursor_u64(from);
		ret->object.slot = comm_cursor_u32(from);
		comm_cursor_u32(from);
		break;
	case RECORD_FRAME:
		ret->kind = COMM_EV_FRAME;
		ret->frame = comm_cursor_u64(from);
		break;
	case RECORD_PROBED:
		ret->kind = COMM_EV_PROBED;
		err = read_probed(from, ret);
		break;
	case RECORD_CENSUS:
		ret->kind = COMM_EV_CENSUS;
		read_precise(from, &ret->census.read);
		ret->census.stands_for = comm_cursor_f64(from);
		ret->census.quiet_ns = comm_cursor_u64(from);
		ret->census.changed_ns = comm_cursor_u64(from);
		ret->census.waits = comm_cursor_u32(from);
		comm_cursor_u32(from);
		break;
	case RECORD_FED:
		ret->kind = COMM_EV_FED;
		read_precise(from, &ret->fed.read);
		read_precise(from, &ret->fed.write);
		ret->fed.read_ns = comm_cursor_u64(from);
		ret->fed.write_ns = comm_cursor_u64(from);
		ret->fed.read_tgid = comm_cursor_u32(from);
		ret->fed.read_tid = comm_cursor_u32(from);
		ret->fed.window = comm_cursor_u32(from);
		ret->fed.how = comm_cursor_u32(from);
		ret->fed.stands_for = comm_cursor_f64(from);
		break;
	case RECORD_SWITCH:
		ret->kind = COMM_EV_SWITCH;
		ret->next_tid = comm_cursor_u32(from);
		ret->sched.prev_tgid = comm_cursor_u32(from);
		ret->sched.next_tgid = comm_cursor_u32(from);
		comm_cursor_u32(from);
		break;
	case RECORD_FORK:
		ret->kind = COMM_EV_FORK;
		ret->fork.child_tgid = comm_cursor_u32(from);
		ret->fork.child_tid = comm_cursor_u32(from);
		break;
	case RECORD_EXEC:
		ret->kind = COMM_EV_EXEC;
		break;
	case RECORD_EXIT:
		ret->kind = COMM_EV_EXIT;
		read_name(from, ret->name);
		break;
	case RECORD_RENAME:
		ret->kind = COMM_EV_RENAME;
		read_name(from, ret->name);
		break;
	case RECORD_MMAP:
		ret->kind = COMM_EV_MMAP;
		ret->mmap.start = comm_cursor_u64(from);
		ret->mmap.end = comm_cursor_u64(from);
		ret->mmap.offset = comm_cursor_u64(from);
		ret->mmap.executable = comm_cursor_u32(from);
		comm_cursor_u32(from);
		break;
	case RECORD_RATE:
		ret->kind = COMM_EV_RATE;
		ret->period = comm_cursor_u64(from);
		ret->trigger = comm_cursor_u32(from);
		comm_cursor_u32(from);
		err = ret->trigger > COMM_TRIGGER_ACCESSES ? -EBADMSG : 0;
		break;
	case RECORD_COST:
		ret->kind = COMM_EV_COST;
		err = read_cost(from, ret);
		break;
	case RECORD_COUNT:
		ret->kind = COMM_EV_COUNT;
		err = read_count(from, ret);
		break;
	case RECORD_LOSS:
		ret->kind = COMM_EV_LOSS;
		err = read_loss(from, ret);
		break;
	default:
		return -ENOTSUP;
	}
	return from->bad || cpu > UINT16_MAX ? -EBADMSG : err;
}

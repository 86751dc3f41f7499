// SPDX-License-Identifier: GPL-2.0-or-later
#include "window_pairs.h"

#include <errno.h>
#include <stdlib.h>

enum {
	EITHER_WAY = COMM_ACCESS_READ | COMM_ACCESS_WRITE,
	LOOP_BYTES = 256, /* a compiler's copies of one loop's body lie within so many */
};

int comm_window_pairs_init(struct comm_window_pairs *pairs, uint32_t capacity)
{
	*pairs = (struct comm_window_pairs){.capacity = capacity};
	pairs->pair = calloc(capacity, sizeof(*pairs->pair));
	return pairs->pair ? 0 : -ENOMEM;
}

void comm_window_pairs_deinit(struct comm_window_pairs *pairs)
{
	free(pairs->pair);
	pairs->pair = NULL;
}

void comm_window_pairs_clear(struct comm_window_pairs *pairs, uint64_t code_ip)
{
	pairs->code_ip = code_ip;
	pairs->n_pairs = 0;
	pairs->n_reads = pairs->n_others = pairs->n_writes = 0;
	pairs->known = pairs->are_of_one = pairs->are_of_thread = false;
	pairs->write = (struct comm_window_access){0};
}

void comm_window_pairs_gap(struct comm_window_pairs *pairs)
{
	pairs->known = false;
}

static bool is_same_thread(const struct comm_window_access *a, const struct comm_window_access *b)
{
	return a->tgid == b->tgid && a->tid == b->tid;
}

static bool is_same_code(const struct comm_window_access *a, const struct comm_window_access *b)
{
	return is_same_thread(a, b) && a->ip == b->ip;
}

static struct comm_window_pair *pair_of(struct comm_window_pairs *pairs,
					const struct comm_window_access *read)
{
	for (uint32_t i = 0; i < pairs->n_pairs; i++)
		if (is_same_code(&pairs->pair[i].read, read) &&
		    is_same_code(&pairs->pair[i].write, &pairs->write))
			return &pairs->pair[i];
	if (pairs->n_pairs == pairs->capacity)
		return NULL;
	pairs->pair[pairs->n_pairs].n = 0;
	return &pairs->pair[pairs->n_pairs++];
}

/* Is the word read as the drawn read does, or for another purpose? */
static bool is_like_drawn(const struct comm_window_pairs *pairs,
			  const struct comm_window_access *read)
{
	return read->ip - pairs->code_ip + LOOP_BYTES <= 2 * LOOP_BYTES;
}

static void count_read(struct comm_window_pairs *pairs, const struct comm_window_access *read)
{
	struct comm_window_pair *pair;

	if (!is_like_drawn(pairs, read)) {
		pairs->n_others++;
		return;
	}
	if (!pairs->known)
		return;
	pair = pair_of(pairs, read);
	if (!pair)
		return;
	pair->read = *read;
	pair->write = pairs->write;
	pair->n++;
	pairs->n_reads++;
}

void comm_window_pairs_access(struct comm_window_pairs *pairs,
			      const struct comm_window_access *access)
{
	if (!(access->flags & EITHER_WAY))
		pairs->known = false;
	if (access->flags & COMM_ACCESS_READ && !(access->flags & COMM_ACCESS_KERNEL))
		count_read(pairs, access);
	if (!(access->flags & COMM_ACCESS_WRITE))
		return;
	/* Of one write nobody knows whether others write, too. */
	pairs->are_of_one = pairs->n_writes && is_same_code(&pairs->write, access) &&
			    (pairs->are_of_one || pairs->n_writes == 1);
	pairs->are_of_thread = pairs->n_writes && is_same_thread(&pairs->write, access) &&
			       (pairs->are_of_thread || pairs->n_writes == 1);
	pairs->n_writes++;
	pairs->write = *access;
	pairs->known = true;
}

static struct comm_precise precise(const struct comm_live_word *word, uint64_t ip, uint16_t flags,
				   uint16_t way)
{
	return (struct comm_precise){
		.addr = word->addr,
		.ip = ip,
		.size_bytes = word->size_bytes,
		.flags = (uint16_t)(flags & ~EITHER_WAY) | way,
	};
}

static void set_write(struct comm_event *event, const struct comm_live_word *word,
		      const struct comm_window_access *write)
{
	event->cpu = write->cpu;
	event->tgid = write->tgid;
	event->tid = write->tid;
	event->fed.write_ns = write->time_ns;
	event->fed.write = precise(word, write->ip, write->flags, COMM_ACCESS_WRITE);
}

/* No read like the drawn one was seen of a known write: of the drawn one all is known but who wrote. */
static void tell_drawn(const struct comm_window_pairs *pairs, const struct comm_live_word *word,
		       struct comm_event *event)
{
	event->fed.read = precise(word, word->ip, 0, COMM_ACCESS_READ);
	event->fed.read_tgid = word->tgid;
	event->fed.read_tid = word->tid;
	event->fed.stands_for = word->stands_for;
	if (!pairs->n_others && (pairs->are_of_one || pairs->are_of_thread)) {
		set_write(event, word, &pairs->write);
		if (!pairs->are_of_one)
			event->fed.write = precise(word, 0, 0, COMM_ACCESS_WRITE);
		return;
	}
	event->tgid = word->tgid;
	event->tid = word->tid;
	if (word->is_sole) {
		event->fed.write_ns = word->time_ns;
		event->fed.write = precise(word, 0, 0, COMM_ACCESS_WRITE);
		return;
	}
	event->fed.write.addr = word->addr;
	event->fed.write.size_bytes = word->size_bytes;
}

void comm_window_pairs_tell(const struct comm_window_pairs *pairs,
			    const struct comm_live_word *word, uint32_t window,
			    enum comm_fed_how how, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	const struct comm_event head = {
		.kind = COMM_EV_FED,
		/* Not the write's own time, which the merge may have passed by now. */
		.time_ns = now_ns,
		.fed = {.window = window, .how = how},
	};
	struct comm_event event;

	if (!pairs->n_reads) {
		event = head;
		tell_drawn(pairs, word, &event);
		push(ctx, &event);
	}
	for (uint32_t i = 0; i < pairs->n_pairs; i++) {
		const struct comm_window_pair *p = &pairs->pair[i];

		event = head;
		set_write(&event, word, &p->write);
		event.fed.read = precise(word, p->read.ip, p->read.flags, COMM_ACCESS_READ);
		event.fed.read_ns = p->read.time_ns;
		event.fed.read_tgid = p->read.tgid;
		event.fed.read_tid = p->read.tid;
		event.fed.stands_for = word->stands_for * (double)p->n / (double)pairs->n_reads;
		push(ctx, &event);
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "transit.h"

#include <errno.h>

enum {
	WAYS = 8, /* places that a channel may have */
	SETS = COMM_TRANSIT_CHANNELS / WAYS,
	WRITES = 16, /* of a channel, that are followed at a time */
};

struct run {
	uint64_t date;
	uint32_t writer, bytes;
	uint32_t write; /* id of the call */
	uint32_t next;	/* 0: the last */
};

/* A call that is under way. */
struct write {
	uint32_t id; /* 0: free */
	bool is_in;  /* all that the kernel takes of it, it has */
	uint64_t bytes, taken;
};

struct channel {
	struct comm_transit_end end; /* kind 0: free */
	struct comm_transit_end
		peer;	/* of a socket: that which reads what is written here; kind 0: not known */
	uint64_t used;	/* table->uses then */
	uint64_t bytes; /* of all runs */
	uint32_t first, last; /* runs, 0: none */
	uint32_t readers;     /* calls that are under way */
	struct write write[WRITES];
};

/* On memory that children of fork() share. */
static struct {
	uint32_t owner; /* thread, 0: nobody */
	uint32_t takes; /* how often it had one */
	uint32_t last_id;
	uint64_t uses, lost;
	uint32_t n_runs, free; /* that were ever used; the first of those that are free, 0: none */
	struct channel channel[COMM_TRANSIT_CHANNELS];
	struct run run[COMM_TRANSIT_RUNS + 1]; /* from 1 */
} * table;

static const struct comm_transit_host *host;

int comm_transit_init(const struct comm_transit_host *of)
{
	host = of;
	table = of->map_shared(sizeof(*table));
	return table ? 0 : -ENOMEM;
}

/*
 * A process that was killed in between does not give it back: then it is taken.  The code that a signal handler has
 * interrupted cannot finish before it: false.
 */
static bool take_table(void)
{
	uint32_t self, owner = 0, takes, before = 0;
	unsigned int turn = 0;
	bool is_late;

	if (!table)
		return false;
	self = host->self();
	while (!__atomic_compare_exchange_n(&table->owner, &owner, self, 0, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (owner == self)
			return false;
		takes = __atomic_load_n(&table->takes, __ATOMIC_RELAXED);
		/* Who gives it back and takes it again lives. */
		if (takes != before)
			turn = 0;
		before = takes;
		is_late = !host->give_way(turn++);
		if (!is_late)
			owner = 0;
	}
	__atomic_store_n(&table->takes, table->takes + 1, __ATOMIC_RELAXED);
	return true;
}

/* Unless another one has taken it, as this one stood still for so long. */
static void give_table_back(void)
{
	uint32_t self = host->self();

	__atomic_compare_exchange_n(&table->owner, &self, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void free_run(uint32_t i)
{
	table->run[i].next = table->free;
	table->free = i;
}

/* What is in it is not known any more, nor what comes of calls that are under way, and of others until these have ended. */
static void forget(struct channel *c)
{
	while (c->first) {
		uint32_t next = table->run[c->first].next;

		free_run(c->first);
		c->first = next;
	}
	c->last = 0;
	c->bytes = 0;
	for (int i = 0; i < WRITES; i++)
		c->write[i] = (struct write){.id = c->write[i].id};
}

static bool is_same(const struct comm_transit_end *a, const struct comm_transit_end *b)
{
	return a->kind == b->kind && a->number == b->number && a->device == b->device;
}

static struct channel *set_of(const struct comm_transit_end *end)
{
	uint64_t h = (end->number * 31 + end->device) * 0x9e3779b97f4a7c15u;

	return &table->channel[(h >> 40) % SETS * WAYS];
}

static struct channel *find(const struct comm_transit_end *end)
{
	struct channel *set = set_of(end);

	for (int i = 0; i < WAYS; i++) {
		if (!is_same(&set[i].end, end))
			continue;
		set[i].used = ++table->uses;
		return &set[i];
	}
	return NULL;
}

static bool is_idle(const struct channel *c)
{
	return !c->bytes && !c->readers;
}

/* In place of the one that was not used for longest; one with nothing in it is as good as free. */
static struct channel *find_or_make(const struct comm_transit_end *end)
{
	struct channel *c = find(end), *set = set_of(end);

	if (c)
		return c;
	c = set;
	for (int i = 1; i < WAYS; i++)
		if (is_idle(&set[i]) == is_idle(c) ? set[i].used < c->used : is_idle(&set[i]))
			c = &set[i];
	table->lost += c->bytes;
	forget(c);
	*c = (struct channel){.end = *end, .used = ++table->uses};
	return c;
}

/* Another channel's memory. */
static void make_room(const struct channel *of)
{
	struct channel *oldest = NULL;

	for (uint32_t i = 0; i < COMM_TRANSIT_CHANNELS; i++) {
		struct channel *c = &table->channel[i];

		if (c != of && c->first && (!oldest || c->used < oldest->used))
			oldest = c;
	}
	if (!oldest)
		return;
	table->lost += oldest->bytes;
	forget(oldest);
}

/* 0: there is no room. */
static uint32_t new_run(const struct channel *of)
{
	uint32_t i;

	if (!table->free && table->n_runs < COMM_TRANSIT_RUNS)
		return ++table->n_runs;
	if (!table->free)
		make_room(of);
	i = table->free;
	if (i)
		table->free = table->run[i].next;
	return i;
}

static bool append(struct channel *c, const struct run *run)
{
	struct run *last = &table->run[c->last];
	uint32_t i;

	if (c->last && last->write == run->write && last->writer == run->writer &&
	    last->date == run->date) {
		last->bytes += run->bytes;
	} else {
		i = new_run(c);
		if (!i)
			return false;
		table->run[i] = *run;
		if (c->last)
			last->next = i;
		else
			c->first = i;
		c->last = i;
	}
	c->bytes += run->bytes;
	return true;
}

static struct write *write_of(struct channel *c, uint32_t id)
{
	for (int i = 0; id && i < WRITES; i++)
		if (c->write[i].id == id)
			return &c->write[i];
	return NULL;
}

/* So many of the first bytes are gone. */
static void take(struct channel *c, uint64_t bytes, comm_transit_run_fn *each, void *ctx)
{
	while (bytes && c->first) {
		struct run *run = &table->run[c->first];
		uint32_t part = run->bytes < bytes ? run->bytes : bytes, next = run->next;
		struct write *write = write_of(c, run->write);

		if (each)
			each(ctx, run->writer, run->date, part);
		if (write)
			write->taken += part;
		run->bytes -= part;
		c->bytes -= part;
		bytes -= part;
		if (run->bytes)
			continue;
		free_run(c->first);
		c->first = next;
		if (!next)
			c->last = 0;
	}
}

/* Who wrote these of the first bytes is not known, unless all have one writer. */
static void blur(struct channel *c, uint64_t bytes)
{
	const struct run *first = &table->run[c->first];
	uint64_t left = bytes, same = 0;
	uint32_t i;

	for (i = c->first; i && same < bytes && table->run[i].writer == first->writer;
	     i = table->run[i].next)
		same += table->run[i].bytes;
	if (same >= bytes)
		return;
	for (i = c->first; i && left; i = table->run[i].next) {
		table->run[i].writer = 0;
		left -= table->run[i].bytes < left ? table->run[i].bytes : left;
	}
}

void comm_transit_pair(const struct comm_transit_end *a, const struct comm_transit_end *b)
{
	if (!take_table())
		return;
	find_or_make(a)->peer = *b;
	find_or_make(b)->peer = *a;
	give_table_back();
}

/* Calls under way that the kernel may have taken after the one that begins. */
static bool has_unsure(const struct channel *c)
{
	for (int i = 0; i < WRITES; i++)
		if (c->write[i].id && !c->write[i].is_in)
			return true;
	return false;
}

/*
 * In which order the kernel takes calls that overlap is known if it has all bytes by now of those that began before.  Of
 * what is written to a socket the writer's end does not tell.  Else these have no writer.
 */
static bool settle(struct channel *c, int fd)
{
	const bool is_in =
		c->end.kind == COMM_TRANSIT_PIPE && host->queued(fd) == (int64_t)c->bytes;

	for (uint32_t i = c->first; i && !is_in; i = table->run[i].next) {
		const struct write *write = write_of(c, table->run[i].write);

		if (write && !write->is_in)
			table->run[i].writer = 0;
	}
	for (int i = 0; is_in && i < WRITES; i++)
		c->write[i].is_in = true;
	return is_in;
}

/* NULL: of a socket whose other end is not known. */
static struct channel *written_to(const struct comm_transit_end *end)
{
	struct comm_transit_end peer = *end;
	const struct channel *c;

	if (end->kind == COMM_TRANSIT_SOCKET) {
		c = find(end);
		if (!c || !c->peer.kind)
			return NULL;
		peer = c->peer;
	}
	return find_or_make(&peer);
}

/* Nobody who is followed reads a pipe that seems to hold more than it can: what is gone is gone. */
static void drop_gone(struct channel *c, int fd)
{
	int64_t queued;

	if (c->end.kind != COMM_TRANSIT_PIPE || c->bytes <= COMM_TRANSIT_WRITE_MAX || has_unsure(c))
		return;
	queued = host->queued(fd);
	if (queued >= 0 && (uint64_t)queued < c->bytes)
		take(c, c->bytes - queued, NULL, NULL);
}

bool comm_transit_write(const struct comm_transit_end *end, int fd, struct comm_transit_call *ret)
{
	struct channel *c;
	struct write *write = NULL;

	*ret = (struct comm_transit_call){0};
	if (!take_table())
		return false;
	c = written_to(end);
	for (int i = 0; c && i < WRITES && !write; i++)
		if (!c->write[i].id)
			write = &c->write[i];
	if (!write) {
		give_table_back();
		return false;
	}
	drop_gone(c, fd);
	ret->end = c->end;
	ret->is_followed = true;
	ret->is_blurred = has_unsure(c) && !settle(c, fd);
	if (!++table->last_id)
		table->last_id = 1;
	ret->id = table->last_id;
	*write = (struct write){.id = ret->id};
	return true;
}

void comm_transit_put(struct comm_transit_call *call, uint32_t writer, uint64_t date,
		      uint64_t bytes)
{
	struct channel *c = find(&call->end);
	struct write *write = c ? write_of(c, call->id) : NULL;
	const struct run run = {.date = date,
				.writer = call->is_blurred ? 0 : writer,
				.bytes = bytes,
				.write = call->id};

	if (!write || !bytes)
		return;
	write->bytes += bytes;
	if (append(c, &run))
		return;
	table->lost += c->bytes + bytes;
	forget(c);
}

void comm_transit_sent(struct comm_transit_call *call)
{
	(void)call;
	give_table_back();
}

/* The kernel took so many bytes of the call: the rest is not on its way. */
static void cut(struct channel *c, uint32_t id, uint64_t keep)
{
	uint32_t last = 0, next;

	for (uint32_t i = c->first; i; i = next) {
		struct run *run = &table->run[i];
		uint64_t left = run->bytes;

		next = run->next;
		if (run->write == id) {
			left = left < keep ? left : keep;
			keep -= left;
			c->bytes -= run->bytes - left;
			run->bytes = left;
		}
		if (left) {
			last = i;
			continue;
		}
		if (last)
			table->run[last].next = next;
		else
			c->first = next;
		free_run(i);
	}
	c->last = last;
}

void comm_transit_written(struct comm_transit_call *call, int64_t bytes)
{
	const uint64_t sent = bytes > 0 ? bytes : 0;
	struct channel *c;
	struct write *write;

	if (!call->is_followed || !take_table())
		return;
	c = find(&call->end);
	write = c ? write_of(c, call->id) : NULL;
	if (write) {
		if (sent < write->bytes)
			cut(c, call->id, sent > write->taken ? sent - write->taken : 0);
		write->id = 0;
	}
	give_table_back();
}

void comm_transit_read(const struct comm_transit_end *end, struct comm_transit_call *ret)
{
	struct channel *c;

	*ret = (struct comm_transit_call){0};
	if (!take_table())
		return;
	c = end->kind == COMM_TRANSIT_SOCKET ? find(end) : find_or_make(end);
	if (c) {
		c->readers++;
		ret->end = *end;
		ret->is_followed = true;
	}
	give_table_back();
}

/* That may not have come yet, of calls under way. */
static uint64_t bytes_to_come(const struct channel *c)
{
	uint64_t bytes = 0;

	for (int i = 0; i < WRITES; i++)
		if (c->write[i].id && !c->write[i].is_in)
			bytes += c->write[i].bytes - c->write[i].taken;
	return bytes;
}

/* Somebody else has put bytes in: nobody knows where. */
static void begin_again(struct channel *c, uint64_t queued)
{
	const struct run unknown = {.bytes = queued < UINT32_MAX ? queued : UINT32_MAX};

	forget(c);
	if (queued)
		append(c, &unknown);
}

/* What the kernel says after a read of so many bytes, which are still here.  False: of these nothing is known. */
static bool check(struct channel *c, uint64_t bytes, int64_t queued)
{
	uint64_t to_come, missing;

	if (queued < 0 || bytes + queued > c->bytes) {
		begin_again(c, queued < 0 ? 0 : queued);
		return false;
	}
	to_come = bytes_to_come(c);
	missing = c->bytes - bytes - queued;
	if (!missing || (!c->readers && missing <= to_come))
		return true;
	/* Others have taken them, before this read or after it: and what nobody is about to tell of does not come back. */
	blur(c, bytes + missing);
	if (!c->readers && !to_come)
		take(c, missing, NULL, NULL);
	return true;
}

void comm_transit_got(struct comm_transit_call *call, int fd, int64_t bytes,
		      comm_transit_run_fn *each, void *ctx)
{
	struct channel *c = NULL;
	const bool has_table = call->is_followed && take_table();

	if (has_table)
		c = find(&call->end);
	if (c && c->readers)
		c->readers--;
	if (c && bytes > 0 && check(c, bytes, host->queued(fd)))
		take(c, bytes, each, ctx);
	else if (call->is_followed && bytes > 0)
		each(ctx, 0, 0, bytes);
	if (has_table)
		give_table_back();
}

uint64_t comm_transit_lost(void)
{
	return table ? table->lost : 0;
}

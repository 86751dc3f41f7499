// SPDX-License-Identifier: GPL-2.0-or-later
#include "thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exact.h"
#include "mark.h"

enum {
	FIRST_EDGES = 1024,
	DATED_EDGES = 1 << 17,
	PAGE_BYTES = 4096,
	INSTRUCTION_BYTES_MAX = 16, /* that are announced at once */
	WORD_BYTES = 8,
	BY_WORDS = UINT8_MAX, /* a site's size, where its accesses differ in theirs */
};

#define ARENA_BYTES ((size_t)1 << 34)

/*
 * Shared with children of fork(), at the same address: who looks at the end sees
 * what all of them have counted.
 */
struct dictionary {
	uint32_t threads;
	uint64_t lost;
	struct comm_exact_thread *newest;
	size_t arena_fill;
	char *arena;
	struct comm_exact_identity identity[COMM_EXACT_THREADS];
	/* Open addressing: a site's number is its place. */
	uint64_t pc[COMM_EXACT_SITES];
	uint8_t bytes[COMM_EXACT_SITES]; /* of an access there, 0: there was none yet */
	/* Likewise: the region around << 48 and the address of the name. */
	uint64_t region[COMM_EXACT_REGIONS];
};

static const uint64_t low_bits = ((uint64_t)1 << COMM_EXACT_PLACE_SHIFT) - 1;

__thread struct comm_exact_thread *comm_exact_self;
__thread struct comm_exact_thread *comm_exact_quick;
__thread struct comm_exact_thread *comm_exact_quick_read;
uint64_t comm_exact_frames;

/* Where the thread is; a child of fork() goes on there. */
static __thread struct {
	const struct comm_mark_stack *stack; /* NULL: it has marked nothing */
	struct comm_exact_inside call;
} inside __attribute__((tls_model("initial-exec")));

static struct dictionary *dictionary;
static int self_first, has_key;
static pthread_key_t end_key;

static void renew_region(struct comm_exact_thread *t);

static void take_name(void *t)
{
	prctl(PR_GET_NAME, dictionary->identity[((struct comm_exact_thread *)t)->slot].name);
}

void comm_exact_thread_end(void)
{
	if (comm_exact_self)
		take_name(comm_exact_self);
}

static void __attribute__((noreturn)) out_of_memory(void)
{
	static const char what[] = "comm-exact: out of memory\n";

	syscall(SYS_write, 2, what, sizeof(what) - 1);
	for (;;)
		syscall(SYS_exit_group, 1);
}

void *comm_exact_map_shared(size_t bytes)
{
	void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		out_of_memory();
	return p;
}

/* Whole pages, zero, never given back. */
static void *allocate(size_t bytes)
{
	size_t at;

	bytes = (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
	at = __atomic_fetch_add(&dictionary->arena_fill, bytes, __ATOMIC_RELAXED);
	if (at + bytes > ARENA_BYTES)
		out_of_memory();
	return dictionary->arena + at;
}

/* The child is one new thread. */
static void after_fork(void)
{
	comm_exact_self = NULL;
	comm_exact_quick = comm_exact_quick_read = NULL;
	comm_exact_epochs_forked();
}

void comm_exact_threads_init(void)
{
	const char *text = getenv("COMM_EXACT_SELF_FIRST");

	if (dictionary)
		return;
	self_first = text && text[0] == '1';
	dictionary = comm_exact_map_shared(sizeof(*dictionary));
	dictionary->arena = comm_exact_map_shared(ARENA_BYTES);
	pthread_atfork(NULL, NULL, after_fork);
	has_key = !pthread_key_create(&end_key, take_name);
}

struct comm_exact_thread *comm_exact_thread_create(void)
{
	struct comm_exact_thread *t;
	uint32_t slot;

	comm_exact_init();
	/* What init called may have come here before us. */
	if (comm_exact_self)
		return comm_exact_self;
	t = allocate(sizeof(*t));
	/* Slot 0 is nobody. */
	slot = __atomic_add_fetch(&dictionary->threads, 1, __ATOMIC_RELAXED);
	if (slot >= COMM_EXACT_THREADS) {
		slot = COMM_EXACT_THREADS - 1;
		__atomic_fetch_add(&dictionary->lost, 1, __ATOMIC_RELAXED);
	} else {
		dictionary->identity[slot].pid = getpid();
		dictionary->identity[slot].tid = syscall(SYS_gettid);
		prctl(PR_GET_NAME, dictionary->identity[slot].name);
	}
	t->slot = slot;
	t->mask = FIRST_EDGES - 1;
	t->edge = allocate(FIRST_EDGES * sizeof(*t->edge));
	t->next = __atomic_load_n(&dictionary->newest, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(&dictionary->newest, &t->next, t, 0, __ATOMIC_RELEASE,
					    __ATOMIC_ACQUIRE))
		;
	comm_exact_self = t;
	if (comm_shadow_mask == COMM_EXACT_QUICK_BYTES - 1)
		comm_exact_quick = t;
	comm_exact_quick_read = comm_exact_selects ? NULL : comm_exact_quick;
	comm_object_stack(slot);
	renew_region(t);
	if (has_key)
		pthread_setspecific(end_key, t);
	return t;
}

/* Partner: grow(). */
struct comm_exact_edge *comm_exact_table(struct comm_exact_thread *t, uint64_t *ret_mask)
{
	struct comm_exact_edge *edge;

	do {
		*ret_mask = __atomic_load_n(&t->mask, __ATOMIC_ACQUIRE);
		edge = __atomic_load_n(&t->edge, __ATOMIC_ACQUIRE);
	} while (*ret_mask != __atomic_load_n(&t->mask, __ATOMIC_ACQUIRE));
	return edge;
}

struct comm_exact_thread *comm_exact_threads(void)
{
	return __atomic_load_n(&dictionary->newest, __ATOMIC_ACQUIRE);
}

const struct comm_exact_identity *comm_exact_identity(uint32_t slot)
{
	return &dictionary->identity[slot];
}

uint64_t comm_exact_threads_lost(void)
{
	return dictionary ? dictionary->lost : 0;
}

static uint64_t hash(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return key ^ key >> 29;
}

static struct comm_exact_edge *place(struct comm_exact_edge *edge, uint64_t mask, uint64_t key,
				     uint64_t object)
{
	uint64_t i = hash(hash(key) + object) & mask;

	while (edge[i].key && (edge[i].key != key || edge[i].object != object))
		i = (i + 1) & mask;
	return &edge[i];
}

/* The old table stays: a dump may be reading it.  All old ones together are as big as the new one. */
static void grow(struct comm_exact_thread *t)
{
	uint64_t mask = t->mask * 2 + 1, i;
	struct comm_exact_edge *edge = allocate((mask + 1) * sizeof(*edge));

	for (i = 0; i <= t->mask; i++)
		if (t->edge[i].key)
			*place(edge, mask, t->edge[i].key, t->edge[i].object) = t->edge[i];
	/* The table before its size, or a dump reads past the end (partner: comm_exact_table()). */
	__atomic_store_n(&t->edge, edge, __ATOMIC_RELEASE);
	__atomic_store_n(&t->mask, mask, __ATOMIC_RELEASE);
	/* They have edges of the old table, where nobody looks any more. */
	for (i = 0; i < COMM_EXACT_RECENT; i++)
		t->read[i].pc = t->written[i].pc = t->dated[i].pc = 0;
}

static struct comm_exact_edge *edge_of(struct comm_exact_thread *t, uint64_t key, uint64_t object)
{
	struct comm_exact_edge *e = place(t->edge, t->mask, key, object);

	if (!e->key) {
		if (++t->n * 2 > t->mask) {
			grow(t);
			e = place(t->edge, t->mask, key, object);
		}
		e->object = object;
		e->key = key;
	}
	return e;
}

uint32_t comm_exact_site(uint64_t key)
{
	uint32_t i = hash(key) >> 20 & (COMM_EXACT_SITES - 1), tries;

	if (key < COMM_SITE_FIRST)
		return key;
	for (tries = 0; tries < COMM_EXACT_SITES / 2; tries++) {
		uint64_t old = 0;

		if (i < COMM_SITE_FIRST)
			i = COMM_SITE_FIRST;
		if (dictionary->pc[i] == key ||
		    __atomic_compare_exchange_n(&dictionary->pc[i], &old, key, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) ||
		    old == key)
			return i;
		i = (i + 1) & (COMM_EXACT_SITES - 1);
	}
	return COMM_SITE_UNKNOWN;
}

uint64_t comm_exact_site_pc(uint32_t site)
{
	return site < COMM_SITE_FIRST ? site : dictionary->pc[site] & low_bits & ~COMM_EXACT_CALLEE;
}

int comm_exact_site_is_own(uint32_t site)
{
	return !(dictionary->pc[site] & COMM_EXACT_CALLEE);
}

struct comm_exact_place comm_exact_site_place(uint32_t site)
{
	return comm_exact_place_at(dictionary->pc[site] >> COMM_EXACT_PLACE_SHIFT);
}

uint32_t comm_exact_site_bytes(uint32_t site)
{
	return dictionary->bytes[site] == BY_WORDS ? WORD_BYTES : dictionary->bytes[site];
}

/* Threads that meet the site at once say the same, or that it goes by words. */
static void tell_bytes(uint32_t site, uint64_t len_bytes)
{
	uint8_t *bytes = &dictionary->bytes[site], was = __atomic_load_n(bytes, __ATOMIC_RELAXED);

	if (was == len_bytes || was == BY_WORDS)
		return;
	__atomic_store_n(bytes, was || len_bytes > INSTRUCTION_BYTES_MAX ? BY_WORDS : len_bytes,
			 __ATOMIC_RELAXED);
}

void comm_exact_region(uint32_t region, uint32_t *ret_parent, const char **ret_name)
{
	*ret_parent = dictionary->region[region] >> COMM_EXACT_PLACE_SHIFT;
	*ret_name = (const char *)(dictionary->region[region] & low_bits);
}

/* The region whose name stands there, within another. */
static uint32_t region_within(uint32_t parent, const char *name)
{
	uint64_t key = (uint64_t)parent << COMM_EXACT_PLACE_SHIFT | ((uint64_t)name & low_bits);
	uint32_t i = hash(key) >> 20 & (COMM_EXACT_REGIONS - 1), tries;

	for (tries = 0; tries < COMM_EXACT_REGIONS / 2; tries++) {
		uint64_t old = 0;

		if (i < COMM_EXACT_REGION_FIRST)
			i = COMM_EXACT_REGION_FIRST;
		if (dictionary->region[i] == key ||
		    __atomic_compare_exchange_n(&dictionary->region[i], &old, key, 0,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    old == key)
			return i;
		i = (i + 1) & (COMM_EXACT_REGIONS - 1);
	}
	return COMM_EXACT_REGION_OTHER;
}

/* What the thread has marked since the innermost call that is told apart began, within that. */
static void renew_region(struct comm_exact_thread *t)
{
	const struct comm_mark_stack *stack = inside.stack;
	uint32_t region = inside.call.region;
	uint64_t i;

	for (i = inside.call.marks;
	     stack && i < stack->depth && i < COMM_EXACT_MARKS && region != COMM_EXACT_REGION_OTHER;
	     i++)
		region = (intptr_t)stack->name[i] > 0 ? region_within(region, stack->name[i])
						      : COMM_EXACT_REGION_OTHER;
	t->place_bits =
		(uint64_t)comm_exact_place((struct comm_exact_place){region, inside.call.path})
		<< COMM_EXACT_PLACE_SHIFT;
}

/*
 * The header calls this after each change; a name that is NULL has no region of its own, nor has
 * code in place of one (COMM_MARK_CODE(), a negative number).
 */
void comm_exact_mark(const struct comm_mark_stack *stack)
{
	inside.stack = stack;
	renew_region(comm_exact_thread());
}

void comm_exact_region_enter(const char *name, struct comm_exact_inside *ret_around)
{
	struct comm_exact_thread *t = comm_exact_thread();
	uint32_t now = comm_exact_place_at(t->place_bits >> COMM_EXACT_PLACE_SHIFT).region;
	uint32_t region = now, parent;
	const char *of = NULL;

	while (region >= COMM_EXACT_REGION_FIRST && of != name) {
		comm_exact_region(region, &parent, &of);
		if (of != name)
			region = parent;
	}
	if (of != name)
		region = now == COMM_EXACT_REGION_OTHER ? now : region_within(now, name);
	*ret_around = inside.call;
	inside.call.region = region;
	inside.call.marks = inside.stack ? inside.stack->depth : 0;
	renew_region(t);
}

void comm_exact_region_leave(const struct comm_exact_inside *around)
{
	inside.call = *around;
	renew_region(comm_exact_thread());
}

uint32_t comm_exact_path_now(void)
{
	return inside.call.path;
}

void comm_exact_path_enter(uint32_t path, struct comm_exact_inside *ret_around)
{
	*ret_around = inside.call;
	inside.call.path = path;
	renew_region(comm_exact_thread());
}

/* Likewise: that frame begins.  Frames are of the process that writes the result. */
void comm_exact_frame(uint64_t frame)
{
	comm_exact_init();
	comm_exact_frames = frame;
	comm_exact_epoch_frame(frame);
}

/* A read is looked for by its frame first: no access has to ask whether it counts. */
void comm_exact_stop(uint32_t stopped)
{
	comm_exact_init();
	comm_exact_epoch_stop(stopped);
}

/* A signal handler of this thread may come in between: it shall find all of one access or none. */
static void remember_read(struct comm_exact_read *r, const struct comm_exact_read *now)
{
	r->pc = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->cell = now->cell;
	r->edge = now->edge;
	r->object = now->object;
	r->epoch = now->epoch;
	r->before = now->before;
	r->own = now->own;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->pc = now->pc;
}

/* Of what the thread writes there, less the frame. */
static uint64_t cell_of(struct comm_exact_thread *t, uint64_t pc)
{
	struct comm_exact_write *w = comm_exact_last_write(t, pc);
	uint64_t key = pc | t->place_bits, cell = w->cell;

	if (w->pc != key) {
		cell = (uint64_t)(t->slot << COMM_SITE_BITS | comm_exact_site(key))
		       << COMM_CELL_WRITER_SHIFT;
		w->pc = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		w->cell = cell;
		w->object = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		w->pc = key;
	}
	return cell;
}

uint32_t comm_exact_writer(uint64_t pc)
{
	return cell_of(comm_exact_thread(), pc) >> COMM_CELL_WRITER_SHIFT;
}

static uint32_t site_of(struct comm_exact_thread *t, uint64_t pc)
{
	return cell_of(t, pc) >> COMM_CELL_WRITER_SHIFT & (COMM_EXACT_SITES - 1);
}

static struct comm_exact_read *place_of(struct comm_exact_thread *t,
					const struct comm_exact_read *read)
{
	return comm_exact_last_read(t, read->pc & low_bits, read->cell, read->object);
}

/* As comm_exact_last_read(), of what was written in an epoch. */
static struct comm_exact_read *dated_place(struct comm_exact_thread *t, uint64_t pc, uint64_t cell,
					   uint32_t object)
{
	uint64_t writer = cell >> COMM_CELL_WRITER_SHIFT, epoch = (uint16_t)cell;

	return &t->dated[(pc / 8 ^ writer ^ writer >> COMM_SITE_BITS ^ object ^ epoch * 37) %
			 COMM_EXACT_RECENT];
}

/* Counts a read of one cell that was as `was` says, if the instruction has read what was written so in that epoch; else 0. */
static inline int read_dated(struct comm_exact_thread *t, uint64_t addr, uint64_t *cell,
			     uint64_t was, uint64_t len_bytes, uint64_t pc)
{
	uint32_t object = *comm_object_at(addr);
	struct comm_exact_read *r = dated_place(t, pc, was, object);

	if (r->pc != (pc | t->place_bits) || r->epoch != comm_exact_epoch_read ||
	    r->object != object || (was ^ r->cell) & ~COMM_CELL_SEEN ||
	    !comm_exact_count_again(r, cell, was, len_bytes))
		return 0;
	/* What comes next is mostly of the same epoch. */
	remember_read(comm_exact_last_read(t, pc, was, object), r);
	return 1;
}

/* Of a cell that was as `was` says, but for its edge.  That nobody had read it before is as good as any set. */
static void begin_read(struct comm_exact_thread *t, struct comm_exact_read *now, uint64_t was,
		       uint32_t object)
{
	now->cell = (was & ~COMM_CELL_SEEN) | (uint64_t)t->slot << COMM_CELL_SEEN_SHIFT;
	now->before = 0;
	now->object = object;
	now->own = !self_first && was >> (COMM_CELL_WRITER_SHIFT + COMM_SITE_BITS) == t->slot;
}

/* The edge of what r has, if that is `now`; else NULL. */
static struct comm_exact_edge *recall(const struct comm_exact_read *r,
				      const struct comm_exact_read *now)
{
	struct comm_exact_edge *edge = r->edge;

	/* A signal handler that comes in between may put another read there. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (r->pc != now->pc || (r->cell ^ now->cell) & ~COMM_CELL_SEEN ||
	    r->object != now->object || r->epoch != now->epoch || r->edge != edge)
		return NULL;
	return edge;
}

/* Of what nobody wrote there is no time; and no more edges are told apart by it than a look at all of them takes. */
static uint32_t earlier_of(const struct comm_exact_thread *t, uint64_t cell)
{
	uint32_t earlier = cell >> COMM_CELL_WRITER_SHIFT ? comm_exact_earlier(cell) : 0;

	return earlier && t->n >= DATED_EDGES ? COMM_EXACT_NO_SLICE : earlier;
}

/* Once in an epoch, of which a run that is cut has one for each slice. */
static void note_cpu(struct comm_exact_thread *t, uint16_t epoch)
{
	if (t->cpu_epoch == epoch)
		return;
	t->cpu_epoch = epoch;
	t->cpu = sched_getcpu() + 1;
}

static void find_edge(struct comm_exact_thread *t, struct comm_exact_read *now, uint32_t site)
{
	uint64_t writer = now->cell >> COMM_CELL_WRITER_SHIFT;
	struct comm_exact_read *r = place_of(t, now);

	now->edge = recall(r, now);
	if (now->edge)
		return;
	note_cpu(t, now->epoch);
	now->edge = edge_of(t,
			    writer << COMM_CELL_WRITER_SHIFT |
				    (uint64_t)comm_exact_back(now->cell) << COMM_SITE_BITS | site,
			    (uint64_t)earlier_of(t, now->cell) << 32 | now->object);
	remember_read(r, now);
}

/* Counts a read, or a part of one, of a cell that was as `was` says, for the edge that r has. */
static void count(struct comm_exact_thread *t, struct comm_exact_read *r, uint64_t *cell,
		  uint64_t was, uint64_t len_bytes)
{
	uint64_t now;

	if (comm_exact_count_again(r, cell, was, len_bytes))
		return;
	r->edge->bytes += len_bytes;
	if (comm_cell_first_read(cell, &was, &now, t->slot))
		r->edge->first_bytes += len_bytes;
	/* What others have written since, or a set without a number, does not say that it was read. */
	if ((now ^ r->cell) & ~COMM_CELL_SEEN || now & (COMM_CELL_MANY | COMM_CELL_BUSY))
		return;
	r->cell = now;
	r->before = comm_cell_set(was);
}

void comm_exact_read(struct comm_exact_thread *t, uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	const uint64_t granule = comm_shadow_mask + 1;
	const unsigned int shift = comm_shadow_shift;
	const uint32_t site = site_of(t, pc);
	struct comm_exact_read now = {.pc = pc | t->place_bits, .epoch = comm_exact_epoch};
	uint64_t part = granule - (addr & (granule - 1));

	if (comm_exact_epoch_read == COMM_EXACT_STOPPED || !comm_exact_counts(pc))
		return;
	tell_bytes(site, len_bytes);
	while (len_bytes) {
		uint64_t *cell = comm_cell_by(addr & -granule, shift);
		uint64_t was = __atomic_load_n(cell, __ATOMIC_RELAXED);
		uint32_t object = comm_object_of(addr);

		if (part > len_bytes)
			part = len_bytes;
		if (!now.edge || (was ^ now.cell) & ~COMM_CELL_SEEN || object != now.object) {
			begin_read(t, &now, was, object);
			find_edge(t, &now, site);
		}
		count(t, &now, cell, was, part);
		len_bytes -= part;
		addr += part;
		part = granule;
	}
	remember_read(place_of(t, &now), &now);
	if (now.epoch)
		remember_read(dated_place(t, pc, now.cell, now.object), &now);
}

/* What the instruction writes next will mostly be of that object, too. */
static void remember_write(struct comm_exact_thread *t, uint64_t pc,
			   const struct comm_exact_write *now)
{
	struct comm_exact_write *w = comm_exact_last_write(t, pc);

	w->pc = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->cell = now->cell;
	w->edge = now->edge;
	w->object = now->object;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->pc = now->pc;
}

/* Counts a write, or a part of one, unless nothing counts. */
static void count_write(struct comm_exact_thread *t, struct comm_exact_write *now, uint64_t object,
			uint64_t len_bytes)
{
	uint64_t site = now->cell >> COMM_CELL_WRITER_SHIFT & (COMM_EXACT_SITES - 1);

	if (comm_exact_epoch_read == COMM_EXACT_STOPPED)
		return;
	if (!now->edge || object != now->object)
		now->edge = edge_of(t, COMM_EXACT_WROTE | site, object);
	now->object = object;
	now->edge->bytes += len_bytes;
}

void comm_exact_write(struct comm_exact_thread *t, uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	const uint64_t granule = comm_shadow_mask + 1;
	const unsigned int shift = comm_shadow_shift;
	struct comm_exact_write now = {.pc = pc | t->place_bits, .cell = cell_of(t, pc)};
	uint64_t part = granule - (addr & (granule - 1));

	tell_bytes(now.cell >> COMM_CELL_WRITER_SHIFT & (COMM_EXACT_SITES - 1), len_bytes);
	while (len_bytes) {
		if (part > len_bytes)
			part = len_bytes;
		count_write(t, &now, comm_object_of(addr), part);
		__atomic_store_n(comm_cell_by(addr & -granule, shift), now.cell | comm_exact_epoch,
				 __ATOMIC_RELAXED);
		len_bytes -= part;
		addr += part;
		part = granule;
	}
	remember_write(t, pc, &now);
}

/* What a selected instruction has read before: where all count it is counted without coming here. */
static inline int is_again(uint64_t addr, uint64_t was, uint64_t len_bytes, uint64_t pc)
{
	struct comm_exact_read *r;

	if (!comm_exact_is_quick(comm_exact_quick, addr, len_bytes))
		return 0;
	r = comm_exact_read_again(comm_exact_quick, addr, was, pc);
	if (!r || was != r->cell)
		return 0;
	r->edge->bytes += len_bytes;
	return 1;
}

/* Mostly what the instruction did before, but of a cell that others have read. */
void comm_exact_read_slowly(uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	struct comm_exact_thread *t = comm_exact_thread();
	struct comm_exact_read now = {.pc = pc | t->place_bits, .epoch = comm_exact_epoch};
	uint64_t *cell, was;

	if (comm_exact_epoch_read == COMM_EXACT_STOPPED || !comm_exact_counts(pc))
		return;
	cell = comm_cell(addr);
	was = __atomic_load_n(cell, __ATOMIC_RELAXED);
	if (comm_exact_selects && is_again(addr, was, len_bytes, pc))
		return;
	if (now.epoch && !comm_cell_crossed(addr, len_bytes) &&
	    read_dated(t, addr, cell, was, len_bytes, pc))
		return;
	begin_read(t, &now, was, *comm_object_at(addr));
	if (!comm_cell_crossed(addr, len_bytes))
		now.edge = recall(place_of(t, &now), &now);
	if (!now.edge) {
		comm_exact_read(t, addr, len_bytes, pc);
		return;
	}
	count(t, &now, cell, was, len_bytes);
	remember_read(place_of(t, &now), &now);
}

void comm_exact_write_slowly(uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	comm_exact_write(comm_exact_thread(), addr, len_bytes, pc);
}

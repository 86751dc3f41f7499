/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace.h"

#include <stddef.h>

#include "memory.h"

void comm_trace_init(struct comm_trace *trace, uint32_t granule_bytes)
{
	*trace = (struct comm_trace){0};
	comm_shadow_init(&trace->shadow, granule_bytes);
	comm_table_init(&trace->table);
	comm_tool_dates_init(&trace->dates);
	trace->pos = trace->slot;
	trace->phase_end = UINT64_MAX;
	trace->counting = true;
	trace->marks = (struct comm_tool_marks_place){COMM_MARKS_NOWHERE, COMM_MARKS_NOWHERE};
	trace->clock_ns = comm_mem_map_shared(sizeof(*trace->clock_ns));
	trace->thread_instructions =
		comm_mem_map_shared(COMM_TRACE_THREADS * sizeof(*trace->thread_instructions));
}

void comm_trace_add_thread(struct comm_trace *trace, uint32_t number)
{
	uint32_t n = trace->n_threads ? trace->n_threads : 16;

	while (n <= number)
		n *= 2;
	if (n > trace->n_threads) {
		trace->threads = comm_mem_realloc(trace->threads, n * sizeof(*trace->threads));
		__builtin_memset(trace->threads + trace->n_threads, 0,
				 (n - trace->n_threads) * sizeof(*trace->threads));
		trace->n_threads = n;
	}
	/* The thread that goes on after fork() has another number there, and is in the same calls and marks. */
	if (trace->has_forked) {
		struct comm_trace_thread *t = &trace->threads[number];

		*t = trace->forked;
		t->actor = NULL;
		t->n_actors = 0;
		trace->has_forked = false;
	}
}

void comm_trace_forked(struct comm_trace *trace)
{
	comm_table_forked(&trace->table);
	comm_tool_dates_forked(&trace->dates);
	trace->has_forked = trace->thread < trace->n_threads;
	if (trace->has_forked)
		trace->forked = trace->threads[trace->thread];
	trace->reader_bit = 0;
	trace->accesses = trace->instructions = 0;
}

void comm_trace_run_thread(struct comm_trace *trace, uint32_t thread)
{
	if (thread == trace->thread && trace->reader_bit)
		return;
	comm_trace_flush(trace);
	trace->thread = thread;
	trace->reader_bit = comm_shadow_bit(thread);
}

void comm_trace_waited(struct comm_trace *trace, uint64_t ns)
{
	__atomic_fetch_add(trace->clock_ns, ns, __ATOMIC_RELAXED);
}

static uint32_t actor_outside(struct comm_trace *trace, uint32_t thread, uint32_t site)
{
	struct comm_trace_thread *t = &trace->threads[thread];

	if (site >= t->n_actors) {
		uint32_t n = t->n_actors ? t->n_actors : 256;

		while (n <= site)
			n *= 2;
		t->actor = comm_mem_realloc(t->actor, n * sizeof(*t->actor));
		__builtin_memset(t->actor + t->n_actors, 0, (n - t->n_actors) * sizeof(*t->actor));
		t->n_actors = n;
	}
	if (!t->actor[site])
		t->actor[site] = comm_table_add_actor(
			&trace->table, &(struct comm_tool_actor){.thread = thread, .site = site});
	return t->actor[site];
}

/* Few of all sites meet each of thousands of regions: an array for each by site would be empty but for these. */
uint32_t comm_trace_actor(struct comm_trace *trace, uint32_t thread, uint32_t site)
{
	const struct comm_tool_actor within = {.thread = thread,
					       .site = site,
					       .region = trace->threads[thread].region,
					       .path = trace->threads[thread].path};
	uint32_t actor = 0;

	if (within.region || within.path)
		actor = comm_table_actor_within(&trace->table, &within);
	return actor ? actor : actor_outside(trace, thread, site);
}

/* What the loop needs of the trace, out of the way of the stores it makes. */
struct view {
	uint8_t **chunk;
	uint64_t object_offset, page_offset, time_offset;
	uint64_t bit;
	uint32_t shift;
	bool by_object, counting, drawing;
	struct comm_tool_actor *all_actors;
	const uint32_t *actor; /* of the running thread, by site */
	uint32_t n_actors;     /* 0: it is in a region */
	/* What was asked for last there; actor 0: nothing. */
	uint32_t last_site, last_actor;
	uint64_t accesses, instructions, phase_end;
	uint64_t begun,
		since_ns; /* instructions and the clock, when the view was made, or a phase began */
	uint64_t slice_ns; /* what was written before is of an earlier slice */
	uint64_t frame_ns, frame_before_ns;
	uint64_t told; /* instructions up to there are the thread's already */
};

#define INLINE inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Rare, and so declared that the loop may keep its variables in registers. */
#define RARE __attribute__((noinline, cold, no_caller_saved_registers, target("general-regs-only")))

static INLINE void take_actors(const struct comm_trace *trace, struct view *v)
{
	const struct comm_trace_thread *thread = &trace->threads[trace->thread];

	v->actor = thread->actor;
	v->n_actors = thread->region || thread->path ? 0 : thread->n_actors;
	v->last_actor = 0;
}

static INLINE struct view view_of(const struct comm_trace *trace)
{
	struct view v = {.chunk = trace->shadow.chunk,
			 .object_offset = trace->shadow.object_offset,
			 .page_offset = trace->shadow.page_offset,
			 .time_offset = trace->shadow.time_offset,
			 .bit = trace->reader_bit,
			 .shift = trace->shadow.shift,
			 .all_actors = comm_array_at(&trace->table.actors, 0),
			 .by_object = trace->by_object,
			 .counting = trace->counting,
			 .drawing = trace->draw,
			 .instructions = trace->instructions,
			 .phase_end = trace->phase_end,
			 .begun = trace->instructions,
			 .told = trace->instructions,
			 .frame_ns = trace->frame_ns,
			 .frame_before_ns = trace->frame_before_ns,
			 .slice_ns = comm_tool_dates_since_ns(&trace->dates),
			 .since_ns = __atomic_load_n(trace->clock_ns, __ATOMIC_RELAXED)};

	take_actors(trace, &v);
	return v;
}

static INLINE void tell_thread(struct comm_trace *trace, struct view *v)
{
	if (v->counting)
		trace->thread_instructions[trace->thread] += v->instructions - v->told;
	v->told = v->instructions;
}

/* Of the actor whose segment that is. */
static INLINE void count_instructions(struct view *v, uint32_t actor, uint32_t n)
{
	v->instructions += n;
	if (LIKELY(v->counting))
		v->all_actors[actor].instructions += n;
}

/* The view goes on from there, and from what others have told meanwhile. */
static INLINE void tell_clock(struct comm_trace *trace, struct view *v)
{
	trace->instructions = v->instructions;
	comm_trace_waited(trace, v->instructions - v->begun);
	v->begun = v->instructions;
	v->since_ns = __atomic_load_n(trace->clock_ns, __ATOMIC_RELAXED);
}

/* The view is not used any more. */
static INLINE void end_view(struct comm_trace *trace, struct view *v)
{
	tell_thread(trace, v);
	trace->accesses += v->accesses;
	tell_clock(trace, v);
}

static INLINE uint64_t now_of(const struct view *v)
{
	return v->since_ns + (v->instructions - v->begun);
}

static INLINE uint64_t *time_of(const struct view *v, uint64_t *word)
{
	return word + v->time_offset / sizeof(*word);
}

static RARE struct comm_tool_cell *other_cell(struct comm_trace *trace,
					      struct comm_trace_access *access, uint64_t pair,
					      uint32_t object)
{
	access->pair = pair;
	access->object = object;
	return access->cell = comm_table_cell(&trace->table, (uint32_t)pair, pair >> 32, object);
}

static RARE void count_date(struct comm_trace *trace, struct comm_tool_cell *cell,
			    uint64_t written_ns, uint64_t bytes)
{
	comm_tool_dates_count(&trace->dates, cell,
			      (uint32_t)(cell - comm_table_at(&trace->table, 0)), written_ns,
			      bytes);
}

static RARE uint8_t *new_chunk(struct comm_trace *trace, uint64_t addr)
{
	return comm_shadow_add_chunk(&trace->shadow, addr);
}

static RARE uint32_t new_object(struct comm_trace *trace, uint64_t addr)
{
	return trace->find_object(addr);
}

static RARE bool others_read(struct comm_trace *trace, uint8_t *chunk, uint64_t addr)
{
	return comm_shadow_others_read(&trace->shadow, chunk, addr, trace->thread);
}

static RARE uint32_t unusual_actor(struct comm_trace *trace,
				   const struct comm_tool_segment *segment)
{
	return comm_trace_actor(trace, trace->thread, segment->site);
}

/* What the thread has marked since the innermost call that is a region began, within that. */
static void renew_region(const struct comm_trace *trace, struct comm_trace_thread *t)
{
	const struct comm_trace_call *last =
		t->n_calls && !trace->has_paths ? &t->call[t->n_calls - 1] : NULL;

	t->region = last ? last->within : 0;
	if (t->marks)
		t->region = comm_marks_region(t->marks, last ? last->n_marks : 0, t->region,
					      trace->region_of);
}

static void leave_call(const struct comm_trace *trace, struct comm_trace_thread *t)
{
	const struct comm_trace_call *call = &t->call[--t->n_calls];

	if (trace->has_paths) {
		t->path = call->around;
		return;
	}
	if (t->marks)
		comm_marks_forget(t->marks, call->n_marks);
	renew_region(trace, t);
}

/*
 * Calls end that the stack's top is above of: the one that returns, and those that longjmp() left.  Of another stack,
 * such as a signal handler's, nothing is known; one that lies less than COMM_TRACE_STACK_BYTES above, such as another
 * coroutine's, cannot be told from this one, and what returns on it ends these calls.
 */
static RARE void leave_calls(struct comm_trace *trace, uint64_t sp)
{
	struct comm_trace_thread *t = &trace->threads[trace->thread];

	while (t->n_calls && t->call[t->n_calls - 1].sp < sp &&
	       sp - t->call[t->n_calls - 1].sp < COMM_TRACE_STACK_BYTES)
		leave_call(trace, t);
}

static RARE void enter_call(struct comm_trace *trace, uint32_t function, uint64_t sp)
{
	struct comm_trace_thread *t = &trace->threads[trace->thread];
	uint32_t n_marks = t->marks ? t->marks->depth : 0, *within;

	/*
	 * Two that are under way do not begin at one place.  A jump to the first instruction from within, where a loop
	 * of a function without a frame begins, cannot be told from a call that came after: each turn is a call.
	 */
	leave_calls(trace, sp + 1);
	if (t->n_calls == trace->calls_deep)
		return;
	if (t->n_calls == t->calls_capacity) {
		t->calls_capacity = t->calls_capacity ? 2 * t->calls_capacity : 16;
		t->call = comm_mem_realloc(t->call, t->calls_capacity * sizeof(*t->call));
	}
	within = trace->has_paths ? &t->path : &t->region;
	t->call[t->n_calls++] = (struct comm_trace_call){
		.sp = sp, .around = *within, .function = function, .n_marks = n_marks};
	*within = trace->begin_call(t->call, t->n_calls);
	t->call[t->n_calls - 1].within = *within;
}

static void tell_stack(struct comm_trace *trace, uint64_t offset, uint64_t value)
{
	struct comm_trace_thread *t = &trace->threads[trace->thread];

	if (!t->marks) {
		t->marks = comm_mem_realloc(NULL, sizeof(*t->marks));
		*t->marks = (struct comm_tool_marks){0};
	}
	comm_marks_told(t->marks, offset, value);
	if (!offset)
		renew_region(trace, t);
}

/* A nanosecond passes, so that what was written before the frame is older than it. */
static void begin_frame(struct comm_trace *trace, uint64_t now_ns, uint64_t frame)
{
	comm_trace_waited(trace, 1);
	trace->frames = frame;
	trace->frame_before_ns = trace->frame_ns;
	trace->frame_ns = now_ns + 1;
}

/* Memory gets its name with its size, and loses it with that: a name is told in between. */
static void tell_object(struct comm_trace *trace, uint64_t offset, uint64_t value)
{
	const uint32_t i = offset / sizeof(struct comm_marks_object);
	struct comm_marks_object *object = &trace->object[i];

	switch (offset % sizeof(*object)) {
	case offsetof(struct comm_marks_object, start):
		object->start = value;
		break;
	case offsetof(struct comm_marks_object, name):
		object->name = value;
		break;
	case offsetof(struct comm_marks_object, bytes):
		object->bytes = value;
		trace->name_object(i, object);
		break;
	default:
		break;
	}
}

static RARE void tell_mark(struct comm_trace *trace, uint64_t now_ns, uint64_t addr, uint64_t value)
{
	const uint64_t objects = offsetof(struct comm_marks_process_layout, object);
	uint64_t offset = addr - trace->marks.process;

	if (comm_marks_is_of_stack(&trace->marks, addr))
		tell_stack(trace, addr - trace->marks.stack, value);
	else if (offset == offsetof(struct comm_marks_process_layout, stopped))
		trace->counting = !(uint32_t)value;
	else if (offset == offsetof(struct comm_marks_process_layout, frame))
		begin_frame(trace, now_ns, value);
	else if (offset >= objects)
		tell_object(trace, offset - objects, value);
}

/*
 * A store into marks has its meaning in the view, too; but for whether reads count: that is a view's as long as it is.
 * The caller takes the actors anew.
 */
static INLINE void take_mark(struct comm_trace *trace, struct view *v, uint64_t addr,
			     uint64_t value)
{
	tell_mark(trace, now_of(v), addr, value);
	if (v->frame_ns != trace->frame_ns)
		v->since_ns++;
	v->frame_ns = trace->frame_ns;
	v->frame_before_ns = trace->frame_before_ns;
}

static INLINE uint8_t *chunk_of(struct comm_trace *trace, const struct view *v, uint64_t addr)
{
	uint8_t *chunk = v->chunk[(addr >> COMM_SHADOW_CHUNK_SHIFT) & (COMM_SHADOW_CHUNKS - 1)];

	return LIKELY(chunk) ? chunk : new_chunk(trace, addr);
}

/* The cell of a pair of actors, writer and reader, for what is at an address. */
static INLINE struct comm_tool_cell *cell_of(struct comm_trace *trace, const struct view *v,
					     struct comm_trace_access *access, uint64_t addr,
					     uint8_t *chunk, uint64_t pair)
{
	uint64_t at = addr & (COMM_SHADOW_CHUNK_BYTES - 1);
	uint32_t object = 0;

	if (v->by_object) {
		object = ((const uint32_t *)(chunk + v->object_offset))[at >> 3];
		if (!object)
			object = ((const uint32_t *)(chunk + v->page_offset))[at >> 12];
		if (UNLIKELY(!object))
			object = new_object(trace, addr);
	}
	if (UNLIKELY(access->pair != pair || access->object != object))
		return other_cell(trace, access, pair, object);
	return access->cell;
}

static INLINE bool is_mark(const struct comm_trace *trace, uint64_t addr)
{
	return comm_marks_is_of_stack(&trace->marks, addr) ||
	       comm_marks_is_of_process(&trace->marks, addr);
}

static INLINE void count_age(struct comm_tool_cell *cell, uint64_t age_ns, uint64_t bytes)
{
	static const uint64_t less_ns[COMM_EXACT_AGES_MAX] = COMM_EXACT_AGES_NS;
	uint32_t i = 0;

	while (i < COMM_EXACT_AGES_MAX && age_ns >= less_ns[i])
		i++;
	if (i < COMM_EXACT_AGES_MAX)
		cell->age_bytes[i] += bytes;
}

/* Of an earlier slice, mostly that of the read before. */
static INLINE void count_earlier(struct comm_trace *trace, struct comm_tool_cell *cell,
				 uint64_t written_ns, uint64_t bytes)
{
	if (LIKELY(written_ns - cell->date_ns < cell->date_length_ns))
		cell->date->bytes += bytes;
	else
		count_date(trace, cell, written_ns, bytes);
}

/* Of a frame, from what was written when. */
static INLINE uint32_t back_of(const struct view *v, uint64_t written_ns)
{
	if (LIKELY(!v->frame_ns))
		return 0;
	return written_ns >= v->frame_ns ? 1 : written_ns >= v->frame_before_ns ? 2 : 3;
}

static INLINE void count_read(struct comm_trace *trace, const struct view *v,
			      struct comm_trace_access *access, uint64_t addr, uint64_t bytes,
			      uint8_t *chunk, uint64_t *word, uint32_t reader)
{
	uint64_t value = *word, written_ns = *time_of(v, word);
	uint32_t back = back_of(v, written_ns) << COMM_TABLE_BACK_SHIFT;
	struct comm_tool_cell *cell = cell_of(trace, v, access, addr, chunk,
					      (uint32_t)value | (uint64_t)(reader | back) << 32);

	cell->bytes += bytes;
	if (LIKELY((uint32_t)value)) {
		count_age(cell, now_of(v) - written_ns, bytes);
		if (UNLIKELY(written_ns < v->slice_ns))
			count_earlier(trace, cell, written_ns, bytes);
	}
	if (!(value & v->bit)) {
		cell->first_bytes += bytes;
		if (LIKELY(v->bit != COMM_SHADOW_OTHERS))
			*word = value | v->bit;
		else
			others_read(trace, chunk, addr);
	} else if (UNLIKELY(v->bit == COMM_SHADOW_OTHERS)) {
		if (others_read(trace, chunk, addr))
			cell->first_bytes += bytes;
	}
}

static INLINE void count_write(struct comm_trace *trace, const struct view *v,
			       struct comm_trace_access *access, uint64_t addr, uint64_t bytes,
			       uint8_t *chunk, uint32_t writer)
{
	if (v->counting)
		cell_of(trace, v, access, addr, chunk, writer)->bytes += bytes;
}

/* An access that may cross granules, or chunks. */
static INLINE void touch_range(struct comm_trace *trace, const struct view *v,
			       struct comm_trace_access *access, uint64_t addr, uint64_t len_bytes,
			       uint32_t actor, uint32_t kind)
{
	while (len_bytes) {
		uint64_t left = (1ull << v->shift) - (addr & ((1ull << v->shift) - 1));
		uint64_t bytes = left < len_bytes ? left : len_bytes;
		uint8_t *chunk = chunk_of(trace, v, addr);
		uint64_t *word = comm_shadow_word(chunk, addr, v->shift);

		if (kind & COMM_TRACE_READ)
			count_read(trace, v, access, addr, bytes, chunk, word, actor);
		if (kind & COMM_TRACE_WRITE) {
			count_write(trace, v, access, addr, bytes, chunk, actor);
			*word = actor;
			*time_of(v, word) = now_of(v);
		}
		addr += bytes;
		len_bytes -= bytes;
	}
}

static INLINE void touch(struct comm_trace *trace, const struct view *v,
			 struct comm_trace_access *access, uint64_t addr, uint32_t actor,
			 uint32_t kind)
{
	uint64_t in = addr & ((1ull << v->shift) - 1);
	uint8_t *chunk;
	uint64_t *word;

	if (UNLIKELY(in + access->size_bytes > 1ull << v->shift)) {
		touch_range(trace, v, access, addr, access->size_bytes, actor, kind);
		return;
	}
	chunk = chunk_of(trace, v, addr);
	word = comm_shadow_word(chunk, addr, v->shift);
	if (kind & COMM_TRACE_READ)
		count_read(trace, v, access, addr, access->size_bytes, chunk, word, actor);
	if (kind & COMM_TRACE_WRITE) {
		count_write(trace, v, access, addr, access->size_bytes, chunk, actor);
		*word = actor;
		*time_of(v, word) = now_of(v);
	}
}

static RARE void draw(struct comm_trace *trace, uint64_t now_ns, uint64_t ip, uint64_t addr,
		      uint32_t bytes, uint32_t kinds)
{
	for (uint32_t kind = COMM_TRACE_READ; kind <= COMM_TRACE_WRITE; kind++) {
		if (kinds & kind && !--trace->to_draw[kind])
			trace->to_draw[kind] = trace->draw(kind, now_ns, ip, addr, bytes);
	}
}

static INLINE void end_phase(struct comm_trace *trace, struct view *v)
{
	tell_clock(trace, v);
	tell_thread(trace, v);
	trace->end_phase();
	v->phase_end = trace->phase_end;
	v->slice_ns = comm_tool_dates_since_ns(&trace->dates);
}

/* How many instructions of a segment were counted before that access: up to a mark that changed whether any are. */
static INLINE uint32_t counted_before(const struct comm_tool_segment *segment, uint32_t access)
{
	if (LIKELY(access < 2) || segment->access[access - 2].kind != COMM_TRACE_TELL)
		return 0;
	return segment->access[access - 2].offset;
}

/*
 * Accesses from..to - 1 of a segment.  Where a mark among them says that reads count from there on, or no longer, the
 * view has to be made anew, and the rest be worked off with that: returns where it begins, else 0.
 */
static INLINE uint32_t work_off(struct comm_trace *trace, struct view *v,
				struct comm_tool_segment *segment, const uint64_t *slot,
				uint32_t from, uint32_t to)
{
	struct comm_trace_access *access = segment->access + from, *end = segment->access + to;
	uint32_t actor = 0, counted = counted_before(segment, from);

	if (UNLIKELY(segment->entered) && access < end && access->kind == COMM_TRACE_ENTER) {
		enter_call(trace, segment->entered - 1, slot[access->base]);
		access++;
		v->accesses--;
		take_actors(trace, v);
	}
	if (LIKELY(segment->site < v->n_actors))
		actor = v->actor[segment->site];
	else if (segment->site == v->last_site)
		actor = v->last_actor;
	if (UNLIKELY(!actor)) {
		actor = unusual_actor(trace, segment);
		take_actors(trace, v);
		v->last_site = segment->site;
		v->last_actor = actor;
	}
	for (; access < end; access++) {
		uint64_t base = slot[access->base], addr = base + access->offset;
		uint32_t kind = access->kind;

		if (UNLIKELY(v->drawing) && v->counting && (kind & COMM_TRACE_UPDATE) &&
		    (base || !(kind & COMM_TRACE_MAYBE)))
			draw(trace, now_of(v), segment->ip[access - segment->access], addr,
			     access->size_bytes, kind);
		/* Plain reads and writes get code of their own. */
		if (LIKELY(kind == COMM_TRACE_READ)) {
			if (v->counting)
				touch(trace, v, access, addr, actor, COMM_TRACE_READ);
		} else if (LIKELY(kind == COMM_TRACE_WRITE)) {
			touch(trace, v, access, addr, actor, COMM_TRACE_WRITE);
		} else if (kind == COMM_TRACE_LEAVE) {
			leave_calls(trace, base);
			v->accesses--;
			take_actors(trace, v);
		} else if (kind == COMM_TRACE_TELL) {
			v->accesses--;
			addr = slot[access[1].base] + access[1].offset;
			if (!is_mark(trace, addr))
				continue;
			/* Marks themselves are no accesses. */
			v->accesses--;
			count_instructions(v, actor, access->offset - counted);
			counted = access->offset;
			access++;
			take_mark(trace, v, addr, base);
			/* Which may move the actors. */
			actor = unusual_actor(trace, segment);
			take_actors(trace, v);
			if (UNLIKELY(v->counting != trace->counting)) {
				to = access + 1 - segment->access;
				v->accesses += to - from;
				return to;
			}
		} else if (base || !(kind & COMM_TRACE_MAYBE)) {
			if (!v->counting)
				kind &= ~COMM_TRACE_READ;
			touch(trace, v, access, addr, actor, kind);
		}
	}
	v->accesses += to - from;
	count_instructions(v, actor, segment->n_instructions - counted);
	if (UNLIKELY(v->instructions >= v->phase_end)) {
		end_phase(trace, v);
	}
	return 0;
}

static INLINE struct comm_tool_segment *segment_of(uint64_t header)
{
	return (struct comm_tool_segment *)(header & ((1ull << 48) - 1));
}

static INLINE uint32_t slots_of(uint64_t header)
{
	return header >> 48 & 0xff;
}

/* From an access of the segment at slot on, as far as the view holds; returns likewise where the rest begins. */
static INLINE const uint64_t *work_off_all(struct comm_trace *trace, struct view *v,
					   const uint64_t *slot, uint32_t *access)
{
	const uint64_t *end = trace->pos;
	uint32_t from = *access;

	while (slot < end) {
		uint64_t header = *slot;
		struct comm_tool_segment *segment = segment_of(header);

		from = work_off(trace, v, segment, slot, from, header >> 56);
		if (UNLIKELY(from))
			break;
		slot += slots_of(header);
	}
	*access = from;
	return slot;
}

static const uint64_t *flush_from(struct comm_trace *trace, const uint64_t *slot, uint32_t *access)
{
	struct view v = view_of(trace);

	/* The usual settings get a loop of their own, with them as constants. */
	if (v.shift == 3 && v.counting && !v.drawing && !v.by_object) {
		v.drawing = false;
		v.shift = 3;
		v.counting = true;
		v.by_object = false;
		slot = work_off_all(trace, &v, slot, access);
	} else if (v.shift == 3 && v.counting && !v.drawing && v.by_object) {
		v.drawing = false;
		v.shift = 3;
		v.counting = v.by_object = true;
		slot = work_off_all(trace, &v, slot, access);
	} else {
		slot = work_off_all(trace, &v, slot, access);
	}
	end_view(trace, &v);
	return slot;
}

void comm_trace_flush(struct comm_trace *trace)
{
	const uint64_t *slot = trace->slot;
	uint32_t access = 0;

	if (trace->pos == trace->slot)
		return;
	while (slot < trace->pos)
		slot = flush_from(trace, slot, &access);
	trace->pos = trace->slot;
	trace->slot[0] = 0;
}

/* The access of a segment that fault_ip made, n_accesses when it made none. */
static uint32_t faulted(const struct comm_tool_segment *segment, uint32_t from, uint64_t fault_ip)
{
	uint32_t n = from;

	while (n < segment->n_accesses && segment->ip[n] != fault_ip)
		n++;
	return n;
}

void comm_trace_flush_fault(struct comm_trace *trace, uint64_t fault_ip)
{
	const uint64_t *slot = trace->slot, *last = NULL;
	struct comm_tool_segment *segment;
	struct view v;
	uint32_t from = 0, to = 0;

	for (; slot < trace->pos; slot += slots_of(*slot))
		last = slot;
	/*
	 * It passed an exit before it faulted, so the last header is its own: had
	 * another segment begun after that one, it would not have got as far.
	 */
	if (last) {
		from = *last >> 56;
		to = faulted(segment_of(*last), from, fault_ip);
	}
	if (!last || to == segment_of(*last)->n_accesses) {
		last = trace->pos;
		from = 0;
		to = *last ? faulted(segment_of(*last), 0, fault_ip) : 0;
	}
	segment = segment_of(*last);
	comm_trace_flush(trace);
	if (!segment)
		return;
	do {
		v = view_of(trace);
		from = work_off(trace, &v, segment, last, from, to);
		end_view(trace, &v);
	} while (from);
	trace->slot[0] = 0;
}

void comm_trace_read(struct comm_trace *trace, uint32_t thread, uint32_t site, uint64_t addr,
		     uint64_t len_bytes)
{
	struct comm_trace_access access = {0}; /* reader 0 matches nobody */
	struct view v;

	comm_trace_run_thread(trace, thread);
	comm_trace_flush(trace);
	v = view_of(trace);
	if (trace->counting)
		touch_range(trace, &v, &access, addr, len_bytes,
			    comm_trace_actor(trace, thread, site), COMM_TRACE_READ);
}

void comm_trace_write(struct comm_trace *trace, uint32_t thread, uint32_t site, uint64_t addr,
		      uint64_t len_bytes)
{
	struct comm_trace_access access = {0}; /* writer 0 is nobody */
	struct view v;

	comm_trace_flush(trace);
	v = view_of(trace);
	touch_range(trace, &v, &access, addr, len_bytes, comm_trace_actor(trace, thread, site),
		    COMM_TRACE_WRITE);
}

/* Up to the end of the granule that it begins in. */
static uint64_t in_granule(const struct comm_trace *trace, uint64_t addr, uint64_t len_bytes)
{
	uint64_t granule = 1ull << trace->shadow.shift;
	uint64_t bytes = granule - (addr & (granule - 1));

	return bytes < len_bytes ? bytes : len_bytes;
}

static uint64_t *word_at(struct comm_trace *trace, uint64_t addr)
{
	return comm_shadow_word(comm_shadow_chunk(&trace->shadow, addr), addr, trace->shadow.shift);
}

uint64_t comm_trace_writer(struct comm_trace *trace, uint64_t addr, uint64_t len_bytes,
			   uint32_t *ret_actor)
{
	*ret_actor = *word_at(trace, addr);
	return in_granule(trace, addr, len_bytes);
}

void comm_trace_set_writer(struct comm_trace *trace, uint64_t addr, uint64_t len_bytes,
			   uint32_t actor, uint64_t time_ns)
{
	while (len_bytes) {
		uint64_t bytes = in_granule(trace, addr, len_bytes);
		uint64_t *word = word_at(trace, addr);

		*word = actor;
		*comm_shadow_time(&trace->shadow, word) = time_ns;
		addr += bytes;
		len_bytes -= bytes;
	}
}

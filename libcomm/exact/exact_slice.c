// SPDX-License-Identifier: GPL-2.0-or-later
/* What a slice of a result gives, for results.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contents.h"
#include "results.h"

static uint32_t named(const uint32_t *name, uint32_t id)
{
	return name ? name[id] : id;
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_edges(const void *left, const void *right)
{
	const struct comm_edge *a = left, *b = right;
	int order = compare_u32(a->src_thread, b->src_thread);

	if (!order)
		order = compare_u32(a->dst_thread, b->dst_thread);
	if (!order)
		order = compare_u32(a->src_site, b->src_site);
	if (!order)
		order = compare_u32(a->dst_site, b->dst_site);
	if (!order)
		order = compare_u32(a->object, b->object);
	return order;
}

/* Written as shortly before as the data changes that windows are opened on. */
static double fresh_bytes(const struct comm_exact_phase *phase, size_t edge)
{
	static const uint64_t less_ns[] = COMM_EXACT_AGES_NS;
	uint64_t bytes = 0;

	for (int i = 0; phase->ages && i < COMM_EXACT_AGES_MAX; i++)
		if (less_ns[i] <= comm_census_lag_ns[COMM_CENSUS_FED])
			bytes += phase->ages[edge].bytes[i];
	return (double)bytes;
}

int comm_exact_slice(struct comm_exact *exact, uint32_t index, comm_edge_fn *emit, void *ctx,
		     struct comm_unwritten *ret_unwritten)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	struct comm_unwritten unwritten = {0};
	struct comm_edge *edge;
	size_t n = 0;
	int err = 0;

	if (!phase)
		return -ENOENT;
	edge = malloc((phase->n_edges + 1) * sizeof(*edge));
	if (!edge)
		return -ENOMEM;
	comm_unwritten_ends_clear(&exact->unwritten);
	for (size_t i = 0; i < phase->n_edges && !err; i++) {
		const struct comm_exact_file_edge *f = &phase->edge[i];
		const struct comm_exact_actor *src = &exact->actor[f->src];
		const struct comm_exact_actor *dst = &exact->actor[f->dst];

		if (!f->src) {
			const struct comm_unwritten_end end = {
				dst->thread + 1, named(exact->site_name, dst->site),
				named(exact->object_name, f->object), f->bytes, f->first_bytes};

			unwritten.bytes += f->bytes;
			unwritten.first_bytes += f->first_bytes;
			err = comm_unwritten_ends_add(&exact->unwritten, &end);
			continue;
		}
		edge[n++] = (struct comm_edge){.src_thread = src->thread + 1,
					       .src_site = named(exact->site_name, src->site),
					       .dst_thread = dst->thread + 1,
					       .dst_site = named(exact->site_name, dst->site),
					       .object = named(exact->object_name, f->object),
					       .bytes = f->bytes,
					       .first_bytes = f->first_bytes};
		if (f->back)
			edge[n - 1].ages.back[f->back - 1] = (double)f->bytes;
		edge[n - 1].watched_bytes = fresh_bytes(phase, i);
	}
	if (err) {
		free(edge);
		return err;
	}
	qsort(edge, n, sizeof(*edge), compare_edges);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && !compare_edges(&edge[i], &edge[next]); next++) {
			edge[i].bytes += edge[next].bytes;
			edge[i].first_bytes += edge[next].first_bytes;
			edge[i].watched_bytes += edge[next].watched_bytes;
			comm_ages_add(&edge[i].ages, &edge[next].ages, 1);
		}
		emit(ctx, &edge[i]);
	}
	free(edge);
	comm_unwritten_ends_sort(&exact->unwritten);
	unwritten.end = exact->unwritten.end;
	unwritten.n_ends = exact->unwritten.n;
	*ret_unwritten = unwritten;
	return 0;
}

int comm_exact_slice_places(const struct comm_exact *exact, uint32_t index,
			    struct comm_placement **ret, size_t *ret_n)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	uint32_t n_threads = exact->run.n_threads;
	struct comm_placement *place;
	size_t n = 0;

	if (!phase)
		return -ENOENT;
	place = calloc(n_threads + 1, sizeof(*place));
	if (!place)
		return -ENOMEM;
	/* In a hostile file a thread may have several. */
	for (size_t i = 0; i < phase->n_places; i++)
		place[phase->place[i].thread] =
			(struct comm_placement){phase->place[i].thread + 1, phase->place[i].cpu, 1};
	for (uint32_t i = 0; i < n_threads; i++)
		if (place[i].samples)
			place[n++] = place[i];
	*ret = place;
	*ret_n = n;
	return 0;
}

/* Of what is between two actors, as slices name them. */
static int add_date(struct comm_exact *exact, const uint32_t actor[2], uint32_t object,
		    uint64_t at_ns, double bytes)
{
	const struct comm_exact_actor *src = &exact->actor[actor[0]];
	const struct comm_exact_actor *dst = &exact->actor[actor[1]];

	return comm_dates_add(&exact->dates, &(struct comm_dated){
						     .at_ns = at_ns,
						     .src_thread = src->thread + 1,
						     .src_site = named(exact->site_name, src->site),
						     .dst_thread = dst->thread + 1,
						     .dst_site = named(exact->site_name, dst->site),
						     .object = named(exact->object_name, object),
						     .bytes = bytes,
					     });
}

/* What is of an earlier phase is not of this one. */
int comm_exact_slice_dates(struct comm_exact *exact, uint32_t index, const uint64_t *at_ns,
			   const struct comm_dates **ret)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	int err = 0;

	if (!phase)
		return -ENOENT;
	comm_dates_clear(&exact->dates);
	for (size_t i = 0; exact->has_dates && i < phase->n_edges && !err; i++) {
		const struct comm_exact_file_edge *f = &phase->edge[i];

		if (f->src)
			err = add_date(exact, (const uint32_t[]){f->src, f->dst}, f->object,
				       at_ns[index], (double)f->bytes);
	}
	for (size_t i = 0; i < phase->n_dates && !err; i++) {
		const struct comm_exact_file_date *f = &phase->date[i];
		const uint32_t actor[] = {f->src, f->dst};

		err = add_date(exact, actor, f->object, at_ns[index], -(double)f->bytes);
		if (!err && f->phase != COMM_EXACT_NO_PHASE)
			err = add_date(exact, actor, f->object, at_ns[f->phase], (double)f->bytes);
	}
	if (err)
		return err;
	comm_dates_sort(&exact->dates);
	*ret = &exact->dates;
	return 0;
}

int comm_exact_slice_writes(struct comm_exact *exact, uint32_t index, struct comm_written *ret)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	int err = 0;

	if (!phase)
		return -ENOENT;
	comm_unwritten_ends_clear(&exact->written);
	for (size_t i = 0; i < phase->n_writes && !err; i++) {
		const struct comm_exact_file_write *f = &phase->write[i];
		const struct comm_exact_actor *actor = &exact->actor[f->actor];
		const struct comm_unwritten_end end = {
			.thread = actor->thread + 1,
			.site = named(exact->site_name, actor->site),
			.object = named(exact->object_name, f->object),
			.bytes = f->bytes,
		};

		err = comm_unwritten_ends_add(&exact->written, &end);
	}
	if (err)
		return err;
	comm_unwritten_ends_sort(&exact->written);
	*ret = (struct comm_written){exact->written.end, exact->written.n};
	return 0;
}

static int add_length(struct comm_exact *exact, uint32_t actor, double length)
{
	const struct comm_exact_actor *of = &exact->actor[actor];
	const struct comm_unwritten_end end = {.thread = of->thread + 1,
					       .site = named(exact->site_name, of->site),
					       .bytes = length};

	return length > 0 ? comm_unwritten_ends_add(&exact->lengths, &end) : 0;
}

static double accesses_of(const struct comm_exact *exact, uint32_t actor, uint64_t bytes)
{
	uint32_t access_bytes = exact->code[exact->actor[actor].site].access_bytes;

	return access_bytes ? (double)bytes / access_bytes : 0;
}

int comm_exact_slice_lengths(struct comm_exact *exact, uint32_t index, struct comm_lengths *ret)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	const bool counted = exact->n_lengths;
	int err = 0;

	if (!phase)
		return -ENOENT;
	comm_unwritten_ends_clear(&exact->lengths);
	for (size_t i = 0; i < phase->n_lengths && !err; i++)
		err = add_length(exact, phase->length[i].actor, (double)phase->length[i].count);
	for (size_t i = 0; i < phase->n_edges && !counted && !err; i++)
		err = add_length(exact, phase->edge[i].dst,
				 accesses_of(exact, phase->edge[i].dst, phase->edge[i].bytes));
	for (size_t i = 0; i < phase->n_writes && !counted && !err; i++)
		err = add_length(exact, phase->write[i].actor,
				 accesses_of(exact, phase->write[i].actor, phase->write[i].bytes));
	if (err)
		return err;
	comm_unwritten_ends_sort(&exact->lengths);
	*ret = (struct comm_lengths){
		.end = exact->lengths.end,
		.n_ends = exact->lengths.n,
		.counter = counted ? COMM_EXACT_COUNTED_INSTRUCTIONS : COMM_EXACT_COUNTED_ACCESSES,
	};
	return 0;
}

int comm_exact_slice_instructions(const struct comm_exact *exact, uint32_t index,
				  struct comm_count **ret, size_t *ret_n)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	struct comm_count *count;
	size_t n = 0;

	if (!phase)
		return -ENOENT;
	count = calloc(exact->run.n_threads + 1, sizeof(*count));
	if (!count)
		return -ENOMEM;
	/* In a hostile file a thread may have several. */
	for (size_t i = 0; i < phase->n_executed; i++)
		count[phase->executed[i].thread].value += (double)phase->executed[i].count;
	for (uint32_t i = 0; i < exact->run.n_threads; i++)
		if (count[i].value > 0)
			count[n++] = (struct comm_count){.thread = i + 1, .value = count[i].value};
	*ret = count;
	*ret_n = n;
	return 0;
}

/* Each byte is a word, so that shares are known as well as by that many. */
static int add_class(struct comm_exact *exact, const struct comm_exact_file_edge *edge,
		     enum comm_census_class class, uint64_t bytes)
{
	const struct comm_exact_actor *reader = &exact->actor[edge->dst];
	const struct comm_census_words words = {
		.thread = reader->thread + 1,
		.site = named(exact->site_name, reader->site),
		.object = named(exact->object_name, edge->object),
		.class = class,
		.words = bytes,
		.bytes = (double)bytes,
		.squares = (double)bytes,
	};

	return bytes ? comm_census_add(&exact->census, &words) : 0;
}

/* As if a look of that lag had found the word changed, or the last one had not. */
static int add_ages(struct comm_exact *exact, const struct comm_exact_file_edge *edge,
		    const struct comm_exact_file_ages *ages)
{
	static const uint64_t less_ns[COMM_EXACT_AGES_MAX] = COMM_EXACT_AGES_NS;
	uint64_t older = edge->bytes;
	int err = 0;

	for (int i = 0; i < COMM_EXACT_AGES_MAX && !err; i++) {
		older -= ages->bytes[i];
		err = add_class(exact, edge, comm_census_class_of(0, less_ns[i]), ages->bytes[i]);
	}
	return err ? err
		   : add_class(exact, edge,
			       comm_census_class_of(less_ns[COMM_EXACT_AGES_MAX - 1], 0), older);
}

int comm_exact_slice_census(struct comm_exact *exact, uint32_t index,
			    const struct comm_census **ret)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	int err = 0;

	if (!phase)
		return -ENOENT;
	comm_census_clear(&exact->census);
	for (size_t i = 0; phase->ages && i < phase->n_edges && !err; i++)
		err = add_ages(exact, &phase->edge[i], &phase->ages[i]);
	if (err)
		return err;
	comm_census_sort(&exact->census);
	*ret = &exact->census;
	return 0;
}

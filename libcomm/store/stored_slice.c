// SPDX-License-Identifier: GPL-2.0-or-later
#include "stored_slice.h"

#include <math.h>

static int take_placements(struct comm_stored_slice *slice, const struct comm_naming *naming,
			   uint32_t row_cap)
{
	int err = 0;

	comm_placements_clear(&slice->placements);
	for (size_t i = 0; i < slice->info.n_placements && !err; i++) {
		const struct comm_placement *p = &slice->info.placement[i];

		err = comm_placements_add(&slice->placements, comm_naming_thread(naming, p->thread),
					  p->cpu, p->samples);
	}
	if (!err)
		comm_placements_fold(&slice->placements, row_cap,
				     &slice->info.loss[COMM_LOSS_CELLS]);
	comm_placements_sort(&slice->placements);
	slice->info.placement = slice->placements.placement;
	slice->info.n_placements = slice->placements.n;
	return err;
}

static int take_origins(struct comm_stored_slice *slice, struct comm_dictionary *dict,
			const struct comm_naming *naming, uint32_t row_cap)
{
	int err = 0;

	comm_origins_clear(&slice->origins);
	for (size_t i = 0; i < slice->info.n_origins && !err; i++) {
		struct comm_origin o = slice->info.origin[i];

		o.thread = comm_naming_thread(naming, o.thread);
		err = comm_dictionary_context(dict, naming, o.site, &o.site);
		if (!err)
			err = comm_dictionary_object(dict, naming, o.object, &o.object);
		if (!err)
			err = comm_origins_add(&slice->origins, &o);
	}
	if (!err)
		comm_origins_fold(&slice->origins, row_cap, &slice->info.loss[COMM_LOSS_CELLS]);
	comm_origins_sort(&slice->origins);
	slice->info.origin = slice->origins.origin;
	slice->info.n_origins = slice->origins.n;
	return err;
}

/* Puts ends, of reads or of writes, into *to, and points *end and *n there. */
static int take_ends(struct comm_stored_slice *slice, struct comm_unwritten_ends *to,
		     struct comm_dictionary *dict, const struct comm_naming *naming,
		     uint32_t row_cap, const struct comm_unwritten_end **end, size_t *n)
{
	int err = 0;

	comm_unwritten_ends_clear(to);
	for (size_t i = 0; i < *n && !err; i++) {
		struct comm_unwritten_end e = (*end)[i];

		if (!isfinite(e.bytes) || !isfinite(e.first_bytes))
			continue;
		e.thread = comm_naming_thread(naming, e.thread);
		err = comm_dictionary_context(dict, naming, e.site, &e.site);
		if (!err)
			err = comm_dictionary_object(dict, naming, e.object, &e.object);
		if (!err)
			err = comm_unwritten_ends_add(to, &e);
	}
	if (!err)
		comm_unwritten_ends_fold(to, row_cap, &slice->info.loss[COMM_LOSS_CELLS]);
	comm_unwritten_ends_sort(to);
	*end = to->end;
	*n = to->n;
	return err;
}

static int take_lengths(struct comm_stored_slice *slice, struct comm_dictionary *dict,
			const struct comm_naming *naming, uint32_t row_cap)
{
	struct comm_lengths *lengths = &slice->info.lengths;
	const uint32_t counter = lengths->counter;
	int err = 0;

	if (counter >= slice->info.n_counters || counter >= COMM_COUNTERS_MAX)
		lengths->n_ends = 0;
	if (lengths->n_ends)
		err = comm_dictionary_counter(dict, counter, slice->info.counter[counter],
					      &lengths->counter);
	return err ? err
		   : take_ends(slice, &slice->lengths, dict, naming, row_cap, &lengths->end,
			       &lengths->n_ends);
}

static int take_counts(struct comm_stored_slice *slice, struct comm_dictionary *dict,
		       const struct comm_naming *naming, uint32_t row_cap)
{
	int err = 0;

	comm_counts_clear(&slice->counts);
	for (size_t i = 0; i < slice->info.n_counts && !err; i++) {
		struct comm_count c = slice->info.count[i];

		if (c.counter >= slice->info.n_counters || c.counter >= COMM_COUNTERS_MAX ||
		    !isfinite(c.value))
			continue;
		c.thread = comm_naming_thread(naming, c.thread);
		err = comm_dictionary_region(dict, naming, c.region, &c.region);
		if (!err)
			err = comm_dictionary_counter(dict, c.counter,
						      slice->info.counter[c.counter], &c.counter);
		if (!err)
			err = comm_counts_add(&slice->counts, &c);
	}
	if (!err)
		comm_counts_fold(&slice->counts, row_cap, &slice->info.loss[COMM_LOSS_CELLS]);
	comm_counts_sort(&slice->counts);
	slice->info.count = slice->counts.count;
	slice->info.n_counts = slice->counts.n;
	return err;
}

static int take_cachelines(struct comm_stored_slice *slice, struct comm_dictionary *dict,
			   const struct comm_naming *naming, uint32_t row_cap)
{
	const struct comm_cachelines *from = slice->info.cachelines;
	struct comm_cachelines *to = &slice->cachelines;
	int err = 0;

	comm_cachelines_clear(to);
	for (size_t i = 0; from && i < from->n_lines && !err; i++)
		err = comm_cachelines_add(to, &from->line[i], NULL);
	for (size_t i = 0; from && i < from->n_uses && !err; i++) {
		struct comm_cacheline_use use = from->use[i];

		use.thread = comm_naming_thread(naming, use.thread);
		err = comm_dictionary_context(dict, naming, use.site, &use.site);
		if (!err)
			err = comm_dictionary_object(dict, naming, use.object, &use.object);
		if (!err)
			err = comm_cachelines_add_use(to, &use, NULL);
	}
	if (!err)
		err = comm_cachelines_fold(to, row_cap, &slice->info.loss[COMM_LOSS_CELLS]);
	comm_cachelines_sort(to);
	slice->info.cachelines = to;
	return err;
}

static int take_census(struct comm_stored_slice *slice, struct comm_dictionary *dict,
		       const struct comm_naming *naming, uint32_t row_cap)
{
	int err = 0;

	comm_census_clear(&slice->census);
	for (size_t i = 0; i < slice->info.n_census && !err; i++) {
		struct comm_census_words w = slice->info.census[i];

		w.thread = comm_naming_thread(naming, w.thread);
		err = comm_dictionary_context(dict, naming, w.site, &w.site);
		if (!err)
			err = comm_dictionary_object(dict, naming, w.object, &w.object);
		if (!err)
			err = comm_census_add(&slice->census, &w);
	}
	if (!err)
		comm_census_fold(&slice->census, row_cap, &slice->info.loss[COMM_LOSS_CELLS]);
	comm_census_sort(&slice->census);
	slice->info.census = slice->census.cell;
	slice->info.n_census = slice->census.n;
	return err;
}

static int take_edges(struct comm_stored_slice *slice, struct comm_dictionary *dict,
		      const struct comm_naming *naming, uint32_t row_cap,
		      const struct comm_edge *edges, size_t n)
{
	int err = 0;

	comm_edge_table_clear(&slice->cells);
	for (size_t i = 0; i < n && !err; i++) {
		struct comm_edge e = edges[i];

		e.src_thread = comm_naming_thread(naming, e.src_thread);
		e.dst_thread = comm_naming_thread(naming, e.dst_thread);
		/* From here on an edge's sites are contexts. */
		err = comm_dictionary_context(dict, naming, e.src_site, &e.src_site);
		if (!err)
			err = comm_dictionary_context(dict, naming, e.dst_site, &e.dst_site);
		if (!err)
			err = comm_dictionary_object(dict, naming, e.object, &e.object);
		if (!err)
			err = comm_edge_table_add(&slice->cells, &e);
	}
	if (!err)
		err = comm_edge_table_fold(&slice->cells, row_cap,
					   &slice->info.loss[COMM_LOSS_CELLS]);
	comm_edge_table_sort(&slice->cells);
	return err;
}

static int take_dates(struct comm_stored_slice *slice, struct comm_dictionary *dict,
		      const struct comm_naming *naming)
{
	int err = 0;

	comm_dates_clear(&slice->dates);
	for (size_t i = 0; i < slice->info.n_dates && !err; i++) {
		struct comm_dated d = slice->info.date[i];

		d.src_thread = comm_naming_thread(naming, d.src_thread);
		d.dst_thread = comm_naming_thread(naming, d.dst_thread);
		err = comm_dictionary_context(dict, naming, d.src_site, &d.src_site);
		if (!err)
			err = comm_dictionary_context(dict, naming, d.dst_site, &d.dst_site);
		if (!err)
			err = comm_dictionary_object(dict, naming, d.object, &d.object);
		if (!err)
			err = comm_dates_add(&slice->dates, &d);
	}
	comm_dates_sort(&slice->dates);
	slice->info.date = slice->dates.date;
	slice->info.n_dates = slice->dates.n;
	return err;
}

static void drop_infinite(double *value)
{
	if (!isfinite(*value))
		*value = 0;
}

int comm_stored_slice_make(struct comm_stored_slice *slice, struct comm_dictionary *dict,
			   const struct comm_naming *naming, uint32_t row_cap,
			   const struct comm_slice_info *info, const struct comm_edge *edges,
			   size_t n_edges)
{
	int err;

	slice->info = *info;
	drop_infinite(&slice->info.unwritten.bytes);
	drop_infinite(&slice->info.unwritten.first_bytes);
	drop_infinite(&slice->info.unwritten.polled_bytes);
	drop_infinite(&slice->info.watched.unanswered_bytes);
	err = comm_dictionary_threads(dict, naming);
	if (!err)
		err = comm_dictionary_settle(dict, naming);
	if (!err)
		err = take_edges(slice, dict, naming, row_cap, edges, n_edges);
	if (!err)
		err = take_placements(slice, naming, row_cap);
	if (!err)
		err = take_origins(slice, dict, naming, row_cap);
	if (!err)
		err = take_ends(slice, &slice->unwritten, dict, naming, row_cap,
				&slice->info.unwritten.end, &slice->info.unwritten.n_ends);
	if (!err)
		err = take_ends(slice, &slice->written, dict, naming, row_cap,
				&slice->info.written.end, &slice->info.written.n_ends);
	if (!err)
		err = take_lengths(slice, dict, naming, row_cap);
	if (!err)
		err = take_dates(slice, dict, naming);
	if (!err)
		err = take_counts(slice, dict, naming, row_cap);
	if (!err)
		err = take_cachelines(slice, dict, naming, row_cap);
	if (!err)
		err = take_census(slice, dict, naming, row_cap);
	return err;
}

void comm_stored_slice_deinit(struct comm_stored_slice *slice)
{
	comm_edge_table_deinit(&slice->cells);
	comm_placements_deinit(&slice->placements);
	comm_origins_deinit(&slice->origins);
	comm_unwritten_ends_deinit(&slice->unwritten);
	comm_unwritten_ends_deinit(&slice->written);
	comm_unwritten_ends_deinit(&slice->lengths);
	comm_dates_deinit(&slice->dates);
	comm_counts_deinit(&slice->counts);
	comm_cachelines_deinit(&slice->cachelines);
	comm_census_deinit(&slice->census);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "surveyed_reads.h"

#include <math.h>

enum { WATCHED_BYTES = 8 /* of a window, aligned */ };

int comm_surveyed_reads_init(struct comm_surveyed_reads *reads)
{
	return comm_watched_create(&reads->watched);
}

void comm_surveyed_reads_deinit(struct comm_surveyed_reads *reads)
{
	comm_watched_destroy(reads->watched);
	comm_seen_writers_destroy(reads->seen_writers);
}

void comm_surveyed_reads_burst(struct comm_surveyed_reads *reads,
			       const struct comm_access_burst *burst)
{
	if (reads->seen_writers)
		comm_seen_writers_burst(reads->seen_writers, reads->resolver->identity, burst);
}

/* Bytes that a read stands for; 0: a damaged recording's. */
static double bytes_of(const struct comm_surveyed_reads *reads, double stands_for, uint32_t trigger)
{
	double bytes = stands_for;

	if (trigger == COMM_TRIGGER_TIME)
		bytes *= reads->cycles_per_ns;
	return bytes > 0 && isfinite(bytes) ? bytes : 0;
}

void comm_surveyed_reads_word(struct comm_surveyed_reads *reads, const struct comm_event *event,
			      uint32_t trigger, uint32_t region)
{
	struct comm_census_words words = {
		.class = event->census.waits ? COMM_CENSUS_WAITS
					     : comm_census_class_of(event->census.quiet_ns,
								    event->census.changed_ns),
		.words = 1,
		.bytes = bytes_of(reads, event->census.stands_for, trigger),
	};
	struct comm_access read;

	if (!(words.bytes > 0) ||
	    !comm_resolver_precise(reads->resolver, event->tgid, event->tid, region, event->time_ns,
				   &event->census.read, &read) ||
	    read.flags & COMM_ACCESS_OWN_STACK ||
	    !comm_chosen_functions_has(reads->chosen, read.site))
		return;
	words.squares = words.bytes * words.bytes;
	words.thread = comm_threads_get(reads->resolver->identity->threads, event->tgid, event->tid,
					event->time_ns);
	words.site = read.site;
	words.object = comm_access_shown(&read);
	comm_open_slice_census(reads->resolver->slice, &words);
	if (reads->ops->word)
		reads->ops->word(reads->est, &(struct comm_word){.object = comm_access_whole(&read),
								 .site = read.site,
								 .class = words.class,
								 .bytes = words.bytes});
}

/* The code in which a thread wrote what is read, where a look has told no more than that it did. */
static uint32_t guess_site(struct comm_surveyed_reads *reads, uint32_t writer,
			   const struct comm_access *read)
{
	/* Where windows tell code nobody has to remember who writes what. */
	if (!reads->seen_writers && comm_seen_writers_create(&reads->seen_writers))
		return COMM_SITE_NOT_TOLD;
	return comm_seen_writers_site(reads->seen_writers, reads->resolver->identity, writer, read);
}

void comm_surveyed_reads_pair(struct comm_surveyed_reads *reads, const struct comm_event *event,
			      uint32_t trigger, uint32_t region)
{
	struct comm_threads *threads = reads->resolver->identity->threads;
	struct comm_watched_pair pair = {.bytes = bytes_of(reads, event->fed.stands_for, trigger)};

	if (!comm_resolver_precise(reads->resolver, event->fed.read_tgid, event->fed.read_tid,
				   region, event->time_ns, &event->fed.read, &pair.read) ||
	    pair.read.flags & COMM_ACCESS_OWN_STACK ||
	    !comm_chosen_functions_has(reads->chosen, pair.read.site))
		return;
	/* What an allocator reads of its own lists is nobody's data: who frees a block feeds nobody who is given it. */
	if (comm_sites_keeps_heap(reads->resolver->identity->sites, pair.read.site))
		return;
	if (event->fed.write.flags &&
	    !comm_resolver_precise(reads->resolver, event->tgid, event->tid, region, event->time_ns,
				   &event->fed.write, &pair.write))
		return;
	/* The write hit another process's memory at the same address. */
	if (event->fed.write.flags && (pair.read.datum ^ pair.write.datum) >= WATCHED_BYTES) {
		comm_open_slice_lose(reads->resolver->slice, COMM_LOSS_WATCH, 1);
		return;
	}
	pair.reader = comm_threads_get(threads, event->fed.read_tgid, event->fed.read_tid,
				       event->fed.read_ns);
	pair.writer = comm_threads_get(threads, event->tgid, event->tid, event->fed.write_ns);
	comm_movers_met(reads->movers, pair.writer);
	if (comm_movers_moved(reads->movers, pair.writer, pair.reader))
		pair.write.flags = 0;
	else if (event->fed.write.flags && !event->fed.write.ip &&
		 !(event->fed.write.flags & COMM_ACCESS_KERNEL))
		pair.write.site = guess_site(reads, pair.writer, &pair.read);
	comm_watched_add(reads->watched, event->fed.window, &pair);
}

void comm_surveyed_reads_take(struct comm_surveyed_reads *reads)
{
	struct comm_open_slice *slice = reads->resolver->slice;

	comm_watched_take(reads->watched, comm_open_slice_edge, slice, &slice->info.watched);
}

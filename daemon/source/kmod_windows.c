// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod_windows.h"

#include <stdlib.h>

#include "event.h"

enum { WORD_BYTES = 8 };

struct counted {
	comm_event_fn *push;
	void *ctx;
	int n;
};

int comm_kmod_windows_init(struct comm_kmod_windows *windows)
{
	return comm_window_pairs_init(&windows->pairs, CP_WINDOW_ACCESSES);
}

void comm_kmod_windows_deinit(struct comm_kmod_windows *windows)
{
	comm_window_pairs_deinit(&windows->pairs);
}

static uint16_t flags_of(uint16_t flags)
{
	return (uint16_t)(flags & (2 * CP_ACCESS_KERNEL - 1));
}

/* One byte back from behind an instruction is inside of it. */
static uint64_t ip_of(uint64_t ip, uint16_t flags)
{
	return ip - !!(flags & CP_ACCESS_IP_AFTER);
}

static void keep(struct comm_kmod_windows *w, const struct cp_evidence *raw)
{
	struct comm_kmod_access *kept = &w->kept[w->n_kept++ % COMM_KMOD_WINDOWS_KEPT];

	*kept = (struct comm_kmod_access){
		.access = {.time_ns = raw->head.time_ns,
			   .ip = ip_of(raw->second.ip, raw->second.flags),
			   .tgid = raw->head.tgid,
			   .tid = raw->head.tid,
			   .cpu = raw->head.cpu,
			   .flags = flags_of(raw->second.flags)},
		.is_first = raw->head.type == CP_REC_WATCH,
	};
	if (kept->is_first) {
		kept->opened_ns = raw->first_ns;
		kept->ip = ip_of(raw->first.ip, raw->first.flags);
		return;
	}
	kept->opened_ns = raw->armed_ns;
	if (raw->first_tid)
		kept->write = (struct comm_window_access){
			.time_ns = raw->first_ns,
			.ip = ip_of(raw->first.ip, raw->first.flags),
			.tgid = raw->first_tgid,
			.tid = raw->first_tid,
			.flags = flags_of(raw->first.flags),
		};
}

bool comm_kmod_windows_record(struct comm_kmod_windows *w, const struct cp_record *record)
{
	if ((record->type == CP_REC_WATCH || record->type == CP_REC_PAIR) &&
	    record->size_bytes >= sizeof(struct cp_evidence)) {
		keep(w, (const struct cp_evidence *)record);
	} else if (record->type == CP_REC_WINDOW &&
		   record->size_bytes >= sizeof(struct cp_window)) {
		if (w->n_ended < COMM_KMOD_WINDOWS_ENDED)
			w->ended[w->n_ended++] = *(const struct cp_window *)record;
		else
			w->lost++;
	} else {
		return false;
	}
	w->n_records++;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct comm_kmod_access *x = *(const struct comm_kmod_access *const *)a;
	const struct comm_kmod_access *y = *(const struct comm_kmod_access *const *)b;

	return (x->access.time_ns > y->access.time_ns) - (x->access.time_ns < y->access.time_ns);
}

/* Takes what there is of a window out of what is kept, in order.  Returns how much. */
static unsigned int collect(struct comm_kmod_windows *w, const struct cp_window *window,
			    const struct comm_kmod_access **ret_first,
			    const struct comm_kmod_access *ret[CP_WINDOW_ACCESSES])
{
	unsigned int n = 0;

	*ret_first = NULL;
	for (unsigned int i = 0; i < COMM_KMOD_WINDOWS_KEPT && i < w->n_kept; i++) {
		const struct comm_kmod_access *kept = &w->kept[i];

		if (kept->is_first && kept->opened_ns == window->first_ns)
			*ret_first = kept;
		else if (!kept->is_first && window->opened_ns &&
			 kept->opened_ns == window->opened_ns && n < CP_WINDOW_ACCESSES)
			ret[n++] = kept;
	}
	qsort(ret, n, sizeof(*ret), by_time);
	return n;
}

static void count_push(void *ctx, const struct comm_event *event)
{
	struct counted *counted = ctx;

	counted->n++;
	counted->push(counted->ctx, event);
}

static void settle(struct comm_kmod_windows *w, const struct cp_window *window, double offered,
		   uint64_t now_ns, struct counted *counted)
{
	const struct comm_kmod_access *access[CP_WINDOW_ACCESSES], *first;
	unsigned int n = collect(w, window, &first, access);
	struct comm_live_word word = {
		.tgid = window->head.tgid,
		.tid = window->head.tid,
		.addr = window->addr,
		.size_bytes = (uint32_t)window->size_bytes,
		.time_ns = window->first_ns,
	};
	uint64_t bytes = window->size_bytes ? window->size_bytes : WORD_BYTES;

	/* Who refuses to look at all of a window, or cannot, has not seen its last writers. */
	if (window->end == CP_WINDOW_END_UNWRITTEN || window->end == CP_WINDOW_END_BUDGET ||
	    window->end == CP_WINDOW_END_STORM)
		return;
	/* Without its first write the code of its read is not known. */
	if (!first || n != window->reads + window->writes) {
		w->lost++;
		return;
	}
	if (bytes > WORD_BYTES || (bytes & (bytes - 1)) || window->addr % bytes) {
		word.addr &= ~(uint64_t)(WORD_BYTES - 1);
		word.size_bytes = WORD_BYTES;
	}
	word.ip = first->ip;
	word.stands_for = offered * (double)bytes * (double)window->head.period;
	comm_window_pairs_clear(&w->pairs, first->ip);
	comm_window_pairs_access(&w->pairs, &first->access);
	for (unsigned int i = 0; i < n; i++) {
		if (access[i]->write.tid)
			comm_window_pairs_access(&w->pairs, &access[i]->write);
		else
			comm_window_pairs_gap(&w->pairs);
		comm_window_pairs_access(&w->pairs, &access[i]->access);
	}
	comm_window_pairs_tell(&w->pairs, &word, w->number++, COMM_FED_REGISTERS, now_ns,
			       count_push, counted);
}

int comm_kmod_windows_settle(struct comm_kmod_windows *w, double offered, uint64_t now_ns,
			     comm_event_fn *push, void *ctx)
{
	struct counted counted = {.push = push, .ctx = ctx};

	for (unsigned int i = 0; i < w->n_ended; i++)
		settle(w, &w->ended[i], offered, now_ns, &counted);
	w->n_ended = 0;
	return counted.n;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "process_title.h"

#include <errno.h>
#include <stdlib.h>

enum { PROCESSES = 4096 };

static const uint64_t wait_min_ns = 100 * 1000000ull, wait_max_ns = 60 * 1000000000ull;

struct titled {
	uint32_t tgid; /* 0: none */
	uint64_t begun_ns, next_ns;
	char title[COMM_TITLE_BYTES];
};

struct comm_process_titles {
	const struct comm_inspect *inspect;
	struct titled process[PROCESSES];
};

int comm_process_titles_create(const struct comm_inspect *inspect, struct comm_process_titles **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->inspect = inspect;
	return 0;
}

void comm_process_titles_destroy(struct comm_process_titles *titles)
{
	free(titles);
}

uint64_t comm_process_titles_wait_ns(uint64_t known_ns)
{
	if (known_ns < wait_min_ns)
		return wait_min_ns;
	return known_ns < wait_max_ns ? known_ns : wait_max_ns;
}

const char *comm_process_titles_get(struct comm_process_titles *titles, uint32_t tgid,
				    uint64_t now_ns)
{
	const struct comm_inspect *inspect = titles->inspect;
	struct titled *p = &titles->process[tgid % PROCESSES];
	char reading[COMM_TITLE_BYTES];

	if (p->tgid != tgid)
		*p = (struct titled){.tgid = tgid, .begun_ns = now_ns};
	if (now_ns < p->next_ns || !inspect->ops->title)
		return p->title;
	p->next_ns = now_ns + comm_process_titles_wait_ns(now_ns - p->begun_ns);
	if (inspect->ops->title(inspect->ctx, tgid, reading) == 0)
		comm_title_take(p->title, reading);
	return p->title;
}

void comm_process_titles_forget(struct comm_process_titles *titles, uint32_t tgid)
{
	struct titled *p = &titles->process[tgid % PROCESSES];

	if (p->tgid == tgid)
		*p = (struct titled){0};
}

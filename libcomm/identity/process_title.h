/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Titles of processes (title.h).  A process is asked for its title again and again, since it sets
 * it after it began, and maybe whenever it turns to something else, but ever less often.  So many
 * processes are remembered; one that takes the place of another is asked anew.
 */
#ifndef COMM_PROCESS_TITLE_H
#define COMM_PROCESS_TITLE_H

#include "inspect.h"

struct comm_process_titles;

int comm_process_titles_create(const struct comm_inspect *inspect,
			       struct comm_process_titles **ret);
void comm_process_titles_destroy(struct comm_process_titles *titles);

/* How long to wait until the next question about what is known for so long. */
uint64_t comm_process_titles_wait_ns(uint64_t known_ns);
/* "": it has none, or none is known.  Valid until the next call. */
const char *comm_process_titles_get(struct comm_process_titles *titles, uint32_t tgid,
				    uint64_t now_ns);
/* The process of that number is another one, or another program. */
void comm_process_titles_forget(struct comm_process_titles *titles, uint32_t tgid);

#endif

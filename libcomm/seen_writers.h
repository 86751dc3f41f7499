/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seen writers: which function a thread was mostly seen to write a datum in, by samples.  Looks at switches tell that a
 * thread has written a word and not in which code; this is a guess at it, and has names of its own, "f (seen
 * writing it)", so that nobody takes it for what was watched.
 *
 * It is asked of the word itself, by the thread and then by those of its role, and then of the object in the same
 * way, if that is a variable or the like: of a whole heap it would say nothing.  Of several functions none is named
 * that has not more than half of the writes.  A table of fixed size, in which the latest take the place of others.
 */
#ifndef COMM_SEEN_WRITERS_H
#define COMM_SEEN_WRITERS_H

#include "estimator.h"
#include "identity.h"

struct comm_seen_writers;

int comm_seen_writers_create(struct comm_seen_writers **ret);
void comm_seen_writers_destroy(struct comm_seen_writers *seen);

void comm_seen_writers_burst(struct comm_seen_writers *seen, const struct comm_identity *identity,
			     const struct comm_access_burst *burst);
/* The site of the guess; COMM_SITE_NOT_TOLD: there is none.  read: of what the thread wrote. */
uint32_t comm_seen_writers_site(const struct comm_seen_writers *seen,
				const struct comm_identity *identity, uint32_t thread,
				const struct comm_access *read);

#endif

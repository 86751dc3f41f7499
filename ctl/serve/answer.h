/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of commctl serve, each made in memory of one look at the store: when it is made the store is closed, so that a client
 * that takes its time holds up nobody.  Not for event streams (followers.h).
 */
#ifndef CTL_ANSWER_H
#define CTL_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "request.h"
#include "source_file.h"

struct ctl_answer {
	unsigned int status; /* of HTTP */
	const char *type;    /* of the body */
	char *body;	     /* malloc() */
	size_t size;
};

/*
 * store: as the user named it, NULL: the default one.  version: of the store, as it was before; the page says it when it asks for
 * events.  What cannot be answered is answered with a sentence, by a page with a page.  -ENOMEM
 */
int ctl_answer_make(const char *store, struct ctl_source *source, const struct ctl_request *request,
		    uint64_t version, struct ctl_answer *ret);
/* A sentence, which is copied.  -ENOMEM */
int ctl_answer_say(unsigned int status, const char *sentence, struct ctl_answer *ret);

#endif

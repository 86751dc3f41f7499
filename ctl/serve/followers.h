/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Those who follow a store: streams of events (https://html.spec.whatwg.org/multipage/server-sent-events.html), of which
 * "slice" says that what a page shows was written on, and "runs" that there is another run.  Between looks nothing of the store is open.
 */
#ifndef CTL_FOLLOWERS_H
#define CTL_FOLLOWERS_H

#include <microhttpd.h>
#include <stdint.h>

#include "request.h"

struct ctl_followers;

/* store: as the user named it, NULL: the default one; must live as long.  NULL: out of memory. */
struct ctl_followers *ctl_followers_create(const char *store);
/* After all streams have ended. */
void ctl_followers_destroy(struct ctl_followers *followers);
/* A stream for that connection, to be queued; it leaves by itself.  NULL: there are too many. */
struct MHD_Response *ctl_followers_add(struct ctl_followers *followers,
				       struct MHD_Connection *connection,
				       const struct ctl_request *request);
/* A page took so long: the next event, for which pages are made anew, comes after ten times as long at the earliest. */
void ctl_followers_rest(struct ctl_followers *followers, uint64_t spent_ns);
/* Sends what there is to tell; returns after how many ms to call again at the latest, -1: nobody follows. */
int ctl_followers_look(struct ctl_followers *followers);
/* Ends all streams, once the daemon has run again. */
void ctl_followers_end(struct ctl_followers *followers);

/* Monotonic. */
uint64_t ctl_followers_now_ns(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to an HTTP server of which nothing is trusted: neither that it answers, nor that its answer ends.  What the
 * requests say is for profilers.c.
 */
#ifndef SHIP_PUSH_H
#define SHIP_PUSH_H

#include <stddef.h>
#include <stdint.h>

struct ship_push;

/* What is wrong with an address that begins with http:// or https://, or with a password that stands in it; NULL: nothing. */
const char *ship_push_wrong(const char *address);

/*
 * what: the server, in sentences.  address, path: of requests.  Headers from the file that SHIP_HEADERS names and authorities
 * from that of SSL_CERT_FILE are taken, where they are set.  Functions as those of sink.h.
 */
int ship_push_open(const char *what, const char *address, const char *path, uint64_t timeout_ms,
		   struct ship_push **ret, char **err);
void ship_push_close(struct ship_push *push);
/*
 * Posts JSON.  0: the server says that it has it.  -EBADMSG: it refuses what is in it, and may take other.
 * *ret_wait_ms: how long it is to be left alone; 0: it does not say.
 */
int ship_push_post(struct ship_push *push, const char *body, size_t n, uint64_t *ret_wait_ms,
		   char **err);

#endif

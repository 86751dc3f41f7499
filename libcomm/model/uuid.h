/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random UUIDs (RFC 4122, version 4): names for runs that no other host gives too. */
#ifndef COMM_UUID_H
#define COMM_UUID_H

enum { COMM_UUID_CHARS = 36 };

/* "9b2a6c1e-....-4...-a...-............", in lower case.  -errno of getrandom(). */
int comm_uuid_make(char ret[COMM_UUID_CHARS + 1]);

#endif

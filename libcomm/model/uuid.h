/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random UUIDs (RFC 4122, version 4): names of runs, unique across hosts. */
#ifndef COMM_UUID_H
#define COMM_UUID_H

enum { COMM_UUID_CHARS = 36 };

/* Writes "9b2a6c1e-....-4...-a...-............", in lower case; fails as getrandom() does. */
int comm_uuid_make(char ret[COMM_UUID_CHARS + 1]);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kinds of data objects are called in reports, and in what is made of stores for other programs. */
#ifndef COMM_OBJECT_KIND_H
#define COMM_OBJECT_KIND_H

#include <stdint.h>

/* "static", "heap", ... of a number of enum comm_object_kind, as stores have it; "other" of any else. */
const char *comm_object_kind_name(int64_t kind);

#endif

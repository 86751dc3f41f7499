/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON value by value: what is output is valid JSON and UTF-8
 * whatever bytes the texts have.
 */
#ifndef CTL_JSON_H
#define CTL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Of all that commctl prints as JSON; docs/formats has a schema of each.  It grows where a member goes
 * or means something else: a program must take members that it does not know.
 */
enum { CTL_JSON_VERSION = 1 };

struct ctl_json {
	FILE *out; /* NULL: stdout */
	int depth;
	bool first; /* the innermost open object or array is still empty */
};

/* Opens the object that is the whole document, with its version. */
void ctl_json_begin(struct ctl_json *json);
/* name: NULL inside arrays and at the top. */
void ctl_json_open(struct ctl_json *json, const char *name, char bracket);
void ctl_json_close(struct ctl_json *json, char bracket);
void ctl_json_string(struct ctl_json *json, const char *name, const char *value);
void ctl_json_count(struct ctl_json *json, const char *name, uint64_t value);
void ctl_json_int(struct ctl_json *json, const char *name, int64_t value);
/* A value that is not finite becomes null. */
void ctl_json_double(struct ctl_json *json, const char *name, double value);
void ctl_json_bool(struct ctl_json *json, const char *name, bool value);

#endif

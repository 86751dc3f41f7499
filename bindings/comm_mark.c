/* SPDX-License-Identifier: MIT */
/*
 * Marks of <comm/mark.h> as functions, for languages that have no C headers; compile it into
 * the program.
 */
#include <stdlib.h>
#include <string.h>

#include <comm/mark.h>

uint64_t comm_mark_c_begin(const char *name);
void comm_mark_c_end(uint64_t depth);
const char *comm_mark_c_name(const char *text, uint64_t n);
void comm_mark_c_stop(uint32_t stopped);

uint64_t comm_mark_c_begin(const char *name)
{
	return comm_mark_begin(name).depth;
}

void comm_mark_c_end(uint64_t depth)
{
	comm_mark_end((struct comm_mark){depth});
}

/* A copy of n bytes that stays for ever, as names must; NULL: no memory. */
const char *comm_mark_c_name(const char *text, uint64_t n)
{
	return strndup(text, n);
}

void comm_mark_c_stop(uint32_t stopped)
{
	comm_mark_stop(stopped);
}

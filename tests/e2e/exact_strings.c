/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libc's functions of memory and strings: produce() fills two strings of BYTES bytes with their NULs, the case's
 * use() calls one function, and consume() reads what that has written.  exact_strings.sh takes what each must
 * come to from the line of the case: of produce()'s bytes read, and written.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BYTES = 64, ROOM = 256 };

#define ALONE __attribute__((noinline, noclone))

static char src[BYTES], twin[BYTES], dst[ROOM];
static volatile size_t kept;

static ALONE void produce(void)
{
	for (volatile int i = 0; i < BYTES; i++)
		((volatile char *)src)[i] = ((volatile char *)twin)[i] = i < BYTES - 1 ? 'a' : 0;
}

static ALONE void consume(const volatile char *p)
{
	for (int i = 0; i < ROOM; i++)
		(void)p[i];
}

static ALONE void use(int which)
{
	char *p = dst;

	switch (which) {
#define CASE(line, call)                            \
	case line:                                  \
		kept += (size_t)(call), consume(p); \
		break;
#include "exact_strings.h"
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 1;
	produce();
	use(atoi(argv[1]));
	return 0;
}

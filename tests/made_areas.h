/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Areas of 8-byte data, in as little memory as they take, for tests of area.h. */
#ifndef TESTS_MADE_AREAS_H
#define TESTS_MADE_AREAS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "area.h"

enum { WORD = 8, LINE = 64 /* bytes */ };

static struct comm_areas *areas;

static inline int setup(void **state)
{
	(void)state;
	return comm_areas_create(0, WORD, &areas);
}

static inline int teardown(void **state)
{
	(void)state;
	comm_areas_destroy(areas);
	return 0;
}

#endif

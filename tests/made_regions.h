/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions of 8-byte data, in as little memory as they take, for tests of region.h. */
#ifndef TESTS_MADE_REGIONS_H
#define TESTS_MADE_REGIONS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "region.h"

enum { WORD = 8, LINE = 64 /* bytes */ };

static struct comm_regions *regions;

static inline int setup(void **state)
{
	(void)state;
	return comm_regions_create(0, WORD, &regions);
}

static inline int teardown(void **state)
{
	(void)state;
	comm_regions_destroy(regions);
	return 0;
}

#endif

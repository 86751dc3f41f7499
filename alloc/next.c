// SPDX-License-Identifier: GPL-2.0-or-later
#include "next.h"

#include <dlfcn.h>
#include <stddef.h>

void *alloc_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int alloc_next_is_allocators(const void *function)
{
	const void *malloc_there = alloc_next("malloc");
	Dl_info its, mallocs;

	return function && malloc_there && dladdr(function, &its) &&
	       dladdr(malloc_there, &mallocs) && its.dli_fbase == mallocs.dli_fbase;
}

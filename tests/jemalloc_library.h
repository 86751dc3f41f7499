/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads a jemalloc beside libc's malloc(), for tests of its heap. */
#ifndef TESTS_JEMALLOC_LIBRARY_H
#define TESTS_JEMALLOC_LIBRARY_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Its thread-local data may want more room than there is: then the program begins anew, with it.  NULL: says why. */
static inline void *load_library(const char *library, char **argv)
{
	static const char capacity[] = "GLIBC_TUNABLES";
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!lib && !getenv(capacity)) {
		setenv(capacity, "glibc.rtld.optional_static_tls=16384", 1);
		execv("/proc/self/exe", argv);
	}
	if (!lib)
		fprintf(stderr, "%s\n", dlerror());
	return lib;
}

#endif

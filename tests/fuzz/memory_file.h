/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fuzzer's input as a file in memory: one file serves all executions of a process. */
#ifndef TESTS_FUZZ_MEMORY_FILE_H
#define TESTS_FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Puts bytes into the file *fd, made when *fd is below 0, and returns it. */
static inline int memory_file(const uint8_t *data, size_t bytes, int *fd)
{
	if (*fd < 0)
		*fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, 0) || pwrite(*fd, data, bytes, 0) != (ssize_t)bytes)
		abort();
	return *fd;
}

/* The same, for what wants a path. */
static inline const char *memory_path(const uint8_t *data, size_t bytes)
{
	static char path[32];
	static int fd = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_file(data, bytes, &fd));
	return path;
}

#endif

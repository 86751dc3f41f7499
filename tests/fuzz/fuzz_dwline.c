// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads hostile DWARF.  The walk is in a child process, since libdw may crash on
 * hostile input: the child may crash, this process may not.  A fork each makes it
 * slow.  Input that is no ELF file is read as a table that such a child saved.
 */
#include "dwjob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_dwarf(int fd, struct comm_dwline **ret)
{
	struct comm_dwjob *job;
	int err;

	if (comm_dwjob_start(fd, 200, &job) < 0)
		abort();
	while ((err = comm_dwjob_poll(job, ret)) == -EAGAIN)
		usleep(200);
	comm_dwjob_destroy(job);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct comm_dwline *dw;
	struct comm_line line;

	if (size < 32)
		return 0;
	if (fd < 0)
		fd = memfd_create("fuzz_dwline", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if ((memcmp(data, "\177ELF", 4) ? comm_dwline_load(fd, &dw) : read_dwarf(fd, &dw)) == 0) {
		for (uint64_t at = 0; at < 0x5000; at += 0x7f) {
			if (comm_dwline_find(dw, at, &line) < 0)
				continue;
			if (line.source && strlen(line.source) > 4096)
				abort();
			if (line.inlined && strlen(line.inlined) > 4096)
				abort();
		}
		comm_dwline_destroy(dw);
	}
	return 0;
}
